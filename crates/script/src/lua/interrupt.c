/* Stops a Lua program from another thread.
 *
 * In C because the hook leaves by an error, and LuaJIT unwinds the stack for that: through a frame
 * of Rust, in a program that aborts on panics, this would end the process.
 *
 * lua_sethook() changes fields that LuaJIT's own thread changes too, without locks: from another
 * thread it could bring back a flag that was just taken away, such as HOOK_ACTIVE, after which no
 * hook is ever called again, or the recorder's state of a moment ago (lj_dispatch.c, lj_trace.h). So
 * the other thread only sends a signal, and the program's own thread sets the hook in its handler.
 * That is sound:
 *
 * - The handler finds only the state whose call this thread is in, which is therefore open.
 * - It leaves LuaJIT alone while that records or compiles. While it does not, aborting a recording,
 *   which lua_sethook() does, is nothing, and what is left are the hook and the table of
 *   instructions (lj_dispatch_update). Any mixture of the table's old and new entries is one that
 *   LuaJIT runs with.
 * - What the thread was in the middle of when the signal came may undo it: it may be changing the
 *   same table or the same byte of flags. Taking the hook away first makes the next attempt write
 *   everything anew, whatever was left of the one before.
 *
 * So one attempt may come to nothing, and whoever interrupts repeats it until the call is over. */

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#else
#include <pthread.h>
#endif

#include "lua.h"
#include "lauxlib.h"
/* LuaJIT's own headers: whether it records is nowhere else to be had. */
#include "lj_obj.h"
#include "lj_dispatch.h"
#include "lj_jit.h"

/* By default it is ignored, and nothing here uses urgent data. */
#define SIGNAL SIGURG

/* The same as `Target` in interrupt.rs. */
struct target {
    lua_State *lua;
    uint8_t is_interrupted;
    /* The thread that is in a call of it; 0: none. */
    uintptr_t thread;
};

/* The innermost call that this thread is in. */
static _Thread_local struct target *volatile current;

static void stop(lua_State *lua, lua_Debug *at)
{
    (void)at;
    luaL_error(lua, "interrupted");
}

static int is_recording(lua_State *lua)
{
#if LJ_HASJIT
    return ((volatile jit_State *)G2J(G(lua)))->state != LJ_TRACE_IDLE;
#else
    (void)lua;
    return 0;
#endif
}

/* Makes the program end with an error at its next instruction, and at each one after that, so that
 * a script cannot catch it for good. Only instructions of Lua are hooked, no calls: a function of
 * ours that Lua has called goes on undisturbed, and nothing is thrown through it. */
static void on_signal(int number)
{
    struct target *target = current;
    int kept = errno;
    (void)number;
    if (target == NULL || !__atomic_load_n(&target->is_interrupted, __ATOMIC_ACQUIRE)
        || is_recording(target->lua))
        return;
    lua_sethook(target->lua, NULL, 0, 0);
    lua_sethook(target->lua, stop, LUA_MASKCOUNT, 1);
    errno = kept;
}

/* Gets ready to be interrupted. Once, before anything below. */
void plimsoll_prepare(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGNAL, &action, NULL);
}

#ifdef __linux__
static uintptr_t this_thread(void)
{
    static _Thread_local uintptr_t number;
    if (number == 0)
        number = (uintptr_t)syscall(SYS_gettid);
    return number;
}

/* A thread that has ended meanwhile is none to the kernel. Where its number has been given to
 * another of this process, that one's handler finds nothing to do. */
static void send(uintptr_t thread)
{
    syscall(SYS_tgkill, getpid(), (pid_t)thread, SIGNAL);
}
#else
static uintptr_t this_thread(void)
{
    return (uintptr_t)pthread_self();
}

static void send(uintptr_t thread)
{
    pthread_kill((pthread_t)thread, SIGNAL);
}
#endif

/* A call begins in this thread; returns what it is within. */
struct target *plimsoll_enter(struct target *target)
{
    struct target *outer = current;
    current = target;
    __atomic_store_n(&target->thread, this_thread(), __ATOMIC_RELEASE);
    return outer;
}

/* The call is over. */
void plimsoll_leave(struct target *target, struct target *outer)
{
    if (outer != target)
        __atomic_store_n(&target->thread, 0, __ATOMIC_RELEASE);
    current = outer;
}

/* Tries to interrupt the call that is going on, if there is one. From any thread. */
void plimsoll_interrupt(struct target *target)
{
    uintptr_t thread = __atomic_load_n(&target->thread, __ATOMIC_ACQUIRE);
    if (thread != 0)
        send(thread);
}

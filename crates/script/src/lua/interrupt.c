/* Stops a Lua program from another thread.
 *
 * In C because the hook leaves by an error, and LuaJIT unwinds the stack for that: through a frame
 * of Rust, in a program that aborts on panics, this would end the process.
 *
 * LuaJIT documents setting a hook from a signal handler or another native thread for this purpose
 * (lj_record.c, LUAJIT_ENABLE_CHECKHOOK). */

#include <lauxlib.h>
#include <lua.h>

static void stop(lua_State *lua, lua_Debug *at)
{
    (void)at;
    luaL_error(lua, "interrupted");
}

/* Makes the program end with an error at its next instruction, and at each one after that, so that
 * a script cannot catch it for good. Only instructions of Lua are hooked, no calls: a function of
 * ours that Lua has called goes on undisturbed, and nothing is thrown through it. Taking the hook
 * away first makes LuaJIT write its tables anew when an earlier attempt met it in the middle of
 * changing them itself. */
void plimsoll_interrupt(lua_State *lua)
{
    lua_sethook(lua, NULL, 0, 0);
    lua_sethook(lua, stop, LUA_MASKCOUNT, 1);
}

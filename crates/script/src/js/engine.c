/*
 * QuickJS-NG, compiled with two things changed, and what of its insides the crate needs.
 *
 * QuickJS gives each runtime slabs of 4 kB for each of 31 sizes of blocks. Each virtual user has a
 * runtime of its own, so that the unused parts of slabs would be two fifths of its memory. The one
 * switch that QuickJS has for them is meant for builds with the address sanitizer; it is set here.
 *
 * The clock of `Date` is a variable, because time is an argument here.
 *
 * The source is that of the crate that ships it: `build.rs` says where it is.
 */

#include "cutils.h"

static _Thread_local int64_t plimsoll_clock_us;

#define js__gettimeofday_us() plimsoll_clock_us

#ifndef __SANITIZE_ADDRESS__
#define __SANITIZE_ADDRESS__ 1
#endif

#include "quickjs.c"

/* quickjs.c forbids them by macros. */
#undef malloc
#undef free
#undef realloc

#if QJS_VERSION_MAJOR != 0 || QJS_VERSION_MINOR != 16 || QJS_VERSION_PATCH != 2
#error "engine.c reads the insides of QuickJS-NG 0.16.2: check them against this version"
#endif

/* A runtime with a context, and what watches its memory. */
struct machine {
    JSRuntime *runtime;
    JSContext *context;
    /* Bytes above which the script is ended at the next chance; 0 without such a limit. */
    size_t limit_bytes;
    bool is_over_limit;
    /* Collects garbage wherever QuickJS may: for tests. */
    bool is_stressed;
};

static void watch(struct machine *machine)
{
    JSRuntime *rt = machine->runtime;
    if (!rt)
        return;
    if (machine->is_stressed)
        rt->malloc_gc_threshold = 0;
    if (machine->limit_bytes && rt->malloc_state.malloc_size > machine->limit_bytes) {
        machine->is_over_limit = true;
        if (machine->context)
            machine->context->interrupt_counter = 0;
    }
}

static void *machine_calloc(void *opaque, size_t count, size_t size)
{
    watch(opaque);
    return calloc(count, size);
}

static void *machine_malloc(void *opaque, size_t size)
{
    watch(opaque);
    return malloc(size);
}

static void machine_free(void *opaque, void *ptr)
{
    (void)opaque;
    free(ptr);
}

static void *machine_realloc(void *opaque, void *ptr, size_t size)
{
    watch(opaque);
    return realloc(ptr, size);
}

static const JSMallocFunctions machine_functions = {
    machine_calloc, machine_malloc, machine_free, machine_realloc, js__malloc_usable_size,
};

/*
 * Intrinsics that many scripts never name are added when they do: each is a getter of the global
 * object that gives way to what it adds.
 */
enum lazy { LAZY_DATE, LAZY_PROXY, LAZY_TYPED_ARRAYS };

static const struct {
    const char *name;
    enum lazy lazy;
} lazy_names[] = {
    { "Date", LAZY_DATE },
    { "Proxy", LAZY_PROXY },
    { "ArrayBuffer", LAZY_TYPED_ARRAYS },
    { "SharedArrayBuffer", LAZY_TYPED_ARRAYS },
    { "Uint8ClampedArray", LAZY_TYPED_ARRAYS },
    { "Int8Array", LAZY_TYPED_ARRAYS },
    { "Uint8Array", LAZY_TYPED_ARRAYS },
    { "Int16Array", LAZY_TYPED_ARRAYS },
    { "Uint16Array", LAZY_TYPED_ARRAYS },
    { "Int32Array", LAZY_TYPED_ARRAYS },
    { "Uint32Array", LAZY_TYPED_ARRAYS },
    { "BigInt64Array", LAZY_TYPED_ARRAYS },
    { "BigUint64Array", LAZY_TYPED_ARRAYS },
    { "Float16Array", LAZY_TYPED_ARRAYS },
    { "Float32Array", LAZY_TYPED_ARRAYS },
    { "Float64Array", LAZY_TYPED_ARRAYS },
    { "DataView", LAZY_TYPED_ARRAYS },
    { "Atomics", LAZY_TYPED_ARRAYS },
};

static void remove_lazy(JSContext *ctx, enum lazy lazy)
{
    for (size_t i = 0; i < countof(lazy_names); i++) {
        if (lazy_names[i].lazy == lazy) {
            JSAtom atom = JS_NewAtom(ctx, lazy_names[i].name);
            JS_DeleteProperty(ctx, ctx->global_obj, atom, 0);
            JS_FreeAtom(ctx, atom);
        }
    }
}

static int add_lazy(JSContext *ctx, enum lazy lazy)
{
    switch (lazy) {
    case LAZY_DATE:
        if (!JS_IsNull(ctx->class_proto[JS_CLASS_DATE]))
            return 0;
        remove_lazy(ctx, lazy);
        return JS_AddIntrinsicDate(ctx);
    case LAZY_PROXY:
        if (JS_IsRegisteredClass(ctx->rt, JS_CLASS_PROXY))
            return 0;
        remove_lazy(ctx, lazy);
        return JS_AddIntrinsicProxy(ctx);
    case LAZY_TYPED_ARRAYS:
        if (!JS_IsNull(ctx->class_proto[JS_CLASS_ARRAY_BUFFER]))
            return 0;
        remove_lazy(ctx, lazy);
        return JS_AddIntrinsicTypedArrays(ctx);
    }
    return 0;
}

static JSValue get_lazy(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv,
                        int magic)
{
    if (add_lazy(ctx, lazy_names[magic].lazy))
        return JS_EXCEPTION;
    return JS_GetPropertyStr(ctx, ctx->global_obj, lazy_names[magic].name);
}

/* An assignment replaces the getter, as it would have replaced the value. */
static JSValue set_lazy(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv,
                        int magic)
{
    if (add_lazy(ctx, lazy_names[magic].lazy))
        return JS_EXCEPTION;
    if (JS_SetPropertyStr(ctx, ctx->global_obj, lazy_names[magic].name, js_dup(argv[0])) < 0)
        return JS_EXCEPTION;
    return JS_UNDEFINED;
}

static int define_lazy(JSContext *ctx)
{
    for (size_t i = 0; i < countof(lazy_names); i++) {
        JSAtom atom = JS_NewAtom(ctx, lazy_names[i].name);
        JSValue getter = JS_NewCFunctionMagic(ctx, get_lazy, lazy_names[i].name, 0,
                                              JS_CFUNC_generic_magic, i);
        JSValue setter = JS_NewCFunctionMagic(ctx, set_lazy, lazy_names[i].name, 1,
                                              JS_CFUNC_generic_magic, i);
        int defined = JS_DefinePropertyGetSet(ctx, ctx->global_obj, atom, getter, setter,
                                              JS_PROP_CONFIGURABLE);
        JS_FreeAtom(ctx, atom);
        if (defined < 0)
            return -1;
    }
    return 0;
}

/* Typed arrays exist from now on, whether the script names them or not. */
int plimsoll_need_typed_arrays(JSContext *ctx)
{
    return add_lazy(ctx, LAZY_TYPED_ARRAYS);
}

static int fill_context(JSContext *ctx)
{
    return JS_AddIntrinsicBaseObjects(ctx) || JS_AddIntrinsicEval(ctx) ||
           JS_AddIntrinsicRegExp(ctx) || JS_AddIntrinsicJSON(ctx) || JS_AddIntrinsicMapSet(ctx) ||
           JS_AddIntrinsicPromise(ctx) || JS_AddIntrinsicWeakRef(ctx) || define_lazy(ctx);
}

/*
 * Makes a runtime and its context in zeroed memory. The limit of the stack counts from the caller's
 * frame. On failure everything is freed again, and the result is -1.
 */
int plimsoll_open(struct machine *machine, size_t stack_bytes)
{
    JSRuntime *rt = JS_NewRuntime2(&machine_functions, machine);
    if (!rt)
        return -1;
    machine->runtime = rt;
    JS_SetMaxStackSize(rt, stack_bytes);
    JSContext *ctx = JS_NewContextRaw(rt);
    if (!ctx || fill_context(ctx)) {
        if (ctx)
            JS_FreeContext(ctx);
        JS_FreeRuntime(rt);
        machine->runtime = NULL;
        return -1;
    }
    machine->context = ctx;
    return 0;
}

/*
 * `limit_bytes` ends the script at its next chance. An allocation that would go beyond twice that
 * fails. Between the two there is room for what QuickJS has to allocate while it ends a script.
 */
void plimsoll_limit(struct machine *machine, size_t limit_bytes)
{
    machine->limit_bytes = limit_bytes;
    JS_SetMemoryLimit(machine->runtime, limit_bytes * 2);
}

/* Collects what the script left behind; whether it is below its limit again. */
bool plimsoll_recover(struct machine *machine)
{
    JS_RunGC(machine->runtime);
    machine->is_over_limit = machine->limit_bytes &&
        machine->runtime->malloc_state.malloc_size > machine->limit_bytes;
    return !machine->is_over_limit;
}

size_t plimsoll_used_bytes(const struct machine *machine)
{
    return machine->runtime->malloc_state.malloc_size;
}

void plimsoll_close(struct machine *machine)
{
    JSContext *ctx = machine->context;
    machine->context = NULL;
    JS_FreeContext(ctx);
    JS_FreeRuntime(machine->runtime);
    machine->runtime = NULL;
}

/* What `Date` says from now on in this thread, in microseconds since 1970. */
void plimsoll_set_clock(int64_t us)
{
    plimsoll_clock_us = us;
}

/* Starts `Math.random` again. */
void plimsoll_seed(JSContext *ctx, uint64_t seed)
{
    ctx->random_state = seed ? seed : 1;
}

/* Has the interrupt handler called at the next function call or turn of a loop. */
void plimsoll_poll_soon(JSContext *ctx)
{
    ctx->interrupt_counter = 0;
}

/* Frees the jobs that wait, without running them. */
void plimsoll_drop_jobs(JSRuntime *rt)
{
    while (!list_empty(&rt->job_list)) {
        JSJobEntry *job = list_entry(rt->job_list.next, JSJobEntry, link);
        JSContext *ctx = job->ctx;
        list_del(&job->link);
        for (int i = 0; i < job->argc; i++)
            JS_FreeValue(ctx, job->argv[i]);
        js_free(ctx, job);
    }
}

/* Whether a module that was compiled has what makes a text one: imports, exports, `await`. */
bool plimsoll_is_module(const JSModuleDef *module)
{
    return module->req_module_entries_count || module->export_entries_count ||
           module->star_export_entries_count || module->has_tla;
}

/* Unregisters a module that was compiled only to see what it is. */
void plimsoll_forget_module(JSContext *ctx, JSModuleDef *module)
{
    js_free_module_def(ctx, module);
}

/* Whether an object has a property that is not made on demand. */
bool plimsoll_has_plain(JSValueConst object, JSAtom atom)
{
    JSProperty *property;
    return find_own_property(&property, JS_VALUE_GET_OBJ(object), atom) != NULL;
}

/*
 * Compiles or evaluates text, which has a NUL after its length. Other than the public function it takes
 * a first line of 0, for text with a line before the user's own.
 */
JSValue plimsoll_eval(JSContext *ctx, const char *text, size_t len, const char *filename, int line,
                      int flags)
{
    return __JS_EvalInternal(ctx, JS_UNDEFINED, text, len, filename, line, flags, -1);
}

/*
 * QuickJS-NG, compiled with seven things changed, and what of its insides the crate needs.
 *
 * QuickJS gives each runtime slabs of 4 kB for each of 31 sizes of blocks. Each virtual user has a
 * runtime of its own, so that the unused parts of slabs would be two fifths of its memory. The one
 * switch that QuickJS has for them is meant for builds with the address sanitizer; it is set here.
 *
 * The clock of `Date` is a variable, because time is an argument here.
 *
 * What makes properties on demand is called through `lazy.c`: the macro renames QuickJS' own
 * function where it is defined, but not in the table that names it without an argument.
 *
 * Exports of modules are looked for and modules are linked through `modules.c`, and typed arrays are
 * made of lists through `arrays.c`. The macros tell the definition from the calls by how the first argument begins.
 *
 * `JSON.parse` and `JSON.stringify` go through `json.c` and `json_text.c`. The macros rename QuickJS'
 * own functions as that of `lazy.c`, and those of exports as far as its own writer calls itself.
 *
 * The source is that of the crate that ships it: `build.rs` says where it is.
 */

#include "cutils.h"

static _Thread_local int64_t plimsoll_clock_us;

#define js__gettimeofday_us() plimsoll_clock_us

#ifndef __SANITIZE_ADDRESS__
#define __SANITIZE_ADDRESS__ 1
#endif

#include "quickjs.h"

struct JSObject;
static JSValue JS_InstantiateFunctionListItem2(JSContext *ctx, struct JSObject *object,
                                               JSAtom atom, void *opaque);
#define JS_InstantiateFunctionListItem2(...) plimsoll_instantiate(__VA_ARGS__)

#define js_resolve_export(first, ...) plimsoll_resolve_##first, __VA_ARGS__)
#define plimsoll_resolve_ctx plimsoll_resolve_export(ctx
#define plimsoll_resolve_JSContext                                                            \
    plimsoll_resolve_export(JSContext *, JSModuleDef **, JSExportEntry **, JSModuleDef *,     \
                            JSAtom);                                                          \
    static JSResolveResultEnum resolve_export(JSContext

#define js_link_module(first, ...) plimsoll_link_##first, __VA_ARGS__)
#define plimsoll_link_ctx plimsoll_link_module(ctx
#define plimsoll_link_JSContext                                                               \
    plimsoll_link_module(JSContext *, JSModuleDef *);                                         \
    static int link_module(JSContext

static JSValue js_json_parse(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv);
static JSValue js_json_stringify(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv);
#define js_json_parse(...) quickjs_json_parse(__VA_ARGS__)
#define js_json_stringify(...) quickjs_json_stringify(__VA_ARGS__)

#define js_json_to_str(first, ...) plimsoll_written_##first, __VA_ARGS__)
#define plimsoll_written_ctx plimsoll_json_to_str(ctx
#define plimsoll_written_JSContext                                                            \
    plimsoll_json_to_str(JSContext *, JSONStringifyContext *, JSValueConst, JSValue,          \
                         JSValueConst);                                                       \
    static int json_to_str(JSContext

#define js_array_from_iterator(first, ...) plimsoll_iterated_##first, __VA_ARGS__)
#define plimsoll_iterated_ctx plimsoll_array_from_iterator(ctx
#define plimsoll_iterated_JSContext                                                           \
    plimsoll_array_from_iterator(JSContext *, uint32_t *, JSValueConst, JSValueConst);        \
    static JSValue array_from_iterator(JSContext

#include "quickjs.c"

#undef js_resolve_export
#undef js_link_module
#undef js_array_from_iterator
#undef js_json_to_str

/* quickjs.c forbids them by macros. */
#undef malloc
#undef free
#undef realloc

#if QJS_VERSION_MAJOR != 0 || QJS_VERSION_MINOR != 16 || QJS_VERSION_PATCH != 2
#error "engine.c reads the insides of QuickJS-NG 0.16.2: check them against this version"
#endif

struct names;

/* Memory that a settled runtime takes at least before its garbage is collected. */
#define SETTLED_BYTES (64 << 10)

/* How many kinds of intrinsics are added on demand. */
#define LAZY_COUNT 5

/* A runtime with a context, and what watches its memory. */
struct machine {
    JSRuntime *runtime;
    JSContext *context;
    /* Bytes above which the script is ended at the next chance; 0 without such a limit. */
    size_t limit_bytes;
    bool is_over_limit;
    /* Collects garbage wherever QuickJS may: for tests. */
    bool is_stressed;
    bool is_rehashing;
    /* The names that it shares with others of its thread; NULL for none. */
    struct names *names;
    /* Objects with the names of intrinsics that were added on demand. */
    JSValue lazy[LAZY_COUNT];
    /* Told of an export that a module does not have, by the names of both. */
    void (*tell_missing)(JSContext *ctx, JSAtom module, JSAtom name);
};

static bool is_for_hash(const struct machine *machine, size_t bytes);
static void rehash(struct machine *machine);

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
    if (is_for_hash(opaque, count * size)) {
        rehash(opaque);
        return NULL;
    }
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

#include "lazy.c"
#include "names.c"
#include "arrays.c"
#include "json.c"
#include "json_text.c"
#include "modules.c"

static int fill_context(JSContext *ctx)
{
    return JS_AddIntrinsicBaseObjects(ctx) || JS_AddIntrinsicEval(ctx) ||
           JS_AddIntrinsicRegExp(ctx) || JS_AddIntrinsicJSON(ctx) || JS_AddIntrinsicPromise(ctx) ||
           define_lazy(ctx);
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

static void free_runtime(struct machine *machine)
{
    JSRuntime *rt = machine->runtime;
    if (machine->names) {
        /* All that holds names has to be gone before they are forgotten. */
        JS_FreeValueRT(rt, rt->current_exception);
        rt->current_exception = JS_UNINITIALIZED;
        plimsoll_drop_jobs(rt);
        JS_RunGC(rt);
        forget_names(machine);
    }
    machine->runtime = NULL;
    JS_FreeRuntime(rt);
}

/*
 * Makes a runtime and its context in zeroed memory. The limit of the stack counts from the caller's
 * frame. It shares `names`, unless they are NULL. On failure everything is freed again, and the
 * result is -1.
 */
int plimsoll_open(struct machine *machine, size_t stack_bytes, struct names *names)
{
    JSRuntime *rt = JS_NewRuntime2(&machine_functions, machine);
    if (!rt)
        return -1;
    machine->runtime = rt;
    for (int i = 0; i < LAZY_COUNT; i++)
        machine->lazy[i] = JS_UNDEFINED;
    JS_SetMaxStackSize(rt, stack_bytes);
    JSContext *ctx = names && share_names(machine, names) ? NULL : JS_NewContextRaw(rt);
    if (!ctx || fill_context(ctx)) {
        if (ctx)
            JS_FreeContext(ctx);
        free_runtime(machine);
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

/*
 * Collects what the evaluation of a script left behind. The next collection comes after half as much
 * memory again, and not only at QuickJS' own 256 kB, which is several times what a small script has.
 */
void plimsoll_settle(struct machine *machine)
{
    JSRuntime *rt = machine->runtime;
    JS_RunGC(rt);
    size_t used = rt->malloc_state.malloc_size;
    rt->malloc_gc_threshold = used + (used / 2 > SETTLED_BYTES ? used / 2 : SETTLED_BYTES);
}

size_t plimsoll_used_bytes(const struct machine *machine)
{
    return machine->runtime->malloc_state.malloc_size;
}

void plimsoll_close(struct machine *machine)
{
    JSContext *ctx = machine->context;
    machine->context = NULL;
    forget_lazy(ctx);
    JS_FreeContext(ctx);
    free_runtime(machine);
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

/* Whether a value is an array to scripts, as a proxy of one is. */
bool plimsoll_is_array(JSContext *ctx, JSValueConst value)
{
    int is = js_is_array(ctx, value);
    if (is < 0)
        JS_FreeValue(ctx, JS_GetException(ctx));
    return is > 0;
}

/* A proxy, whether the script names those or not. */
JSValue plimsoll_new_proxy(JSContext *ctx, JSValueConst target, JSValueConst handler)
{
    if (JS_IsException(add_lazy(ctx, LAZY_PROXY)))
        return JS_EXCEPTION;
    return JS_NewProxy(ctx, target, handler);
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

/*
 * Intrinsics that many scripts never name are added when they do: each is a property of the global
 * object that QuickJS makes when it is first read.
 *
 * What makes such a property must not change the object that it belongs to. So intrinsics define
 * their names on another object, and the properties are read from there.
 */

enum lazy { LAZY_DATE, LAZY_PROXY, LAZY_MAPS, LAZY_WEAK, LAZY_TYPED_ARRAYS };

static int (*const lazy_adders[LAZY_COUNT])(JSContext *) = {
    JS_AddIntrinsicDate, JS_AddIntrinsicProxy, JS_AddIntrinsicMapSet, JS_AddIntrinsicWeakRef,
    JS_AddIntrinsicTypedArrays,
};

static const struct lazy_name {
    const char *name;
    enum lazy lazy;
} lazy_names[] = {
    { "Date", LAZY_DATE },
    { "Proxy", LAZY_PROXY },
    { "Map", LAZY_MAPS },
    { "Set", LAZY_MAPS },
    { "WeakMap", LAZY_MAPS },
    { "WeakSet", LAZY_MAPS },
    { "WeakRef", LAZY_WEAK },
    { "FinalizationRegistry", LAZY_WEAK },
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

static struct machine *machine_of(JSContext *ctx)
{
    return ctx->rt->malloc_state.opaque;
}

/* The object with the names of some intrinsics, which are added if they are not there. It is lent;
   an exception without memory. */
static JSValueConst add_lazy(JSContext *ctx, enum lazy lazy)
{
    JSValue *added = &machine_of(ctx)->lazy[lazy];
    if (JS_IsObject(*added))
        return *added;
    JSValue global = ctx->global_obj;
    ctx->global_obj = JS_NewObject(ctx);
    if (JS_IsException(ctx->global_obj) || lazy_adders[lazy](ctx)) {
        JS_FreeValue(ctx, ctx->global_obj);
        ctx->global_obj = global;
        return JS_EXCEPTION;
    }
    *added = ctx->global_obj;
    ctx->global_obj = global;
    return *added;
}

/* Called by QuickJS in place of its own function, which makes all other properties on demand. */
static JSValue (JS_InstantiateFunctionListItem2)(JSContext *ctx, JSObject *object, JSAtom atom,
                                                 void *opaque)
{
    uintptr_t at = (uintptr_t)opaque, first = (uintptr_t)lazy_names;
    if (at < first || at >= first + sizeof(lazy_names))
        return plimsoll_instantiate(ctx, object, atom, opaque);
    const struct lazy_name *name = opaque;
    JSValueConst added = add_lazy(ctx, name->lazy);
    return JS_IsException(added) ? JS_EXCEPTION : JS_GetPropertyStr(ctx, added, name->name);
}

static int define_lazy(JSContext *ctx)
{
    for (size_t i = 0; i < countof(lazy_names); i++) {
        JSAtom atom = JS_NewAtom(ctx, lazy_names[i].name);
        int defined = JS_DefineAutoInitProperty(ctx, ctx->global_obj, atom, JS_AUTOINIT_ID_PROP,
                                                (void *)&lazy_names[i],
                                                JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
        JS_FreeAtom(ctx, atom);
        if (defined < 0)
            return -1;
    }
    return 0;
}

static void forget_lazy(JSContext *ctx)
{
    for (int i = 0; i < LAZY_COUNT; i++) {
        JS_FreeValue(ctx, machine_of(ctx)->lazy[i]);
        machine_of(ctx)->lazy[i] = JS_UNDEFINED;
    }
}

/* Typed arrays exist from now on, whether the script names them or not. */
int plimsoll_need_typed_arrays(JSContext *ctx)
{
    return JS_IsException(add_lazy(ctx, LAZY_TYPED_ARRAYS)) ? -1 : 0;
}

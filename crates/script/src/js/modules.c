/*
 * What modules need of QuickJS' insides: exports that are asked for and not there, modules that
 * import one that is being evaluated, modules that are loaded already, and the file whose evaluation
 * goes on.
 */

/*
 * Called wherever QuickJS looks for what a module exports. Modules that are not text, which are those
 * that are built in, CommonJS and JSON, export whatever is asked for: what they do not have is
 * undefined. The machine is told of it.
 */
static JSResolveResultEnum plimsoll_resolve_export(JSContext *ctx, JSModuleDef **found_in,
                                                   JSExportEntry **entry, JSModuleDef *module,
                                                   JSAtom name)
{
    JSResolveResultEnum found = resolve_export(ctx, found_in, entry, module, name);
    if (found != JS_RESOLVE_RES_NOT_FOUND || !module->init_func)
        return found;
    JSExportEntry *added =
        add_export_entry2(ctx, NULL, module, JS_ATOM_NULL, name, JS_EXPORT_TYPE_LOCAL);
    if (!added)
        return JS_RESOLVE_RES_EXCEPTION;
    /* Others are made when the module is, which may be over. */
    if (module->func_created) {
        added->u.local.var_ref = js_create_module_var(ctx, false);
        if (!added->u.local.var_ref)
            return JS_RESOLVE_RES_EXCEPTION;
    }
    machine_of(ctx)->tell_missing(ctx, module->module_name, name);
    return resolve_export(ctx, found_in, entry, module, name);
}

static int count_evaluating(JSContext *ctx)
{
    struct list_head *el;
    int count = 0;
    list_for_each(el, &ctx->loaded_modules)
        count += list_entry(el, JSModuleDef, link)->status == JS_MODULE_STATUS_EVALUATING;
    return count;
}

/*
 * Called wherever QuickJS links a module. Modules know no `require()`: that a module is linked while
 * another is being evaluated, which it may import, cannot happen to them, and QuickJS ends the
 * process. The other was linked long ago. It counts as no more than that in the meantime, in which
 * nothing of the script runs.
 */
static int plimsoll_link_module(JSContext *ctx, JSModuleDef *module)
{
    struct list_head *el;
    int count = count_evaluating(ctx), set_back = 0;
    JSModuleDef **evaluating = NULL;
    if (count) {
        evaluating = js_malloc(ctx, count * sizeof(*evaluating));
        if (!evaluating)
            return -1;
        list_for_each(el, &ctx->loaded_modules) {
            JSModuleDef *other = list_entry(el, JSModuleDef, link);
            if (other->status == JS_MODULE_STATUS_EVALUATING) {
                other->status = JS_MODULE_STATUS_LINKED;
                evaluating[set_back++] = other;
            }
        }
    }
    int failed = link_module(ctx, module);
    while (set_back > 0)
        evaluating[--set_back]->status = JS_MODULE_STATUS_EVALUATING;
    js_free(ctx, evaluating);
    return failed;
}

/* Whether all that a module imports is loaded. Those that were looked at are marked. */
static bool is_whole(JSModuleDef *module)
{
    if (module->status != JS_MODULE_STATUS_UNLINKED || module->dfs_index < 0)
        return true;
    module->dfs_index = -1;
    for (int i = 0; i < module->req_module_entries_count; i++) {
        JSModuleDef *imported = module->req_module_entries[i].module;
        if (!imported || !is_whole(imported))
            return false;
    }
    return true;
}

static void forget_looks(JSContext *ctx)
{
    struct list_head *el;
    list_for_each(el, &ctx->loaded_modules) {
        JSModuleDef *other = list_entry(el, JSModuleDef, link);
        /* Linking gives it a value before it reads it. */
        if (other->status == JS_MODULE_STATUS_UNLINKED)
            other->dfs_index = 0;
    }
}

/* Whether a module is loaded with all that it imports: QuickJS takes that for granted. */
bool plimsoll_is_whole(JSContext *ctx, JSModuleDef *module)
{
    forget_looks(ctx);
    return is_whole(module);
}

/*
 * The module of this name that is loaded with all that it imports; NULL without one. Sets whether it
 * is being evaluated, so that it cannot be again.
 */
JSModuleDef *plimsoll_find_module(JSContext *ctx, const char *name, bool *is_running)
{
    JSAtom atom = JS_NewAtom(ctx, name);
    JSModuleDef *module = js_find_loaded_module_by_name(ctx, atom);
    JS_FreeAtom(ctx, atom);
    if (!module)
        return NULL;
    *is_running = module->status == JS_MODULE_STATUS_EVALUATING;
    return plimsoll_is_whole(ctx, module) ? module : NULL;
}

/*
 * The name of the file whose evaluation has led here: that of the outermost function within the
 * innermost call of `boundary`. JS_ATOM_NULL without one.
 */
JSAtom plimsoll_file_evaluated(JSContext *ctx, JSCFunction *boundary)
{
    JSAtom name = JS_ATOM_NULL;
    for (JSStackFrame *frame = ctx->rt->current_stack_frame; frame; frame = frame->prev_frame) {
        if (JS_VALUE_GET_TAG(frame->cur_func) != JS_TAG_OBJECT)
            continue;
        JSObject *function = JS_VALUE_GET_OBJ(frame->cur_func);
        if (function->class_id == JS_CLASS_C_FUNCTION &&
            function->u.cfunc.c_function.generic == boundary)
            break;
        if (js_class_has_bytecode(function->class_id))
            name = function->u.func.function_bytecode->filename;
    }
    return JS_DupAtom(ctx, name);
}

/*
 * Lists of numbers become typed arrays without an iterator: `new Uint8Array([…])`. QuickJS makes a
 * list of what the iterator gives, one object for each element.
 *
 * And the bytes of what has some: QuickJS gives them in three ways, with none for a `DataView`, and
 * with the length that a view had once for a buffer that was resized.
 */

/* Whether iterators of lists are QuickJS' own: the script has not given them another `next`. */
static bool has_own_next(JSContext *ctx)
{
    JSCFunctionType own = { .iterator_next = js_array_iterator_next };
    JSProperty *next;
    JSObject *prototype = JS_VALUE_GET_OBJ(ctx->class_proto[JS_CLASS_ARRAY_ITERATOR]);
    JSShapeProperty *found = find_own_property(&next, prototype, JS_ATOM_next);
    if (!found)
        return false;
    int kind = found->flags & JS_PROP_TMASK;
    /* One that was never read is not made yet. */
    return kind == JS_PROP_AUTOINIT ||
           (kind == JS_PROP_NORMAL && JS_IsCFunction(ctx, next->u.value, own.generic, 0));
}

/* Whether an object is a list without holes, all of whose elements are in `u.array`. */
static bool is_dense(const JSObject *list)
{
    if (list->class_id != JS_CLASS_ARRAY || !list->fast_array)
        return false;
    JSValueConst length = list->prop[0].u.value;
    return JS_VALUE_GET_TAG(length) == JS_TAG_INT &&
           (uint32_t)JS_VALUE_GET_INT(length) == list->u.array.count;
}

/* Whether a value is such a list of numbers alone: to read it runs nothing of the script. */
static bool is_list_of_numbers(JSValueConst value)
{
    JSObject *list = JS_VALUE_GET_OBJ(value);
    if (!is_dense(list))
        return false;
    for (uint32_t i = 0; i < list->u.array.count; i++) {
        if (!JS_IsNumber(list->u.array.u.values[i]))
            return false;
    }
    return true;
}

/* Called by QuickJS where it makes a typed array of what has an iterator. */
static JSValue plimsoll_array_from_iterator(JSContext *ctx, uint32_t *len, JSValueConst object,
                                            JSValueConst method)
{
    if (JS_IsObject(object) && JS_IsStrictEqual(ctx, method, ctx->array_proto_values) &&
        has_own_next(ctx) && is_list_of_numbers(object)) {
        *len = JS_VALUE_GET_OBJ(object)->u.array.count;
        return js_dup(object);
    }
    return array_from_iterator(ctx, len, object, method);
}

/*
 * Finds the bytes of an `ArrayBuffer`, a typed array or a `DataView`, as far as they reach now. They
 * stay until something of the script runs. 0 for any other value; -1 with an exception if the buffer
 * is detached, or the view lies outside of it.
 */
int plimsoll_bytes(JSContext *ctx, JSValueConst value, uint8_t **bytes, size_t *len)
{
    *bytes = NULL;
    *len = 0;
    if (!JS_IsObject(value))
        return 0;
    JSObject *object = JS_VALUE_GET_OBJ(value);
    if (object->class_id == JS_CLASS_ARRAY_BUFFER) {
        *bytes = JS_GetArrayBuffer(ctx, len, value);
        return object->u.array_buffer->detached ? -1 : 1;
    }
    bool is_data_view = object->class_id == JS_CLASS_DATAVIEW;
    if (!is_data_view && !is_typed_array(object->class_id))
        return 0;
    if (is_data_view ? dataview_is_oob(object) : typed_array_is_oob(object)) {
        JS_ThrowTypeErrorArrayBufferOOB(ctx);
        return -1;
    }
    if (is_data_view) {
        JSTypedArray *view = object->u.typed_array;
        JSArrayBuffer *buffer = view->buffer->u.array_buffer;
        *bytes = buffer->data + view->offset;
        *len = view->track_rab ? buffer->byte_length - view->offset : view->length;
    } else {
        *bytes = object->u.array.u.ptr;
        *len = (size_t)object->u.array.count << typed_array_size_log2(object->class_id);
    }
    return 1;
}

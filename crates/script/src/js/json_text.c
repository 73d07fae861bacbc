/*
 * JSON of usual values, written without detours: plain objects and lists of text, numbers and the
 * like. QuickJS makes a list of each object's names, a string of each number and index, and looks
 * for `toJSON` in each object.
 *
 * Nothing of the script runs here, so that nothing changes meanwhile. Whatever is unusual ends this,
 * and QuickJS' own function writes all of the text: getters, proxies, `toJSON`, boxed values, names
 * that are numbers (which come first, in their order), holes, and what is nested deeply or in a
 * circle. So texts are the same, and so are the messages about mistakes.
 */

struct json_text {
    JSContext *ctx;
    StringBuffer text;
    /* Prototypes of an object and of a list that have no `toJSON`, nor have theirs. */
    JSObject *plain_object, *plain_list;
};

static bool text_of_value(struct json_text *json, JSValueConst value, int depth);

/* QuickJS' own function must not be called with no bytes once memory has run out. */
static void text_of_bytes(StringBuffer *text, const void *bytes, int len)
{
    if (len > 0)
        string_buffer_write8(text, bytes, len);
}

static void text_of_character(StringBuffer *text, uint8_t character)
{
    static const char letters[] = "\bb\ff\nn\rr\tt\"\"\\\\";
    for (const char *letter = letters; *letter; letter += 2) {
        if (*letter == character) {
            string_buffer_putc8(text, '\\');
            string_buffer_putc8(text, letter[1]);
            return;
        }
    }
    char escaped[8];
    snprintf(escaped, sizeof(escaped), "\\u%04x", character);
    text_of_bytes(text, escaped, 6);
}

/* A string of Latin-1, in quotes. */
static void text_of_string(StringBuffer *text, const uint8_t *string, int len)
{
    int start = 0;
    string_buffer_putc8(text, '"');
    for (int i = 0; i < len; i++) {
        if (string[i] >= ' ' && string[i] != '"' && string[i] != '\\')
            continue;
        text_of_bytes(text, string + start, i - start);
        text_of_character(text, string[i]);
        start = i + 1;
    }
    text_of_bytes(text, string + start, len - start);
    string_buffer_putc8(text, '"');
}

/*
 * Writes a number with up to three decimals, and says whether it is one. No other number of at most
 * 15 digits is the same double, so that these are the digits that JavaScript asks for: the fewest
 * that tell it from all others.
 */
static bool text_of_decimal(StringBuffer *text, double number)
{
    double thousands = number * 1000;
    if (!(fabs(thousands) < 1e12))
        return false;
    int64_t whole = (int64_t)(thousands + (thousands < 0 ? -0.5 : 0.5));
    if ((double)whole / 1000 != number || whole == 0)
        return false;
    char digits[32];
    int len = 0;
    if (whole < 0) {
        digits[len++] = '-';
        whole = -whole;
    }
    len += u64toa(digits + len, whole / 1000);
    int rest = whole % 1000;
    if (rest > 0)
        digits[len++] = '.';
    for (int place = 100; rest > 0; rest %= place, place /= 10)
        digits[len++] = '0' + rest / place;
    text_of_bytes(text, digits, len);
    return true;
}

static void text_of_number(StringBuffer *text, double number)
{
    if (!isfinite(number)) {
        text_of_bytes(text, "null", 4);
        return;
    }
    if (text_of_decimal(text, number))
        return;
    char digits[128];
    JSDTOATempMem room;
    int len = js_dtoa(digits, number, 10, 0, JS_DTOA_FORMAT_FREE, &room);
    text_of_bytes(text, digits, len);
}

/* Whether no prototype has `toJSON`. The last one that had none is remembered. */
static bool has_plain_prototypes(JSObject *object, JSObject **plain)
{
    JSObject *first = object->shape->proto;
    if (first == *plain)
        return true;
    for (JSObject *at = first; at; at = at->shape->proto) {
        if ((at->is_exotic && at->class_id != JS_CLASS_ARRAY) ||
            find_own_property1(at, JS_ATOM_toJSON))
            return false;
    }
    *plain = first;
    return true;
}

/* Whether a value has no text of its own: `null` stands for it in a list, nothing in an object. */
static bool has_no_text(JSValueConst value)
{
    int tag = JS_VALUE_GET_TAG(value);
    return tag == JS_TAG_UNDEFINED || tag == JS_TAG_SYMBOL;
}

static bool text_of_list(struct json_text *json, JSObject *list, int depth)
{
    /* Its length is its only property. */
    if (!is_dense(list) || list->shape->prop_count != 1 ||
        !has_plain_prototypes(list, &json->plain_list))
        return false;
    string_buffer_putc8(&json->text, '[');
    for (uint32_t i = 0; i < list->u.array.count; i++) {
        JSValueConst value = list->u.array.u.values[i];
        if (i > 0)
            string_buffer_putc8(&json->text, ',');
        if (!text_of_value(json, has_no_text(value) ? JS_NULL : value, depth + 1))
            return false;
    }
    string_buffer_putc8(&json->text, ']');
    return true;
}

static bool text_of_object(struct json_text *json, JSObject *object, int depth)
{
    StringBuffer *text = &json->text;
    JSShape *shape = object->shape;
    JSShapeProperty *property = get_shape_prop(shape);
    bool has_content = false;
    if (object->is_exotic || !has_plain_prototypes(object, &json->plain_object))
        return false;
    string_buffer_putc8(text, '{');
    for (int i = 0; i < shape->prop_count; i++, property++) {
        if (property->atom == JS_ATOM_NULL)
            continue;
        if (property->atom == JS_ATOM_toJSON || __JS_AtomIsTaggedInt(property->atom))
            return false;
        JSAtomStruct *name = json->ctx->rt->atom_array[property->atom];
        if (name->atom_type != JS_ATOM_TYPE_STRING || !(property->flags & JS_PROP_ENUMERABLE))
            continue;
        if ((property->flags & JS_PROP_TMASK) != JS_PROP_NORMAL || name->is_wide_char ||
            (name->len > 0 && is_digit(*str8(name))))
            return false;
        JSValueConst value = object->prop[i].u.value;
        if (has_no_text(value))
            continue;
        if (has_content)
            string_buffer_putc8(text, ',');
        text_of_string(text, str8(name), name->len);
        string_buffer_putc8(text, ':');
        if (!text_of_value(json, value, depth + 1))
            return false;
        has_content = true;
    }
    string_buffer_putc8(text, '}');
    return true;
}

static bool text_of_value(struct json_text *json, JSValueConst value, int depth)
{
    StringBuffer *text = &json->text;
    char digits[16];
    if (text->error_status || depth >= JSON_DEPTH_MAX ||
        js_check_stack_overflow(json->ctx->rt, 0))
        return false;
    switch (JS_VALUE_GET_NORM_TAG(value)) {
    case JS_TAG_INT:
        text_of_bytes(text, digits, i32toa(digits, JS_VALUE_GET_INT(value)));
        return true;
    case JS_TAG_FLOAT64:
        text_of_number(text, JS_VALUE_GET_FLOAT64(value));
        return true;
    case JS_TAG_BOOL: {
        const char *word = JS_VALUE_GET_BOOL(value) ? "true" : "false";
        text_of_bytes(text, word, strlen(word));
        return true;
    }
    case JS_TAG_NULL:
        text_of_bytes(text, "null", 4);
        return true;
    case JS_TAG_STRING: {
        JSString *string = JS_VALUE_GET_STRING(value);
        if (!string->is_wide_char) {
            text_of_string(text, str8(string), string->len);
            return true;
        }
    }
        /* fall through */
    case JS_TAG_STRING_ROPE: {
        JSValue quoted = JS_ToQuotedString(json->ctx, value);
        if (JS_IsException(quoted))
            string_buffer_set_error(text);
        return !JS_IsException(quoted) && !string_buffer_concat_value_free(text, quoted);
    }
    case JS_TAG_OBJECT: {
        JSObject *object = JS_VALUE_GET_OBJ(value);
        if (object->class_id == JS_CLASS_ARRAY)
            return text_of_list(json, object, depth);
        return object->class_id == JS_CLASS_OBJECT && text_of_object(json, object, depth);
    }
    default:
        return false;
    }
}

/*
 * Called by QuickJS for each value that its own writer writes. That goes on without memory until it
 * comes to a value that is neither a list nor an object, which may take more than a lifetime.
 */
static int plimsoll_json_to_str(JSContext *ctx, JSONStringifyContext *json, JSValueConst holder,
                                JSValue value, JSValueConst indent)
{
    if (!json->b->error_status)
        return json_to_str(ctx, json, holder, value, indent);
    JS_FreeValue(ctx, value);
    return -1;
}

/* `JSON.stringify(value, replacer, space)`, called by QuickJS in place of its own. */
static JSValue (js_json_stringify)(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    if (JS_IsObject(argv[0]) && JS_IsUndefined(argv[1]) && JS_IsUndefined(argv[2])) {
        struct json_text json = { .ctx = ctx };
        string_buffer_init(ctx, &json.text, 0);
        /* Without memory that is an exception, which QuickJS' own function would only repeat. */
        if (text_of_value(&json, argv[0], 0) || json.text.error_status)
            return string_buffer_end(&json.text);
        string_buffer_free(&json.text);
    }
    return quickjs_json_stringify(ctx, this, argc, argv);
}

/* `JSON.parse(text, reviver)`, called by QuickJS in place of its own. */
static JSValue (js_json_parse)(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
    if (!JS_IsString(argv[0]) || (argc > 1 && JS_IsFunction(ctx, argv[1])))
        return quickjs_json_parse(ctx, this, argc, argv);
    size_t len;
    const char *text = JS_ToCStringLen(ctx, &len, argv[0]);
    if (!text)
        return JS_EXCEPTION;
    JSValue value = plimsoll_parse_json(ctx, text, len, "<input>");
    JS_FreeCString(ctx, text);
    return value;
}

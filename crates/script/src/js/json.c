/*
 * JSON of a usual kind, read without detours: strings of ASCII without escapes, and objects that
 * have the same names as the one before, such as the rows of a list. QuickJS makes a string of each
 * name to find its number, and looks for the next shape at each property.
 *
 * Whatever is unusual or wrong ends this, and QuickJS' own parser reads all of the text. So values
 * are the same, and so are the messages about mistakes.
 */

/* How deep values are nested at most. */
#define JSON_DEPTH_MAX 32

/* Properties of a shape that is expected again, at most. */
#define JSON_EXPECTED_MAX 32

struct json {
    JSContext *ctx;
    /* What comes next. The text ends with a NUL, which nothing here passes. */
    const uint8_t *at;
    /* The shape of the last object at each depth. */
    JSShape *expected[JSON_DEPTH_MAX];
};

static bool json_value(struct json *json, int depth, JSValue *value);

static void json_skip(struct json *json)
{
    while (*json->at == ' ' || *json->at == '\n' || *json->at == '\r' || *json->at == '\t')
        json->at++;
}

/* Passes a character after blanks, if it is the next. */
static bool json_passes(struct json *json, uint8_t character)
{
    json_skip(json);
    if (*json->at != character)
        return false;
    json->at++;
    return true;
}

/* Passes a string of ASCII without escapes, and gives its length without quotes; -1 for any other. */
static int json_string(struct json *json, const uint8_t **start)
{
    if (*json->at != '"')
        return -1;
    const uint8_t *at = json->at + 1;
    while (*at >= ' ' && *at < 0x80 && *at != '"' && *at != '\\')
        at++;
    if (*at != '"' || at - json->at > INT32_MAX / 4)
        return -1;
    *start = json->at + 1;
    json->at = at + 1;
    return at - *start;
}

static bool json_number(struct json *json, JSValue *value)
{
    static const double powers[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8,
                                     1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
    const uint8_t *start = json->at, *at = start + (*start == '-');
    if (!is_digit(*at) || (*at == '0' && is_digit(at[1])))
        return false;
    uint64_t whole = 0;
    int digits = 0, fraction = 0;
    for (; is_digit(*at); at++, digits++)
        whole = whole * 10 + (*at - '0');
    if (*at == '.') {
        if (!is_digit(*++at))
            return false;
        for (; is_digit(*at); at++, digits++, fraction++)
            whole = whole * 10 + (*at - '0');
    }
    if (*at == 'e' || *at == 'E')
        return false;
    json->at = at;
    bool is_negative = *start == '-';
    if (digits < 10 && fraction == 0 && !(is_negative && whole == 0))
        *value = js_int32(is_negative ? -(int32_t)whole : (int32_t)whole);
    else if (digits > 15)
        *value = js_float64(strtod((const char *)start, NULL));
    else {
        /* Both are exact, so that the quotient is rounded once, as the decimal would be. */
        double magnitude = (double)whole / powers[fraction];
        *value = js_float64(is_negative ? -magnitude : magnitude);
    }
    return true;
}

static bool json_array(struct json *json, int depth, JSValue *value)
{
    JSContext *ctx = json->ctx;
    JSValue array = JS_NewArray(ctx);
    if (JS_IsException(array))
        return false;
    JSObject *object = JS_VALUE_GET_OBJ(array);
    bool is_whole = json_passes(json, ']');
    while (!is_whole) {
        JSValue element;
        uint32_t count = object->u.array.count;
        if (!json_value(json, depth + 1, &element))
            break;
        if (count == object->u.array.u1.size && expand_fast_array(ctx, object, count + 1)) {
            JS_FreeValue(ctx, element);
            break;
        }
        object->u.array.u.values[count] = element;
        object->u.array.count = count + 1;
        is_whole = json_passes(json, ']');
        if (!is_whole && !json_passes(json, ','))
            break;
    }
    if (!is_whole) {
        JS_FreeValue(ctx, array);
        return false;
    }
    object->prop[0].u.value = js_int32(object->u.array.count);
    *value = array;
    return true;
}

/* Whether a name has this text. */
static bool json_is_name(JSRuntime *rt, JSAtom name, const uint8_t *text, int len)
{
    if (__JS_AtomIsTaggedInt(name))
        return false;
    JSAtomStruct *atom = rt->atom_array[name];
    return atom->atom_type == JS_ATOM_TYPE_STRING && !atom->is_wide_char && atom->len == len &&
           !memcmp(str8(atom), text, len);
}

static JSAtom json_name(JSContext *ctx, const uint8_t *text, int len)
{
    JSAtom name = JS_ATOM_NULL;
    if (len > 0 && !is_digit(*text))
        name = __JS_FindAtom(ctx->rt, (const char *)text, len, JS_ATOM_TYPE_STRING);
    return name != JS_ATOM_NULL ? name : JS_NewAtomLen(ctx, (const char *)text, len);
}

/* An object with the first properties of a shape, which it takes over. */
static JSValue json_begin(JSContext *ctx, JSShape *shape, JSProperty *properties, int count)
{
    JSValue object = JS_NewObject(ctx);
    for (int i = 0; i < count; i++) {
        JSValue value = properties[i].u.value;
        if (JS_IsException(object))
            JS_FreeValue(ctx, value);
        else if (JS_DefinePropertyValue(ctx, object, get_shape_prop(shape)[i].atom, value,
                                        JS_PROP_C_W_E) < 0) {
            JS_FreeValue(ctx, object);
            object = JS_EXCEPTION;
        }
    }
    return object;
}

/* Expects the shape of an object again. */
static void json_expect(struct json *json, int depth, JSValueConst object)
{
    JSShape *shape = JS_VALUE_GET_OBJ(object)->shape;
    if (shape->prop_count > JSON_EXPECTED_MAX || shape->deleted_prop_count)
        return;
    if (json->expected[depth])
        js_free_shape(json->ctx->rt, json->expected[depth]);
    json->expected[depth] = js_dup_shape(shape);
}

/* An object that is being read. */
struct json_object {
    /* Values as long as their names are those of the expected shape. */
    JSProperty properties[JSON_EXPECTED_MAX];
    int count;
    /* What has all of them, once a name was another; undefined before. */
    JSValue object;
};

static bool json_property(struct json *json, int depth, struct json_object *reading)
{
    JSContext *ctx = json->ctx;
    JSShape *expected = json->expected[depth];
    const uint8_t *text;
    json_skip(json);
    int len = json_string(json, &text);
    if (len < 0 || !json_passes(json, ':'))
        return false;
    JSValue value;
    if (JS_IsUndefined(reading->object) && expected && reading->count < expected->prop_count &&
        json_is_name(ctx->rt, get_shape_prop(expected)[reading->count].atom, text, len)) {
        if (!json_value(json, depth + 1, &value))
            return false;
        reading->properties[reading->count++].u.value = value;
        return true;
    }
    if (JS_IsUndefined(reading->object)) {
        reading->object = json_begin(ctx, expected, reading->properties, reading->count);
        reading->count = 0;
        if (JS_IsException(reading->object))
            return false;
    }
    JSAtom name = json_name(ctx, text, len);
    if (name == JS_ATOM_NULL)
        return false;
    bool is_defined = json_value(json, depth + 1, &value) &&
                      JS_DefinePropertyValue(ctx, reading->object, name, value, JS_PROP_C_W_E) >= 0;
    JS_FreeAtom(ctx, name);
    return is_defined;
}

static bool json_object(struct json *json, int depth, JSValue *value)
{
    JSContext *ctx = json->ctx;
    struct json_object reading = { .count = 0, .object = JS_UNDEFINED };
    bool is_whole = json_passes(json, '}');
    while (!is_whole) {
        if (!json_property(json, depth, &reading))
            break;
        is_whole = json_passes(json, '}');
        if (!is_whole && !json_passes(json, ','))
            break;
    }
    if (!is_whole) {
        for (int i = 0; i < reading.count; i++)
            JS_FreeValue(ctx, reading.properties[i].u.value);
        JS_FreeValue(ctx, reading.object);
        return false;
    }
    JSShape *expected = json->expected[depth];
    if (!JS_IsUndefined(reading.object)) {
        json_expect(json, depth, reading.object);
        *value = reading.object;
    } else if (expected && reading.count == expected->prop_count) {
        *value = JS_NewObjectFromShape(ctx, js_dup_shape(expected), JS_CLASS_OBJECT,
                                       reading.properties);
    } else {
        *value = json_begin(ctx, expected, reading.properties, reading.count);
    }
    return !JS_IsException(*value);
}

static bool json_word(struct json *json, const char *word, JSValue is, JSValue *value)
{
    size_t len = strlen(word);
    if (strncmp((const char *)json->at, word, len))
        return false;
    json->at += len;
    *value = is;
    return true;
}

static bool json_value(struct json *json, int depth, JSValue *value)
{
    JSContext *ctx = json->ctx;
    if (depth >= JSON_DEPTH_MAX || js_check_stack_overflow(ctx->rt, 2 * sizeof(struct json_object)))
        return false;
    json_skip(json);
    switch (*json->at) {
    case '{':
        json->at++;
        return json_object(json, depth, value);
    case '[':
        json->at++;
        return json_array(json, depth, value);
    case '"': {
        const uint8_t *text;
        int len = json_string(json, &text);
        if (len < 0)
            return false;
        *value = js_new_string8_len(ctx, (const char *)text, len);
        return !JS_IsException(*value);
    }
    case 't':
        return json_word(json, "true", JS_TRUE, value);
    case 'f':
        return json_word(json, "false", JS_FALSE, value);
    case 'n':
        return json_word(json, "null", JS_NULL, value);
    default:
        return json_number(json, value);
    }
}

/* As `JS_ParseJSON`: the text has a NUL behind it. */
JSValue plimsoll_parse_json(JSContext *ctx, const char *text, size_t len, const char *filename)
{
    struct json json = { .ctx = ctx, .at = (const uint8_t *)text };
    JSValue value;
    bool is_read = json_value(&json, 0, &value);
    if (is_read) {
        json_skip(&json);
        if ((const char *)json.at != text + len) {
            JS_FreeValue(ctx, value);
            is_read = false;
        }
    }
    for (int i = 0; i < JSON_DEPTH_MAX; i++) {
        if (json.expected[i])
            js_free_shape(ctx->rt, json.expected[i]);
    }
    if (is_read)
        return value;
    JS_FreeValue(ctx, JS_GetException(ctx));
    return JS_ParseJSON(ctx, text, len, filename);
}

/*
 * Names that the runtimes of a thread share.
 *
 * QuickJS keeps each name (of a property, a variable, a module) once in a runtime, as an atom: a
 * number, and a string behind it. A new runtime has some hundred of its own, a script adds those of
 * its code, and the strings of all virtual users say the same. So a thread has one runtime that has
 * nothing but these strings, and those of its virtual users begin with them.
 *
 * What makes that right:
 *
 * - Such a string never changes but for its count of references. That starts so high that it
 *   neither falls to 0 nor is the 1 at which QuickJS reuses a string. Runtimes that share strings
 *   belong to the same thread, so the count needs no lock.
 * - Strings of one bucket of the hash table are a list that runs through the strings themselves.
 *   New ones are put before those that are there, so a list begins with the runtime's own ones and
 *   ends with shared ones, in which nothing is ever inserted.
 * - When QuickJS makes the table larger it would link all strings anew. The larger table is made
 *   here instead: a bucket of it ends with the shared list of the bucket that it was a part of.
 *   That has some strings that belong to its sister, which a search passes over.
 * - Symbols are not shared: a WeakMap links its entries to them.
 */

/* References that nobody gives back. */
#define SHARED_REFERENCES (1 << 24)

/* Free places of a table of atoms that was just made. */
#define SPARE_ATOMS 32

/* Strings that are shared, in a runtime without a context. */
struct names {
    struct machine machine;
    uint32_t count;
};

/* Tells of each name that has a string of bytes, in the order of their numbers. */
void plimsoll_visit_names(JSRuntime *rt, void (*visit)(void *, const uint8_t *, size_t),
                          void *opaque)
{
    for (int i = JS_ATOM_END; i < rt->atom_size; i++) {
        JSAtomStruct *atom = rt->atom_array[i];
        if (!atom_is_free(atom) && atom->atom_type == JS_ATOM_TYPE_STRING && !atom->is_wide_char)
            visit(opaque, str8(atom), atom->len);
    }
}

void plimsoll_free_names(struct names *names)
{
    JS_FreeRuntime(names->machine.runtime);
    free(names);
}

/* Without names but QuickJS' own; NULL without memory. */
struct names *plimsoll_new_names(void)
{
    struct names *names = calloc(1, sizeof(*names));
    if (!names)
        return NULL;
    names->machine.runtime = JS_NewRuntime2(&machine_functions, &names->machine);
    if (!names->machine.runtime) {
        free(names);
        return NULL;
    }
    names->count = JS_ATOM_END;
    for (int i = 1; i < JS_ATOM_END; i++)
        JS_REF_COUNT(names->machine.runtime->atom_array[i]) += SHARED_REFERENCES;
    return names;
}

/* Adds a name, before the first runtime shares them. Twice is once. */
bool plimsoll_add_name(struct names *names, const uint8_t *bytes, size_t len)
{
    JSRuntime *rt = names->machine.runtime;
    JSString *string = js_alloc_string_rt(rt, len, 0);
    if (!string)
        return false;
    memcpy(str8(string), bytes, len);
    str8(string)[len] = '\0';
    JSAtom atom = __JS_NewAtom(rt, string, JS_ATOM_TYPE_STRING);
    if (atom == JS_ATOM_NULL)
        return false;
    if (atom >= names->count) {
        JS_REF_COUNT(rt->atom_array[atom]) += SHARED_REFERENCES;
        names->count = atom + 1;
    }
    return true;
}

static bool is_shared(const JSAtomStruct *atom)
{
    return !atom_is_free(atom) && atom->atom_type == JS_ATOM_TYPE_STRING;
}

/* Has a runtime, which was just made, share names. -1 without memory: it is as it was. */
static int share_names(struct machine *machine, struct names *names)
{
    JSRuntime *rt = machine->runtime, *from = names->machine.runtime;
    int size = names->count + SPARE_ATOMS;
    JSAtomStruct **atoms = js_malloc_rt(rt, sizeof(*atoms) * size);
    uint32_t *hash = js_malloc_rt(rt, sizeof(*hash) * from->atom_hash_size);
    if (!atoms || !hash) {
        js_free_rt(rt, atoms);
        js_free_rt(rt, hash);
        return -1;
    }
    for (uint32_t i = 0; i < names->count; i++) {
        JSAtomStruct *own = i < JS_ATOM_END ? rt->atom_array[i] : NULL;
        if (i > 0 && is_shared(from->atom_array[i])) {
            atoms[i] = from->atom_array[i];
        } else {
            atoms[i] = own;
            own = NULL;
        }
        if (own) {
#ifdef ENABLE_DUMPS
            list_del(&own->link);
#endif
            js_free_rt(rt, own);
        }
    }
    for (int i = names->count; i < size; i++)
        atoms[i] = atom_set_free(i + 1 < size ? i + 1 : 0);
    memcpy(hash, from->atom_hash, sizeof(*hash) * from->atom_hash_size);
    js_free_rt(rt, rt->atom_array);
    js_free_rt(rt, rt->atom_hash);
    rt->atom_array = atoms;
    rt->atom_size = size;
    rt->atom_free_index = names->count;
    rt->atom_count = from->atom_count;
    rt->atom_hash = hash;
    rt->atom_hash_size = from->atom_hash_size;
    rt->atom_count_resize = from->atom_count_resize;
    machine->names = names;
    return 0;
}

/* Whether QuickJS asks for the memory of a larger table, which it must not get. */
static bool is_for_hash(const struct machine *machine, size_t bytes)
{
    const JSRuntime *rt = machine->runtime;
    return machine->names && !machine->is_rehashing && rt->atom_count >= rt->atom_count_resize &&
           bytes == sizeof(JSMallocBlockHeader) + 2 * rt->atom_hash_size * sizeof(uint32_t);
}

/* Makes the table twice as large; without memory it stays as it is. */
static void rehash(struct machine *machine)
{
    JSRuntime *rt = machine->runtime, *from = machine->names->machine.runtime;
    uint32_t size = 2 * rt->atom_hash_size;
    machine->is_rehashing = true;
    uint32_t *hash = js_malloc_rt(rt, sizeof(*hash) * size);
    machine->is_rehashing = false;
    if (!hash)
        return;
    for (uint32_t i = 0; i < size; i++)
        hash[i] = from->atom_hash[i & (from->atom_hash_size - 1)];
    for (int i = 0; i < rt->atom_hash_size; i++) {
        uint32_t at = rt->atom_hash[i];
        while (at >= machine->names->count) {
            JSAtomStruct *atom = rt->atom_array[at];
            uint32_t next = atom->hash_next;
            atom->hash_next = hash[atom->hash & (size - 1)];
            hash[atom->hash & (size - 1)] = at;
            at = next;
        }
    }
    js_free_rt(rt, rt->atom_hash);
    rt->atom_hash = hash;
    rt->atom_hash_size = size;
    rt->atom_count_resize = JS_ATOM_COUNT_RESIZE(size);
}

/* Takes shared names out of a runtime that is about to be freed, and has nothing any more that
   holds a name but its classes. */
static void forget_names(struct machine *machine)
{
    JSRuntime *rt = machine->runtime;
    for (int i = 0; i < rt->class_count; i++) {
        if (rt->class_array[i].class_id != 0 && rt->class_array[i].class_name < machine->names->count)
            rt->class_array[i].class_name = JS_ATOM_NULL;
    }
    for (uint32_t i = 1; i < machine->names->count; i++) {
        if (is_shared(machine->names->machine.runtime->atom_array[i]))
            rt->atom_array[i] = atom_set_free(0);
    }
}

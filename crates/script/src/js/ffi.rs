//! The declarations of QuickJS' C interface, as far as it is used, and of `engine.c`.
//!
//! Written by hand, because the crate that ships QuickJS has bindings for a build of its own. A
//! value is two words on every platform that is supported: 64-bit ones.

use std::ffi::{c_char, c_int, c_void};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("QuickJS' values have another shape here: scripts need a 64-bit platform");

#[repr(C)]
pub(super) struct Context {
    _opaque: [u8; 0],
}

#[repr(C)]
pub(super) struct Runtime {
    _opaque: [u8; 0],
}

#[repr(C)]
pub(super) struct ModuleDef {
    _opaque: [u8; 0],
}

/// `struct names` of `names.c`.
#[repr(C)]
pub(super) struct Names {
    _opaque: [u8; 0],
}

/// How many kinds of intrinsics are added on demand: `LAZY_COUNT` of `engine.c`.
pub(super) const LAZY_COUNT: usize = 5;

/// `struct machine` of `engine.c`.
#[repr(C)]
pub(super) struct Machine {
    pub runtime: *mut Runtime,
    pub context: *mut Context,
    pub limit_bytes: usize,
    pub is_over_limit: bool,
    pub is_stressed: bool,
    pub is_rehashing: bool,
    pub names: *mut Names,
    pub lazy: [Raw; LAZY_COUNT],
    pub tell_missing: TellMissing,
}

/// `JSValue`: a payload that its tag explains.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Raw {
    pub payload: u64,
    pub tag: i64,
}

pub(super) const TAG_BIG_INT: i64 = -9;
pub(super) const TAG_SYMBOL: i64 = -8;
pub(super) const TAG_STRING: i64 = -7;
pub(super) const TAG_STRING_ROPE: i64 = -6;
pub(super) const TAG_MODULE: i64 = -3;
pub(super) const TAG_OBJECT: i64 = -1;
pub(super) const TAG_INT: i64 = 0;
pub(super) const TAG_BOOL: i64 = 1;
pub(super) const TAG_NULL: i64 = 2;
pub(super) const TAG_UNDEFINED: i64 = 3;
pub(super) const TAG_EXCEPTION: i64 = 6;
pub(super) const TAG_SHORT_BIG_INT: i64 = 7;
pub(super) const TAG_FLOAT64: i64 = 8;

/// Two of the kinds of typed arrays: those of bytes.
pub(super) const TYPED_ARRAY_UINT8C: c_int = 0;
pub(super) const TYPED_ARRAY_UINT8: c_int = 2;

pub(super) const EVAL_GLOBAL: c_int = 0;
pub(super) const EVAL_MODULE: c_int = 1;
pub(super) const EVAL_COMPILE_ONLY: c_int = 1 << 5;

pub(super) const PROP_C_W_E: c_int = 7;
pub(super) const PROP_WRITABLE: u8 = 2;
pub(super) const PROP_CONFIGURABLE: u8 = 1;
pub(super) const PROP_ENUMERABLE: c_int = 4;

pub(super) const NAMES_STRINGS_ENUMERABLE: c_int = 1 | 1 << 4;

pub(super) const WRITE_BYTECODE: c_int = 1;
pub(super) const WRITE_STRIP_SOURCE: c_int = 1 << 4;
pub(super) const READ_BYTECODE: c_int = 1;

pub(super) const CFUNC_GENERIC: c_int = 0;
pub(super) const CFUNC_CONSTRUCTOR: c_int = 2;

pub(super) type CFunction = unsafe extern "C" fn(*mut Context, Raw, c_int, *const Raw) -> Raw;

/// `JSPropertyEnum`.
#[repr(C)]
pub(super) struct PropertyName {
    pub is_enumerable: bool,
    pub atom: u32,
}

/// `JSPropertyDescriptor`.
#[repr(C)]
pub(super) struct Descriptor {
    pub flags: c_int,
    pub value: Raw,
    pub getter: Raw,
    pub setter: Raw,
}

/// `JSClassExoticMethods`: what an object answers that makes its properties on demand.
#[repr(C)]
pub(super) struct Exotic {
    pub get_own_property:
        Option<unsafe extern "C" fn(*mut Context, *mut Descriptor, Raw, u32) -> c_int>,
    pub get_own_property_names:
        Option<unsafe extern "C" fn(*mut Context, *mut *mut PropertyName, *mut u32, Raw) -> c_int>,
    pub delete_property: Option<unsafe extern "C" fn(*mut Context, Raw, u32) -> c_int>,
    pub define_own_property:
        Option<unsafe extern "C" fn(*mut Context, Raw, u32, Raw, Raw, Raw, c_int) -> c_int>,
    pub has_property: Option<unsafe extern "C" fn(*mut Context, Raw, u32) -> c_int>,
    pub get_property: Option<unsafe extern "C" fn(*mut Context, Raw, u32, Raw) -> Raw>,
    pub set_property:
        Option<unsafe extern "C" fn(*mut Context, Raw, u32, Raw, Raw, c_int) -> c_int>,
}

/// `JSClassDef`.
#[repr(C)]
pub(super) struct ClassDef {
    pub name: *const c_char,
    pub finalizer: Option<unsafe extern "C" fn(*mut Runtime, Raw)>,
    pub gc_mark: Option<unsafe extern "C" fn(*mut Runtime, Raw, *mut c_void)>,
    pub call: Option<unsafe extern "C" fn(*mut Context, Raw, Raw, c_int, *const Raw, c_int) -> Raw>,
    pub exotic: *const Exotic,
}

/// `JSCFunctionListEntry` of a function.
#[repr(C)]
pub(super) struct FunctionEntry {
    pub name: *const c_char,
    pub flags: u8,
    pub kind: u8,
    pub magic: i16,
    pub called: Called,
}

/// The part of the entry's union that is for functions. As in a union, it begins on eight bytes.
#[repr(C, align(8))]
pub(super) struct Called {
    pub length: u8,
    pub kind: u8,
    pub function: CFunction,
}

// SAFETY: the names are constants, and nothing is written.
unsafe impl Sync for FunctionEntry {}

pub(super) type Normalize =
    unsafe extern "C" fn(*mut Context, *const c_char, *const c_char, *mut c_void) -> *mut c_char;
/// Told of a module, by its name, that does not export a name.
pub(super) type TellMissing = unsafe extern "C" fn(*mut Context, u32, u32);
pub(super) type Load =
    unsafe extern "C" fn(*mut Context, *const c_char, *mut c_void, Raw) -> *mut ModuleDef;

unsafe extern "C" {
    // engine.c
    pub(super) fn plimsoll_open(
        machine: *mut Machine,
        stack_bytes: usize,
        names: *mut Names,
    ) -> c_int;
    pub(super) fn plimsoll_limit(machine: *mut Machine, limit_bytes: usize);
    pub(super) fn plimsoll_recover(machine: *mut Machine) -> bool;
    pub(super) fn plimsoll_settle(machine: *mut Machine);
    pub(super) fn plimsoll_used_bytes(machine: *const Machine) -> usize;
    pub(super) fn plimsoll_close(machine: *mut Machine);
    pub(super) fn plimsoll_visit_names(
        rt: *mut Runtime,
        visit: unsafe extern "C" fn(*mut c_void, *const u8, usize),
        opaque: *mut c_void,
    );
    pub(super) fn plimsoll_new_names() -> *mut Names;
    pub(super) fn plimsoll_add_name(names: *mut Names, bytes: *const u8, len: usize) -> bool;
    pub(super) fn plimsoll_free_names(names: *mut Names);
    pub(super) fn plimsoll_set_clock(us: i64);
    pub(super) fn plimsoll_seed(ctx: *mut Context, seed: u64);
    pub(super) fn plimsoll_poll_soon(ctx: *mut Context);
    pub(super) fn plimsoll_drop_jobs(rt: *mut Runtime);
    pub(super) fn plimsoll_is_module(module: *const ModuleDef) -> bool;
    pub(super) fn plimsoll_forget_module(ctx: *mut Context, module: *mut ModuleDef);
    pub(super) fn plimsoll_is_array(ctx: *mut Context, value: Raw) -> bool;
    pub(super) fn plimsoll_new_proxy(ctx: *mut Context, target: Raw, handler: Raw) -> Raw;
    pub(super) fn plimsoll_find_module(
        ctx: *mut Context,
        name: *const c_char,
        is_running: *mut bool,
    ) -> *mut ModuleDef;
    pub(super) fn plimsoll_is_whole(ctx: *mut Context, module: *mut ModuleDef) -> bool;
    pub(super) fn plimsoll_file_evaluated(ctx: *mut Context, boundary: CFunction) -> u32;
    pub(super) fn plimsoll_has_plain(object: Raw, atom: u32) -> bool;
    pub(super) fn plimsoll_eval(
        ctx: *mut Context,
        text: *const c_char,
        len: usize,
        filename: *const c_char,
        line: c_int,
        flags: c_int,
    ) -> Raw;
    pub(super) fn plimsoll_parse_json(
        ctx: *mut Context,
        text: *const c_char,
        len: usize,
        filename: *const c_char,
    ) -> Raw;
    pub(super) fn plimsoll_bytes(
        ctx: *mut Context,
        value: Raw,
        bytes: *mut *mut u8,
        len: *mut usize,
    ) -> c_int;
    pub(super) fn plimsoll_need_typed_arrays(ctx: *mut Context) -> c_int;

    // quickjs.h
    pub(super) fn JS_SetContextOpaque(ctx: *mut Context, opaque: *mut c_void);
    pub(super) fn JS_GetContextOpaque(ctx: *mut Context) -> *mut c_void;
    pub(super) fn JS_SetRuntimeOpaque(rt: *mut Runtime, opaque: *mut c_void);
    pub(super) fn JS_GetRuntime(ctx: *mut Context) -> *mut Runtime;
    pub(super) fn JS_SetInterruptHandler(
        rt: *mut Runtime,
        handler: Option<unsafe extern "C" fn(*mut Runtime, *mut c_void) -> c_int>,
        opaque: *mut c_void,
    );
    pub(super) fn JS_SetHostPromiseRejectionTracker(
        rt: *mut Runtime,
        tracker: Option<unsafe extern "C" fn(*mut Context, Raw, Raw, bool, *mut c_void)>,
        opaque: *mut c_void,
    );
    pub(super) fn JS_SetModuleLoaderFunc2(
        rt: *mut Runtime,
        normalize: Normalize,
        load: Load,
        check: Option<unsafe extern "C" fn(*mut Context, *mut c_void, Raw) -> c_int>,
        opaque: *mut c_void,
    );
    pub(super) fn js_malloc(ctx: *mut Context, size: usize) -> *mut c_void;
    pub(super) fn js_free(ctx: *mut Context, ptr: *mut c_void);

    pub(super) fn JS_FreeValue(ctx: *mut Context, value: Raw);
    pub(super) fn JS_DupValue(ctx: *mut Context, value: Raw) -> Raw;
    pub(super) fn JS_NewAtomLen(ctx: *mut Context, text: *const c_char, len: usize) -> u32;
    pub(super) fn JS_ValueToAtom(ctx: *mut Context, value: Raw) -> u32;
    pub(super) fn JS_FreeAtom(ctx: *mut Context, atom: u32);
    pub(super) fn JS_AtomToCStringLen(
        ctx: *mut Context,
        len: *mut usize,
        atom: u32,
    ) -> *const c_char;

    pub(super) fn JS_NewStringLen(ctx: *mut Context, text: *const c_char, len: usize) -> Raw;
    pub(super) fn JS_ToCStringLen2(
        ctx: *mut Context,
        len: *mut usize,
        value: Raw,
        cesu8: bool,
    ) -> *const c_char;
    pub(super) fn JS_FreeCString(ctx: *mut Context, text: *const c_char);
    pub(super) fn JS_ToBool(ctx: *mut Context, value: Raw) -> c_int;
    pub(super) fn JS_ToFloat64(ctx: *mut Context, out: *mut f64, value: Raw) -> c_int;

    pub(super) fn JS_NewObject(ctx: *mut Context) -> Raw;
    pub(super) fn JS_NewObjectClass(ctx: *mut Context, class: u32) -> Raw;
    pub(super) fn JS_NewObjectProtoClass(ctx: *mut Context, proto: Raw, class: u32) -> Raw;
    pub(super) fn JS_NewArray(ctx: *mut Context) -> Raw;
    pub(super) fn JS_IsFunction(ctx: *mut Context, value: Raw) -> bool;
    pub(super) fn JS_IsAsyncFunction(value: Raw) -> bool;
    pub(super) fn JS_IsPromise(value: Raw) -> bool;
    pub(super) fn JS_IsError(value: Raw) -> bool;
    pub(super) fn JS_IsDate(value: Raw) -> bool;
    pub(super) fn JS_IsMap(value: Raw) -> bool;
    pub(super) fn JS_IsSet(value: Raw) -> bool;
    pub(super) fn JS_GetLength(ctx: *mut Context, object: Raw, length: *mut i64) -> c_int;
    pub(super) fn JS_GetProperty(ctx: *mut Context, object: Raw, name: u32) -> Raw;
    pub(super) fn JS_GetPropertyUint32(ctx: *mut Context, object: Raw, index: u32) -> Raw;
    pub(super) fn JS_SetProperty(ctx: *mut Context, object: Raw, name: u32, value: Raw) -> c_int;
    pub(super) fn JS_DefinePropertyValue(
        ctx: *mut Context,
        object: Raw,
        name: u32,
        value: Raw,
        flags: c_int,
    ) -> c_int;
    pub(super) fn JS_DefinePropertyValueUint32(
        ctx: *mut Context,
        object: Raw,
        index: u32,
        value: Raw,
        flags: c_int,
    ) -> c_int;
    pub(super) fn JS_DefinePropertyGetSet(
        ctx: *mut Context,
        object: Raw,
        name: u32,
        getter: Raw,
        setter: Raw,
        flags: c_int,
    ) -> c_int;
    pub(super) fn JS_GetOwnPropertyNames(
        ctx: *mut Context,
        names: *mut *mut PropertyName,
        len: *mut u32,
        object: Raw,
        flags: c_int,
    ) -> c_int;
    pub(super) fn JS_FreePropertyEnum(ctx: *mut Context, names: *mut PropertyName, len: u32);
    pub(super) fn JS_FreezeObject(ctx: *mut Context, object: Raw) -> c_int;
    pub(super) fn JS_SetOpaque(object: Raw, opaque: *mut c_void) -> c_int;
    pub(super) fn JS_GetOpaque(object: Raw, class: u32) -> *mut c_void;
    pub(super) fn JS_GetAnyOpaque(object: Raw, class: *mut u32) -> *mut c_void;

    pub(super) fn JS_NewClassID(rt: *mut Runtime, class: *mut u32) -> u32;
    pub(super) fn JS_NewClass(rt: *mut Runtime, class: u32, def: *const ClassDef) -> c_int;
    pub(super) fn JS_SetClassProto(ctx: *mut Context, class: u32, proto: Raw);
    pub(super) fn JS_SetConstructor(ctx: *mut Context, function: Raw, proto: Raw) -> c_int;
    pub(super) fn JS_NewCFunction2(
        ctx: *mut Context,
        function: CFunction,
        name: *const c_char,
        length: c_int,
        kind: c_int,
        magic: c_int,
    ) -> Raw;
    pub(super) fn JS_SetPropertyFunctionList(
        ctx: *mut Context,
        object: Raw,
        entries: *const FunctionEntry,
        len: c_int,
    ) -> c_int;

    pub(super) fn JS_GetGlobalObject(ctx: *mut Context) -> Raw;
    pub(super) fn JS_EvalFunction(ctx: *mut Context, function: Raw) -> Raw;
    pub(super) fn JS_Call(
        ctx: *mut Context,
        function: Raw,
        this: Raw,
        argc: c_int,
        argv: *const Raw,
    ) -> Raw;
    pub(super) fn JS_JSONStringify(ctx: *mut Context, value: Raw, replacer: Raw, space: Raw)
    -> Raw;

    pub(super) fn JS_Throw(ctx: *mut Context, value: Raw) -> Raw;
    pub(super) fn JS_GetException(ctx: *mut Context) -> Raw;
    pub(super) fn JS_IsUncatchableError(value: Raw) -> bool;
    pub(super) fn JS_SetUncatchableError(ctx: *mut Context, value: Raw);
    pub(super) fn JS_ThrowInternalError(ctx: *mut Context, format: *const c_char, ...) -> Raw;
    pub(super) fn JS_ThrowTypeError(ctx: *mut Context, format: *const c_char, ...) -> Raw;
    pub(super) fn JS_ThrowRangeError(ctx: *mut Context, format: *const c_char, ...) -> Raw;
    pub(super) fn JS_ThrowPlainError(ctx: *mut Context, format: *const c_char, ...) -> Raw;

    pub(super) fn JS_NewArrayBufferCopy(ctx: *mut Context, bytes: *const u8, len: usize) -> Raw;
    pub(super) fn JS_IsArrayBuffer(value: Raw) -> bool;
    pub(super) fn JS_GetTypedArrayType(value: Raw) -> c_int;
    pub(super) fn JS_NewUint8ArrayCopy(ctx: *mut Context, bytes: *const u8, len: usize) -> Raw;

    pub(super) fn JS_NewPromiseCapability(ctx: *mut Context, resolving: *mut Raw) -> Raw;
    pub(super) fn JS_PromiseState(ctx: *mut Context, promise: Raw) -> c_int;
    pub(super) fn JS_PromiseResult(ctx: *mut Context, promise: Raw) -> Raw;
    pub(super) fn JS_PromiseMarkAsHandled(ctx: *mut Context, promise: Raw);
    pub(super) fn JS_ExecutePendingJob(rt: *mut Runtime, ctx: *mut *mut Context) -> c_int;

    pub(super) fn JS_ResolveModule(ctx: *mut Context, module: Raw) -> c_int;
    pub(super) fn JS_WriteObject(
        ctx: *mut Context,
        len: *mut usize,
        value: Raw,
        flags: c_int,
    ) -> *mut u8;
    pub(super) fn JS_ReadObject(
        ctx: *mut Context,
        bytes: *const u8,
        len: usize,
        flags: c_int,
    ) -> Raw;
    pub(super) fn JS_GetImportMeta(ctx: *mut Context, module: *mut ModuleDef) -> Raw;
    pub(super) fn JS_GetModuleNamespace(ctx: *mut Context, module: *mut ModuleDef) -> Raw;
    pub(super) fn JS_GetScriptOrModuleName(ctx: *mut Context, levels: c_int) -> u32;
    pub(super) fn JS_NewCModule(
        ctx: *mut Context,
        name: *const c_char,
        init: unsafe extern "C" fn(*mut Context, *mut ModuleDef) -> c_int,
    ) -> *mut ModuleDef;
    pub(super) fn JS_AddModuleExport(
        ctx: *mut Context,
        module: *mut ModuleDef,
        name: *const c_char,
    ) -> c_int;
    pub(super) fn JS_SetModuleExport(
        ctx: *mut Context,
        module: *mut ModuleDef,
        name: *const c_char,
        value: Raw,
    ) -> c_int;
    pub(super) fn JS_SetModulePrivateValue(
        ctx: *mut Context,
        module: *mut ModuleDef,
        value: Raw,
    ) -> c_int;
    pub(super) fn JS_GetModulePrivateValue(ctx: *mut Context, module: *mut ModuleDef) -> Raw;
}

//! Loading modules: what QuickJS asks for when a script imports or requires one.
//!
//! The first virtual user compiles each file, and keeps its bytecode in the store; the others read
//! it from there. What has a URL is a file that is known by it. A file without `import`, `export`
//! and `await` at its top is a CommonJS module, and one that ends in `.json` is its value. One that
//! ends in `.ts` loses its types if it is not JavaScript.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Arc;

use super::api;
use super::context::nul_terminated;
use super::events::Kept;
use super::ffi::{self, Raw};
use super::library;
use super::native::{Call, native};
use super::resolve::{self, Resolved};
use super::store::Module;
use super::typescript;
use super::value::{Context, ErrorKind, Outcome, PromiseState, Thrown, Value};

/// How the text of an ES module is compiled.
const AS_MODULE: c_int = ffi::EVAL_MODULE | ffi::EVAL_COMPILE_ONLY;

/// What the text of a module has in it that asks for `import.meta`.
const META: &[u8] = b"meta";

/// The default export.
const DEFAULT: &str = "default";

/// What stands around a CommonJS module, on a line of its own: its lines count from the next.
const WRAPPER: (&str, &str) = ("(function(module, exports) { \"use strict\";\n", "\n})");

/// A module of QuickJS.
pub(super) type Loaded = *mut ffi::ModuleDef;

/// The absolute name of what a module imports.
///
/// # Safety
/// QuickJS calls it with an open context and texts that end with a NUL.
pub(super) unsafe extern "C" fn normalize(
    context: *mut ffi::Context,
    base: *const c_char,
    name: *const c_char,
    _: *mut c_void,
) -> *mut c_char {
    // SAFETY: as the caller says.
    let (context, base, name) =
        unsafe { (Context::new(context), CStr::from_ptr(base), CStr::from_ptr(name)) };
    let base = Resolved::of_name(&base.to_string_lossy());
    let base = if matches!(base, Resolved::BuiltIn(_)) { "" } else { base.key() };
    match resolve::resolve(&name.to_string_lossy(), base) {
        Ok(resolved) => {
            let name = nul_terminated(resolved.name().as_bytes());
            // SAFETY: as many bytes are allocated as are copied.
            unsafe {
                let copy = ffi::js_malloc(context.raw(), name.len());
                if !copy.is_null() {
                    name.as_ptr().copy_to_nonoverlapping(copy.cast(), name.len());
                }
                copy.cast()
            }
        }
        Err(message) => {
            context.throw(ErrorKind::Plain, message);
            std::ptr::null_mut()
        }
    }
}

/// Loads a module by its absolute name.
///
/// # Safety
/// As [`normalize`].
pub(super) unsafe extern "C" fn load(
    context: *mut ffi::Context,
    name: *const c_char,
    _: *mut c_void,
    _attributes: Raw,
) -> Loaded {
    // SAFETY: as the caller says.
    let (context, name) = unsafe { (Context::new(context), CStr::from_ptr(name)) };
    let loaded = match Resolved::of_name(&name.to_string_lossy()) {
        Resolved::BuiltIn(name) if library::text(&name).is_none() => built_in(context, &name),
        Resolved::BuiltIn(key) | Resolved::File(key) | Resolved::Remote(key) => {
            load_file(context, &key)
        }
    };
    loaded.unwrap_or(std::ptr::null_mut())
}

fn built_in(context: Context<'_>, name: &str) -> Result<Loaded, Thrown> {
    let object = require_built_in(context, name)?;
    synthetic(context, name, &object, &object)
}

/// What a built-in module exports: one object, however often it is imported or required. A library
/// that puts a function of its own in it changes what the whole script calls.
fn require_built_in<'js>(context: Context<'js>, name: &str) -> Outcome<'js> {
    if let Some(object) = required(context, name) {
        return Ok(object);
    }
    let object = api::built_in(context, name)?;
    context.inner().required.borrow_mut().push((name.to_owned(), Kept::of(object.clone())));
    Ok(object)
}

/// What was kept when a module was first required.
fn required<'js>(context: Context<'js>, name: &str) -> Option<Value<'js>> {
    let required = context.inner().required.borrow();
    required.iter().find_map(|(key, module)| (key == name).then(|| module.value(context)))
}

/// Loads a file as a module, compiled if it was not yet.
pub(super) fn load_file(context: Context<'_>, path: &str) -> Result<Loaded, Thrown> {
    let store = &context.inner().shared.store;
    let Some(module) = store.module(path) else {
        if let Some(text) = library::text(path) {
            return compile(context, path, text.as_bytes());
        }
        let text = store.file(path).map_err(|why| context.throw(ErrorKind::Plain, why))?;
        return compile(context, path, &text);
    };
    instantiate(context, path, &module)
}

/// A module of what is in the store.
fn instantiate(context: Context<'_>, path: &str, module: &Module) -> Result<Loaded, Thrown> {
    match module {
        Module::Es { bytecode, may_have_meta } => {
            let loaded = read(context, bytecode)?.raw().payload as Loaded;
            if *may_have_meta {
                define_meta(context, path, loaded)?;
            }
            Ok(loaded)
        }
        Module::CommonJs(_) => {
            let exports = require_file(context, path)?;
            let default =
                if exports.is_object() { exports.get(DEFAULT)? } else { context.undefined() };
            // The main script exports what its object has, and is no function itself.
            let is_main = context.inner().shared.main.as_str() == path;
            let stands_in = default.is_undefined() && !is_main;
            let default = if stands_in { exports.clone() } else { default };
            synthetic(context, &file_name(path), &exports, &default)
        }
        Module::Json(text) => {
            let value = parse_json(context, path, text)?;
            synthetic(context, &file_name(path), &context.undefined(), &value)
        }
    }
}

fn file_name(path: &str) -> String {
    Resolved::of_key(path).name()
}

fn parse_json<'js>(context: Context<'js>, path: &str, text: &[u8]) -> Outcome<'js> {
    let name = CString::new(file_name(path)).unwrap_or_default();
    context.parse_json(without_mark(text), &name)
}

/// The text without a byte order mark.
fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Compiles a file for the first time, and keeps the result.
fn compile(context: Context<'_>, path: &str, text: &[u8]) -> Result<Loaded, Thrown> {
    let store = &context.inner().shared.store;
    let text = without_mark(text);
    if path.ends_with(".json") {
        parse_json(context, path, text)?;
        store.add_module(path, Module::Json(text.to_vec()));
        return load_file(context, path);
    }
    if let Err(error) = std::str::from_utf8(text) {
        let at = error.valid_up_to();
        let message = format!("'{path}' is not UTF-8 text: byte {at} is wrong");
        return Err(context.throw(ErrorKind::Plain, message));
    }
    match evaluate(context, &nul_terminated(text), path, AS_MODULE, 1) {
        Ok(module) => {
            let loaded = module.raw().payload as Loaded;
            // SAFETY: QuickJS has just compiled it.
            if unsafe { ffi::plimsoll_is_module(loaded) } {
                return keep_es(context, path, text, &module);
            }
            drop(module);
            // SAFETY: as above; nothing imports it yet.
            unsafe { ffi::plimsoll_forget_module(context.raw(), loaded) };
            compile_common_js(context, path, text)?;
        }
        Err(Thrown) => {
            let error = context.exception();
            if path.ends_with(".ts") && !error.is_uncatchable() {
                return compile_typescript(context, path, text);
            }
            if looks_like_es(text) || compile_common_js(context, path, text).is_err() {
                return Err(context.throw_value(error));
            }
        }
    }
    load_file(context, path)
}

/// Compiles what is left of TypeScript without its types, as an ES module.
fn compile_typescript(context: Context<'_>, path: &str, text: &[u8]) -> Result<Loaded, Thrown> {
    let stripped = typescript::strip(&String::from_utf8_lossy(text));
    let stripped = match stripped {
        Ok(stripped) => nul_terminated(stripped.as_bytes()),
        Err(error) => return Err(syntax_error(context, path, &error)),
    };
    let module = evaluate(context, &stripped, path, AS_MODULE, 1)?;
    keep_es(context, path, &stripped, &module)
}

/// Keeps what an ES module was compiled to.
fn keep_es(
    context: Context<'_>,
    path: &str,
    text: &[u8],
    module: &Value<'_>,
) -> Result<Loaded, Thrown> {
    let loaded = module.raw().payload as Loaded;
    let may_have_meta = text.windows(META.len()).any(|part| part == META);
    let bytecode = write(context, module)?;
    context.inner().shared.store.add_module(path, Module::Es { bytecode, may_have_meta });
    if may_have_meta {
        define_meta(context, path, loaded)?;
    }
    Ok(loaded)
}

/// Fills `import.meta` of a module: `resolve()`, which knows the module that it is of.
fn define_meta(context: Context<'_>, path: &str, loaded: Loaded) -> Result<(), Thrown> {
    // SAFETY: the module belongs to the context, which keeps it.
    let meta = unsafe { context.own(ffi::JS_GetImportMeta(context.raw(), loaded)) }?;
    let resolve = context.function(c"resolve", 2, native!(resolve_from))?;
    let bound = resolve.get("bind")?.call(&resolve, &[context.undefined(), context.string(path)?]);
    meta.define("resolve", bound?)
}

/// What `import.meta.resolve(name)` calls with the path of its module before the name: a URL. A
/// space in a path stays one, so that `open()` finds the file.
fn resolve_from<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let (path, specifier) = (call.argument(0).to_text()?, call.argument(1).to_text()?);
    match resolve::resolve(&specifier.str(), &path.str()) {
        Ok(resolved) => context.string(resolved.name()),
        Err(message) => Err(context.throw(ErrorKind::Plain, message)),
    }
}

/// Raises what is wrong with a text, `line:column: message`, as QuickJS raises its syntax errors.
fn syntax_error(context: Context<'_>, path: &str, error: &str) -> Thrown {
    let (place, message) = error.split_once(": ").unwrap_or(("1:1", error));
    context.throw(ErrorKind::Plain, message);
    let exception = context.exception();
    let stack = format!("    at {}:{place}\n", file_name(path));
    let set = |name, text: &str| exception.set(name, context.string(text)?);
    match set("name", "SyntaxError").and_then(|()| set("stack", &stack)) {
        Ok(()) => context.throw_value(exception),
        Err(Thrown) => Thrown,
    }
}

/// Whether some line starts as only an ES module's does, so that its errors are those to report.
fn looks_like_es(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|line| {
        let line = line.trim_ascii_start();
        [&b"import "[..], b"import{", b"export "].iter().any(|word| line.starts_with(word))
    })
}

fn compile_common_js(context: Context<'_>, path: &str, text: &[u8]) -> Result<(), Thrown> {
    let mut wrapped = Vec::with_capacity(text.len() + 64);
    wrapped.extend_from_slice(WRAPPER.0.as_bytes());
    // A first line for the shell is a comment only at the start of a file.
    if text.starts_with(b"#!") {
        wrapped.extend_from_slice(b"//");
    }
    wrapped.extend_from_slice(text);
    wrapped.extend_from_slice(WRAPPER.1.as_bytes());
    wrapped.push(0);
    let flags = ffi::EVAL_GLOBAL | ffi::EVAL_COMPILE_ONLY;
    let function = evaluate(context, &wrapped, path, flags, 0)?;
    let bytecode = write(context, &function)?;
    context.inner().shared.store.add_module(path, Module::CommonJs(bytecode));
    Ok(())
}

/// `text` ends with a NUL.
fn evaluate<'js>(
    context: Context<'js>,
    text: &[u8],
    path: &str,
    flags: c_int,
    line: c_int,
) -> Outcome<'js> {
    let name = CString::new(file_name(path)).unwrap_or_default();
    let (start, len) = (text.as_ptr().cast(), text.len() - 1);
    // SAFETY: the text ends with a NUL after its length, and the name with one.
    unsafe {
        let name = name.as_ptr();
        context.own(ffi::plimsoll_eval(context.raw(), start, len, name, line, flags))
    }
}

fn write(context: Context<'_>, value: &Value<'_>) -> Result<Vec<u8>, Thrown> {
    let mut len = 0;
    let flags = ffi::WRITE_BYTECODE | ffi::WRITE_STRIP_SOURCE;
    // SAFETY: QuickJS hands over as many bytes as it says, which are freed here.
    unsafe {
        let bytes = ffi::JS_WriteObject(context.raw(), &raw mut len, value.raw(), flags);
        if bytes.is_null() {
            return Err(Thrown);
        }
        let copy = std::slice::from_raw_parts(bytes, len).to_vec();
        ffi::js_free(context.raw(), bytes.cast());
        Ok(copy)
    }
}

fn read<'js>(context: Context<'js>, bytecode: &[u8]) -> Outcome<'js> {
    let (bytes, len) = (bytecode.as_ptr(), bytecode.len());
    // SAFETY: this process wrote the bytes with the same QuickJS.
    unsafe { context.own(ffi::JS_ReadObject(context.raw(), bytes, len, ffi::READ_BYTECODE)) }
}

/// `require()`: what a module exports.
pub(super) fn require<'js>(context: Context<'js>, specifier: &str, base: &str) -> Outcome<'js> {
    let resolved = resolve::resolve(specifier, base);
    match resolved.map_err(|message| context.throw(ErrorKind::Plain, message))? {
        Resolved::BuiltIn(name) => require_built_in(context, &name),
        Resolved::File(key) | Resolved::Remote(key) => require_path(context, &key),
    }
}

fn require_path<'js>(context: Context<'js>, path: &str) -> Outcome<'js> {
    let store = &context.inner().shared.store;
    if let Some(exports) = exports_of_loaded(context, path)? {
        return Ok(exports);
    }
    if store.module(path).is_none() {
        let loaded = load_file(context, path)?;
        if matches!(store.module(path).as_deref(), Some(Module::Es { .. })) {
            return namespace(context, loaded, false);
        }
    }
    match store.module(path).as_deref() {
        Some(Module::CommonJs(_)) => require_file(context, path),
        Some(Module::Json(text)) => parse_json(context, path, text),
        Some(Module::Es { .. }) => {
            let loaded = load_file(context, path)?;
            namespace(context, loaded, true)
        }
        None => Ok(context.undefined()),
    }
}

/// The exports of an ES module that is loaded already, so that it is there once; of one that is
/// being evaluated, those that it has by now.
fn exports_of_loaded<'js>(context: Context<'js>, path: &str) -> Result<Option<Value<'js>>, Thrown> {
    let store = &context.inner().shared.store;
    if !matches!(store.module(path).as_deref(), Some(Module::Es { .. })) {
        return Ok(None);
    }
    match find_loaded(context, path) {
        None => Ok(None),
        Some((loaded, true)) => exports(context, loaded).map(Some),
        Some((loaded, false)) => namespace(context, loaded, true).map(Some),
    }
}

/// A module that is loaded with all that it imports, and whether it is being evaluated.
fn find_loaded(context: Context<'_>, path: &str) -> Option<(Loaded, bool)> {
    let name = CString::new(file_name(path)).unwrap_or_default();
    let mut is_running = false;
    // SAFETY: the context is open, and the name ends with a NUL.
    let loaded =
        unsafe { ffi::plimsoll_find_module(context.raw(), name.as_ptr(), &raw mut is_running) };
    (!loaded.is_null()).then_some((loaded, is_running))
}

/// The object of what a module exports.
fn exports<'js>(context: Context<'js>, loaded: Loaded) -> Outcome<'js> {
    // SAFETY: the module belongs to the context, which keeps it.
    unsafe { context.own(ffi::JS_GetModuleNamespace(context.raw(), loaded)) }
}

/// The exports of a CommonJS module, which runs when it is required for the first time.
fn require_file<'js>(context: Context<'js>, path: &str) -> Outcome<'js> {
    let inner = context.inner();
    if let Some(module) = required(context, path) {
        return module.get("exports");
    }
    let stored: Option<Arc<Module>> = inner.shared.store.module(path);
    let Some(Module::CommonJs(bytecode)) = stored.as_deref() else {
        return Ok(context.undefined());
    };
    let (module, exports) = (context.object()?, context.object()?);
    module.set("exports", exports.clone())?;
    // Before it runs, so that two that require each other find what there is of the other.
    inner.required.borrow_mut().push((path.to_owned(), Kept::of(module.clone())));
    let function = read(context, bytecode)
        // SAFETY: QuickJS takes over the function.
        .and_then(|read| unsafe {
            context.own(ffi::JS_EvalFunction(context.raw(), read.into_raw()))
        });
    function?.call(&context.undefined(), &[module.clone(), exports])?;
    module.get("exports")
}

/// What a library exports. It is loaded and evaluated when it is first needed, which may be while
/// an iteration goes on.
pub(super) fn library<'js>(context: Context<'js>, key: &str) -> Outcome<'js> {
    let inner = context.inner();
    if let Some(exports) = required(context, key) {
        return Ok(exports);
    }
    // Another part may import it, and have loaded it for that.
    let (loaded, was_read) = match find_loaded(context, key) {
        Some((loaded, true)) => return exports(context, loaded),
        Some((loaded, false)) => (loaded, true),
        None => {
            let was_read = inner.shared.store.module(key).is_some();
            (load_file(context, key)?, was_read)
        }
    };
    start(context, loaded, was_read)?;
    let namespace = exports(context, loaded)?;
    inner.required.borrow_mut().push((key.to_owned(), Kept::of(namespace.clone())));
    Ok(namespace)
}

/// Evaluates a module, and gives its exports. One that was read as bytecode has to be resolved.
pub(super) fn namespace<'js>(
    context: Context<'js>,
    loaded: Loaded,
    was_read: bool,
) -> Outcome<'js> {
    let promise = start(context, loaded, was_read)?;
    super::events::run(context, promise)?;
    exports(context, loaded)
}

/// Begins to evaluate a module; the promise is settled when that is done.
fn start<'js>(context: Context<'js>, loaded: Loaded, was_read: bool) -> Outcome<'js> {
    let module = Raw { payload: loaded as u64, tag: ffi::TAG_MODULE };
    // SAFETY: the module belongs to the context, which keeps it.
    let is_whole = unsafe {
        if was_read && ffi::JS_ResolveModule(context.raw(), module) < 0 {
            return Err(Thrown);
        }
        ffi::plimsoll_is_whole(context.raw(), loaded)
    };
    if !is_whole {
        let message = "require(): the module imports one that is still being loaded, in a circle";
        return Err(context.throw(ErrorKind::Plain, message));
    }
    // SAFETY: as above; QuickJS takes over a reference.
    let promise = unsafe {
        let module = context.lent(module).into_raw();
        context.own(ffi::JS_EvalFunction(context.raw(), module))?
    };
    if let PromiseState::Rejected(reason) = promise.promise_state() {
        // SAFETY: context and promise are alive.
        unsafe { ffi::JS_PromiseMarkAsHandled(context.raw(), promise.raw()) };
        return Err(context.throw_value(reason));
    }
    Ok(promise)
}

/// A module that exports what an object has, and a default.
fn synthetic(
    context: Context<'_>,
    name: &str,
    object: &Value<'_>,
    default: &Value<'_>,
) -> Result<Loaded, Thrown> {
    let name = CString::new(name).unwrap_or_default();
    let kept = context.array()?;
    kept.define_at(0, object.clone())?;
    kept.define_at(1, default.clone())?;
    // SAFETY: the name ends with a NUL, and QuickJS copies it; so do the calls below.
    let module = unsafe { ffi::JS_NewCModule(context.raw(), name.as_ptr(), export_all) };
    if module.is_null() {
        return Err(Thrown);
    }
    let add = |name: &CStr| {
        // SAFETY: as above.
        let failed = unsafe { ffi::JS_AddModuleExport(context.raw(), module, name.as_ptr()) };
        if failed < 0 { Err(Thrown) } else { Ok(()) }
    };
    add(c"default")?;
    if object.is_object() {
        object.for_each_property(|name, _| {
            let name = CString::new(name.bytes()).unwrap_or_default();
            if name.as_bytes() == DEFAULT.as_bytes() { Ok(()) } else { add(&name) }
        })?;
    }
    // SAFETY: QuickJS takes over the value.
    let failed = unsafe { ffi::JS_SetModulePrivateValue(context.raw(), module, kept.into_raw()) };
    if failed < 0 { Err(Thrown) } else { Ok(module) }
}

/// Fills in what [`synthetic`] has announced.
unsafe extern "C" fn export_all(context: *mut ffi::Context, module: Loaded) -> c_int {
    // SAFETY: QuickJS calls it with an open context and a module of that.
    let (context, kept) = unsafe {
        let context = Context::new(context);
        (context, context.own(ffi::JS_GetModulePrivateValue(context.raw(), module)))
    };
    let export = |name: &CStr, value: Value<'_>| {
        // SAFETY: the name ends with a NUL; QuickJS takes over the value.
        unsafe {
            ffi::JS_SetModuleExport(context.raw(), module, name.as_ptr(), value.into_raw());
        }
    };
    let exported = kept.and_then(|kept| {
        let object = kept.at(0)?;
        if object.is_object() {
            object.for_each_property(|name, value| {
                let name = CString::new(name.bytes()).unwrap_or_default();
                if name.as_bytes() != DEFAULT.as_bytes() {
                    export(&name, value);
                }
                Ok(())
            })?;
        }
        export(c"default", kept.at(1)?);
        Ok(())
    });
    if exported.is_ok() { 0 } else { -1 }
}

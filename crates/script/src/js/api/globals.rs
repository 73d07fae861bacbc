//! What scripts find without importing it: `__ENV`, `__VU`, `__ITER`, `open`, `require`, `global`.

use std::ffi::c_int;
use std::sync::Arc;

use super::console;
use crate::js::ffi;
use crate::js::inner::Stage;
use crate::js::modules;
use crate::js::native::{Call, functions, native};
use crate::js::resolve::{Resolved, resolve_file};
use crate::js::step::Level;
use crate::js::value::{Context, ErrorKind, Outcome, Thrown};

/// Known by its address: where it is called, the evaluation of another file begins.
static REQUIRE: ffi::CFunction = native!(require);

const FUNCTIONS: &[ffi::FunctionEntry] = functions! { c"open" 2 => open; };

pub(super) fn define(context: Context<'_>) -> Result<(), Thrown> {
    let inner = context.inner();
    let global = context.global();
    global.define_functions(FUNCTIONS)?;
    global.define("require", context.function(c"require", 1, REQUIRE)?)?;
    global.define("global", global.clone())?;
    global.define("__VU", context.number(f64::from(inner.number)))?;
    define_environment(context, &[])
}

fn define_environment(context: Context<'_>, over: &[(String, String)]) -> Result<(), Thrown> {
    let environment = context.object()?;
    for (name, value) in context.inner().shared.settings.environment.iter().chain(over) {
        environment.define(name, context.string(value)?)?;
    }
    context.global().define("__ENV", environment)
}

/// Sets what changes with each iteration.
pub(in crate::js) fn begin_iteration(context: Context<'_>) -> Result<(), Thrown> {
    let inner = context.inner();
    if let Some(over) = inner.environment.borrow_mut().take() {
        define_environment(context, &over)?;
    }
    if !inner.shared.settings.keeps_cookies {
        inner.jar.take();
    }
    let iteration = inner.execution.borrow().iteration;
    context.global().set("__ITER", context.number(iteration as f64))
}

/// `open(path, mode)`: the content of a file, as text or, in mode `b`, as bytes. A path is relative
/// to the file that is being evaluated, which is not always the one that the call is written in.
fn open<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let evaluated = evaluated_file(context)?;
    let bytes = read_file(call, "open()", &evaluated)?;
    warn_of_folder(call, &evaluated)?;
    let mode = call.argument(1);
    let is_binary = mode.is_string() && mode.to_text()?.bytes().contains(&b'b');
    if is_binary { context.array_buffer(&bytes) } else { context.string(&*bytes) }
}

/// The path of the file that is being evaluated; that of the main one if it is no file.
fn evaluated_file(context: Context<'_>) -> Result<String, Thrown> {
    // SAFETY: the context is open.
    let atom = unsafe { ffi::plimsoll_file_evaluated(context.raw(), REQUIRE) };
    path_of(context, atom)
}

/// The path of the file of this name, or the main one's. The name is given back.
fn path_of(context: Context<'_>, atom: u32) -> Result<String, Thrown> {
    Ok(match resolved(context, atom)? {
        Resolved::File(path) => path,
        _ => context.inner().shared.main.clone(),
    })
}

/// What a module of this name is. The name is given back.
fn resolved(context: Context<'_>, atom: u32) -> Result<Resolved, Thrown> {
    let name = context.atom_text(atom);
    // SAFETY: the context is open; the atom was handed over.
    unsafe { ffi::JS_FreeAtom(context.raw(), atom) };
    Ok(Resolved::of_name(&name?.str()))
}

/// Warns where a path seems to be meant relative to the file that it is written in.
fn warn_of_folder(call: &Call<'_, '_>, evaluated: &str) -> Result<(), Thrown> {
    let context = call.context;
    let name = call.argument(0).to_text()?;
    let name = name.str();
    if !context.inner().is_first() || name.starts_with('/') || name.contains("://") {
        return Ok(());
    }
    // SAFETY: the context is open.
    let written = unsafe { ffi::JS_GetScriptOrModuleName(context.raw(), CALLER) };
    let written = path_of(context, written)?;
    let folder = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    if folder(&written) == folder(evaluated) {
        return Ok(());
    }
    let line = format!(
        "open('{name}') is relative to {evaluated}, which is being evaluated, and not to \
         {written}, which calls it: use import.meta.resolve() for the latter"
    );
    console::note(context, Level::Warn, &line)
}

/// How far up the stack the function is that calls one of these.
const CALLER: c_int = 1;

/// The content of the file that the first argument names, while the script loads. Its path is
/// relative to `base`.
pub(super) fn read_file(call: &Call<'_, '_>, what: &str, base: &str) -> Result<Arc<[u8]>, Thrown> {
    let context = call.context;
    let inner = context.inner();
    if inner.stage.get() != Stage::Init {
        let message =
            format!("{what} works while a script loads only: call it outside of functions");
        return Err(context.throw(ErrorKind::Plain, message));
    }
    let name = call.argument(0).to_text()?;
    if name.bytes().is_empty() {
        return Err(context.throw(ErrorKind::Type, format!("{what} needs the path of a file")));
    }
    let bytes = resolve_file(&name.str(), base).and_then(|path| inner.shared.store.file(&path));
    bytes.map_err(|why| context.throw(ErrorKind::Plain, why))
}

/// `require(name)`: what a module exports. Paths are relative to the file that calls it.
fn require<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    if context.inner().stage.get() != Stage::Init {
        let message = "require() works while a script loads only: call it outside of functions";
        return Err(context.throw(ErrorKind::Plain, message));
    }
    let specifier = call.argument(0).to_text()?;
    // SAFETY: the context is open.
    let caller = unsafe { ffi::JS_GetScriptOrModuleName(context.raw(), CALLER) };
    let base = match resolved(context, caller)? {
        Resolved::File(key) | Resolved::Remote(key) => key,
        Resolved::BuiltIn(_) => context.inner().shared.main.clone(),
    };
    modules::require(context, &specifier.str(), &base)
}

//! `exec.vu.metrics.metadata`: what a script says of the samples of its virtual user. As in k6 a
//! value is kept as text.
//!
//! What is missing: no output has it. The first value of a test is warned about.

use std::sync::atomic::Ordering;

use super::console;
use crate::js::ffi;
use crate::js::native::{Call, functions};
use crate::js::step::Level;
use crate::js::value::{ErrorKind, Outcome, Thrown, Value};

/// Where the object is kept once a script has asked for it. It is not listed.
const KEPT: &str = "(metadata)";

const TRAPS: &[ffi::FunctionEntry] = functions! {
    c"set" 4 => set;
    c"defineProperty" 3 => define;
};

/// The getter `metrics.metadata`.
pub(super) fn metadata<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, metrics) = (call.context, call.this());
    let kept = metrics.get(KEPT)?;
    if kept.is_object() {
        return Ok(kept);
    }
    let (target, handler) = (context.object()?, context.object()?);
    handler.define_functions(TRAPS)?;
    // SAFETY: all are alive.
    let made = unsafe {
        context.own(ffi::plimsoll_new_proxy(context.raw(), target.raw(), handler.raw()))
    }?;
    metrics.define_hidden(KEPT, made.clone())?;
    Ok(made)
}

fn set<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    put(call, &call.argument(2))
}

fn define<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    put(call, &call.argument(2).get("value")?)
}

fn put<'js>(call: &Call<'js, '_>, value: &Value<'js>) -> Outcome<'js> {
    let context = call.context;
    let name = call.argument(1).to_text()?;
    let name = name.str();
    if !(value.is_string() || value.is_number() || value.is_boolean()) {
        let message = format!("metadata '{name}' has to be a string, a number or a boolean");
        return Err(context.throw(ErrorKind::Type, message));
    }
    let text: Result<_, Thrown> = value.to_text();
    call.argument(0).define(&name, context.string(text?.bytes())?)?;
    if !context.inner().shared.has_warned_of_metadata.swap(true, Ordering::Relaxed) {
        let line = format!("exec.vu.metrics.metadata has '{name}', which no output writes");
        console::note(context, Level::Warn, &line)?;
    }
    Ok(context.boolean(true))
}

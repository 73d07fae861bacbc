//! `setTimeout` and its kin, as globals and as `k6/timers`.

use crate::js::events;
use crate::js::ffi;
use crate::js::native::{Call, functions};
use crate::js::value::{Context, ErrorKind, Outcome, Thrown, Value};

const FUNCTIONS: &[ffi::FunctionEntry] = functions! {
    c"setTimeout" 2 => set_timeout;
    c"clearTimeout" 1 => clear;
    c"setInterval" 2 => set_interval;
    c"clearInterval" 1 => clear;
};

const NAMES: [&str; 4] = ["setTimeout", "clearTimeout", "setInterval", "clearInterval"];

pub(super) fn define(context: Context<'_>) -> Result<(), Thrown> {
    context.global().define_functions(FUNCTIONS)
}

/// The module has the functions that are global.
pub(super) fn fill(module: &Value<'_>) -> Result<(), Thrown> {
    let global = module.context().global();
    NAMES.into_iter().try_for_each(|name| module.define(name, global.get(name)?))
}

fn set_timeout<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    set(call, false)
}

fn set_interval<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    set(call, true)
}

fn set<'js>(call: &Call<'js, '_>, repeats: bool) -> Outcome<'js> {
    let function = call.argument(0);
    if !function.is_function() {
        return Err(call.context.throw(ErrorKind::Type, "a timer needs a function to call"));
    }
    let after_ms = call.argument(1).to_number()?;
    // What is no number, and what is negative, is no time at all.
    let after_ns = (after_ms.max(0.0) * 1e6) as u64;
    let number = events::set_timer(call.context, function, call.rest(2), after_ns, repeats)?;
    Ok(call.context.number(f64::from(number)))
}

fn clear<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let number = call.argument(0);
    if number.is_number() {
        events::clear_timer(call.context, number.to_number()? as u32);
    }
    Ok(call.context.undefined())
}

//! The module `k6`: `check`, `group`, `sleep`, `fail`, `randomSeed`.

use super::{need_running, need_sync, tags};
use crate::js::ffi;
use crate::js::inner::Got;
use crate::js::native::{Call, functions};
use crate::js::step::{Sample, Step};
use crate::js::value::{Context, ErrorKind, Outcome, Thrown, Value};

/// What separates the names of groups, so that no name may have it.
const SEPARATOR: &str = "::";

const FUNCTIONS: &[ffi::FunctionEntry] = functions! {
    c"check" 3 => check;
    c"group" 2 => group;
    c"sleep" 1 => sleep;
    c"fail" 1 => fail;
    c"randomSeed" 1 => random_seed;
};

pub(super) fn fill(module: &Value<'_>) -> Result<(), Thrown> {
    module.define_functions(FUNCTIONS)
}

/// `check(value, {name: condition, …}, tags)`: records for each name whether its condition holds,
/// and tells whether all do.
fn check<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    need_running(context, "check()")?;
    let (value, checks, tags) = (call.argument(0), call.argument(1), call.argument(2));
    if checks.is_nothing() {
        let message = "check() needs an object with a name for each condition";
        return Err(context.throw(ErrorKind::Type, message));
    }
    if !checks.is_object() {
        return Ok(context.boolean(true));
    }
    let mut all = true;
    checks.for_each_property(|name, condition| {
        refuse_separator(context, name.bytes(), "check")?;
        need_sync(context, &condition, "check()")?;
        let outcome = if condition.is_function() {
            condition.call(&context.undefined(), std::slice::from_ref(&value))
        } else {
            Ok(condition)
        };
        let held = outcome.and_then(|outcome| {
            if outcome.is_promise() {
                let message = "check() does not wait for promises: await them before";
                return Err(context.throw(ErrorKind::Type, message));
            }
            outcome.to_bool()
        });
        match held {
            Ok(holds) => {
                all &= holds;
                record(context, &tags, name.bytes(), holds)
            }
            // One that raises an exception has failed, and the exception goes on.
            Err(Thrown) => {
                let exception = context.exception();
                if !exception.is_uncatchable() {
                    record(context, &tags, name.bytes(), false)?;
                }
                Err(context.throw_value(exception))
            }
        }
    })?;
    Ok(context.boolean(all))
}

fn record(context: Context<'_>, tags: &Value<'_>, name: &[u8], holds: bool) -> Result<(), Thrown> {
    let inner = context.inner();
    let tags = tags::number(context, tags, Some(("check", name)))?;
    let value = f64::from(u8::from(holds));
    let sample = Sample { metric: inner.shared.checks, tags, value };
    inner.ask(context, Step::Record(sample)).map(drop)
}

fn refuse_separator(context: Context<'_>, name: &[u8], what: &str) -> Result<(), Thrown> {
    if !name.windows(SEPARATOR.len()).any(|part| part == SEPARATOR.as_bytes()) {
        return Ok(());
    }
    let name = String::from_utf8_lossy(name);
    let message = format!("the name of a {what} may not have '{SEPARATOR}' in it: '{name}'");
    Err(context.throw(ErrorKind::Plain, message))
}

/// `group(name, function)`: calls the function; what it does belongs to the group.
fn group<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    need_running(context, "group()")?;
    let (name, function) = (call.argument(0).to_text()?, call.argument(1));
    refuse_separator(context, name.bytes(), "group")?;
    if !function.is_function() {
        return Err(context.throw(ErrorKind::Type, "group() needs a function to call"));
    }
    need_sync(context, &function, "group()")?;
    let inner = context.inner();
    let mut path = inner.group.borrow_mut();
    let outer_len = path.len();
    path.push_str(SEPARATOR);
    path.push_str(&name.str());
    let number = inner.worker.group_number(path.as_bytes());
    drop(path);
    inner.ask(context, Step::Enter(number))?;
    let returned = function.call(&context.undefined(), &[]);
    inner.group.borrow_mut().truncate(outer_len);
    if inner.halt.get().is_some() {
        return returned;
    }
    match returned {
        Ok(value) => inner.ask(context, Step::Leave).map(|_| value),
        Err(Thrown) => {
            let exception = context.exception();
            inner.ask(context, Step::Leave)?;
            Err(context.throw_value(exception))
        }
    }
}

/// `sleep(seconds)`.
fn sleep<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let seconds = call.argument(0).to_number()?;
    let inner = context.inner();
    let mut step = Step::Sleep((seconds.max(0.0) * 1e9) as u64);
    // Answers to requests may come meanwhile; the sleep goes on.
    while let Got::Ended(_) = inner.ask(context, step)? {
        step = Step::Wait(None);
    }
    Ok(context.undefined())
}

/// `fail(message)`: ends the iteration with an error.
fn fail<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let message = call.argument(0);
    let message = if message.is_undefined() {
        "fail() was called".to_owned()
    } else {
        message.to_text()?.str().into_owned()
    };
    Err(call.context.throw(ErrorKind::Plain, message))
}

/// `randomSeed(number)`: starts `Math.random` again.
fn random_seed<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let seed = call.argument(0).to_number()? as i64;
    // Small seeds would begin with small numbers.
    let mixed = seed.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
    // SAFETY: the context is open.
    unsafe { ffi::plimsoll_seed(call.context.raw(), mixed) };
    Ok(call.context.undefined())
}

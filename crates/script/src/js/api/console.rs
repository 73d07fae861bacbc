//! `console`: what scripts log.

use super::secrets;
use super::show::Shown;
use crate::js::ffi;
use crate::js::native::{Call, functions};
use crate::js::step::{Level, Step};
use crate::js::value::{Context, Outcome, Thrown};

/// The longest line, bytes.
const LINE_BYTES_MAX: usize = 64 << 10;

const FUNCTIONS: &[ffi::FunctionEntry] = functions! {
    c"log" 1 => info;
    c"info" 1 => info;
    c"debug" 1 => debug;
    c"trace" 1 => debug;
    c"warn" 1 => warn;
    c"error" 1 => error;
};

pub(super) fn define(context: Context<'_>) -> Result<(), Thrown> {
    let console = context.object()?;
    console.define_functions(FUNCTIONS)?;
    context.global().define("console", console)
}

fn info<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    write(call, Level::Info)
}

fn debug<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    write(call, Level::Debug)
}

fn warn<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    write(call, Level::Warn)
}

fn error<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    write(call, Level::Error)
}

fn write<'js>(call: &Call<'js, '_>, level: Level) -> Outcome<'js> {
    let mut shown = Shown::new(LINE_BYTES_MAX);
    for (index, value) in call.rest(0).enumerate() {
        if index > 0 {
            shown.text.push(' ');
        }
        shown.argument(&value)?;
    }
    say(call.context, Step::Log(level), &shown.text)?;
    Ok(call.context.undefined())
}

/// Tells of something that the script did not log itself.
pub(in crate::js) fn note(context: Context<'_>, level: Level, line: &str) -> Result<(), Thrown> {
    say(context, Step::Note(level), line)
}

fn say(context: Context<'_>, step: Step, line: &str) -> Result<(), Thrown> {
    let line = secrets::redact(context, line);
    let mut end = line.len().min(LINE_BYTES_MAX);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let mut kept = context.inner().line.borrow_mut();
    kept.clear();
    kept.push_str(&line[..end]);
    drop(kept);
    context.inner().ask(context, step).map(drop)
}

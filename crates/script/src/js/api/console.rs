//! `console`: what scripts log.

use super::secrets;
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
    let mut line = String::new();
    for (index, value) in call.rest(0).enumerate() {
        if index > 0 {
            line.push(' ');
        }
        // Objects as JSON; an error has none worth showing.
        let json = if value.is_object() && !value.is_error() && !value.is_function() {
            value.to_json()?
        } else {
            call.context.undefined()
        };
        let text = if json.is_string() { json.to_text()? } else { value.to_text()? };
        line.push_str(&text.str());
    }
    say(call.context, Step::Log(level), &line)?;
    Ok(call.context.undefined())
}

/// Tells of something that the script did not log itself.
pub(super) fn note(context: Context<'_>, level: Level, line: &str) -> Result<(), Thrown> {
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

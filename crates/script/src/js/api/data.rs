//! The module `k6/data`: `SharedArray`.
//!
//! Its elements are kept once for all virtual users, as JSON. Each access parses one element anew,
//! and freezes it: a change would be lost.
//!
//! To scripts it is an array in all that the language does with arrays: JSON, spreading,
//! `Array.isArray()`. So it is a proxy of an empty one, whose traps answer with the elements.
//! Nothing of it can be assigned to.

use std::ffi::CStr;

use super::classes::{self, Classes, Held};
use super::need_sync;
use crate::js::ffi;
use crate::js::inner::Stage;
use crate::js::native::{Call, functions, native};
use crate::js::store::Rows;
use crate::js::value::{Context, ErrorKind, Outcome, Text, Thrown, Value};

/// The elements of a shared array: what the handler of its proxy holds.
pub(super) struct SharedRows(Rows);

const TRAPS: &[ffi::FunctionEntry] = functions! {
    c"get" 3 => get;
    c"has" 2 => has;
    c"ownKeys" 1 => own_keys;
    c"getOwnPropertyDescriptor" 2 => describe;
    c"set" 4 => refuse;
    c"defineProperty" 3 => refuse;
    c"deleteProperty" 2 => delete;
    c"preventExtensions" 1 => refuse;
};

impl Held for SharedRows {
    const NAME: &'static CStr = c"SharedArray";

    fn class(classes: &Classes) -> u32 {
        classes.rows
    }
}

pub(super) fn fill(module: &Value<'_>) -> Result<(), Thrown> {
    let context = module.context();
    let (constructor, _) =
        classes::constructor(context, c"SharedArray", 2, native!(construct), &[])?;
    let traps = context.object()?;
    traps.define_functions(TRAPS)?;
    classes::set_prototype::<SharedRows>(traps);
    module.define("SharedArray", constructor)
}

/// `new SharedArray(name, function)`: the function makes the elements, the first time that the name
/// is used.
fn construct<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let inner = context.inner();
    if inner.stage.get() != Stage::Init {
        let message = "a SharedArray is made while a script loads only: do it outside of functions";
        return Err(context.throw(ErrorKind::Plain, message));
    }
    let (name, make) = (call.argument(0).to_text()?, call.argument(1));
    if name.bytes().is_empty() || !make.is_function() {
        let message = "a SharedArray needs a name, and a function that returns an array";
        return Err(context.throw(ErrorKind::Type, message));
    }
    need_sync(context, &make, "a SharedArray")?;
    let name = name.str();
    let rows = match inner.shared.store.rows(&name) {
        Some(rows) => rows,
        None => inner.shared.store.add_rows(&name, rows_of(context, &make)?),
    };
    let handler = classes::hold(context, None, SharedRows(rows))?;
    let target = context.array()?;
    // SAFETY: all are alive.
    unsafe { context.own(ffi::plimsoll_new_proxy(context.raw(), target.raw(), handler.raw())) }
}

fn rows_of(context: Context<'_>, make: &Value<'_>) -> Result<Vec<Box<[u8]>>, Thrown> {
    let made = make.call(&context.undefined(), &[])?;
    if !made.is_array() {
        let message = "the function of a SharedArray has to return an array";
        return Err(context.throw(ErrorKind::Type, message));
    }
    let count = made.length()?;
    let mut rows = Vec::new();
    for index in 0..count {
        let json = made.at(index)?.to_json()?;
        // As in an array: what has no JSON becomes null.
        let row = if json.is_string() { json.to_text()?.bytes().into() } else { (*b"null").into() };
        rows.push(row);
    }
    Ok(rows)
}

/// What a trap is asked for.
enum Asked<'a> {
    Length,
    Element(&'a [u8]),
    /// What the target has, or an element that is not there.
    Other,
}

/// The rows of the array whose handler this is.
fn rows<'a>(call: &Call<'_, '_>, handler: &'a Value<'_>) -> Result<&'a Rows, Thrown> {
    let rows = classes::held::<SharedRows>(handler).map(|SharedRows(rows)| rows);
    rows.ok_or_else(|| call.context.throw(ErrorKind::Type, "this is a trap of shared arrays"))
}

/// The name that a trap is called with; `None` for a symbol.
fn name_of<'js>(call: &Call<'js, '_>) -> Result<Option<Text<'js>>, Thrown> {
    let name = call.argument(1);
    if name.is_string() { name.to_text().map(Some) } else { Ok(None) }
}

fn asked<'a>(rows: &'a Rows, name: Option<&Text<'_>>) -> Asked<'a> {
    match name.map(Text::bytes) {
        Some(b"length") => Asked::Length,
        Some(name) => {
            index(name).and_then(|at| rows.get(at)).map_or(Asked::Other, |row| Asked::Element(row))
        }
        None => Asked::Other,
    }
}

/// The index that a name is; only the one way to write a number is one.
fn index(name: &[u8]) -> Option<usize> {
    let is_only_way = match name {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if is_only_way { str::from_utf8(name).ok()?.parse().ok() } else { None }
}

fn element<'js>(context: Context<'js>, row: &[u8]) -> Outcome<'js> {
    let value = context.parse_json(row, c"<SharedArray>")?;
    value.freeze_deep()?;
    Ok(value)
}

fn get<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let handler = call.this();
    let rows = rows(call, &handler)?;
    match asked(rows, name_of(call)?.as_ref()) {
        Asked::Length => Ok(call.context.number(rows.len() as f64)),
        Asked::Element(row) => element(call.context, row),
        Asked::Other => call.argument(0).get_named(&call.argument(1)),
    }
}

fn has<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let handler = call.this();
    let is_there = match asked(rows(call, &handler)?, name_of(call)?.as_ref()) {
        Asked::Length | Asked::Element(_) => true,
        Asked::Other => !call.argument(0).get_named(&call.argument(1))?.is_undefined(),
    };
    Ok(call.context.boolean(is_there))
}

fn own_keys<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, handler) = (call.context, call.this());
    let count = rows(call, &handler)?.len() as u32;
    let keys = context.array()?;
    for at in 0..count {
        keys.define_at(at, context.string(at.to_string())?)?;
    }
    keys.define_at(count, context.string("length")?)?;
    Ok(keys)
}

fn describe<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, handler) = (call.context, call.this());
    let rows = rows(call, &handler)?;
    let (value, is_element) = match asked(rows, name_of(call)?.as_ref()) {
        Asked::Length => (context.number(rows.len() as f64), false),
        Asked::Element(row) => (element(context, row)?, true),
        Asked::Other => return Ok(context.undefined()),
    };
    let descriptor = context.object()?;
    descriptor.define("value", value)?;
    // That it cannot be assigned to would have to be so of the target too.
    descriptor.define("writable", context.boolean(true))?;
    descriptor.define("enumerable", context.boolean(is_element))?;
    descriptor.define("configurable", context.boolean(is_element))?;
    Ok(descriptor)
}

fn delete<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let handler = call.this();
    match asked(rows(call, &handler)?, name_of(call)?.as_ref()) {
        Asked::Other => Ok(call.context.boolean(true)),
        Asked::Length | Asked::Element(_) => refuse(call),
    }
}

fn refuse<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    Err(call.context.throw(ErrorKind::Type, "SharedArray is immutable"))
}

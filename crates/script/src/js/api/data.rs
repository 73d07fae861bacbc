//! The module `k6/data`: `SharedArray`.
//!
//! Its elements are kept once for all virtual users, as JSON. Each access parses one element anew,
//! and freezes it: a change would be lost.
//!
//! To scripts it is an array that cannot be changed, so that it is one for `Array.isArray`,
//! `JSON.stringify` and `concat` too: a proxy of an empty array. [`SharedRows`] is its handler.

use std::ffi::CStr;

use super::classes::{self, Classes, Held};
use super::need_sync;
use crate::js::ffi;
use crate::js::inner::Stage;
use crate::js::native::{Call, functions, native};
use crate::js::store::Rows;
use crate::js::value::{Context, ErrorKind, Outcome, Thrown, Value};

/// The elements of a shared array.
pub(super) struct SharedRows(Rows);

/// What a proxy asks its handler for.
const TRAPS: &[ffi::FunctionEntry] = functions! {
    c"get" 3 => get;
    c"has" 2 => has;
    c"ownKeys" 1 => own_keys;
    c"getOwnPropertyDescriptor" 2 => descriptor;
    c"set" 4 => unchangeable;
    c"defineProperty" 3 => unchangeable;
    c"deleteProperty" 2 => unchangeable;
    c"setPrototypeOf" 2 => unchangeable;
    c"preventExtensions" 1 => unchangeable;
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
    let (reflect, arguments) = (context.global().get("Reflect")?, context.array()?);
    arguments.define_at(0, context.array()?)?;
    arguments.define_at(1, handler)?;
    reflect.get("construct")?.call(&reflect, &[context.global().get("Proxy")?, arguments])
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

/// The elements behind the handler that a trap is called on.
fn rows<'a>(call: &Call<'_, '_>, handler: &'a Value<'_>) -> Result<&'a Rows, Thrown> {
    let held = classes::held::<SharedRows>(handler).map(|SharedRows(rows)| rows);
    held.ok_or_else(|| call.context.throw(ErrorKind::Type, "this is a part of a SharedArray"))
}

/// The element that a name stands for; `None` if it stands for none.
fn element<'js>(
    context: Context<'js>,
    rows: &Rows,
    name: &Value<'js>,
) -> Result<Option<Value<'js>>, Thrown> {
    if !name.is_string() {
        return Ok(None);
    }
    let name = name.to_text()?;
    let name = name.str();
    // Only the one way to write a number names an element.
    let index = name.parse().ok().filter(|index: &usize| index.to_string() == name);
    let Some(row) = index.and_then(|index| rows.get(index)) else { return Ok(None) };
    let value = context.parse_json(row, c"<SharedArray>")?;
    value.freeze_deep()?;
    Ok(Some(value))
}

fn is_length(name: &Value<'_>) -> Result<bool, Thrown> {
    Ok(name.is_string() && name.to_text()?.bytes() == b"length")
}

/// `get(target, name, receiver)`: an element, the length, or what arrays have.
fn get<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, handler, name) = (call.context, call.this(), call.argument(1));
    let rows = rows(call, &handler)?;
    if let Some(element) = element(context, rows, &name)? {
        return Ok(element);
    }
    if is_length(&name)? {
        return Ok(context.number(rows.len() as f64));
    }
    let reflect = context.global().get("Reflect")?;
    reflect.get("get")?.call(&reflect, &[call.argument(0), name])
}

fn has<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, handler, name) = (call.context, call.this(), call.argument(1));
    if element(context, rows(call, &handler)?, &name)?.is_some() {
        return Ok(context.boolean(true));
    }
    let reflect = context.global().get("Reflect")?;
    reflect.get("has")?.call(&reflect, &[call.argument(0), name])
}

fn own_keys<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, handler) = (call.context, call.this());
    let (keys, count) = (context.array()?, rows(call, &handler)?.len() as u32);
    for index in 0..count {
        keys.define_at(index, context.string(index.to_string())?)?;
    }
    keys.define_at(count, context.string("length")?)?;
    Ok(keys)
}

/// The length has to be writable here: that of the array behind the proxy is.
fn descriptor<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, handler, name) = (call.context, call.this(), call.argument(1));
    let rows = rows(call, &handler)?;
    let is_length = is_length(&name)?;
    let value = match element(context, rows, &name)? {
        Some(element) => element,
        None if is_length => context.number(rows.len() as f64),
        None => return Ok(context.undefined()),
    };
    let descriptor = context.object()?;
    descriptor.define("value", value)?;
    descriptor.define("writable", context.boolean(is_length))?;
    descriptor.define("enumerable", context.boolean(!is_length))?;
    descriptor.define("configurable", context.boolean(!is_length))?;
    Ok(descriptor)
}

fn unchangeable<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    Err(call.context.throw(ErrorKind::Type, "SharedArray is immutable"))
}

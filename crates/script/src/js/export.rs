//! Data that a script hands over, such as what `setup` returns: as JSON, and what JSON cannot hold.
//!
//! k6 exports a value to Go and lets that write the JSON: bytes become base64, other typed arrays,
//! maps and sets become lists, and what is undefined becomes null. All else is as
//! `JSON.stringify()` has it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::ffi;
use super::native::{Call, native};
use super::value::{Outcome, Thrown, Value};

/// How deep data is looked at for what JSON cannot hold.
const UNFIT_DEPTH_MAX: usize = 100;

/// A value as JSON; `None` for `undefined`. The inner error is a part that JSON cannot hold: its
/// path, and what it is.
pub(super) fn json(value: &Value<'_>) -> Result<Result<Option<String>, String>, Thrown> {
    if let Some(unfit) = unfit(value, &mut Vec::new())? {
        return Ok(Err(unfit));
    }
    if value.is_undefined() {
        return Ok(Ok(None));
    }
    let replacer = value.context().function(c"exported", 2, native!(exported))?;
    let json = value.to_json_with(&replacer)?;
    if json.is_undefined() {
        return Ok(Ok(None));
    }
    Ok(Ok(Some(json.to_text()?.str().into_owned())))
}

/// The replacer of `JSON.stringify()`: `this` has the part as it is, and the second argument has
/// the result of its `toJSON()`.
fn exported<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, given) = (call.context, call.argument(1));
    let part = call.this().get(&call.argument(0).to_text()?.str())?;
    if part.is_date() && given.is_string() {
        return context.string(go_time(&given.to_text()?.str()));
    }
    match part.typed_array_type() {
        Some(ffi::TYPED_ARRAY_UINT8 | ffi::TYPED_ARRAY_UINT8C) => {
            let encoded = part.with_bytes(|bytes| STANDARD.encode(bytes))?.unwrap_or_default();
            // What has no bytes is a slice without an array in Go.
            return if encoded.is_empty() { Ok(context.null()) } else { context.string(encoded) };
        }
        Some(_) => return listed(&part),
        None if part.is_map() || part.is_set() => return listed(&part),
        None if part.is_big_int() => {
            let number = part.to_text()?.str().parse().unwrap_or(f64::NAN);
            return Ok(context.number(number));
        }
        None => {}
    }
    Ok(if given.is_undefined() { context.null() } else { given })
}

/// The elements of what can be iterated over.
pub(super) fn listed<'js>(value: &Value<'js>) -> Outcome<'js> {
    let context = value.context();
    let array = context.global().get("Array")?;
    array.get("from")?.call(&array, std::slice::from_ref(value))
}

/// A time as Go writes it: without zeros behind the last digit of its fraction.
pub(super) fn go_time(text: &str) -> String {
    let time = text.strip_suffix('Z').unwrap_or(text);
    let time = if time.contains('.') { time.trim_end_matches('0') } else { time };
    format!("{}Z", time.trim_end_matches('.'))
}

/// A part of a value that JSON would leave out or make null: its path, and what it is. `path` leads
/// to the value. What has a form of its own for JSON is not looked into.
pub(super) fn unfit(value: &Value<'_>, path: &mut Vec<String>) -> Result<Option<String>, Thrown> {
    if value.is_function() {
        return Ok(Some(format!("'{}' is a function", path.join("."))));
    }
    if value.is_number() {
        let number = value.to_number()?;
        let text = || {
            format!("'{}' is {}", path.join("."), if number.is_nan() { "NaN" } else { "infinite" })
        };
        return Ok((!number.is_finite()).then(text));
    }
    let is_plain = value.is_object() && value.typed_array_type().is_none();
    if !is_plain || path.len() >= UNFIT_DEPTH_MAX || value.get("toJSON")?.is_function() {
        return Ok(None);
    }
    let mut found = None;
    value.for_each_property(|name, part| {
        if found.is_none() {
            path.push(name.str().into_owned());
            found = unfit(&part, path)?;
            path.pop();
        }
        Ok(())
    })?;
    Ok(found)
}

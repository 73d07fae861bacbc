//! The outcome of a call, as objects of the script.

use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, Engine};

use super::slots::{CallSlot, End};
use crate::js::grpc::Method;
use crate::js::value::{Context, Outcome, Thrown, Value};

/// Binary values come with padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Fields that belong to the protocol, and are not shown.
const OWN_FIELDS: [&[u8]; 4] = [b"grpc-status", b"grpc-message", b"grpc-encoding", b"trailer"];

const DETAILS: &[u8] = b"grpc-status-details-bin";

/// The response of a call that has ended.
pub(super) fn response<'js>(context: Context<'js>, slot: &CallSlot) -> Outcome<'js> {
    let none = End::default();
    let end = slot.end.as_ref().unwrap_or(&none);
    let method = slot.call.method.as_deref();
    let response = context.object()?;
    response.define("message", message(context, slot)?)?;
    response.define("error", error(context, end, method)?)?;
    response.define("headers", fields(context, &end.head)?)?;
    response.define("trailers", fields(context, &end.trailers)?)?;
    response.define("status", context.number(f64::from(end.code)))?;
    Ok(response)
}

/// The message; an empty one where none has come.
fn message<'js>(context: Context<'js>, slot: &CallSlot) -> Outcome<'js> {
    if slot.call.discards {
        return Ok(context.null());
    }
    if let Some(json) = &slot.message {
        return context.parse_json(json, c"message");
    }
    let json = slot.call.method.as_ref().and_then(|method| method.decode(&[]).ok());
    json.map_or(Ok(context.null()), |json| context.parse_json(json.as_bytes(), c"message"))
}

/// What went wrong; `null` if nothing did.
pub(super) fn error<'js>(
    context: Context<'js>,
    end: &End,
    method: Option<&dyn Method>,
) -> Outcome<'js> {
    if end.code == 0 {
        return Ok(context.null());
    }
    let mut said = lines(&end.trailers).filter(|(name, _)| name.eq_ignore_ascii_case(DETAILS));
    let said = said.next().and_then(|(_, value)| BASE64.decode(value).ok());
    let said = said.and_then(|value| method?.details(&value));
    let error = context.object()?;
    error.define("code", context.number(f64::from(end.code)))?;
    let details = context.array()?;
    let text = match &said {
        Some((text, all)) => {
            for (at, json) in (0..).zip(all) {
                details.define_at(at, context.parse_json(json.as_bytes(), c"details")?)?;
            }
            context.string(text)?
        }
        None => context.string(&end.text)?,
    };
    error.define("message", text)?;
    error.define("details", details)?;
    Ok(error)
}

/// The fields in the lines of a head: an array of values for each name.
fn fields<'js>(context: Context<'js>, head: &[u8]) -> Outcome<'js> {
    let object = context.object()?;
    for (name, value) in lines(head) {
        let name = name.to_ascii_lowercase();
        if OWN_FIELDS.contains(&name.as_slice()) {
            continue;
        }
        let is_binary = name.ends_with(b"-bin");
        let decoded = if is_binary { BASE64.decode(value).ok() } else { None };
        let value = context.string(decoded.as_deref().unwrap_or(value))?;
        add(context, &object, &String::from_utf8_lossy(&name), value)?;
    }
    Ok(object)
}

fn add<'js>(
    context: Context<'js>,
    object: &Value<'js>,
    name: &str,
    value: Value<'js>,
) -> Result<(), Thrown> {
    let known = object.get(name)?;
    if known.is_array() {
        let length = known.length()?;
        return known.define_at(length, value);
    }
    let values = context.array()?;
    values.define_at(0, value)?;
    object.define(name, values)
}

/// The fields behind the first line.
fn lines(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    head.split(|byte| *byte == b'\n').skip(1).filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b':')?;
        Some((line[..at].trim_ascii(), line[at + 1..].trim_ascii()))
    })
}

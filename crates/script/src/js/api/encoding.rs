//! The module `k6/encoding`: Base64.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use crate::js::ffi;
use crate::js::native::{Call, functions};
use crate::js::value::{ErrorKind, Outcome, Thrown, Value};

const FUNCTIONS: &[ffi::FunctionEntry] = functions! {
    c"b64encode" 2 => encode;
    c"b64decode" 3 => decode;
};

pub(super) fn fill(module: &Value<'_>) -> Result<(), Thrown> {
    module.define_functions(FUNCTIONS)
}

/// The variant that an argument names; the standard one if it names none.
fn variant(call: &Call<'_, '_>) -> Result<&'static base64::engine::GeneralPurpose, Thrown> {
    let name = call.argument(1);
    if name.is_nothing() {
        return Ok(&STANDARD);
    }
    let text = name.to_text()?;
    match text.bytes() {
        b"std" | b"" => Ok(&STANDARD),
        b"rawstd" => Ok(&STANDARD_NO_PAD),
        b"url" => Ok(&URL_SAFE),
        b"rawurl" => Ok(&URL_SAFE_NO_PAD),
        _ => {
            let name = text.str();
            let message = format!("'{name}' is not one of std, rawstd, url, rawurl");
            Err(call.context.throw(ErrorKind::Plain, message))
        }
    }
}

/// `b64encode(text or bytes, variant)`.
fn encode<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let variant = variant(call)?;
    let input = call.argument(0);
    let encoded = match input.with_bytes(|bytes| variant.encode(bytes))? {
        Some(encoded) => encoded,
        None => variant.encode(input.to_text()?.bytes()),
    };
    call.context.string(encoded)
}

/// `b64decode(text, variant, format)`: bytes, or text if the format is `s`.
fn decode<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let variant = variant(call)?;
    let text = call.argument(0).to_text()?;
    let kept: Vec<u8> =
        text.bytes().iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    let bytes = variant.decode(kept).map_err(|error| {
        call.context.throw(ErrorKind::Plain, format!("b64decode() cannot decode: {error}"))
    })?;
    let format = call.argument(2);
    let is_text = format.is_string() && format.to_text()?.bytes() == b"s";
    if is_text { call.context.string(bytes) } else { call.context.array_buffer(&bytes) }
}

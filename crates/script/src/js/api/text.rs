//! `TextEncoder` and `TextDecoder`, for UTF-8.

use super::classes;
use crate::js::ffi;
use crate::js::native::{Call, functions, native};
use crate::js::value::{Context, ErrorKind, Outcome, Thrown};

const ENCODER: &[ffi::FunctionEntry] = functions! { c"encode" 1 => encode; };
const DECODER: &[ffi::FunctionEntry] = functions! { c"decode" 1 => decode; };

pub(super) fn define(context: Context<'_>) -> Result<(), Thrown> {
    let global = context.global();
    let (encoder, prototype) =
        classes::constructor(context, c"TextEncoder", 0, native!(new_encoder), ENCODER)?;
    prototype.define("encoding", context.string("utf-8")?)?;
    global.define("TextEncoder", encoder)?;
    let (decoder, prototype) =
        classes::constructor(context, c"TextDecoder", 0, native!(new_decoder), DECODER)?;
    prototype.define("encoding", context.string("utf-8")?)?;
    global.define("TextDecoder", decoder)
}

fn new_encoder<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    classes::plain_of(call)
}

fn new_decoder<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let label = call.argument(0);
    if !label.is_undefined() {
        let text = label.to_text()?;
        let label = text.str().trim().to_ascii_lowercase();
        if !["utf-8", "utf8", "unicode-1-1-utf-8"].contains(&label.as_str()) {
            let message = format!("TextDecoder decodes UTF-8 only, not '{label}'");
            return Err(call.context.throw(ErrorKind::Range, message));
        }
    }
    let decoder = classes::plain_of(call)?;
    let options = call.argument(1);
    let flag = |name: &str| {
        if options.is_object() { options.get(name)?.to_bool() } else { Ok(false) }
    };
    decoder.define("fatal", call.context.boolean(flag("fatal")?))?;
    decoder.define("ignoreBOM", call.context.boolean(flag("ignoreBOM")?))?;
    Ok(decoder)
}

fn encode<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let text = call.argument(0);
    if text.is_undefined() {
        return call.context.byte_array(&[]);
    }
    let text = text.to_text()?;
    call.context.byte_array(text.str().as_bytes())
}

fn decode<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, this, input) = (call.context, call.this(), call.argument(0));
    if input.is_undefined() {
        return context.string("");
    }
    let keeps_mark = this.get("ignoreBOM")?.to_bool()?;
    let is_fatal = this.get("fatal")?.to_bool()?;
    let decoded = input.with_bytes(|bytes| {
        let mark = b"\xef\xbb\xbf";
        let bytes = if keeps_mark { bytes } else { bytes.strip_prefix(mark).unwrap_or(bytes) };
        if is_fatal && std::str::from_utf8(bytes).is_err() { None } else { Some(bytes.to_vec()) }
    })?;
    match decoded {
        Some(Some(bytes)) => context.string(bytes),
        Some(None) => Err(context.throw(ErrorKind::Type, "the bytes are not UTF-8")),
        None => Err(context.throw(ErrorKind::Type, "decode() needs an ArrayBuffer or its view")),
    }
}

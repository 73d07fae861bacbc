//! The content of files for `k6/experimental/fs` and `k6/experimental/csv`, which all virtual users
//! share. Positions and records are JavaScript, `lib/fs.js` and `lib/csv.js`.

use std::ffi::CStr;
use std::sync::Arc;

use super::classes::{self, Classes, Held};
use super::globals;
use crate::js::ffi;
use crate::js::native::{Call, functions};
use crate::js::value::{ErrorKind, Outcome, Thrown, Value};

const FUNCTIONS: &[ffi::FunctionEntry] = functions! { c"openFile" 1 => open_file; };

const METHODS: &[ffi::FunctionEntry] = functions! {
    c"size" 0 => size;
    c"read" 2 => read;
    c"line" 1 => line;
};

/// The bytes of a file.
pub(super) struct Content(Arc<[u8]>);

impl Held for Content {
    const NAME: &'static CStr = c"FileContent";

    fn class(classes: &Classes) -> u32 {
        classes.content
    }
}

pub(super) fn fill(module: &Value<'_>) -> Result<(), Thrown> {
    let prototype = module.context().object()?;
    prototype.define_functions(METHODS)?;
    classes::set_prototype::<Content>(prototype);
    module.define_functions(FUNCTIONS)
}

/// `openFile(path)`, while the script loads. The path is relative to the main file.
fn open_file<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let bytes = globals::read_file(call, "open()", &call.context.inner().shared.main)?;
    classes::hold(call.context, None, Content(bytes))
}

fn this<'a, 'js>(call: &Call<'js, '_>, value: &'a Value<'js>) -> Result<&'a [u8], Thrown> {
    let content = classes::held::<Content>(value).map(|Content(bytes)| &**bytes);
    content.ok_or_else(|| call.context.throw(ErrorKind::Type, "this is a method of files"))
}

/// What follows an offset, which is an argument.
fn rest<'a>(bytes: &'a [u8], offset: &Value<'_>) -> Result<&'a [u8], Thrown> {
    let offset = offset.to_number()?.max(0.0) as usize;
    Ok(bytes.get(offset..).unwrap_or_default())
}

fn size<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let object = call.this();
    Ok(call.context.number(this(call, &object)?.len() as f64))
}

/// `content.read(offset, buffer)`: how many bytes it was filled with.
fn read<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let object = call.this();
    let rest = rest(this(call, &object)?, &call.argument(0))?;
    let filled = call.argument(1).with_bytes_mut(|buffer| {
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        count
    })?;
    Ok(call.context.number(filled.unwrap_or(0) as f64))
}

/// `content.line(offset)`: the text up to the next line feed with that, and the offset after it;
/// `null` at the end.
fn line<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, object) = (call.context, call.this());
    let bytes = this(call, &object)?;
    let rest = rest(bytes, &call.argument(0))?;
    if rest.is_empty() {
        return Ok(context.null());
    }
    let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
    let mark: &[u8] = b"\xef\xbb\xbf";
    let text = if rest.len() == bytes.len() { rest[..end].strip_prefix(mark) } else { None };
    let found = context.array()?;
    found.define_at(0, context.string(text.unwrap_or(&rest[..end]))?)?;
    found.define_at(1, context.number((bytes.len() - rest.len() + end) as f64))?;
    Ok(found)
}

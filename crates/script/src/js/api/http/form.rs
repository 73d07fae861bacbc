//! The bodies that scripts give: text and bytes as they are, objects as forms.

use std::ffi::CStr;

use super::super::classes::{self, Classes, Held};
use super::go;
use crate::js::native::Call;
use crate::js::value::{Context, Outcome, Thrown, Value};

/// What `http.file` makes: a part of a multipart form.
pub(in crate::js) struct File {
    data: Vec<u8>,
    name: String,
    content_type: String,
}

impl Held for File {
    const NAME: &'static CStr = c"FileData";

    fn class(classes: &Classes) -> u32 {
        classes.file
    }
}

/// What type of content a body has, if that follows from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ContentType {
    Unknown,
    Form,
    Multipart { boundary: String },
}

/// `http.file(data, name, content type)`.
pub(super) fn file<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let data = call.argument(0);
    let data = match data.with_bytes(<[u8]>::to_vec)? {
        Some(bytes) => bytes,
        None => data.to_text()?.bytes().to_vec(),
    };
    let text = |index, otherwise: &str| {
        let given = call.argument(index);
        if given.is_nothing() {
            return Ok(otherwise.to_owned());
        }
        Ok(given.to_text()?.str().into_owned())
    };
    // As in k6, the time stands for a name.
    let now = context.inner().now_ns.get().to_string();
    let (name, content_type) = (text(1, &now)?, text(2, "application/octet-stream")?);
    let (shown_name, shown_type) = (context.string(&name)?, context.string(&content_type)?);
    let file = classes::hold(context, None, File { data, name, content_type })?;
    file.define("data", call.argument(0))?;
    file.define("filename", shown_name)?;
    file.define("content_type", shown_type)?;
    Ok(file)
}

/// Whether a value can be a body: text, bytes, or an object that is a form.
pub(super) fn is_body(body: &Value<'_>) -> bool {
    let is_form = body.is_object() && !body.is_array() && !body.is_function();
    body.is_nothing() || body.is_string() || is_form
}

/// Writes a body; `false` if the request has no body.
pub(super) fn write(
    context: Context<'_>,
    body: &Value<'_>,
    out: &mut Vec<u8>,
) -> Result<Option<ContentType>, Thrown> {
    if body.is_nothing() {
        return Ok(None);
    }
    if body.is_string() {
        out.extend_from_slice(body.to_text()?.bytes());
        return Ok(Some(ContentType::Unknown));
    }
    if body.with_bytes(|bytes| out.extend_from_slice(bytes))?.is_some() {
        return Ok(Some(ContentType::Unknown));
    }
    let mut fields: Vec<(String, Value<'_>)> = Vec::new();
    let mut has_file = classes::held::<File>(body).is_some();
    body.for_each_property(|name, value| {
        has_file |= classes::held::<File>(&value).is_some();
        fields.push((name.str().into_owned(), value));
        Ok(())
    })?;
    fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    if !has_file {
        write_form(&fields, out)?;
        return Ok(Some(ContentType::Form));
    }
    let boundary = format!("{:016x}{:016x}", context.inner().draw(), context.inner().draw());
    write_multipart(&fields, &boundary, out)?;
    Ok(Some(ContentType::Multipart { boundary }))
}

/// `name=value&…`; an array repeats its name.
fn write_form(fields: &[(String, Value<'_>)], out: &mut Vec<u8>) -> Result<(), Thrown> {
    for (name, value) in fields {
        if value.is_array() {
            for index in 0..value.length()? {
                pair(name, &value.at(index)?, out)?;
            }
        } else {
            pair(name, value, out)?;
        }
    }
    Ok(())
}

fn pair(name: &str, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), Thrown> {
    if !out.is_empty() {
        out.push(b'&');
    }
    escape(name.as_bytes(), out);
    out.push(b'=');
    escape(go::text(value)?.as_bytes(), out);
    Ok(())
}

/// As `application/x-www-form-urlencoded` has it.
fn escape(text: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(*byte),
            b' ' => out.push(b'+'),
            byte => out.extend_from_slice(&[
                b'%',
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]),
        }
    }
}

/// A `multipart/form-data` body (RFC 7578).
fn write_multipart(
    fields: &[(String, Value<'_>)],
    boundary: &str,
    out: &mut Vec<u8>,
) -> Result<(), Thrown> {
    for (name, value) in fields {
        let mut line = |text: &str| out.extend_from_slice(text.as_bytes());
        line(&format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quote(name)));
        if let Some(file) = classes::held::<File>(value) {
            line(&format!("; filename=\"{}\"\r\n", quote(&file.name)));
            line(&format!(
                "Content-Type: {}\r\n\r\n",
                file.content_type.replace(['\r', '\n'], " ")
            ));
            out.extend_from_slice(&file.data);
        } else {
            line(&format!("\r\n\r\n{}", go::text(value)?));
        }
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok(())
}

/// Text between quotes in a field of a part.
fn quote(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

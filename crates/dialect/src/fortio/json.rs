//! JSON as Go writes it, indented by two spaces: numbers, escapes and order of keys.
//!
//! Go prints whole floats without a point, which readers rely on: they make names of columns out of
//! `"Percentile": 50`. It escapes what could be markup in HTML. Maps are sorted by the text of
//! their keys.

use std::io::{Result, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CharEscape, Formatter, PrettyFormatter};

use crate::numbers::javascript;

/// A document as in fortio's files, with a newline at the end. Numbers that are not finite are
/// null; fortio's results have none.
///
/// # Errors
/// A type that JSON does not have, such as a map with keys that are no texts.
pub fn file(document: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut bytes = response(document)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// A document as in answers of fortio's REST interface: without the newline.
///
/// # Errors
/// As of [`file()`].
pub fn response(document: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let formatter = Go(PrettyFormatter::with_indent(b"  "));
    document.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))?;
    Ok(bytes)
}

/// The layout of `encoding/json`, with its numbers and escapes.
struct Go(PrettyFormatter<'static>);

impl Formatter for Go {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> Result<()> {
        // Both have an exponent below 1e-6 and from 1e21 on, without a zero in front.
        let sign = if value == 0.0 && value.is_sign_negative() { "-" } else { "" };
        write!(out, "{sign}{}", javascript(value))
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, text: &str) -> Result<()> {
        let is_escaped = |c: char| matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
        let mut rest = text;
        while let Some(at) = rest.find(is_escaped) {
            let (before, from) = rest.split_at(at);
            let escaped = from.chars().next().unwrap_or_default();
            write!(out, "{before}\\u{:04x}", u32::from(escaped))?;
            rest = &from[escaped.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, out: &mut W, c: CharEscape) -> Result<()> {
        self.0.write_char_escape(out, c)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.0.end_object_value(out)
    }
}

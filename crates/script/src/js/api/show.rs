//! How `console` shows values: text as it is, and objects with their own properties, in k6's form,
//! which is neither JSON nor JavaScript.

use std::fmt::Write as _;

use crate::js::value::{Thrown, Value};

/// How deep objects are shown.
const DEPTH_MAX: usize = 64;

/// A text that values are appended to.
pub(super) struct Shown {
    pub(super) text: String,
    /// Nothing is added beyond this.
    bytes_max: usize,
    /// The objects around what is shown.
    around: Vec<u64>,
}

impl Shown {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { text: String::new(), bytes_max, around: Vec::new() }
    }

    /// Appends an argument: text has no quotes.
    pub(super) fn argument(&mut self, value: &Value<'_>) -> Result<(), Thrown> {
        if value.is_string() {
            return self.plain(value);
        }
        if value.is_symbol() {
            return self.plain(&value.get("description")?);
        }
        self.nested(value)
    }

    /// What JavaScript makes of it as text.
    fn plain(&mut self, value: &Value<'_>) -> Result<(), Thrown> {
        self.text.push_str(&value.to_text()?.str());
        Ok(())
    }

    fn quoted(&mut self, value: &Value<'_>) -> Result<(), Thrown> {
        self.text.push('"');
        self.plain(value)?;
        self.text.push('"');
        Ok(())
    }

    /// Appends what may stand in an object.
    fn nested(&mut self, value: &Value<'_>) -> Result<(), Thrown> {
        if value.is_string() {
            return self.quoted(value);
        }
        if value.is_symbol() {
            return self.quoted(&value.get("description")?);
        }
        if value.is_function() {
            self.text.push_str("[object Function]");
            return Ok(());
        }
        if !value.is_object() || value.is_error() {
            return self.plain(value);
        }
        if value.is_date() {
            // The JSON of a date is a text with quotes, or null.
            return self.plain(&value.to_json()?);
        }
        self.object(value)
    }

    fn object(&mut self, value: &Value<'_>) -> Result<(), Thrown> {
        // That of an object is where it is.
        let identity = value.raw().payload;
        if self.around.contains(&identity) {
            self.text.push_str("[Circular]");
            return Ok(());
        }
        if self.around.len() == DEPTH_MAX {
            self.text.push('…');
            return Ok(());
        }
        self.around.push(identity);
        let shown = self.members(value);
        self.around.pop();
        shown
    }

    fn members(&mut self, value: &Value<'_>) -> Result<(), Thrown> {
        if value.is_array() {
            return self.array(value);
        }
        if value.is_typed_array() {
            let name = value.get("constructor")?.get("name")?;
            self.plain(&name)?;
            let _ = write!(self.text, "({}) ", value.length()?);
            return self.array(value);
        }
        if value.is_array_buffer() {
            if value.with_bytes(|bytes| self.buffer(bytes)).is_err() {
                // It is detached. To show it is no mistake.
                drop(value.context().exception());
                self.buffer(&[]);
            }
            return Ok(());
        }
        let mut count = 0;
        value.for_each_property(|name, value| {
            if self.is_full() {
                return Ok(());
            }
            self.text.push_str(if count == 0 { "{ " } else { ", " });
            count += 1;
            self.text.push_str(&name.str());
            self.text.push_str(": ");
            self.member(&value)
        })?;
        self.text.push_str(if count == 0 { "{}" } else { " }" });
        Ok(())
    }

    fn array(&mut self, value: &Value<'_>) -> Result<(), Thrown> {
        let length = value.length()?;
        for index in 0..length {
            if self.is_full() {
                return Ok(());
            }
            self.text.push_str(if index == 0 { "[ " } else { ", " });
            self.member(&value.at(index)?)?;
        }
        self.text.push_str(if length == 0 { "[]" } else { " ]" });
        Ok(())
    }

    /// An undefined member is null.
    fn member(&mut self, value: &Value<'_>) -> Result<(), Thrown> {
        if value.is_undefined() {
            self.text.push_str("null");
            return Ok(());
        }
        self.nested(value)
    }

    fn buffer(&mut self, bytes: &[u8]) {
        self.text.push_str("ArrayBuffer { [Uint8Contents]: <");
        for (index, byte) in bytes.iter().enumerate() {
            if self.is_full() {
                return;
            }
            let blank = if index == 0 { "" } else { " " };
            let _ = write!(self.text, "{blank}{byte:02x}");
        }
        let _ = write!(self.text, ">, byteLength: {} }}", bytes.len());
    }

    fn is_full(&self) -> bool {
        self.text.len() > self.bytes_max
    }
}

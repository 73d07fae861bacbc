//! Header blocks that are compiled before the run.

use std::collections::HashMap;
use std::ops::Range;

use super::ENTRY_OVERHEAD_BYTES;
use super::encoder::{INDEXED, INSERTED, PLAIN, SECRET, check, write_name, write_text};
use super::integer;
use super::statics::{self, Found};
use crate::http2::EncodeError;
use crate::http2::fields;

/// The fields that never vary, of all blocks of a run: each has one number, whichever blocks it is
/// in, so that each is in a connection's table once.
#[derive(Debug, Clone, Default)]
pub struct SharedFields {
    ids: HashMap<(Vec<u8>, Vec<u8>), usize>,
}

impl SharedFields {
    /// How many there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a number of table entries, not a collection")]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    fn id(&mut self, name: &[u8], value: &[u8]) -> usize {
        let next = self.ids.len();
        *self.ids.entry((name.to_vec(), value.to_vec())).or_insert(next)
    }
}

/// The value of a field.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// The same in every message.
    Fixed(&'a [u8]),
    /// Filled in for each message.
    Varying,
}

/// The fields of a message, or of a part of it, ready to be copied.
#[derive(Debug, Clone, Default)]
pub struct Block {
    bytes: Vec<u8>,
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
pub(super) enum Part {
    /// These bytes of the block.
    Bytes(Range<usize>),
    /// A field that the connection's table may have.
    Shared(SharedField),
    /// The value of the field whose name was just written.
    Varying,
}

/// A field that never varies.
#[derive(Debug, Clone)]
pub(super) struct SharedField {
    pub(super) id: usize,
    /// What it counts in the table.
    pub(super) table_bytes: usize,
    /// Its form when it goes into the table, and when it does not, as bytes of the block.
    pub(super) inserted: Range<usize>,
    pub(super) plain: Range<usize>,
}

impl Block {
    /// The most bytes that it takes, the values that vary left out.
    #[must_use]
    pub fn bytes_max(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[inline]
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }
}

/// Compiles a [`Block`]. Pseudo-fields have to be added before the others.
#[derive(Debug)]
pub struct BlockBuilder<'s> {
    shared: &'s mut SharedFields,
    block: Block,
}

impl<'s> BlockBuilder<'s> {
    /// An empty block. All blocks of a connection need the same `shared`.
    #[must_use]
    pub fn new(shared: &'s mut SharedFields) -> Self {
        Self { shared, block: Block::default() }
    }

    /// Adds a field. Its name goes out in lower case; that of a pseudo-field begins with a colon.
    ///
    /// # Errors
    /// When the field may not be in a message.
    pub fn field(&mut self, name: &str, value: Value<'_>) -> Result<(), EncodeError> {
        match value {
            Value::Fixed(value) => {
                check(name, Some(value))?;
                self.fixed(name.to_ascii_lowercase().as_bytes(), value);
            }
            Value::Varying => {
                check(name, None)?;
                self.varying(name.to_ascii_lowercase().as_bytes());
            }
        }
        Ok(())
    }

    /// The block.
    #[must_use]
    pub fn finish(self) -> Block {
        self.block
    }

    fn fixed(&mut self, name: &[u8], value: &[u8]) {
        let found = statics::find(name, value);
        if let Found::Field(index) = found {
            return self.bytes(|out| integer::encode(out, INDEXED.0, INDEXED.1, index));
        }
        // A run has few of the others and may have any number of paths.
        if fields::is_secret(name) || name == b":path" {
            let form = if name == b":path" { PLAIN } else { SECRET };
            return self.bytes(|out| {
                write_name(name, found, form, out);
                write_text(value, out);
            });
        }
        let bytes = &mut self.block.bytes;
        let mut literal = |form| {
            let start = bytes.len();
            write_name(name, found, form, bytes);
            write_text(value, bytes);
            start..bytes.len()
        };
        self.block.parts.push(Part::Shared(SharedField {
            id: self.shared.id(name, value),
            table_bytes: name.len() + value.len() + ENTRY_OVERHEAD_BYTES,
            inserted: literal(INSERTED),
            plain: literal(PLAIN),
        }));
    }

    fn varying(&mut self, name: &[u8]) {
        let form = if fields::is_secret(name) { SECRET } else { PLAIN };
        let found = match statics::find(name, b"") {
            Found::Field(index) => Found::Name(index),
            found => found,
        };
        self.bytes(|out| write_name(name, found, form, out));
        self.block.parts.push(Part::Varying);
    }

    /// Adds bytes that are the same in every message, to those before them if there are any.
    fn bytes(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.block.bytes.len();
        write(&mut self.block.bytes);
        let end = self.block.bytes.len();
        match self.block.parts.last_mut() {
            Some(Part::Bytes(range)) if range.end == start => range.end = end,
            _ => self.block.parts.push(Part::Bytes(start..end)),
        }
    }
}

//! Writes header blocks, and knows what is in the peer's dynamic table.
//!
//! Entries are put in while they fit and never evicted, so each has a fixed distance from the first
//! one and nothing has to be looked up by its text. Only a peer that makes its table too small for
//! what is in it empties it.

use super::block::{Block, Part, SharedField};
use super::statics::{self, Found};
use super::{TABLE_BYTES_DEFAULT, huffman, integer};
use crate::http2::EncodeError;
use crate::http2::fields;

/// First bytes of the representations (RFC 7541 6), and the bits that their integers have.
pub(super) const INDEXED: (u8, u32) = (0x80, 7);
pub(super) const INSERTED: (u8, u32) = (0x40, 6);
pub(super) const PLAIN: (u8, u32) = (0x00, 4);
pub(super) const SECRET: (u8, u32) = (0x10, 4);
const TABLE_SIZE: (u8, u32) = (0x20, 5);

/// The first index of the dynamic table.
const DYNAMIC_FIRST: usize = statics::FIELDS.len() + 1;

/// The encoder of one connection.
#[derive(Debug)]
pub(in crate::http2) struct Encoder {
    /// For each shared field that is in the table, which one it was to go in, from 1; else 0.
    places: Vec<u32>,
    inserted: u32,
    used_bytes: usize,
    capacity_bytes: usize,
    change: Option<Change>,
}

/// A change of the table's size that the next block has to begin with (RFC 7541 4.2).
#[derive(Debug, Clone, Copy)]
struct Change {
    lowest: usize,
    last: usize,
}

impl Encoder {
    /// An encoder for blocks that were compiled with `shared_fields` fields in common.
    pub(in crate::http2) fn new(shared_fields: usize) -> Self {
        Self {
            places: vec![0; shared_fields],
            inserted: 0,
            used_bytes: 0,
            capacity_bytes: TABLE_BYTES_DEFAULT as usize,
            change: None,
        }
    }

    /// Forgets the connection before.
    pub(in crate::http2) fn reset(&mut self) {
        self.forget();
        self.capacity_bytes = TABLE_BYTES_DEFAULT as usize;
        self.change = None;
    }

    fn forget(&mut self) {
        self.places.fill(0);
        self.inserted = 0;
        self.used_bytes = 0;
    }

    /// The peer's settings say how large its table may be. More than the default is not used.
    pub(in crate::http2) fn limit(&mut self, table_bytes: u32) {
        let last = table_bytes.min(TABLE_BYTES_DEFAULT) as usize;
        let lowest = self.change.map_or(last, |change| change.lowest.min(last));
        self.change = Some(Change { lowest, last });
    }

    /// Begins a block at the end of `out`.
    #[inline]
    pub(in crate::http2) fn begin<'w>(&'w mut self, out: &'w mut Vec<u8>) -> HeadWriter<'w> {
        if let Some(change) = self.change.take() {
            self.resize(change, out);
        }
        HeadWriter { encoder: self, out }
    }

    fn resize(&mut self, change: Change, out: &mut Vec<u8>) {
        let (pattern, bits) = TABLE_SIZE;
        if change.lowest < self.capacity_bytes {
            let is_too_small = change.lowest < self.used_bytes;
            if is_too_small {
                self.forget();
            }
            let lowest = if is_too_small { 0 } else { change.lowest };
            integer::encode(out, pattern, bits, lowest);
            self.capacity_bytes = lowest;
        }
        if change.last != self.capacity_bytes {
            integer::encode(out, pattern, bits, change.last);
            self.capacity_bytes = change.last;
        }
    }

    /// The index of a shared field, if it is in the table.
    #[inline]
    fn index(&self, id: usize) -> Option<usize> {
        let place = self.places.get(id).copied().filter(|&place| place > 0)?;
        Some(DYNAMIC_FIRST + (self.inserted - place) as usize)
    }

    /// Whether a field goes into the table now.
    fn insert(&mut self, field: &SharedField) -> bool {
        let used_bytes = self.used_bytes + field.table_bytes;
        if used_bytes > self.capacity_bytes {
            return false;
        }
        if self.places.len() <= field.id {
            self.places.resize(field.id + 1, 0);
        }
        self.used_bytes = used_bytes;
        self.inserted += 1;
        self.places[field.id] = self.inserted;
        true
    }
}

/// Writes the header block of one message: pseudo-fields first, then the others.
#[derive(Debug)]
pub struct HeadWriter<'w> {
    encoder: &'w mut Encoder,
    out: &'w mut Vec<u8>,
}

impl HeadWriter<'_> {
    /// Writes the fields of a compiled block. `fill` appends the value of each field that varies;
    /// they count from 0. A value that it appends is not checked.
    #[inline]
    pub fn block(&mut self, block: &Block, mut fill: impl FnMut(usize, &mut Vec<u8>)) {
        let mut varying = 0;
        for part in block.parts() {
            match part {
                Part::Bytes(range) => self.out.extend_from_slice(&block.bytes()[range.clone()]),
                Part::Shared(field) => self.shared(field, block.bytes()),
                Part::Varying => {
                    self.varying(|out| fill(varying, out));
                    varying += 1;
                }
            }
        }
    }

    #[inline]
    fn shared(&mut self, field: &SharedField, bytes: &[u8]) {
        if let Some(index) = self.encoder.index(field.id) {
            return integer::encode(self.out, INDEXED.0, INDEXED.1, index);
        }
        let inserts = self.encoder.insert(field);
        let form = if inserts { &field.inserted } else { &field.plain };
        self.out.extend_from_slice(&bytes[form.clone()]);
    }

    /// Writes a value whose length is known only once it is there.
    #[inline]
    fn varying(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let at = self.out.len();
        self.out.push(0);
        fill(self.out);
        let bytes = self.out.len() - at - 1;
        if bytes < 0x7f {
            self.out[at] = bytes as u8;
        } else {
            self.make_room_for_length(at, bytes);
        }
    }

    /// A length of 127 or more takes more bytes than the one that was left for it.
    #[cold]
    fn make_room_for_length(&mut self, at: usize, bytes: usize) {
        let end = self.out.len();
        integer::encode(self.out, 0, 7, bytes);
        let length_bytes = self.out.len() - end;
        self.out[at..].rotate_right(length_bytes);
        // The byte that was left stands behind the length now.
        self.out.remove(at + length_bytes);
    }

    /// Writes a response's status, 100 to 999.
    pub fn status(&mut self, status: u16) {
        let digits = [status / 100, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8);
        write_field(b":status", &digits, self.out);
    }

    /// Writes a Content-Length.
    pub fn content_length(&mut self, bytes: u64) {
        let mut digits = [0; 20];
        let mut at = digits.len();
        let mut rest = bytes;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.passed_on(b"content-length", &digits[at..]);
    }

    /// Writes a field that a reader of this crate has checked, its name in lower case. It allocates
    /// nothing.
    pub fn passed_on(&mut self, name: &[u8], value: &[u8]) {
        write_field(name, value, self.out);
    }

    /// Writes a field that was not compiled. Names go out in lower case; that of a pseudo-field
    /// begins with a colon.
    ///
    /// # Errors
    /// When the field may not be in a message. Nothing is written then.
    pub fn field(&mut self, name: &str, value: &[u8]) -> Result<(), EncodeError> {
        check(name, Some(value))?;
        let start = self.out.len();
        write_field(name.as_bytes(), value, self.out);
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            self.out.truncate(start);
            write_field(name.to_ascii_lowercase().as_bytes(), value, self.out);
        }
        Ok(())
    }
}

/// Whether a field may be in a message; a value that varies is checked where it is made.
pub(super) fn check(name: &str, value: Option<&[u8]>) -> Result<(), EncodeError> {
    let token = name.strip_prefix(':').unwrap_or(name);
    if !fields::is_token(token.as_bytes()) {
        return Err(EncodeError::BadName);
    }
    if !value.is_none_or(fields::is_value) {
        return Err(EncodeError::BadValue);
    }
    let lower = name.to_ascii_lowercase();
    if fields::is_connection_specific(lower.as_bytes(), value.unwrap_or(b"trailers")) {
        return Err(EncodeError::ConnectionField);
    }
    Ok(())
}

/// Writes a field whose name is in lower case, without the dynamic table.
pub(super) fn write_field(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let form = if fields::is_secret(name) { SECRET } else { PLAIN };
    match statics::find(name, value) {
        Found::Field(index) => integer::encode(out, INDEXED.0, INDEXED.1, index),
        found => {
            write_name(name, found, form, out);
            write_text(value, out);
        }
    }
}

/// Writes the start of a literal, up to its value.
pub(super) fn write_name(name: &[u8], found: Found, form: (u8, u32), out: &mut Vec<u8>) {
    match found {
        Found::Field(index) | Found::Name(index) => integer::encode(out, form.0, form.1, index),
        Found::Nothing => {
            out.push(form.0);
            write_text(name, out);
        }
    }
}

/// Writes a string in the shorter of its two forms (RFC 7541 5.2).
pub(super) fn write_text(text: &[u8], out: &mut Vec<u8>) {
    let coded_bytes = huffman::encoded_bytes(text);
    if coded_bytes < text.len() {
        integer::encode(out, 0x80, 7, coded_bytes);
        huffman::encode(text, out);
    } else {
        integer::encode(out, 0, 7, text.len());
        out.extend_from_slice(text);
    }
}

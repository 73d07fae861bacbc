//! Reads header blocks (RFC 7541 6).

use super::statics::FIELDS;
use super::table::Table;
use super::{HpackError, TABLE_BYTES_DEFAULT, huffman, integer};

/// The decoder of one connection, with its dynamic table.
#[derive(Debug)]
pub(in crate::http2) struct Decoder {
    table: Table,
    /// The table's size as our settings have it.
    announced: usize,
    /// How large the peer may make its table.
    limit: usize,
    /// The next block must begin with a change of the table's size.
    wants_size: bool,
    /// Room for a name and a value that stand nowhere as they are.
    name: Vec<u8>,
    value: Vec<u8>,
}

/// Where a string stands.
enum Text<'a> {
    Block(&'a [u8]),
    Buffer,
}

impl Decoder {
    /// A decoder whose table's size our settings say. Until they are acknowledged the peer may use
    /// the default size.
    pub(in crate::http2) fn new(announced: u32) -> Self {
        let limit = announced.max(TABLE_BYTES_DEFAULT) as usize;
        let mut table = Table::new(limit);
        table.resize(TABLE_BYTES_DEFAULT as usize);
        let (name, value) = (Vec::new(), Vec::new());
        Self { table, announced: announced as usize, limit, wants_size: false, name, value }
    }

    /// Forgets the connection before.
    pub(in crate::http2) fn reset(&mut self) {
        self.table.resize(0);
        self.table.resize(TABLE_BYTES_DEFAULT as usize);
        self.limit = self.announced.max(TABLE_BYTES_DEFAULT as usize);
        self.wants_size = false;
    }

    /// The peer has acknowledged our settings. If its table is larger than they allow, its next
    /// block must say that it has become smaller (RFC 9113 4.3.1).
    pub(in crate::http2) fn acknowledged(&mut self) {
        self.limit = self.announced;
        self.wants_size = self.table.size_max() > self.limit;
    }

    /// Reads a whole block and hands out each field.
    pub(in crate::http2) fn decode(
        &mut self,
        block: &[u8],
        mut field: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let mut input = block;
        self.resize(&mut input)?;
        while let Some(&first) = input.first() {
            if first & 0x80 != 0 {
                let index = integer::decode(&mut input, 7)?;
                let (name, value) = self.indexed(index)?;
                field(name, value);
                continue;
            }
            let (prefix_bits, inserts) = match first {
                0x40.. => (6, true),
                0x20.. => return Err(HpackError::TableSize),
                _ => (4, false),
            };
            self.literal(&mut input, prefix_bits, inserts, &mut field)?;
        }
        Ok(())
    }

    /// Reads the changes of the table's size, which may only stand at the start of a block.
    #[inline]
    fn resize(&mut self, input: &mut &[u8]) -> Result<(), HpackError> {
        while let Some(0x20..0x40) = input.first() {
            let size = integer::decode(input, 5)? as usize;
            if size > self.limit {
                return Err(HpackError::TableSize);
            }
            self.table.resize(size);
            self.wants_size = false;
        }
        if self.wants_size { Err(HpackError::NoTableSize) } else { Ok(()) }
    }

    #[inline]
    fn indexed(&self, index: u32) -> Result<(&[u8], &[u8]), HpackError> {
        let index = (index as usize).checked_sub(1).ok_or(HpackError::Index)?;
        match FIELDS.get(index) {
            Some(&field) => Ok(field),
            None => self.table.field(index - FIELDS.len()).ok_or(HpackError::Index),
        }
    }

    fn literal(
        &mut self,
        input: &mut &[u8],
        prefix_bits: u32,
        inserts: bool,
        field: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let index = integer::decode(input, prefix_bits)?;
        let name = if index == 0 {
            text(input, &mut self.name)?
        } else if index as usize <= FIELDS.len() {
            Text::Block(FIELDS[index as usize - 1].0)
        } else {
            // The field that has the name may go when this one is put in.
            let mut name = std::mem::take(&mut self.name);
            name.clear();
            let found = self.indexed(index).map(|(found, _)| name.extend_from_slice(found));
            self.name = name;
            found?;
            Text::Buffer
        };
        let value = text(input, &mut self.value)?;
        let name = name.bytes(&self.name);
        let value = value.bytes(&self.value);
        field(name, value);
        if inserts {
            self.table.insert(name, value);
        }
        Ok(())
    }
}

impl<'a> Text<'a> {
    fn bytes(self, buffer: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Block(bytes) => bytes,
            Self::Buffer => buffer,
        }
    }
}

/// Reads a string (RFC 7541 5.2). One that is Huffman-coded goes to `buffer`.
#[inline]
fn text<'a>(input: &mut &'a [u8], buffer: &mut Vec<u8>) -> Result<Text<'a>, HpackError> {
    let is_coded = input.first().is_some_and(|first| first & 0x80 != 0);
    let bytes = integer::decode(input, 7)? as usize;
    let (text, rest) = input.split_at_checked(bytes).ok_or(HpackError::Truncated)?;
    *input = rest;
    if !is_coded {
        return Ok(Text::Block(text));
    }
    buffer.clear();
    huffman::decode(text, buffer)?;
    Ok(Text::Buffer)
}

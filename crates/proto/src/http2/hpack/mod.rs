//! HPACK (RFC 7541): header blocks for both roles.
//!
//! The decoder hands each field to a function, as two slices that live in the block, in a table or
//! in a buffer that is used again: no field costs an allocation. The encoder writes blocks that
//! were compiled before the run ([`Block`]). Fields that never vary are in the dynamic table from
//! their first use on a connection; what varies is a literal that no table keeps, and secrets are
//! literals that no intermediary may keep either (RFC 7541 7.1.3).
//!
//! Absent on purpose: an encoder that looks fields up by their text, and eviction by the encoder.
//! It puts in what fits and leaves the rest out.

mod block;
mod decoder;
mod encoder;
mod huffman;
mod integer;
mod statics;
mod table;

pub use block::{Block, BlockBuilder, SharedFields, Value};
pub(super) use decoder::Decoder;
pub(super) use encoder::Encoder;
pub use encoder::HeadWriter;

use thiserror::Error;

/// Hands out the fields of a head as a reader finds them, for those who want to see what is sent.
/// The head is written as the first one of a connection is.
///
/// # Errors
/// A head that cannot be read, which no writer of this crate makes.
pub fn read_back(
    write: impl FnOnce(&mut HeadWriter<'_>),
    field: impl FnMut(&[u8], &[u8]),
) -> Result<(), HpackError> {
    let (mut encoder, mut block) = (Encoder::new(0), Vec::new());
    write(&mut encoder.begin(&mut block));
    Decoder::new(TABLE_BYTES_DEFAULT).decode(&block, field)
}

/// The table's size before any setting, in RFC 7541's count: names, values and
/// [`ENTRY_OVERHEAD_BYTES`] for each entry.
pub(super) const TABLE_BYTES_DEFAULT: u32 = 4096;

/// What an entry of a table or of a header list counts beyond its name and value (RFC 7541 4.1).
pub(super) const ENTRY_OVERHEAD_BYTES: usize = 32;

/// Why a header block can't be decoded. The two sides' tables differ from then on, so no later
/// block can be decoded either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum HpackError {
    /// The block ends within a field.
    #[error("malformed header block: it ends within a field")]
    Truncated,
    /// An integer is 2^28 or more, or has more bytes than that takes.
    #[error("malformed header block: a number is too large")]
    Integer,
    /// An index is 0, or beyond both tables.
    #[error("malformed header block: no field has this index")]
    Index,
    /// A Huffman-coded string has the code for its end in it, or wrong padding.
    #[error("malformed header block: bad Huffman code")]
    Huffman,
    /// The table is to become larger than we allow, or its size changes within a block.
    #[error("malformed header block: bad change of the table's size")]
    TableSize,
    /// The table had to become smaller, and the block does not begin with that.
    #[error("malformed header block: the table's size was not lowered")]
    NoTableSize,
}

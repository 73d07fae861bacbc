//! Outputs whose name ends in `.gz` are compressed.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Compresses what is written to another writer. Its end is written when it is dropped.
pub struct Gzip<W: Write>(GzEncoder<W>);

impl<W: Write> Gzip<W> {
    /// Writes to this.
    pub fn new(inner: W) -> Self {
        Self(GzEncoder::new(inner, Compression::default()))
    }

    /// Writes the end.
    ///
    /// # Errors
    /// Those of the other writer.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish()
    }
}

impl<W: Write> Write for Gzip<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

//! The study itself, `plimsoll/study/1`.

use std::io::{self, Write};

use plimsoll_core::study::Study;

/// Writes the document, indented, with a newline at the end.
///
/// # Errors
/// Those of `out`.
pub fn write(study: &Study, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, study)?;
    out.write_all(b"\n")
}

//! A search in Markdown: the answer, what to know beside it, a table of the probes.

use std::io::{self, Write};

use plimsoll_core::find::Document;

use super::words::{HEAD, row};
use crate::markdown::escape::prose;

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(found: &Document, out: &mut dyn Write) -> io::Result<()> {
    super::cover(found).write_markdown(out)?;
    if found.probes.is_empty() {
        return Ok(());
    }
    writeln!(out, "| {} |", HEAD.join(" | "))?;
    writeln!(out, "|{}", " --- |".repeat(HEAD.len()))?;
    for (number, probe) in (1..).zip(&found.probes) {
        let cells = row(number, probe).map(|cell| prose(&cell));
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    Ok(())
}

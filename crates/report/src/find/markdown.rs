//! A search in Markdown: the answer, what to know beside it, a table of the probes.

use std::io::{self, Write};

use plimsoll_core::find::Document;

use super::search_words;
use super::words::{HEAD, headline, remarks, row};
use crate::facts::request_words;
use crate::markdown::escape::{code, prose};

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(found: &Document, out: &mut dyn Write) -> io::Result<()> {
    let (_, word, sentence) = headline(found);
    writeln!(out, "## {}: {}\n", prose(&word.to_uppercase()), prose(&sentence))?;
    for text in remarks(found) {
        writeln!(out, "- {}", prose(&text))?;
    }
    let words = search_words(found).join(" · ");
    writeln!(out, "\n{} · {}\n", code(&request_words(&found.plan)), prose(&words))?;
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

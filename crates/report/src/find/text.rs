//! A search on a screen: the answer, what to know beside it, a row for each probe.

use std::io::{self, Write};

use plimsoll_core::find::{Document, Outcome};

use super::words::{HEAD, notes, row};
use crate::facts::printable;
use crate::text::table::{table, wrap};
use crate::text::{Style, write_blocks};

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(found: &Document, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let cover = super::cover(found);
    write_blocks(&[cover.answer(style), cover.load(style), probes(found, style)], out)
}

fn probes(found: &Document, style: Style) -> Vec<String> {
    if found.probes.is_empty() {
        return Vec::new();
    }
    let rows = (1..).zip(&found.probes).map(|(number, probe)| {
        // What decides is words, and of any length: it stands last.
        let [number, purpose, rate, measured, p50, p99, decides, outcome] = row(number, probe);
        vec![format!("{number:>2} {purpose}"), rate, measured, p50, p99, outcome, decides]
    });
    let [_, probe, rate, measured, p50, p99, decides, outcome] = HEAD.map(str::to_owned);
    let head = vec![format!("   {probe}"), rate, measured, p50, p99, outcome, decides];
    let all: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let figures: Vec<Vec<String>> = all.iter().map(|row| row[..6].to_vec()).collect();
    let mut lines = Vec::new();
    for (i, line) in table(&figures, 1, style.columns()).into_iter().enumerate() {
        let Some(cells) = all.get(i) else { continue };
        let probe = i.checked_sub(1).and_then(|i| found.probes.get(i));
        let failed = probe.is_some_and(|it| it.judgement.outcome == Outcome::Fail);
        let text = wrap(&format!("{line}  "), "     ", &printable(&cells[6]), style.columns());
        lines.extend(text.into_iter().map(|it| if failed { style.bad(&it) } else { it }));
        for note in probe.map(notes).unwrap_or_default() {
            lines.extend(wrap("     ", "     ", &printable(&note), style.columns()));
        }
    }
    lines
}

//! A search on a screen: the answer, what to know beside it, a row for each probe.

use std::io::{self, Write};

use plimsoll_core::find::{Document, Outcome};

use super::search_words;
use super::words::{HEAD, headline, notes, remarks, row};
use crate::facts::{printable, request_words};
use crate::text::table::{table, wrap};
use crate::text::{Style, write_blocks};
use plimsoll_core::verdict::Verdict;

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(found: &Document, out: &mut dyn Write, style: Style) -> io::Result<()> {
    write_blocks(&[head(found, style), load(found, style), probes(found, style)], out)
}

fn head(found: &Document, style: Style) -> Vec<String> {
    let (look, word, sentence) = headline(found);
    let color = match look {
        Verdict::Valid => "1;32",
        Verdict::Suspect => "1;33",
        Verdict::Invalid => "1;31",
    };
    let word = word.to_uppercase();
    let mut lines = wrap(&format!("{word} · "), "  ", &printable(&sentence), style.columns());
    if let Some(first) = lines.first_mut() {
        let rest = first.strip_prefix(&word).unwrap_or_default().to_owned();
        *first = style.paint(color, &word) + &rest;
    }
    for text in remarks(found) {
        lines.extend(wrap("- ", "  ", &printable(&text), style.columns()));
    }
    lines
}

fn load(found: &Document, style: Style) -> Vec<String> {
    let mut lines = wrap("", "  ", &printable(&request_words(&found.plan)), style.columns());
    lines.extend(wrap("", "", &search_words(found).join(" · "), style.columns()));
    lines
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

//! A run part by part: its gates, stages, endpoints, addresses and connections.

use plimsoll_core::RunResult;
use plimsoll_core::result::{Gate, Outcome};
use plimsoll_core::units::{format_count, format_duration, format_rate};

use super::tables::{ROWS_SHOWN, duration};
use crate::Clock;
use crate::page::table::{Figure, Table, Text, clipped, pairs};
use crate::parts::{self, Row, Step};

/// The conditions the run had to meet.
pub(super) fn gates(result: &RunResult, page: &mut String) {
    let row = |gate: &Gate| {
        let word = match gate.outcome() {
            Outcome::Pass => "✓ pass",
            Outcome::Fail => "✕ FAIL",
            Outcome::Undecided => "! UNDECIDED",
        };
        let note = clipped(gate.note.as_deref().unwrap_or_default());
        vec![clipped(&gate.expr), word.to_owned(), gate.measured(), note]
    };
    let gates = crate::facts::gates(result);
    let rows: Vec<Vec<String>> = gates.iter().take(ROWS_SHOWN).map(|gate| row(gate)).collect();
    if rows.is_empty() {
        return;
    }
    let count = |outcome, word: &str| match result.gates_that(outcome) {
        0 => None,
        count => Some(format!("{count} {word}")),
    };
    let counts = [
        count(Outcome::Fail, "FAILED"),
        count(Outcome::Undecided, "UNDECIDED"),
        count(Outcome::Pass, "passed"),
    ];
    let caption = format!("Gates: {}", counts.into_iter().flatten().collect::<Vec<_>>().join(", "));
    let head = [("", Text), ("", Text), ("measured", Figure), ("", Text)];
    page.push_str("<section>\n");
    Table { caption: &caption, head: &head, rows, note: "" }.write(page);
    page.push_str("</section>\n");
}

/// Each stage by itself: what a run with several loads has to say first.
pub(super) fn stages(result: &RunResult, page: &mut String) {
    let steps = parts::steps(result);
    if steps.is_empty() {
        return;
    }
    let row = |step: &Step| {
        let achieved = step.achieved_rps.map_or_else(|| "–".to_owned(), format_rate);
        let mut cells = vec![
            clipped(&step.row.name),
            format_duration(step.start_ns),
            format_rate(step.target_rps),
            achieved,
        ];
        cells.extend(part_cells(&step.row));
        cells
    };
    let rows = steps.iter().take(ROWS_SHOWN).map(row).collect();
    let clock = Clock::HEADLINE.name();
    let head = [
        ("", Text),
        ("from", Figure),
        ("target/s", Figure),
        ("responses/s", Figure),
        ("requests", Figure),
        ("not ok", Figure),
        ("p50", Figure),
        ("p99", Figure),
        ("max", Figure),
    ];
    let note = format!(
        "Times are the {clock} of the requests that were due in the stage; responses per second \
         are those that arrived while it lasted.{}",
        more_words(steps.len())
    );
    page.push_str("<section>\n");
    Table { caption: "Each stage", head: &head, rows, note: &note }.write(page);
    page.push_str("</section>\n");
}

/// Endpoints or addresses.
pub(super) fn parts(caption: &str, rows: &[Row], page: &mut String) {
    if rows.is_empty() {
        return;
    }
    let row = |row: &Row| [vec![clipped(&row.name)], part_cells(row)].concat();
    let cells = rows.iter().take(ROWS_SHOWN).map(row).collect();
    let head = [
        ("", Text),
        ("requests", Figure),
        ("not ok", Figure),
        ("p50", Figure),
        ("p99", Figure),
        ("max", Figure),
    ];
    let clock = Clock::HEADLINE.name();
    let note = format!("Times are the {clock}.{}", more_words(rows.len()));
    Table { caption, head: &head, rows: cells, note: &note }.write(page);
}

fn more_words(rows: usize) -> String {
    let more = rows.saturating_sub(ROWS_SHOWN);
    if more == 0 {
        String::new()
    } else {
        format!(" And {more} more, which the JSON document has.")
    }
}

fn part_cells(row: &Row) -> Vec<String> {
    vec![
        format_count(row.scheduled),
        format_count(row.not_ok),
        row.p50.words(),
        row.p99.words(),
        row.max.clone().unwrap_or_else(|| duration(None)),
    ]
}

/// What became of the connections.
pub(super) fn connections(result: &RunResult, page: &mut String) {
    let connections = &result.connections;
    if connections.opened == 0 {
        return;
    }
    let mut rows = vec![
        ("opened", format_count(connections.opened)),
        ("open at once", format!("{} at most", format_count(connections.open_max))),
        ("reconnects", format_count(result.ledger.reconnects)),
    ];
    rows.extend(parts::connections_set(connections).map(|set| ("changed to", set)));
    let served = &connections.served;
    if let (Some(min), Some(median), Some(max)) = (served.min(), served.median(), served.max()) {
        let [min, median, max] = [min, median, max].map(format_count);
        rows.push(("requests on each", format!("{min} min, {median} median, {max} max")));
    }
    if let Some(suite) = &connections.tls {
        rows.push(("TLS", clipped(suite)));
    }
    if connections.tls_full + connections.tls_resumed > 0 {
        let [full, resumed] = [connections.tls_full, connections.tls_resumed].map(format_count);
        rows.push(("TLS handshakes", format!("{full} full, {resumed} resumed")));
    }
    rows.push(("retransmits", format_count(connections.retransmits)));
    let protocols = parts::protocols(result);
    let each = protocols.iter().map(|(name, carried)| format!("{name}: {carried}"));
    let each = each.collect::<Vec<_>>().join("; ");
    rows.extend((!each.is_empty()).then(|| ("protocols", clipped(&each))));
    rows.extend(parts::allowed(result).map(|allowed| ("limits", clipped(&allowed))));
    rows.extend(parts::pushed(result).map(|pushed| ("pushed", pushed)));
    rows.extend(parts::compression(result).map(|compression| ("compression", compression)));
    pairs("Connections", rows, page);
}

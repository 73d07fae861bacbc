//! A run as one row of CSV under a line of names, for tables of many runs. `docs/formats.md`
//! describes the columns.
//!
//! Units are in the names. A cell without a measurement is empty. Quantiles are given however few
//! samples support them, beside the number of samples. Quoting follows RFC 4180; lines end as on
//! Unix. Text that a spreadsheet would run as a formula gets an apostrophe in front.

mod in_doubt;
mod messages;
mod metrics;

use std::io::{self, Write};

use plimsoll_core::histogram::QUANTILES;
use plimsoll_core::metric::CustomMetrics;
use plimsoll_core::plan::{Draft, Endpoint};
use plimsoll_core::result::{Outcome, Tool};
use plimsoll_core::{Histogram, RunResult};

use crate::Clock;
use crate::facts::{printable, tester_cores};

/// Writes the line of names and the row.
///
/// # Errors
/// Those of `out`.
pub fn write(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    write_all(std::slice::from_ref(result), out)
}

/// Writes the line of names and a row for each result.
///
/// # Errors
/// Those of `out`.
pub(crate) fn write_all(results: &[RunResult], out: &mut dyn Write) -> io::Result<()> {
    let line = |cells: Vec<&str>| cells.join(",");
    let recorded = metrics::of_all(results);
    for (index, result) in results.iter().enumerate() {
        let columns = columns(result, &recorded);
        if index == 0 {
            writeln!(out, "{}", line(columns.iter().map(|(name, _)| name.as_str()).collect()))?;
        }
        writeln!(out, "{}", line(columns.iter().map(|(_, cell)| cell.as_str()).collect()))?;
    }
    Ok(())
}

/// The names of the columns that every row has.
pub(crate) fn names() -> Vec<String> {
    let tool = Tool { name: String::new(), version: String::new() };
    let none = RunResult::empty(tool, &Draft::new(Endpoint::http("", 0, "/")));
    columns(&none, &CustomMetrics::default()).into_iter().map(|(name, _)| name).collect()
}

type Column = (String, String);

fn columns(result: &RunResult, recorded: &CustomMetrics) -> Vec<Column> {
    let mut columns = head(result);
    columns.extend(requests(result));
    for clock in [Clock::Response, Clock::Service] {
        times(clock.word(), clock.histogram(result), &mut columns);
    }
    columns.extend(rest(result));
    columns.extend(messages::columns(result));
    columns.extend(metrics::columns(recorded, result));
    columns
}

/// A text as a cell: harmless to spreadsheets, quoted where it has to be.
pub(crate) fn text(value: &str) -> String {
    let value = printable(value);
    let value = if value.starts_with(['=', '+', '-', '@']) { format!("'{value}") } else { value };
    if value.contains([',', '"']) { format!("\"{}\"", value.replace('"', "\"\"")) } else { value }
}

fn column(name: &str, value: impl ToString) -> Column {
    (name.to_owned(), value.to_string())
}

fn optional<T: ToString>(name: &str, value: Option<T>) -> Column {
    (name.to_owned(), value.map_or_else(String::new, |value| value.to_string()))
}

fn head(result: &RunResult) -> Vec<Column> {
    let plan = &result.plan;
    let loop_kind = match plan.is_open_loop() {
        _ if !result.scenarios.is_empty() => "scenarios",
        true => "open",
        false => "closed",
    };
    // Scenarios send requests of their own.
    let own = |words: &str| if result.scenarios.is_empty() { text(words) } else { String::new() };
    let rate = &result.rate;
    vec![
        column("started_at", text(&result.started_at)),
        column("version", text(&result.tool.version)),
        column("method", own(&plan.request.method)),
        column("url", own(&plan.endpoint.to_string())),
        column("loop", loop_kind),
        column("connections", plan.connections),
        column("verdict", result.loader.verdict.name()),
        column("gates", result.gates.len()),
        column("gates_failed", result.gates_that(Outcome::Fail)),
        column("gates_undecided", result.gates_that(Outcome::Undecided)),
        column("in_doubt", text(&in_doubt::columns(result).join(" "))),
        column("interrupted", result.interrupted),
        column("aborted", text(result.aborted.as_deref().unwrap_or_default())),
        column("elapsed_s", result.elapsed_ns as f64 / 1e9),
        optional("target_rps", rate.target_rps),
        column("offered_rps", rate.offered_rps),
        column("achieved_rps", rate.achieved_rps),
    ]
}

fn requests(result: &RunResult) -> Vec<Column> {
    let ledger = &result.ledger;
    let counts = [
        ("scheduled", ledger.scheduled),
        ("sent", ledger.sent),
        ("shed", ledger.shed),
        ("unsent", ledger.unsent),
        ("completed", ledger.completed),
        ("refused", ledger.refused),
        ("timed_out", ledger.timed_out),
        ("broken", ledger.broken),
        ("unfinished", ledger.unfinished),
        ("ok", ledger.ok),
        ("failed", ledger.failed),
        ("redirects", ledger.redirects),
        ("resent", ledger.resent),
        ("reconnects", ledger.reconnects),
    ];
    let mut columns: Vec<Column> = counts.map(|(name, count)| column(name, count)).to_vec();
    for class in 1..=5u16 {
        let statuses = result.status.range(class * 100..class * 100 + 100);
        let count: u64 = statuses.map(|(_, count)| count).sum();
        columns.push(column(&format!("status_{class}xx"), count));
    }
    columns
}

fn times(clock: &str, histogram: &Histogram, columns: &mut Vec<Column>) {
    let us = |value_ns: u64| value_ns as f64 / 1e3;
    let mut add = |name: &str, value: Option<f64>| {
        let cell = value.map(|us| format!("{us:.3}"));
        columns.push(optional(&format!("{clock}_{name}_us"), cell));
    };
    add("min", histogram.min_ns().map(us));
    add("mean", histogram.mean_ns().map(|mean_ns| mean_ns / 1e3));
    add("stdev", histogram.stdev_ns().map(|stdev_ns| stdev_ns / 1e3));
    for q in QUANTILES {
        add(&quantile_name(q), histogram.quantile_ns(q).map(us));
    }
    add("max", histogram.max_ns().map(us));
    columns.push(column(&format!("{clock}_count"), histogram.count()));
}

/// 0.999 is p99_9.
pub(crate) fn quantile_name(q: f64) -> String {
    format!("p{}", (q * 1e6).round() / 1e4).replace('.', "_")
}

fn rest(result: &RunResult) -> Vec<Column> {
    let (work, spin) = tester_cores(result);
    let lateness = result.lateness();
    vec![
        column("errors", result.failures().0),
        column("sent_bytes", result.bytes.sent),
        column("received_bytes", result.bytes.received),
        column("tester_cpu_cores", format!("{work:.4}")),
        column("tester_spin_cores", format!("{spin:.4}")),
        column("tester_rss_peak_bytes", result.loader.rss_peak_bytes),
        optional("lateness_p99_us", lateness.quantile_ns(0.99).map(|ns| ns as f64 / 1e3)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn lines(result: &RunResult) -> Vec<String> {
        let mut bytes = Vec::new();
        write(result, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_row_under_its_names() {
        let lines = lines(&samples::parts());
        assert_eq!(lines.len(), 2);
        let pairs = lines[0].split(',').zip(lines[1].split(','));
        let text = pairs.map(|(name, cell)| match cell {
            "" => name.to_owned(),
            _ => format!("{name}: {cell}"),
        });
        let text: Vec<String> = text.collect();
        insta::assert_snapshot!(text.join("\n"), @r"
        started_at: 2026-11-21T10:20:30Z
        version: 0.1.0
        method: GET
        url: https://127.0.0.1:8080/
        loop: open
        connections: 50
        verdict: valid
        gates: 2
        gates_failed: 1
        gates_undecided: 0
        in_doubt: ≥response_mean_us ≈response_stdev_us
        interrupted: true
        aborted: errors>1% FOR 3s
        elapsed_s: 4
        target_rps: 1000
        offered_rps: 1000
        achieved_rps: 1000
        scheduled: 4012
        sent: 4000
        shed: 12
        unsent: 0
        completed: 4000
        refused: 0
        timed_out: 0
        broken: 0
        unfinished: 0
        ok: 3955
        failed: 45
        redirects: 40
        resent: 0
        reconnects: 3
        status_1xx: 0
        status_2xx: 3955
        status_3xx: 0
        status_4xx: 0
        status_5xx: 45
        response_min_us: 148.342
        response_mean_us: 966.451
        response_stdev_us: 570.215
        response_p50_us: 839.167
        response_p75_us: 1265.663
        response_p90_us: 1714.175
        response_p95_us: 2045.951
        response_p99_us: 2770.943
        response_p99_9_us: 3991.551
        response_p99_99_us: 5060.240
        response_max_us: 5060.240
        response_count: 4000
        service_min_us: 147.145
        service_mean_us: 964.632
        service_stdev_us: 570.197
        service_p50_us: 837.631
        service_p75_us: 1263.615
        service_p90_us: 1712.127
        service_p95_us: 2043.903
        service_p99_us: 2768.895
        service_p99_9_us: 3989.503
        service_p99_99_us: 5059.029
        service_max_us: 5059.029
        service_count: 4000
        errors: 57
        sent_bytes: 180000
        received_bytes: 624000
        tester_cpu_cores: 0.0300
        tester_spin_cores: 0.0000
        tester_rss_peak_bytes: 9437184
        lateness_p99_us: 3.933
        protocol
        grpc_ok
        grpc_not_ok
        cut_calls
        messages_sent
        messages_sent_bytes
        messages_received
        messages_received_bytes
        first_message_p50_us
        first_message_p99_us
        message_gap_p50_us
        message_gap_p99_us
        round_trip_p50_us
        round_trip_p99_us
        pushed_messages
        pushed_bytes
        pings
        compression_agreed
        compression_declined
        compression_sent_bytes
        compression_sent_compressed_bytes
        compression_received_bytes
        compression_received_compressed_bytes
        ");
    }

    #[test]
    fn custom_metrics_are_columns_of_every_row() {
        let plain = lines(&samples::steady());
        let mut bytes = Vec::new();
        write_all(&[samples::steady(), samples::recorded()], &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        let of_all = plain[0].split(',').count();
        let own = |row: usize| rows[0].iter().zip(&rows[row]).skip(of_all);
        let cells =
            |row| own(row).map(|(name, cell)| format!("{name}: {cell}")).collect::<Vec<_>>();
        assert!(own(1).all(|(name, cell)| cell.is_empty() || name.ends_with("_count")));
        insta::assert_snapshot!(cells(2).join("\n"));
    }

    #[test]
    fn every_row_has_a_cell_for_each_name() {
        for result in [samples::steady(), samples::nothing(), samples::bare(), samples::ramp()] {
            let lines = lines(&result);
            assert_eq!(lines[0].split(',').count(), lines[1].split(',').count());
        }
        // Quoted cells hold what would end them.
        let hostile = lines(&samples::hostile());
        assert_eq!(hostile.len(), 2);
        assert!(hostile[1].contains("\"\"\"><script>"), "{}", hostile[1]);
    }

    #[test]
    fn cells_cannot_be_formulas_or_break_out() {
        for (value, cell) in [
            ("=1+1", "'=1+1"),
            ("@x", "'@x"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\nb", "a\u{fffd}b"),
            ("plain", "plain"),
        ] {
            assert_eq!(text(value), cell);
        }
    }
}

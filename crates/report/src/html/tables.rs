//! The tables of a run's page.

use plimsoll_core::units::{format_bytes, format_count, format_duration, format_ns, format_rate};
use plimsoll_core::{Histogram, RunResult};

use super::intervals::Interval;
use crate::Clock;
use crate::answer::Answer;
use crate::facts::{
    QUANTILES, Tail, body_bytes, load_words, percent, subject, tester_cores, version_words,
};
use crate::page::scale::percent_name;
use crate::page::table::{Column, Figure, INDENT, Table, Text, clipped, pairs};
use crate::streams;
use crate::tail::{Times, legend};
use plimsoll_core::doubt::Figure as Figures;

pub(super) fn duration(value_ns: Option<u64>) -> String {
    value_ns.map_or_else(|| "–".to_owned(), format_ns)
}

/// Both clocks: extremes, mean, quantiles, each with the samples beyond.
pub(super) fn quantiles(result: &RunResult, page: &mut String) {
    let lead = Clock::HEADLINE;
    let clocks = [lead, lead.other()];
    let histograms = clocks.map(|clock| clock.histogram(result));
    let times = clocks.map(|clock| Times::of_run(clock, result));
    let plain = |label: &str, values: [Option<String>; 2]| {
        let mut row = vec![label.to_owned()];
        for value in values {
            row.extend([value.unwrap_or_else(|| duration(None)), String::new()]);
        }
        row
    };
    let mut rows = vec![
        plain("min", histograms.map(|histogram| histogram.min_ns().map(format_ns))),
        plain("mean", [times[0].mean(), times[1].mean()]),
    ];
    for (label, per_10k) in QUANTILES {
        let mut row = vec![label.to_owned()];
        for times in &times {
            let is_empty = times.is_empty();
            let tail = times.tail(per_10k);
            row.push(if is_empty { duration(None) } else { tail.words() });
            row.push(if is_empty { String::new() } else { format_count(tail.beyond) });
        }
        rows.push(row);
    }
    rows.push(plain("max", [times[0].max(), times[1].max()]));
    let count = |histogram: &Histogram| vec![format_count(histogram.count()), String::new()];
    rows.push([vec!["samples".to_owned()], count(histograms[0]), count(histograms[1])].concat());
    let head = [
        ("", Text),
        (clocks[0].name(), Figure),
        ("slower", Figure),
        (clocks[1].name(), Figure),
        ("slower", Figure),
    ];
    let answer = Answer::of(result);
    let marks = legend(rows.iter().flatten().map(String::as_str).chain(answer.lines()));
    let note =
        format!("Slower: how many requests took longer than the value. {}", marks.join("; "));
    Table { caption: "Quantiles", head: &head, rows, note: note.trim_end() }.write(page);
}

/// A quantile as far as its samples go.
fn tail_cell(histogram: &Histogram, per_10k: u64) -> String {
    if histogram.is_empty() { duration(None) } else { Tail::of(histogram, per_10k).words() }
}

fn spread_row(label: &str, times: &Times<'_>, count: u64) -> Vec<String> {
    [vec![label.to_owned(), format_count(count)], times.spread("–").into()].concat()
}

const SPREAD_HEAD: [(&str, Column); 5] =
    [("", Text), ("count", Figure), ("p50", Figure), ("p99", Figure), ("max", Figure)];

/// Where the time went.
pub(super) fn phases(result: &RunResult, page: &mut String) {
    let rows: Vec<Vec<String>> = crate::phases::phases(result)
        .map(|row| spread_row(row.words, &row.times(result), row.histogram.count()))
        .collect();
    if !rows.is_empty() {
        let note = "Connections are opened once and kept, unless the plan says otherwise.";
        Table { caption: "Where the time went", head: &SPREAD_HEAD, rows, note }.write(page);
    }
}

/// Response times by outcome.
pub(super) fn outcomes(result: &RunResult, page: &mut String) {
    let by = &result.by_outcome;
    let rows: Vec<Vec<String>> =
        [("ok", &by.ok), ("failed", &by.failed), ("incomplete", &by.incomplete)]
            .iter()
            .filter(|(_, histogram)| !histogram.is_empty())
            .map(|(label, histogram)| {
                let times = Times::of_some(Figures::Response, histogram, result);
                spread_row(label, &times, histogram.count())
            })
            .collect();
    if rows.len() > 1 {
        let note = "Incomplete requests got no whole response; they count with the time they had \
            waited, so these are lower bounds.";
        Table { caption: "Response time by outcome", head: &SPREAD_HEAD, rows, note }.write(page);
    }
}

/// Where every request went.
pub(super) fn ledger(result: &RunResult, page: &mut String) {
    let ledger = &result.ledger;
    let rows = [
        (0, "scheduled", ledger.scheduled, "requests that came due"),
        (1, "sent", ledger.sent, "started on a connection"),
        (2, "completed", ledger.completed, "the whole response arrived"),
        (3, "ok", ledger.ok, "and was as expected"),
        (3, "failed", ledger.failed, "and was not (a status of 400 or more)"),
        (2, "timed out", ledger.timed_out, "the timeout came first"),
        (2, "broken", ledger.broken, "the connection failed before the end"),
        (2, "unfinished", ledger.unfinished, "still open when the run ended"),
        (
            1,
            "unsent",
            ledger.unsent,
            "found no free connection, or no turn in a batch of a script, before the end",
        ),
        (1, "shed", ledger.shed, "dropped because the plan says so"),
    ];
    let refused = (2, "refused", ledger.refused, "the server said that it did not process it");
    let redirects = (0, "redirects", ledger.redirects, "of those that came due, after a redirect");
    let resent = (1, "resent", ledger.resent, "sent again, as the server had not processed them");
    let (until_failed, others) = rows.split_at(5);
    let rows = until_failed
        .iter()
        .chain((ledger.refused > 0).then_some(&refused))
        .chain(others)
        .chain((ledger.resent > 0).then_some(&resent))
        .chain((ledger.redirects > 0).then_some(&redirects))
        .map(|(depth, name, count, meaning)| {
            let name = format!("{}{name}", INDENT.to_string().repeat(*depth));
            vec![
                name,
                format_count(*count),
                percent(*count, ledger.scheduled),
                (*meaning).to_owned(),
            ]
        })
        .collect();
    let head = [("", Text), ("requests", Figure), ("share", Figure), ("", Text)];
    Table { caption: "Where every request went", head: &head, rows, note: "" }.write(page);
}

/// What became of the iterations, where they are counted apart from requests.
pub(super) fn iterations(result: &RunResult, page: &mut String) {
    let rows = crate::iterations::rows(result);
    if !rows.is_empty() {
        pairs("Iterations", rows, page);
    }
}

/// Rows of a table that takes what it is given; the rest is summed up.
pub(super) const ROWS_SHOWN: usize = 40;

/// Completed requests by status.
pub(super) fn statuses(result: &RunResult, page: &mut String) {
    let mut rows: Vec<Vec<String>> = result
        .status
        .iter()
        .take(ROWS_SHOWN)
        .map(|(status, count)| {
            let share = percent(*count, result.ledger.completed);
            vec![status.to_string(), format_count(*count), share]
        })
        .collect();
    let more: u64 = result.status.values().skip(ROWS_SHOWN).sum();
    if more > 0 {
        let share = percent(more, result.ledger.completed);
        rows.push(vec!["others".to_owned(), format_count(more), share]);
    }
    if !rows.is_empty() {
        let head = [("status", Text), ("responses", Figure), ("share", Figure)];
        Table { caption: "Statuses", head: &head, rows, note: "" }.write(page);
    }
}

/// How calls of gRPC ended.
pub(super) fn calls(result: &RunResult, page: &mut String) {
    let all: u64 = result.grpc_status.values().sum();
    let row = |(status, count): (&String, &u64)| {
        vec![status.clone(), format_count(*count), percent(*count, all)]
    };
    let rows: Vec<Vec<String>> = result.grpc_status.iter().map(row).collect();
    if !rows.is_empty() {
        let head = [("status", Text), ("calls", Figure), ("share", Figure)];
        Table { caption: "Calls of gRPC", head: &head, rows, note: "" }.write(page);
    }
}

/// The messages of calls that stream.
pub(super) fn messages(result: &RunResult, page: &mut String) {
    let Some(counts) = streams::counts(result) else { return };
    let rows: Vec<Vec<String>> = streams::rows(result)
        .map(|row| spread_row(row.name, &row.times, row.times.count()))
        .collect();
    let note = [Some(counts), streams::missing(result)].into_iter().flatten().collect::<Vec<_>>();
    let note = note.join("; ");
    Table { caption: "Messages of streams", head: &SPREAD_HEAD, rows, note: &note }.write(page);
}

/// What went wrong.
pub(super) fn errors(result: &RunResult, page: &mut String) {
    let mut rows: Vec<Vec<String>> = result
        .errors
        .iter()
        .take(ROWS_SHOWN)
        .map(|error| {
            let (phase, count) = (error.phase.name().to_owned(), format_count(error.count));
            vec![error.kind.clone(), phase, count, clipped(&error.sample)]
        })
        .collect();
    let more: u64 = result.errors.iter().skip(ROWS_SHOWN).map(|error| error.count).sum();
    if more > 0 {
        rows.push(vec!["others".to_owned(), String::new(), format_count(more), String::new()]);
    }
    if !rows.is_empty() {
        let head = [("kind", Text), ("phase", Text), ("count", Figure), ("an example", Text)];
        let note = "An error is an event: a connection that cannot be opened is one, and so is the \
            next attempt. The ledger counts requests.";
        Table { caption: "Errors", head: &head, rows, note }.write(page);
    }
}

/// The figures of the charts over time.
pub(super) fn intervals(intervals: &[Interval], page: &mut String) {
    let row = |i: &Interval| {
        let at = |ns: u64| three_digits_or_more(ns as f64 / 1e9);
        let [p50, p99, max] = i.response_ns.map_or([None; 3], |ns| ns.map(Some));
        // A quantile that nothing lies beyond would be the maximum again.
        let p99 = p99.filter(|_| Tail::beyond(i.ended, 9900) > 0);
        let service_p99 = i.service_p99_ns.filter(|_| Tail::beyond(i.ended, 9900) > 0);
        vec![
            format!("{}–{}", at(i.from_ns), at(i.to_ns)),
            format_rate(i.sent_rps),
            format_rate(i.ok_rps),
            format_rate(i.failed_rps + i.lost_rps),
            duration(p50),
            duration(p99),
            duration(max),
            duration(service_p99),
            percent_name(i.cpu_cores),
            format_ns(i.lateness_max_ns),
        ]
    };
    let rows = intervals.iter().map(row).collect();
    let head = [
        ("seconds", Text),
        ("sent/s", Figure),
        ("ok/s", Figure),
        ("not ok/s", Figure),
        ("response p50", Figure),
        ("p99", Figure),
        ("max", Figure),
        ("service p99", Figure),
        ("tester CPU", Figure),
        ("lateness", Figure),
    ];
    page.push_str(
        "<details class=\"figures\"><summary>The figures of these charts as a table</summary>\n",
    );
    Table { caption: "", head: &head, rows, note: "" }.write(page);
    page.push_str("</details>\n");
}

/// Seconds, whole where they are.
fn three_digits_or_more(seconds: f64) -> String {
    if seconds.fract() < 5e-4 { format!("{seconds:.0}") } else { format!("{seconds:.2}") }
}

/// What was asked for, whole.
pub(super) fn plan(result: &RunResult, page: &mut String) {
    let plan = &result.plan;
    let mut rows = vec![("request", clipped(&subject(result)))];
    if result.scenarios.is_empty() {
        rows.push(("version", version_words(result)));
    }
    for (name, value) in plan.request.headers.iter().take(ROWS_SHOWN) {
        rows.push(("header", clipped(&format!("{name}: {}", value.shown()))));
    }
    if let Some(body) = &plan.request.body {
        rows.push(("body", format_bytes(body_bytes(body))));
    }
    rows.push(("load", clipped(&load_words(result).join(" · "))));
    if plan.warmup_ns > 0 {
        rows.push(("warm-up", format_duration(plan.warmup_ns)));
    }
    rows.push(("timeout", format_duration(plan.timeout_ns)));
    rows.push(("drain", format_duration(plan.drain_ns)));
    if !plan.pin.is_empty() {
        let cpus: Vec<String> = plan.pin.iter().take(ROWS_SHOWN).map(u32::to_string).collect();
        rows.push(("pinned to CPUs", cpus.join(", ")));
    }
    for condition in plan.abort_when.iter().take(ROWS_SHOWN) {
        rows.push(("abort when", clipped(condition)));
    }
    rows.push(("seed", plan.seed.to_string()));
    pairs("The plan", rows, page);
}

/// The tester.
pub(super) fn tester(result: &RunResult, page: &mut String) {
    let loader = &result.loader;
    let (work, spin) = tester_cores(result);
    let mut rows = vec![
        ("CPU", format!("{:.0} % of a core at work, {:.0} % spinning", work * 100.0, spin * 100.0)),
        ("memory", format!("{} at most", format_bytes(loader.rss_peak_bytes))),
        ("driver", clipped(&format!("{}: {}", loader.driver.kind, loader.driver.reason))),
        ("threads", loader.workers.to_string()),
        ("lateness", lateness_words(result.lateness())),
        ("pauses", pauses_words(result)),
    ];
    let bytes = result.bytes;
    let words =
        format!("{} sent, {} received", format_bytes(bytes.sent), format_bytes(bytes.received));
    rows.push(("bytes", words));
    if result.connections.opened == 0 {
        rows.push(("reconnects", format_count(result.ledger.reconnects)));
    }
    pairs("The tester", rows, page);
}

/// What the server's processes used.
pub(super) fn server(result: &RunResult, page: &mut String) {
    let rows = crate::server::rows(result);
    if !rows.is_empty() {
        let rows = rows.into_iter().map(|(name, value)| (name, clipped(&value))).collect();
        pairs("The server", rows, page);
    }
}

fn lateness_words(lateness: &Histogram) -> String {
    match [0.5, 0.99, 1.0].map(|q| lateness.quantile_ns(q)) {
        [Some(p50), Some(p99), Some(max)] if max > 0 => {
            format!("p50 {}, p99 {}, max {}", format_ns(p50), format_ns(p99), format_ns(max))
        }
        _ => "none".to_owned(),
    }
}

fn pauses_words(result: &RunResult) -> String {
    let pauses = &result.loader.pauses;
    pauses.iter().max_by_key(|pause| pause.for_ns).map_or_else(
        || "none seen".to_owned(),
        |longest| {
            let (length, at) = (format_ns(longest.for_ns), format_ns(longest.at_ns));
            match pauses.len() {
                1 => format!("1, of {length} at {at}"),
                several => format!("{several}, the longest of {length} at {at}"),
            }
        },
    )
}

/// The load before the measured part.
pub(super) fn warmup(result: &RunResult, page: &mut String) {
    let Some(warmup) = &result.warmup else { return };
    let rows = vec![
        ("length", format_duration(warmup.duration_ns)),
        ("sent", format_count(warmup.ledger.sent)),
        ("completed", format_count(warmup.ledger.completed)),
        ("response p50", tail_cell(&warmup.response, 5000)),
        ("response p99", tail_cell(&warmup.response, 9900)),
    ];
    pairs("Warm-up, in no other figure", rows, page);
}

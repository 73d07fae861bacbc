//! The runs of a study as CSV, a row for each, for notebooks and statistics. `docs/lab-reports.md`
//! describes the columns.
//!
//! Units are in the names; times are in seconds. A cell that no tester filled is empty. A case
//! without runs has a row with the reason. Quoting follows RFC 4180; lines end as on Unix.

use std::io::{self, Write};

use plimsoll_core::study::{
    Case, CaseRun, Column, LoadFacts, MessageTime, Quantile, ServerFacts, Study,
};
use plimsoll_core::usage::Usage;

use crate::csv::text;

/// Quantiles that have their columns whether or not a tester gave them.
const ALWAYS: [f64; 7] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// Quantiles that have columns at most: with more, a tester was misread.
const QUANTILES_MOST: usize = 64;

/// Writes the line of names and the rows.
///
/// # Errors
/// Those of `out`.
pub fn write(study: &Study, out: &mut dyn Write) -> io::Result<()> {
    let quantiles = quantiles(study);
    let nothing = CaseRun::default();
    let names = cells(study, &Case::default(), &nothing, &quantiles);
    writeln!(out, "{}", join(names.iter().map(|(name, _)| name.as_str())))?;
    for case in &study.cases {
        let empty = case.runs.is_empty().then_some(&nothing);
        for run in case.runs.iter().chain(empty) {
            let row = cells(study, case, run, &quantiles);
            writeln!(out, "{}", join(row.iter().map(|(_, cell)| cell.as_str())))?;
        }
    }
    Ok(())
}

fn join<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    cells.collect::<Vec<_>>().join(",")
}

/// Those that some tester gave, and some that are always there, so that tables of several studies
/// have much in common.
fn quantiles(study: &Study) -> Vec<f64> {
    let figures = study.cases.iter().flat_map(|case| &case.runs).map(|run| &run.figures);
    let given = figures.flat_map(|it| it.latency.iter().chain(&it.service)).map(|it| it.q);
    let mut quantiles = ALWAYS.to_vec();
    for q in given {
        let is_new = !quantiles.iter().any(|known| (known - q).abs() < 1e-9);
        if is_new && quantiles.len() < QUANTILES_MOST {
            quantiles.push(q);
        }
    }
    quantiles.sort_by(f64::total_cmp);
    quantiles
}

type Cell = (String, String);

fn of_text(name: &str, value: Option<&str>) -> Cell {
    (name.to_owned(), value.map(text).unwrap_or_default())
}

fn number<T: ToString>(name: &str, value: Option<T>) -> Cell {
    (name.to_owned(), value.map_or_else(String::new, |value| value.to_string()))
}

fn cells(study: &Study, case: &Case, run: &CaseRun, quantiles: &[f64]) -> Vec<Cell> {
    let mut cells = head(study, case, run);
    cells.extend(figures(run, quantiles));
    cells.extend(usage("server", run.server.as_ref()));
    cells.extend(usage("tester", run.tester.as_ref()));
    cells
}

fn head(study: &Study, case: &Case, run: &CaseRun) -> Vec<Cell> {
    let named_server = |server: &&ServerFacts| server.name == case.server;
    let named_load = |load: &&LoadFacts| load.name == case.load;
    let server = study.servers.iter().find(named_server);
    let load = study.loads.iter().find(named_load);
    let is_run = run.repeat > 0;
    let counts = is_run.then_some(run.is_whole());
    let codes: Vec<&str> = run.causes.iter().map(|cause| cause.code.as_str()).collect();
    vec![
        of_text("study", Some(&study.name)),
        of_text("server", Some(&case.server)),
        of_text("server_version", server.and_then(|server| server.version.as_deref())),
        of_text("load", Some(&case.load)),
        of_text("tester", load.map(|load| load.tester.as_str())),
        of_text("tester_version", load.and_then(|load| load.version.as_deref())),
        of_text("skipped", case.skipped.as_deref()),
        number("repeat", is_run.then_some(run.repeat)),
        number("position", is_run.then_some(run.position)),
        number("resumed", is_run.then_some(run.resumed)),
        of_text("started_at", Some(&run.started_at)),
        number("counts", counts),
        of_text("failure", run.failure.as_deref()),
        of_text("verdict", run.verdict.map(|verdict| verdict.name())),
        of_text("causes", Some(&codes.join(" "))),
        of_text("doubt", Some(&doubts(study, run))),
    ]
}

/// The columns of the tables that are in doubt in a run: `p99:at_most rate:at_least`.
fn doubts(study: &Study, run: &CaseRun) -> String {
    let mut columns: Vec<&Column> = Vec::new();
    for column in &study.columns {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let word = |column: &&Column| {
        let mark = column.mark(run).filter(|_| column.of(run).is_some() && !column.counts(run))?;
        Some(format!("{column}:{}", mark.word()))
    };
    columns.iter().filter_map(word).collect::<Vec<_>>().join(" ")
}

fn figures(run: &CaseRun, quantiles: &[f64]) -> Vec<Cell> {
    let figures = &run.figures;
    let mut cells = vec![
        number("rate_rps", figures.rate_rps),
        number("duration_s", figures.duration_s),
        number("completed", figures.completed),
        number("failed", figures.failed),
        number("errors", figures.errors),
        number("error_share", figures.error_share()),
        number("latency_mean_s", figures.mean_s),
        number("latency_max_s", figures.max_s),
    ];
    let both: [(&str, &[Quantile]); 2] =
        [("latency", &figures.latency), ("service", &figures.service)];
    for (clock, given) in both {
        for q in quantiles {
            // 0.999 is p99_9.
            let name = format!("{clock}_p{}_s", (q * 1e8).round() / 1e6).replace('.', "_");
            let value = given.iter().find(|it| (it.q - q).abs() < 1e-9).map(|it| it.s);
            cells.push(number(&name, value));
        }
    }
    let line = figures.load_line;
    cells.push(of_text("load_line", line.map(|line| line.outcome.words())));
    cells.push(number("load_line_rps", line.and_then(|line| line.rate_rps)));
    cells.push(number("fails_at_rps", line.and_then(|line| line.fails_rps)));
    for time in MessageTime::ALL {
        for (label, q) in [("p50", 0.5), ("p99", 0.99)] {
            let name = format!("{}_{label}_s", time.name());
            cells.push(number(&name, figures.message_s(time, q)));
        }
    }
    cells
}

fn usage(whose: &str, usage: Option<&Usage>) -> Vec<Cell> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let known = usage.filter(|usage| usage.cpu_unknown.is_none());
    let of = |name: &str, value: Option<f64>| number(&format!("{whose}_{name}"), value);
    let network = usage.and_then(|usage| usage.network);
    let count = |name: &str, value: Option<u64>| number(&format!("{whose}_{name}"), value);
    vec![
        of("cpu_cores", known.and_then(Usage::known_cores)),
        of("cpu_cores_peak", known.map(|usage| usage.cpu_percent_peak() / 100.0)),
        of("cpu_user_s", known.map(|usage| seconds(usage.cpu_user_ns))),
        of("cpu_system_s", known.map(|usage| seconds(usage.cpu_system_ns))),
        count("rss_peak_bytes", usage.map(|usage| usage.rss_peak_bytes)),
        count("pss_peak_bytes", usage.and_then(|usage| usage.pss_peak_bytes)),
        count("processes", usage.map(|usage| usage.processes_max.into())),
        count("threads", usage.map(|usage| usage.threads_max.into())),
        count("open_files", usage.and_then(|usage| usage.open_files_max)),
        count("voluntary_switches", usage.and_then(|usage| usage.voluntary_switches)),
        count("involuntary_switches", usage.and_then(|usage| usage.involuntary_switches)),
        count("sent_bytes", network.map(|network| network.sent_bytes)),
        count("received_bytes", network.map(|network| network.received_bytes)),
    ]
}

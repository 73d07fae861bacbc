//! A row under the names of our own rows, so that runs of both kinds fit into one table. The
//! tester stands where our version does. What the file does not say is an empty cell.

use std::collections::BTreeMap;
use std::io::{self, Write};

use plimsoll_core::foreign::ForeignResult;

use crate::csv::{names, quantile_name, text};

/// Writes the line of names and the row.
///
/// # Errors
/// Those of `out`.
pub fn write(result: &ForeignResult, out: &mut dyn Write) -> io::Result<()> {
    let cells = cells(result);
    let names = names();
    writeln!(out, "{}", names.join(","))?;
    let row: Vec<&str> =
        names.iter().map(|name| cells.get(name).map_or("", String::as_str)).collect();
    writeln!(out, "{}", row.join(","))
}

fn cells(result: &ForeignResult) -> BTreeMap<String, String> {
    let mut cells = BTreeMap::new();
    let mut add = |name: &str, cell: Option<String>| {
        cells.extend(cell.map(|cell| (name.to_owned(), cell)));
    };
    let figures = &result.figures;
    let number = |value: Option<f64>| value.map(|value| value.to_string());
    let count = |value: Option<u64>| value.map(|value| value.to_string());
    add("started_at", result.started_at.as_deref().map(text));
    add("version", Some(text(&result.tester)));
    add("url", result.target.as_deref().map(text));
    let loop_kind = result.is_paced.map(|is_paced| if is_paced { "open" } else { "closed" });
    add("loop", loop_kind.map(str::to_owned));
    add("connections", result.facts.get("connections").cloned());
    add("elapsed_s", number(figures.duration_s));
    add("target_rps", number(result.target_rps));
    add("achieved_rps", number(figures.rate_rps));
    add("completed", count(figures.completed));
    add("failed", count(figures.failed));
    let ok = figures.completed.zip(figures.failed);
    add("ok", count(ok.map(|(completed, failed)| completed.saturating_sub(failed))));
    add("errors", count(figures.errors));
    if figures.completed.is_some() {
        for class in 1..=5_u64 {
            let class_of = |outcome: &str| outcome.parse::<u64>().ok().map(|status| status / 100);
            let counted = result.outcomes.iter().filter(|(it, _)| class_of(it) == Some(class));
            let sum = counted.map(|(_, count)| *count).fold(0, u64::saturating_add);
            let has_statuses = result.outcomes.iter().any(|(it, _)| class_of(it).is_some());
            add(&format!("status_{class}xx"), has_statuses.then(|| sum.to_string()));
        }
    }
    let us = |s: f64| format!("{:.3}", s * 1e6);
    let times = &result.times;
    let moments = [
        ("min", times.min_s),
        ("mean", times.mean_s),
        ("stdev", times.stdev_s),
        ("max", times.max_s),
    ];
    for (name, s) in moments {
        add(&format!("service_{name}_us"), s.map(us));
    }
    for quantile in &times.quantiles {
        add(&format!("service_{}_us", quantile_name(quantile.q)), Some(us(quantile.s)));
    }
    add("service_count", count(times.count));
    cells
}

//! As a page: the figures, charts of the buckets, and tables; or several results in one chart.
//!
//! A file has no times over a run, so there is no chart of that. The charts are those of our own
//! results where the buckets allow it, and as coarse as the buckets elsewhere.

use std::io::{self, Write};

use plimsoll_core::foreign::{Distribution, ForeignResult, TimeBucket, TimesOf};
use plimsoll_core::units::{format_count, format_rate};

use super::{load, moments, notes, outcomes, quantiles, seconds, sentence};
use crate::page::chart::{Chart, Line, curve, steps};
use crate::page::escape::Escaped;
use crate::page::scale::{Axis, rate_name};
use crate::page::table::{Figure, Table, Text, clipped, pairs};
use crate::page::{self, push};

const STYLE: &str = concat!(include_str!("../page/verdict.css"), include_str!("foreign.css"));

/// The curve of percentiles has this number of points in each bucket, if its buckets are few.
const POINTS_PER_BUCKET: usize = 16;

/// About the most points of a curve: a file may have thousands of buckets.
const POINTS_MAX: usize = 2000;

/// Lines of several results, each with a colour of its own.
const CLASSES: [&str; 8] = ["s-1", "s-2", "s-3", "s-4", "s-5", "s-6", "s-7", "s-8"];

/// The most results that one chart can tell apart.
pub const RESULTS_MAX: usize = CLASSES.len();

const SPECTRUM_HOW: &str = "Read it from left to right: half of all calls were faster than the \
    line at 50 %, one in a hundred was slower than at 99 %. Both axes are logarithmic. Within a \
    bucket of the file the line is interpolated.";
const BUCKETS_HOW: &str = "Calls in each bucket of the file, whose widths differ.";

/// A link to another page.
#[derive(Debug, Clone, Copy)]
pub struct Link<'a> {
    /// Where to.
    pub href: &'a str,
    /// What it says.
    pub text: &'a str,
}

/// Writes the page of a result, below links.
///
/// # Errors
/// Those of `out`.
pub fn write(result: &ForeignResult, links: &[Link<'_>], out: &mut dyn Write) -> io::Result<()> {
    let mut page = String::with_capacity(32 << 10);
    let title = result.labels.as_ref().or(result.target.as_ref()).unwrap_or(&result.tester);
    begin(title, links, &mut page);
    push(&mut page, format_args!("<h1>{}</h1>\n", Escaped(&sentence(result))));
    push(
        &mut page,
        format_args!("<p class=\"plan\"><code>{}</code></p>\n", Escaped(&load(result))),
    );
    page.push_str("<ul class=\"notes\">");
    let labels = result.labels.iter().map(|labels| format!("Labels: {labels}"));
    for note in labels.chain(notes(result)) {
        push(&mut page, format_args!("<li>{}</li>", Escaped(&clipped(&note))));
    }
    page.push_str("</ul>\n");
    if !result.distributions.is_empty() {
        page.push_str("<section>\n<h2>Latency</h2>\n");
        let curves = result.distributions.iter().filter(|it| it.of != TimesOf::FailedCalls);
        spectrum(&curves.map(Named::of).collect::<Vec<_>>(), &mut page);
        buckets(&result.distributions.iter().map(Named::of).collect::<Vec<_>>(), &mut page);
        page.push_str("</section>\n");
    }
    tables(result, &mut page);
    end(&result.read_as, &mut page);
    out.write_all(page.as_bytes())
}

/// Writes a page that compares up to [`RESULTS_MAX`] results, each with a name; others are left
/// out.
///
/// # Errors
/// Those of `out`.
pub fn write_several(
    results: &[(String, ForeignResult)],
    links: &[Link<'_>],
    out: &mut dyn Write,
) -> io::Result<()> {
    let shown = &results[..results.len().min(RESULTS_MAX)];
    let mut page = String::with_capacity(32 << 10);
    let title = format!("{} results", shown.len());
    begin(&title, links, &mut page);
    push(&mut page, format_args!("<h1>{title}</h1>\n<section>\n<h2>Latency</h2>\n"));
    let mut lines = Vec::new();
    for ((name, result), class) in shown.iter().zip(CLASSES) {
        let calls = result.distributions.iter().find(|it| it.of == TimesOf::Calls);
        lines.extend(calls.map(|distribution| Named { class, name, distribution }));
    }
    spectrum(&lines, &mut page);
    buckets(&lines, &mut page);
    page.push_str("</section>\n<section>\n<h2>Figures</h2>\n");
    let head = [
        ("Result", Text),
        ("target", Text),
        ("calls/s", Figure),
        ("p50", Figure),
        ("p90", Figure),
        ("p99", Figure),
        ("max", Figure),
        ("not ok", Figure),
    ];
    let rows = shown.iter().map(|(name, result)| row(name, result)).collect();
    Table { caption: "", head: &head, rows, note: "" }.write(&mut page);
    page.push_str("</section>\n");
    end("times are service times", &mut page);
    out.write_all(page.as_bytes())
}

/// Figures of one of several results.
fn row(name: &str, result: &ForeignResult) -> Vec<String> {
    let quantile = |q| result.times.quantile(q).map_or_else(String::new, |it| seconds(it.s));
    let figures = &result.figures;
    let failed = figures.failed.unwrap_or(0).saturating_add(figures.errors.unwrap_or(0));
    vec![
        name.to_owned(),
        result.target.as_deref().map(clipped).unwrap_or_default(),
        result.calls_rps.map(format_rate).unwrap_or_default(),
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        result.times.max_s.map(seconds).unwrap_or_default(),
        format_count(failed),
    ]
}

fn begin(title: &str, links: &[Link<'_>], page: &mut String) {
    page::head(title, STYLE, page);
    page.push_str("<body>\n<main>\n");
    if links.is_empty() {
        return;
    }
    page.push_str("<nav>");
    for Link { href, text } in links {
        push(page, format_args!("<a href=\"{}\">{}</a> ", Escaped(href), Escaped(text)));
    }
    page.push_str("</nav>\n");
}

fn end(footer: &str, page: &mut String) {
    let footer = Escaped(footer);
    push(page, format_args!("</main>\n<footer>{footer}</footer>\n</body>\n</html>\n"));
}

fn tables(result: &ForeignResult, page: &mut String) {
    page.push_str("<section>\n<h2>Figures</h2>\n<div class=\"tables\">\n");
    let rows = |rows: Vec<[String; 4]>| rows.into_iter().map(|row| row.to_vec()).collect();
    let head =
        [("Quantile", Text), ("time", Figure), ("bucket", Figure), ("samples beyond", Figure)];
    let caption = "Service time";
    Table { caption, head: &head, rows: rows(quantiles(result)), note: "" }.write(page);
    let moments = moments(result);
    pairs("", moments.iter().map(|[name, s]| (name.as_str(), s.clone())).collect(), page);
    let head = [("", Text), ("calls", Figure), ("share", Figure)];
    let rows = outcomes(result).into_iter().map(|row| row.to_vec()).collect();
    Table { caption: "Calls by what came of them", head: &head, rows, note: "" }.write(page);
    page.push_str("</div>\n</section>\n");
}

/// A line of a chart.
#[derive(Clone, Copy)]
struct Named<'a> {
    class: &'static str,
    name: &'a str,
    distribution: &'a Distribution,
}

impl<'a> Named<'a> {
    /// One of the distributions of a result.
    fn of(distribution: &'a Distribution) -> Self {
        let (class, name) = match distribution.of {
            TimesOf::Calls => ("s-service", "from when calls were sent"),
            TimesOf::DueCalls => ("s-response", "from when calls were due"),
            TimesOf::FailedCalls => ("s-failed", "failed calls"),
        };
        Self { class, name, distribution }
    }

    fn buckets(&self) -> &[TimeBucket] {
        &self.distribution.buckets
    }

    fn count(&self) -> u64 {
        self.buckets().iter().map(|it| it.count).fold(0, u64::saturating_add)
    }
}

/// An axis for the times of all lines; `None` without any.
fn times(lines: &[Named<'_>]) -> Option<Axis> {
    let all = || lines.iter().flat_map(|line| line.buckets());
    // A bucket may begin at 0, which has no place on the axis.
    let begin = |it: &TimeBucket| if it.from_s > 0.0 { it.from_s } else { it.to_s / 10.0 };
    let lowest_s = all().map(begin).min_by(f64::total_cmp)?;
    let highest_s = all().map(|it| it.to_s).max_by(f64::total_cmp)?;
    Some(Axis::durations(nanoseconds(lowest_s), nanoseconds(highest_s)))
}

fn nanoseconds(s: f64) -> u64 {
    (s * 1e9).round() as u64
}

/// Where a time stands.
fn place(axis: &Axis, s: f64) -> f64 {
    axis.at((s * 1e9).max(1.0))
}

/// Times by the share of calls that took no longer.
fn spectrum(lines: &[Named<'_>], page: &mut String) {
    let Some(y) = times(lines) else { return };
    let count = lines.iter().map(Named::count).max().unwrap_or(0);
    let x = Axis::quantiles(count);
    let mut drawn = Vec::new();
    for line in lines {
        let path = curve(&points(line, &x, &y));
        drawn.push(Line { class: line.class, name: line.name, path });
    }
    chart("spectrum", "Latency by percentile", [&x, &y], drawn, SPECTRUM_HOW, page);
}

/// Points of a curve of percentiles: times within a bucket are taken to lie evenly.
fn points(line: &Named<'_>, x: &Axis, y: &Axis) -> Vec<(f64, f64)> {
    let all = line.count().max(1) as f64;
    let steps = (POINTS_MAX / line.buckets().len().max(1)).clamp(1, POINTS_PER_BUCKET);
    let mut below = 0.0;
    let mut points = Vec::new();
    for bucket in line.buckets() {
        for step in 0..=steps {
            let share = step as f64 / steps as f64;
            let q = (below + share * bucket.count as f64) / all;
            let beyond = (1.0 / (1.0 - q)).min(all);
            let s = bucket.from_s + share * (bucket.to_s - bucket.from_s);
            points.push((x.at(beyond), place(y, s)));
        }
        below += bucket.count as f64;
    }
    points
}

/// Calls by their time.
fn buckets(lines: &[Named<'_>], page: &mut String) {
    let Some(x) = times(lines) else { return };
    let counts = lines.iter().flat_map(|line| line.buckets()).map(|it| it.count);
    let y = Axis::from_zero(counts.max().unwrap_or(1) as f64, rate_name);
    let mut drawn = Vec::new();
    for line in lines {
        let path = outline(line, &x, &y);
        drawn.push(Line { class: line.class, name: line.name, path });
    }
    chart("buckets", "Calls by latency", [&x, &y], drawn, BUCKETS_HOW, page);
}

/// The outline of the buckets, from the axis to the axis.
fn outline(line: &Named<'_>, x: &Axis, y: &Axis) -> String {
    let mut stretches = Vec::new();
    let mut end = None;
    for bucket in line.buckets() {
        let (from, to) = (place(x, bucket.from_s), place(x, bucket.to_s));
        let before = end.unwrap_or(from);
        if end.is_none() || before < from {
            stretches.push((before, from, Some(0.0)));
        }
        stretches.push((from, to, Some(y.at(bucket.count as f64))));
        end = Some(to);
    }
    stretches.extend(end.map(|end| (end, end, Some(0.0))));
    steps(stretches.into_iter())
}

fn chart(
    id: &str,
    title: &str,
    [x, y]: [&Axis; 2],
    lines: Vec<Line<'_>>,
    how: &str,
    page: &mut String,
) {
    let names: Vec<&str> = lines.iter().map(|line| line.name).collect();
    let description = format!("{title}: {}. The values are in the tables below.", names.join(", "));
    Chart {
        id,
        group: None,
        title,
        description,
        how,
        x,
        y,
        lines,
        marks: Vec::new(),
        band_name: "",
        bands: Vec::new(),
        low: false,
    }
    .write(page);
}

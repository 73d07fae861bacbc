//! Latency by percentile, and latency against rate: servers as curves.

use plimsoll_core::stats::median;
use plimsoll_core::study::{Case, CaseRun, Column, LoadFacts, Measure, Quantile, Study};
use plimsoll_core::units::{counted, format_ns, format_rate};

use super::looks::Looks;
use crate::page::chart::{Chart, Line, Mark, curve};
use crate::page::escape::Escaped;
use crate::page::push;
use crate::page::scale::{Axis, rate_name};

const PERCENTILES_HOW: &str = "Read it from left to right: half of all requests were faster than \
    the line at 50 %, one in a hundred was slower than at 99 %. Both axes are logarithmic. Each point \
    is the median over the repeats of that percentile; a line ends where its tester says no more.";

const RATE_HOW: &str = "A point is a server under a load: its rate and its 99th percentile, \
    medians over the repeats. Lines join the loads of a server in the order of their rates. Only \
    figures of one tester and one clock share a chart; the latency axis is logarithmic.";

/// The percentile spectrum of a load.
pub(super) fn percentiles(
    study: &Study,
    load: &LoadFacts,
    number: usize,
    looks: &Looks<'_>,
    page: &mut String,
) {
    let under = study.cases.iter().filter(|case| case.load == load.name);
    let spectra: Vec<(&Case, Vec<Quantile>)> = under
        .map(|case| (case, spectrum(case)))
        .filter(|(_, quantiles)| quantiles.len() > 1)
        .collect();
    let points = || spectra.iter().flat_map(|(_, quantiles)| quantiles);
    let times_ns = || points().map(|point| (point.s * 1e9) as u64);
    let (Some(lowest_ns), Some(highest_ns)) = (times_ns().min(), times_ns().max()) else { return };
    let beyond = points().map(|point| 1.0 / (1.0 - point.q)).fold(10.0, f64::max);
    let (x, y) = (Axis::quantiles(beyond.round() as u64), Axis::durations(lowest_ns, highest_ns));
    let (mut lines, mut marks) = (Vec::new(), Vec::new());
    for (case, quantiles) in &spectra {
        let look = looks.look(&case.server);
        let at = |point: &Quantile| (x.at(1.0 / (1.0 - point.q)), y.at(point.s * 1e9));
        let places: Vec<(f64, f64)> = quantiles.iter().map(at).collect();
        lines.push(Line { class: look.class, name: &case.server, path: curve(&places) });
        for (point, at) in quantiles.iter().zip(places).filter(|(point, _)| is_marked(point.q)) {
            let (percent, value) =
                ((point.q * 1e8).round() / 1e6, format_ns((point.s * 1e9) as u64));
            let title = format!("{}: P{percent} {value}", case.server);
            marks.push(Mark { at, look, title });
        }
    }
    let chart = Chart {
        id: &format!("percentiles-{number}"),
        group: None,
        title: "Latency by percentile",
        description: format!(
            "Latency in logarithmic scale against percentile, {}, from {} to {}.",
            counted(spectra.len() as u64, "server"),
            format_ns(lowest_ns),
            format_ns(highest_ns)
        ),
        // Once in a page is enough.
        how: if number == 0 { PERCENTILES_HOW } else { "" },
        x: &x,
        y: &y,
        lines,
        marks,
        band_name: "",
        bands: Vec::new(),
        low: false,
    };
    chart.write(page);
}

/// Percentiles whose points are drawn: enough to tell the lines apart.
fn is_marked(q: f64) -> bool {
    [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999].iter().any(|marked| (marked - q).abs() < 1e-9)
}

/// The medians of the quantiles that all repeats have, over those in which they count. A line ends
/// where they count in none.
fn spectrum(case: &Case) -> Vec<Quantile> {
    let runs: Vec<&CaseRun> = case.whole().collect();
    let Some(first) = runs.first() else { return Vec::new() };
    let mut quantiles: Vec<Quantile> = Vec::new();
    for Quantile { q, .. } in &first.figures.latency {
        if runs.iter().any(|run| run.figures.latency_s(*q).is_none()) {
            continue;
        }
        let values = case.values(Measure::Latency(*q));
        let drawable = (0.0..1.0).contains(q);
        quantiles.extend(
            median(&values).filter(|s| drawable && *s > 0.0).map(|s| Quantile::known(*q, s)),
        );
    }
    quantiles.sort_by(|a, b| a.q.total_cmp(&b.q));
    quantiles
}

/// A case as a point.
struct Point<'a> {
    server: &'a str,
    load: &'a str,
    rate_rps: f64,
    latency_s: f64,
}

/// Latency against rate, a chart for each tester and clock.
pub(super) fn against_rate(study: &Study, looks: &Looks<'_>, page: &mut String) {
    let mut groups: Vec<((&str, bool), Vec<Point<'_>>)> = Vec::new();
    for load in &study.loads {
        for case in study.cases.iter().filter(|case| case.load == load.name) {
            let Some(point) = point(case) else { continue };
            // Plimsoll has a second clock where there is a schedule, and puts another first.
            let has_schedule = case.runs.iter().any(|run| !run.figures.service.is_empty());
            let key = (load.tester.as_str(), has_schedule);
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, points)) => points.push(point),
                None => groups.push((key, vec![point])),
            }
        }
    }
    // Of one load the bars say as much.
    let several = |points: &[Point<'_>]| points.iter().any(|point| point.load != points[0].load);
    groups.retain(|(_, points)| several(points));
    if groups.is_empty() {
        return;
    }
    page.push_str("<section>\n<h2>Latency against rate</h2>\n");
    for (number, ((tester, has_schedule), points)) in groups.iter().enumerate() {
        let clock = if *has_schedule { ", response time from the schedule" } else { "" };
        group(
            study,
            &format!("{tester}: P99 against responses/s{clock}"),
            number,
            points,
            looks,
            page,
        );
    }
    push(page, format_args!("<p class=\"how\">{}</p>\n</section>\n", Escaped(RATE_HOW)));
}

fn point(case: &Case) -> Option<Point<'_>> {
    let median = |measure| Some(case.middle(&Column { measure, over: None })?.median);
    let (rate_rps, latency_s) = (median(Measure::Rate)?, median(Measure::Latency(0.99))?);
    let point = Point { server: &case.server, load: &case.load, rate_rps, latency_s };
    (latency_s > 0.0).then_some(point)
}

fn group(
    study: &Study,
    title: &str,
    number: usize,
    points: &[Point<'_>],
    looks: &Looks<'_>,
    page: &mut String,
) {
    let times_ns = || points.iter().map(|point| (point.latency_s * 1e9) as u64);
    let (Some(lowest_ns), Some(highest_ns)) = (times_ns().min(), times_ns().max()) else { return };
    let x = Axis::from_zero(points.iter().map(|it| it.rate_rps).fold(0.0, f64::max), rate_name);
    let y = Axis::durations(lowest_ns, highest_ns);
    let (mut lines, mut marks) = (Vec::new(), Vec::new());
    for server in &study.servers {
        let mut of_server: Vec<&Point<'_>> =
            points.iter().filter(|point| point.server == server.name).collect();
        if of_server.is_empty() {
            continue;
        }
        of_server.sort_by(|a, b| a.rate_rps.total_cmp(&b.rate_rps));
        let at = |point: &Point<'_>| (x.at(point.rate_rps), y.at(point.latency_s * 1e9));
        let look = looks.look(&server.name);
        let places: Vec<(f64, f64)> = of_server.iter().map(|point| at(point)).collect();
        lines.push(Line { class: look.class, name: &server.name, path: curve(&places) });
        for (point, at) in of_server.iter().zip(places) {
            let latency = format_ns((point.latency_s * 1e9) as u64);
            let rate = format_rate(point.rate_rps);
            let title = format!("{}, {}: {rate}/s, P99 {latency}", point.server, point.load);
            marks.push(Mark { at, look, title });
        }
    }
    let chart = Chart {
        id: &format!("rates-{number}"),
        group: None,
        title,
        description: format!(
            "99th percentile of latency in logarithmic scale against rate, {}. The values are \
             in the table of results.",
            counted(points.len() as u64, "case")
        ),
        how: "",
        x: &x,
        y: &y,
        lines,
        marks,
        band_name: "",
        bands: Vec::new(),
        low: false,
    };
    chart.write(page);
}

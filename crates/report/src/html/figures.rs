//! The charts of a page: which lines they draw on which axes, and the same values as data for the
//! cursor.

use plimsoll_core::schedule::Profile;
use plimsoll_core::units::{format_ns, format_rate};
use plimsoll_core::usage::Usage;
use plimsoll_core::{Histogram, RunResult};

use super::intervals::Interval;
use crate::facts::FEW_BEYOND;
use crate::page::chart::{Band, Chart, Line, curve, steps};
use crate::page::push;
use crate::page::scale::{Axis, mib_name, percent_name, rate_name};
use crate::{Clock, server};

/// Values of the lines of one chart, for the script that shows them at the cursor.
struct Data {
    chart: &'static str,
    lines: Vec<String>,
}

/// What the script needs to know of all charts, as JSON.
#[derive(Default)]
pub(super) struct Readings {
    charts: Vec<Data>,
    groups: Vec<String>,
}

impl Readings {
    fn add(&mut self, chart: &'static str, lines: Vec<String>) {
        self.charts.push(Data { chart, lines });
    }

    /// The JSON; only numbers and names of ours are in it.
    pub(super) fn json(&self) -> String {
        let charts: Vec<String> = self
            .charts
            .iter()
            .map(|data| format!("\"{}\":[{}]", data.chart, data.lines.join(",")))
            .collect();
        format!("{{\"groups\":{{{}}},\"charts\":{{{}}}}}", self.groups.join(","), charts.join(","))
    }
}

fn numbers(values: impl Iterator<Item = Option<f64>>, digits: usize) -> String {
    let texts: Vec<String> = values
        .map(|value| {
            let Some(value) = value else { return "null".to_owned() };
            let text = format!("{value:.digits$}");
            if digits == 0 {
                return text;
            }
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        })
        .collect();
    format!("[{}]", texts.join(","))
}

/// Steps of the spectrum for each halving of the distance to 100 %.
const SPECTRUM_TICKS: u32 = 10;

const SPECTRUM_HOW: &str = "Read it from left to right: half of all requests were faster than the \
    line at 50 %, one in a hundred was slower than at 99 %, one in a thousand than at 99.9 %. Both \
    axes are logarithmic. Where response time rises above service time, requests had to wait before \
    they could be sent: users feel that, and a tester that only measures from the send does not.";

/// The percentile spectrum with both clocks; nothing when there was nothing to measure.
pub(super) fn spectrum(result: &RunResult, page: &mut String, readings: &mut Readings) {
    // Service time is dashed: on top of the other it hides nothing where they coincide.
    let clocks = [Clock::Response, Clock::Service];
    let histograms = clocks.map(|clock| clock.histogram(result));
    let count = histograms.iter().map(|histogram| histogram.count()).max().unwrap_or(0);
    if count == 0 {
        return;
    }
    let lowest_ns = histograms.iter().filter_map(|histogram| histogram.min_ns()).min();
    let highest_ns = histograms.iter().filter_map(|histogram| histogram.max_ns()).max();
    let x = Axis::quantiles(count);
    let y = Axis::durations(lowest_ns.unwrap_or(1), highest_ns.unwrap_or(1));
    let (mut lines, mut data) = (Vec::new(), Vec::new());
    for (clock, histogram) in clocks.into_iter().zip(histograms) {
        let class = match clock {
            Clock::Response => "s-response",
            Clock::Service => "s-service",
        };
        let points = spectrum_points(histogram, &x);
        let shares: Vec<(f64, f64)> =
            points.iter().map(|&(at, value_ns)| (at, y.at(value_ns as f64))).collect();
        lines.push(Line { class, name: clock.name(), path: curve(&shares) });
        data.push(format!(
            "{{\"name\":\"{}\",\"unit\":\"ns\",\"x\":{},\"v\":{}}}",
            clock.name(),
            numbers(points.iter().map(|(at, _)| Some(*at)), 4),
            numbers(points.iter().map(|(_, value_ns)| Some(*value_ns as f64)), 0),
        ));
    }
    readings.add("spectrum", data);
    readings.groups.push(format!("\"quantile\":{{\"beyond\":{}}}", count.max(100)));
    let description = format!(
        "Latency in logarithmic scale against quantile, for response and service time of {count} \
         requests. The values are in the table of quantiles below."
    );
    let rough = x.at(count as f64 / FEW_BEYOND as f64);
    let chart = Chart {
        id: "spectrum",
        group: Some("quantile"),
        title: "Latency by percentile",
        description,
        how: SPECTRUM_HOW,
        x: &x,
        y: &y,
        lines,
        marks: Vec::new(),
        band_name: "fewer than 10 samples beyond",
        bands: vec![Band { from: rough, to: 1.0 }],
        low: false,
    };
    chart.write(page);
}

/// Places on the axis and values, the maximum at the end.
fn spectrum_points(histogram: &Histogram, x: &Axis) -> Vec<(f64, u64)> {
    let count = histogram.count();
    let mut points: Vec<(f64, u64)> = Vec::new();
    for (value_ns, quantile, _) in histogram.spectrum(SPECTRUM_TICKS) {
        let beyond = (1.0 / (1.0 - quantile)).min(count.max(1) as f64);
        points.push((x.at(beyond), value_ns));
    }
    points.dedup();
    points
}

const RATE_HOW: &str = "Requests started in each interval, and what became of those that ended in \
    it. Where ok leaves the wide line of sent, responses were late, failed or missing.";
const LATENCY_HOW: &str = "Quantiles of the requests that ended in each interval, on a logarithmic \
    axis. Response time counts from when a request was due, service time from when it was sent. A \
    gap means that nothing ended; where fewer than 100 did, p99 is their maximum.";
const CPU_HOW: &str = "CPU time of the tester, without what it spent spinning, in cores. Near the \
    dashed line it has none to spare, and the figures above may be its own.";
const LATENESS_HOW: &str = "The latest that the tester itself sent a request in each interval, \
    although the request was due and a connection free. It should stay far below the latencies.";

const SERVER_CPU_HOW: &str = "CPU time of all processes of the server, in cores, from samples \
    taken once a second.";
const SERVER_MEMORY_HOW: &str = "Resident memory of all processes of the server, pages that they \
    share counted once for each. Peaks between the samples are in the table below, not here.";

/// The charts over time, on one time axis.
pub(super) struct OverTime<'a> {
    result: &'a RunResult,
    intervals: &'a [Interval],
    x: Axis,
}

impl<'a> OverTime<'a> {
    /// Charts of `intervals`, of which there is at least one.
    pub(super) fn new(result: &'a RunResult, intervals: &'a [Interval]) -> Self {
        let length_ns = intervals.last().map_or(1, |interval| interval.to_ns);
        Self { result, intervals, x: Axis::time(length_ns) }
    }

    /// Writes all of them.
    pub(super) fn write(&self, page: &mut String, readings: &mut Readings) {
        let seconds = |ns: u64| Some(ns as f64 / 1e9);
        let from = numbers(self.intervals.iter().map(|i| seconds(i.from_ns)), 3);
        let to = numbers(self.intervals.iter().map(|i| seconds(i.to_ns)), 3);
        readings.groups.push(format!("\"time\":{{\"from\":{from},\"to\":{to}}}"));
        self.rate(page, readings);
        self.latency(page, readings);
        self.cpu(page, readings);
        self.server(page, readings);
        self.lateness(page, readings);
    }

    fn steps(&self, y: &Axis, value: impl Fn(&Interval) -> Option<f64>) -> String {
        let stretch = |i: &Interval| {
            let (from, to) = (self.x.at(i.from_ns as f64), self.x.at(i.to_ns as f64));
            (from, to, value(i).map(|value| y.at(value)))
        };
        steps(self.intervals.iter().map(stretch))
    }

    fn reading(&self, name: &str, unit: &str, value: impl Fn(&Interval) -> Option<f64>) -> String {
        let digits = usize::from(unit != "ns") * 2;
        let values = numbers(self.intervals.iter().map(value), digits);
        format!("{{\"name\":\"{name}\",\"unit\":\"{unit}\",\"v\":{values}}}")
    }

    fn highest(&self, value: impl Fn(&Interval) -> f64) -> f64 {
        self.intervals.iter().map(value).fold(0.0, f64::max)
    }

    /// The stretches in which the tester did not run.
    fn pauses(&self) -> Vec<Band> {
        let band = |pause: &plimsoll_core::verdict::Pause| Band {
            from: self.x.at(pause.at_ns as f64),
            to: self.x.at((pause.at_ns + pause.for_ns) as f64),
        };
        self.result.loader.pauses.iter().take(PAUSES_SHOWN).map(band).collect()
    }

    fn chart(&self, page: &mut String, y: &Axis, lines: Vec<Line<'_>>, words: Words<'_>) {
        let chart = Chart {
            id: words.id,
            group: Some("time"),
            title: words.title,
            description: words.description,
            how: words.how,
            x: &self.x,
            y,
            lines,
            marks: Vec::new(),
            band_name: "tester paused",
            bands: self.pauses(),
            low: words.low,
        };
        chart.write(page);
    }

    fn rate(&self, page: &mut String, readings: &mut Readings) {
        let target = self.result.plan.rate.as_ref().filter(|profile| is_drawable(profile));
        let peak_rps = target.map_or(0.0, |profile| profile.peak_uhz() as f64 / 1e6);
        let highest = self.highest(|i| i.sent_rps.max(i.ok_rps + i.failed_rps));
        let y = Axis::from_zero(1.05 * highest.max(peak_rps), rate_name);
        let values: [RateLine; 4] = [
            ("s-sent", "sent", |i| i.sent_rps),
            ("s-ok", "ok", |i| i.ok_rps),
            ("s-failed", "failed", |i| i.failed_rps),
            ("s-lost", "timed out or broken", |i| i.lost_rps),
        ];
        let mut lines = Vec::new();
        let mut data = Vec::new();
        for (class, name, value) in values {
            let always = matches!(name, "sent" | "ok");
            if always || self.highest(value) > 0.0 {
                lines.push(Line { class, name, path: self.steps(&y, |i| Some(value(i))) });
                data.push(self.reading(name, "/s", |i| Some(value(i))));
            }
        }
        if let Some(profile) = target {
            lines.push(Line { class: "s-target", name: "target", path: self.target(profile, &y) });
        }
        readings.add("rate", data);
        let description = format!(
            "Requests per second over time. At most {}/s were sent and {}/s answered as expected \
             in one interval. The values are in the table of intervals below.",
            format_rate(self.highest(|i| i.sent_rps)),
            format_rate(self.highest(|i| i.ok_rps)),
        );
        let words = Words {
            id: "rate",
            title: "Requests per second",
            description,
            how: RATE_HOW,
            low: false,
        };
        self.chart(page, &y, lines, words);
    }

    /// The rate that was asked for, through the ends of the stages, as far as the run went.
    fn target(&self, profile: &Profile, y: &Axis) -> String {
        let length_ns = self.intervals.last().map_or(0, |interval| interval.to_ns);
        let (mut points, mut start_ns) = (Vec::new(), 0);
        for stage in &profile.stages {
            let window_ns = self.result.rate.window_ns.max(start_ns);
            let stop_ns = stage.duration_ns.map_or(window_ns, |duration_ns| start_ns + duration_ns);
            let shown_ns = stop_ns.min(length_ns).saturating_sub(start_ns);
            let share = shown_ns as f64 / stop_ns.saturating_sub(start_ns).max(1) as f64;
            let (from, to) = (stage.from_uhz as f64 / 1e6, stage.to_uhz as f64 / 1e6);
            if start_ns < length_ns {
                points.push((self.x.at(start_ns as f64), y.at(from)));
                points.push((
                    self.x.at((start_ns + shown_ns) as f64),
                    y.at(from + share * (to - from)),
                ));
            }
            start_ns = stop_ns;
        }
        curve(&points)
    }

    fn latency(&self, page: &mut String, readings: &mut Readings) {
        let response = |i: &Interval| i.response_ns;
        let lowest = self.intervals.iter().filter_map(response).map(|[p50, ..]| p50).min();
        let highest = self.intervals.iter().filter_map(response).map(|[.., max]| max).max();
        let services = || self.intervals.iter().filter_map(|i| i.service_p99_ns);
        let lowest = lowest.into_iter().chain(services()).min();
        let (Some(lowest), Some(highest)) = (lowest, highest) else { return };
        let y = Axis::durations(lowest, highest);
        let values: [LatencyLine; 4] = [
            ("s-max", "response max", |i| i.response_ns.map(|ns| ns[2] as f64)),
            ("s-p99", "response p99", |i| i.response_ns.map(|ns| ns[1] as f64)),
            ("s-p50", "response p50", |i| i.response_ns.map(|ns| ns[0] as f64)),
            ("s-service", "service p99", |i| i.service_p99_ns.map(|ns| ns as f64)),
        ];
        let line =
            |(class, name, value): &LatencyLine| Line { class, name, path: self.steps(&y, value) };
        let lines = values.iter().map(line).collect();
        let data = values.iter().map(|(_, name, value)| self.reading(name, "ns", value)).collect();
        readings.add("latency", data);
        let description = format!(
            "Median, 99th percentile and maximum of the response time and 99th percentile of the \
             service time over time. The slowest response took {}. The values are in the table of \
             intervals below.",
            format_ns(highest)
        );
        let title = "Latency over time";
        let words = Words { id: "latency", title, description, how: LATENCY_HOW, low: false };
        self.chart(page, &y, lines, words);
    }

    fn cpu(&self, page: &mut String, readings: &mut Readings) {
        let limit = f64::from(self.result.loader.workers.max(1));
        let highest = self.highest(|i| i.cpu_cores);
        let y = Axis::from_zero(highest.max(limit), percent_name);
        let at_limit = y.at(limit);
        let lines = vec![
            Line {
                class: "s-limit",
                name: "all its threads can use",
                path: curve(&[(0.0, at_limit), (1.0, at_limit)]),
            },
            Line { class: "s-tester", name: "used", path: self.steps(&y, |i| Some(i.cpu_cores)) },
        ];
        readings.add("cpu", vec![self.reading("used", "cores", |i| Some(i.cpu_cores))]);
        let description = format!(
            "CPU time of the tester over time, at most {} of the {} that its threads can use.",
            percent_name(highest),
            percent_name(limit)
        );
        let title = "The tester's CPU, 100 % is one core";
        self.chart(
            page,
            &y,
            lines,
            Words { id: "cpu", title, description, how: CPU_HOW, low: true },
        );
    }

    /// CPU and memory of the server, where it was watched.
    fn server(&self, page: &mut String, readings: &mut Readings) {
        let Some(usage) = self.result.target.as_ref().filter(|u| is_drawable_usage(u)) else {
            return;
        };
        let cores = |i: &Interval| server::cores(usage, i.from_ns, i.to_ns);
        let highest = self.highest(cores);
        let y = Axis::from_zero(1.05 * highest, percent_name);
        let path = self.steps(&y, |i| Some(cores(i)));
        readings.add("server-cpu", vec![self.reading("used", "cores", |i| Some(cores(i)))]);
        let words = Words {
            id: "server-cpu",
            title: "The server's CPU, 100 % is one core",
            description: format!(
                "CPU time of the server's processes over time, at most {}.",
                percent_name(highest)
            ),
            how: SERVER_CPU_HOW,
            low: true,
        };
        self.chart(page, &y, vec![Line { class: "s-ok", name: "used", path }], words);
        let memory = |i: &Interval| server::rss_mib(usage, i.to_ns);
        let highest = self.highest(memory);
        let y = Axis::from_zero(1.05 * highest, mib_name);
        let path = self.steps(&y, |i| Some(memory(i)));
        readings.add("server-memory", vec![self.reading("resident", "MiB", |i| Some(memory(i)))]);
        let words = Words {
            id: "server-memory",
            title: "The server's memory",
            description: format!(
                "Resident memory of the server's processes over time, at most {} at the end of an \
                 interval.",
                mib_name(highest)
            ),
            how: SERVER_MEMORY_HOW,
            low: true,
        };
        self.chart(page, &y, vec![Line { class: "s-ok", name: "resident", path }], words);
    }

    fn lateness(&self, page: &mut String, readings: &mut Readings) {
        let values = || self.intervals.iter().map(|i| i.lateness_max_ns).filter(|ns| *ns > 0);
        let (Some(lowest), Some(highest)) = (values().min(), values().max()) else { return };
        let y = Axis::durations(lowest, highest);
        let value = |i: &Interval| (i.lateness_max_ns > 0).then_some(i.lateness_max_ns as f64);
        let path = self.steps(&y, value);
        readings.add("lateness", vec![self.reading("worst", "ns", value)]);
        let description =
            format!("The tester's worst lateness over time, at most {}.", format_ns(highest));
        let title = "The tester's lateness";
        let lines = vec![Line { class: "s-tester", name: "worst in the interval", path }];
        let words = Words { id: "lateness", title, description, how: LATENESS_HOW, low: true };
        self.chart(page, &y, lines, words);
    }
}

/// Pauses that are shaded; a tester that paused more often has them in its verdict.
const PAUSES_SHOWN: usize = 200;

/// Stages up to which the target rate is drawn.
const STAGES_DRAWN: usize = 200;

type RateLine = (&'static str, &'static str, fn(&Interval) -> f64);
type LatencyLine = (&'static str, &'static str, fn(&Interval) -> Option<f64>);

/// The words of a chart.
struct Words<'a> {
    id: &'static str,
    title: &'static str,
    description: String,
    how: &'a str,
    low: bool,
}

/// A line of CPU time that is too low would be none.
fn is_drawable_usage(usage: &Usage) -> bool {
    !usage.samples.is_empty() && usage.cpu_unknown.is_none()
}

fn is_drawable(profile: &Profile) -> bool {
    profile.stages.len() <= STAGES_DRAWN
}

/// The data of the charts as an element of the page.
pub(super) fn data_island(readings: &Readings, page: &mut String) {
    push(
        page,
        format_args!(
            "<script type=\"application/json\" id=\"data\">{}</script>\n",
            readings.json()
        ),
    );
}

//! Progress while a test runs: a line of totals, and one for each scenario.
//!
//! On a terminal the lines have bars that take the room that is left, and each frame replaces the
//! last. Elsewhere they have percentages.

use crate::duration;
use crate::k6::scenario::{Executor, Scenario};
use crate::k6::segment::Part;

/// The width of a bar with its brackets.
const WIDTH_MAX: usize = 40;

/// At this width a percentage stands in place of a bar.
const WIDTH_MIN: usize = 8;

/// The room for names, at the least: k6 counts the word `Init` too, which it shows before a run.
const NAME_BYTES_MIN: usize = 4;

/// The longest name that is shown.
const NAME_BYTES_MAX: usize = 30;

/// What a scenario is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It has not started.
    Waiting,
    /// Iterations start.
    Running,
    /// Iterations end.
    Stopping,
    /// Iterations were interrupted.
    Interrupted,
    /// It has ended.
    Done,
}

impl Status {
    fn show(self, has_colors: bool) -> String {
        let (mark, color) = match self {
            Self::Running => return " ".to_owned(),
            Self::Stopping => return "↓".to_owned(),
            Self::Waiting => ("•", "2"),
            Self::Interrupted => ("✗", "31"),
            Self::Done => ("✓", "32"),
        };
        match (has_colors, self) {
            (false, _) => mark.to_owned(),
            (true, Self::Waiting) => format!("\x1b[{color}m{mark}\x1b[22m"),
            (true, _) => format!("\x1b[{color}m{mark}\x1b[0m"),
        }
    }
}

/// The state of a scenario.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Live {
    /// What it is doing.
    pub status: Status,
    /// How long ago it started, or how long until it does when it is waiting.
    pub time_ns: u64,
    /// VUs in an iteration, or in their loop.
    pub active_vus: u64,
    /// VUs that it has, where iterations start at a rate.
    pub vus: u64,
    /// Iterations that have ended.
    pub iterations: u64,
}

/// A line of progress.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// The scenario.
    pub name: String,
    /// What it is doing.
    pub status: Status,
    /// How far it is, 0 to 1.
    pub progress: f64,
    /// Figures.
    pub columns: Vec<String>,
}

/// The line of a scenario in a part of the run.
#[must_use]
pub fn bar(scenario: &Scenario, part: &Part, live: &Live) -> Bar {
    let (progress, columns) = match live.status {
        Status::Waiting => {
            let left = duration::print_fixed(live.time_ns, scenario.start_ns);
            (0.0, vec!["waiting".to_owned(), left])
        }
        _ => figures(scenario, part, live),
    };
    let progress = if progress.is_nan() { 0.0 } else { progress.clamp(0.0, 1.0) };
    Bar { name: scenario.name.clone(), status: live.status, progress, columns }
}

fn figures(scenario: &Scenario, part: &Part, live: &Live) -> (f64, Vec<String>) {
    let whole_ns = scenario.regular_duration_ns();
    let whole = duration::print(i64::try_from(whole_ns).unwrap_or(i64::MAX));
    let is_over = live.time_ns > whole_ns;
    let of_time = |whole: &str| match is_over {
        true => whole.to_owned(),
        false => format!("{}/{whole}", duration::print_fixed(live.time_ns, whole_ns)),
    };
    let share = |done: u64, all: u64| if all == 0 { 0.0 } else { done as f64 / all as f64 };
    let time_share = if is_over { 1.0 } else { share(live.time_ns, whole_ns) };
    let fixed = |value: u64, most: u64| format!("{value:0width$}", width = digits(most));
    match &scenario.executor {
        Executor::ConstantVus { vus, .. } => {
            (time_share, vec![format!("{} VUs", part.scale(*vus)), of_time(&whole)])
        }
        Executor::RampingVus { ramp, .. } => {
            let targets = ramp.stages.iter().map(|stage| stage.target);
            let most = part.scale(targets.fold(ramp.start, u64::max));
            let vus = format!("{}/{} VUs", fixed(live.active_vus, most), fixed(most, most));
            let of_time = match is_over {
                true => whole,
                false => of_time(&duration::print_fixed(whole_ns, whole_ns)),
            };
            (time_share, vec![vus, of_time])
        }
        Executor::SharedIterations { vus, iterations, .. } => {
            let all = part.weighted(*vus).scale(*iterations);
            let of_time = format!("{}/{whole}", duration::print_fixed(live.time_ns, whole_ns));
            let done = format!("{}/{} shared iters", fixed(live.iterations, all), fixed(all, all));
            let vus = format!("{} VUs", part.scale(*vus));
            (share(live.iterations, all), vec![vus, of_time, done])
        }
        Executor::PerVuIterations { vus, iterations, .. } => {
            let vus = part.scale(*vus);
            let all = vus.saturating_mul(*iterations);
            let (done, of_all) = (fixed(live.iterations, all), fixed(all, all));
            let iters = format!("{done}/{of_all} iters, {iterations} per VU");
            let progress = if is_over { 1.0 } else { share(live.iterations, all) };
            (progress, vec![format!("{vus} VUs"), of_time(&whole), iters])
        }
        Executor::ConstantArrivalRate { rate, time_unit_ns, pool, .. } => {
            let rate_hz = *rate as f64 * 1e9 / *time_unit_ns as f64 * part.share;
            let most = part.scale(pool.max_vus);
            let vus = format!("{}/{} VUs", fixed(live.active_vus, most), fixed(live.vus, most));
            (time_share, vec![vus, of_time(&whole), rate_column(rate_hz, rate_hz)])
        }
        Executor::RampingArrivalRate { start_rate, stages, time_unit_ns, pool, arrivals } => {
            let in_second = |rate: f64| rate * 1e9 / *time_unit_ns as f64 * part.share;
            let targets = stages.iter().map(|stage| stage.target);
            let peak_hz = in_second(targets.fold(*start_rate, u64::max) as f64);
            let now_hz = in_second(arrivals.rate_at(live.time_ns));
            let most = part.scale(pool.max_vus);
            let vus = format!("{}/{} VUs", fixed(live.active_vus, most), fixed(live.vus, most));
            (time_share, vec![vus, of_time(&whole), rate_column(now_hz, peak_hz)])
        }
    }
}

fn rate_column(rate_hz: f64, peak_hz: f64) -> String {
    let width = digits(peak_hz as u64) + 3;
    format!("{rate_hz:0width$.2} iters/s")
}

fn digits(most: u64) -> usize {
    most.checked_ilog10().unwrap_or(0) as usize + 1
}

/// The line above the scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// How long ago the test started.
    pub time_ns: u64,
    /// How long it takes at most.
    pub max_ns: u64,
    /// VUs in an iteration, or in their loop.
    pub active_vus: u64,
    /// VUs that are initialised.
    pub vus: u64,
    /// VUs that there may be.
    pub max_vus: u64,
    /// Iterations that have ended.
    pub complete: u64,
    /// Iterations that were interrupted.
    pub interrupted: u64,
    /// Whether the test waits for someone to start it.
    pub is_paused: bool,
}

impl Totals {
    /// `running (01.0s), 1/1 VUs, 5 complete and 0 interrupted iterations`.
    #[must_use]
    pub fn line(&self) -> String {
        let width = digits(self.max_vus);
        let time = duration::print_fixed(self.time_ns, self.max_ns);
        format!(
            "{} ({time}), {:0width$}/{:0width$} VUs, {} complete and {} interrupted iterations",
            if self.is_paused { "paused" } else { "running" },
            self.active_vus,
            self.vus,
            self.complete,
            self.interrupted,
        )
    }
}

/// Makes one frame after the other, with bars as wide as the terminal allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    is_tty: bool,
    has_colors: bool,
    bar_width: usize,
}

impl Frame {
    /// Frames for a terminal, or for a file or pipe.
    #[must_use]
    pub fn new(is_tty: bool, has_colors: bool) -> Self {
        let bar_width = if is_tty { WIDTH_MAX } else { WIDTH_MIN };
        Self { is_tty, has_colors, bar_width }
    }

    /// An empty line, the totals and a line for each scenario. On a terminal of `columns` the
    /// cursor goes back to the start of the frame, unless it is the last one.
    pub fn render(&mut self, totals: &str, bars: &[Bar], columns: usize, is_last: bool) -> String {
        let end = if self.is_tty { "\x1b[K\n" } else { "\n" };
        let longest_name = bars.iter().map(|bar| bar.name.len()).max().unwrap_or(0);
        let names = longest_name.clamp(NAME_BYTES_MIN, NAME_BYTES_MAX);
        let mut widths = [0; 2];
        for bar in bars {
            let aligned = bar.columns.len().saturating_sub(1).min(widths.len());
            for (width, column) in widths.iter_mut().zip(&bar.columns[..aligned]) {
                *width = (*width).max(column.len());
            }
        }
        let mut text = format!("{end}{totals}{end}");
        let (mut longest, mut wrapped) = (0, 0);
        let wraps = |length: usize| length.saturating_sub(1) / columns.max(1);
        wrapped += wraps(totals.chars().count());
        for bar in bars {
            let plain = self.line(bar, names, &widths, false);
            let length = plain.chars().count();
            longest = longest.max(length);
            wrapped += wraps(length);
            text.push_str(&if self.has_colors {
                self.line(bar, names, &widths, true)
            } else {
                plain
            });
            text.push_str(end);
        }
        if self.is_tty {
            if !is_last {
                // The totals are a line of their own.
                text.push_str(&format!("\r\x1b[J\x1b[{}A", bars.len() + 1 + wrapped + 1));
            }
            let width = (self.bar_width + columns).saturating_sub(longest + 1);
            self.bar_width = width.clamp(WIDTH_MIN, WIDTH_MAX);
        }
        text
    }

    fn line(&self, bar: &Bar, names: usize, widths: &[usize; 2], has_colors: bool) -> String {
        let name = shown_name(&bar.name, names);
        let status = bar.status.show(has_colors);
        let mut line = format!("{name:<names$} {status} [{}]", self.body(bar.progress, has_colors));
        for (at, column) in bar.columns.iter().enumerate() {
            let width = widths.get(at).copied().unwrap_or(0) + 1;
            line.push_str(&format!(" {column:<width$}"));
        }
        line
    }

    fn body(&self, progress: f64, has_colors: bool) -> String {
        if self.bar_width <= WIDTH_MIN {
            return format!(" {:3.0}% ", progress * 100.0);
        }
        let space = self.bar_width - 2;
        let filled = (space as f64 * progress) as usize;
        let (full, tip) = match filled {
            0 => (0, ""),
            _ if filled < space => (filled - 1, ">"),
            _ => (filled, ""),
        };
        let rest = "-".repeat(space - filled);
        let rest = if has_colors { format!("\x1b[2m{rest}\x1b[22m") } else { rest };
        format!("{}{tip}{rest}", "=".repeat(full))
    }
}

/// A name, cut off with three dots where it is too long.
fn shown_name(name: &str, width: usize) -> String {
    if name.len() <= width {
        return name.to_owned();
    }
    format!("{}...", &name[..name.floor_char_boundary(width.saturating_sub(3))])
}

//! Scales: from values to positions on an axis (0 to 1), and from positions to labels. Steps are 1,
//! 2 and 5; decades on logarithmic axes; whole seconds, minutes and hours on time axes.

use plimsoll_core::units::{format_bytes, format_rate};

/// A labelled or plain mark on an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    /// From 0 (start) to 1 (end).
    pub(crate) at: f64,
    /// What it says; empty for a plain line.
    pub(crate) label: String,
    /// Whether it may be left out where there is little room.
    pub(crate) minor: bool,
}

/// An axis: its marks, and where a value stands on it.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    from: f64,
    to: f64,
    logarithmic: bool,
    pub(crate) ticks: Vec<Tick>,
}

/// Labels that fit on a vertical axis.
const LABELS_HIGH: f64 = 5.0;

/// Labels that fit on a time axis.
const LABELS_WIDE: f64 = 10.0;

/// Decades up to which a logarithmic axis has labels between the powers of ten.
const DECADES_LABELLED_WITHIN: i32 = 2;

const STEPS_S: [f64; 22] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0,
    300.0, 600.0, 1_800.0, 3_600.0, 7_200.0, 21_600.0,
];

impl Axis {
    /// Where a value stands, from 0 to 1; values outside stand at the ends.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let map = |v: f64| if self.logarithmic { v.max(f64::MIN_POSITIVE).log10() } else { v };
        let share = (map(value) - map(self.from)) / (map(self.to) - map(self.from));
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// An axis from 0 to at least `highest`, with labels by `name`.
    pub(crate) fn from_zero(highest: f64, name: fn(f64) -> String) -> Self {
        let highest = if highest.is_finite() && highest > 0.0 { highest } else { 1.0 };
        let step = nice_step(highest / LABELS_HIGH);
        let steps = (highest / step - 1e-9).ceil();
        let to = steps * step;
        let tick = |i: u32| {
            let value = f64::from(i) * step;
            Tick { at: value / to, label: name(value), minor: false }
        };
        Self { from: 0.0, to, logarithmic: false, ticks: (0..=steps as u32).map(tick).collect() }
    }

    /// An axis of memory from 0 to at least `highest` bytes.
    pub(crate) fn bytes(highest: f64) -> Self {
        let highest = if highest.is_finite() && highest > 1.0 { highest } else { 1.0 };
        // The least power of two that fits with few labels.
        let mut step = 1.0;
        while highest / step > LABELS_HIGH {
            step *= 2.0;
        }
        let steps = (highest / step - 1e-9).ceil();
        let tick = |i: u32| {
            let value = f64::from(i) * step;
            Tick { at: f64::from(i) / steps, label: format_bytes(value as u64), minor: false }
        };
        let ticks = (0..=steps as u32).map(tick).collect();
        Self { from: 0.0, to: steps * step, logarithmic: false, ticks }
    }

    /// A logarithmic axis of durations that holds `lowest_ns` to `highest_ns`.
    pub(crate) fn durations(lowest_ns: u64, highest_ns: u64) -> Self {
        let (mut lowest, mut highest) = (lowest_ns.max(1) as f64, highest_ns.max(1) as f64);
        if highest < 2.0 * lowest {
            (lowest, highest) = ((lowest / 1.5).max(1.0), highest * 1.5);
        }
        let within = highest.log10().ceil() - lowest.log10().floor();
        let fine = within as i32 <= DECADES_LABELLED_WITHIN;
        let (from, to) = (round_down(lowest), round_up(highest));
        let mut axis = Self { from, to, logarithmic: true, ticks: Vec::new() };
        let decades = from.log10().floor() as i32..=to.log10().ceil() as i32;
        for (decade, factor) in decades.flat_map(|d| [1.0, 2.0, 5.0].map(|f| (d, f))) {
            let value = factor * 10f64.powi(decade);
            if value < from * 0.999 || value > to * 1.001 {
                continue;
            }
            let labelled = factor == 1.0 || fine;
            let label = if labelled { duration_name(value) } else { String::new() };
            axis.ticks.push(Tick { at: axis.at(value), label, minor: factor != 1.0 });
        }
        axis
    }

    /// The time of a run.
    pub(crate) fn time(length_ns: u64) -> Self {
        let length_s = (length_ns.max(1) as f64) / 1e9;
        let enough = |step: &&f64| length_s / **step <= LABELS_WIDE;
        let mut step = *STEPS_S.iter().find(enough).unwrap_or(&86_400.0);
        while length_s / step > LABELS_WIDE {
            step *= 2.0;
        }
        let count = (length_s / step + 1e-9) as u32;
        let tick = |i: u32| Tick {
            at: f64::from(i) * step / length_s,
            label: time_name(f64::from(i) * step, step),
            minor: i % 2 == 1,
        };
        let ticks = (0..=count).map(tick).collect();
        Self { from: 0.0, to: length_ns.max(1) as f64, logarithmic: false, ticks }
    }

    /// Quantiles by the share beyond them, 1/(1-q), for `count` samples.
    pub(crate) fn quantiles(count: u64) -> Self {
        let to = 10f64.powf((count.max(10) as f64).log10().max(2.0));
        let mut axis = Self { from: 1.0, to, logarithmic: true, ticks: Vec::new() };
        let decades = (to.log10() + 1e-9) as usize;
        let nines = (1..=decades).map(|decade| {
            let label = match decade {
                1 => "90 %".to_owned(),
                2 => "99 %".to_owned(),
                more => format!("99.{} %", "9".repeat(more - 2)),
            };
            (10f64.powi(decade as i32), label, false)
        });
        let marks = [(1.0, "0 %".to_owned(), true), (2.0, "50 %".to_owned(), false)];
        for (value, label, minor) in marks.into_iter().chain(nines) {
            axis.ticks.push(Tick { at: axis.at(value), label, minor });
        }
        axis
    }
}

/// The least of 1, 2 or 5 times a power of ten that is not below `least`.
fn nice_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factors = [1.0, 2.0, 5.0];
    power * factors.into_iter().find(|factor| factor * power >= least * 0.999).unwrap_or(10.0)
}

fn round_up(value: f64) -> f64 {
    nice_step(value)
}

fn round_down(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let factors = [5.0, 2.0];
    power * factors.into_iter().find(|factor| factor * power <= value * 1.001).unwrap_or(1.0)
}

/// `50 µs`, `2 ms`, `100 s`: for round values.
pub(crate) fn duration_name(value_ns: f64) -> String {
    let (scaled, unit) = match value_ns {
        v if v < 999.5 => (v, "ns"),
        v if v < 999_500.0 => (v / 1e3, "µs"),
        v if v < 999.5e6 => (v / 1e6, "ms"),
        v => (v / 1e9, "s"),
    };
    format!("{scaled:.0} {unit}")
}

/// `40 %` for 0.4.
pub(crate) fn percent_name(share: f64) -> String {
    let percent = share * 100.0;
    if percent.fract().abs() < 1e-6 || percent > 10.0 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// `16 MiB`, `0.5 MiB`.
pub(crate) fn mib_name(mib: f64) -> String {
    format!("{} MiB", rate_name(mib))
}

/// `20 000`, `0.5`.
pub(crate) fn rate_name(rps: f64) -> String {
    if rps >= 1_000.0 {
        return format_rate(rps);
    }
    let text = format!("{rps:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn time_name(time_s: f64, step_s: f64) -> String {
    let (scaled, unit) = match step_s {
        step if step < 0.1 => (time_s * 1e3, "ms"),
        step if step < 60.0 => (time_s, "s"),
        step if step < 3_600.0 => (time_s / 60.0, "min"),
        step if step < 86_400.0 => (time_s / 3_600.0, "h"),
        _ => (time_s / 86_400.0, "d"),
    };
    let digits = usize::from(step_s < 1.0 && unit == "s");
    format!("{scaled:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> String {
        let labels = axis.ticks.iter().map(|tick| tick.label.as_str());
        labels.filter(|label| !label.is_empty()).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn labels_are_round() {
        let cases = [
            (Axis::from_zero(1_000.0, rate_name), "0, 200, 400, 600, 800, 1 000"),
            (Axis::from_zero(171_234.0, rate_name), "0, 50 000, 100 000, 150 000, 200 000"),
            (Axis::from_zero(0.5, rate_name), "0, 0.1, 0.2, 0.3, 0.4, 0.5"),
            (Axis::from_zero(0.0, rate_name), "0, 0.2, 0.4, 0.6, 0.8, 1"),
            (Axis::from_zero(2.0, percent_name), "0 %, 50 %, 100 %, 150 %, 200 %"),
            (Axis::bytes(6_800_000.0), "0 B, 2.00 MiB, 4.00 MiB, 6.00 MiB, 8.00 MiB"),
            (Axis::bytes(0.0), "0 B, 1 B"),
            (Axis::durations(31_000, 312_000_000), "100 µs, 1 ms, 10 ms, 100 ms"),
            (Axis::durations(31_000, 82_000), "20 µs, 50 µs, 100 µs"),
            (Axis::durations(0, 0), "1 ns, 2 ns"),
            (Axis::durations(5_000_000, 5_000_000), "2 ms, 5 ms, 10 ms"),
            (Axis::time(10_000_000_000), "0 s, 1 s, 2 s, 3 s, 4 s, 5 s, 6 s, 7 s, 8 s, 9 s, 10 s"),
            (
                Axis::time(400_000_000),
                "0 ms, 50 ms, 100 ms, 150 ms, 200 ms, 250 ms, 300 ms, 350 ms, 400 ms",
            ),
            (
                Axis::time(3_600_000_000_000),
                "0 min, 10 min, 20 min, 30 min, 40 min, 50 min, 60 min",
            ),
            (Axis::time(7 * 86_400_000_000_000), "0 d, 1 d, 2 d, 3 d, 4 d, 5 d, 6 d, 7 d"),
            (Axis::quantiles(250_000), "0 %, 50 %, 90 %, 99 %, 99.9 %, 99.99 %, 99.999 %"),
            (Axis::quantiles(3), "0 %, 50 %, 90 %, 99 %"),
        ];
        for (axis, want) in cases {
            assert_eq!(labels(&axis), want);
            assert!(axis.ticks.iter().all(|tick| (-1e-9..=1.0 + 1e-9).contains(&tick.at)));
        }
    }

    #[test]
    fn values_stand_where_they_belong() {
        let axis = Axis::durations(10_000, 10_000_000);
        for (value, at) in [(10_000.0, 0.0), (100_000.0, 1.0 / 3.0), (1e7, 1.0), (1e12, 1.0)] {
            assert!((axis.at(value) - at).abs() < 1e-9, "{value}");
        }
        assert!(axis.at(0.0).abs() < 1e-9);
        let quantiles = Axis::quantiles(10_000);
        assert!((quantiles.at(100.0) - 0.5).abs() < 1e-9);
    }
}

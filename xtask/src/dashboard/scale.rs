//! Axes: round numbers for ticks, and values in the units of Grafana.

/// The unit of a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Plain,
    Seconds,
    Percent,
    BytesPerSecond,
    RequestsPerSecond,
}

impl Unit {
    /// By Grafana's name of it.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "s" => Self::Seconds,
            "percentunit" => Self::Percent,
            "Bps" => Self::BytesPerSecond,
            "reqps" => Self::RequestsPerSecond,
            _ => Self::Plain,
        }
    }

    /// A value as Grafana writes it.
    pub(crate) fn write(self, value: f64) -> String {
        match self {
            Self::Plain => with_prefix(value, ""),
            Self::Seconds => match value {
                0.0 => "0 s".to_owned(),
                v if v < 1e-3 => format!("{} µs", short(v * 1e6)),
                v if v < 1.0 => format!("{} ms", short(v * 1e3)),
                v => format!("{} s", short(v)),
            },
            Self::Percent => format!("{}%", short(value * 100.0)),
            Self::BytesPerSecond => with_prefix(value, "B/s"),
            Self::RequestsPerSecond => with_prefix(value, "req/s"),
        }
    }
}

fn with_prefix(value: f64, unit: &str) -> String {
    let (scaled, prefix) = match value.abs() {
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    format!("{} {prefix}{unit}", short(scaled)).trim_end().to_owned()
}

/// A number with three digits, without zeros at its end.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Round numbers from 0 to a maximum and above it, four or five of them.
pub(crate) fn ticks(max: f64) -> Vec<f64> {
    let max = if max > 0.0 { max } else { 1.0 };
    let power = 10f64.powf((max / 4.0).log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    let step = steps.iter().map(|step| step * power).find(|step| step * 4.0 >= max * 0.999);
    let step = step.unwrap_or(10.0 * power);
    let count = (max / step).ceil().max(1.0) as usize;
    (0..=count).map(|tick| tick as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_maximum() {
        for (max, want) in [
            (0.0, vec![0.0, 0.25, 0.5, 0.75, 1.0]),
            (4.0, vec![0.0, 1.0, 2.0, 3.0, 4.0]),
            (2950.0, vec![0.0, 1000.0, 2000.0, 3000.0]),
            (50.0, vec![0.0, 20.0, 40.0, 60.0]),
        ] {
            assert_eq!(ticks(max), want, "{max}");
        }
    }

    #[test]
    fn values_are_written_with_their_unit() {
        for (unit, value, want) in [
            (Unit::named("reqps"), 2500.0, "2.5 kreq/s"),
            (Unit::named("s"), 0.0004, "400 µs"),
            (Unit::named("s"), 0.025, "25 ms"),
            (Unit::named("s"), 1.5, "1.5 s"),
            (Unit::named("percentunit"), 0.125, "12.5%"),
            (Unit::named("Bps"), 1_250_000.0, "1.25 MB/s"),
            (Unit::named("short"), 50.0, "50"),
            (Unit::named("none"), 0.0, "0"),
        ] {
            assert_eq!(unit.write(value), want);
        }
    }
}

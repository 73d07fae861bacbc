//! Values as the summary shows them, with units.

use crate::k6::metrics::{Contains, Kind};
use crate::numbers::{javascript, rounded, to_fixed, truncated};

/// A fixed unit of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// `s`
    Seconds,
    /// `ms`
    Milliseconds,
    /// `us`
    Microseconds,
}

impl TimeUnit {
    /// Reads `s`, `ms` or `us`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "s" => Self::Seconds,
            "ms" => Self::Milliseconds,
            "us" => Self::Microseconds,
            _ => return None,
        })
    }

    /// As it is written in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
        }
    }

    fn show(self, ms: f64) -> String {
        let (scale, unit) = match self {
            Self::Seconds => (0.001, "s"),
            Self::Milliseconds => (1.0, "ms"),
            Self::Microseconds => (1000.0, "µs"),
        };
        format!("{}{unit}", to_fixed(ms * scale, 2))
    }
}

/// A value of a metric.
pub(super) fn value(value: f64, kind: Kind, contains: Contains, unit: Option<TimeUnit>) -> String {
    match (kind, contains) {
        (Kind::Rate, _) => percent(value),
        (_, Contains::Data) => bytes(value),
        (_, Contains::Time) => unit.map_or_else(|| time(value), |unit| unit.show(value)),
        (_, Contains::Default) => rounded(value, 6),
    }
}

/// A share as per cent, cut off after two digits.
pub(super) fn percent(share: f64) -> String {
    format!("{}%", to_fixed((share * 100.0 * 100.0).trunc() / 100.0, 2))
}

fn bytes(value: f64) -> String {
    const UNITS: [&str; 9] = ["B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"];
    if value < 10.0 {
        return format!("{} B", javascript(value));
    }
    let power = (value.ln() / 1000f64.ln()).floor();
    let unit = UNITS.get(power as usize).copied().unwrap_or("undefined");
    let tenths = (value / 1000f64.powf(power) * 10.0 + 0.5).floor() / 10.0;
    format!("{} {unit}", to_fixed(tenths, usize::from(tenths < 10.0)))
}

/// A time in the unit that suits it, cut off after two digits; from a minute on in whole seconds.
fn time(ms: f64) -> String {
    if ms == 0.0 {
        return "0s".to_owned();
    }
    if ms < 0.001 {
        return format!("{}ns", javascript((ms * 1e6).trunc()));
    }
    if ms < 1.0 {
        return format!("{}µs", truncated(ms * 1000.0));
    }
    if ms < 1000.0 {
        return format!("{}ms", truncated(ms));
    }
    let seconds = ms % 60_000.0 / 1000.0;
    let seconds = if ms > 60_000.0 { rounded(seconds.trunc(), 0) } else { truncated(seconds) };
    let minutes = (ms / 60_000.0).trunc();
    if minutes < 1.0 {
        return format!("{seconds}s");
    }
    let hours = (minutes / 60.0).trunc();
    let minutes = javascript(minutes % 60.0);
    if hours < 1.0 {
        return format!("{minutes}m{seconds}s");
    }
    format!("{}h{minutes}m{seconds}s", javascript(hours))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Most of these are what k6 v1.8.1 printed for the values.
    #[test]
    fn values_are_shown_as_in_k6() {
        for (ms, want) in [
            (0.0, "0s"),
            (0.000_000_49, "0ns"),
            (0.000_801, "801ns"),
            (-1.5, "-1500000ns"),
            (0.001_5, "1.5µs"),
            (0.351_742, "351.74µs"),
            (0.999_99, "999.99µs"),
            (1.005, "1ms"),
            (47.92, "47.92ms"),
            (999.999_5, "999.99ms"),
            (1000.0, "1s"),
            (1_234.567_8, "1.23s"),
            (59_999.999, "59.99s"),
            (60_000.0, "1m0s"),
            (61_234.0, "1m1s"),
            (3_661_000.0, "1h1m1s"),
            (90_061_000.7, "25h1m1s"),
            (1e308, "2.777777777777778e+301h36m38s"),
            (f64::INFINITY, "InfinityhNaNmNaNs"),
            (f64::NEG_INFINITY, "-Infinityns"),
        ] {
            assert_eq!(time(ms), want, "{ms}");
        }
        for (count, want) in [
            (0.0, "0 B"),
            (9.0, "9 B"),
            (3.789_25, "3.78925 B"),
            (10.0, "10 B"),
            (863.0, "863 B"),
            (869.579, "870 B"),
            (2181.0, "2.2 kB"),
            (10_000.0, "10 kB"),
            (9_960.0, "10 kB"),
            (1_234_567.0, "1.2 MB"),
        ] {
            assert_eq!(bytes(count), want, "{count}");
        }
        for (share, want) in
            [(1.0 / 3.0, "33.33%"), (1.0, "100.00%"), (0.0, "0.00%"), (0.7, "70.00%")]
        {
            assert_eq!(percent(share), want, "{share}");
        }
        let plain = |number| value(number, Kind::Gauge, Contains::Default, None);
        assert_eq!(plain(-0.007_812_5), "-0.007813");
        assert_eq!(plain(1e308), "1e+308");
        assert_eq!(plain(f64::NEG_INFINITY), "-Infinity");
        assert_eq!(plain(3_000_000.370_370_1), "3000000.37037");
        let fixed = |ms, unit| value(ms, Kind::Trend, Contains::Time, Some(unit));
        assert_eq!(fixed(1.005, TimeUnit::Microseconds), "1005.00µs");
        assert_eq!(fixed(0.000_125, TimeUnit::Microseconds), "0.13µs");
        assert_eq!(fixed(1500.0, TimeUnit::Seconds), "1.50s");
    }
}

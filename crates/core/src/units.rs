//! Durations, counts and rates as people write them on a command line, and as reports print them.

/// Why a value on the command line cannot be read: what was given and what would do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{given}' is not {wanted}")]
pub struct UnitError {
    given: String,
    wanted: &'static str,
}

const UNITLESS: &str = "a duration, it has no unit: write 500us, 1.5s, 2m or 1h (8784h at most)";

const DURATION: &str = "a duration: write 500us, 1.5s, 2m or 1h (8784h at most)";

/// A leap year. Sums of a few hundred durations stay far from the end of `u64`.
pub const DURATION_LIMIT_NS: u64 = 8784 * 3_600_000_000_000;
const COUNT: &str = "a count: write 1000, 10k or 1.5M";
const RATE: &str = "a rate in requests per second: write 0.5, 1000 or 10k";

fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

/// A decimal number times `scale`, exactly: "1.5" times 1000 is 1500. `None` when it is not a
/// number, not whole after scaling, or too large.
fn decimal(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.len() > 18 {
        return None;
    }
    let digits = |s: &str| if s.is_empty() { Some(0) } else { s.parse::<u128>().ok() };
    let unit = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let scaled =
        (digits(whole)?.checked_mul(unit)? + digits(fraction)?).checked_mul(scale.into())?;
    if scaled % unit != 0 {
        return None;
    }
    u64::try_from(scaled / unit).ok()
}

/// Reads a duration such as `500us`, `1.5s`, `2m`, a leap year at most, in ns. A bare number other
/// than 0 is refused, because tools disagree on what it means.
///
/// # Errors
/// What was given, and what would do.
pub fn parse_duration_ns(text: &str) -> Result<u64, UnitError> {
    let error = || UnitError { given: text.to_owned(), wanted: DURATION };
    let (number, unit) = split(text.trim());
    let scale = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "" if number == "0" => 1,
        "" if !number.is_empty() => return Err(UnitError { wanted: UNITLESS, ..error() }),
        _ => return Err(error()),
    };
    decimal(number, scale).filter(|ns| *ns <= DURATION_LIMIT_NS).ok_or_else(error)
}

fn metric_scale(suffix: &str) -> Option<u64> {
    match suffix {
        "" => Some(1),
        "k" | "K" => Some(1_000),
        "M" => Some(1_000_000),
        "G" => Some(1_000_000_000),
        _ => None,
    }
}

/// Reads a count such as `1000`, `10k`, `1.5M`.
///
/// # Errors
/// What was given, and what would do.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    let (number, suffix) = split(text.trim());
    metric_scale(suffix)
        .and_then(|scale| decimal(number, scale))
        .ok_or_else(|| UnitError { given: text.to_owned(), wanted: COUNT })
}

/// Reads a rate in requests per second, such as `0.5`, `1000`, `10k`, `100k/s`, in µHz.
///
/// # Errors
/// What was given, and what would do.
pub fn parse_rate_uhz(text: &str) -> Result<u64, UnitError> {
    let trimmed = text.trim();
    let (number, suffix) = split(trimmed.strip_suffix("/s").unwrap_or(trimmed));
    metric_scale(suffix)
        .and_then(|scale| decimal(number, scale * 1_000_000))
        .ok_or_else(|| UnitError { given: text.to_owned(), wanted: RATE })
}

/// A duration for people: three significant digits and a unit.
#[must_use]
pub fn format_ns(value_ns: u64) -> String {
    let value = value_ns as f64;
    let (scaled, unit) = match value_ns {
        0..=999 => return format!("{value_ns} ns"),
        1_000..=999_499 => (value / 1e3, "µs"),
        999_500..=999_499_999 => (value / 1e6, "ms"),
        999_500_000..=119_999_999_999 => (value / 1e9, "s"),
        _ => (value / 60e9, "min"),
    };
    format!("{} {unit}", three_digits(scaled))
}

/// A duration as it is written on a command line: the largest unit that leaves it whole.
#[must_use]
pub fn format_duration(value_ns: u64) -> String {
    let units = [
        (3_600_000_000_000, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
    ];
    if value_ns == 0 {
        return "0s".to_owned();
    }
    for (unit_ns, name) in units {
        if value_ns.is_multiple_of(unit_ns) {
            return format!("{}{name}", value_ns / unit_ns);
        }
    }
    format!("{value_ns}ns")
}

/// A number with three significant digits, whole from 100 up, with a space between groups of three
/// digits from 1 000 up.
#[must_use]
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        v if v >= 999.5 => format_whole(value),
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Any number for people: whole ones in full, with a space between groups of three digits, others
/// with four significant digits. Very large and very small ones have an exponent.
#[must_use]
pub fn format_number(value: f64) -> String {
    let size = value.abs();
    if size >= 1e15 || (size > 0.0 && size < 1e-3) {
        return format!("{value:.3e}");
    }
    match size {
        _ if value.fract() == 0.0 => format_whole(value),
        v if v >= 999.95 => format_whole(value),
        v if v >= 99.995 => format!("{value:.1}"),
        v if v >= 9.9995 => format!("{value:.2}"),
        v if v >= 0.9995 => format!("{value:.3}"),
        v if v >= 0.09995 => format!("{value:.4}"),
        v if v >= 0.009995 => format!("{value:.5}"),
        _ => format!("{value:.6}"),
    }
}

/// A count with a space between groups of three digits.
#[must_use]
pub fn format_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A number rounded to a whole one, with a space between groups of three digits.
#[must_use]
pub fn format_whole(value: f64) -> String {
    let sign = if value <= -0.5 { "-" } else { "" };
    format!("{sign}{}", format_count(value.abs().round() as u64))
}

/// A count with its noun, whose plural ends in s: `1 thread`, `2 000 threads`.
#[must_use]
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", format_count(count), if count == 1 { "" } else { "s" })
}

/// Bytes for people, in powers of 1024.
#[must_use]
pub fn format_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB", "PiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{} {unit}", three_digits(value)) }
}

/// A rate in requests per second for people.
#[must_use]
pub fn format_rate(rps: f64) -> String {
    three_digits(rps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let good = [
            ("0", 0),
            ("0s", 0),
            ("500us", 500_000),
            ("1.5s", 1_500_000_000),
            ("2m", 120_000_000_000),
            (".5ms", 500_000),
            ("1h", 3_600_000_000_000),
            ("7ns", 7),
        ];
        for (text, want) in good {
            assert_eq!(parse_duration_ns(text), Ok(want), "{text}");
        }
        let unitless = parse_duration_ns("10").unwrap_err().to_string();
        assert!(
            unitless.starts_with("'10' is not a duration, it has no unit: write"),
            "{unitless}"
        );
        for text in ["", "10", "s", "1.5ns", "-1s", "1 s", "1d", "8785h", "1.2.3s", "1e3s"] {
            assert!(parse_duration_ns(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts_and_rates() {
        assert_eq!(parse_count("10k"), Ok(10_000));
        assert_eq!(parse_count("1.5M"), Ok(1_500_000));
        assert_eq!(parse_rate_uhz("0.5"), Ok(500_000));
        assert_eq!(parse_rate_uhz("100003"), Ok(100_003_000_000));
        assert_eq!(parse_rate_uhz("10k/s"), Ok(10_000_000_000));
        for text in ["", "1.5", "k", "1x", "-3", "1_000"] {
            assert!(parse_count(text).is_err(), "{text}");
        }
        for text in ["", "fast", "0.0000001", "-1"] {
            assert!(parse_rate_uhz(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_for_people() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (3.0, "3"),
            (-1_234_567.0, "-1 234 567"),
            (1_234_567.8, "1 234 568"),
            (9999.4, "9 999"),
            (-999.96, "-1 000"),
            (-250.25, "-250.2"),
            (0.1, "0.1000"),
            (99.996, "100.0"),
            (0.012_345, "0.01235"),
            (0.001_234, "0.001234"),
            (0.000_123_4, "1.234e-4"),
            (-2e20, "-2.000e20"),
        ];
        for (value, want) in cases {
            assert_eq!(format_number(value), want);
        }
    }

    #[test]
    fn for_people() {
        let durations = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (34_560, "34.6 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (1_020_000, "1.02 ms"),
            (99_960_000, "100 ms"),
            (1_000_000_000, "1.00 s"),
            (150_000_000_000, "2.50 min"),
        ];
        for (value_ns, want) in durations {
            assert_eq!(format_ns(value_ns), want);
        }
        assert_eq!(format_count(0), "0");
        assert_eq!(format_count(123_456_789), "123 456 789");
        for (count, want) in [(0, "0 threads"), (1, "1 thread"), (2_000, "2 000 threads")] {
            assert_eq!(counted(count, "thread"), want);
        }
        for (rps, want) in [
            (0.0, "0.00"),
            (99.96, "100"),
            (999.4, "999"),
            (999.97, "1 000"),
            (1000.0, "1 000"),
            (17_188.4, "17 188"),
        ] {
            assert_eq!(format_rate(rps), want);
        }
        assert_eq!(three_digits(-1234.5), "-1 235");
        assert_eq!(format_bytes(1023), "1023 B");
        assert_eq!(format_bytes(1_572_864), "1.50 MiB");
        for (text, value_ns) in
            [("90s", 90_000_000_000), ("2m", 120_000_000_000), ("1500us", 1_500_000)]
        {
            assert_eq!(format_duration(value_ns), text);
            assert_eq!(parse_duration_ns(text), Ok(value_ns));
        }
    }
}

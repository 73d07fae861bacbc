//! Durations as Go prints them and as k6 and fortio read them: with days.

/// Units, in the order in which they are tried.
const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

const DAY_NS: i128 = 86_400_000_000_000;

/// Reads `1d2h3m4.5s`, or milliseconds without a unit, in ns. `None` for anything else, and beyond
/// what an `i64` holds (292 years).
pub(crate) fn parse_ns(text: &str) -> Option<i64> {
    if let Ok(ms) = text.parse::<f64>() {
        // Go reads "inf" and "nan" too; neither is a duration.
        let is_number = text.bytes().any(|byte| byte.is_ascii_digit());
        return of_ms(ms).filter(|_| is_number);
    }
    let (sign, unsigned) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let (days, rest) = match unsigned.split_once('d') {
        Some((days, rest)) => (days.parse::<u32>().ok()?, rest),
        None => (0, unsigned),
    };
    let (mut sum, mut rest) = (i128::from(days) * DAY_NS, rest);
    if rest.is_empty() && !unsigned.contains('d') {
        return None;
    }
    while !rest.is_empty() {
        let (ns, after) = part_ns(rest)?;
        sum = sum.checked_add(ns)?;
        rest = after;
    }
    i64::try_from(sign * sum).ok()
}

/// A number and its unit, and what follows.
fn part_ns(text: &str) -> Option<(i128, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, rest) = text.split_at(end);
    let (unit_ns, rest) =
        UNITS.iter().find_map(|(unit, ns)| rest.strip_prefix(unit).map(|rest| (*ns, rest)))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i128>().ok() };
    let whole_ns = digits(whole)?.checked_mul(unit_ns)?;
    // More digits than that are below a ns in any unit.
    let fraction = &fraction[..fraction.len().min(18)];
    let scale = 10i128.pow(u32::try_from(fraction.len()).ok()?);
    Some((whole_ns.checked_add(digits(fraction)? * unit_ns / scale)?, rest))
}

/// From milliseconds, cut off at the ns.
pub(crate) fn of_ms(ms: f64) -> Option<i64> {
    const LIMIT: f64 = 9.2e18;
    let ns = ms * 1e6;
    (ns.abs() < LIMIT).then_some(ns as i64)
}

/// As Go prints a duration: `1h0m30s`, `1.5s`, `500ms`, `0s`.
pub(crate) fn print(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let size = ns.unsigned_abs();
    let (unit, places) = match size {
        0 => return "0s".to_owned(),
        1..1_000 => ("ns", 0),
        1_000..1_000_000 => ("µs", 3),
        1_000_000..1_000_000_000 => ("ms", 6),
        _ => return format!("{sign}{}", print_long(size)),
    };
    format!("{sign}{}{unit}", decimal(size, places))
}

/// From a second on.
fn print_long(ns: u64) -> String {
    const MINUTE_NS: u64 = 60_000_000_000;
    let seconds = decimal(ns % MINUTE_NS, 9);
    let minutes = ns / MINUTE_NS;
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// A whole number divided by a power of ten, without zeros at the end.
fn decimal(value: u64, places: u32) -> String {
    let scale = 10u64.pow(places);
    let (whole, fraction) = (value / scale, value % scale);
    if fraction == 0 {
        return whole.to_string();
    }
    let digits = format!("{fraction:0width$}", width = places as usize);
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

/// A duration, rounded to tenths of a second, in the width that `max_ns` needs: `0h00m01.0s`. Days
/// stand before hours from a day on.
pub(crate) fn print_fixed(ns: u64, max_ns: u64) -> String {
    const TENTH_NS: u64 = 100_000_000;
    const SECOND_NS: u64 = 10 * TENTH_NS;
    const HOUR_NS: u64 = 3600 * SECOND_NS;
    let tenths = |ns: u64| ns / TENTH_NS + u64::from(ns % TENTH_NS >= TENTH_NS / 2);
    let max_ns = tenths(max_ns.max(ns)).saturating_mul(TENTH_NS);
    let own = tenths(ns);
    let (tenth, seconds) = (own % 10, own / 10 % 60);
    let (minutes, hours, days) = (own / 600 % 60, own / 36_000 % 24, own / 864_000);
    if max_ns < 10 * SECOND_NS {
        return format!("{}.{tenth}s", seconds % 10);
    }
    let seconds = format!("{seconds:02}.{tenth}s");
    if max_ns < 60 * SECOND_NS {
        seconds
    } else if max_ns < 600 * SECOND_NS {
        format!("{}m{seconds}", minutes % 10)
    } else if max_ns < HOUR_NS {
        format!("{minutes:02}m{seconds}")
    } else if max_ns < 10 * HOUR_NS {
        format!("{}h{minutes:02}m{seconds}", hours % 10)
    } else if max_ns < 24 * HOUR_NS {
        format!("{hours:02}h{minutes:02}m{seconds}")
    } else {
        let width = (max_ns / (24 * HOUR_NS)).to_string().len();
        format!("{days:0width$}d{hours:02}h{minutes:02}m{seconds}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn durations_are_read() {
        for (text, want) in [
            ("10s", Some(10 * S)),
            ("1d2h3m4.5s", Some(93_784_500_000_000)),
            ("1d", Some(86_400 * S)),
            ("500", Some(S / 2)),
            ("1.5", Some(1_500_000)),
            ("-1s", Some(-S)),
            ("+1m30s", Some(90 * S)),
            ("1500ms", Some(3 * S / 2)),
            ("2us", Some(2_000)),
            ("2µs", Some(2_000)),
            (".5s", Some(S / 2)),
            ("0", Some(0)),
            ("0s", Some(0)),
            ("1.0000000009999999999999s", Some(S)),
            ("", None),
            ("abc", None),
            ("1x", None),
            ("1s1", None),
            ("s", None),
            (".s", None),
            ("1..5s", None),
            ("1 s", None),
            ("inf", None),
            ("nan", None),
            ("d", None),
            ("1.5d", None),
            ("99999999999h", None),
            ("1e300", None),
        ] {
            assert_eq!(parse_ns(text), want, "{text:?}");
        }
    }

    #[test]
    fn nothing_panics() {
        let text = "-1d2h3m4.5s6ms7µs8ns";
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let _ = (parse_ns(&text[..at]), parse_ns(&text[at..]));
        }
    }

    #[test]
    fn durations_are_printed_as_go_does() {
        for (ns, want) in [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5µs"),
            (1_500_000, "1.5ms"),
            (S, "1s"),
            (61_500_000_000, "1m1.5s"),
            (600 * S, "10m0s"),
            (3_630 * S, "1h0m30s"),
            (90_061 * S, "25h1m1s"),
            (-S / 2, "-500ms"),
            (-90 * S, "-1m30s"),
            (i64::MAX, "2562047h47m16.854775807s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(print(ns), want, "{ns}");
        }
    }

    #[test]
    fn widths_follow_the_longest() {
        const S: u64 = 1_000_000_000;
        for (ns, max_ns, want) in [
            (S, 9 * S, "1.0s"),
            (S, 10 * S, "01.0s"),
            (S, 61 * S, "0m01.0s"),
            (S, 600 * S, "00m01.0s"),
            (S, 3_630 * S, "0h00m01.0s"),
            (3_661 * S, 36_000 * S, "01h01m01.0s"),
            (90_061 * S, 90_061 * S, "1d01h01m01.0s"),
            (S, 86_400 * S * 12, "00d00h00m01.0s"),
            (949_999_999, S, "0.9s"),
            (950_000_000, S, "1.0s"),
            (9_960_000_000, S, "10.0s"),
        ] {
            assert_eq!(print_fixed(ns, max_ns), want, "{ns} of {max_ns}");
        }
    }
}

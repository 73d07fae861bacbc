//! Numbers as JavaScript and Go print them: k6's summary is JavaScript, the rest of k6 and all of
//! fortio are Go.

/// The shortest digits that read back as the same number, and the exponent of the first of them.
fn shortest(value: f64) -> (String, i32) {
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.replace('.', ""), exponent.parse().unwrap_or(0))
}

/// `digits` with an exponent of at least `width` digits and always a sign: `1.5e+21`.
fn scientific(digits: &str, exponent: i32, width: usize) -> String {
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{point}{rest}e{sign}{:0width$}", exponent.unsigned_abs())
}

/// `digits` without an exponent.
fn plain(digits: &str, exponent: i32) -> String {
    if exponent < 0 {
        return format!("0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1));
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        return format!("{digits}{}", "0".repeat(whole - digits.len()));
    }
    format!("{}.{}", &digits[..whole], &digits[whole..])
}

fn signed(value: f64, print: impl Fn(&str, i32) -> String) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let (digits, exponent) = shortest(value.abs());
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", print(&digits, exponent))
}

/// As JavaScript's `String(value)` (ECMA-262, `Number::toString`).
pub(crate) fn javascript(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => signed(value, |digits, exponent| {
            if (-6..21).contains(&exponent) {
                plain(digits, exponent)
            } else {
                scientific(digits, exponent, 1)
            }
        }),
    }
}

/// As Go's `strconv.FormatFloat(value, 'g', -1, 64)`.
pub(crate) fn go_shortest(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ => signed(value, |digits, exponent| {
            // With the fewest digits, Go takes six before the point as the most.
            if (-4..6).contains(&exponent) {
                plain(digits, exponent)
            } else {
                scientific(digits, exponent, 2)
            }
        }),
    }
}

/// As Go's `%.Ng`: `precision` digits, without zeros at the end.
pub(crate) fn go_general(value: f64, precision: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return go_shortest(value);
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let text = format!("{:.*e}", precision.saturating_sub(1), value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = mantissa.replace('.', "");
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let is_plain = exponent >= -4 && i64::from(exponent) < precision as i64;
    let number = if is_plain { plain(digits, exponent) } else { scientific(digits, exponent, 2) };
    format!("{sign}{number}")
}

/// As JavaScript's `value.toFixed(places)` (ECMA-262, `Number.prototype.toFixed`): exact ties round
/// away from 0.
pub(crate) fn to_fixed(value: f64, places: usize) -> String {
    if !value.is_finite() || value.abs() >= 1e21 {
        return javascript(value);
    }
    let rounded = format!("{:.places$}", value.abs());
    let magnitude = if is_tie(value.abs(), places) {
        let up = format!("{:.places$}", next_above(value.abs()));
        if up > rounded || up.len() > rounded.len() { up } else { rounded }
    } else {
        rounded
    };
    let is_negative = value < 0.0;
    if is_negative { format!("-{magnitude}") } else { magnitude }
}

/// Whether the exact value lies halfway between two numbers of `places` digits.
fn is_tie(value: f64, places: usize) -> bool {
    // The decimal expansion of a binary fraction ends, at the latest after this many places.
    let exact = format!("{value:.1074}");
    let Some(point) = exact.find('.') else { return false };
    let rest = &exact[point + 1 + places..];
    rest.starts_with('5') && rest[1..].bytes().all(|digit| digit == b'0')
}

fn next_above(value: f64) -> f64 {
    f64::from_bits(value.to_bits() + 1)
}

/// Rounded to `places` digits, without zeros at the end.
pub(crate) fn rounded(value: f64, places: usize) -> String {
    javascript(to_fixed(value, places).parse().unwrap_or(value))
}

/// Cut off after two digits, without zeros at the end.
pub(crate) fn truncated(value: f64) -> String {
    rounded((100.0 * value).trunc() / 100.0, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_in_javascript_and_go() {
        for (value, in_javascript, in_go) in [
            (0.0, "0", "0"),
            (-0.0, "0", "0"),
            (1.0, "1", "1"),
            (-2.5, "-2.5", "-2.5"),
            (100_000.5, "100000.5", "100000.5"),
            (1_000_000.0, "1000000", "1e+06"),
            (1_234_567.891, "1234567.891", "1.234567891e+06"),
            (1e9, "1000000000", "1e+09"),
            (1e21, "1e+21", "1e+21"),
            (142_857_142_857_285_710_000.0, "142857142857285710000", "1.4285714285728571e+20"),
            (1e-7, "1e-7", "1e-07"),
            (1.5e-6, "0.0000015", "1.5e-06"),
            (0.0001, "0.0001", "0.0001"),
            (0.1 + 0.2, "0.30000000000000004", "0.30000000000000004"),
            (f64::NAN, "NaN", "NaN"),
            (f64::INFINITY, "Infinity", "+Inf"),
            (f64::NEG_INFINITY, "-Infinity", "-Inf"),
        ] {
            assert_eq!(javascript(value), in_javascript, "{value}");
            assert_eq!(go_shortest(value), in_go, "{value}");
        }
    }

    /// What Go's documentation and programs print for these.
    #[test]
    fn general_numbers_print_as_in_go() {
        for (value, precision, want) in [
            (0.0, 6, "0"),
            (0.001, 6, "0.001"),
            (8.8691e-5, 6, "8.8691e-05"),
            (0.000_808_919_080_645, 6, "0.000808919"),
            (1_234_567.0, 6, "1.23457e+06"),
            (999_999.5, 6, "1e+06"),
            (99.781_648, 5, "99.782"),
            (-0.018_834_712, 4, "-0.01883"),
            (100_000.0, 6, "100000"),
            (7350.0, 9, "7350"),
        ] {
            assert_eq!(go_general(value, precision), want, "{value} {precision}");
        }
    }

    #[test]
    fn ties_round_away_from_zero() {
        for (value, places, want) in [
            (0.007_812_5, 6, "0.007813"),
            (-0.007_812_5, 6, "-0.007813"),
            (0.125, 2, "0.13"),
            (0.375, 2, "0.38"),
            (0.5, 0, "1"),
            (1.5, 0, "2"),
            (9.5, 0, "10"),
            (1.005, 2, "1.00"),
            (0.0, 2, "0.00"),
            (1e21, 2, "1e+21"),
            (1005.0, 2, "1005.00"),
        ] {
            assert_eq!(to_fixed(value, places), want, "{value}");
        }
        assert_eq!(rounded(1.234_567_89, 6), "1.234568");
        assert_eq!(rounded(3_000_000.370_370_1, 6), "3000000.37037");
        assert_eq!(truncated(999.999), "999.99");
        assert_eq!(truncated(301.0), "301");
    }
}

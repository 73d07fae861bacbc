//! Numbers as wrk reads and prints them: counts and times with a unit behind them.
//!
//! wrk divides in the x87's 80-bit numbers before it rounds to two digits, so that 2675 µs is
//! `2.67ms` or `2.68ms` by the sixty-fourth bit of the quotient. [`Extended`] does the same
//! division in integers: figures come out digit for digit as wrk prints them, on any processor.

/// A number with a mantissa of 64 bits: `mantissa * 2^exponent`, not negative.
#[derive(Debug, Clone, Copy)]
struct Extended {
    /// The highest bit is set, unless the number is 0.
    mantissa: u64,
    exponent: i32,
}

impl Extended {
    /// From a finite number that is not negative.
    fn new(value: f64) -> Self {
        const FRACTION_BITS: i32 = 52;
        let bits = value.to_bits();
        let fraction = bits & ((1 << FRACTION_BITS) - 1);
        // Subnormal numbers print as 0 whatever they are.
        let biased = i32::try_from(bits >> FRACTION_BITS & 0x7ff).expect("eleven bits");
        if biased == 0 {
            return Self { mantissa: 0, exponent: 0 };
        }
        let shift = 63 - FRACTION_BITS;
        Self {
            mantissa: (fraction | 1 << FRACTION_BITS) << shift,
            exponent: biased - 1023 - FRACTION_BITS - shift,
        }
    }

    /// Divided by a whole number below 2^32, rounded to the nearest, ties to even.
    fn divided(self, by: u64) -> Self {
        if self.mantissa == 0 {
            return self;
        }
        let numerator = u128::from(self.mantissa) << 64;
        let quotient = numerator / u128::from(by);
        // A remainder is less than the last bit of a quotient that has 32 bits too many.
        let sticky = u128::from(!numerator.is_multiple_of(u128::from(by)));
        let excess = 64 - quotient.leading_zeros();
        let mut mantissa = rounded_shift(quotient | sticky, excess);
        let mut exponent = self.exponent - 64 + excess.cast_signed();
        if mantissa >> 64 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
        Self { mantissa: u64::try_from(mantissa).expect("64 bits"), exponent }
    }

    fn to_f64(self) -> f64 {
        self.mantissa as f64 * f64::from(self.exponent).exp2()
    }

    /// With `digits` digits after the decimal point, ties to even, as `printf` prints it.
    fn fixed(self, digits: u32) -> String {
        if self.exponent > 0 {
            return format!("{:.*}", digits as usize, self.to_f64());
        }
        let unit = 10u128.pow(digits);
        let scaled = rounded_shift(u128::from(self.mantissa) * unit, self.exponent.unsigned_abs());
        if digits == 0 {
            return scaled.to_string();
        }
        format!("{}.{:0width$}", scaled / unit, scaled % unit, width = digits as usize)
    }
}

/// `value / 2^bits`, rounded to the nearest, ties to even.
fn rounded_shift(value: u128, bits: u32) -> u128 {
    if bits == 0 {
        return value;
    }
    if bits > 127 {
        return 0;
    }
    let (whole, rest, half) = (value >> bits, value & ((1 << bits) - 1), 1 << (bits - 1));
    whole + u128::from(rest > half || rest == half && whole & 1 == 1)
}

/// Units that follow each other, each `scale` times the one before.
struct Units {
    scale: u64,
    base: &'static str,
    names: &'static [&'static str],
}

const MICROSECONDS: Units = Units { scale: 1000, base: "us", names: &["ms", "s"] };
const SECONDS: Units = Units { scale: 60, base: "s", names: &["m", "h"] };
const BINARY: Units = Units { scale: 1024, base: "", names: &["K", "M", "G", "T", "P"] };
const METRIC: Units = Units { scale: 1000, base: "", names: &["k", "M", "G", "T", "P"] };

/// The next unit is taken from 85 % of it on; the last of the list never is.
fn format(value: Extended, units: &Units, digits: u32) -> String {
    let from = units.scale as f64 * 0.85;
    let (mut amount, mut name) = (value, units.base);
    for next in &units.names[..units.names.len() - 1] {
        if amount.to_f64() < from {
            break;
        }
        amount = amount.divided(units.scale);
        name = next;
    }
    format!("{}{name}", amount.fixed(digits))
}

/// What glibc prints for 0 divided by 0 on x86.
pub(crate) const NAN: &str = "-nan";

fn finite(value: f64, base: &str, print: impl FnOnce(Extended) -> String) -> String {
    if value.is_nan() { format!("{NAN}{base}") } else { print(Extended::new(value.max(0.0))) }
}

/// A time: `512.00us`, `1.20ms`, `0.85m`.
pub(crate) fn format_us(value_us: f64) -> String {
    finite(value_us, MICROSECONDS.base, |value| {
        if value_us >= 1e6 {
            format(value.divided(1_000_000), &SECONDS, 2)
        } else {
            format(value, &MICROSECONDS, 2)
        }
    })
}

/// A time in whole seconds, as the head of a report has it: `10s`, `1m`.
pub(crate) fn format_seconds(value_s: f64) -> String {
    finite(value_s, SECONDS.base, |value| format(value, &SECONDS, 0))
}

/// A number in powers of 1000.
pub(crate) fn format_metric(value: f64) -> String {
    finite(value, METRIC.base, |value| format(value, &METRIC, 2))
}

/// A number in powers of 1024; the `B` is the caller's.
pub(crate) fn format_binary(value: f64) -> String {
    finite(value, BINARY.base, |value| format(value, &BINARY, 2))
}

/// In a column: right-aligned, the units (at most two letters) below each other, and cut off where
/// the number is too wide.
pub(crate) fn column(text: &str, width: usize) -> String {
    let letters = text.bytes().rev().take(2).filter(u8::is_ascii_alphabetic).count();
    let padding = 2 - letters;
    let width = width - padding;
    let cut = &text[..text.len().min(width)];
    format!("{cut:>width$}{:padding$}", "")
}

/// A whole number and a unit; white space between the two, and behind two letters, is wrk's own.
fn scan(text: &str, units: &Units) -> Option<u64> {
    let text = text.trim_ascii_start();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let name: String = text[digits..]
        .trim_ascii_start()
        .chars()
        .take_while(|c| !c.is_ascii_whitespace())
        .take(2)
        .collect();
    if name.is_empty() || name.eq_ignore_ascii_case(units.base) {
        return Some(number);
    }
    let place = units.names.iter().position(|unit| name.eq_ignore_ascii_case(unit))?;
    number.checked_mul(units.scale.checked_pow(u32::try_from(place).ok()? + 1)?)
}

/// Reads a count: `100`, `10k`, `1M`.
pub(crate) fn scan_metric(text: &str) -> Option<u64> {
    scan(text, &METRIC)
}

/// Reads a time, in seconds: `10`, `10s`, `2m`, `1h`.
pub(crate) fn scan_seconds(text: &str) -> Option<u64> {
    scan(text, &SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_change_units_at_85_per_cent() {
        for (value_us, want) in [
            (0.0, "0.00us"),
            (849.99, "849.99us"),
            (850.0, "0.85ms"),
            (1000.0, "1.00ms"),
            (10_000.0, "10.00ms"),
            (849_994.0, "849.99ms"),
            // The last unit of a list is never reached, and seconds begin at a whole one.
            (999_999.0, "1000.00ms"),
            (1_000_000.0, "1.00s"),
            (50_999_000.0, "51.00s"),
            (51_000_000.0, "0.85m"),
            (3_600_000_000.0, "60.00m"),
            (f64::NAN, "-nanus"),
        ] {
            assert_eq!(format_us(value_us), want, "{value_us}");
        }
        for (value_s, want) in [
            (10.0, "10s"),
            (50.0, "50s"),
            (51.0, "1m"),
            (89.0, "1m"),
            (90.0, "2m"),
            (7200.0, "120m"),
        ] {
            assert_eq!(format_seconds(value_s), want, "{value_s}");
        }
    }

    #[test]
    fn numbers_change_units_at_85_per_cent() {
        for (value, want) in
            [(0.0, "0.00"), (709.16, "709.16"), (850.0, "0.85k"), (1410.7, "1.41k"), (2e6, "2.00M")]
        {
            assert_eq!(format_metric(value), want, "{value}");
        }
        for (value, want) in [
            (870.0, "870.00"),
            (870.5, "0.85K"),
            (1024.0, "1.00K"),
            (20_772_290.56, "19.81M"),
            (f64::NAN, "-nan"),
        ] {
            assert_eq!(format_binary(value), want, "{value}");
        }
    }

    /// Expectations printed by C: `printf("%.2Lf", (long double) value / 1000)`.
    #[test]
    fn ties_fall_as_in_80_bits() {
        for (value_us, want) in TIES {
            assert_eq!(format_us(f64::from(value_us)), want, "{value_us}");
        }
    }

    const TIES: [(u32, &str); 12] = [
        (855, "0.86ms"),
        (865, "0.87ms"),
        (875, "0.88ms"),
        (885, "0.88ms"),
        (895, "0.89ms"),
        (905, "0.90ms"),
        (999_005, "999.01ms"),
        (999_035, "999.03ms"),
        (999_065, "999.07ms"),
        (1_005_000, "1.00s"),
        (2_005_000, "2.01s"),
        (60_900_000, "1.01m"),
    ];

    #[test]
    fn columns_align_numbers_and_cut_them_off() {
        for (text, width, want) in [
            ("59.33ms", 8, " 59.33ms"),
            ("1.00s", 8, "  1.00s "),
            ("709.16", 8, "709.16  "),
            ("1.04k", 8, "  1.04k "),
            ("-nan", 8, "    -nan"),
            ("1000.00ms", 8, "1000.00m"),
            ("10000.00", 8, "10000.  "),
            ("0.00", 9, "   0.00  "),
        ] {
            assert_eq!(column(text, width), want, "{text}");
        }
    }

    #[test]
    fn what_is_read() {
        for (text, want) in [
            ("10", Some(10)),
            ("10k", Some(10_000)),
            ("10K", Some(10_000)),
            (" 1 M", Some(1_000_000)),
            ("1G", Some(1_000_000_000)),
            ("1P", Some(1_000_000_000_000_000)),
            ("1M x", Some(1_000_000)),
            ("", None),
            ("k", None),
            ("-1", None),
            ("1.5k", None),
            ("1kk", None),
            ("1s", None),
            ("99999999999999999999", None),
            ("99999999P", None),
        ] {
            assert_eq!(scan_metric(text), want, "{text}");
        }
        for (text, want) in [
            ("10", Some(10)),
            ("10s", Some(10)),
            ("2M", Some(120)),
            ("1h", Some(3600)),
            ("100ms", None),
            ("1d", None),
        ] {
            assert_eq!(scan_seconds(text), want, "{text}");
        }
    }
}

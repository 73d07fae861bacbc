//! Parses faults as users write them on a command line.

use std::num::NonZeroU32;
use std::str::FromStr;

use plimsoll_core::units;
use plimsoll_proto::grpc::Code;
use plimsoll_proto::http2::ErrorCode;

use super::Goaway;

/// Why a fault cannot be read: what was given and what would do, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{given}' is not {wanted}")]
pub struct FaultSpecError {
    given: String,
    wanted: &'static str,
}

impl FaultSpecError {
    fn new(given: &str, wanted: &'static str) -> Self {
        Self { given: given.to_owned(), wanted }
    }
}

const STALL: &str =
    "a stall: write 300ms@5s (once, 5s after the start) or 50ms/1s (50ms in every second)";
const SHARE: &str = "a share: write 1%, 0.05% or up to 100%";
const LATENCY: &str =
    "a list of latencies: write SHARE:DURATION, such as 90%:1ms,9%:10ms,1%:1s (100% at most)";
const ERRORS: &str =
    "a list of errors: write SHARE:STATUS, such as 1%:503,0.5%:500 (400 to 599, 100% at most)";
const RESETS: &str = "a list of resets: write SHARE:CODE, such as 1%:CANCEL,0.5%:INTERNAL_ERROR \
    (names of RFC 9113 section 7, 100% at most)";
const STATUSES: &str = "a list of gRPC statuses: write SHARE:CODE, such as \
    1%:UNAVAILABLE,0.5%:8 (1 to 16 or their names, 100% at most)";
const GOAWAY: &str = "a number of requests: write 100, or 100:abrupt";

/// Times at which a server answers nothing, from its start on. Written `T@AT` (once: for T, AT
/// after the start) or `T/P` (for T at the start of every period P but the first).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    for_ns: u64,
    first_ns: u64,
    again: bool,
}

impl Stall {
    /// One stall of `for_ns`, `at_ns` after the server's start.
    #[must_use]
    pub fn once(for_ns: u64, at_ns: u64) -> Self {
        Self { for_ns, first_ns: at_ns, again: false }
    }

    /// How much longer the stall lasts that is under way `elapsed_ns` after the start; 0 outside of
    /// stalls. A stall includes its first nanosecond and excludes its end.
    #[must_use]
    pub fn remaining_ns(&self, elapsed_ns: u64) -> u64 {
        let Some(since_first_ns) = elapsed_ns.checked_sub(self.first_ns) else { return 0 };
        let into_ns = if self.again { since_first_ns % self.first_ns } else { since_first_ns };
        self.for_ns.saturating_sub(into_ns)
    }
}

impl FromStr for Stall {
    type Err = FaultSpecError;

    fn from_str(text: &str) -> Result<Self, FaultSpecError> {
        let again = !text.contains('@');
        let read = || {
            let (length, when) = text.split_once(if again { '/' } else { '@' })?;
            let for_ns = units::parse_duration_ns(length).ok()?;
            let first_ns = units::parse_duration_ns(when).ok()?;
            let fits = for_ns > 0 && (!again || for_ns < first_ns);
            fits.then_some(Self { for_ns, first_ns, again })
        };
        read().ok_or_else(|| FaultSpecError::new(text, STALL))
    }
}

const WHOLE: u32 = 1_000_000_000;

/// A share of the requests, exact to a billionth. Written as a percentage: `0.05%`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    billionths: u32,
}

impl Share {
    /// Whether a uniform 64-bit number falls into this share.
    pub(crate) fn draw(self, random: u64) -> bool {
        billionth(random) < self.billionths
    }
}

/// Scales a uniform 64-bit number to one below a billion.
fn billionth(random: u64) -> u32 {
    ((u128::from(random) * u128::from(WHOLE)) >> 64) as u32
}

impl FromStr for Share {
    type Err = FaultSpecError;

    fn from_str(text: &str) -> Result<Self, FaultSpecError> {
        share(text).ok_or_else(|| FaultSpecError::new(text, SHARE))
    }
}

fn share(text: &str) -> Option<Share> {
    let number = text.strip_suffix('%')?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if number.is_empty() || number == "." || !digits(whole) || !digits(fraction) {
        return None;
    }
    // A percent is 10 000 000 billionths: seven digits after the point.
    let scaled = format!("0{whole}{fraction:0<7}");
    let billionths = scaled.parse().ok().filter(|&share| fraction.len() <= 7 && share <= WHOLE)?;
    Some(Share { billionths })
}

/// A value for each of several disjoint shares, kept as upper bounds, so that one random number
/// draws from all.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mix<T> {
    up_to: Vec<(u32, T)>,
}

impl<T> Default for Mix<T> {
    fn default() -> Self {
        Self { up_to: Vec::new() }
    }
}

impl<T: Copy> Mix<T> {
    fn draw(&self, random: u64) -> Option<T> {
        let drawn = billionth(random);
        self.up_to.iter().find(|(bound, _)| drawn < *bound).map(|(_, value)| *value)
    }

    /// Reads `SHARE:VALUE,...`. `None` if it is malformed or above 100% in total.
    fn read(text: &str, value: impl Fn(&str) -> Option<T>) -> Option<Self> {
        let mut bound = 0u32;
        let mut up_to = Vec::new();
        for entry in text.split(',') {
            let (part, rest) = entry.split_once(':')?;
            bound += share(part.trim())?.billionths;
            if bound > WHOLE {
                return None;
            }
            up_to.push((bound, value(rest.trim())?));
        }
        Some(Self { up_to })
    }
}

/// How long answers are held back: a duration for each of several shares of the requests, and none
/// for the rest. Written `90%:1ms,9%:10ms,1%:1s`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LatencyMix(Mix<u64>);

impl LatencyMix {
    pub(crate) fn draw(&self, random: u64) -> u64 {
        self.0.draw(random).unwrap_or(0)
    }
}

impl FromStr for LatencyMix {
    type Err = FaultSpecError;

    fn from_str(text: &str) -> Result<Self, FaultSpecError> {
        let mix = Mix::read(text, |value| units::parse_duration_ns(value).ok());
        mix.map(Self).ok_or_else(|| FaultSpecError::new(text, LATENCY))
    }
}

/// Which answers are replaced by an error: a status for each of several shares of the requests.
/// Written `1%:503,0.5%:500`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorMix(Mix<u16>);

impl ErrorMix {
    pub(crate) fn draw(&self, random: u64) -> Option<u16> {
        self.0.draw(random)
    }
}

impl FromStr for ErrorMix {
    type Err = FaultSpecError;

    fn from_str(text: &str) -> Result<Self, FaultSpecError> {
        let status = |value: &str| value.parse().ok().filter(|status| (400..=599).contains(status));
        Mix::read(text, status).map(Self).ok_or_else(|| FaultSpecError::new(text, ERRORS))
    }
}

/// Which calls of gRPC end with a status: a code for each of several shares of the calls. Written
/// `1%:UNAVAILABLE,0.5%:8`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrpcStatusMix(Mix<Code>);

impl GrpcStatusMix {
    pub(crate) fn draw(&self, random: u64) -> Option<Code> {
        self.0.draw(random)
    }
}

impl FromStr for GrpcStatusMix {
    type Err = FaultSpecError;

    fn from_str(text: &str) -> Result<Self, FaultSpecError> {
        let code = |value: &str| {
            let code = Code::named(value).or_else(|| Code::read(value.as_bytes()))?;
            (code != Code::OK && code.name().is_some()).then_some(code)
        };
        Mix::read(text, code).map(Self).ok_or_else(|| FaultSpecError::new(text, STATUSES))
    }
}

/// Which requests have their stream reset: a code for each of several shares of the requests.
/// Written `1%:CANCEL,0.5%:INTERNAL_ERROR`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResetMix(Mix<ErrorCode>);

impl ResetMix {
    pub(crate) fn draw(&self, random: u64) -> Option<ErrorCode> {
        self.0.draw(random)
    }
}

impl FromStr for ResetMix {
    type Err = FaultSpecError;

    fn from_str(text: &str) -> Result<Self, FaultSpecError> {
        let code = |name: &str| (0..=13).map(ErrorCode).find(|code| code.name() == name);
        Mix::read(text, code).map(Self).ok_or_else(|| FaultSpecError::new(text, RESETS))
    }
}

/// At which request of a connection it says GOAWAY, and how. Written `100` or `100:abrupt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoawaySpec {
    /// The number of the request.
    pub every: NonZeroU32,
    /// How the connection ends.
    pub how: Goaway,
}

impl FromStr for GoawaySpec {
    type Err = FaultSpecError;

    fn from_str(text: &str) -> Result<Self, FaultSpecError> {
        let (number, how) = match text.strip_suffix(":abrupt") {
            Some(number) => (number, Goaway::Abrupt),
            None => (text, Goaway::Graceful),
        };
        let every = number.parse().map_err(|_| FaultSpecError::new(text, GOAWAY))?;
        Ok(Self { every, how })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls() {
        let ms = 1_000_000;
        let once: Stall = "300ms@5s".parse().expect("once");
        assert_eq!(once, Stall::once(300 * ms, 5_000 * ms));
        let again: Stall = "50ms/1s".parse().expect("again");
        let cases = [
            (once, 0, 0),
            (once, 5_000 * ms - 1, 0),
            (once, 5_000 * ms, 300 * ms),
            (once, 5_300 * ms - 1, 1),
            (once, 5_300 * ms, 0),
            (once, 10_000 * ms, 0),
            (again, 0, 0),
            (again, 999 * ms, 0),
            (again, 1_000 * ms, 50 * ms),
            (again, 1_049 * ms, ms),
            (again, 1_050 * ms, 0),
            (again, 7_010 * ms, 40 * ms),
        ];
        for (stall, elapsed_ns, want) in cases {
            assert_eq!(stall.remaining_ns(elapsed_ns), want, "{stall:?} at {elapsed_ns}");
        }
        assert_eq!("1s@0s".parse(), Ok(Stall::once(1_000 * ms, 0)), "from the start on");
        for text in ["", "1s", "@", "0s@1s", "1s/1s", "2s/1s", "1s/0s", "x@1s", "1s@", "1@2"] {
            assert!(text.parse::<Stall>().is_err(), "{text}");
        }
    }

    #[test]
    fn shares() {
        let good = [
            ("0%", 0),
            ("1%", 10_000_000),
            ("0.05%", 500_000),
            (".0000001%", 1),
            ("33.%", 330_000_000),
            ("100%", WHOLE),
            ("100.0%", WHOLE),
        ];
        for (text, billionths) in good {
            assert_eq!(text.parse(), Ok(Share { billionths }), "{text}");
        }
        for text in
            ["", "%", ".%", "1", "0.01", "101%", "100.1%", "-1%", "+1%", "1e1%", "0.00000001%"]
        {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }

    #[test]
    fn draws_are_exact_at_the_bounds() {
        let share: Share = "25%".parse().expect("share");
        assert!(share.draw(0) && share.draw((1 << 62) - 1));
        assert!(!share.draw(1 << 62) && !share.draw(u64::MAX));
        let mix: LatencyMix = "25%:1ms,25%:2ms".parse().expect("mix");
        let cases = [(0, 1_000_000), (1 << 62, 2_000_000), (1 << 63, 0), (u64::MAX, 0)];
        for (random, want) in cases {
            assert_eq!(mix.draw(random), want);
        }
    }

    #[test]
    fn lists() {
        assert!("90%:1ms, 9%:10ms,1%:1s".parse::<LatencyMix>().is_ok());
        for text in ["", "1ms", "1%", "1%:1", "60%:1ms,60%:2ms", "1%:1ms,", "100%:1s,1%:1s"] {
            assert!(text.parse::<LatencyMix>().is_err(), "{text}");
        }
        let errors: ErrorMix = "1%:503,0.5%:500".parse().expect("errors");
        assert_eq!([errors.draw(0), errors.draw(u64::MAX)], [Some(503), None]);
        for text in ["", "1%:200", "1%:600", "1%:x", "503"] {
            assert!(text.parse::<ErrorMix>().is_err(), "{text}");
        }
    }

    #[test]
    fn statuses_have_names_and_numbers() {
        let mix: GrpcStatusMix = "25%:not_found,25%:14".parse().expect("a mix");
        let cases = [(0, Some(Code(5))), (1 << 62, Some(Code(14))), (1 << 63, None)];
        for (random, want) in cases {
            assert_eq!(mix.draw(random), want);
        }
        for text in ["", "1%:OK", "1%:0", "1%:17", "1%:NONE", "UNAVAILABLE:1%"] {
            assert!(text.parse::<GrpcStatusMix>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_error_is_one_line_that_says_what_would_do() {
        let error = "0.01".parse::<Share>().expect_err("no percent sign");
        assert_eq!(error.to_string(), "'0.01' is not a share: write 1%, 0.05% or up to 100%");
        let error = "5s".parse::<Stall>().expect_err("no time");
        assert!(error.to_string().starts_with("'5s' is not a stall: write 300ms@5s"));
    }
}

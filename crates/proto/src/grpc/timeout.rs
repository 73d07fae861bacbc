//! The `grpc-timeout` field: up to eight digits and a unit.

/// The most bytes that a value has.
pub const BYTES_MAX: usize = 9;

const DIGITS_MAX: usize = 8;
const VALUE_MAX: u64 = 99_999_999;

/// Units from the finest on, and their nanoseconds.
const UNITS: [(u8, u64); 6] = [
    (b'n', 1),
    (b'u', 1_000),
    (b'm', 1_000_000),
    (b'S', 1_000_000_000),
    (b'M', 60_000_000_000),
    (b'H', 3_600_000_000_000),
];

/// Appends a time in the finest unit that holds it, rounded up: the server never gives up before
/// the time that was asked for. The protocol has no timeout of 0, so that is written as 1 ns.
pub fn write(timeout_ns: u64, out: &mut Vec<u8>) {
    let asked_ns = timeout_ns.max(1);
    let fits = |&(unit, ns): &(u8, u64)| {
        let value = asked_ns.div_ceil(ns);
        (value <= VALUE_MAX).then_some((unit, value))
    };
    // 2^64 ns are 5.1 million hours.
    let (unit, mut value) = UNITS.iter().find_map(fits).unwrap_or((b'H', VALUE_MAX));
    let mut text = [0; BYTES_MAX];
    let mut at = DIGITS_MAX;
    text[at] = unit;
    while value > 0 {
        at -= 1;
        text[at] = b'0' + (value % 10) as u8;
        value /= 10;
    }
    out.extend_from_slice(&text[at..]);
}

/// Reads a value, ns; times beyond 2^64 ns are that. `None` if it is not a timeout.
#[must_use]
pub fn read(value: &[u8]) -> Option<u64> {
    let (unit, digits) = value.split_last()?;
    let (_, ns) = UNITS.iter().find(|(known, _)| known == unit)?;
    let is_number = !digits.is_empty() && digits.len() <= DIGITS_MAX;
    if !is_number || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0u64, |number, digit| number * 10 + u64::from(digit - b'0'));
    Some(number.saturating_mul(*ns))
}

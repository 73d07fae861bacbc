//! The Date of an answer, written once a second.

/// Seconds of a day.
const DAY_S: u64 = 86_400;

/// A Date in the form of RFC 9110 section 5.6.7, kept for as long as it is right.
#[derive(Debug)]
pub(crate) struct Date {
    /// What the wall clock shows at the driver's 0, ns since the start of 1970.
    base_unix_ns: u64,
    second: u64,
    text: [u8; Self::LEN],
}

impl Date {
    /// `Sun, 06 Nov 1994 08:49:37 GMT`.
    pub(crate) const LEN: usize = 29;

    pub(crate) fn new(base_unix_ns: u64) -> Self {
        Self { base_unix_ns, second: u64::MAX, text: [b' '; Self::LEN] }
    }

    /// The date at a time of the driver's clock, and whether it is another one than before.
    #[inline]
    pub(crate) fn at(&mut self, now_ns: u64) -> (&[u8], bool) {
        let second = self.base_unix_ns.saturating_add(now_ns) / 1_000_000_000;
        let is_new = second != self.second;
        if is_new {
            self.second = second;
            write(second, &mut self.text);
        }
        (&self.text, is_new)
    }
}

/// Howard Hinnant's algorithm for the civil calendar, "chrono-compatible low-level date
/// algorithms".
fn write(unix_s: u64, out: &mut [u8; Date::LEN]) {
    const DAYS: [&[u8; 3]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];
    const MONTHS: [&[u8; 3]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    let (days, of_day) = (unix_s / DAY_S, unix_s % DAY_S);
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = (shifted_month + 2) % 12;
    let year = year_of_era + era * 400 + u64::from(month < 2);
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        out[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    let two = |number: u64| [b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8];
    put(DAYS[(days % 7) as usize]);
    put(b", ");
    put(&two(day));
    put(b" ");
    put(MONTHS[month as usize]);
    put(b" ");
    put(&two(year / 100));
    put(&two(year));
    put(b" ");
    put(&two(of_day / 3600));
    put(b":");
    put(&two(of_day / 60 % 60));
    put(b":");
    put(&two(of_day % 60));
    put(b" GMT");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_standard() {
        for (unix_s, want) in [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_795_695_119, "Thu, 26 Nov 2026 12:11:59 GMT"),
            (4_102_444_800, "Fri, 01 Jan 2100 00:00:00 GMT"),
        ] {
            let mut date = Date::new(unix_s * 1_000_000_000);
            let (text, is_new) = date.at(999_999_999);
            assert_eq!((std::str::from_utf8(text), is_new), (Ok(want), true), "{unix_s}");
            assert!(!date.at(0).1 && date.at(1_000_000_000).1, "{unix_s}");
        }
    }
}

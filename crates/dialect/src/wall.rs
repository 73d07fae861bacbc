//! Times of the wall clock as text, with the offset of the local time zone, which is an argument.

/// A time of the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallTime {
    /// ns since the start of 1970, UTC.
    pub unix_ns: i64,
    /// How far local time is ahead of UTC.
    pub offset_s: i32,
}

impl WallTime {
    /// Reads RFC 3339 with up to nine digits of a second: `2026-11-24T20:23:17.98+02:00`.
    #[must_use]
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let at = |range: std::ops::Range<usize>| {
            let digits = text.get(range)?;
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<i64>().ok().filter(|_| is_number)
        };
        let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
        if !marks.iter().all(|(at, mark)| text.as_bytes().get(*at) == Some(mark)) {
            return None;
        }
        let (year, month, day) = (at(0..4)?, at(5..7)?, at(8..10)?);
        let (hour, minute, second) = (at(11..13)?, at(14..16)?, at(17..19)?);
        let is_possible = (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60;
        let (fraction, zone) = split_fraction(text.get(19..)?)?;
        let offset_s = zone_s(zone)?;
        let local_s = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
        let unix_ns = (local_s - i64::from(offset_s)).checked_mul(1_000_000_000)?;
        is_possible.then_some(Self { unix_ns: unix_ns.checked_add(fraction)?, offset_s })
    }

    /// The same moment in UTC.
    #[must_use]
    pub fn utc(self) -> Self {
        Self { offset_s: 0, ..self }
    }

    /// RFC 3339 to the second: `2026-11-24T18:23:17Z`, `2026-11-24T20:23:17+02:00`.
    #[must_use]
    pub fn rfc3339(self) -> String {
        self.print("")
    }

    /// RFC 3339 to the ns, without zeros at the end.
    #[must_use]
    pub fn rfc3339_nano(self) -> String {
        let fraction = self.unix_ns.rem_euclid(1_000_000_000);
        if fraction == 0 {
            return self.print("");
        }
        let digits = format!(".{fraction:09}");
        self.print(digits.trim_end_matches('0'))
    }

    /// As fields of HTTP have it, in UTC: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
    #[must_use]
    pub fn http_date(self) -> String {
        const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let unix_s = self.unix_ns.div_euclid(1_000_000_000);
        let (days, second) = (unix_s.div_euclid(86_400), unix_s.rem_euclid(86_400));
        let (year, month, day) = date(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        // 1970 began on a Thursday.
        let day_name = DAYS[days.rem_euclid(7) as usize];
        let month_name = MONTHS[month as usize - 1];
        format!("{day_name}, {day:02} {month_name} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
    }

    fn print(self, fraction: &str) -> String {
        let local_s = self.unix_ns.div_euclid(1_000_000_000) + i64::from(self.offset_s);
        let (days, second) = (local_s.div_euclid(86_400), local_s.rem_euclid(86_400));
        let (year, month, day) = date(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let zone = match self.offset_s {
            0 => "Z".to_owned(),
            offset_s => {
                let sign = if offset_s < 0 { '-' } else { '+' };
                let minutes = offset_s.unsigned_abs() / 60;
                format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        };
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}")
    }
}

/// Nanoseconds of `.98` at the beginning of a text, and what follows.
fn split_fraction(text: &str) -> Option<(i64, &str)> {
    let Some(rest) = text.strip_prefix('.') else { return Some((0, text)) };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, zone) = rest.split_at(end);
    let is_possible = (1..=9).contains(&digits.len());
    let ns = format!("{digits:0<9}").parse().ok().filter(|_| is_possible)?;
    Some((ns, zone))
}

/// How far a zone is ahead of UTC: `Z`, `+02:00`.
fn zone_s(zone: &str) -> Option<i32> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let number = |digits: &str| {
        let is_number = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<i32>().ok().filter(|_| is_number)
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Days since 1970-01-01 (the same source, `days_from_civil`).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a number of days since 1970-01-01 (H. Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms", `civil_from_days`).
fn date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Years begin in March here, so that the leap day is the last.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_printed_with_their_zone() {
        const S: i64 = 1_000_000_000;
        for (unix_ns, offset_s, want) in [
            (0, 0, "1970-01-01T00:00:00Z"),
            (1_795_544_597 * S + 974_904_355, 0, "2026-11-24T18:23:17.974904355Z"),
            (1_795_544_597 * S + 980_215_180, 0, "2026-11-24T18:23:17.98021518Z"),
            (1_795_544_597 * S, 7200, "2026-11-24T20:23:17+02:00"),
            (1_795_544_597 * S, -12_600, "2026-11-24T14:53:17-03:30"),
            (951_782_399 * S, 0, "2000-02-28T23:59:59Z"),
            (951_782_400 * S, 0, "2000-02-29T00:00:00Z"),
            (1_709_251_199 * S, 0, "2024-02-29T23:59:59Z"),
            (-S, 0, "1969-12-31T23:59:59Z"),
        ] {
            let time = WallTime { unix_ns, offset_s };
            assert_eq!(time.rfc3339_nano(), want);
            assert_eq!(WallTime::parse_rfc3339(want), Some(time), "{want}");
        }
    }

    #[test]
    fn fields_of_http_have_the_day_and_utc() {
        const S: i64 = 1_000_000_000;
        for (unix_s, offset_s, want) in [
            (0, 0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, 7200, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, 0, "Tue, 29 Feb 2000 00:00:00 GMT"),
        ] {
            assert_eq!(WallTime { unix_ns: unix_s * S, offset_s }.http_date(), want);
        }
    }

    #[test]
    fn times_are_read_or_refused() {
        let utc = |text| WallTime::parse_rfc3339(text).map(|time| time.utc().rfc3339_nano());
        for (text, want) in [
            ("2026-11-24T20:23:17.5+02:00", Some("2026-11-24T18:23:17.5Z")),
            ("2026-01-01T00:30:00+01:00", Some("2025-12-31T23:30:00Z")),
            ("2026-11-24T20:23:17", None),
            ("2026-11-24 20:23:17Z", None),
            ("2026-13-24T20:23:17Z", None),
            ("2026-11-24T20:23:17.Z", None),
            ("2026-11-24T20:23:17.1234567890Z", None),
            ("2026-11-24T20:23:17+2:00", None),
            ("+026-11-24T20:23:17Z", None),
        ] {
            assert_eq!(utc(text).as_deref(), want, "{text}");
        }
        let whole = "2026-11-24T20:23:17.98+02:00";
        for end in 0..whole.len() {
            assert_eq!(WallTime::parse_rfc3339(&whole[..end]), None, "{}", &whole[..end]);
        }
    }
}

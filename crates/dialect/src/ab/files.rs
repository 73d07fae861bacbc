//! The files that ab writes beside its report: percentages as CSV (`-e`), and the times of each
//! request for gnuplot (`-g`).

use std::fmt::Write as _;

use plimsoll_core::details::RequestTimes;
use plimsoll_core::result::RunResult;

use super::Command;
use super::times::{Times, whole_ms};

/// What `-e` writes: the time within which each per cent of the requests was served. `None` where
/// no request was answered: ab writes no file then.
#[must_use]
pub fn csv(command: &Command, result: &RunResult) -> Option<String> {
    if result.ledger.completed == 0 {
        return None;
    }
    let times = Times::of(command, result);
    let count = times.total.count();
    let mut text = "Percentage served,Time in ms\n".to_owned();
    for percent in 0..=100_u64 {
        let value_ns = match percent {
            0 => times.total.at(0),
            100 => times.total.max(),
            // The nearest index, halves up.
            _ => times.total.at((count * percent + 50) / 100),
        };
        let _ = writeln!(text, "{percent},{:.3}", value_ns as f64 / 1e6);
    }
    Some(text)
}

/// What `-g` writes: a line for each request that was answered, the quickest first. Times of day
/// are those of a clock that is `utc_offset_s` seconds ahead of UTC. `None` as for [`csv`].
#[must_use]
pub fn gnuplot(result: &RunResult, utc_offset_s: i64) -> Option<String> {
    if result.ledger.completed == 0 {
        return None;
    }
    let began_ns = unix_ns(&result.started_at).unwrap_or(0);
    let mut requests: Vec<&RequestTimes> = result.details.requests.iter().collect();
    requests.sort_by_key(|times| times.total_ns);
    let mut text = "starttime\tseconds\tctime\tdtime\tttime\twait\n".to_owned();
    for times in requests {
        let second = (began_ns + i128::from(times.start_ns)).div_euclid(1_000_000_000);
        let second = i64::try_from(second).unwrap_or(0);
        let _ = writeln!(
            text,
            "{}\t{second}\t{}\t{}\t{}\t{}",
            date(second + utc_offset_s),
            whole_ms(times.connect_ns),
            whole_ms(times.total_ns.saturating_sub(times.connect_ns)),
            whole_ms(times.total_ns),
            whole_ms(times.waiting_ns),
        );
    }
    Some(text)
}

/// A time of RFC 3339 in UTC as nanoseconds since 1970.
fn unix_ns(text: &str) -> Option<i128> {
    let (day, time) = text.trim_end_matches('Z').split_once('T')?;
    let mut day = day.split('-').map(str::parse::<i64>);
    let (year, month, day) = (day.next()?.ok()?, day.next()?.ok()?, day.next()?.ok()?);
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut time = time.split(':').map(str::parse::<i64>);
    let (hour, minute, second) = (time.next()?.ok()?, time.next()?.ok()?, time.next()?.ok()?);
    let fraction = format!("{fraction:0<9}").get(..9)?.parse::<i128>().ok()?;
    let second = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some(i128::from(second) * 1_000_000_000 + fraction)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar, with years that begin in March so that
/// the leap day is the last one.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_years = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 719 468 days from 0000-03-01 to 1970-01-01.
    of_years + (month * 153 + 2) / 5 + day - 1 - 719_468
}

/// A time as C's `ctime` writes it: `Wed Jun 30 21:49:08 1993`.
fn date(second: i64) -> String {
    const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (day, second) = (second.div_euclid(86_400), second.rem_euclid(86_400));
    let weekday = WEEKDAYS[usize::try_from(day.rem_euclid(7)).unwrap_or(0)];
    let mut year = 1970 + day.div_euclid(366);
    while days(year + 1, 1, 1) <= day {
        year += 1;
    }
    let month = (1..=12_i64).rev().find(|month| days(year, *month, 1) <= day).unwrap_or(1);
    let name = MONTHS[usize::try_from(month - 1).unwrap_or(0)];
    let of_month = day - days(year, month, 1) + 1;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{weekday} {name} {of_month:02} {hour:02}:{minute:02}:{second:02} {year}")
}

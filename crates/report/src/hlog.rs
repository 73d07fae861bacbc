//! The histograms of each interval as an HdrHistogram log, version 1.3 (`.hlog`): what
//! HistogramLogProcessor and HistogramLogAnalyzer read.
//!
//! A line without a tag is the headline clock, response time, because readers that are not told of
//! tags skip lines with one; the other clock has its name as the tag. Times are seconds after the
//! start in the head, interval maxima are in milliseconds, as the format's own writer has them.
//! Values inside are nanoseconds.

use std::io::{self, Write};

use plimsoll_core::RunResult;
use plimsoll_core::series::Point;

use crate::Clock;

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;

/// Writes the log.
///
/// # Errors
/// Those of `out`.
pub fn write(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let lead = Clock::HEADLINE;
    let start_s = epoch_s(&result.started_at).unwrap_or(0.0);
    let tool = crate::facts::printable(&format!("{} {}", result.tool.name, result.tool.version));
    writeln!(out, "#[Logged with {tool}: {}, ns]", lead.name())?;
    writeln!(out, "#[Histogram log format version 1.3]")?;
    let started_at = crate::facts::printable(&result.started_at);
    writeln!(out, "#[StartTime: {start_s:.3} (seconds since epoch), {started_at}]")?;
    writeln!(
        out,
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""
    )?;
    for point in result.series.points() {
        line(point, lead, "", out)?;
        line(point, lead.other(), &format!("Tag={},", lead.other().word()), out)?;
    }
    Ok(())
}

fn line(point: &Point, clock: Clock, tag: &str, out: &mut dyn Write) -> io::Result<()> {
    let histogram = clock.of_point(point).unpack();
    writeln!(
        out,
        "{tag}{:.3},{:.3},{:.3},{}",
        point.t_ns as f64 / NS_PER_S,
        point.interval_ns as f64 / NS_PER_S,
        histogram.max_ns().unwrap_or(0) as f64 / NS_PER_MS,
        histogram.to_hdr()
    )
}

/// Seconds since 1970 of a time in UTC as RFC 3339 writes it; `None` for anything else.
fn epoch_s(text: &str) -> Option<f64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, mark: char| -> Option<[f64; 3]> {
        let parts: Vec<f64> =
            text.split(mark).map(|part| part.parse().ok()).collect::<Option<_>>()?;
        parts.try_into().ok()
    };
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let is_possible = (1970.0..10_000.0).contains(&year)
        && (1.0..=12.0).contains(&month)
        && (1.0..=31.0).contains(&day);
    let days = days_since_1970(year as i64, month as i64, day as i64);
    is_possible.then_some(days as f64 * 86_400.0 + hour * 3_600.0 + minute * 60.0 + second)
}

/// Days of the Gregorian calendar, counted in years that begin in March, so that the day that is
/// sometimes missing is a year's last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before_year = 365 * year + year / 4 - year / 100 + year / 400;
    before_year + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn log(result: &RunResult) -> String {
        let mut bytes = Vec::new();
        write(result, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// Everything but the histograms, which are a library's.
    #[test]
    fn a_log() {
        let mut result = samples::stall();
        result.series = Default::default();
        for point in samples::stall().series.points().iter().skip(4).take(3) {
            result.series.add(&Point { t_ns: point.t_ns - 4_000_000_000, ..point.clone() });
        }
        let cut = |line: &str| match line.split_once("HISTF") {
            Some((before, _)) => format!("{before}HISTF…"),
            None => line.to_owned(),
        };
        let text: Vec<String> = log(&result).lines().map(cut).collect();
        insta::assert_snapshot!(text.join("\n"), @r#"
        #[Logged with plimsoll 0.1.0: response time, ns]
        #[Histogram log format version 1.3]
        #[StartTime: 1795256430.000 (seconds since epoch), 2026-11-21T10:20:30Z]
        "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
        0.000,1.000,0.110,HISTF…
        Tag=service,0.000,1.000,0.108,HISTF…
        1.000,1.000,300.029,HISTF…
        Tag=service,1.000,1.000,300.027,HISTF…
        2.000,1.000,0.107,HISTF…
        Tag=service,2.000,1.000,0.106,HISTF…
        "#);
    }

    #[test]
    fn a_closed_loop_leads_with_response_times_and_nothing_is_a_log_too() {
        let text = log(&samples::steady());
        assert!(text.contains("\nTag=service,0.000,1.000,"));
        assert!(text.contains("response time, ns]"));
        assert_eq!(log(&samples::bare()).lines().count(), 4);
    }

    #[test]
    fn start_times_are_seconds_since_1970() {
        for (text, want) in [
            ("1970-01-01T00:00:00Z", Some(0.0)),
            ("2000-02-29T12:00:00Z", Some(951_825_600.0)),
            ("2026-11-21T10:20:30.250Z", Some(1_795_256_430.25)),
            ("2100-03-01T00:00:00Z", Some(4_107_542_400.0)),
            ("2026-13-01T00:00:00Z", None),
            ("2026-11-21 10:20:30", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(epoch_s(text), want, "{text}");
        }
    }
}

//! Reads what the clients print.
//!
//! Output that lacks the number of requests is an error; a quantile that a tool doesn't print is
//! left out.

use anyhow::{Context as _, Result};
use serde_json::Value;

/// What a client says it measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Measured {
    /// Requests that got a response.
    pub(super) requests: u64,
    /// Requests with an error or a bad status.
    pub(super) failed: u64,
    /// Responses per second.
    pub(super) requests_per_s: f64,
    /// Median latency, in µs.
    pub(super) p50_us: Option<f64>,
    /// 99th percentile, in µs.
    pub(super) p99_us: Option<f64>,
    /// 99.9th percentile, in µs.
    pub(super) p999_us: Option<f64>,
    /// 99th percentile of the tool's own lateness, in µs.
    pub(super) lateness_p99_us: Option<f64>,
}

/// The bare loops' line of JSON; a server prints another line before it.
pub(super) fn bare(text: &str) -> Result<Measured> {
    let json = json(text)?;
    Ok(Measured {
        requests: json["requests"].as_u64().context("no requests")?,
        requests_per_s: json["requests_per_s"].as_f64().context("no requests_per_s")?,
        ..Measured::default()
    })
}

/// plimsoll's result document. The headline is the response time at a rate, and the service time
/// in a closed loop.
pub(super) fn plimsoll(text: &str) -> Result<Measured> {
    let json = json(text)?;
    let ledger = &json["ledger"];
    let at_a_rate = json["rate"]["target_rps"].is_number();
    let latency = &json["latency"][if at_a_rate { "response" } else { "service" }];
    let failed = ["failed", "timed_out", "broken", "unsent", "shed"];
    Ok(Measured {
        requests: ledger["completed"].as_u64().context("no ledger.completed")?,
        failed: failed.iter().filter_map(|name| ledger[name].as_u64()).sum(),
        requests_per_s: json["rate"]["achieved_rps"].as_f64().context("no rate.achieved_rps")?,
        p50_us: quantile(latency, 0.5),
        p99_us: quantile(latency, 0.99),
        p999_us: quantile(latency, 0.999),
        lateness_p99_us: quantile(&json["loader"]["lateness"], 0.99),
    })
}

/// A quantile, in µs, of a histogram in plimsoll's result document.
fn quantile(histogram: &Value, q: f64) -> Option<f64> {
    let quantiles = histogram["quantiles"].as_array()?;
    let at = |entry: &&Value| entry["q"].as_f64().is_some_and(|it| (it - q).abs() < 1e-9);
    quantiles.iter().find(at)?["us"].as_f64()
}

/// wrk's report with `--latency`, and wrk2's, which has more quantiles.
pub(super) fn wrk(text: &str) -> Result<Measured> {
    let mut measured = Measured {
        requests: number_before(text, " requests in ").context("no line `N requests in`")?,
        requests_per_s: number_after(text, "Requests/sec:").context("no Requests/sec")?,
        failed: number_after(text, "Non-2xx or 3xx responses:").unwrap_or(0.0) as u64,
        ..Measured::default()
    };
    if let Some(errors) = text.lines().find_map(|line| line.trim().strip_prefix("Socket errors:")) {
        let counts = errors.split([',', ' ']).filter_map(|word| word.parse::<u64>().ok());
        measured.failed += counts.sum::<u64>();
    }
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(rank), Some(value), None) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let rank = rank.strip_suffix('%').and_then(|rank| rank.parse::<f64>().ok());
        let Some(place) = rank.and_then(|rank| measured.place(rank)) else { continue };
        *place = duration_us(value);
    }
    Ok(measured)
}

/// ab's report. Its percentiles are whole milliseconds.
pub(super) fn ab(text: &str) -> Result<Measured> {
    let mut measured = Measured {
        requests: number_after(text, "Complete requests:").context("no Complete requests")? as u64,
        failed: number_after(text, "Failed requests:").unwrap_or(0.0) as u64,
        requests_per_s: number_after(text, "Requests per second:").context("no rate")?,
        ..Measured::default()
    };
    for line in text.lines() {
        let Some((rank, value)) = line.trim().split_once('%') else { continue };
        let (Ok(rank), Ok(value_ms)) = (rank.parse::<f64>(), value.trim().parse::<f64>()) else {
            continue;
        };
        if let Some(place) = measured.place(rank) {
            *place = Some(value_ms * 1e3);
        }
    }
    Ok(measured)
}

/// h2load's report; it has no quantiles.
pub(super) fn h2load(text: &str) -> Result<Measured> {
    let counts = text.lines().find_map(|line| line.strip_prefix("requests:")).unwrap_or_default();
    let count = |of: &str| number_before::<u64>(counts, of);
    let rate = text.lines().find_map(|line| line.strip_prefix("finished in "));
    let rate = rate.and_then(|line| number_before(line, " req/s"));
    Ok(Measured {
        requests: count(" done").context("no line `requests:`")?,
        failed: count(" failed").unwrap_or(0),
        requests_per_s: rate.context("no line `finished in`")?,
        ..Measured::default()
    })
}

/// fortio's JSON; times are in seconds.
pub(super) fn fortio(text: &str) -> Result<Measured> {
    let json = json(text)?;
    let codes = json["RetCodes"].as_object();
    let all = json["DurationHistogram"]["Count"].as_u64().context("no DurationHistogram.Count")?;
    let ok = codes.and_then(|codes| codes.get("200")?.as_u64()).unwrap_or(0);
    let quantiles = json["DurationHistogram"]["Percentiles"].as_array();
    let mut measured = Measured {
        requests: all,
        failed: all.saturating_sub(ok),
        requests_per_s: json["ActualQPS"].as_f64().context("no ActualQPS")?,
        ..Measured::default()
    };
    for entry in quantiles.into_iter().flatten() {
        let place = entry["Percentile"].as_f64().and_then(|rank| measured.place(rank));
        if let Some(place) = place {
            *place = entry["Value"].as_f64().map(|value_s| value_s * 1e6);
        }
    }
    Ok(measured)
}

/// ghz's summary. Its JSON lists every call, and reading that takes more memory than the clients,
/// whose peaks are told and begin with that of this process.
pub(super) fn ghz(text: &str) -> Result<Measured> {
    let requests = number_after(text, "Count:").context("no Count")? as u64;
    let ok = number_after(text, "[OK]").unwrap_or(0.0) as u64;
    let mut measured = Measured {
        requests,
        failed: requests.saturating_sub(ok),
        requests_per_s: number_after(text, "Requests/sec:").context("no Requests/sec")?,
        ..Measured::default()
    };
    for line in text.lines() {
        let Some((rank, value)) = line.split_once(" % in ") else { continue };
        let place = rank.trim().parse().ok().and_then(|rank| measured.place(rank));
        if let Some(place) = place {
            *place = duration_us(&value.replace(' ', ""));
        }
    }
    Ok(measured)
}

/// oha's JSON; times are in seconds.
pub(super) fn oha(text: &str) -> Result<Measured> {
    let json = json(text)?;
    let sum = |counts: &Value| -> u64 {
        counts.as_object().into_iter().flatten().filter_map(|(_, count)| count.as_u64()).sum()
    };
    let quantile_us = |name: &str| json["latencyPercentiles"][name].as_f64().map(|s| s * 1e6);
    let requests = sum(&json["statusCodeDistribution"]);
    Ok(Measured {
        requests,
        failed: requests - json["statusCodeDistribution"]["200"].as_u64().unwrap_or(0)
            + sum(&json["errorDistribution"]),
        requests_per_s: json["summary"]["requestsPerSec"].as_f64().context("no requestsPerSec")?,
        p50_us: quantile_us("p50"),
        p99_us: quantile_us("p99"),
        p999_us: quantile_us("p99.9"),
        lateness_p99_us: None,
    })
}

/// zrk's JSON. Behind its schedule (which is how it does a closed loop) its latencies are those of
/// the backlog it made up, and none are reported.
pub(super) fn zrk(text: &str) -> Result<Measured> {
    let json = json(text)?;
    let on_schedule = json["rate_ratio"].as_f64().is_some_and(|ratio| ratio > 0.5);
    let latency = |name: &str| json["latency_us"][name].as_f64().filter(|_| on_schedule);
    let errors = json["errors"].as_object().into_iter().flatten();
    Ok(Measured {
        requests: json["requests"].as_u64().context("no requests")?,
        failed: errors.filter_map(|(_, count)| count.as_u64()).sum(),
        requests_per_s: json["achieved_rate"].as_f64().context("no achieved_rate")?,
        p50_us: latency("p50"),
        p99_us: latency("p99"),
        p999_us: latency("p99_9"),
        lateness_p99_us: None,
    })
}

impl Measured {
    /// Where the percentile of this rank goes, if it is one of those kept.
    fn place(&mut self, rank: f64) -> Option<&mut Option<f64>> {
        let is = |it: f64| (rank - it).abs() < 1e-6;
        if is(50.0) {
            Some(&mut self.p50_us)
        } else if is(99.0) {
            Some(&mut self.p99_us)
        } else if is(99.9) {
            Some(&mut self.p999_us)
        } else {
            None
        }
    }
}

/// The JSON object that begins with the first brace at the start of a line.
pub(super) fn json(text: &str) -> Result<Value> {
    let start = if text.starts_with('{') { Some(0) } else { text.find("\n{").map(|at| at + 1) };
    let text = &text[start.context("printed no JSON")?..];
    serde_json::from_str(text).context("printed JSON that cannot be read")
}

/// The number that follows a label.
fn number_after(text: &str, label: &str) -> Option<f64> {
    let (_, rest) = text.split_once(label)?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The number that stands before a label.
fn number_before<T: std::str::FromStr>(text: &str, label: &str) -> Option<T> {
    let (before, _) = text.split_once(label)?;
    before.split_whitespace().next_back()?.parse().ok()
}

/// A duration as wrk and ghz print it, in µs.
fn duration_us(text: &str) -> Option<f64> {
    let unit_at = text.find(char::is_alphabetic)?;
    let (number, unit) = text.split_at(unit_at);
    let us = match unit {
        "ns" => 1e-3,
        "us" | "µs" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        "h" => 3600e6,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * us)
}

#[cfg(test)]
mod tests;

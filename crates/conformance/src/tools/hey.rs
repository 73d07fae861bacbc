//! hey 0.1: workers with a connection each, in a closed loop or each at its share of a rate.
//!
//! Called with its summary: its CSV has the same four decimals of a second and stops at a million
//! requests. `-q` is of one worker, so the rate is divided by the connections. Redirects are not
//! followed, as nobody asked for that.
//!
//! Its count is rounded down to a multiple of the workers. Latency is from the sending, whatever
//! the rate; quantiles leave out what failed. Certificates are not verified. It has no flag that
//! prints its version.

use super::can::{Amount, Can, PLAIN, used_connections};
use super::text::{
    Quantiles, Statuses, TIMEOUT_S, after, count, ended_well, milliseconds, number, number_after,
    quantile_of, reading,
};
use crate::tool::{Ask, Call, Finished, Method, Reading, Tool};

pub(super) struct Hey;

const CAN: Can = Can { rate: Amount::Any, timeout: Amount::Whole, verify: false, ..PLAIN };

impl Tool for Hey {
    fn name(&self) -> &'static str {
        "hey"
    }

    fn program(&self) -> &'static str {
        "hey"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &[]
    }

    fn call(&self, ask: &Ask) -> Call {
        CAN.refuse(ask).unwrap_or_else(|| command(ask))
    }

    fn read(&self, run: &Finished) -> Result<Reading, String> {
        ended_well(run)?;
        let text = &run.stdout;
        let mut reading = reading(run);
        statuses(text)?.into(&mut reading);
        errors(text, &mut reading);
        reading.rate_rps = Some(number_after(text, "Requests/sec:")?);
        reading.duration_s = Some(number_after(text, "Total:")?);
        if reading.completed == Some(0) {
            return Ok(reading);
        }
        reading.mean_s = Some(number_after(text, "Average:")?);
        reading.min_s = Some(number_after(text, "Fastest:")?);
        reading.max_s = Some(number_after(text, "Slowest:")?);
        reading.quantiles = quantiles(text);
        Ok(reading)
    }
}

fn command(ask: &Ask) -> Call {
    let connections = used_connections(ask);
    let mut arguments = vec!["-disable-redirects".to_owned()];
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    option("-c", connections.to_string());
    option("-t", ask.timeout_s.unwrap_or(TIMEOUT_S).to_string());
    if let Some(duration_s) = ask.duration_s {
        option("-z", milliseconds(duration_s));
    }
    if let Some(requests) = ask.requests {
        option("-n", requests.to_string());
    }
    if let Some(rate_rps) = ask.rate_rps {
        option("-q", (rate_rps / connections as f64).to_string());
    }
    for (name, value) in &ask.headers {
        option("-H", format!("{name}: {value}"));
    }
    if ask.method == Method::Head {
        option("-m", "HEAD".to_owned());
    }
    if !ask.keep_alive {
        arguments.push("-disable-keepalive".to_owned());
    }
    arguments.push(ask.url.clone());
    Call::Command { arguments, files: Vec::new() }
}

/// The lines of a section, up to a line that begins otherwise.
fn section<'a>(text: &'a str, title: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = text.lines().skip_while(move |line| !line.starts_with(title)).skip(1);
    lines.map_while(move |line| line.strip_prefix(start))
}

/// `  [200] 4450 responses`
fn statuses(text: &str) -> Result<Statuses, String> {
    after(text, "Status code distribution:")?;
    let mut statuses = Statuses::default();
    for line in section(text, "Status code distribution:", "  [") {
        let pair =
            line.split_once(']').and_then(|(status, rest)| Some((count(status)?, count(rest)?)));
        let (status, count) = pair.ok_or("a status that is none")?;
        statuses.add(i64::try_from(status).unwrap_or(0), count);
    }
    Ok(statuses)
}

/// `  [79] Get "http://…": context deadline exceeded (Client.Timeout exceeded …)`
fn errors(text: &str, reading: &mut Reading) {
    let (mut timed_out, mut errors) = (0_u64, 0_u64);
    for line in section(text, "Error distribution:", "  [") {
        let Some((times, what)) = line.split_once(']') else { continue };
        let times = count(times).unwrap_or(0);
        let sum = if is_timeout(what) { &mut timed_out } else { &mut errors };
        *sum = sum.saturating_add(times);
    }
    reading.timed_out = Some(timed_out);
    reading.errors = Some(errors);
}

/// What Go's HTTP client says when its timeout ended a request.
pub(super) fn is_timeout(what: &str) -> bool {
    what.contains("Client.Timeout") || what.contains("context deadline exceeded")
}

/// `  99%% in 0.0372 secs`
fn quantiles(text: &str) -> Quantiles {
    let row = |line: &str| {
        let (percent, rest) = line.split_once('%')?;
        Some((quantile_of(number(percent)?), number(rest.split_once("in ")?.1)?))
    };
    section(text, "Latency distribution:", "  ").map_while(row).collect()
}

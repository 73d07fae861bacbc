//! autocannon 9: connections of one Node.js process, in a closed loop or at one common rate.
//!
//! Called with its JSON, as one process, because workers would each get a whole number of
//! connections and requests per second. One request per connection is `Connection: close`, because
//! `-D 1` resets each connection before its answer.
//!
//! Latency is in whole milliseconds. A rate is sent in bursts at the tick of each second. Its
//! correction for coordinated omission, on by default, fills in samples for an interval of a
//! millisecond at any rate. A count runs on to the end of its second. `errors` includes the
//! timeouts. Certificates are not verified.

use super::abilities::{Abilities, Amount, FORM_TYPE, PLAIN, form, pipeline, used_connections};
use crate::tool::{Ask, Call, Finished, Method, Need, Reading, TesterAdapter};
use plimsoll_lab::testers::text::{
    Quantiles, Statuses, TIMEOUT_S, count_at, ended_well, json, number_at, reading,
};

pub(super) struct Autocannon;

const QUANTILES: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p97_5", 0.975),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("p99_99", 0.9999),
];

const CAN: Abilities = Abilities {
    rate: Amount::Whole,
    duration: Amount::Whole,
    timeout: Amount::Whole,
    warmup: Amount::Whole,
    verify: false,
    need: |need| matches!(need, Need::Pipeline(_) | Need::Form(_)),
    ..PLAIN
};

impl TesterAdapter for Autocannon {
    fn name(&self) -> &'static str {
        "autocannon"
    }

    fn program(&self) -> &'static str {
        "autocannon"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn call(&self, ask: &Ask) -> Call {
        CAN.refuse(ask).unwrap_or_else(|| command(ask))
    }

    fn read(&self, run: &Finished) -> Result<Reading, String> {
        ended_well(run)?;
        let line = run.stdout.lines().rev().find(|line| line.starts_with('{'));
        let said = json(line.ok_or("no line of JSON")?)?;
        let mut reading = reading(run);
        let mut statuses = Statuses::default();
        for (class, status) in
            [("1xx", 100), ("2xx", 200), ("3xx", 300), ("4xx", 400), ("5xx", 500)]
        {
            statuses.add(status, count_at(&said, &format!("/{class}"))?);
        }
        statuses.into(&mut reading);
        let timed_out = count_at(&said, "/timeouts")?;
        reading.timed_out = Some(timed_out);
        reading.errors = count_at(&said, "/errors")?.checked_sub(timed_out);
        reading.rate_rps = Some(number_at(&said, "/requests/average")?);
        reading.duration_s = Some(number_at(&said, "/duration")?);
        if count_at(&said, "/latency/totalCount")? == 0 {
            return Ok(reading);
        }
        let milliseconds =
            |name: &str| number_at(&said, &format!("/latency/{name}")).map(|ms| ms / 1e3);
        reading.mean_s = Some(milliseconds("mean")?);
        reading.min_s = Some(milliseconds("min")?);
        reading.max_s = Some(milliseconds("max")?);
        let mut quantiles = Quantiles::new();
        for (name, quantile) in QUANTILES {
            quantiles.push((quantile, milliseconds(name)?));
        }
        reading.quantiles = quantiles;
        Ok(reading)
    }
}

fn command(ask: &Ask) -> Call {
    let connections = used_connections(ask);
    let mut arguments = vec!["--json".to_owned()];
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    option("-c", connections.to_string());
    option("-t", ask.timeout_s.unwrap_or(TIMEOUT_S).to_string());
    if let Some(duration_s) = ask.duration_s {
        option("-d", duration_s.to_string());
    }
    if let Some(requests) = ask.requests {
        option("-a", requests.to_string());
    }
    if let Some(rate_rps) = ask.rate_rps {
        option("-R", rate_rps.to_string());
    }
    if !ask.keep_alive {
        option("-H", "Connection=close".to_owned());
    }
    if ask.method == Method::Head {
        option("-m", "HEAD".to_owned());
    }
    for (name, value) in &ask.headers {
        option("-H", format!("{name}={value}"));
    }
    if pipeline(ask) > 1 {
        option("-p", pipeline(ask).to_string());
    }
    if let Some(form) = form(ask) {
        option("-m", "POST".to_owned());
        option("-b", form.to_owned());
        option("-H", format!("Content-Type={FORM_TYPE}"));
    }
    if ask.warmup_s > 0.0 {
        let warmup = format!("-W [ -c {connections} -d {} ]", ask.warmup_s);
        arguments.extend(warmup.split(' ').map(str::to_owned));
    }
    arguments.push(ask.url.clone());
    Call::Command { arguments, files: Vec::new() }
}

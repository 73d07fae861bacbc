//! bombardier 1.2: connections of its fasthttp client, in a closed loop or at one common rate.
//!
//! Called with our own template, which is its way to print quantiles beyond the 99th; values are
//! whole microseconds. The client is its default and fastest. One request per connection is
//! `Connection: close`, as its manual says for this client.
//!
//! The rate is a token bucket, and latency starts when a request is sent. If a request gets no
//! answer on a reused connection, fasthttp sends it again. Quantiles include failed requests. The
//! minimum latency is not printed.

use super::abilities::{Abilities, Amount, PLAIN};
use super::lua::pairs;
use crate::tool::{Ask, Call, Finished, Method, Reading, TesterAdapter};
use plimsoll_lab::testers::text::{
    Statuses, TIMEOUT_S, count_at, ended_well, marked, milliseconds, number_at, reading,
};

pub(super) struct Bombardier;

const TEMPLATE_NAME: &str = "plimsoll.template";

const TEMPLATE: &str = r#"
plimsoll {"statuses":[
{{- with .Result }}{{ .Req1XX }},{{ .Req2XX }},{{ .Req3XX }},{{ .Req4XX }},{{ .Req5XX }}],
{{- "" }}"duration_s":{{ .TimeTaken.Seconds }},
{{- with .RequestsStats (FloatsToArray 0.5) }}"rate_rps":{{ .Mean }},{{ end -}}
{{- with .LatenciesStats (FloatsToArray 0.5 0.75 0.9 0.95 0.99 0.999 0.9999) -}}
"mean_us":{{ .Mean }},"max_us":{{ .Max }},"quantiles":[
{{- range $quantile, $us := .Percentiles }}[{{ $quantile }},{{ $us }}],{{ end }}null],
{{- end -}}
"errors":[{{ range .Errors }}[{{ printf "%q" .Error }},{{ .Count }}],{{ end }}null]}
{{ end }}"#;

const CAN: Abilities = Abilities { rate: Amount::Whole, ..PLAIN };

impl TesterAdapter for Bombardier {
    fn name(&self) -> &'static str {
        "bombardier"
    }

    fn program(&self) -> &'static str {
        "bombardier"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn call(&self, ask: &Ask) -> Call {
        CAN.refuse(ask).unwrap_or_else(|| command(ask))
    }

    fn read(&self, run: &Finished) -> Result<Reading, String> {
        ended_well(run)?;
        let said = marked(&run.stdout)?;
        let mut reading = reading(run);
        let mut statuses = Statuses::default();
        for class in 0..5 {
            let count = count_at(&said, &format!("/statuses/{class}"))?;
            statuses.add((class + 1) * 100, count);
        }
        statuses.into(&mut reading);
        errors(said.get("errors"), &mut reading)?;
        let duration_s = number_at(&said, "/duration_s")?;
        reading.duration_s = Some(duration_s);
        // A mean over its samples of the rate; absent when the run was too short for one.
        reading.rate_rps = number_at(&said, "/rate_rps").ok();
        if said.get("mean_us").is_some() {
            reading.mean_s = Some(number_at(&said, "/mean_us")? / 1e6);
            reading.max_s = Some(number_at(&said, "/max_us")? / 1e6);
            reading.quantiles = pairs(said.get("quantiles"), 1e-6)?;
        }
        Ok(reading)
    }
}

fn command(ask: &Ask) -> Call {
    let mut arguments = vec!["--print=r".to_owned(), "--fasthttp".to_owned()];
    arguments.push(format!("--format=path:{{dir}}/{TEMPLATE_NAME}"));
    arguments.push(format!("--connections={}", ask.connections));
    arguments.push(format!("--timeout={}", milliseconds(ask.timeout_s.unwrap_or(TIMEOUT_S))));
    if let Some(duration_s) = ask.duration_s {
        arguments.push(format!("--duration={}", milliseconds(duration_s)));
    }
    if let Some(requests) = ask.requests {
        arguments.push(format!("--requests={requests}"));
    }
    if let Some(rate_rps) = ask.rate_rps {
        arguments.push(format!("--rate={rate_rps}"));
    }
    arguments.extend(ask.headers.iter().map(|(name, value)| format!("--header={name}: {value}")));
    if !ask.keep_alive {
        arguments.push("--header=Connection: close".to_owned());
    }
    if ask.method == Method::Head {
        arguments.push("--method=HEAD".to_owned());
    }
    if ask.insecure {
        arguments.push("--insecure".to_owned());
    }
    arguments.push(ask.url.clone());
    let files = vec![(TEMPLATE_NAME.to_owned(), TEMPLATE.to_owned())];
    Call::Command { arguments, files }
}

/// Pairs of a message and how often.
fn errors(rows: Option<&serde_json::Value>, reading: &mut Reading) -> Result<(), String> {
    let rows = rows.and_then(serde_json::Value::as_array).ok_or("no errors in its JSON")?;
    let (mut timed_out, mut errors) = (0_u64, 0_u64);
    for row in rows.iter().filter(|row| !row.is_null()) {
        let count = count_at(row, "/1")?;
        let message = row.get(0).and_then(serde_json::Value::as_str).unwrap_or_default();
        let is_timeout = message.contains("timeout") || message.contains("timed out");
        let sum = if is_timeout { &mut timed_out } else { &mut errors };
        *sum = sum.saturating_add(count);
    }
    reading.timed_out = Some(timed_out);
    reading.errors = Some(errors);
    Ok(())
}

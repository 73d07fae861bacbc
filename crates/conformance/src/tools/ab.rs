//! ab, ApacheBench 2.3: HTTP/1.0 in a closed loop, one thread.
//!
//! Called with `-k` (keep-alive, which is HTTP/1.0's here), `-r` (a receive error does not end the
//! run), `-l` (a body of another length is no failure) and `-e`, whose table has thousandths of a
//! millisecond where the report has whole ones. With a duration a count is needed too, since `-t`
//! alone means 50 000 requests; it holds 32 bytes for each, so the count is 200 000 for each
//! second.
//!
//! Its `-s` ends the whole run when nothing happened for so long, as after some
//! resets: it has no timeout of a request. Among its `Complete requests` are those under Receive,
//! which had no whole response and are read as errors; what is under Exceptions is there a second
//! time and is left out. Certificates are not verified.

use std::fs;

use super::can::{Amount, Can, PLAIN, used_connections};
use super::text::{
    Quantiles, TIMEOUT_S, after, count, count_after, ended_well, number_after, quantile_of, reading,
};
use crate::tool::{Ask, Call, Finished, Method, Reading, Tool};

pub(super) struct Ab;

/// The file its table goes to.
const TABLE: &str = "ab.csv";

/// More than it can send, so that the duration ends the run.
const COUNT_PER_S: f64 = 200_000.0;

const CAN: Can =
    Can { duration: Amount::Whole, timeout: Amount::No, verify: false, sources: 1, ..PLAIN };

impl Tool for Ab {
    fn name(&self) -> &'static str {
        "ab"
    }

    fn program(&self) -> &'static str {
        "ab"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["-V"]
    }

    fn call(&self, ask: &Ask) -> Call {
        CAN.refuse(ask).unwrap_or_else(|| command(ask))
    }

    fn read(&self, run: &Finished) -> Result<Reading, String> {
        ended_well(run)?;
        let text = &run.stdout;
        let mut reading = reading(run);
        let ended = count_after(text, "Complete requests:")?;
        // Both lines are there only when there are some.
        let failed = count_after(text, "Non-2xx responses:").unwrap_or(0);
        let kinds = after(text, "(Connect:").unwrap_or("0, Receive: 0");
        let unanswered =
            kinds.split_once("Receive:").and_then(|(_, rest)| count(rest)).unwrap_or(0);
        let completed = ended.checked_sub(unanswered);
        reading.completed = completed;
        reading.failed = Some(failed);
        reading.ok = completed.and_then(|completed| completed.checked_sub(failed));
        reading.errors = Some(unanswered.saturating_add(count(kinds).unwrap_or(0)));
        reading.rate_rps = Some(number_after(text, "Requests per second:")?);
        reading.duration_s = Some(number_after(text, "Time taken for tests:")?);
        reading.mean_s = number_after(text, "Time per request:").ok().map(|ms| ms / 1e3);
        let table = fs::read_to_string(run.scratch.join(TABLE)).unwrap_or_default();
        quantiles(&table, &mut reading);
        Ok(reading)
    }
}

fn command(ask: &Ask) -> Call {
    let mut arguments = vec!["-q".to_owned(), "-r".to_owned(), "-l".to_owned()];
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    option("-c", used_connections(ask).to_string());
    option("-s", ask.timeout_s.unwrap_or(TIMEOUT_S).to_string());
    option("-e", format!("{{dir}}/{TABLE}"));
    match (ask.duration_s, ask.requests) {
        (Some(duration_s), _) => {
            option("-t", duration_s.to_string());
            option("-n", (duration_s * COUNT_PER_S).to_string());
        }
        (None, requests) => option("-n", requests.unwrap_or(1).to_string()),
    }
    for (name, value) in &ask.headers {
        option("-H", format!("{name}: {value}"));
    }
    for address in &ask.source_addresses {
        option("-B", address.to_string());
    }
    if ask.keep_alive {
        arguments.push("-k".to_owned());
    }
    if ask.method == Method::Head {
        arguments.push("-i".to_owned());
    }
    arguments.push(with_path(&ask.url));
    Call::Command { arguments, files: Vec::new() }
}

/// It takes no address without a path.
fn with_path(url: &str) -> String {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    if authority.contains('/') { url.to_owned() } else { format!("{url}/") }
}

/// Rows 0 to 100 of the table; the last is the greatest.
fn quantiles(table: &str, reading: &mut Reading) {
    let row = |line: &str| {
        let (percent, ms) = line.split_once(',')?;
        Some((quantile_of(percent.parse().ok()?), ms.parse::<f64>().ok()? / 1e3))
    };
    let rows: Quantiles = table.lines().filter_map(row).collect();
    reading.min_s = rows.first().filter(|row| row.0 == 0.0).map(|row| row.1);
    reading.max_s = rows.last().filter(|row| row.0 == 1.0).map(|row| row.1);
    reading.quantiles = rows.into_iter().filter(|row| row.0 > 0.0 && row.0 < 1.0).collect();
}

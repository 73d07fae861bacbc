//! What goes to standard output: the banner before a run, the report behind it.

use std::fmt::Write as _;
use std::io;

use plimsoll_core::Plan;
use plimsoll_core::result::RunResult;

use super::counts::{Counts, document_length, seconds_taken, server_software};
use super::times::{Row, Times, whole_ms};
use super::{Command, table};

/// The first line is what programs look for that read reports; the second says who really speaks.
const PROGRAM: &str = "This is ApacheBench, Version 2.3";
const REVISION: &str = "$Revision$";
const REALLY: &str =
    concat!("Printed by Plimsoll ", env!("CARGO_PKG_VERSION"), ", which is not ApacheBench");
const LICENSE: &str = "Licensed under MIT or Apache-2.0";

/// The percentages of the table.
const PERCENTAGES: [u64; 9] = [50, 66, 75, 80, 90, 95, 98, 99, 100];

/// Which program this is.
pub(super) fn version(command: Option<&Command>) -> String {
    if command.is_some_and(|command| command.html.is_some()) {
        return format!(
            "<p>\n {PROGRAM} <i>&lt;{REVISION}&gt;</i><br>\n {REALLY}<br>\n {LICENSE}<br>\n\
             </p>\n<p>\n"
        );
    }
    format!("{PROGRAM} <{REVISION}>\n{REALLY}\n{LICENSE}\n\n")
}

/// What is printed before a run. Ends in the middle of a line where no progress is told.
///
/// # Errors
/// Those of writing.
pub fn banner(command: &Command, plan: &Plan, out: &mut dyn io::Write) -> io::Result<()> {
    let mut text = version(Some(command));
    if command.html.is_none() {
        let _ = write!(text, "Benchmarking {} ", command.endpoint.host);
        if let Some((host, port)) = &command.proxy {
            let _ = write!(text, "[through {host}:{port}] ");
        }
        text +=
            if command.heartbeat_step().is_some() { "(be patient)\n" } else { "(be patient)..." };
    }
    if command.verbosity >= 2 {
        text += &request_head(plan);
    }
    out.write_all(text.as_bytes())
}

/// The request's head as `-v 2` shows it.
fn request_head(plan: &Plan) -> String {
    let request = &plan.request;
    let (method, endpoint) = (&request.method, &plan.endpoint);
    let mut text = format!("INFO: {method} header == \n---\n{method} ");
    if plan.transport.proxy.is_some() && !endpoint.is_tls() {
        let _ = write!(text, "{}://{}", endpoint.scheme, endpoint.authority());
    }
    let _ = write!(text, "{} HTTP/1.0\r\n", plan.masks.url(endpoint.path.reveal()));
    for (name, value) in request.headers.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = write!(text, "{name}: {}\r\n", plan.masks.header(name, value.reveal()));
    }
    text + "\r\n\n---\n"
}

/// The report.
///
/// # Errors
/// Those of writing.
pub fn report(command: &Command, result: &RunResult, out: &mut dyn io::Write) -> io::Result<()> {
    let text = match &command.html {
        Some(attributes) => table::table(command, attributes, result),
        None => plain(command, result),
    };
    out.write_all(text.as_bytes())
}

fn plain(command: &Command, result: &RunResult) -> String {
    let counts = Counts::of(command, result);
    let mut text = about(command, result);
    text += &numbers(command, result, &counts);
    text += &rates(command, result, &counts);
    if counts.complete > 0 {
        let times = Times::of(command, result);
        text += &connection_times(command, &times);
        if command.percentages && counts.complete > 1 {
            text += &percentages(&times);
        }
    }
    text
}

/// Which server and document.
fn about(command: &Command, result: &RunResult) -> String {
    let endpoint = &command.endpoint;
    let mut text = "\n\n".to_owned();
    let _ = writeln!(text, "Server Software:        {}", server_software(result));
    let _ = writeln!(text, "Server Hostname:        {}", endpoint.host);
    let _ = writeln!(text, "Server Port:            {}", endpoint.port);
    if let Some(agreed) = result.connections.tls.as_deref().and_then(tls_agreed) {
        let _ = writeln!(text, "SSL/TLS Protocol:       {agreed}");
    }
    if let Some(name) = command.tls_name() {
        let _ = writeln!(text, "TLS Server Name:        {name}");
    }
    let _ = writeln!(text, "\nDocument Path:          {}", command.path_shown());
    let _ = writeln!(text, "Document Length:        {}\n", document_length(command, result));
    text
}

/// Version, suite, and the bits of the server's key and of the cipher; the server's key is not
/// known here.
fn tls_agreed(agreed: &str) -> Option<String> {
    let (version, suite) = agreed.rsplit_once(' ')?;
    let version = version.replace("TLS ", "TLSv");
    let suite = suite.replacen("TLS13_", "TLS_", 1);
    let bits = [("AES_128", "128"), ("AES_256", "256"), ("CHACHA20", "256")];
    let known = bits.iter().find(|(name, _)| suite.contains(name));
    let bits = known.map_or("?", |(_, bits)| bits);
    Some(format!("{version},{suite},?,{bits}"))
}

/// What became of the requests.
fn numbers(command: &Command, result: &RunResult, counts: &Counts) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "Concurrency Level:      {}", command.concurrency);
    let _ = writeln!(text, "Time taken for tests:   {:.3} seconds", seconds_taken(result));
    let _ = writeln!(text, "Complete requests:      {}", counts.complete);
    let _ = writeln!(text, "Failed requests:        {}", counts.failed());
    if counts.failed() > 0 {
        let _ = writeln!(
            text,
            "   (Connect: {}, Receive: {}, Length: {}, Exceptions: {})",
            counts.connect, counts.receive, counts.length, counts.exceptions
        );
    }
    if counts.write > 0 {
        let _ = writeln!(text, "Write errors:           {}", counts.write);
    }
    if counts.non_2xx > 0 {
        let _ = writeln!(text, "Non-2xx responses:      {}", counts.non_2xx);
    }
    if command.keep_alive {
        let _ = writeln!(text, "Keep-Alive requests:    {}", result.details.kept_alive);
    }
    let _ = writeln!(text, "Total transferred:      {} bytes", result.bytes.received);
    if command.body_path.is_some() {
        let _ = writeln!(text, "Total body sent:        {}", result.bytes.sent);
    }
    let _ = writeln!(text, "HTML transferred:       {} bytes", result.details.body_bytes);
    text
}

fn rates(command: &Command, result: &RunResult, counts: &Counts) -> String {
    let seconds = seconds_taken(result);
    let mut text = String::new();
    if seconds <= 0.0 || counts.complete == 0 {
        return text;
    }
    let complete = counts.complete as f64;
    let each_ms = seconds * 1e3 / complete;
    let at_a_time_ms = each_ms * f64::from(command.concurrency);
    let _ = writeln!(text, "Requests per second:    {:.2} [#/sec] (mean)", complete / seconds);
    let _ = writeln!(text, "Time per request:       {at_a_time_ms:.3} [ms] (mean)");
    let _ = writeln!(
        text,
        "Time per request:       {each_ms:.3} [ms] (mean, across all concurrent requests)"
    );
    let [received, sent, total] = transfer_rates(result, seconds);
    let _ = writeln!(text, "Transfer rate:          {received:.2} [Kbytes/sec] received");
    if command.body_path.is_some() {
        let _ = writeln!(text, "                        {sent:.2} kb/s sent");
        let _ = writeln!(text, "                        {total:.2} kb/s total");
    }
    text
}

/// KiB/s received, sent, and both.
pub(super) fn transfer_rates(result: &RunResult, seconds: f64) -> [f64; 3] {
    let (received, sent) = (result.bytes.received, result.bytes.sent);
    [received, sent, received + sent].map(|bytes| bytes as f64 / 1024.0 / seconds)
}

fn connection_times(command: &Command, times: &Times<'_>) -> String {
    let mut text = "\nConnection Times (ms)\n".to_owned();
    let rows = times.rows(command.as_original);
    if !command.confidence {
        text += "              min   avg   max\n";
        for (label, row) in rows {
            let (min, mean, max) = (whole_ms(row.min), mean_ms(row.mean), whole_ms(row.max));
            let _ = writeln!(text, "{label:<12}{min:>5} {mean:>5}{max:>5}");
        }
        return text;
    }
    text += "              min  mean[+/-sd] median   max\n";
    for (label, row) in &rows {
        let (min, mean, max) = (whole_ms(row.min), mean_ms(row.mean), whole_ms(row.max));
        let (deviation, median) = (row.deviation / 1e6, mean_ms(row.median));
        let _ =
            writeln!(text, "{label:<12}{min:>5} {mean:>4} {deviation:>5.1} {median:>6} {max:>7}");
    }
    if command.as_original {
        let named = ["the initial connection time", "the processing time", "the waiting time"];
        for (what, (_, row)) in named.iter().chain(&["the total time"]).zip(&rows) {
            text += &doubt(what, row);
        }
    }
    text
}

/// What ab says where mean and median lie further apart than the deviation. No sample is like that:
/// its mean is within a standard deviation of its median. ab compares whole milliseconds with a
/// deviation that is not rounded, so this is about rounding, and only `--as-original` says it.
fn doubt(what: &str, row: &Row) -> String {
    let apart_ms = mean_ms(row.mean).abs_diff(mean_ms(row.median)) as f64;
    let deviation_ms = row.deviation / 1e6;
    if apart_ms > 2.0 * deviation_ms {
        return format!(
            "ERROR: The median and mean for {what} are more than twice the standard\n       \
             deviation apart. These results are NOT reliable.\n"
        );
    }
    if apart_ms > deviation_ms {
        return format!(
            "WARNING: The median and mean for {what} are not within a normal deviation\n        \
             These results are probably not that reliable.\n"
        );
    }
    String::new()
}

fn percentages(times: &Times<'_>) -> String {
    let mut text = "\nPercentage of the requests served within a certain time (ms)\n".to_owned();
    for percent in PERCENTAGES {
        let value = whole_ms(times.percentage(percent));
        let _ = match percent {
            100 => writeln!(text, " 100%  {value:>5} (longest request)"),
            _ => writeln!(text, "  {percent}%  {value:>5}"),
        };
    }
    text
}

/// A mean in whole milliseconds.
pub(super) fn mean_ms(value_ns: f64) -> u64 {
    whole_ms(value_ns as u64)
}

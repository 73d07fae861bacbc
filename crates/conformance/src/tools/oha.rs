//! oha 1.x: connections of an asynchronous client, in a closed loop or at one common rate.
//!
//! Called with its JSON; with `--latency-correction` at a rate, so that the wait for a connection
//! counts; with `-w`, so that it waits for open requests at the end instead of dropping them; and
//! with a timeout, because it has no default.
//!
//! HTTP/2 is `--http-version 2` with `-p` streams on each connection, by prior knowledge unless the
//! address has TLS.
//!
//! The correction counts from when its pacer woke, not from when the request was due. Quantiles
//! leave out requests without a response. `--connect-to` picks one of several addresses at random.

use super::abilities::{Abilities, Amount, FORM_TYPE, PLAIN, form, streams, upload};
use crate::tool::{Ask, Call, Finished, Http2Over, Method, Need, Reading, TesterAdapter};
use plimsoll_lab::testers::oha;
use plimsoll_lab::testers::text::{TIMEOUT_S, milliseconds};

pub(super) struct Oha;

const CAN: Abilities = Abilities {
    rate: Amount::Any,
    resolve: usize::MAX,
    http2: Some(Http2Over::Either),
    need: |need| matches!(need, Need::Form(_) | Need::Upload(_)),
    ..PLAIN
};

impl TesterAdapter for Oha {
    fn name(&self) -> &'static str {
        "oha"
    }

    fn program(&self) -> &'static str {
        "oha"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn http2(&self) -> Option<Http2Over> {
        CAN.http2
    }

    fn call(&self, ask: &Ask) -> Call {
        CAN.refuse(ask).unwrap_or_else(|| command(ask))
    }

    fn read(&self, run: &Finished) -> Result<Reading, String> {
        oha::read(run)
    }
}

fn command(ask: &Ask) -> Call {
    let mut arguments: Vec<String> =
        ["--no-tui", "--stats-success-breakdown", "-w"].map(str::to_owned).into();
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    option("--output-format", "json".to_owned());
    option("-c", ask.connections.to_string());
    option("-t", milliseconds(ask.timeout_s.unwrap_or(TIMEOUT_S)));
    if let Some(duration_s) = ask.duration_s {
        option("-z", milliseconds(duration_s));
    }
    if let Some(requests) = ask.requests {
        option("-n", requests.to_string());
    }
    if let Some(rate_rps) = ask.rate_rps {
        option("-q", rate_rps.to_string());
    }
    if let Some(streams) = streams(ask) {
        option("--http-version", "2".to_owned());
        option("-p", streams.to_string());
    }
    let mut files = Vec::new();
    if let Some(length) = upload(ask) {
        option("-m", "POST".to_owned());
        option("-D", "{dir}/body".to_owned());
        files.push(("body".to_owned(), "x".repeat(length as usize)));
    }
    if let Some(form) = form(ask) {
        option("-m", "POST".to_owned());
        option("-d", form.to_owned());
        option("-T", FORM_TYPE.to_owned());
    }
    for (name, value) in &ask.headers {
        option("-H", format!("{name}: {value}"));
    }
    if let Some(resolve) = &ask.resolve {
        let (host, port) = (&resolve.host, resolve.port);
        for address in &resolve.addresses {
            let bracketed =
                if address.is_ipv6() { format!("[{address}]") } else { address.to_string() };
            option("--connect-to", format!("{host}:{port}:{bracketed}:{port}"));
        }
    }
    if ask.method == Method::Head {
        option("-m", "HEAD".to_owned());
    }
    let mut flag = |is_on: bool, name: &str| arguments.extend(is_on.then(|| name.to_owned()));
    flag(ask.rate_rps.is_some(), "--latency-correction");
    flag(!ask.keep_alive, "--disable-keepalive");
    flag(ask.insecure, "--insecure");
    arguments.push(ask.url.clone());
    Call::Command { arguments, files }
}

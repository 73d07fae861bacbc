//! fortio 1.x `load`: threads with a connection each, in a closed loop or each at its share of a
//! rate.
//!
//! Called with its JSON and these flags. `-uniform` spreads the threads over the interval;
//! otherwise all send at once. `-r 0.0001` sets the unit of its histogram's buckets; the default
//! resolves nothing below a millisecond. `-allow-initial-errors` keeps the run going if the server
//! fails early. HEAD needs its standard client, because its own client waits for a body.
//!
//! HTTP/2 is `-h2`, by prior knowledge unless the address has TLS. Each thread has a client with
//! one request at a time, so there is one stream on each connection.
//!
//! A thread that falls behind catches up back to back, and latency starts when a request is sent.
//! It prints a warning about that, which is passed on as a cause. Quantiles are interpolated in
//! buckets. If a request gets no answer on a reused connection, its client sends it again, so a
//! timeout may be counted as an answer. Timeouts are not distinguished from other socket errors.
//!
//! Over gRPC it calls its own `fgrpc.PingServer/Ping` alone (`-grpc -ping`), on a connection for
//! each thread. A call has no timeout. Calls are good or not, without a code.

use super::abilities::{
    Abilities, Amount, FORM_TYPE, PLAIN, form, grpc, streams, upload, used_connections,
};
use crate::service;
use crate::tool::{Ask, Call, Finished, Http2Over, Method, Need, Reading, Rpc, TesterAdapter};
use plimsoll_lab::testers::fortio;
use plimsoll_lab::testers::text::{TIMEOUT_S, milliseconds};

pub(super) struct Fortio;

const CAN: Abilities = Abilities {
    rate: Amount::Any,
    resolve: 1,
    http2: Some(Http2Over::Either),
    need: |need| matches!(need, Need::Form(_) | Need::Upload(_) | Need::Grpc(Rpc::Unary)),
    ..PLAIN
};

impl TesterAdapter for Fortio {
    fn name(&self) -> &'static str {
        "fortio"
    }

    fn program(&self) -> &'static str {
        "fortio"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["version"]
    }

    fn http2(&self) -> Option<Http2Over> {
        CAN.http2
    }

    fn call(&self, ask: &Ask) -> Call {
        if streams(ask).is_some_and(|streams| streams > 1) {
            return Call::CannotExpress("one stream on each connection".to_owned());
        }
        if grpc(ask).is_some() && ask.timeout_s.is_some() {
            return Call::CannotExpress("no timeout of a call".to_owned());
        }
        CAN.refuse(ask).unwrap_or_else(|| command(ask))
    }

    fn read(&self, run: &Finished) -> Result<Reading, String> {
        fortio::read(run)
    }
}

fn command(ask: &Ask) -> Call {
    let mut arguments: Vec<String> =
        ["load", "-quiet", "-allow-initial-errors", "-log-errors=false"].map(str::to_owned).into();
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    option("-json", "-".to_owned());
    option("-r", "0.0001".to_owned());
    option("-p", "50,75,90,95,99,99.9,99.99".to_owned());
    option("-c", used_connections(ask).to_string());
    option("-qps", ask.rate_rps.unwrap_or(0.0).to_string());
    option("-timeout", milliseconds(ask.timeout_s.unwrap_or(TIMEOUT_S)));
    if let Some(duration_s) = ask.duration_s {
        option("-t", milliseconds(duration_s));
    }
    if let Some(requests) = ask.requests {
        option("-n", requests.to_string());
    }
    if let Some(form) = form(ask) {
        option("-payload", form.to_owned());
        option("-content-type", FORM_TYPE.to_owned());
    }
    if grpc(ask).is_some() {
        option("-payload", service::TEXT.to_owned());
    }
    let mut files = Vec::new();
    if let Some(length) = upload(ask) {
        option("-payload-file", "{dir}/body".to_owned());
        files.push(("body".to_owned(), "x".repeat(length as usize)));
    }
    for (name, value) in &ask.headers {
        option("-H", format!("{name}:{value}"));
    }
    if let Some(resolve) = &ask.resolve {
        for address in &resolve.addresses {
            option("-resolve", address.to_string());
        }
    }
    let mut flag = |is_on: bool, name: &str| arguments.extend(is_on.then(|| name.to_owned()));
    flag(ask.rate_rps.is_some(), "-uniform");
    flag(grpc(ask).is_some(), "-grpc");
    flag(grpc(ask).is_some(), "-ping");
    flag(!ask.keep_alive, "-keepalive=false");
    flag(ask.insecure, "-k");
    flag(streams(ask).is_some(), "-h2");
    flag(ask.method == Method::Head, "-stdclient");
    flag(ask.method == Method::Head, "-X=HEAD");
    arguments.push(ask.url.clone());
    Call::Command { arguments, files }
}

//! hey 0.1: workers with a connection each, in a closed loop or each at its share of a rate.
//!
//! Its summary is read: the CSV has the same four decimals of a second and stops at a million
//! requests. `-q` is the rate of one worker, so the rate is divided by the number of connections.
//! Redirects are not followed, because no ask needs it.
//!
//! Its count is rounded down to a multiple of the workers. Latency starts when a request is sent,
//! at any rate; quantiles leave out failed requests. Certificates are not verified. It has no flag
//! that prints its version.

use super::abilities::{Abilities, Amount, FORM_TYPE, PLAIN, form, used_connections};
use crate::tool::{Ask, Call, Finished, Method, Need, Reading, TesterAdapter};
use plimsoll_lab::testers::hey;
use plimsoll_lab::testers::text::{TIMEOUT_S, milliseconds};

pub(super) struct Hey;

const CAN: Abilities = Abilities {
    rate: Amount::Any,
    timeout: Amount::Whole,
    verify: false,
    need: |need| matches!(need, Need::Form(_)),
    ..PLAIN
};

impl TesterAdapter for Hey {
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
        hey::read(run)
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
    if let Some(form) = form(ask) {
        option("-m", "POST".to_owned());
        option("-d", form.to_owned());
        option("-T", FORM_TYPE.to_owned());
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

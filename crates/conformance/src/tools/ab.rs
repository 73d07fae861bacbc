//! ab, ApacheBench 2.3: HTTP/1.0 in a closed loop, one thread.
//!
//! Called with `-k` (HTTP/1.0's keep-alive), `-r` (a receive error does not end the run), `-l` (a
//! body of another length is not a failure) and `-e`, whose table has thousandths of a millisecond;
//! the report has whole milliseconds. A duration also needs a count, because `-t` alone means 50
//! 000 requests. ab holds 32 bytes for each request, so the count is 200 000 for each second.
//!
//! ab has no timeout of a request: `-s` ends the whole run after that time without any event, as
//! happens after some resets. Its `Complete requests` include those under Receive, which had no
//! whole response and are read as errors. Those under Exceptions are listed a second time and are
//! left out. Certificates are not verified.

use super::abilities::{Abilities, Amount, PLAIN, used_connections};
use crate::tool::{Ask, Call, Finished, Method, Reading, TesterAdapter};
use plimsoll_lab::testers::ab;
use plimsoll_lab::testers::text::TIMEOUT_S;

pub(super) struct Ab;

/// More than it can send, so that the duration ends the run.
const COUNT_PER_S: f64 = 200_000.0;

const CAN: Abilities =
    Abilities { duration: Amount::Whole, timeout: Amount::No, verify: false, sources: 1, ..PLAIN };

impl TesterAdapter for Ab {
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
        ab::read(run)
    }
}

fn command(ask: &Ask) -> Call {
    let mut arguments = vec!["-q".to_owned(), "-r".to_owned(), "-l".to_owned()];
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    option("-c", used_connections(ask).to_string());
    option("-s", ask.timeout_s.unwrap_or(TIMEOUT_S).to_string());
    option("-e", format!("{{dir}}/{}", ab::TABLE));
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

//! wrk 4.1 and 4.2: a closed loop over a fixed number of connections.
//!
//! Called with `--latency`, one thread (it rounds connections down to a multiple of its threads,
//! and one thread keeps a core of the hosts these experiments are for), a long `--timeout` (a
//! response slower than that is left out of its latency), and a script whose `done` prints in
//! microseconds the figures that its report rounds to three digits. One request per connection is
//! `Connection: close`.
//!
//! Its latency has passed through its own correction, which adds samples that it did not take. It
//! does not count a request that is never answered, and counts a timeout only once the answer
//! comes. Certificates are not verified.

use super::abilities::{Abilities, Amount, PLAIN};
use super::lua;
use crate::tool::{Ask, Call, Finished, Need, Reading, TesterAdapter};
use plimsoll_lab::testers::text::{TIMEOUT_S, ended_well, number_after, reading};

pub(super) struct Wrk;

const CAN: Abilities = Abilities {
    count: false,
    duration: Amount::Whole,
    timeout: Amount::Whole,
    verify: false,
    need: |need| {
        matches!(need, Need::Targets(_) | Need::Pipeline(_) | Need::Threads(_) | Need::Form(_))
    },
    ..PLAIN
};

impl TesterAdapter for Wrk {
    fn name(&self) -> &'static str {
        "wrk"
    }

    fn program(&self) -> &'static str {
        "wrk"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["-v"]
    }

    fn call(&self, ask: &Ask) -> Call {
        CAN.refuse(ask).unwrap_or_else(|| command(ask, &["--latency".to_owned()]))
    }

    fn read(&self, run: &Finished) -> Result<Reading, String> {
        ended_well(run)?;
        let mut reading = reading(run);
        lua::read(&run.stdout, &mut reading)?;
        reading.rate_rps = Some(number_after(&run.stdout, "Requests/sec:")?);
        Ok(reading)
    }
}

/// One, unless the ask says otherwise.
fn threads(ask: &Ask) -> u32 {
    let threads = ask.extra.iter().find_map(|need| match need {
        Need::Threads(threads) => Some(*threads),
        _ => None,
    });
    threads.unwrap_or(1)
}

/// The command line that wrk and wrk2 share, and what is particular before the address.
pub(super) fn command(ask: &Ask, particular: &[String]) -> Call {
    let mut arguments = vec![
        format!("-t{}", threads(ask)),
        format!("-c{}", ask.connections),
        format!("-d{}s", ask.duration_s.unwrap_or(10.0)),
        "--timeout".to_owned(),
        format!("{}s", ask.timeout_s.unwrap_or(TIMEOUT_S)),
        "-s".to_owned(),
        format!("{{dir}}/{}", lua::NAME),
    ];
    arguments.extend_from_slice(particular);
    for (name, value) in &ask.headers {
        arguments.extend(["-H".to_owned(), format!("{name}: {value}")]);
    }
    if !ask.keep_alive {
        arguments.extend(["-H".to_owned(), "Connection: close".to_owned()]);
    }
    arguments.push(ask.url.clone());
    let files = vec![(lua::NAME.to_owned(), lua::script(ask))];
    Call::Command { arguments, files }
}

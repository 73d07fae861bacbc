//! wrk2 (giltene's, which calls itself 4.0.0): a rate over a fixed number of connections.
//!
//! Called with `-U`, which prints latency from when a request was due as well as from when it was
//! sent; otherwise as `wrk`. Both are read: the script's figures are the corrected ones.
//!
//! At 10 s + 5 ms for each connection it discards the latencies so far (its calibration), while
//! `Requests/sec` covers the whole run. The duration asked for is kept, because the experiments
//! know what happens when: up to 10 s nothing is discarded; beyond that, its latencies cover the
//! rest. Connections are opened 5 ms apart. Timers have whole milliseconds. Requests that are open
//! or overdue at the end are in no figure. Timeouts also count idle connections, again every 2 s.

use super::abilities::{Abilities, Amount, PLAIN};
use super::{lua, wrk};
use crate::tool::{Ask, Call, Finished, Need, Reading, TesterAdapter};
use plimsoll_lab::testers::text::{
    Quantiles, ended_well, number_after, quantile_of, reading, seconds,
};

pub(super) struct Wrk2;

const CAN: Abilities = Abilities {
    closed_loop: false,
    rate: Amount::Whole,
    count: false,
    duration: Amount::Whole,
    timeout: Amount::Whole,
    verify: false,
    need: |need| matches!(need, Need::Targets(_) | Need::Threads(_) | Need::Form(_)),
    ..PLAIN
};

impl TesterAdapter for Wrk2 {
    fn name(&self) -> &'static str {
        "wrk2"
    }

    fn program(&self) -> &'static str {
        "wrk2"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["-v"]
    }

    fn call(&self, ask: &Ask) -> Call {
        let rate = format!("-R{}", ask.rate_rps.unwrap_or_default());
        CAN.refuse(ask).unwrap_or_else(|| wrk::command(ask, &["-U".to_owned(), rate]))
    }

    fn read(&self, run: &Finished) -> Result<Reading, String> {
        ended_well(run)?;
        let mut reading = reading(run);
        lua::read(&run.stdout, &mut reading)?;
        reading.rate_rps = Some(number_after(&run.stdout, "Requests/sec:")?);
        reading.service_quantiles = uncorrected(&run.stdout);
        Ok(reading)
    }
}

/// The short list under `Uncorrected Latency`; its last row, 100 %, is the greatest.
fn uncorrected(stdout: &str) -> Quantiles {
    let lines = stdout.lines().skip_while(|line| !line.contains("Uncorrected Latency")).skip(1);
    let row = |line: &str| {
        let (percent, value) = line.split_once('%')?;
        Some((quantile_of(percent.trim().parse().ok()?), seconds(value)?))
    };
    lines.map_while(row).collect()
}

//! Whether the tester's counts equal the server's.

use super::Experiment;
use crate::harness::{Bench, Setup, Subject};
use crate::judge::{Checks, Judgement, said};
use crate::oracle::Mode;
use crate::tool::{Ask, Reading};

pub(super) const ALL: [Experiment; 1] = [Experiment {
    name: "counts",
    row: 8,
    title: "Counts differ from the server's",
    method: "1003 requests over 7 connections; then 2 s of closed loop over 7 connections",
    truth: "the oracle's own count: exactly 1003, and whatever it was in 2 s",
    tolerance: "none; in the closed loop one for each connection that was open at the end",
    needs_quiet: false,
    run: counts,
}];

const REQUESTS: u64 = 1003;
const CONNECTIONS: u32 = 7;

fn counts(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask { connections: CONNECTIONS, requests: Some(REQUESTS), ..Ask::to("/") };
    let by_number = bench.measure(subject, &Setup::new(ask, Mode::default()));
    let ask = Ask { connections: CONNECTIONS, duration_s: Some(2.0), ..Ask::to("/") };
    let by_time = bench.measure(subject, &Setup::new(ask, Mode::default()))?;
    let by_number = match by_number {
        Ok(run) => Some((run.reading, run.log.entries.len() as u64)),
        Err(Judgement::CannotExpress { .. }) => None,
        Err(other) => return Err(other),
    };
    let seen = by_time.log.entries.len() as u64;
    judge_counts(by_number.as_ref().map(|(reading, n)| (reading, *n)), (&by_time.reading, seen))
}

/// Readings of the two runs, the first where it was possible, with the oracle's counts.
fn judge_counts(
    by_number: Option<(&Reading, u64)>,
    by_time: (&Reading, u64),
) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    match by_number {
        Some((reading, seen)) => {
            checks.exactly("sent of 1003", seen, REQUESTS);
            checks.exactly("reported", said(reading.completed, "how many completed")?, REQUESTS);
        }
        None => checks.note("no fixed number of requests"),
    }
    let (reading, seen) = by_time;
    let reported = said(reading.completed, "how many completed")?
        + reading.errors.unwrap_or(0)
        + reading.timed_out.unwrap_or(0);
    let missing = seen as f64 - reported as f64;
    let open = f64::from(CONNECTIONS);
    checks.note(format!("in 2 s {seen} at the oracle"));
    checks.between("not reported", crate::judge::Unit::Count, missing, 0.0, open);
    Ok(checks.outcome())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_to_agree() {
        let reading = |completed, errors| Reading { completed, errors, ..Reading::default() };
        let (whole, late) = (reading(Some(1003), None), reading(Some(5000), Some(3)));
        let pass = |number, time| matches!(judge_counts(number, time), Ok(Judgement::Pass { .. }));
        assert!(pass(Some((&whole, 1003)), (&late, 5003)));
        assert!(pass(Some((&whole, 1003)), (&late, 5010)), "seven were open");
        assert!(pass(None, (&late, 5003)));
        assert!(!pass(Some((&whole, 1001)), (&late, 5003)), "not all were sent");
        assert!(!pass(Some((&late, 1003)), (&late, 5003)), "not all are reported");
        assert!(!pass(Some((&whole, 1003)), (&late, 5011)), "some are lost");
        assert!(!pass(Some((&whole, 1003)), (&late, 5002)), "some are made up");
        let silent = reading(None, None);
        assert!(matches!(judge_counts(None, (&silent, 5)), Err(Judgement::Unmeasured { .. })));
    }
}

//! Schedules over streams: stalls, bursts, and the end of a run.

use super::{Experiment, MS, counted, keeps_to_http2, over_streams};
use crate::experiments::latency::judge_stall;
use crate::experiments::pacing::dispersion;
use crate::harness::{Bench, Run, Setup, Subject};
use crate::judge::{Checks, Judgement, Unit};
use crate::oracle::{Log, Mode, TimeSpan};
use crate::tool::Ask;

pub(super) const ALL: [Experiment; 3] = [
    Experiment {
        name: "stalled-streams",
        row: 1,
        title: "Coordinated omission: requests that no stream was free for are not measured",
        method: "HTTP/2, 1000 requests/s for 5 s over one connection with 100 streams; from 2 s on \
                 the oracle reads and does not answer for 1 s",
        truth: "of users who came on schedule, the share (S-x)/T waited longer than x: p95 750 ms, \
                p99 950 ms, max 1 s",
        tolerance: "3 %, and 60 ms for what had queued up to be answered",
        needs_quiet: true,
        run: stalled_streams,
    },
    Experiment {
        name: "stream-bursts",
        row: 5,
        title: "An even rate comes in bursts, many streams at a time",
        method: "HTTP/2, 10 000 requests/s for 3 s over one connection with 256 streams",
        truth: "ten arrivals in each millisecond",
        tolerance: "95 % of the requests; variance over mean of arrivals per millisecond below \
                    0.3, in the middle one of tenths of a second",
        needs_quiet: true,
        run: stream_bursts,
    },
    Experiment {
        name: "open-streams",
        row: 9,
        title: "Streams that are open at the end are counted nowhere",
        method: "HTTP/2, 2 connections with 10 streams each, closed loop, 1.3 s; each is answered \
                 in 500 ms",
        truth: "20 requests are open at the end: each is answered, or reported as open",
        tolerance: "every request that the oracle saw accounted for",
        needs_quiet: false,
        run: open_streams,
    },
];

fn stalled_streams(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let (load_s, stall_ns) = bench.pick((5.0, 1000 * MS), (2.5, 500 * MS));
    let ask = Ask { rate_rps: Some(1000.0), duration_s: Some(load_s), ..over_streams(1, 100) };
    let from_ns = (load_s * 0.4e9) as u64;
    let stall = TimeSpan { from_ns, for_ns: stall_ns };
    let run =
        bench.measure(subject, &Setup::new(ask, Mode { stall: Some(stall), ..Mode::default() }))?;
    judge_stall(&run.reading, stall_ns as f64 / 1e9, load_s)
}

fn stream_bursts(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let load_s = bench.pick(3.0, 2.0);
    let ask = Ask { rate_rps: Some(10_000.0), duration_s: Some(load_s), ..over_streams(1, 256) };
    let mode = Mode { spin: true, ..Mode::default() };
    let least = (load_s * 9500.0) as u64;
    let run = bench.load(subject, &Setup { least, ..Setup::new(ask, mode) })?;
    Ok(judge_bursts(&run.log, load_s))
}

fn judge_bursts(log: &Log, load_s: f64) -> Judgement {
    let mut checks = Checks::default();
    keeps_to_http2(&mut checks, log);
    let dispersion = dispersion(&log.arrivals_s(), 0.3, load_s - 0.2);
    checks.between("variance/mean", Unit::Count, dispersion, 0.0, 0.3);
    checks.outcome()
}

fn open_streams(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask { duration_s: Some(1.3), ..over_streams(2, 10) };
    judge_open(&bench.measure(subject, &Setup::new(ask, Mode::delay_ns(500 * MS)))?)
}

fn judge_open(run: &Run) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    keeps_to_http2(&mut checks, &run.log);
    let [completed, lost] = counted(&run.reading)?;
    checks.exactly("accounted for", completed + lost, run.log.entries.len() as u64);
    Ok(checks.outcome())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Entry;
    use crate::tool::Reading;

    fn passes(outcome: &Judgement) -> bool {
        matches!(outcome, Judgement::Pass { .. })
    }

    #[test]
    fn bursts_show() {
        let log = |each: u64| Log {
            entries: (0..20_000_u64)
                .map(|i| Entry { received_ns: i / each * each * 100_000, ..Entry::default() })
                .collect(),
            ..Log::default()
        };
        assert!(passes(&judge_bursts(&log(1), 2.0)));
        assert!(!passes(&judge_bursts(&log(100), 2.0)), "a hundred each 10 ms");
        assert!(!passes(&judge_bursts(&Log::default(), 2.0)));
    }

    #[test]
    fn what_is_open_at_the_end_counts() {
        let judged = |completed, errors| {
            let entries = vec![Entry::default(); 60];
            let reading = Reading { completed, errors, ..Reading::default() };
            let log = Log { entries, ..Log::default() };
            judge_open(&Run { reading, log, ..Run::default() })
        };
        assert!(passes(&judged(Some(60), None).unwrap()));
        assert!(passes(&judged(Some(40), Some(20)).unwrap()));
        assert!(!passes(&judged(Some(40), Some(0)).unwrap()), "dropped");
        assert!(!passes(&judged(Some(70), Some(0)).unwrap()), "made up");
        assert!(judged(None, None).is_err(), "it says nothing");
    }
}

//! Whether the tester reads answers of every shape by the rules, and writes each request at once.

use super::Experiment;
use crate::harness::{Bench, Run, Setup, Subject};
use crate::judge::{Checks, Judgement, Unit, quantile, quantile_of, said};
use crate::oracle::{Log, Mode};
use crate::tool::{Ask, Method, Reading};

pub(super) const ALL: [Experiment; 3] = [
    Experiment {
        name: "http-shapes",
        row: 30,
        title: "Shortcuts in reading responses",
        method: "20 requests over 2 connections for each of: chunked, 100 and 103 before 200, 204, \
                 304 with a length, HEAD with a length, no length and a close, a head in five \
                 pieces",
        truth: "all 20 are good, and no more were sent",
        tolerance: "none; Plimsoll also has to give the oracle's count of bytes",
        needs_quiet: false,
        run: shapes,
    },
    Experiment {
        name: "truncated",
        row: 30,
        title: "A response that breaks off counts as good",
        method: "20 requests over 2 connections; each answer ends before its length, then before \
                 its last chunk; in the control it is whole",
        truth: "none is good; in the control all are",
        tolerance: "none counted as good, errors said, and none in the control",
        needs_quiet: false,
        run: truncated,
    },
    Experiment {
        name: "split-write",
        row: 23,
        title: "Requests in several packets, or responses timed to their first byte",
        method: "4 connections, closed loop, 2 s; the body follows 40 ms after the head, as a \
                 delayed acknowledgement makes it",
        truth: "each request is read at once; a response takes the oracle's 40 ms",
        tolerance: "p50 3 % and 3 ms; whether the tester hints at the 40 ms is shown, not judged",
        needs_quiet: true,
        run: split_write,
    },
];

const REQUESTS: u64 = 20;

const GOOD: [&str; 7] = ["chunked", "continue", "hints", "204", "304", "until-close", "split-head"];

/// Runs 20 requests, or a second of them with a tester that cannot count.
fn few(bench: &Bench, subject: &Subject, path: &str, method: Method) -> Result<Run, Judgement> {
    let by_number = Ask { connections: 2, requests: Some(REQUESTS), method, ..Ask::to(path) };
    let by_time = Ask { requests: None, duration_s: Some(1.0), ..by_number.clone() };
    match bench.measure(subject, &Setup::new(by_number, Mode::default())) {
        Err(Judgement::CannotExpress { .. }) => {
            bench.measure(subject, &Setup::new(by_time, Mode::default()))
        }
        other => other,
    }
}

fn shapes(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    for shape in GOOD {
        let run = few(bench, subject, &format!("/shape/{shape}"), Method::Get)?;
        judge_good(&mut checks, shape, &run.reading, &run.log)?;
    }
    match few(bench, subject, "/", Method::Head) {
        Ok(run) => judge_good(&mut checks, "HEAD", &run.reading, &run.log)?,
        Err(Judgement::CannotExpress { .. }) => checks.note("no HEAD"),
        Err(other) => return Err(other),
    }
    Ok(checks.outcome())
}

fn judge_good(
    checks: &mut Checks,
    shape: &str,
    reading: &Reading,
    log: &Log,
) -> Result<(), Judgement> {
    let good = said(reading.ok.or(reading.completed), "how many were good")?;
    let answered = log.answered();
    // What was open when the time was up, with a tester that cannot count.
    let open = if answered == REQUESTS { 0 } else { 2 };
    let bad = reading.errors.unwrap_or(0) + reading.failed.unwrap_or(0);
    let is_right = good <= answered && good + open >= answered.max(REQUESTS) && bad == 0;
    if is_right {
        checks.note(format!("{shape} {good}"));
    } else {
        let figure = format!("{shape} {good} good and {bad} bad of {answered}");
        checks.holds(false, figure, &format!("{shape} {answered} good"));
    }
    if let Some(result) = &reading.result {
        let bytes: u64 = log.entries.iter().map(|entry| u64::from(entry.bytes_out)).sum();
        let received = result.bytes.received;
        if received != bytes {
            checks.exactly(&format!("{shape} bytes"), received, bytes);
        }
    }
    Ok(())
}

fn truncated(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    for shape in ["truncated", "truncated-chunk"] {
        let run = few(bench, subject, &format!("/shape/{shape}"), Method::Get)?;
        judge_bad(&mut checks, shape, &run.reading)?;
    }
    let whole = few(bench, subject, "/", Method::Get)?;
    judge_good(&mut checks, "whole", &whole.reading, &whole.log)?;
    Ok(checks.outcome())
}

fn judge_bad(checks: &mut Checks, shape: &str, reading: &Reading) -> Result<(), Judgement> {
    let good = said(reading.ok.or(reading.completed), "how many were good")?;
    checks.exactly(&format!("{shape} good"), good, 0);
    let errors = reading.errors.unwrap_or(0) + reading.failed.unwrap_or(0);
    let errors = errors + reading.timed_out.unwrap_or(0);
    checks.between("errors", Unit::Count, errors as f64, 1.0, f64::INFINITY);
    Ok(())
}

fn split_write(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let load_s = bench.pick(2.0, 1.0);
    let ask = Ask { connections: 4, duration_s: Some(load_s), ..Ask::to("/") };
    let mode = Mode { split_ns: Some(40_000_000), ..Mode::default() };
    let run = bench.measure(subject, &Setup::new(ask, mode))?;
    judge_split(&run.reading, &run.log)
}

fn judge_split(reading: &Reading, log: &Log) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    let split = log.entries.iter().filter(|entry| entry.reads > 1).count() as u64;
    checks.exactly("requests in pieces", split, 0);
    let own_s = said(quantile_of(&log.service_s(), 0.5), "anything: nothing was answered")?;
    checks.near("p50", Unit::Time, quantile(reading, 0.5)?, own_s, 0.03, 0.003);
    let hint = reading.says(&["delayed ack", "nagle", "40 ms mode"]);
    checks.note(if hint.is_some() { "hints at the cause" } else { "no hint" });
    Ok(checks.outcome())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Entry;

    fn log(count: usize, reads: u16) -> Log {
        let entry = Entry { received_ns: 1, sent_ns: 40_000_001, reads, ..Entry::default() };
        Log { entries: vec![entry; count], ..Log::default() }
    }

    fn counts(ok: u64, errors: u64) -> Reading {
        Reading { ok: Some(ok), errors: Some(errors), ..Reading::default() }
    }

    #[test]
    fn good_shapes_are_good() {
        let judged = |ok, errors, answered| {
            let mut checks = Checks::default();
            judge_good(&mut checks, "204", &counts(ok, errors), &log(answered, 1)).unwrap();
            checks.are_right()
        };
        assert!(judged(20, 0, 20));
        assert!(!judged(19, 0, 20), "with as many as were asked for none is open");
        assert!(!judged(20, 1, 20));
        assert!(!judged(21, 0, 20), "more than were answered");
        assert!(judged(500, 0, 502), "two were open");
        assert!(!judged(400, 0, 502));
        assert!(!judged(1, 0, 1), "it hung after the first");
    }

    #[test]
    fn truncated_ones_are_errors() {
        let judged = |ok, errors| {
            let mut checks = Checks::default();
            judge_bad(&mut checks, "truncated", &counts(ok, errors)).unwrap();
            checks.are_right()
        };
        assert!(judged(0, 20));
        assert!(!judged(20, 0));
        assert!(!judged(0, 0), "not a word");
        assert!(!judged(1, 19));
    }

    #[test]
    fn a_response_ends_with_its_last_byte() {
        let judged = |p50_s, reads| {
            let reading = Reading { quantiles: vec![(0.5, p50_s)], ..Reading::default() };
            matches!(judge_split(&reading, &log(50, reads)), Ok(Judgement::Pass { .. }))
        };
        assert!(judged(0.0402, 1));
        assert!(!judged(0.0002, 1), "timed to the first byte");
        assert!(!judged(0.0402, 2), "sent in two");
    }
}

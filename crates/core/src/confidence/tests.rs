//! Verdicts and lines that follow from doubts.

use super::*;
use crate::doubt::Off;
use crate::plan::{Draft, Endpoint};
use crate::result::Tool;
use crate::{Histogram, Ledger};

const MS: u64 = 1_000_000;

/// 10 000 requests of 10 ms, of which 1 % took 50 ms.
fn run() -> RunResult {
    let tool = Tool { name: "plimsoll".to_owned(), version: "0".to_owned() };
    let mut run = RunResult::empty(tool, &Draft::new(Endpoint::http("a", 80, "/")));
    let count = 10_000;
    run.ledger =
        Ledger { scheduled: count, sent: count, completed: count, ok: count, ..run.ledger };
    let mut times = Histogram::new();
    times.record_n(10 * MS, 9_890);
    times.record_n(50 * MS, 110);
    run.latency.response = times.clone();
    run.latency.service = times;
    run
}

fn cause(code: &str, verdict: Verdict, touches: Vec<Touch>) -> Cause {
    Cause { touches, ..Cause::new(verdict, code, format!("{code} happened")) }
}

fn concluded(causes: Vec<Cause>) -> RunResult {
    let mut run = run();
    (run.loader.verdict, run.loader.causes) = conclude(causes, &run);
    run
}

#[test]
fn the_figures_in_doubt_make_the_verdict() {
    use Figure::{Achieved, Connections, Counts, Load, Response, Service};
    use Verdict::{Invalid, Suspect, Valid};
    let below = |figure, share| vec![Touch::below(figure, Reach::requests(share))];
    for (touches, most, want, line) in [
        (vec![], Invalid, Valid, "all figures hold: the tester did not disturb them"),
        (below(Response, 0.0005), Invalid, Valid, "all figures hold"),
        (
            below(Response, 0.002),
            Invalid,
            Suspect,
            "p99 and beyond (may be lower) in doubt: this host was busy; p50, rate and counts hold",
        ),
        (
            below(Service, 0.6),
            Invalid,
            Invalid,
            "times (may be lower) in doubt: this host was busy; rate and counts hold",
        ),
        (below(Service, 0.6), Suspect, Suspect, "times (may be lower) in doubt"),
        // A tenth of 10 ms is within the tolerance, and so are 100 µs.
        (
            vec![Touch::below(Response, Reach::Requests(vec![Off::new(MS / 2, 0.0)]))],
            Invalid,
            Valid,
            "all figures hold",
        ),
        (
            vec![Touch::above(Achieved, Reach::share(0.2))],
            Suspect,
            Suspect,
            "the rate (may be higher) in doubt: this host was busy; times and counts hold",
        ),
        (vec![Touch::above(Achieved, Reach::share(0.04))], Invalid, Valid, "all figures hold"),
        (vec![Touch::either(Counts, Reach::Any)], Invalid, Invalid, "counts in doubt"),
        (vec![Touch::either(Connections, Reach::Any)], Invalid, Valid, "all figures hold"),
        (
            vec![Touch::either(Load, Reach::Any)],
            Invalid,
            Suspect,
            "the load was not the one asked for: this host was busy; times, rate and counts hold",
        ),
    ] {
        let run = concluded(vec![cause("cpu_shared", most, touches.clone())]);
        let loader = &run.loader;
        assert_eq!((loader.verdict, loader.causes[0].verdict), (want, want), "{touches:?}");
        let is_note = loader.causes[0].text.starts_with("note: ");
        assert_eq!(is_note, want == Valid, "{touches:?}");
        let text = confidence(&run).text;
        assert!(text.starts_with(line), "{text}");
    }
}

#[test]
fn causes_that_are_harmless_alone_may_not_be_together() {
    let part = || vec![Touch::below(Figure::Response, Reach::requests(0.0006))];
    let (one, two) = (
        concluded(vec![cause("paused", Verdict::Invalid, part())]),
        concluded(vec![
            cause("paused", Verdict::Invalid, part()),
            cause("late", Verdict::Invalid, part()),
        ]),
    );
    assert_eq!((one.loader.verdict, two.loader.verdict), (Verdict::Valid, Verdict::Suspect));
}

#[test]
fn a_cause_of_an_earlier_version_doubts_everything() {
    let mut run = run();
    run.loader.verdict = Verdict::Suspect;
    run.loader.causes = vec![cause("cpu", Verdict::Suspect, Vec::new())];
    let doubts = doubts(&run.loader.causes);
    assert!(Figure::ALL.iter().all(|figure| doubts.touch(*figure)));
    assert!(confidence(&run).text.starts_with("times, the rate, counts in doubt, and the load"));
}

#[test]
fn each_reason_is_given_once() {
    let touches = || vec![Touch::below(Figure::Response, Reach::requests(0.6))];
    let causes = ["late", "cpu_shared", "throttled", "steal"]
        .map(|code| cause(code, Verdict::Invalid, touches()));
    let text = confidence(&concluded(causes.into())).text;
    assert!(text.contains(": this host was busy, and the tester hit its CPU quota; "), "{text}");
}

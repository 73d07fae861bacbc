//! Sides made of results, and the document of two of them.

use std::cell::Cell;
use std::cmp::Ordering;

use crate::comparison::document::shared;
use crate::comparison::*;
use crate::doubt::{Figure, Reach, Touch};
use crate::outage::Outage;
use crate::plan::{Draft, Endpoint, HttpVersion};
use crate::protocol::{Allowed, ProtocolCounts};
use crate::result::{ConnectionsChange, RateChange, RunResult, ScenarioResult, Tool};
use crate::schedule::{Arrival, Profile};
use crate::streams::Streams;
use crate::verdict::{Cause, Verdict};

pub(super) fn of_results(
    name: &str,
    results: &[(String, RunResult)],
    allow_different: bool,
) -> Result<Side, SideError> {
    let repeat = |(name, result): &(String, RunResult)| Repeat::of_result(name, result);
    Side::of_repeats(name, &results.iter().map(repeat).collect::<Vec<_>>(), allow_different)
}

fn tool() -> Tool {
    Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() }
}

/// A run at `second` in which every request took `service_us`.
pub(super) fn result(second: u32, service_us: u64) -> RunResult {
    let mut result = RunResult::empty(tool(), &Draft::new(Endpoint::http("127.0.0.1", 8080, "/")));
    result.started_at = format!("2026-11-21T12:00:{second:02}Z");
    result.loader.workers = 1;
    for i in 0..1000 {
        result.latency.service.record(service_us * 1000 + i);
        result.latency.response.record(service_us * 1000 + i);
    }
    result.ledger.scheduled = 1000;
    result.ledger.sent = 1000;
    result.ledger.completed = 1000;
    result.ledger.ok = 1000;
    result.rate.achieved_rps = 1e6 / service_us as f64;
    result
}

/// Runs at every second second from `first` on.
pub(super) fn side(name: &str, first: u32, services_us: &[u64]) -> Side {
    let results: Vec<(String, RunResult)> = (0..)
        .zip(services_us)
        .map(|(i, us)| (format!("{name}{i}.json"), result(first + 2 * i, *us)))
        .collect();
    of_results(name, &results, false).unwrap()
}

pub(super) const BASE_US: [u64; 5] = [1000, 1010, 990, 1005, 995];
const SLOW_US: [u64; 5] = [1100, 1111, 1089, 1106, 1094];

pub(super) fn contrast(base: &Side, new: &Side) -> Contrast {
    Contrast::of(base, new, Settings::default(), &[], tool())
}

#[test]
fn a_slower_server_is_found_slower_in_rate_and_times() {
    let found = contrast(&side("base", 0, &BASE_US), &side("new", 1, &SLOW_US));
    assert_eq!((found.schema.as_str(), found.cases.len()), (SCHEMA, 1));
    assert!(found.differences.is_empty() && found.notes.is_empty(), "{found:?}");
    let case = &found.cases[0];
    assert_eq!(
        (case.decision, case.headline.measure.to_string().as_str()),
        (CaseDecision::Worse, "rate")
    );
    assert!((case.headline.comparison.ratio().unwrap() - 0.909).abs() < 0.001);
    let others: Vec<String> = case.others.iter().map(|it| it.measure.to_string()).collect();
    assert_eq!(others, ["p50", "p90", "p99", "p99.9", "service.p99", "errors"]);
    for other in &case.others[..5] {
        assert_eq!(other.comparison.decision, Decision::Worse, "{other:?}");
    }
    assert_eq!(case.others[5].comparison.decision, Decision::CannotTell);
    let text = serde_json::to_string(&found).unwrap();
    let read: Contrast = serde_json::from_str(&text).unwrap();
    assert_eq!(read.cases[0].headline.measure, case.headline.measure);
}

#[test]
fn at_a_rate_times_decide() {
    let paced = |name: &str, first: u32, services_us: &[u64]| {
        let results: Vec<(String, RunResult)> = (0..)
            .zip(services_us)
            .map(|(i, us)| {
                let mut result = result(first + 2 * i, *us);
                result.plan.rate = Some(Profile::constant(1000, None, Arrival::Uniform));
                result.rate.achieved_rps = 1000.0;
                (format!("{name}{i}"), result)
            })
            .collect();
        of_results(name, &results, false).unwrap()
    };
    let found = contrast(&paced("base", 0, &BASE_US), &paced("new", 1, &SLOW_US));
    let case = &found.cases[0];
    assert_eq!(case.headline.measure.to_string(), "p99");
    assert_eq!(case.decision, CaseDecision::Worse);
    assert!(case.others.iter().any(|other| other.measure.to_string() == "service.p99"));
}

/// Calls that stream: the calls take as long, and their messages come later.
#[test]
fn times_of_messages_are_compared_where_calls_stream() {
    let side = |name: &str, first: u32, gaps_us: &[u64]| {
        let results: Vec<(String, RunResult)> = (0..)
            .zip(gaps_us)
            .map(|(i, us)| {
                let mut result = result(first + 2 * i, BASE_US[i as usize]);
                let mut streams = Streams::new(false);
                streams.first_message.record_n(2_000_000, 1000);
                streams.gaps.record_n(us * 1000, 1000);
                result.grpc_streams = Some(Box::new(streams));
                (format!("{name}{i}"), result)
            })
            .collect();
        of_results(name, &results, false).unwrap()
    };
    let found = contrast(&side("base", 0, &BASE_US), &side("new", 1, &SLOW_US));
    let others = found.cases[0].others.iter();
    let decided: Vec<(String, Decision)> =
        others.map(|it| (it.measure.to_string(), it.comparison.decision)).collect();
    let of = |name: &str| decided.iter().find(|(known, _)| known == name).map(|(_, it)| *it);
    assert_eq!(of("message_gap.p99"), Some(Decision::Worse), "{decided:?}");
    assert_eq!(of("first_message.p99"), Some(Decision::CannotTell));
    assert_eq!(of("round_trip.p99"), None, "no message waits for an answer");
    let limit = [Limit::parse("message_gap.p99>+5%").expect("a limit")];
    let [base, new] = [side("base", 0, &BASE_US), side("new", 1, &SLOW_US)];
    let found = Contrast::of(&base, &new, Settings::default(), &limit, tool());
    assert!(!found.limits[0].pass, "{:?}", found.limits);
}

#[test]
fn results_that_are_no_repeats_make_no_side() {
    let one = ("a".to_owned(), result(0, 1000));
    let mut longer = result(1, 1000);
    longer.plan.connections = 7;
    longer.environment.kernel = "6.1".to_owned();
    let both = [one, ("b".to_owned(), longer)];
    let error = of_results("x", &both, false).unwrap_err().to_string();
    assert_eq!(
        error,
        "'a' and 'b' are not repeats of one load: connections 50 and 7; kernel unknown and 6.1"
    );
    assert!(of_results("x", &both, true).is_ok());
    assert!(matches!(of_results("x", &[], false), Err(SideError::Empty(_))));
}

#[test]
fn scenarios_and_their_plans_are_to_be_alike() {
    let of = |second: u32, connections: &[u32]| {
        let scenario = |(start_ns, &connections): (u64, &u32)| {
            let mut own = result(second, 1000);
            own.plan.connections = connections;
            own.plan.endpoint.host = format!("host {second}");
            ScenarioResult { name: format!("s{start_ns}"), start_ns, result: own }
        };
        let mut run = result(second, 1000);
        run.scenarios = (0..).zip(connections).map(scenario).collect();
        of_results("side", &[("r".to_owned(), run)], false).unwrap()
    };
    let base = of(0, &[5, 6]);
    for (connections, want) in [
        (&[5, 6][..], None),
        (&[5, 7], Some("scenario s1: connections 6 and 7")),
        (&[5], Some("scenarios s0 at 0s, s1 at 1ns and s0 at 0s")),
        (&[], Some("scenarios s0 at 0s, s1 at 1ns and none")),
    ] {
        let want: Vec<&str> = want.into_iter().collect();
        assert_eq!(base.differences(&of(1, connections)), want, "{connections:?}");
    }
}

#[test]
fn what_differs_is_named_and_the_server_may() {
    let base = side("base", 0, &BASE_US);
    for (name, change, want) in [
        ("nothing", (|_| {}) as fn(&mut RunResult), None),
        ("host", |result| result.plan.endpoint.host = "::1".to_owned(), None),
        ("port", |result| result.plan.endpoint.port = 1, None),
        ("seed", |result| result.plan.seed = 7, None),
        ("gates", |result| result.plan.gates = vec!["p99<1s".to_owned()], None),
        ("path", |result| result.plan.endpoint.path = "/x".into(), Some("endpoint.path / and /x")),
        ("streams", |result| result.plan.http2.streams = 8, Some("http2.streams 1 and 8")),
        (
            "messages in flight",
            |result| result.plan.websocket.in_flight = 8,
            Some("websocket.in_flight 1 and 8"),
        ),
        (
            "subprotocol",
            |result| result.plan.websocket.subprotocol = Some("chat".to_owned()),
            Some("websocket.subprotocol none and chat"),
        ),
        (
            "version",
            |result| result.plan.http_version = HttpVersion::Http2,
            Some("http_version 1 and 2"),
        ),
        ("time", |result| result.plan.duration_ns = None, Some("duration_s 10.0 and none")),
        (
            "rate",
            |result| {
                result.plan.rate = Some(Profile::constant(5_000_000, None, Arrival::Poisson));
            },
            Some("rate none and 5.00/s poisson"),
        ),
        ("cores", |result| result.environment.cores = 64, Some("cores 0 and 64")),
        (
            "tester",
            |result| result.tool.version = "9".to_owned(),
            Some("tester plimsoll 0.1.0 and plimsoll 9"),
        ),
        (
            "driver",
            |result| result.loader.driver.kind = "epoll".to_owned(),
            Some("driver unknown and epoll"),
        ),
        ("threads", |result| result.loader.workers = 2, Some("threads 1 and 2")),
    ] {
        let mut other = result(1, 1000);
        change(&mut other);
        let new = of_results("new", &[("n".to_owned(), other)], false).unwrap();
        let want: Vec<&str> = want.into_iter().collect();
        assert_eq!(base.differences(&new), want, "{name}");
    }
}

#[test]
fn runs_that_stand_twice_are_said() {
    let base = side("base", 0, &BASE_US);
    let twice = [("a".to_owned(), result(0, 1000)), ("b".to_owned(), result(0, 1000))];
    let doubled = of_results("x", &twice, false).unwrap();
    assert_eq!(doubled.cases[0].case.runs.len(), 1);
    assert_eq!(doubled.notes, ["'b' holds a run that was there: counted once"]);
    let same = contrast(&base, &base);
    assert_eq!(same.notes, ["both sides are the same runs: there is nothing to compare"]);
    assert_eq!(same.cases[0].decision, CaseDecision::CannotTell);
    let overlapping = contrast(&base, &side("new", 0, &[1000, 2000, 3000]));
    assert_eq!(overlapping.notes, ["1 of the runs stand on both sides: leave them out of one"]);
}

#[test]
fn sides_that_took_no_turns_are_said() {
    for (first, want) in [(1, 0), (9, 1), (30, 1)] {
        let found = contrast(&side("base", 0, &BASE_US), &side("new", first, &SLOW_US));
        assert_eq!(found.notes.len(), want, "{first}: {:?}", found.notes);
        assert!(found.notes.iter().all(|note| note.contains("one after the other")));
    }
    let alone = contrast(&side("base", 0, &BASE_US[..1]), &side("new", 1, &SLOW_US[..1]));
    assert!(alone.notes.is_empty(), "what one run lacks is reported already");
}

#[test]
fn servers_that_allow_different_numbers_of_streams_are_said() {
    let told = |base: Option<Option<u32>>, new: Option<Option<u32>>| {
        let side = |name: &str, second, streams: Option<Option<u32>>| {
            let mut result = result(second, 1000);
            result.plan.http2.streams = 100;
            let allowed = |streams| Allowed {
                streams,
                window_bytes: 65_535,
                header_table_bytes: 4096,
                frame_bytes: 16_384,
            };
            let name = name.to_owned();
            let allowed = streams.map(allowed);
            result.protocols = vec![ProtocolCounts { allowed, ..ProtocolCounts::default() }];
            of_results(&name, &[(name.clone(), result)], false).unwrap()
        };
        contrast(&side("base", 0, base), &side("new", 1, new)).notes
    };
    for (base, new, want) in [
        (Some(Some(10)), Some(Some(100)), Some("10 streams on each connection in 'base', 100")),
        (Some(None), Some(Some(1)), Some("100 streams on each connection in 'base', 1 in 'new'")),
        (Some(Some(10)), Some(Some(10)), None),
        // More than was asked for is the same load.
        (Some(Some(100)), Some(Some(250)), None),
        (Some(Some(100)), Some(None), None),
        // HTTP/1 has no streams.
        (None, Some(Some(10)), None),
    ] {
        let notes = told(base, new);
        assert_eq!(notes.len(), usize::from(want.is_some()), "{notes:?}");
        assert!(want.is_none_or(|want| notes[0].contains(want)), "{notes:?}");
    }
}

/// As of a cause that can have moved every figure.
fn everything() -> Vec<Touch> {
    Figure::ALL.map(|figure| Touch::either(figure, Reach::Any)).into()
}

#[test]
fn doubts_of_the_tester_are_named() {
    let mut bad = result(1, 1000);
    bad.loader.verdict = Verdict::Invalid;
    let cause = |verdict, code: &str| Cause {
        verdict,
        code: code.to_owned(),
        text: "what was seen".to_owned(),
        touches: everything(),
    };
    bad.loader.causes = vec![cause(Verdict::Invalid, "lateness"), cause(Verdict::Valid, "a note")];
    let mut empty = result(3, 1000);
    empty.ledger.scheduled = 0;
    empty.ledger.sent = 0;
    let new = [("a", bad), ("b", empty)].map(|(name, result)| (name.to_owned(), result));
    let new = of_results("new", &new, false).unwrap();
    let found = contrast(&side("base", 0, &BASE_US), &new);
    assert_eq!(
        found.cases[0].notes,
        [
            "new: 1 of 2 runs do not count: in doubt: what was seen",
            "new: 1 of 2 runs do not count: not one request was sent",
        ]
    );
    assert_eq!(found.cases[0].headline.comparison.new.n, 0);
}

/// Five runs, of each of which `failed` of 1000 responses were failures, `service_us` long.
pub(super) fn failing(name: &str, first: u32, service_us: u64, failed: [u64; 5]) -> Side {
    let results: Vec<(String, RunResult)> = (0..)
        .zip(failed)
        .map(|(i, failed)| {
            let mut result = result(first + 2 * i, service_us + u64::from(i));
            result.ledger.failed = failed;
            result.ledger.ok = 1000 - failed;
            (format!("{name}{i}"), result)
        })
        .collect();
    of_results(name, &results, false).unwrap()
}

/// A server that answers nothing but 503 does so at once.
#[test]
fn failures_are_no_speed() {
    let (good, worse) = ([0; 5], CaseDecision::Worse);
    for (name, base, new, decision, headline) in [
        ("all fail", failing("b", 0, 1000, good), failing("n", 1, 15, [1000; 5]), worse, "errors"),
        (
            "some",
            failing("b", 0, 1000, good),
            failing("n", 1, 500, [9, 8, 7, 8, 9]),
            worse,
            "errors",
        ),
        (
            "they go away",
            failing("b", 0, 15, [1000; 5]),
            failing("n", 1, 1000, good),
            CaseDecision::Better,
            "errors",
        ),
        (
            "perhaps more",
            failing("b", 0, 1000, good),
            failing("n", 1, 500, [0, 0, 900, 0, 0]),
            CaseDecision::CannotTell,
            "rate",
        ),
        (
            "hardly any",
            failing("b", 0, 1000, good),
            failing("n", 1, 500, [0, 1, 0, 0, 0]),
            CaseDecision::Better,
            "rate",
        ),
        (
            "nothing but failures",
            failing("b", 0, 1000, [1000; 5]),
            failing("n", 1, 15, [1000; 5]),
            CaseDecision::CannotTell,
            "rate",
        ),
    ] {
        let found = contrast(&base, &new);
        let case = &found.cases[0];
        let decided = (case.decision, case.headline.measure.to_string());
        assert_eq!(decided, (decision, headline.to_owned()), "{name}: {case:?}");
        let is_time = |it: &&MeasureContrast| it.measure.to_string().starts_with('p');
        let is_called = case
            .others
            .iter()
            .filter(is_time)
            .any(|it| it.comparison.decision != Decision::CannotTell);
        assert_eq!(is_called, name == "hardly any", "{name}: {case:?}");
        let says = case.notes.iter().any(|note| note.contains("failed"));
        assert_eq!(says, name != "hardly any", "{name}: {:?}", case.notes);
    }
}

/// Users that are cut off send nothing that could fail: a server that is gone for a third of the
/// run, and faster in the rest of it, is no better one.
#[test]
fn an_outage_is_no_speed() {
    for (shares, decision, headline) in [
        ([0.3, 0.31, 0.29, 0.3, 0.32], CaseDecision::Worse, "errors"),
        ([0.0, 0.0, 0.5, 0.0, 0.0], CaseDecision::CannotTell, "rate"),
        ([0.0, 0.0, 0.0, 0.0005, 0.0], CaseDecision::Better, "rate"),
    ] {
        let results: Vec<(String, RunResult)> = (0..)
            .zip(shares)
            .map(|(i, share)| {
                let mut result = result(1 + 2 * i, 800 + u64::from(i));
                result.outage = Some(Outage { share, ..Outage::default() });
                (format!("n{i}"), result)
            })
            .collect();
        let (base, new) = (side("b", 0, &BASE_US), of_results("n", &results, false).unwrap());
        let limit = [Limit::parse("errors>+1%").unwrap()];
        let found = Contrast::of(&base, &new, Settings::default(), &limit, tool());
        let case = &found.cases[0];
        let decided = (case.decision, case.headline.measure.to_string());
        assert_eq!(decided, (decision, headline.to_owned()), "{shares:?}: {case:?}");
        let broken =
            if decision == CaseDecision::Worse { Outcome::Failed } else { found.outcome() };
        assert_eq!(found.outcome(), broken, "{shares:?}");
    }
}

#[test]
fn at_a_rate_fast_failures_win_nothing() {
    let mut sides = [failing("b", 0, 1000, [0; 5]), failing("n", 1, 15, [0, 0, 990, 0, 990])];
    sides.iter_mut().for_each(|side| side.cases[0].is_paced = true);
    let found = contrast(&sides[0], &sides[1]);
    let main = &found.cases[0].headline;
    assert_eq!(main.measure.to_string(), "p99");
    let decided = (main.comparison.decision, main.comparison.reason);
    assert_eq!(decided, (Decision::CannotTell, Some(Reason::UnlikeFailures)));
}

#[test]
fn runs_that_are_no_repeats_of_the_plan_do_not_count() {
    for (name, spoil, why) in [
        (
            "interrupted",
            (|result| result.interrupted = true) as fn(&mut RunResult),
            "interrupted after 1.00 s",
        ),
        (
            "aborted",
            |result| {
                result.interrupted = true;
                result.aborted = Some("p99>1s".to_owned());
            },
            "ended early by the condition 'p99>1s' of its plan",
        ),
        (
            "changed",
            |result| result.rate.changes = vec![RateChange { at_ns: 5, rps: 7.0 }; 2],
            "its rate was changed 2 times while it went on",
        ),
        (
            "resized",
            |result| {
                let change = ConnectionsChange { at_ns: 5, connections: 7 };
                result.connections.changes = vec![change; 3];
            },
            "its connections were changed 3 times while it went on",
        ),
        (
            "invalid",
            |result| {
                result.loader.verdict = Verdict::Invalid;
                result.loader.causes = vec![Cause {
                    verdict: Verdict::Invalid,
                    code: "time_order".to_owned(),
                    text: String::new(),
                    touches: everything(),
                }];
            },
            "in doubt: the tester has a bug",
        ),
    ] {
        let spoilt = |first: u32, us: u64| {
            let results: Vec<(String, RunResult)> = (0..5)
                .map(|i| {
                    let mut result = result(first + 2 * i, us + u64::from(i));
                    result.elapsed_ns = 1_000_000_000;
                    if i > 0 {
                        spoil(&mut result);
                    }
                    (i.to_string(), result)
                })
                .collect();
            of_results("x", &results, false).unwrap()
        };
        let limit = Limit::parse("p99>+10%").unwrap();
        let (base, new) = (spoilt(0, 1000), spoilt(1, 10));
        let found = Contrast::of(&base, &new, Settings::default(), &[limit], tool());
        let main = &found.cases[0].headline.comparison;
        assert_eq!((main.base.n, main.reason), (1, Some(Reason::TooFewRepeats)), "{name}");
        assert_eq!((found.base.runs, found.outcome()), (1, Outcome::Undecided), "{name}");
        let notes = ["base", "new"].map(|side| format!("{side}: 4 of 5 runs do not count: {why}"));
        assert_eq!(found.cases[0].notes, notes, "{name}");
        let note = found.limits[0].note.as_deref().unwrap();
        let want = "it takes 4 repeats on each side, and 1 of 5 runs of the base count, 1 of 5 of";
        assert!(note.contains(want), "{name}: {note}");
        assert!(!note.contains("have no p99"), "the runs are counted once: {note}");
    }
}

#[test]
fn a_change_that_goes_against_the_medians_is_explained() {
    let base = side("base", 0, &[1000, 1001, 1002, 1300, 1301]);
    let new = side("new", 1, &[900, 901, 1003, 1004, 1005]);
    let found = contrast(&base, &new);
    let note = found.cases[0].notes.iter().find(|note| note.contains("Hodges-Lehmann"));
    assert!(note.is_some_and(|note| note.starts_with("rate")), "{:?}", found.cases[0]);
}

/// A key that counts how often it is looked at.
#[derive(Clone, Copy)]
struct Looked<'c>(u32, &'c Cell<u64>);

impl Ord for Looked<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.1.set(self.1.get() + 1);
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Looked<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Looked<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Looked<'_> {}

#[test]
fn runs_on_both_sides_are_found_in_steps_in_proportion_to_the_runs() {
    const RUNS: u32 = 20_000;
    let looks = Cell::new(0);
    let base = (0..RUNS).map(|i| Looked(i * 7919 % RUNS, &looks));
    let new = (0..RUNS).map(|i| Looked(RUNS / 2 + i, &looks));
    assert_eq!(shared(base, new), RUNS as usize / 2);
    let most = 64 * 2 * u64::from(RUNS);
    assert!(looks.get() <= most, "{} looks, {most} at most", looks.get());
}

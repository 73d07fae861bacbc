//! Every metric on hand-made results, and every way to write a condition wrong.

mod bounds;
mod custom;
mod doubts;
mod watch;

use super::*;
use crate::doubt::{Figure, Reach, Touch};
use crate::errors::ErrorCount;
use crate::histogram::Histogram;
use crate::ledger::Ledger;
use crate::outage::Outage;
use crate::outcome::Outcome;
use crate::part::Part;
use crate::phase::Phase;
use crate::plan::{Draft, Endpoint, GrpcPlan, Target};
use crate::pushed::Pushed;
use crate::result::{StageResult, Tool};
use crate::schedule::{Arrival, Profile, parse_stages};
use crate::series::Point;
use crate::streams::Streams;
use crate::usage::Usage;
use crate::verdict::{Cause, Verdict};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

fn of(values: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::new();
    for (value_ns, count) in values {
        histogram.record_n(*value_ns, *count);
    }
    histogram
}

fn profile(stages: &str) -> Option<Profile> {
    Some(Profile { stages: parse_stages(stages).unwrap(), arrival: Arrival::Uniform })
}

fn empty() -> RunResult {
    let tool = Tool { name: "plimsoll".to_owned(), version: "0".to_owned() };
    RunResult::empty(tool, &Draft::new(Endpoint::http("a", 80, "/")))
}

/// 200 ok in 1 ms and 50 failed in 8 ms, as a part.
fn part(name: &str) -> Part {
    let mut part = Part::new(name);
    part.ledger.scheduled = 250;
    part.ledger.sent = 250;
    for i in 0..250 {
        let (time_ns, ok) = if i < 200 { (MS, true) } else { (8 * MS, false) };
        let status = if ok { 200 } else { 503 };
        part.ended(2 * time_ns, time_ns, Outcome::Completed { status, ok });
    }
    part
}

/// Two stages of ten seconds: 100/s and 200/s were asked for, 100/s and 150/s came. 3000 requests
/// were due, 2500 answered, 2400 of them ok. 60 of each led to another request.
fn result() -> RunResult {
    let mut result = empty();
    result.plan.rate = profile("10s@100,10s@200");
    result.elapsed_ns = 20 * SECOND;
    result.rate.window_ns = 20 * SECOND;
    result.rate.target_rps = Some(150.0);
    result.ledger.scheduled = 3000;
    result.ledger.shed = 100;
    result.ledger.unsent = 200;
    result.ledger.sent = 2700;
    result.ledger.timed_out = 150;
    result.ledger.broken = 30;
    result.ledger.unfinished = 20;
    result.ledger.completed = 2500;
    result.ledger.ok = 2400;
    result.ledger.failed = 100;
    result.ledger.redirects = 60;
    result.ledger.reconnects = 7;
    result.refresh_rates();
    result.status = [(200, 2300), (204, 100), (404, 25), (500, 15), (503, 60)].into();
    result.plan.grpc = Some(GrpcPlan::new("a.B/C".to_owned()));
    let calls = [("OK", 2400), ("NOT_FOUND", 30), ("INTERNAL", 70)];
    result.grpc_status = calls.map(|(name, count)| (name.to_owned(), count)).into();
    let mut streams = Streams::new(false);
    streams.sent.add(12, 120);
    streams.received.add(67, 670);
    streams.cut_calls = 3;
    result.grpc_streams = Some(Box::new(streams));
    result.pushed = Some(Pushed { messages: 4, bytes: 40, pings: 6 });
    result.latency.response = of(&[(10 * MS, 2700), (40 * MS, 300)]);
    result.latency.service = of(&[(4 * MS, 2000), (6 * MS, 700)]);
    result.by_outcome.ok = of(&[(10 * MS, 2400)]);
    result.by_outcome.failed = of(&[(11 * MS, 100)]);
    result.by_outcome.incomplete = of(&[(40 * MS, 300)]);
    result.phases[Phase::Connect] = of(&[(500_000, 50)]);
    result.phases[Phase::Tls] = of(&[(2 * MS, 50)]);
    result.phases[Phase::Waiting] = of(&[(3 * MS, 2500)]);
    result.phases[Phase::Blocked] = of(&[(0, 2600), (MS, 100)]);
    result.lag = of(&[(2 * MS, 2700)]);
    result.loader.lateness = of(&[(5_000, 2700)]);
    result.loader.cpu_user_ns = 4 * SECOND;
    result.loader.cpu_system_ns = 5 * SECOND;
    result.loader.spin_ns = SECOND;
    result.loader.rss_peak_bytes = 20 << 20;
    result.bytes.received = 1_000_000;
    result.bytes.sent = 1_000;
    result.connections.opened = 50;
    result.connections.retransmits = 3;
    result.endpoints = vec![part("/"), Part::new("GET /a?x=1")];
    result.addresses = vec![part("10.0.0.1:80")];
    let stage = |start_ns, target_rps, name: &str| StageResult {
        start_ns,
        duration_ns: 10 * SECOND,
        target_rps,
        part: part(name),
    };
    result.stages = vec![stage(0, 100.0, "10s@100"), stage(10 * SECOND, 200.0, "10s@200")];
    for second in 0..20 {
        result.series.add(&point(second, if second < 10 { 100 } else { 150 }));
    }
    result
}

/// A second of requests: as many in 1 to 20 ms as its number, and 10 that timed out after 50 ms.
fn point(second: u64, completed: u64) -> Point {
    let response_ns = (second + 1) * MS;
    Point {
        t_ns: second * SECOND,
        interval_ns: SECOND,
        sent: completed + 10,
        completed,
        ok: completed,
        timed_out: 10,
        received_bytes: 1000,
        loader_cpu_ns: SECOND / 4,
        lateness_max_ns: second * 1000,
        response: of(&[(response_ns, completed), (50 * MS, 10)]).pack(),
        service: of(&[(MS / 2, completed), (49 * MS, 10)]).pack(),
        incomplete_response: of(&[(50 * MS, 10)]).pack(),
        incomplete_service: of(&[(49 * MS, 10)]).pack(),
        ..Point::default()
    }
}

fn judged(text: &str, result: &RunResult) -> Gate {
    Condition::parse(text, &[]).unwrap_or_else(|error| panic!("{error}")).judge(result)
}

/// A closed loop of 1000 good requests whose ten users were cut off for 70 % of 4 s.
#[test]
fn an_outage_fails_what_is_said_of_errors() {
    let mut result = empty();
    result.elapsed_ns = 4 * SECOND;
    result.rate.window_ns = 4 * SECOND;
    for count in [&mut result.ledger.scheduled, &mut result.ledger.sent] {
        *count = 1000;
    }
    (result.ledger.completed, result.ledger.ok) = (1000, 1000);
    assert_eq!(judged("outage<1%", &result).value, None, "documents of before do not know");
    assert_eq!(judged("errors<1%", &result).value, Some(0.0));
    let mut outage = Outage {
        longest_ns: 3 * SECOND,
        cut_off_ns: 28 * SECOND,
        users_ns: 40 * SECOND,
        failed_attempts: 10,
        ..Outage::default()
    };
    outage.refresh();
    result.outage = Some(outage);
    for (phase, count) in [(Phase::Connect, 50), (Phase::Tls, 7), (Phase::Waiting, 100)] {
        let (kind, sample) = ("x".to_owned(), String::new());
        result.errors.push(ErrorCount { phase, kind, count, sample });
    }
    for (text, measured) in [
        ("outage<1%", "70 %"),
        ("errors<1%", "70 %"),
        ("errors<10", "10"),
        ("connect_errors<10", "57"),
    ] {
        let gate = judged(text, &result);
        assert_eq!((gate.pass, gate.measured().as_str()), (false, measured), "{text}");
    }
    // At a rate a request that finds no connection is in the ledger itself.
    result.plan.rate = profile("10s@100");
    assert_eq!(judged("errors<10", &result).value, Some(0.0));
    assert_eq!(judged("errors<1%", &result).value, Some(0.7));
}

/// The clock of a condition that names none is the one that reports put first.
#[test]
fn a_closed_loop_is_judged_by_the_response_time() {
    let mut result = result();
    result.plan.rate = None;
    for part in ["", "@endpoint:/", "@3s..4s"] {
        let value = |clock: &str| judged(&format!("{clock}p50{part}<1s"), &result).value;
        assert_eq!(value(""), value("response."), "{part}");
        assert_ne!(value(""), value("service."), "{part}");
    }
}

#[test]
fn every_metric_of_a_run() {
    let result = result();
    let cases = [
        // Percentiles, both clocks, outcomes and phases.
        ("p50<11ms", "10.00 ms", true),
        ("p80<=10.1ms", "10.00 ms", true),
        ("p90.1<=10.1ms", "≥ 40.00 ms", false),
        ("p99.9<40ms", "≥ 40.00 ms", false),
        ("p99.9>=40ms", "≥ 40.00 ms", true),
        ("service.p50<4.1ms", "4.002 ms", true),
        ("response.max>=40ms", "≥ 40.00 ms", true),
        ("max>1s", "≥ 40.00 ms", false),
        ("min>=10ms", "10.00 ms", true),
        ("mean<13.1ms", "≥ 13.00 ms", false),
        ("mean>12.9ms", "≥ 13.00 ms", true),
        ("stdev<10ms", "≈ 8.999 ms", false),
        ("failed.mean<13.1ms", "11.00 ms", true),
        ("ok.p99==10ms", "10.00 ms", true),
        ("failed.p99<11ms", "11.00 ms", false),
        ("incomplete.min>=40ms", "40.00 ms", true),
        ("connect.p99<1ms", "500.0 µs", true),
        ("tls.p50==2ms", "2.000 ms", true),
        ("waiting.p99 < 3.1ms", "3.000 ms", true),
        ("blocked.p50==0", "0 ns", true),
        ("lag.mean==2ms", "2.000 ms", true),
        ("lateness.p99<10us", "5.000 µs", true),
        // The ledger, as counts and as shares of what was due.
        ("errors<1%", "20 %", false),
        ("errors==600", "600", true),
        ("ok>=80%", "80 %", true),
        ("ok>=2k", "2 400", true),
        ("completed==2500", "2 500", true),
        ("scheduled==3000", "3 000", true),
        ("sent>=90%", "90 %", true),
        ("failed<3.4%", "3.333 %", true),
        ("timed_out==0", "150", false),
        ("timed_out<=5%", "5 %", true),
        ("broken<1%", "1 %", false),
        ("broken<=1%", "1 %", true),
        ("unfinished<30", "20", true),
        ("unsent!=0", "200", true),
        ("shed<=100", "100", true),
        ("redirects==60", "60", true),
        ("reconnects<=7", "7", true),
        ("retransmits<3", "3", false),
        ("status.503<2%", "2 %", false),
        ("status.5xx==75", "75", true),
        ("status.2xx>=80%", "80 %", true),
        ("status.301==0", "0", true),
        ("grpc_status.NOT_FOUND==30", "30", true),
        ("grpc_status.NOT_FOUND<1%", "1 %", false),
        ("grpc_status.OTHER<1", "0", true),
        ("messages.sent==12", "12", true),
        ("messages.received>=67", "67", true),
        ("cut_calls<3", "3", false),
        ("pushed<5", "4", true),
        ("pings==6", "6", true),
        // Rates, the tester, the verdict.
        ("rate>=122", "122.0/s", true),
        ("rate>=99%", "81.33 %", false),
        ("rate>=0.8*target", "81.33 %", true),
        ("rate >= 0.8 * target", "81.33 %", true),
        ("offered>=target", "98 %", false),
        ("offered==147/s", "147.0/s", true),
        ("bytes.received>=1M", "977 KiB", true),
        ("bytes.sent<1KiB", "1000 B", true),
        ("cpu<=40%", "40 %", true),
        ("cpu<0.4", "40 %", false),
        ("rss<20MiB", "20.0 MiB", false),
        ("rss<=20MiB", "20.0 MiB", true),
        ("verdict==valid", "valid", true),
        ("verdict>=suspect", "valid", true),
        ("verdict<=suspect", "valid", false),
    ];
    for (text, value, pass) in cases {
        let gate = judged(text, &result);
        assert_eq!((gate.measured().as_str(), gate.pass), (value, pass), "{text}: {gate:?}");
        assert_eq!(gate.expr, text);
    }
}

/// The window of 20 s has 2300 of 2500 responses, 60 of which redirected, and 230 of a part's 250.
/// The last took 25 s.
#[test]
fn the_rate_of_a_run_and_of_a_part_is_that_of_the_window() {
    let mut result = result();
    result.rate.answered_ns = 25 * SECOND;
    result.rate.responses = Some(2300);
    result.refresh_rates();
    assert_eq!(judged("rate>=1", &result).measured(), "112.0/s");
    for (responses, rate) in [(Some(230), "11.50/s"), (None, "10.00/s")] {
        result.endpoints[0].responses = responses;
        assert_eq!(judged("rate@endpoint:/>=1", &result).measured(), rate, "{responses:?}");
        assert_eq!(judged("offered@endpoint:/>=1", &result).measured(), "12.50/s");
    }
}

#[test]
fn parts_and_stretches_of_a_run() {
    let result = result();
    let cases = [
        ("p50@endpoint:/<2.1ms", "2.001 ms", true),
        ("service.p99@endpoint:/<8.1ms", "8.000 ms", true),
        ("errors@endpoint:/<=20%", "20 %", true),
        ("status.503@endpoint:/==50", "50", true),
        ("rate@endpoint:/>=12.5", "12.50/s", true),
        ("offered@address:10.0.0.1:80>=12.5/s", "12.50/s", true),
        ("p99@stage:2<1s", "16.00 ms", true),
        ("p99@stage:10s@200<1s", "16.00 ms", true),
        ("rate@stage:1>=99%", "100 %", true),
        ("rate@stage:2>=99%", "75 %", false),
        ("rate@stage:2==150", "150.0/s", true),
        ("offered@stage:2==25", "25.00/s", true),
        // Of 1100 that ended in the first ten seconds 100 timed out.
        ("p50@0s..10s<7ms", "6.001 ms", true),
        ("max@0s..10s>=50ms", "≥ 50.00 ms", true),
        ("service.p50@3s..4s<1ms", "500.2 µs", true),
        ("errors@0s..10s<10%", "9.091 %", true),
        ("timed_out@0s..10s==100", "100", true),
        ("failed@0s..10s==0", "0", true),
        ("sent@0s..1s==110", "110", true),
        ("rate@10s..20s==150", "150.0/s", true),
        ("lateness.max@0s..4s<=3us", "3.000 µs", true),
        ("cpu@0s..4s==25%", "25 %", true),
        ("bytes.received@5s..7s==2k", "1.95 KiB", true),
    ];
    for (text, value, pass) in cases {
        let gate = judged(text, &result);
        assert_eq!((gate.measured().as_str(), gate.pass), (value, pass), "{text}: {gate:?}");
        assert_eq!(gate.note, None, "{text}");
    }
}

#[test]
fn a_limit_on_no_data_is_not_met() {
    let nothing = empty();
    let some = result();
    let mut unanswered = empty();
    unanswered.ledger.scheduled = 5;
    unanswered.ledger.unsent = 5;
    let cases: [(&str, &RunResult, &str); 26] = [
        ("p99<1s", &nothing, "no samples"),
        ("connect.p99<1s", &nothing, "no samples"),
        ("errors<1%", &nothing, "no request was due"),
        ("errors==0", &nothing, "no request was due"),
        ("ok>=0%", &nothing, "no requests"),
        ("timed_out==0", &unanswered, "no request was sent"),
        ("failed==0", &unanswered, "no response arrived"),
        ("status.5xx==0", &unanswered, "no response arrived"),
        ("grpc_status.OK>0", &nothing, "no calls of gRPC"),
        ("messages.sent>0", &nothing, "no call streams"),
        ("cut_calls==0", &nothing, "no call streams"),
        ("pings==0", &nothing, "no WebSocket"),
        ("rate<100", &nothing, "no request was due"),
        ("rate>=1%", &unanswered, "no request was due"),
        ("cpu<1", &nothing, "no time passed"),
        ("rss<1M", &nothing, "not known"),
        ("target.cpu<1", &nothing, "not watched"),
        ("target.rss<1G", &nothing, "not watched"),
        ("retransmits==0", &nothing, "no connection"),
        ("p99@0s..5s<1s", &nothing, "nothing was kept of 0s to 5s"),
        ("tls.p99@endpoint:x<1s", &some, ""),
        ("p99@endpoint:GET /a?x=1<1s", &some, "no samples"),
        ("errors@endpoint:GET /a?x=1==0", &some, "no request was due"),
        ("p99@endpoint:other<1s", &some, "there is: /, GET /a?x=1"),
        ("p99@stage:3<1s", &some, "there are 2"),
        ("p99@address:other<1s", &some, "there is: 10.0.0.1:80"),
    ];
    for (text, result, why) in cases {
        let Ok(condition) = Condition::parse(text, &[]) else {
            assert_eq!(why, "", "{text}");
            continue;
        };
        let gate = condition.judge(result);
        assert_eq!((gate.value, gate.pass), (None, false), "{text}: {gate:?}");
        let note = gate.note.as_deref().unwrap_or_default();
        assert!(note.contains(why) && !why.is_empty(), "{text}: {note}");
        assert_eq!(gate.measured(), "nothing to measure");
    }
}

#[test]
fn notes_say_what_one_has_to_know() {
    let mut result = result();
    result.latency.response = of(&[(MS, 200)]);
    let (scheduled, completed) = (200, 200);
    result.ledger = Ledger { scheduled, completed, ok: 1, ..Ledger::default() };
    let touches = vec![Touch::either(Figure::Load, Reach::Any)];
    let cause = |code: &str| Cause {
        touches: touches.clone(),
        ..Cause::new(Verdict::Suspect, code, String::new())
    };
    result.loader.verdict = Verdict::Suspect;
    result.loader.causes = vec![cause("cpu"), cause("paused")];
    result.target = Some(Usage { cpu_ns: 2 * SECOND, ..Usage::default() });
    let cases = [
        ("p99.9<2ms", true, Some("of 200 samples none lies beyond: this is the maximum")),
        ("p99<2ms", true, None),
        ("verdict==valid", false, Some("cpu, paused")),
        ("verdict==suspect", true, Some("cpu, paused")),
        ("errors@15s..30s<90%", true, Some("from 15s to 20s")),
        ("target.cpu<=10%", true, None),
    ];
    for (text, pass, note) in cases {
        let gate = judged(text, &result);
        assert_eq!((gate.pass, gate.note.as_deref()), (pass, note), "{text}");
    }
}

/// A stage that a run did not reach the end of is measured as far as it went.
#[test]
fn stages_of_a_run_cut_short() {
    let mut result = result();
    result.rate.window_ns = 14 * SECOND + SECOND / 2;
    result.elapsed_ns = result.rate.window_ns;
    assert_eq!(judged("rate@stage:2==150", &result).measured(), "150.0/s");
    assert_eq!(judged("offered@stage:2>1", &result).measured(), "55.56/s");
    result.rate.window_ns = 10 * SECOND;
    let gate = judged("rate@stage:2>=99%", &result);
    assert_eq!(gate.note.as_deref(), Some("no whole second lies in the stage"));
}

#[test]
fn what_cannot_be_read_is_one_line_with_what_would_do() {
    let gates = [
        ("", "write METRIC OP VALUE"),
        ("p99", "p99<250ms"),
        ("p99=250ms", "p99<250ms"),
        ("p99=<250ms", "p99<250ms"),
        ("p99<", "a duration"),
        ("p99<250", "write 500us"),
        ("p999<1s", "write p50, p99 or p99.9"),
        ("p0<1s", "0 to 100"),
        ("p-1<1s", "no metric"),
        ("speed>3", "there are p99"),
        ("error<1", "no metric 'error': did you mean 'errors'?"),
        ("P99<1s", "no metric 'P99': did you mean 'p99'?"),
        ("Service.P99.9<1s", "no metric 'Service.P99.9': did you mean 'service.p99.9'?"),
        ("http_errors<1", "no metric 'http_errors': did you mean 'errors'?"),
        ("rps>9", "no metric 'rps': did you mean 'rate'?"),
        ("avg<1s", "no metric 'avg': did you mean 'mean'?"),
        ("errs<1", "no metric 'errs': did you mean 'errors'?"),
        ("http_req_duration<1s", "did you mean 'response.p99'?"),
        ("conect<1s", "no metric 'conect': did you mean 'connect.p99'?"),
        ("latency.p99<1s", "no metric 'latency.p99': did you mean 'response.p99'?"),
        ("servise.max<1s", "no metric 'servise.max': did you mean 'service.max'?"),
        ("staus.5xx<1", "no metric 'staus.5xx': did you mean 'status.5xx'?"),
        ("byte.sent<1", "no metric 'byte.sent': did you mean 'bytes.sent'?"),
        ("connect<1ms", "write connect.p99"),
        ("connect.p101<1ms", "write connect.p99"),
        ("status.1xxx<3", "status.503"),
        ("status.9<3", "status.503"),
        ("status.6xx<3", "status.1xx to status.5xx"),
        ("status.0xx<3", "status.1xx to status.5xx"),
        ("status.éx<3", "status.503"),
        ("grpc_status.14<3", "write its name, as in grpc_status.UNAVAILABLE"),
        ("grpc_status.not_found<3", "write its name, as in grpc_status.NOT_FOUND"),
        ("message.sent>3", "no metric 'message.sent': did you mean 'messages.sent'?"),
        ("pushed<1%", "a count"),
        ("errors<few", "10, 10k or 0.1%"),
        ("errors<0.01", "0.1%"),
        ("errors<1.2.3%", "0.1%"),
        ("reconnects<1%", "a count"),
        ("rate>fast", "0.99*target"),
        ("rate>x*target", "0.99*target"),
        ("cpu<-1", "80% or 0.8"),
        ("rss<1Q", "64KiB"),
        ("verdict==good", "valid, suspect or invalid"),
        ("p99@x<1s", "@endpoint:NAME"),
        ("p99@user:3<1s", "@endpoint:NAME"),
        ("p99@endpiont:a<1s", "not a part of a run: did you mean '@endpoint:a'?"),
        ("p99@endpoint:<1s", "names nothing"),
        ("p99@stage:0<1s", "count from 1"),
        ("p99@5s..2s<1s", "wrong way round"),
        ("p99@1500ms..2s<1s", "whole seconds"),
        ("p99@1..2<1s", "write 500us"),
        ("ok.p99@endpoint:a<1s", "whole run only"),
        ("cpu@stage:1<1", "whole run only"),
        ("rate@endpoint:a>99%", "have a target"),
        ("rate@0s..5s>99%", "have a target"),
        ("unsent@0s..5s<1", "whole run only"),
        ("sent@0s..5s<1%", "whole run only"),
        ("lateness.p99@0s..5s<1ms", "lateness.max"),
        ("p99@last:5s<1s", "--abort-when"),
        ("errors<1% FOR 5s", "--abort-when"),
        ("errors<1% 5s", "0.1%"),
    ];
    let aborts = [
        ("verdict==invalid", "whole run only"),
        ("unsent>5", "whole run only"),
        ("rate<50%", "have a target"),
        ("p99@stage:1>1s", "@last:10s"),
        ("p99@0s..5s>1s", "@last:10s"),
        ("p99@last:500ms>1s", "whole seconds"),
        ("p99@last:0s>1s", "within 1s and 5m"),
        ("p99@last:1h>1s", "within 1s and 5m"),
        ("errors>5% FOR ever", "a duration"),
    ];
    let refused = |text: &str, error: GateError, what: &str| {
        let line = error.to_string();
        assert!(line.starts_with(&format!("condition '{}': ", text.trim())), "{line}");
        assert!(line.contains(what) && !line.contains('\n'), "{line}");
    };
    for (text, what) in gates {
        refused(text, Condition::parse(text, &[]).expect_err(text), what);
    }
    for (text, what) in aborts {
        refused(text, Condition::parse_abort(text, &[]).expect_err(text), what);
    }
}

/// What is wrong with a plan's conditions.
fn check(plan: &Draft) -> Result<(), GateError> {
    plan.gates.iter().try_for_each(|text| Condition::parse(text, &[])?.check(plan))?;
    plan.abort_when.iter().try_for_each(|text| Condition::parse_abort(text, &[])?.check(plan))
}

#[test]
fn a_plan_knows_which_conditions_it_can_have() {
    let target = |name: &str| Target {
        name: name.to_owned(),
        path: "/".into(),
        request: crate::plan::Request::get(),
        weight: 1,
        expect: Vec::new(),
    };
    let closed = Draft::clone(&empty().plan);
    let staged = Draft {
        rate: profile("10s@100,10s@200"),
        targets: vec![target("a"), target("b")],
        ..closed.clone()
    };
    let named = Draft { targets: vec![target("home"), target("search")], ..closed.clone() };
    let cases = [
        (&closed, "rate>=99%", Some("give a rate")),
        (&closed, "rate>=99", None),
        (&closed, "p99@stage:1<1s", Some("does not have several stages")),
        (&closed, "p99@endpoint:any<1s", None),
        (&closed, "p99@10s..12s<1s", Some("over after 10s")),
        (&closed, "p99@9s..12s<1s", None),
        (&staged, "rate>=99%", None),
        (&staged, "p99@stage:2<1s", None),
        (&staged, "p99@stage:3<1s", Some("has 2 stages")),
        (&staged, "p99@endpoint:b<1s", None),
        (&staged, "p99@endpoint:c<1s", Some("there is: a, b")),
        (&named, "p99@endpoint:serach<1s", Some("no endpoint 'serach': did you mean 'search'?")),
    ];
    for (plan, text, problem) in cases {
        let plan = Draft { gates: vec![text.to_owned()], ..plan.clone() };
        match (check(&plan), problem) {
            (Ok(()), None) => {}
            (Err(error), Some(problem)) => assert!(error.to_string().contains(problem), "{error}"),
            (checked, _) => panic!("{text}: {checked:?}"),
        }
    }
    let plan = Draft { abort_when: vec!["errors>5% FOR 5s".to_owned()], ..closed };
    assert_eq!(check(&plan), Ok(()));
}

#[test]
fn every_way_to_write_a_metric_has_a_name() {
    for (text, want) in [
        ("p99.9", Some("p99")),
        ("p100", Some("max")),
        ("mean", Some("mean")),
        ("ok", Some("ok")),
        ("ok.mean", Some("ok.p99")),
        ("response.p50", Some("response.p99")),
        ("status.503", Some("status.5xx")),
        ("grpc_status.OK", Some("grpc_status.UNAVAILABLE")),
        ("target.cpu", Some("target.cpu")),
        ("late", None),
    ] {
        assert_eq!(metric_name(text).as_deref(), want, "{text}");
    }
    for name in metric_names() {
        assert_eq!(metric_name(&name).as_deref(), Some(name.as_str()));
    }
}

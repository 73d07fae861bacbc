//! The options of a run beyond rate and connections, each against a known truth.

use plimsoll_core::Phase;
use plimsoll_core::plan::{Body, Draft, FirstRequest, Order, Request, Target, Trace};
use plimsoll_core::recorder::Recorder;
use plimsoll_engine::Signals;
use plimsoll_io::sim::{SimOptions, Window};

use crate::peer::Answer;
use crate::world::{MS, Ran, S, START_NS, assert_quantile, at_rate, plan, run, run_told};

/// A delivery takes 10 µs each way by default.
const ROUND_TRIP: u64 = 20_000;

fn always(answer: Answer) -> impl Fn(u32) -> Box<dyn FnMut(u64, u64) -> Answer> {
    move |_| Box::new(move |_, _| answer)
}

fn by_number(
    script: impl Fn(u64) -> Answer + Clone + 'static,
) -> impl Fn(u32) -> Box<dyn FnMut(u64, u64) -> Answer> {
    move |_| {
        let script = script.clone();
        Box::new(move |number, _| script(number))
    }
}

fn simple(plan: &Draft, answer: Answer) -> Ran {
    run(plan, &SimOptions::default(), always(answer))
}

fn error(sum: &Recorder, kind: &str) -> u64 {
    sum.errors.iter().filter(|error| error.kind == kind).map(|error| error.count).sum()
}

fn paths(ran: &Ran) -> Vec<String> {
    let log = ran.logs[0].borrow();
    let path = |head: &String| head.split(' ').nth(1).unwrap_or_default().to_owned();
    log.heads.iter().map(path).collect()
}

#[test]
fn late_slots_are_shed_and_all_are_accounted_for() {
    // One connection serves ten a second; a hundred a second are asked for.
    let plan = Draft { connections: 1, shed_after_ns: Some(200 * MS), ..at_rate(100_000_000, S) };
    let ran = simple(&plan, Answer::Status(200, 100 * MS));
    let sum = ran.sum();
    assert_eq!(sum.ledger.check(), Ok(()));
    assert_eq!(sum.ledger.scheduled, 100);
    // Those who watch see how long they had waited when they are shed.
    for point in &ran.points {
        let waits = point.shed_waits.unpack();
        assert_eq!(waits.count(), point.shed);
        assert!(waits.min_ns().is_none_or(|least_ns| least_ns >= 199 * MS), "{waits:?}");
    }
    assert_eq!(ran.points.iter().map(|point| point.shed).sum::<u64>(), 71);
    assert_eq!(sum.response().count(), 100);
    assert_eq!((sum.ledger.sent, sum.ledger.completed), (10, 10));
    // Those younger than the limit at the end were not shed: they stay unsent.
    assert_eq!((sum.ledger.shed, sum.ledger.unsent), (71, 19));
    assert!(sum.phases[Phase::Blocked].max_ns().unwrap() < 200 * MS);
    assert!(sum.by_outcome.incomplete.max_ns().unwrap() < 201 * MS);
}

#[test]
fn connections_grow_to_what_the_rate_needs() {
    // Little: 100/s of 500 ms each are 50 in flight.
    let grows = Draft { connections: 1, connections_max: Some(200), ..at_rate(100_000_000, 4 * S) };
    let ran = simple(&grows, Answer::Status(200, 500 * MS));
    let sum = ran.sum();
    assert_eq!((sum.ledger.completed, sum.ledger.unsent), (400, 0));
    let open_max = ran.records[0].connections.open_max;
    assert!((50..=52).contains(&open_max), "{open_max}");
    assert_quantile(&sum.response(), 0.5, 500 * MS + ROUND_TRIP, 100_000);
    assert_quantile(&sum.response(), 1.0, 500 * MS + 2 * ROUND_TRIP, 100_000);

    let capped = Draft { connections_max: Some(10), ..grows };
    let ran = simple(&capped, Answer::Status(200, 500 * MS));
    assert_eq!(ran.records[0].connections.open_max, 10);
    assert!(ran.sum().ledger.unsent > 300);
}

#[test]
fn a_changed_rate_holds_from_its_time_on_for_all_workers() {
    let plan = Draft { connections: 9, workers: 3, ..at_rate(100_000_000, 4 * S) };
    let signals = Signals::default();
    signals.set_rate(START_NS + S, 1_000_000_000).unwrap();
    let answer = always(Answer::Status(200, 0));
    let ran = run_told(&plan, &SimOptions::default(), answer, &signals);
    let sum = ran.sum();
    assert_eq!(sum.ledger.check(), Ok(()));
    assert_eq!(sum.ledger.completed, 100 + 3000);
    let mut arrivals: Vec<u64> = Vec::new();
    for log in &ran.logs {
        arrivals.extend(log.borrow().arrivals_ns.iter().map(|at| at - START_NS - ROUND_TRIP / 2));
    }
    arrivals.sort_unstable();
    let want = (0..100).map(|n| n * 10 * MS).chain((0..3000).map(|n| S + n * MS));
    assert_eq!(arrivals, want.collect::<Vec<_>>());
}

#[test]
fn a_changed_rate_keeps_the_number_of_requests() {
    let rate = at_rate(100_000_000, 60 * S).rate;
    let plan = Draft { requests: Some(500), duration_ns: None, rate, workers: 3, ..plan() };
    let signals = Signals::default();
    signals.set_rate(START_NS + S, 7_000_000_000).unwrap();
    let answer = always(Answer::Status(200, 0));
    let ran = run_told(&plan, &SimOptions::default(), answer, &signals);
    assert_eq!(ran.sum().ledger.completed, 500);
}

#[test]
fn connections_are_opened_and_let_go_on_order() {
    let plan = Draft {
        connections: 2,
        connections_max: Some(8),
        control: Some("control".to_owned()),
        ..plan()
    };
    for (told, want) in [(8, 8), (1, 1), (5, 5)] {
        let signals = Signals::default();
        signals.set_connections(START_NS, told).unwrap();
        let answer = always(Answer::Status(200, MS));
        let ran = run_told(&plan, &SimOptions::default(), answer, &signals);
        let sum = ran.sum();
        // A connection serves one request in each millisecond and round trip.
        let each = S / (MS + ROUND_TRIP);
        let completed = sum.ledger.completed;
        assert!(completed.abs_diff(want * each) <= 2 * want + 2, "{told}: {completed}");
        assert_eq!(sum.ledger.check(), Ok(()));
    }
}

#[test]
fn a_list_of_times_is_kept_to_the_nanosecond() {
    let offsets_ns = vec![0, 0, 5 * MS, 5 * MS + 1, 700 * MS];
    let trace = Trace { path: "times".to_owned(), offsets_ns: offsets_ns.clone() };
    let plan = Draft { trace: Some(trace), duration_ns: None, ..plan() };
    let ran = simple(&plan, Answer::Status(200, 0));
    let arrivals = ran.logs[0].borrow().arrivals_ns.clone();
    let since = arrivals.iter().map(|at| at - START_NS - ROUND_TRIP / 2);
    assert_eq!(since.collect::<Vec<_>>(), offsets_ns);
    assert_eq!(ran.sum().ledger.completed, 5);
}

#[test]
fn redirects_are_followed_and_each_hop_is_counted() {
    for requests_per_connection in [None, Some(1), Some(2)] {
        let plan = Draft {
            redirects: 2,
            requests: Some(8),
            duration_ns: None,
            connections: 1,
            requests_per_connection,
            ..plan()
        };
        let answer = by_number(|number| match number % 2 {
            0 => Answer::With(302, "Location: /next?a", MS),
            _ => Answer::Status(200, MS),
        });
        let ran = run(&plan, &SimOptions::default(), answer);
        let ledger = ran.sum().ledger;
        assert_eq!((ledger.scheduled, ledger.redirects, ledger.ok), (16, 8, 16));
        assert_eq!(ledger.check(), Ok(()));
        assert_eq!(paths(&ran), ["/", "/next?a"].repeat(8), "{requests_per_connection:?}");
    }
}

/// A call counts once then, with its last response and the time of both.
#[test]
fn redirects_can_be_part_of_their_call() {
    for requests_per_connection in [None, Some(1), Some(2)] {
        let first = FirstRequest { one_by_one: false, may_fail: false };
        let plan = Draft {
            redirects: 2,
            joins_redirects: true,
            requests: Some(8),
            duration_ns: None,
            connections: 1,
            requests_per_connection,
            first_request: Some(first),
            ..plan()
        };
        let answer = by_number(|number| match number % 2 {
            0 => Answer::With(302, "Location: /next?a", 5 * MS),
            _ => Answer::Status(200, MS),
        });
        let ran = run(&plan, &SimOptions::default(), answer);
        let sum = ran.sum();
        let ledger = sum.ledger;
        assert_eq!((ledger.scheduled, ledger.redirects, ledger.ok), (8, 0, 8));
        assert_eq!((ledger.check(), sum.status[302], sum.status[200]), (Ok(()), 0, 8));
        let warmup = ran.records[0].warmup.as_ref().expect("a first request").ledger;
        assert_eq!((warmup.scheduled, warmup.ok), (1, 1), "{requests_per_connection:?} {warmup:?}");
        assert!(sum.service.min_ns() >= Some(6 * MS), "{:?}", sum.service.min_ns());
        assert!(sum.response().min_ns() >= sum.service.min_ns());
        assert_eq!(sum.phases[Phase::Waiting].count(), 8);
        assert!(sum.phases[Phase::Waiting].min_ns() >= Some(6 * MS));
        assert_eq!(paths(&ran), ["/", "/next?a"].repeat(9), "{requests_per_connection:?}");
    }
}

/// Go's client makes a GET of every method then, and the time limit is the call's.
#[test]
fn calls_with_their_redirects_become_gets_and_time_out_as_a_whole() {
    let mut plan = Draft {
        redirects: 9,
        joins_redirects: true,
        requests: Some(2),
        duration_ns: None,
        connections: 1,
        timeout_ns: 100 * MS,
        ..plan()
    };
    plan.request.method = "PUT".to_owned();
    plan.request.body = Some(Body::new(b"abc".to_vec()));
    let slow = by_number(|number| match number % 3 {
        0 => Answer::With(307, "Location: /a", 40 * MS),
        1 => Answer::With(301, "Location: /b", 40 * MS),
        _ => Answer::Status(200, 40 * MS),
    });
    let ran = run(&plan, &SimOptions::default(), slow);
    let heads = ran.logs[0].borrow().heads.clone();
    let methods: Vec<_> = heads.iter().map(|head| head.split(' ').next().unwrap()).collect();
    assert_eq!(methods, ["PUT", "abcPUT", "abcGET"].repeat(2));
    let ledger = ran.sum().ledger;
    assert_eq!((ledger.scheduled, ledger.timed_out, ledger.ok), (2, 2, 0));

    let sum = simple(&plan, Answer::With(302, "Location: /", MS)).sum();
    assert_eq!((sum.ledger.scheduled, sum.ledger.broken, sum.status[302]), (2, 2, 0));
    assert_eq!(error(&sum, "redirect_limit"), 2);
}

/// The server that a call is sent on to has gone, so nothing takes the rest of the call.
#[test]
fn calls_that_cannot_go_on_after_a_redirect_time_out() {
    let gone = Window { at_ns: START_NS + 1450 * MS / 1000, for_ns: 100 * S };
    let sim = SimOptions {
        latency_ns: MS / 10..MS / 10 + 1,
        peer_dead: Some(gone),
        ..SimOptions::default()
    };
    let closing = "Location: /next\r\nConnection: close";
    for (joins_redirects, per_connection, want) in
        [(true, None, [1, 1, 0, 0]), (true, Some(5), [1, 1, 0, 0]), (false, None, [2, 0, 1, 1])]
    {
        let plan = Draft {
            redirects: 2,
            joins_redirects,
            connections: 1,
            requests_per_connection: per_connection,
            timeout_ns: 100 * MS,
            duration_ns: Some(S),
            ..plan()
        };
        let ran = run(&plan, &sim, always(Answer::With(302, closing, MS)));
        let sum = ran.sum();
        let ledger = sum.ledger;
        assert_eq!(ledger.check(), Ok(()));
        let seen = [ledger.scheduled, ledger.timed_out, ledger.unsent, ledger.redirects];
        assert_eq!(seen, want, "{joins_redirects} {per_connection:?} {ledger:?}");
        if joins_redirects {
            assert_eq!(error(&sum, "timeout"), 1);
            assert_eq!(sum.service.max_ns().map(|ns| ns / MS), Some(100));
        }
    }
}

/// Nobody waits for ever before the start: what each connection carries first ends in its time.
#[test]
fn first_requests_that_cannot_go_on_after_a_redirect_time_out() {
    let gone = Window { at_ns: 1450 * MS / 1000, for_ns: 100 * S };
    let sim = SimOptions {
        latency_ns: MS / 10..MS / 10 + 1,
        peer_dead: Some(gone),
        ..SimOptions::default()
    };
    let plan = Draft {
        redirects: 2,
        joins_redirects: true,
        connections: 1,
        timeout_ns: 100 * MS,
        first_request: Some(FirstRequest { one_by_one: false, may_fail: true }),
        duration_ns: Some(S),
        ..plan()
    };
    let closing = "Location: /next\r\nConnection: close";
    let ran = run(&plan, &sim, always(Answer::With(302, closing, MS)));
    let warmup = ran.records[0].warmup.as_ref().expect("a first request").ledger;
    assert_eq!((warmup.scheduled, warmup.timed_out, warmup.check()), (1, 1, Ok(())));
}

/// 307 asks for the same method again, which is GET by then.
#[test]
fn a_request_that_has_become_a_get_stays_one() {
    let mut plan =
        Draft { redirects: 2, requests: Some(4), duration_ns: None, connections: 1, ..plan() };
    plan.request.method = "POST".to_owned();
    plan.request.body = Some(Body::new(b"abc".to_vec()));
    let ran = run(
        &plan,
        &SimOptions::default(),
        by_number(|number| match number % 3 {
            0 => Answer::With(303, "Location: /a", MS),
            1 => Answer::With(307, "Location: /b", MS),
            _ => Answer::Status(200, MS),
        }),
    );
    let heads = ran.logs[0].borrow().heads.clone();
    let methods: Vec<_> = heads.iter().map(|head| head.split(' ').next().unwrap()).collect();
    // The body of each POST stands before the next head.
    assert_eq!(methods, ["POST", "abcGET", "GET"].repeat(4));
    assert_eq!(ran.sum().ledger.ok, 12);
}

#[test]
fn redirects_end_at_their_limit_and_at_other_servers() {
    let plan = Draft { redirects: 3, requests: Some(4), duration_ns: None, ..plan() };
    let sum = simple(&plan, Answer::With(307, "Location: /", MS)).sum();
    assert_eq!((sum.ledger.scheduled, sum.ledger.redirects), (16, 12));
    assert_eq!((sum.ledger.ok, sum.ledger.failed), (12, 4));
    assert_eq!(error(&sum, "redirect_limit"), 4);

    let sum = simple(&plan, Answer::With(307, "Location: http://192.0.2.9/", MS)).sum();
    assert_eq!((sum.ledger.scheduled, sum.ledger.failed), (4, 4));
    assert_eq!(error(&sum, "redirect_elsewhere"), 4);

    let far: &'static str = format!("Location: /{}", "a".repeat(9000)).leak();
    let sum = simple(&plan, Answer::With(307, far, MS)).sum();
    assert_eq!((sum.ledger.scheduled, sum.ledger.failed), (4, 4));
    assert_eq!(error(&sum, "redirect_too_long"), 4);
}

#[test]
fn cookies_are_each_connections_own() {
    let plan =
        Draft { cookies: true, connections: 1, requests: Some(3), duration_ns: None, ..plan() };
    let answer = by_number(|number| match number {
        0 => Answer::With(200, "Set-Cookie: id=7; Path=/", 0),
        _ => Answer::Status(200, 0),
    });
    let ran = run(&plan, &SimOptions::default(), answer);
    let heads = ran.logs[0].borrow().heads.clone();
    let with: Vec<bool> = heads.iter().map(|head| head.contains("Cookie: id=7\r\n")).collect();
    assert_eq!(with, [false, true, true]);
}

#[test]
fn a_body_waits_for_100_continue_for_a_second_at_most() {
    let request = Request {
        method: "POST".to_owned(),
        body: Some(Body::new(vec![b'x'; 1000])),
        expect_continue: true,
        ..Request::get()
    };
    let plan = Draft { request, connections: 1, requests: Some(2), duration_ns: None, ..plan() };
    let told = simple(&plan, Answer::Continue(10 * MS)).sum();
    assert_eq!(told.ledger.ok, 2);
    assert!(told.sent_bytes > 2000, "{}", told.sent_bytes);

    // The body goes after a second; this server answers heads alone, two seconds later.
    let silent = simple(&plan, Answer::Status(200, 2 * S)).sum();
    assert_eq!(silent.ledger.ok, 2);
    assert!(silent.sent_bytes > 2000, "{}", silent.sent_bytes);

    // An answer before the body spares it, and the connection: its framing is unsure.
    let ran = simple(&plan, Answer::Status(413, 10 * MS));
    let sum = ran.sum();
    assert_eq!((sum.ledger.completed, sum.ledger.failed), (2, 2));
    assert!(sum.sent_bytes < 1000, "{}", sum.sent_bytes);
    assert_eq!(ran.logs[0].borrow().connections, 2);
}

#[test]
fn an_answer_in_the_same_breath_as_100_continue_stops_nothing() {
    let request = Request {
        method: "POST".to_owned(),
        body: Some(Body::new(vec![b'x'; 1000])),
        expect_continue: true,
        ..Request::get()
    };
    let plan = Draft { request, connections: 1, requests: Some(20), duration_ns: None, ..plan() };
    let ran = simple(&plan, Answer::ContinueAtOnce(MS));
    assert_eq!(ran.sum().ledger.completed, 20);
    // Each on a connection of its own, and none after a wait for the body's turn.
    assert!(ran.records[0].elapsed_ns < 100 * MS, "{}", ran.records[0].elapsed_ns);
}

#[test]
fn the_testers_own_lateness_sheds_nothing() {
    let sim = SimOptions {
        pause: Some(Window { at_ns: START_NS + S / 2, for_ns: 300 * MS }),
        ..SimOptions::default()
    };
    let plan = Draft { connections: 50, shed_after_ns: Some(100 * MS), ..at_rate(100_000_000, S) };
    let sum = run(&plan, &sim, always(Answer::Status(200, MS))).sum();
    assert_eq!((sum.ledger.shed, sum.ledger.completed), (0, 100));
    assert!(sum.delays.lateness.max_ns().unwrap() > 250 * MS);
}

#[test]
fn connections_grow_in_the_warm_up_already() {
    let plan = Draft {
        connections: 1,
        connections_max: Some(200),
        warmup_ns: 2 * S,
        ..at_rate(100_000_000, 2 * S)
    };
    let sum = simple(&plan, Answer::Status(200, 500 * MS)).sum();
    assert_eq!(sum.ledger.completed, 200);
    assert_quantile(&sum.response(), 1.0, 500 * MS + ROUND_TRIP, 100_000);
}

#[test]
fn a_long_chain_of_redirects_ends_where_it_should() {
    let plan = Draft {
        redirects: 300,
        connections: 1,
        requests: Some(1),
        duration_ns: None,
        expect: vec!["status=200".parse().unwrap()],
        ..plan()
    };
    let sum = simple(&plan, Answer::With(302, "Location: /", 0)).sum();
    assert_eq!((sum.ledger.redirects, sum.ledger.ok, sum.ledger.failed), (300, 300, 1));
    assert_eq!(error(&sum, "redirect_limit") + error(&sum, "expect_status"), 1);
}

#[test]
fn connections_are_replaced_at_their_age() {
    let plan = Draft {
        connections: 2,
        connection_lifetime_ns: Some(100 * MS),
        ..at_rate(1_000_000_000, S)
    };
    let ran = simple(&plan, Answer::Status(200, MS));
    assert_eq!(ran.sum().ledger.completed, 1000);
    let connections = ran.logs[0].borrow().connections;
    assert!((18..=22).contains(&connections), "{connections}");
}

#[test]
fn expectations_make_requests_fail_by_kind() {
    let expect = |text: &str| Draft {
        expect: vec![text.parse().unwrap()],
        requests: Some(10),
        duration_ns: None,
        ..plan()
    };
    for (text, kind) in [
        ("status=201", Some("expect_status")),
        ("status=200", None),
        ("bytes=5", None),
        ("bytes=6..", Some("expect_bytes")),
        ("body*=ell", None),
        ("body~=^h.*o$", None),
        ("body!~hello", Some("expect_body")),
        ("header:content-length=5", None),
        ("header:etag~=.", Some("expect_header")),
    ] {
        let sum = simple(&expect(text), Answer::Status(200, 0)).sum();
        let failed = if kind.is_some() { 10 } else { 0 };
        assert_eq!((sum.ledger.failed, sum.ledger.ok), (failed, 10 - failed), "{text}");
        assert_eq!(kind.map_or(0, |kind| error(&sum, kind)), failed, "{text}");
    }
}

#[test]
fn targets_are_told_apart_and_are_the_same_for_any_number_of_workers() {
    let target = |name: &str, weight| Target {
        name: name.to_owned(),
        path: format!("/{name}").into(),
        request: Request::get(),
        weight,
        expect: Vec::new(),
    };
    let targets = vec![target("a", 1), target("b", 3)];
    let requests = Draft { targets, requests: Some(4000), duration_ns: None, ..plan() };
    let counts = |plan: &Draft| {
        let sum = simple(plan, Answer::Status(200, 0)).sum();
        let count = |part: &plimsoll_core::part::Part| {
            assert_eq!(part.ledger.check(), Ok(()), "{}", part.name);
            (part.name.clone(), part.ledger.ok)
        };
        sum.parts.endpoints.iter().map(count).collect::<Vec<_>>()
    };
    let named = |a, b| vec![("a".to_owned(), a), ("b".to_owned(), b)];
    assert_eq!(counts(&requests), named(2000, 2000));
    let weighted = Draft { order: Order::Weighted, ..requests };
    let one = counts(&weighted);
    assert!(one[1].1.abs_diff(3000) < 100, "{one:?}");
    assert_eq!(counts(&Draft { workers: 4, connections: 8, ..weighted }), one);
}

#[test]
fn stages_are_told_apart() {
    let stages = plimsoll_core::schedule::parse_stages("1s@100,1s@300").unwrap();
    let profile = plimsoll_core::schedule::Profile {
        stages,
        arrival: plimsoll_core::schedule::Arrival::Uniform,
    };
    let plan = Draft { rate: Some(profile), duration_ns: Some(2 * S), ..plan() };
    let sum = simple(&plan, Answer::Status(200, MS)).sum();
    let parts: Vec<_> =
        sum.parts.stages.iter().map(|part| (part.name.as_str(), part.ledger.ok)).collect();
    assert_eq!(parts, [("1s@100", 100), ("1s@300", 300)]);
}

/// A redirect is followed although its connection is to be closed by then.
#[test]
fn redirects_outlive_the_number_of_connections() {
    for requests_per_connection in [None, Some(1)] {
        let plan = Draft {
            redirects: 1,
            connections: 4,
            requests_per_connection,
            drain_ns: 5 * S,
            duration_ns: Some(2 * S),
            ..plan()
        };
        let signals: &'static Signals = Box::leak(Box::default());
        let server = |_| {
            move |number, _| {
                if number == 10 {
                    signals.set_connections(START_NS, 1).unwrap();
                }
                match number {
                    7..=12 => Answer::With(302, "Location: /x", 20 * MS),
                    _ => Answer::Status(200, 5 * MS),
                }
            }
        };
        let ran = run_told(&plan, &SimOptions::default(), server, signals);
        let ledger = ran.sum().ledger;
        assert_eq!(ledger.unsent, 0, "{requests_per_connection:?}");
        assert!(ledger.redirects >= 4, "{ledger:?}");
        assert!(ran.records[0].elapsed_ns < 2 * S + 100 * MS, "{}", ran.records[0].elapsed_ns);
    }
}

/// What a script is told of late makes nothing of the next request's time.
#[test]
fn kernel_stamps_are_no_times_of_what_follows() {
    let at_ns = START_NS + 500 * MS;
    let pause = Some(Window { at_ns, for_ns: 50 * MS });
    let sim = SimOptions { pause, ..SimOptions::default() };
    let plan = Draft { timestamps: plimsoll_core::plan::Timestamps::Kernel, ..plan() };
    let ran =
        crate::scripts::ran_on(&plan, "function response() end", &sim, Answer::Status(200, MS));
    let service = ran.sum().service;
    assert!(service.max_ns().unwrap() < 10 * MS, "{:?}", service.max_ns());
}

//! Calls of gRPC that stream: their messages are told of as the server sent and had them, whatever
//! becomes of the calls.

use plimsoll_conn::{Http2, Http2Request, Http2Settings};
use plimsoll_core::plan::{Body, CallKind, Draft, GrpcPlan, Http2Plan, HttpVersion};
use plimsoll_core::recorder::Recorder;
use plimsoll_core::streams::{Missing, Streams};
use plimsoll_engine::Signals;
use plimsoll_engine::source::Prepared;
use plimsoll_grpc::Schema;
use plimsoll_io::sim::SimOptions;
use plimsoll_proto::http2::{ClientOptions, ErrorCode};

use crate::seeds::Dice;
use crate::streams_server::{Answers, Did, End, Manners, StreamServer};
use crate::world::{MS, S, assert_quantile, plan, run_over};

const SOURCE: &str = "syntax = \"proto3\"; package t; message M { uint64 seq = 1; bytes x = 2; }
    service S { rpc Server(M) returns (stream M); rpc Client(stream M) returns (M);
                rpc Bidi(stream M) returns (stream M); }";

/// Calls of a method; each sends as many messages, with their numbers in them.
fn calls(method: &str, messages: u32, requests: u64) -> Draft {
    let read = |name: &str| Ok((name == "t.proto").then(|| SOURCE.to_owned()));
    let schema = Schema::compile(&["t.proto".to_owned()], read).expect("compiles");
    let grpc = GrpcPlan {
        files: vec!["t.proto".to_owned()],
        descriptors: schema.descriptors(),
        messages: (method != "Server").then_some(messages),
        ..GrpcPlan::new(format!("t.S/{method}"))
    };
    let mut draft = Draft {
        http_version: HttpVersion::Http2,
        http2: Http2Plan { streams: 3, ..Http2Plan::default() },
        connections: 2,
        duration_ns: None,
        requests: Some(requests),
        timeout_ns: 5 * S,
        ..plan()
    };
    draft.endpoint.path = grpc.path().into();
    draft.grpc = Some(grpc);
    draft.request.method = "POST".to_owned();
    draft.request.body = Some(Body::new(br#"{"seq": {{seq}}}"#.to_vec()));
    draft
}

fn pingpong(messages: u32, requests: u64) -> Draft {
    let mut draft = calls("Bidi", messages, requests);
    draft.grpc.as_mut().expect("a call").stream = Some(CallKind::PingPong);
    draft
}

/// What came of calls, as it was recorded and as the server saw it.
struct Told {
    sum: Recorder,
    streams: Streams,
    did: Did,
}

fn run(draft: &Draft, manners: Manners) -> Told {
    run_over_network(draft, manners, &SimOptions::default())
}

fn run_over_network(draft: &Draft, manners: Manners, sim: &SimOptions) -> Told {
    let checked = draft.clone().check().expect("a plan");
    let prepared = Prepared::<Http2Request>::new(&checked).expect("sound");
    let options = ClientOptions {
        streams: draft.http2.streams,
        shared_fields: prepared.shared().len(),
        ..ClientOptions::default()
    };
    let mut all = None;
    let peer = |_: u32| {
        let (server, did) = StreamServer::new(manners);
        all = Some(did);
        Box::new(server) as Box<dyn plimsoll_io::sim::Peer>
    };
    let settings = Http2Settings { options };
    let ran = run_over::<Http2>(draft, sim, &settings, peer, &Signals::default(), Vec::new());
    let sum = ran.sum();
    sum.ledger.check().expect("it balances");
    let streams = *sum.streams.clone().expect("they stream");
    Told { sum, streams, did: all.expect("there was a worker").take() }
}

impl Told {
    /// What was counted is what the server sent and had.
    #[track_caller]
    fn agrees(&self, context: &str) {
        let Streams { sent, received, .. } = &self.streams;
        assert_eq!((sent.messages, sent.bytes), self.did.came, "{context}");
        assert_eq!((received.messages, received.bytes), self.did.sent, "{context}");
    }
}

/// Experiment 19 of the mistakes: a stream is not a request with one time.
#[test]
fn a_stream_has_a_first_message_and_gaps() {
    let answers = Answers::Stream { messages: 10, gap_ns: 100 * MS, stall: (10, 0) };
    let told = run(&calls("Server", 1, 30), Manners::new(answers));
    told.agrees("all were answered");
    let Told { sum, streams, did } = &told;
    assert_eq!((sum.ledger.ok, did.sent.0, did.came.0), (30, 300, 30));
    assert_eq!((streams.first_message.count(), streams.gaps.count()), (30, 270));
    assert!(streams.round_trips.is_none(), "nobody answers one by one");
    for q in [0.01, 0.5, 0.99] {
        assert_quantile(&streams.gaps, q, 100 * MS, MS / 10);
        assert_quantile(&sum.service, q, 900 * MS, MS);
    }
    let first_ns = streams.first_message.max_ns().expect("there are some");
    assert!(first_ns < MS, "{first_ns}");
    assert_eq!(sum.grpc_status[0], 30);
}

#[test]
fn a_stall_of_the_server_is_a_gap() {
    let answers = Answers::Stream { messages: 10, gap_ns: 5 * MS, stall: (4, 700 * MS) };
    let told = run(&calls("Server", 1, 20), Manners::new(answers));
    told.agrees("all were answered");
    let gaps = &told.streams.gaps;
    let long = gaps.count() - gaps.count_at_most(600 * MS);
    assert_eq!((gaps.count(), long), (180, 20), "one in each call");
    assert_quantile(gaps, 0.5, 5 * MS, MS / 10);
    assert_quantile(gaps, 1.0, 705 * MS, MS);
}

#[test]
fn messages_go_in_order_and_each_is_filled_anew() {
    for (method, messages, requests) in [("Client", 1, 40), ("Client", 7, 40), ("Bidi", 5000, 6)] {
        let answers = match method {
            "Client" => Answers::Stream { messages: 1, gap_ns: 0, stall: (1, 0) },
            _ => Answers::Each { after_ns: MS },
        };
        let draft = calls(method, messages, requests);
        let told = run(&draft, Manners::new(answers));
        told.agrees(method);
        let Told { sum, did, .. } = &told;
        assert_eq!((sum.ledger.ok, did.whole), (requests, requests), "{:?}", sum.errors);
        let cut_calls = told.streams.cut_calls;
        assert_eq!((did.came.0, cut_calls), (requests * u64::from(messages), 0), "{method}");
        let mut firsts = Vec::new();
        for call in &did.calls {
            let follows = call.windows(2).all(|pair| pair[1] == pair[0] + 1);
            assert!(follows && call.len() == messages as usize, "{method}: {call:?}");
            firsts.push(call[0]);
        }
        firsts.sort_unstable();
        let step = u64::from(messages);
        assert!(firsts.windows(2).all(|pair| pair[1] == pair[0] + step), "{firsts:?}");
    }
}

#[test]
fn a_call_without_messages_is_one() {
    for (method, stream) in [("Bidi", CallKind::Bidi), ("Bidi", CallKind::PingPong)] {
        let mut draft = calls(method, 0, 20);
        draft.grpc.as_mut().expect("a call").stream = Some(stream);
        let told = run(&draft, Manners::new(Answers::Each { after_ns: MS }));
        told.agrees(method);
        assert_eq!((told.sum.ledger.ok, told.did.whole), (20, 20), "{:?}", told.sum.errors);
        assert_eq!((told.did.came.0, told.streams.first_message.count()), (0, 0));
    }
}

#[test]
fn bidi_does_not_wait_and_pingpong_does() {
    let manners = Manners::new(Answers::Each { after_ns: 30 * MS });
    let bidi = run(&calls("Bidi", 20, 12), manners);
    bidi.agrees("bidi");
    assert_eq!((bidi.did.unanswered_max, bidi.streams.round_trips.is_none()), (20, true));
    assert!(bidi.sum.service.max_ns() < Some(40 * MS), "all at once");
    let told = run(&pingpong(20, 12), manners);
    told.agrees("pingpong");
    let Told { sum, streams, did } = &told;
    assert_eq!((sum.ledger.ok, did.unanswered_max, did.whole), (12, 1, 12), "{:?}", sum.errors);
    let round_trips = streams.round_trips.as_ref().expect("they are measured");
    assert_eq!((round_trips.count(), streams.gaps.count()), (240, 228));
    for q in [0.01, 0.5, 1.0] {
        assert_quantile(round_trips, q, 30 * MS, MS / 10);
        assert_quantile(&streams.gaps, q, 30 * MS, MS / 10);
    }
    assert_quantile(&streams.first_message, 0.5, 30 * MS, MS / 10);
    // The status came with the last answer.
    assert_quantile(&sum.service, 0.5, 20 * 30 * MS, 2 * MS);
    let sending_ns = sum.phases[plimsoll_core::Phase::Sending].max_ns();
    assert!(sending_ns < Some(MS), "it ends before the first answer: {sending_ns:?}");
}

#[test]
fn messages_of_calls_that_end_early_count() {
    let answers = Answers::Stream { messages: 10, gap_ns: MS, stall: (10, 0) };
    let of = |end| Manners { end, ..Manners::new(answers) };
    for (end, kind, code, outcomes) in [
        (End::EarlyStatus(14, 4), "grpc_status", Some(14), [0, 1, 0, 0]),
        (End::Reset(4), "reset:INTERNAL_ERROR", Some(13), [0, 0, 1, 0]),
        (End::Cut(4), "closed", None, [0, 0, 1, 0]),
        (End::Open, "timeout", None, [0, 0, 0, 1]),
    ] {
        let mut draft = Draft { timeout_ns: 50 * MS, ..calls("Server", 1, 24) };
        draft.http2.streams = 1;
        let told = run(&draft, of(end));
        let Told { sum, streams, did } = &told;
        let ledger = sum.ledger;
        // A run gives a server up that only ever cuts connections.
        let sent = if let End::Cut(_) = end { ledger.sent } else { 24 };
        let got = [ledger.ok, ledger.failed, ledger.broken, ledger.timed_out];
        assert!(sent > 4 && got == outcomes.map(|it| it * sent), "{end:?}: {ledger:?}");
        assert!(sum.errors.iter().any(|it| it.kind == kind), "{end:?}: {:?}", sum.errors);
        told.agrees(&format!("{end:?}"));
        let each = if end == End::Open { 10 } else { 4 };
        let told = (did.sent.0, streams.received.messages);
        assert_eq!(told, (sent * each, sent * each), "{end:?}");
        // What a call without its end waited for is among the gaps.
        let lost = ledger.broken + ledger.timed_out;
        let missing = Missing { gaps: lost, ..Missing::default() };
        assert_eq!(streams.missing, missing, "{end:?}");
        assert_eq!(streams.gaps.count(), sent * (each - 1) + lost, "{end:?}");
        if let Some(code) = code {
            assert_eq!(sum.grpc_status[code], sent, "{end:?}");
        }
    }
}

/// They would be left out of the very figures that they make bad.
#[test]
fn messages_that_never_come_count_with_the_time_they_were_waited_for() {
    let never = Manners::new(Answers::Each { after_ns: 100 * S });
    let refuses =
        Manners { end: End::Status(14), ..Manners::new(Answers::Each { after_ns: 20 * MS }) };
    let stream = Answers::Stream { messages: 3, gap_ns: MS, stall: (2, 100 * S) };
    let stalls = Manners::new(stream);
    let firsts = |count| Missing { first_messages: count, ..Missing::default() };
    for (draft, manners, waited_ns, missing) in [
        (pingpong(9, 24), never, 50 * MS, Missing { round_trips: 24, ..firsts(24) }),
        (calls("Bidi", 9, 24), never, 50 * MS, firsts(24)),
        (calls("Bidi", 0, 24), refuses, 20 * MS, firsts(24)),
        (calls("Server", 1, 24), stalls, 49 * MS, Missing { gaps: 24, ..Missing::default() }),
    ] {
        let mut draft = Draft { timeout_ns: 50 * MS, ..draft };
        draft.http2.streams = 1;
        let told = run(&draft, manners);
        let Told { sum, streams, .. } = &told;
        let method = &draft.grpc.as_ref().expect("a call").method;
        assert_eq!((sum.ledger.ok, streams.missing), (0, missing), "{method}: {:?}", sum.errors);
        let bounds = [
            (missing.first_messages, Some(streams.first_message_bounds())),
            (missing.gaps, Some(streams.gap_bounds())),
            (missing.round_trips, streams.round_trip_bounds()),
        ];
        for (count, bounds) in bounds.into_iter().filter(|(count, _)| *count > 0) {
            let bounds = bounds.expect("it is measured");
            let all = bounds.all();
            assert_quantile(all, 0.999, waited_ns, MS);
            assert_eq!((bounds.incomplete(), bounds.is_lower_bound(0.999)), (count, true));
        }
    }
}

/// Where each message has one answer, nothing is missing once all answers are here.
#[test]
fn calls_that_have_all_their_answers_miss_no_message() {
    let answered = Manners { end: End::Open, ..Manners::new(Answers::Each { after_ns: MS }) };
    let gaps = Missing { gaps: 24, ..Missing::default() };
    for (draft, missing) in [(pingpong(9, 24), Missing::default()), (calls("Bidi", 9, 24), gaps)] {
        let mut draft = Draft { timeout_ns: 50 * MS, ..draft };
        draft.http2.streams = 1;
        let told = run(&draft, answered);
        let Told { sum, streams, .. } = &told;
        assert_eq!((sum.ledger.timed_out, streams.received.messages), (24, 24 * 9));
        assert_eq!(streams.missing, missing);
        assert_eq!(streams.gaps.count(), 24 * 8 + missing.gaps);
    }
}

/// A server that never ends is bounded by the end of the run, and nothing of its messages is lost.
#[test]
fn what_is_open_at_the_end_has_its_messages() {
    let answers = Answers::Stream { messages: 1000, gap_ns: 10 * MS, stall: (1000, 0) };
    let draft = Draft {
        requests: None,
        duration_ns: Some(S),
        drain_ns: S / 2,
        timeout_ns: 100 * S,
        ..calls("Server", 1, 1)
    };
    let told = run(&draft, Manners { end: End::Open, ..Manners::new(answers) });
    let (ledger, streams) = (told.sum.ledger, &told.streams);
    assert_eq!((ledger.unfinished, ledger.sent), (6, 6));
    // One and a half seconds of messages on six streams.
    let received = streams.received.messages;
    assert!((6 * 149..=6 * 151).contains(&received), "{received}");
    assert_quantile(&streams.gaps, 0.5, 10 * MS, MS / 10);
}

/// Messages belong to their call, so those of the warm-up's calls are not in the measured part.
#[test]
fn messages_of_the_warm_up_are_not_counted() {
    let answers = Answers::Stream { messages: 5, gap_ns: 10 * MS, stall: (5, 0) };
    let draft =
        Draft { requests: None, duration_ns: Some(S), warmup_ns: S, ..calls("Server", 1, 1) };
    let told = run(&draft, Manners::new(answers));
    let (ledger, streams) = (told.sum.ledger, &told.streams);
    assert_eq!((streams.sent.messages, streams.received.messages), (ledger.sent, 5 * ledger.ok));
    assert!(told.did.sent.0 > 9 * ledger.ok, "the other half was the warm-up's");
}

#[test]
fn an_answer_before_all_is_sent_ends_the_call() {
    for (draft, after) in [(calls("Bidi", 100_000, 20), 3), (pingpong(50, 20), 3)] {
        let manners = Manners {
            end: End::EarlyStatus(0, after),
            window_bytes: 1000,
            reads_after_ns: 5 * MS,
            ..Manners::new(Answers::Each { after_ns: MS })
        };
        let told = run(&draft, manners);
        let Told { sum, streams, did } = &told;
        assert_eq!((sum.ledger.ok, did.whole), (20, 0), "{:?}", sum.errors);
        // The server does not need the rest (RFC 9113 8.1), and is told so.
        // The run ends with the last calls, and their connections with it.
        let given_up = did.given_up.iter().filter(|code| **code == ErrorCode::NO_ERROR).count();
        assert!((14..=20).contains(&given_up), "{:?}", did.given_up);
        assert_eq!((streams.received.messages, streams.cut_calls), (20 * after, 20));
        assert!(streams.sent.messages >= did.came.0, "handed over is not read yet");
        // A batch is 655 messages, and no second one is made while a window holds the first back.
        assert!(streams.sent.messages < 20 * 1000, "{:?}", streams.sent);
    }
}

/// Windows let through little at a time, so the batches of a call are held back over and over.
#[test]
fn a_small_window_holds_messages_back_and_loses_none() {
    for method in ["Client", "Bidi"] {
        let answers = match method {
            "Client" => Answers::Stream { messages: 1, gap_ns: 0, stall: (1, 0) },
            _ => Answers::Each { after_ns: 0 },
        };
        let manners =
            Manners { window_bytes: 2000, reads_after_ns: 10 * MS, ..Manners::new(answers) };
        let mut draft = calls(method, 6000, 4);
        draft.http2.streams = 2;
        let told = run(&draft, manners);
        told.agrees(method);
        assert_eq!((told.sum.ledger.ok, told.did.came.0), (4, 24_000), "{:?}", told.sum.errors);
        let stalled = &told.sum.phases[plimsoll_core::Phase::Stalled];
        if method == "Client" {
            // 45 kB and more, 2 kB each 10 ms.
            assert!(stalled.min_ns() > Some(100 * MS), "{stalled:?}");
        }
    }
}

#[test]
fn the_number_of_messages_can_be_expected() {
    let answers = Answers::Stream { messages: 3, gap_ns: MS, stall: (3, 0) };
    for (expect, ok) in [("grpc-messages=3", 20), ("grpc-messages=0..2", 0), ("grpc-messages=4", 0)]
    {
        let mut draft = calls("Server", 1, 20);
        draft.expect = vec![expect.parse().expect("an expectation")];
        let told = run(&draft, Manners::new(answers));
        assert_eq!((told.sum.ledger.ok, told.sum.ledger.failed), (ok, 20 - ok), "{expect}");
        let errors = told.sum.errors.iter().map(|it| (it.kind.as_str(), it.sample.as_str()));
        let want = (ok == 0).then(|| format!("3 messages, expected {expect}"));
        let want = want.as_deref().map(|text| ("grpc_messages", text));
        assert_eq!(errors.collect::<Vec<_>>(), want.as_slice(), "{expect}");
    }
}

#[test]
fn over_any_network_the_counts_are_those_of_the_server() {
    for seed in 0..300 {
        let mut dice = Dice::new(seed);
        let sim = SimOptions {
            seed,
            split: dice.between(0, 900) as f64 / 1000.0,
            readiness: dice.chance(40),
            ..SimOptions::default()
        };
        let (messages, requests) = (dice.between(0, 40) as u32, dice.between(1, 30));
        let after_ns = dice.between(0, 3 * MS);
        let each = Answers::Each { after_ns };
        let stream = Answers::Stream {
            messages: dice.between(1, 20),
            gap_ns: dice.between(0, MS),
            stall: (dice.between(0, 20), dice.between(0, MS)),
        };
        let one = Answers::Stream { messages: 1, gap_ns: 0, stall: (1, 0) };
        let (mut draft, answers) = match dice.between(0, 4) {
            0 => (calls("Server", 1, requests), stream),
            1 => (calls("Client", messages, requests), one),
            2 => (calls("Bidi", messages, requests), each),
            _ => (pingpong(messages, requests), each),
        };
        draft.http2.streams = dice.between(1, 6) as u32;
        draft.warmup_ns = 0;
        draft.seed = seed;
        let manners = Manners {
            bytes: dice.between(0, 3000) as usize,
            window_bytes: dice.between(100, 5000) as u32,
            reads_after_ns: dice.between(0, MS),
            ..Manners::new(answers)
        };
        let told = run_over_network(&draft, manners, &sim);
        let context = format!("seed {seed}: {:?}, {:?}", told.sum.ledger, told.sum.errors);
        told.agrees(&context);
        assert_eq!((told.sum.ledger.ok, told.sum.disordered), (requests, 0), "{context}");
        let Streams { received, first_message, gaps, .. } = &told.streams;
        let (first, gaps) = (first_message.count(), gaps.count());
        assert_eq!(first + gaps, received.messages, "{context}");
    }
}

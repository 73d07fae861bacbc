//! Calls of gRPC over HTTP/2: each is told of as what the server did with it.

use std::collections::BTreeMap;

use plimsoll_conn::{Http2, Http2Request, Http2Settings};
use plimsoll_core::plan::{Body, Draft, GrpcPlan, Http2Plan, HttpVersion};
use plimsoll_engine::Signals;
use plimsoll_engine::source::Prepared;
use plimsoll_grpc::builtin;
use plimsoll_io::sim::SimOptions;
use plimsoll_proto::http2::ClientOptions;

use crate::calls_server::{CallServer, Did, Ending};
use crate::seeds::Dice;
use crate::world::{MS, Ran, plan, run_over};

const STREAMS: u32 = 5;

/// Calls of the ping service, each with its number in the message.
fn calls(seed: u64, requests: u64) -> Draft {
    let grpc = GrpcPlan {
        files: vec!["ping.proto".to_owned()],
        descriptors: builtin::schema().expect("compiles").descriptors(),
        ..GrpcPlan::new("fgrpc.PingServer/Ping".to_owned())
    };
    let mut draft = Draft {
        http_version: HttpVersion::Http2,
        http2: Http2Plan { streams: STREAMS, ..Http2Plan::default() },
        connections: 3,
        duration_ns: None,
        requests: Some(requests),
        timeout_ns: 100 * MS,
        seed,
        ..plan()
    };
    draft.endpoint.path = grpc.path().into();
    draft.grpc = Some(grpc);
    draft.request.method = "POST".to_owned();
    draft.request.body = Some(Body::new(br#"{"seq": {{seq}}, "payload": "x"}"#.to_vec()));
    draft
}

fn run(seed: u64, draft: &Draft, endings: &[Ending]) -> (Ran, Did) {
    let checked = draft.clone().check().expect("a plan");
    let prepared = Prepared::<Http2Request>::new(&checked).expect("sound");
    let options = ClientOptions {
        streams: STREAMS,
        shared_fields: prepared.shared().len(),
        ..ClientOptions::default()
    };
    let mut dice = Dice::new(seed);
    let sim = SimOptions {
        seed,
        split: dice.between(0, 700) as f64 / 1000.0,
        readiness: dice.chance(40),
        ..SimOptions::default()
    };
    let mut all = None;
    let peer = |_: u32| {
        let (server, did) = CallServer::new(seed, endings);
        all = Some(did);
        Box::new(server) as Box<dyn plimsoll_io::sim::Peer>
    };
    let settings = Http2Settings { options };
    let ran = run_over::<Http2>(draft, &sim, &settings, peer, &Signals::default(), Vec::new());
    (ran, all.expect("there was a worker").take())
}

#[test]
fn calls_count_by_the_status_that_the_server_gave() {
    let mut seen = BTreeMap::new();
    for seed in 0..100 {
        let draft = Draft { resends: false, ..calls(seed, 200) };
        let (ran, did) = run(seed, &draft, &Ending::ALL);
        let sum = ran.sum();
        let context = || format!("seed {seed}: {:?}\n{did:?}\n{:?}", sum.ledger, sum.errors);
        assert!(did.wrong.is_empty(), "{}", context());
        assert_eq!(did.timeouts, ["100000u"], "{}", context());
        let mut numbers = did.numbers.clone();
        numbers.sort_unstable();
        let first = numbers[0];
        assert_eq!(numbers, (first..first + 200).collect::<Vec<_>>(), "{}", context());
        let of = |ending: Ending| did.endings.get(&ending).copied().unwrap_or(0);
        let mut codes = vec![0; 18];
        for ending in Ending::ALL {
            codes[(ending.code() as usize).min(17)] += of(ending);
        }
        assert_eq!(sum.grpc_status, codes, "{}", context());
        let told = [sum.ledger.ok, sum.ledger.refused, sum.ledger.broken, sum.ledger.sent];
        let want = [of(Ending::Ok), of(Ending::Refused), of(Ending::Cancelled), 200];
        assert_eq!(told, want, "{}", context());
        assert_eq!(sum.ledger.failed, 200 - want[0] - want[1] - want[2], "{}", context());
        let kinds = [
            ("grpc_status", of(Ending::Trailers) + of(Ending::TrailersOnly) + of(Ending::Odd)),
            ("grpc_no_status", of(Ending::NoStatus)),
            ("grpc_no_message", of(Ending::NoMessage)),
            ("grpc_extra_messages", of(Ending::TwoMessages)),
            ("grpc_message_cut", of(Ending::CutMessage)),
            ("grpc_not_grpc", of(Ending::Html503)),
            ("reset:CANCEL", of(Ending::Cancelled)),
            ("request_refused", of(Ending::Refused)),
        ];
        for (kind, want) in kinds {
            let errors = sum.errors.iter().filter(|error| error.kind == kind);
            assert_eq!(errors.map(|it| it.count).sum::<u64>(), want, "{kind}, {}", context());
        }
        for (ending, count) in did.endings {
            *seen.entry(ending).or_insert(0) += count;
        }
    }
    assert!(Ending::ALL.iter().all(|it| seen.get(it) > Some(&1000)), "{seen:?}");
}

/// Experiment 18 of the mistakes: one call in ten fails in its status alone.
#[test]
fn a_tenth_that_fails_in_its_status_is_a_tenth_that_fails() {
    let mut endings = vec![Ending::Ok; 18];
    for failed in [Ending::Trailers, Ending::TrailersOnly] {
        let mut endings = endings.clone();
        endings.extend([failed; 2]);
        let (ran, did) = run(1, &calls(1, 2000), &endings);
        let (sum, count) = (ran.sum(), did.endings[&failed]);
        assert!((120..=280).contains(&count), "{did:?}");
        assert_eq!((sum.ledger.completed, sum.ledger.failed), (2000, count));
        assert_eq!((sum.status[200], sum.grpc_status[14]), (2000, count));
        let error = sum.errors.iter().find(|it| it.kind == "grpc_status").expect("they fail");
        let said = if failed == Ending::TrailersOnly { ": \"later!\"" } else { "" };
        assert_eq!(error.sample, format!("status UNAVAILABLE (14){said}"));
    }
    endings.extend([Ending::Trailers; 2]);
    let expected = Draft {
        expect: vec!["grpc-status=0,14".parse().expect("an expectation")],
        ..calls(1, 500)
    };
    let (ran, _) = run(1, &expected, &endings);
    assert_eq!((ran.sum().ledger.ok, ran.sum().errors.len()), (500, 0), "both are good");
    let other =
        Draft { expect: vec!["grpc-status=5".parse().expect("an expectation")], ..calls(1, 500) };
    let (ran, _) = run(1, &other, &endings);
    assert_eq!((ran.sum().ledger.ok, ran.sum().ledger.failed), (0, 500), "none is");
}

/// Experiment 20 of the mistakes: the server knows the deadline, and is told when it has passed.
#[test]
fn a_deadline_travels_and_its_end_too() {
    let (ran, did) = run(3, &calls(3, 30), &[Ending::Hangs]);
    // The run ends with the last calls, and their connections with it.
    let last = 3 * u64::from(STREAMS);
    assert_eq!((ran.sum().ledger.timed_out, did.cancelled), (30, 30 - last), "{did:?}");
    assert_eq!(did.timeouts, ["100000u"]);
    assert_eq!(ran.sum().grpc_status, Vec::<u64>::new(), "the server ended none");
}

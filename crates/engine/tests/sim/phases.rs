//! Where the time of requests and connections went, on days when the tester's thread is not there
//! to see it: a call keeps it, or its own work does.

use plimsoll_conn::{Http1, Http1Settings};
use plimsoll_core::plan::{Body, Draft};
use plimsoll_core::{Histogram, Phase};
use plimsoll_engine::Signals;
use plimsoll_io::sim::{Peer, PeerActions, PeerConn, SimOptions};
use plimsoll_proto::http1::Limits;

use crate::peer::Answer;
use crate::world::{S, plan, run, run_over};

const US: u64 = 1_000;
/// A delivery takes 10 µs each way by default.
const ROUND_TRIP: u64 = 20 * US;
const THINKS: u64 = 150 * US;

fn range(histogram: &Histogram) -> (u64, u64) {
    (histogram.min_ns().expect("not empty"), histogram.max_ns().expect("not empty"))
}

/// The server is woken by the request, takes the tester's CPU, and has answered when the call that
/// sent it comes back.
#[test]
fn what_the_server_does_during_the_call_that_sends_is_waiting() {
    for (call_ns, service_ns) in [
        (0, THINKS + ROUND_TRIP),
        (4 * US, THINKS + ROUND_TRIP),
        (THINKS + 40 * US, THINKS + 40 * US),
    ] {
        let sim = SimOptions { call_ns: call_ns..call_ns + 1, ..SimOptions::default() };
        let plan = Draft { connections: 1, duration_ns: Some(S), ..plan() };
        let sum = run(&plan, &sim, |_| |_, _| Answer::Status(200, THINKS)).sum();
        let [sending, waiting] =
            [Phase::Sending, Phase::Waiting].map(|phase| range(&sum.phases[phase]));
        let (least_ns, most_ns) = range(&sum.service);
        assert!(service_ns <= least_ns && most_ns <= service_ns + 10 * US, "{least_ns} {most_ns}");
        assert!(sending.1 <= call_ns.min(11 * US), "{sending:?} of a call of {call_ns} ns");
        assert!(waiting.0 >= THINKS, "{waiting:?} after a call of {call_ns} ns");
        let sum_ns: u64 = [Phase::Sending, Phase::Waiting, Phase::Receiving]
            .iter()
            .map(|phase| sum.phases[*phase].sum_ns())
            .sum();
        assert_eq!(sum_ns, sum.service.sum_ns());
    }
}

/// A long request takes its time, however it is cut.
#[test]
fn a_long_request_is_sent_for_as_long_as_it_takes() {
    let body_bytes = 4 << 20;
    let mut draft = Draft { connections: 1, requests: Some(3), duration_ns: None, ..plan() };
    draft.request.method = "POST".to_owned();
    draft.request.body = Some(Body::new(vec![b'x'; body_bytes]));
    let sim = SimOptions { latency_ns: 1_000 * US..1_000 * US + 1, ..SimOptions::default() };
    let settings = Http1Settings { pipeline: 1, limits: Limits::default(), outlives_close: false };
    let peer = |_| Box::new(Reader { body_bytes, got: 0 }) as Box<dyn Peer>;
    let ran = run_over::<Http1>(&draft, &sim, &settings, peer, &Signals::default(), Vec::new());
    let sum = ran.sum();
    assert_eq!(sum.ledger.ok, 3);
    // A window of 256 KiB each two ways, 16 of them, the last one not waited for.
    let (least_ns, most_ns) = range(&sum.phases[Phase::Sending]);
    assert!(least_ns >= 30_000 * US && most_ns <= 34_000 * US, "{least_ns} {most_ns}");
    let waiting = range(&sum.phases[Phase::Waiting]);
    assert!(waiting.0 >= 2_000 * US && waiting.1 <= 4_000 * US, "{waiting:?}");
}

/// Answers once the whole body of a request has come.
struct Reader {
    body_bytes: usize,
    got: usize,
}

impl Peer for Reader {
    fn connected(&mut self, _: u64, _: PeerConn, _: &mut PeerActions) {}

    fn received(&mut self, _: u64, _: PeerConn, bytes: &[u8], out: &mut PeerActions) {
        self.got += bytes.iter().filter(|byte| **byte == b'x').count();
        if self.got >= self.body_bytes {
            self.got -= self.body_bytes;
            out.send(0, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    }

    fn closed(&mut self, _: u64, _: PeerConn) {}
}

/// Eight connections are opened by calls that take the tester 40 µs each. Each is there by the end
/// of its own call, and lasts no longer for those that are opened after it.
#[test]
fn a_connect_does_not_wait_for_the_others() {
    const CALL: u64 = 40 * US;
    let sim = SimOptions { call_ns: CALL..CALL + 1, ..SimOptions::default() };
    let plan = Draft { connections: 8, ..plan() };
    let sum = run(&plan, &sim, |_| |_, _| Answer::Status(200, THINKS)).sum();
    let connect = &sum.phases[Phase::Connect];
    assert_eq!(connect.count(), 8);
    let (least_ns, most_ns) = range(connect);
    assert!(CALL <= least_ns && most_ns <= CALL + 2 * US, "{least_ns} {most_ns}");
}

/// The same where the network takes longer than the calls, and another time for each connection.
#[test]
fn each_connect_lasts_as_long_as_the_network_takes() {
    let sim = SimOptions {
        call_ns: 40 * US..40 * US + 1,
        latency_ns: 100 * US..3_000 * US,
        ..SimOptions::default()
    };
    let plan = Draft { connections: 8, ..plan() };
    let sum = run(&plan, &sim, |_| |_, _| Answer::Status(200, THINKS)).sum();
    let (least_ns, most_ns) = range(&sum.phases[Phase::Connect]);
    assert!(200 * US <= least_ns && least_ns < most_ns, "{least_ns} {most_ns}");
    assert!(most_ns <= 6_000 * US + 8 * 40 * US, "{most_ns}");
}

//! The whole engine against a server that sends back what it gets: in pieces, with a byte that is
//! another one, not at all, or not to the end.

use std::collections::BTreeMap;

use plimsoll_conn::{Echo, EchoRequest, EchoSettings, Encoding as _};
use plimsoll_core::plan::{Body, Draft, Endpoint, Request};
use plimsoll_core::recorder::Recorder;
use plimsoll_engine::Signals;
use plimsoll_engine::source::Prepared;
use plimsoll_io::sim::{Peer, PeerActions, PeerConn, SimOptions};

use crate::world::{MS, S, at_rate, plan, run_over};

/// Bytes of a request.
const BYTES: usize = 20;

/// What the server does beside echoing.
#[derive(Debug, Clone, Copy)]
enum Manners {
    Sound,
    /// This byte of each connection comes back as another one.
    Differs(usize),
    /// Closes after this number of bytes of each connection.
    Closes(usize),
    Hangs,
}

struct Server {
    manners: Manners,
    /// Bytes that came, by connection.
    seen: BTreeMap<PeerConn, usize>,
}

impl Peer for Server {
    fn connected(&mut self, _now_ns: u64, conn: PeerConn, _out: &mut PeerActions) {
        self.seen.insert(conn, 0);
    }

    fn received(&mut self, _now_ns: u64, conn: PeerConn, bytes: &[u8], out: &mut PeerActions) {
        let seen = self.seen.get_mut(&conn).expect("accepted");
        let mut answer = bytes.to_vec();
        let within = |at: usize| at.checked_sub(*seen).filter(|at| *at < bytes.len());
        match self.manners {
            Manners::Sound => {}
            Manners::Hangs => return,
            Manners::Differs(at) => {
                if let Some(at) = within(at) {
                    answer[at] ^= 1;
                }
            }
            Manners::Closes(at) => {
                if let Some(at) = within(at) {
                    answer.truncate(at);
                    out.send(MS, answer);
                    out.close(MS);
                    return;
                }
            }
        }
        *seen += bytes.len();
        out.send(MS, answer);
    }

    fn closed(&mut self, _now_ns: u64, _conn: PeerConn) {}
}

/// A plan whose requests are these bytes, of which templates make [`BYTES`].
fn echoes(draft: Draft, text: &str) -> Draft {
    let endpoint = Endpoint { scheme: "tcp".to_owned(), ..Endpoint::http("192.0.2.1", 80, "/") };
    let body = Some(Body::Text(text.into()));
    Draft { endpoint, request: Request { body, ..Request::get() }, ..draft }
}

fn of(requests: u64) -> Draft {
    let draft = Draft { requests: Some(requests), duration_ns: None, ..plan() };
    echoes(draft, "{{random 10000 99999}} and so on.....")
}

fn run(draft: &Draft, sim: &SimOptions, manners: Manners) -> Recorder {
    let checked = draft.clone().check().expect("a plan");
    let prepared = Prepared::<EchoRequest>::new(&checked).expect("bytes");
    assert_eq!(prepared.request_bytes_max(), BYTES);
    let settings =
        EchoSettings { fixed: prepared.target(0).encoding.fixed().cloned(), is_datagram: false };
    let peer = |_| Box::new(Server { manners, seen: BTreeMap::new() }) as Box<dyn Peer>;
    let ran = run_over::<Echo>(draft, sim, &settings, peer, &Signals::default(), Vec::new());
    let sum = ran.sum();
    sum.ledger.check().expect("a ledger");
    sum
}

/// Errors by kind.
fn kinds(sum: &Recorder) -> BTreeMap<&str, u64> {
    let mut kinds = BTreeMap::new();
    for error in &sum.errors {
        *kinds.entry(error.kind.as_str()).or_default() += error.count;
    }
    kinds
}

#[test]
fn every_byte_comes_back_however_the_network_cuts() {
    let fixed = echoes(at_rate(200_000_000, S), "always the 20 bytes.");
    for (seed, split) in [(1, 0.0), (2, 0.5), (3, 0.9)] {
        let sim = SimOptions { seed, split, partial_write: split, ..SimOptions::default() };
        for draft in [of(200), fixed.clone()] {
            let sum = run(&draft, &sim, Manners::Sound);
            assert_eq!((sum.ledger.ok, kinds(&sum)), (200, BTreeMap::new()));
            assert_eq!((sum.sent_bytes, sum.received_bytes), (4000, 4000));
            assert!(sum.service.min_ns() >= Some(MS));
            assert_eq!(sum.status.iter().skip(1).sum::<u64>(), 0, "an echo has no status");
        }
    }
}

/// Each connection carries four sound requests and breaks with the fifth.
#[test]
fn an_answer_that_differs_or_is_cut_breaks_its_request_alone() {
    let byte = 4 * BYTES + 7;
    for (manners, kind) in
        [(Manners::Differs(byte), "not_echoed"), (Manners::Closes(byte), "closed")]
    {
        let sum = run(&of(100), &SimOptions::default(), manners);
        let broken = sum.ledger.broken;
        assert_eq!((sum.ledger.sent, sum.ledger.ok), (100, 100 - broken), "{manners:?}");
        assert!((17..=20).contains(&broken), "{manners:?}: {broken}");
        assert_eq!(kinds(&sum), BTreeMap::from([(kind, broken)]), "{manners:?}");
    }
}

#[test]
fn what_never_comes_back_times_out() {
    let draft = Draft { timeout_ns: 10 * MS, ..of(12) };
    let sum = run(&draft, &SimOptions::default(), Manners::Hangs);
    assert_eq!((sum.ledger.sent, sum.ledger.timed_out), (12, 12));
    assert_eq!(kinds(&sum), BTreeMap::from([("timeout", 12)]));
}

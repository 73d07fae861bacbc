//! What the simulation promises beyond the trait: the same seed gives the same run, every fault
//! happens, and the peer's script is followed.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;

use plimsoll_io::sim::{Peer, PeerActions, PeerConn, SimDriver, SimOptions, Window};
use plimsoll_io::{Address, Close, Driver as _, Event, Operation, SocketId, TcpInfo};

use crate::world::{World, options, pattern};

/// What the peer saw.
#[derive(Debug, Default)]
struct Log {
    connected: Vec<(u64, PeerConn)>,
    received: Vec<(u64, PeerConn, usize)>,
    closed: Vec<(u64, PeerConn)>,
}

/// Answers every byte with a hundred, 50 µs later.
struct Hundredfold(Rc<RefCell<Log>>);

impl Peer for Hundredfold {
    fn connected(&mut self, now_ns: u64, conn: PeerConn, _: &mut PeerActions) {
        self.0.borrow_mut().connected.push((now_ns, conn));
    }

    fn received(&mut self, now_ns: u64, conn: PeerConn, bytes: &[u8], out: &mut PeerActions) {
        self.0.borrow_mut().received.push((now_ns, conn, bytes.len()));
        match bytes {
            b"close" => out.close(1_000),
            b"reset" => out.reset(1_000),
            _ => out.send(50_000, pattern(bytes.len() * 100, 0)),
        }
    }

    fn closed(&mut self, now_ns: u64, conn: PeerConn) {
        self.0.borrow_mut().closed.push((now_ns, conn));
    }
}

fn somewhere() -> SocketAddr {
    ([192, 0, 2, 1], 80).into()
}

fn world(sockets: u32, sim: SimOptions) -> (World<SimDriver>, Rc<RefCell<Log>>) {
    let log = Rc::new(RefCell::new(Log::default()));
    let peer = Box::new(Hundredfold(log.clone()));
    let driver = SimDriver::new(&options(sockets, 0), sim, Some(peer));
    (World::new(driver, sockets), log)
}

fn faulty(seed: u64) -> SimOptions {
    SimOptions {
        seed,
        latency_ns: 5_000..500_000,
        split: 0.3,
        partial_write: 0.3,
        reset: 0.02,
        refuse: 0.1,
        accept_delay_ns: 0..100_000,
        wait_jitter_ns: 0..50_000,
        ..SimOptions::default()
    }
}

/// What a run under faults came to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Trace {
    hash: u64,
    refused: u32,
    reset: u32,
    pieces: u32,
    answers: u32,
    partial: u32,
}

/// Twenty connections ask and are opened again after each failure, for 100 simulated ms.
fn trace(seed: u64) -> Trace {
    let log = Rc::new(RefCell::new(Log::default()));
    let peer = Box::new(Hundredfold(log.clone()));
    let mut driver = SimDriver::new(&options(20, 0), faulty(seed), Some(peer));
    let mut hasher = DefaultHasher::new();
    let mut trace = Trace::default();
    let mut left = [0_usize; 20];
    for socket in 0..20 {
        driver.connect(SocketId(socket), &somewhere().into());
    }
    while driver.wait(100_000_000).expect("the driver works") < 100_000_000 {
        while let Some((at_ns, event)) = driver.next() {
            (at_ns, format!("{event:?}")).hash(&mut hasher);
            let mut ask = None;
            match event {
                Event::Connected(socket) => ask = Some(socket),
                Event::Received(received) => {
                    driver.bytes(&received).hash(&mut hasher);
                    let (socket, len) = (received.socket, received.len());
                    driver.release(received);
                    trace.pieces += 1;
                    left[socket.index()] -= len;
                    if left[socket.index()] == 0 {
                        trace.answers += 1;
                        ask = Some(socket);
                    }
                }
                Event::Failed { socket, operation, .. } => {
                    match operation {
                        Operation::Connect => trace.refused += 1,
                        _ => trace.reset += 1,
                    }
                    driver.close(socket, Close::Graceful);
                    driver.connect(socket, &somewhere().into());
                }
                _ => {}
            }
            if let Some(socket) = ask {
                left[socket.index()] = 1000;
                driver.send(socket, plimsoll_io::Payload::Copied(b"0123456789"));
                trace.partial += u32::from(driver.queued_bytes(socket) > 0);
            }
        }
    }
    format!("{:?}", log.borrow()).hash(&mut hasher);
    trace.hash = hasher.finish();
    trace
}

#[test]
fn a_seed_gives_one_run_and_another_seed_another() {
    let traces: Vec<Trace> = (0..20).map(trace).collect();
    for (seed, trace_of_seed) in (0..).zip(&traces) {
        assert_eq!(&trace(seed), trace_of_seed, "seed {seed}");
    }
    let mut hashes: Vec<u64> = traces.iter().map(|trace| trace.hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), traces.len());
}

#[test]
fn every_fault_happens() {
    for seed in 0..20 {
        let trace = trace(seed);
        assert!(trace.answers > 100, "{trace:?}");
        assert!(trace.refused > 0 && trace.reset > 0 && trace.partial > 0, "{trace:?}");
        assert!(trace.pieces > trace.answers, "{trace:?}");
    }
    let calm = SimOptions { reset: 0.0, refuse: 1.0, ..faulty(1) };
    let (mut world, log) = world(1, calm);
    world.connect(SocketId(0), somewhere());
    world.until("refused", |world| world.of(SocketId(0)).failed.is_some());
    assert_eq!(world.of(SocketId(0)).failed, Some((Operation::Connect, libc::ECONNREFUSED)));
    assert!(log.borrow().connected.is_empty());
}

#[test]
fn without_faults_times_are_exact() {
    let (mut world, log) = world(1, SimOptions::default());
    world.connect(SocketId(0), somewhere());
    world.until("connected", |world| world.of(SocketId(0)).open);
    assert_eq!(world.driver.clock_ns(), 20_001);
    world.send(SocketId(0), b"x");
    world.until("answered", |world| world.of(SocketId(0)).received.len() == 100);
    assert_eq!(world.driver.clock_ns(), 20_001 + 70_000);
    assert_eq!(log.borrow().connected, [(10_001, PeerConn(0))]);
    assert_eq!(log.borrow().received, [(30_001, PeerConn(0), 1)]);
    world.close(SocketId(0), Close::Graceful);
    world.settle();
    assert_eq!(log.borrow().closed, [(100_001, PeerConn(0))]);
}

#[test]
fn a_unix_address_is_one_more_way_to_the_peer() {
    let tcp_info = Some(TcpInfo { retransmits: 3, ..TcpInfo::default() });
    let (mut world, log) = world(1, SimOptions { tcp_info, ..SimOptions::default() });
    world.connect(SocketId(0), somewhere());
    assert_eq!(world.driver.tcp_info(SocketId(0)), tcp_info);
    world.close(SocketId(0), Close::Graceful);
    world.connect(SocketId(0), Address::Unix(Path::new("/run/server.sock").into()));
    world.until("connected", |world| world.of(SocketId(0)).open);
    world.send(SocketId(0), b"x");
    world.until("answered", |world| world.of(SocketId(0)).received.len() == 100);
    assert_eq!(log.borrow().connected, [(10_001, PeerConn(1))]);
    assert_eq!(world.driver.tcp_info(SocketId(0)), None);
    assert_eq!(world.driver.local_address(SocketId(0)), None);
}

/// Sends what it was asked for after the other side has ended.
struct Late(Vec<u8>);

impl Peer for Late {
    fn connected(&mut self, _: u64, _: PeerConn, _: &mut PeerActions) {}

    fn received(&mut self, _: u64, _: PeerConn, bytes: &[u8], _: &mut PeerActions) {
        self.0.extend_from_slice(bytes);
    }

    fn ended(&mut self, _: u64, _: PeerConn, out: &mut PeerActions) {
        out.send(0, self.0.clone());
        out.close(1_000);
    }

    fn closed(&mut self, _: u64, _: PeerConn) {
        panic!("it closes by itself");
    }
}

#[test]
fn the_peer_is_told_of_a_half_close() {
    let peer = Box::new(Late(Vec::new()));
    let driver = SimDriver::new(&options(1, 0), SimOptions::default(), Some(peer));
    let mut late = World::new(driver, 1);
    late.connect(SocketId(0), somewhere());
    late.until("connected", |world| world.of(SocketId(0)).open);
    late.send(SocketId(0), b"echo");
    late.driver.shutdown(SocketId(0));
    late.until("ended", |world| world.of(SocketId(0)).ended);
    assert_eq!(late.of(SocketId(0)).received, b"echo");

    let (mut world, log) = world(1, SimOptions::default());
    world.connect(SocketId(0), somewhere());
    world.until("connected", |world| world.of(SocketId(0)).open);
    world.driver.shutdown(SocketId(0));
    world.until("closed by a script that says nothing", |world| world.of(SocketId(0)).ended);
    assert!(log.borrow().closed.is_empty());
}

/// Asks to be woken twice when it is connected, and says then what time it is.
struct Sleeper;

impl Peer for Sleeper {
    fn connected(&mut self, _now_ns: u64, _conn: PeerConn, out: &mut PeerActions) {
        out.wake(3_000_000);
        out.wake(1_000_000);
    }

    fn received(&mut self, _: u64, _: PeerConn, _: &[u8], _: &mut PeerActions) {}

    fn woken(&mut self, now_ns: u64, _conn: PeerConn, out: &mut PeerActions) {
        out.send(0, format!("{now_ns};"));
    }

    fn closed(&mut self, _now_ns: u64, _conn: PeerConn) {}
}

#[test]
fn the_peer_is_woken_when_it_asked_for_it() {
    let stalled = Window { at_ns: 2_000_000, for_ns: 5_000_000 };
    for (peer_stalled, want) in [(None, "1010001;3010001;"), (Some(stalled), "1010001;7000000;")] {
        let sim = SimOptions { peer_stalled, ..SimOptions::default() };
        let driver = SimDriver::new(&options(1, 0), sim, Some(Box::new(Sleeper)));
        let mut world = World::new(driver, 1);
        world.connect(SocketId(0), somewhere());
        world.until("woken twice", |world| world.of(SocketId(0)).received.len() >= want.len());
        assert_eq!(world.of(SocketId(0)).received, want.as_bytes());
    }
}

#[test]
fn the_peer_closes_and_resets() {
    let (mut world, log) = world(1, SimOptions::default());
    for (word, failed) in [("close", None), ("reset", Some((Operation::Receive, libc::ECONNRESET)))]
    {
        world.connect(SocketId(0), somewhere());
        world.until("connected", |world| world.of(SocketId(0)).open);
        world.send(SocketId(0), word.as_bytes());
        world.until(word, |world| {
            let seen = world.of(SocketId(0));
            seen.ended || seen.failed.is_some()
        });
        assert_eq!(world.of(SocketId(0)).failed, failed);
        world.close(SocketId(0), Close::Graceful);
        world.settle();
    }
    assert!(log.borrow().closed.is_empty(), "it was the peer's own doing");
}

#[test]
fn a_dead_peer_resets_and_refuses_until_it_is_back() {
    let dead = Window { at_ns: 1_000_000, for_ns: 2_000_000 };
    let (mut world, log) = world(2, SimOptions { peer_dead: Some(dead), ..SimOptions::default() });
    world.connect(SocketId(0), somewhere());
    world.until("reset", |world| world.of(SocketId(0)).failed.is_some());
    assert!(world.of(SocketId(0)).open);
    assert_eq!(world.driver.clock_ns(), 1_010_000);
    assert_eq!(log.borrow().closed, [(1_000_000, PeerConn(0))]);
    let mut refused = 0;
    loop {
        world.connect(SocketId(1), somewhere());
        world.until("an answer", |world| {
            world.of(SocketId(1)).open || world.of(SocketId(1)).failed.is_some()
        });
        if world.of(SocketId(1)).open {
            break;
        }
        world.close(SocketId(1), Close::Graceful);
        refused += 1;
    }
    assert_eq!(refused, 99, "20 µs each, and the hundredth arrives as the peer is back");
    assert_eq!(log.borrow().connected[1], (3_000_000, PeerConn(100)));
}

#[test]
fn a_stalled_peer_takes_bytes_and_answers_when_it_goes_on() {
    let stalled = Window { at_ns: 1_000_000, for_ns: 5_000_000 };
    let sim = SimOptions { peer_stalled: Some(stalled), ..SimOptions::default() };
    let (mut world, log) = world(2, sim);
    world.connect(SocketId(0), somewhere());
    world.until("connected", |world| world.of(SocketId(0)).open);
    world.turn(stalled.at_ns);
    world.connect(SocketId(1), somewhere());
    world.until("connected by the kernel", |world| world.of(SocketId(1)).open);
    world.send(SocketId(0), b"x");
    world.send(SocketId(0), b"y");
    world.until("sent", |world| world.of(SocketId(0)).sent > 0);
    assert!(world.driver.clock_ns() < 1_100_000);
    assert_eq!(log.borrow().connected.len(), 1);
    world.send(SocketId(0), &pattern(1_000_000, 0));
    world.turn(5_000_000);
    assert!(world.driver.queued_bytes(SocketId(0)) > 0, "the peer's buffers are full");
    world.until("answered", |world| world.of(SocketId(0)).received.len() >= 200);
    assert!(world.driver.clock_ns() >= 6_000_000);
    let log = log.borrow();
    assert_eq!(log.connected[1], (6_000_000, PeerConn(1)));
    assert_eq!(log.received[..2], [(6_000_000, PeerConn(0), 1); 2]);
}

#[test]
fn a_pause_stops_the_process_but_not_the_network() {
    let pause = Window { at_ns: 50_000, for_ns: 10_000_000 };
    let (mut world, log) = world(1, SimOptions { pause: Some(pause), ..SimOptions::default() });
    world.connect(SocketId(0), somewhere());
    world.until("connected", |world| world.of(SocketId(0)).open);
    world.send(SocketId(0), b"x");
    world.until("answered", |world| world.of(SocketId(0)).received.len() == 100);
    assert_eq!(world.driver.clock_ns(), 10_050_000);
    assert_eq!(log.borrow().received, [(30_001, PeerConn(0), 1)]);
    let until_ns = world.driver.clock_ns() + 1_000;
    world.turn(until_ns);
    assert_eq!(world.driver.clock_ns(), until_ns, "there is one pause");
}

#[test]
fn a_wait_that_nothing_can_end_is_an_error() {
    let mut driver = SimDriver::new(&options(1, 0), SimOptions::default(), None);
    assert!(driver.wait(u64::MAX).is_err());
    driver.connect(SocketId(0), &somewhere().into());
    assert!(driver.wait(u64::MAX).is_ok());
    let (_, event) = driver.next().expect("the connect ended");
    let Event::Failed { operation: Operation::Connect, error, .. } = event else {
        panic!("nobody listens there: {event:?}");
    };
    assert_eq!(error.0, libc::ECONNREFUSED);
}

/// The answer is there when the call that asked comes back, and nothing of its time is the call's.
#[test]
fn what_the_peer_does_during_a_call_that_sends_is_after_the_sending() {
    for (call_ns, taken_after_ns) in [(0, 0), (3_000, 3_000), (500_000, 10_000)] {
        let sim = SimOptions { call_ns: call_ns..call_ns + 1, ..SimOptions::default() };
        let (mut world, _) = world(1, sim);
        let client = SocketId(0);
        world.connect(client, somewhere());
        world.until("connected", |world| world.of(client).open);
        let began_ns = world.driver.clock_ns();
        world.send(client, b"?");
        world.until("answered", |world| !world.of(client).received.is_empty());
        let seen = world.of(client);
        assert_eq!((seen.sent, seen.taken_ns), (1, began_ns + taken_after_ns), "{call_ns}");
        // Ten µs there, fifty for the answer, ten back.
        let answered_ns = began_ns + call_ns.max(70_000);
        assert_eq!(seen.taken_in[0].1 / 1_000, answered_ns / 1_000, "{call_ns}");
    }
}

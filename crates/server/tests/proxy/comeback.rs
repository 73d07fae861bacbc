//! Upstreams that die under load and come back, while clients go on. What fails is counted one by
//! one: only what was at a dead upstream and may not be sent again.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::client::Client;
use crate::strict::{self, Fault};
use crate::subject::{Kind, Subject};
use crate::upstream::PATIENCE;

/// Requests after which something that has to happen should have.
const TRIES: usize = 100_000;

/// A request that waits at an upstream for its answer.
#[derive(Debug, Clone)]
struct Held {
    method: String,
    /// Whether its connection had carried none before, so that it may be the request's fault.
    is_first: bool,
}

#[derive(Default)]
struct State {
    answered: usize,
    held: Vec<Held>,
    is_released: bool,
    connections: Vec<TcpStream>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    stop: AtomicBool,
}

/// An upstream that can be killed, and started again at its address. It answers everything but
/// `/hold`, which waits for a release.
struct Mortal {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Gives the threads of its connections when it ends, and with it the listener.
    accepting: Option<JoinHandle<Vec<JoinHandle<()>>>>,
}

impl Mortal {
    fn born() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let mut mortal = Self { address, shared: Arc::default(), accepting: None };
        mortal.live(listener);
        mortal
    }

    fn live(&mut self, listener: TcpListener) {
        self.shared = Arc::default();
        let shared = Arc::clone(&self.shared);
        self.accepting = Some(thread::spawn(move || {
            let mut threads = Vec::new();
            while let Ok((stream, _)) = listener.accept() {
                if shared.stop.load(Ordering::Relaxed) {
                    break;
                }
                stream.set_read_timeout(Some(PATIENCE)).expect("an open socket");
                let second = stream.try_clone().expect("a second handle");
                shared.state.lock().expect("no panic").connections.push(second);
                let shared = Arc::clone(&shared);
                threads.push(thread::spawn(move || serve(stream, &shared)));
            }
            threads
        }));
    }

    /// Ends the listener and every connection; says what was held.
    fn die(&mut self) -> Vec<Held> {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Nobody accepts it: it only wakes the thread.
        drop(TcpStream::connect(self.address));
        // The listener goes first. A request that is sent again would otherwise reach it on a new
        // connection, die there a second time, and may not be sent a third time.
        let threads = self.accepting.take().expect("it lives").join().expect("no panic");
        let held = {
            let mut state = self.shared.state.lock().expect("no panic");
            for stream in state.connections.drain(..) {
                // The proxy may have been first.
                let _ = stream.shutdown(Shutdown::Both);
            }
            std::mem::take(&mut state.held)
        };
        self.shared.changed.notify_all();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        held
    }

    fn come_back(&mut self) {
        self.live(TcpListener::bind(self.address).expect("the same port"));
    }

    fn answered(&self) -> usize {
        self.shared.state.lock().expect("no panic").answered
    }

    fn held(&self) -> usize {
        self.shared.state.lock().expect("no panic").held.len()
    }

    fn release(&self) {
        self.shared.state.lock().expect("no panic").is_released = true;
        self.shared.changed.notify_all();
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) {
    let (mut bytes, mut is_first) = (Vec::new(), true);
    let mut piece = [0; 4096];
    loop {
        let (request, length) = match strict::request(&bytes) {
            Ok(read) => read,
            Err(Fault::Wrong(why)) => panic!("{why}"),
            Err(Fault::Incomplete) => match stream.read(&mut piece) {
                Ok(length @ 1..) => {
                    bytes.extend(&piece[..length]);
                    continue;
                }
                _ => return,
            },
        };
        bytes.drain(..length);
        let mut state = shared.state.lock().expect("no panic");
        if request.target == "/hold" {
            state.held.push(Held { method: request.method, is_first });
            let dead = || shared.stop.load(Ordering::Relaxed);
            let released = |state: &mut State| !state.is_released && !dead();
            state = shared.changed.wait_while(state, released).expect("no panic");
        }
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
        state.answered += 1;
        drop(state);
        is_first = false;
        if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
            return;
        }
    }
}

fn send(proxy: SocketAddr, method: &str, target: &str) -> Client {
    let mut client = Client::connect(proxy);
    let request = format!("{method} {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
    client.send(request.as_bytes());
    client
}

/// The statuses of `count` requests, GET and POST in turn.
fn statuses(proxy: SocketAddr, count: usize) -> Vec<u16> {
    let ask = |index: usize| {
        let method = ["GET", "POST"][index % 2];
        send(proxy, method, "/").response(method).expect("a response").status
    };
    (0..count).map(ask).collect()
}

/// Asks until something holds; the statuses of the requests that failed before.
fn until(proxy: SocketAddr, mut holds: impl FnMut() -> bool) -> Vec<u16> {
    let mut failed = Vec::new();
    for _ in 0..TRIES {
        failed.extend(statuses(proxy, 2).into_iter().filter(|status| *status != 200));
        if holds() {
            return failed;
        }
    }
    panic!("not after {TRIES} requests; {} failed", failed.len());
}

/// Waits until the upstreams hold `count` requests between them. A request that failed on its way
/// to them never comes.
fn wait_for_held(upstreams: [&Mortal; 2], count: usize) {
    let began = Instant::now();
    loop {
        let held = upstreams.iter().map(|it| it.held()).sum::<usize>();
        if held >= count {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{held} of {count} requests reached an upstream");
        thread::yield_now();
    }
}

fn live_and_die(kind: &Kind) {
    let (mut a, mut b) = (Mortal::born(), Mortal::born());
    let subject = Subject::start(kind, &[a.address, b.address], |rules| {
        rules.health.failures = 3;
        rules.health.aside_ns = 5_000_000;
    });
    let proxy = subject.address;
    assert_eq!(statuses(proxy, 40), [200; 40], "both live");
    assert!(a.answered() > 0 && b.answered() > 0);

    assert!(a.die().is_empty());
    assert_eq!(statuses(proxy, 40), [200; 40], "one lives: connects that fail are made up for");
    a.come_back();
    assert_eq!(until(proxy, || a.answered() > 4), [0_u16; 0], "one comes back");

    let methods = ["GET", "POST"].repeat(8);
    let mut clients: Vec<Client> =
        methods.iter().map(|method| send(proxy, method, "/hold")).collect();
    wait_for_held([&a, &b], methods.len());
    let lost = a.die();
    let again = lost.iter().filter(|it| it.method == "GET" && !it.is_first).count();
    wait_for_held([&b, &b], 2 * (methods.len() - lost.len() + again));
    b.release();
    let answers = methods
        .iter()
        .zip(&mut clients)
        .map(|(method, client)| client.response(method).expect("a response").status);
    let answers: Vec<u16> = answers.collect();
    let failed = answers.iter().filter(|status| **status == 502).count();
    let good = answers.iter().filter(|status| **status == 200).count();
    assert_eq!(failed, lost.len() - again, "what may not be repeated: {lost:?}, {answers:?}");
    assert_eq!(good, methods.len() - failed, "{lost:?}, {answers:?}");
    assert!(!lost.is_empty(), "round robin gave it some");
    drop(clients);

    b.die();
    let dead = statuses(proxy, 10);
    assert!(dead.iter().all(|status| [502, 503].contains(status)), "none lives: {dead:?}");
    a.come_back();
    b.come_back();
    let failed = until(proxy, || a.answered() > 4 && b.answered() > 4);
    assert!(failed.iter().all(|status| [502, 503].contains(status)), "{failed:?}");
    assert_eq!(statuses(proxy, 40), [200; 40], "both are back");
    subject.stop();
    a.die();
    b.die();
}

#[test]
fn only_what_cannot_be_repeated_fails_when_upstreams_die() {
    for kind in Kind::all() {
        if matches!(kind, Kind::Within(_)) {
            live_and_die(&kind);
        }
    }
}

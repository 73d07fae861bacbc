//! A simulated world with one proxy in it, scripted clients in front and a scripted upstream
//! behind.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;

use plimsoll_io::sim::{Peer, PeerActions, PeerConn, SimOptions};
use plimsoll_io::{Driver as _, DriverOptions, OsError, SimDriver, SocketId, SocketOptions, Spin};
use plimsoll_proto::http1::{Limits, RequestDecoder, RequestEvent};
use plimsoll_proto::tls::{ServerConfig, Tls};
use plimsoll_server::proxy::{ProxyCounters, ProxyWorker, Rules, Upstream};

use crate::world::{Act, MS, S, Seen, World, clients_of};

/// What an upstream does.
#[derive(Debug, Clone)]
pub(crate) enum Do {
    /// Sends, this long after the request.
    Say(u64, Vec<u8>),
    Close(u64),
    Reset(u64),
}

/// `HTTP/1.1 200 OK` with a body.
pub(crate) fn ok(body: &str) -> Vec<Do> {
    vec![say(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))]
}

pub(crate) fn say(text: impl Into<Vec<u8>>) -> Do {
    Do::Say(0, text.into())
}

/// What the upstreams saw.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) connections: usize,
    /// All that came on each connection, decrypted if need be.
    pub(crate) bytes: Vec<Vec<u8>>,
    /// When each whole request was there.
    pub(crate) requests_ns: Vec<u64>,
}

impl Log {
    pub(crate) fn text(&self, connection: usize) -> String {
        String::from_utf8_lossy(&self.bytes[connection]).into_owned()
    }
}

type Script = Box<dyn FnMut(usize, &str) -> Vec<Do>>;

/// An upstream that asks its script, by the number of the request and its head, what to do at the
/// end of a request; or at the end of its head, if the target starts with `/early`.
struct Behind {
    script: Script,
    log: Rc<RefCell<Log>>,
    open: BTreeMap<PeerConn, Reading>,
    requests: usize,
    tls: Option<ServerConfig>,
}

struct Reading {
    number: usize,
    decoder: RequestDecoder,
    head: String,
    tls: Option<Tls>,
}

impl Reading {
    /// Decrypts what came, and answers it as far as TLS has to.
    fn open(&mut self, bytes: &[u8], out: &mut PeerActions) -> Vec<u8> {
        let Some(tls) = &mut self.tls else { return bytes.to_vec() };
        let (mut plain, mut sealed) = (Vec::new(), Vec::new());
        tls.receive(bytes, &mut plain, &mut sealed).expect("the proxy speaks good TLS");
        out.send(0, sealed);
        plain
    }

    /// Encrypts outgoing bytes; a goodbye goes along with the bytes before it.
    fn seal(&mut self, actions: Vec<Do>) -> Vec<Do> {
        let Some(tls) = &mut self.tls else { return actions };
        let mut sealed: Vec<Do> = Vec::new();
        for action in actions {
            let mut out = Vec::new();
            match (action, sealed.last_mut()) {
                (Do::Say(after_ns, bytes), _) => {
                    tls.send(&bytes, &mut out).expect("it is open");
                    sealed.push(Do::Say(after_ns, out));
                }
                (Do::Close(after_ns), Some(Do::Say(said_ns, said))) if *said_ns == after_ns => {
                    tls.close(said);
                    sealed.push(Do::Close(after_ns));
                }
                (action, _) => sealed.push(action),
            }
        }
        sealed
    }
}

impl Peer for Behind {
    fn connected(&mut self, _now_ns: u64, conn: PeerConn, _out: &mut PeerActions) {
        let mut log = self.log.borrow_mut();
        let number = log.connections;
        log.connections += 1;
        log.bytes.push(Vec::new());
        let decoder = RequestDecoder::new(Limits::default());
        let tls = self.tls.as_ref().map(|config| Tls::server(config).expect("a server"));
        self.open.insert(conn, Reading { number, decoder, head: String::new(), tls });
    }

    fn received(&mut self, now_ns: u64, conn: PeerConn, bytes: &[u8], out: &mut PeerActions) {
        let Some(reading) = self.open.get_mut(&conn) else { return };
        let plain = reading.open(bytes, out);
        let mut bytes = plain.as_slice();
        self.log.borrow_mut().bytes[reading.number].extend_from_slice(bytes);
        while !bytes.is_empty() {
            let decoded = reading.decoder.decode(bytes).expect("the proxy writes good requests");
            let mut is_due = false;
            match decoded.event {
                Some(RequestEvent::Head(head)) => {
                    reading.head = String::from_utf8_lossy(head.head_bytes()).into_owned();
                    is_due = head.target.starts_with("/early");
                }
                Some(RequestEvent::End(_)) => {
                    self.log.borrow_mut().requests_ns.push(now_ns);
                    is_due = !reading.head.contains(" /early");
                }
                _ => {}
            }
            let consumed = decoded.consumed;
            bytes = &bytes[consumed..];
            if is_due {
                let actions = (self.script)(self.requests, &reading.head);
                self.requests += 1;
                for action in reading.seal(actions) {
                    match action {
                        Do::Say(after_ns, bytes) => out.send(after_ns, bytes),
                        Do::Close(after_ns) => out.close(after_ns),
                        Do::Reset(after_ns) => out.reset(after_ns),
                    }
                }
            }
        }
    }

    fn closed(&mut self, _now_ns: u64, conn: PeerConn) {
        self.open.remove(&conn);
    }
}

/// A run: who does what, and for how long.
pub(crate) struct Scene {
    pub(crate) rules: Rules,
    pub(crate) sim: SimOptions,
    /// Why the proxy's connects fail, if it is not that they are refused.
    pub(crate) connect_error: Option<OsError>,
    /// Time, client, and what it does; all connect at the start.
    pub(crate) script: Vec<(u64, usize, Act)>,
    pub(crate) until_ns: u64,
    pub(crate) stop_ns: Option<u64>,
    /// How the upstreams speak TLS, if they do.
    pub(crate) tls: Option<ServerConfig>,
}

/// What came of a run.
pub(crate) struct Outcome {
    pub(crate) clients: Vec<Seen>,
    pub(crate) counters: ProxyCounters,
    pub(crate) log: Log,
    pub(crate) open: u32,
    pub(crate) finished: bool,
    pub(crate) ended_ns: u64,
}

/// Rules that leave heads as they are, for a number of upstreams called `u0`, `u1` and so on.
pub(crate) fn bare(upstreams: usize) -> Rules {
    let upstream = |number: usize| Upstream {
        authority: format!("u{number}"),
        ..SocketAddr::from(([127, 0, 0, 1], 9000 + number as u16)).into()
    };
    let mut rules = Rules::to((0..upstreams).map(upstream).collect());
    rules.forwarded = plimsoll_server::proxy::Forwarded::Off;
    rules.via = false;
    rules
}

/// Whether each request that was admitted came to one end.
fn is_balanced(it: &ProxyCounters) -> bool {
    let answered = it.bodies_refused + it.queue_failures + it.bad_gateway + it.gateway_timeouts;
    it.requests == it.completed + it.cut_off + it.abandoned + it.drained + answered
}

impl Scene {
    /// Clients that send, each at its time in ms.
    pub(crate) fn of(script: &[(u64, usize, &str)]) -> Self {
        let act = |&(at_ms, client, text): &(u64, usize, &str)| {
            (at_ms * MS, client, Act::Send(text.as_bytes().to_vec()))
        };
        Self {
            rules: bare(1),
            sim: SimOptions::default(),
            connect_error: None,
            script: script.iter().map(act).collect(),
            until_ns: 3 * S,
            stop_ns: None,
            tls: None,
        }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        change(&mut self.rules);
        self
    }

    pub(crate) fn acts(mut self, acts: impl IntoIterator<Item = (u64, usize, Act)>) -> Self {
        self.script.extend(acts);
        self
    }

    pub(crate) fn until(mut self, until_ns: u64) -> Self {
        self.until_ns = until_ns;
        self
    }

    pub(crate) fn run(self, script: impl FnMut(usize, &str) -> Vec<Do> + 'static) -> Outcome {
        let clients = clients_of(&self.script) as u32;
        let clients_max = 64;
        let first_client = 1 + self.rules.upstream_tokens();
        let options = DriverOptions {
            sockets: first_client + clients + clients_max,
            reserved: first_client + clients,
            receivers: 64,
            receive_buffer_bytes: 16 * 1024,
            long_lived: true,
            spin: Spin::Off,
            receive_timestamps: false,
            socket: SocketOptions::default(),
        };
        let log = Rc::new(RefCell::new(Log::default()));
        let behind = Behind {
            script: Box::new(script),
            log: Rc::clone(&log),
            open: BTreeMap::new(),
            requests: 0,
            tls: self.tls,
        };
        let sim = SimDriver::new(&options, self.sim, Some(Box::new(behind)));
        let mut world = World::new(sim, first_client, self.script, None);
        world.connect_error = self.connect_error;
        let mut proxy = ProxyWorker::new(world, self.rules, 1, clients + clients_max);
        let at = proxy.listen(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free address");
        for client in 0..clients {
            proxy.driver_mut().connect(SocketId(first_client + client), &at.into());
        }
        let mut now_ns = 0;
        while now_ns < self.until_ns && !proxy.is_finished() {
            let next_ns = self.stop_ns.filter(|stop_ns| now_ns < *stop_ns);
            now_ns = proxy.step(next_ns.unwrap_or(self.until_ns)).expect("the world goes on");
            if self.stop_ns.is_some_and(|stop_ns| now_ns >= stop_ns) {
                proxy.stop(now_ns);
            }
        }
        let ended_ns = now_ns;
        // What was sent last is to arrive.
        let driver = proxy.driver_mut();
        while now_ns < ended_ns + MS {
            now_ns = driver.wait(ended_ns + MS).expect("the world goes on");
            while driver.next().is_some() {}
        }
        let (counters, open, finished) = (proxy.counters(), proxy.clients(), proxy.is_finished());
        // Nothing is under way once there is no client.
        assert!(
            open > 0 || is_balanced(&counters),
            "a request is counted twice or never: {counters:?}"
        );
        let clients = proxy.driver_mut().take_seen();
        drop(proxy);
        let log = Rc::try_unwrap(log).expect("the world is gone").into_inner();
        Outcome { clients, counters, log, open, finished, ended_ns }
    }
}

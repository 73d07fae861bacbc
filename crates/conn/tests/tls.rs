//! Connections on which TLS decides between HTTP/1.1 and HTTP/2, over real sockets: what a server
//! chooses is spoken, and what a connection keeps while it is idle is bounded. A user of a run has
//! connections of its own, so this is what a thousand users cost.
//!
//! The servers are threads that speak whatever TLS has agreed on.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use allocation_counter::measure;
use plimsoll_conn::{
    Connection, ExchangeId, Message, Negotiated, NegotiatedSettings, Progress, Scratch, Setup,
    State, TlsSetup,
};
use plimsoll_io::select::{DriverChoice, Opened, open};
use plimsoll_io::{Close, Driver, DriverOptions, Event, Route, SocketId, SocketOptions, Spin};
use plimsoll_proto::http2::{Body, Server, ServerEvent, ServerOptions};
use plimsoll_proto::tls;
use rcgen::{CertificateParams, KeyPair};

const REQUEST: &[u8] = b"POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc";
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const S: u64 = 1_000_000_000;

fn identity() -> tls::Identity {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate");
    let (chain, key) = (certificate.pem().into_bytes(), key.serialize_pem().into_bytes());
    tls::Identity { chain, key }
}

/// A server that knows these protocols, and the certificate to trust.
fn server(alpn: &[&str]) -> (SocketAddr, Vec<u8>) {
    let identity = identity();
    let chain = identity.chain.clone();
    let alpn = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let versions = tls::Versions::Both;
    let options = tls::ServerOptions { identity, client_roots: None, alpn, versions, resume: true };
    let config = tls::ServerConfig::new(&options).expect("usable options");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = config.clone();
            thread::spawn(move || answer(stream, &config));
        }
    });
    (address, chain)
}

/// Answers each request on a connection. `None` when the client is gone.
fn answer(mut stream: TcpStream, config: &tls::ServerConfig) -> Option<()> {
    let mut tls = tls::Tls::server(config).ok()?;
    let mut http2: Option<Box<Server>> = None;
    let (mut buffer, mut plain, mut answer, mut out) = ([0; 16_384], vec![], vec![], vec![]);
    loop {
        let len = stream.read(&mut buffer).ok().filter(|bytes| *bytes > 0)?;
        tls.receive(&buffer[..len], &mut plain, &mut out).ok()?;
        if !tls.is_handshaking() {
            if tls.alpn() == Some(b"h2") {
                let begun = || {
                    let mut server = Box::new(Server::new(ServerOptions::default()));
                    server.begin(&mut answer);
                    server
                };
                answer_http2(http2.get_or_insert_with(begun), &plain, &mut answer)?;
                plain.clear();
            } else if plain.ends_with(b"\r\n\r\nabc") {
                assert_eq!(plain, REQUEST);
                plain.clear();
                answer.extend_from_slice(RESPONSE);
            }
            tls.send(&answer, &mut out).ok()?;
            answer.clear();
        }
        stream.write_all(&out).ok()?;
        out.clear();
    }
}

fn answer_http2(server: &mut Server, mut bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut ended = Vec::new();
    loop {
        let decoded = server.receive(bytes, out).ok()?;
        bytes = &bytes[decoded.consumed..];
        match decoded.event {
            None => break,
            Some(ServerEvent::End(stream)) => ended.push(stream),
            Some(_) => {}
        }
    }
    for stream in ended {
        server.send_head(stream, false, out, |head| {
            head.status(200);
            head.field("server", b"a test").expect("a sound field");
        });
        server.send(stream, Body::Bytes(b"hello"), true, out);
    }
    Some(())
}

fn setup(chain: &[u8], with_http2: bool) -> Setup {
    let options = tls::ClientOptions {
        verify: tls::Verify::Roots(chain.into()),
        alpn: Negotiated::offered(with_http2),
        ..tls::ClientOptions::default()
    };
    let config = tls::ClientConfig::new(&options).expect("usable options");
    let name = tls::ServerName::parse("localhost").expect("a name");
    Setup { tls: Some(TlsSetup { config, name }), ..Setup::default() }
}

/// Connections of users, with a driver for all of them.
struct Users<D> {
    driver: D,
    scratch: Scratch,
    setup: Setup,
    route: Route,
    connections: Vec<Connection<Negotiated>>,
}

impl<D: Driver> Users<D> {
    /// Opens all that are closed, has each answer a request, and tells of each answer.
    fn ask(&mut self) -> Vec<String> {
        let Self { driver, connections, .. } = self;
        for connection in connections.iter_mut().filter(|it| it.state() == State::Closed) {
            connection.open(driver, &self.route);
        }
        let until_ns = self.driver.clock_ns() + 60 * S;
        let mut bodies = vec![String::new(); self.connections.len()];
        let mut complete = 0;
        let mut asked = vec![false; self.connections.len()];
        while complete < self.connections.len() {
            self.send_where_asked_for(&mut asked);
            self.driver.wait(until_ns).expect("a driver that works");
            assert!(self.driver.clock_ns() < until_ns, "{bodies:?}");
            while let Some((_, event)) = self.driver.next() {
                complete += self.handle(event, &mut bodies);
            }
        }
        bodies
    }

    fn send_where_asked_for(&mut self, asked: &mut [bool]) {
        let Self { driver, scratch, connections, .. } = self;
        for (connection, asked) in connections.iter_mut().zip(asked) {
            if !*asked && connection.room() > 0 {
                let message = Message::Written { bytes: REQUEST, is_head: false };
                let sent = connection.send(driver, ExchangeId(0), &message, scratch);
                assert!(sent.expect("it fits") > 0);
                *asked = true;
            }
        }
    }

    /// Gives how many responses are complete with this event.
    fn handle(&mut self, event: Event, bodies: &mut [String]) -> usize {
        let Self { driver, scratch, setup, route, connections } = self;
        let mut complete = 0;
        match event {
            Event::Connected(socket) => {
                let connection = &mut connections[socket.index()];
                connection.connected(driver, setup, route, false, scratch).expect("a handshake");
            }
            Event::Received(received) => {
                let at = received.socket.index();
                let bytes = driver.bytes(&received);
                let tell = |progress: Progress<'_>| match progress {
                    Progress::Body(_, piece) => bodies[at] += &String::from_utf8_lossy(piece),
                    Progress::Complete(_, response) => {
                        assert_eq!((response.status, response.body_bytes), (200, 5));
                        complete += 1;
                    }
                    _ => {}
                };
                let taken = connections[at].receive(setup, false, scratch, bytes, tell);
                driver.release(received);
                connections[at].flush(driver, scratch);
                taken.expect("a sound response");
            }
            Event::Sent(_) | Event::SentPart(_) | Event::Woken => {}
            event => panic!("{event:?}"),
        }
        complete
    }

    fn close(&mut self) {
        for connection in &mut self.connections {
            assert_eq!(connection.close(&mut self.driver, Close::Graceful).count(), 0);
        }
    }
}

fn users<D: Driver>(driver: D, count: u32, setup: Setup, at: SocketAddr) -> Users<D> {
    let settings = NegotiatedSettings::default();
    let connections = (0..count).map(|number| Connection::new(SocketId(number), &settings));
    let (scratch, route) = (Scratch::new(0), at.into());
    Users { driver, scratch, setup, route, connections: connections.collect() }
}

fn options(sockets: u32) -> DriverOptions {
    DriverOptions {
        sockets,
        reserved: sockets,
        receivers: sockets,
        receive_buffer_bytes: 16_384,
        long_lived: true,
        spin: Spin::Off,
        receive_timestamps: false,
        socket: SocketOptions::default(),
    }
}

#[test]
fn a_connection_speaks_what_the_server_chooses() {
    for (spoken, with_http2, want) in [
        (&["h2", "http/1.1"][..], true, "h2"),
        (&["http/1.1"], true, "http/1.1"),
        (&[], true, "http/1.1"),
        (&["h2", "http/1.1"], false, "http/1.1"),
    ] {
        let (address, chain) = server(spoken);
        let setup = setup(&chain, with_http2);
        for choice in [DriverChoice::Uring, DriverChoice::Epoll] {
            match open(choice, &options(1)) {
                Ok((Opened::Uring(driver), _)) => check(driver, &setup, address, want),
                Ok((Opened::Epoll(driver), _)) => check(driver, &setup, address, want),
                Err(error) => assert_ne!(choice, DriverChoice::Epoll, "{error}"),
            }
        }
    }
}

fn check<D: Driver>(driver: D, setup: &Setup, address: SocketAddr, want: &str) {
    let mut users = users(driver, 1, setup.clone(), address);
    for is_last in [false, false, true] {
        assert_eq!(users.ask(), ["hello"], "{want}");
        assert_eq!(users.ask(), ["hello"], "{want}");
        assert_eq!(users.connections[0].protocol_name(), want);
        if !is_last {
            users.close();
        }
    }
}

/// A session of TLS takes some 7 kB, and HTTP/2 twice the 4 kB of the table for the server's fields
/// besides.
#[test]
fn idle_connections_are_small() {
    const COUNT: u32 = 50;
    for (protocol, bytes_max) in [("http/1.1", 10_000), ("h2", 24_000)] {
        let (address, chain) = server(&[protocol]);
        let Opened::Epoll(driver) =
            open(DriverChoice::Epoll, &options(COUNT)).expect("epoll is everywhere").0
        else {
            unreachable!("chosen");
        };
        let mut users = users(driver, 0, setup(&chain, true), address);
        let settings = NegotiatedSettings::default();
        let mut open_half = || {
            let from = users.connections.len() as u32;
            for number in from..from + COUNT / 2 {
                users.connections.push(Connection::new(SocketId(number), &settings));
            }
            users.ask();
        };
        // What the first half leaves to be used again is not a connection's.
        open_half();
        let each = measure(open_half).bytes_current / i64::from(COUNT / 2);
        assert!(each <= bytes_max, "{protocol}: {each} bytes for each connection");
    }
}

//! The proxy over real loopback, on every driver this machine has: TLS on both sides, upstreams
//! that are not there, and large bodies.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use plimsoll_io::{DriverChoice, DriverKind};
use plimsoll_proto::tls::{ClientConfig, ClientOptions, ServerName, Tls, Verify};
use plimsoll_server::proxy::{ProxyCounters, ProxyOptions, RunningProxy, Upstream, UpstreamTls};
use plimsoll_server::{
    Identity, RunningServer, ServeError, ServeOptions, ServerOptions, self_signed, start,
    tls_config,
};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const HELLO: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\nhello world";

/// Runs a test on a proxy of each driver, io_uring may be missing; gives what each did.
fn on_each_driver(options: &ProxyOptions, test: impl Fn(&RunningProxy)) -> Vec<ProxyCounters> {
    let mut counters = Vec::new();
    for driver in [DriverChoice::Epoll, DriverChoice::Auto] {
        let options = ProxyOptions { driver, ..options.clone() };
        let running = start(options).expect("a proxy");
        if driver == DriverChoice::Auto && running.driver().kind == DriverKind::Epoll {
            continue;
        }
        test(&running);
        assert!(running.is_running());
        let report = running.stop();
        assert!(report.failure.is_none(), "{:?}", report.failure);
        counters.push(report.counters);
    }
    counters
}

fn serve(identity: Option<Identity>) -> RunningServer {
    let tls = identity.map(|identity| {
        tls_config(identity, None, plimsoll_server::HTTP1).expect("a configuration")
    });
    let server = ServerOptions { tls, ..ServerOptions::default() };
    start(ServeOptions { server, ..ServeOptions::default() }).expect("a server")
}

fn address(running: &RunningServer) -> SocketAddr {
    running.addresses()[0].1
}

fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    stream.set_write_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    stream
}

fn ask(stream: &mut TcpStream, request: &str, answer_len: usize) -> String {
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = vec![0; answer_len];
    stream.read_exact(&mut answer).expect("an answer");
    String::from_utf8(answer).expect("text")
}

/// A port that nobody listens on.
fn dead() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("bound")
}

/// Asks over TLS, and reads an answer of `answer_len` bytes.
fn ask_secure(to: SocketAddr, config: &ClientConfig, request: &str, answer_len: usize) -> String {
    let mut stream = connect(to);
    let mut out = Vec::new();
    let name = ServerName::parse("localhost").expect("a name");
    let mut tls = Tls::client(config, &name, true, &mut out).expect("a client");
    let (mut plain, mut buffer, mut is_asked) = (Vec::new(), [0; 4096], false);
    while plain.len() < answer_len {
        if !is_asked && !tls.is_handshaking() {
            tls.send(request.as_bytes(), &mut out).expect("open");
            is_asked = true;
        }
        stream.write_all(&out).expect("sent");
        out.clear();
        if is_asked || tls.is_handshaking() {
            let len = stream.read(&mut buffer).expect("bytes");
            assert!(len > 0, "closed after {:?}", String::from_utf8_lossy(&plain));
            tls.receive(&buffer[..len], &mut plain, &mut out).expect("TLS");
        }
    }
    String::from_utf8(plain).expect("text")
}

#[test]
fn tls_on_either_side_or_both() {
    let identity = self_signed().expect("a certificate");
    let options = ClientOptions {
        verify: Verify::Roots(identity.chain.as_slice().into()),
        ..ClientOptions::default()
    };
    let config = ClientConfig::new(&options).expect("a configuration");
    for (front, behind) in [(true, false), (false, true), (true, true)] {
        let server = serve(behind.then(|| identity.clone()));
        let mut upstream = Upstream::from(address(&server));
        let name = ServerName::parse("localhost").expect("a name");
        upstream.tls = behind.then(|| UpstreamTls { config: config.clone(), name });
        let mut options = ProxyOptions::to(vec![upstream]);
        options.rules.tls = front.then(|| {
            tls_config(identity.clone(), None, plimsoll_server::HTTP1).expect("a configuration")
        });
        let counters = on_each_driver(&options, |running| {
            let to = running.addresses()[0];
            for _ in 0..3 {
                let answer = match front {
                    true => ask_secure(to, &config, GET, HELLO.len()),
                    false => ask(&mut connect(to), GET, HELLO.len()),
                };
                assert_eq!(answer, HELLO);
            }
        });
        for counters in counters {
            assert_eq!((counters.completed, counters.tls_failures), (3, 0));
            assert_eq!((counters.upstream_connections, counters.reused), (1, 2));
        }
    }
}

#[test]
fn an_upstream_nobody_believes_is_a_bad_gateway() {
    let server = serve(Some(self_signed().expect("a certificate")));
    let mut upstream = Upstream::from(address(&server));
    let config = ClientConfig::new(&ClientOptions::default()).expect("a configuration");
    let name = ServerName::parse("localhost").expect("a name");
    upstream.tls = Some(UpstreamTls { config, name });
    let counters = on_each_driver(&ProxyOptions::to(vec![upstream]), |running| {
        let answer = ask(&mut connect(running.addresses()[0]), GET, 12);
        assert_eq!(answer, "HTTP/1.1 502");
    });
    assert!(counters.iter().all(|it| (it.bad_gateway, it.connect_failures) == (1, 1)));
}

#[test]
fn a_connect_that_fails_goes_to_the_next_upstream_whatever_is_asked() {
    let server = serve(None);
    let upstreams = vec![dead().into(), address(&server).into(), dead().into()];
    let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody";
    let mut options = ProxyOptions::to(upstreams);
    options.rules.health.failures = 2;
    options.rules.health.aside_ns = 3_600_000_000_000;
    let counters = on_each_driver(&options, |running| {
        let mut stream = connect(running.addresses()[0]);
        for _ in 0..10 {
            assert_eq!(ask(&mut stream, post, HELLO.len()), HELLO);
        }
    });
    for counters in counters {
        assert_eq!((counters.completed, counters.put_aside), (10, 2));
        assert_eq!(counters.connect_failures, 4, "two each, then they are left alone");
    }
    let counters = on_each_driver(&ProxyOptions::to(vec![dead().into(); 3]), |running| {
        assert_eq!(ask(&mut connect(running.addresses()[0]), GET, 12), "HTTP/1.1 502");
    });
    assert!(counters.iter().all(|it| (it.connect_failures, it.bad_gateway) == (3, 1)));
}

#[test]
fn large_bodies_both_ways_at_once() {
    let server = serve(None);
    let body: String = (0..400_000).map(|number| format!("{number:07}\n")).collect();
    let request =
        format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let options = ProxyOptions::to(vec![address(&server).into()]);
    let counters = on_each_driver(&options, |running| {
        let to = running.addresses()[0];
        let clients: Vec<_> = (0..4)
            .map(|_| {
                let (request, body) = (request.clone(), body.clone());
                std::thread::spawn(move || {
                    let mut stream = connect(to);
                    for _ in 0..3 {
                        let mut writer = stream.try_clone().expect("a second handle");
                        let request = request.clone();
                        let sending = std::thread::spawn(move || {
                            writer.write_all(request.as_bytes()).expect("sent");
                        });
                        let mut answer = Vec::new();
                        while !answer.ends_with(body.as_bytes()) {
                            let mut piece = [0; 65_536];
                            let len = stream.read(&mut piece).expect("bytes");
                            assert!(len > 0, "closed after {} bytes", answer.len());
                            answer.extend_from_slice(&piece[..len]);
                            assert!(answer.len() < body.len() + 1000, "more than was sent");
                        }
                        sending.join().expect("sent");
                    }
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().expect("all is well"));
    });
    assert!(counters.iter().all(|it| it.completed == 12));
}

#[test]
fn workers_share_a_port_and_options_must_make_sense() {
    let server = serve(None);
    let mut options = ProxyOptions::to(vec![address(&server).into()]);
    options.workers = 2;
    let counters = on_each_driver(&options, |running| {
        let mut streams: Vec<_> = (0..20).map(|_| connect(running.addresses()[0])).collect();
        for stream in &mut streams {
            assert_eq!(ask(stream, GET, HELLO.len()), HELLO);
        }
    });
    assert!(counters.iter().all(|it| it.completed == 20));

    let nowhere = ProxyOptions::to(Vec::new());
    let no_workers = ProxyOptions { workers: 0, ..options.clone() };
    let many = ProxyOptions::to(vec![dead().into(); 65]);
    let deaf = ProxyOptions { listen: Vec::new(), ..options.clone() };
    let mut starved = options.clone();
    starved.rules.limits.upstream_connections = 0;
    let mut split = options;
    split.rules.upstreams[0].authority = "a\r\nX: y".to_owned();
    for options in [nowhere, no_workers, many, deaf, starved, split] {
        let refused = start(options).map(|_| ()).expect_err("it makes no sense");
        assert!(matches!(refused, ServeError::Options(_)), "{refused}");
    }
}

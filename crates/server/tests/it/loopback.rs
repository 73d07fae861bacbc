//! The servers over real loopback, on every driver this machine has.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use plimsoll_io::{DriverChoice, DriverKind};
use plimsoll_server::{Role, RunningServer, ServeError, ServeOptions, start};

use crate::routes::body;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const HELLO: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\nhello world";

/// Runs a test on a server of each driver; io_uring may be missing.
fn on_each_driver(test: impl Fn(&RunningServer, SocketAddr)) {
    for driver in [DriverChoice::Epoll, DriverChoice::Auto] {
        let running = start(ServeOptions { driver, ..ServeOptions::default() }).expect("a server");
        if driver == DriverChoice::Auto && running.driver().kind == DriverKind::Epoll {
            continue;
        }
        test(&running, running.addresses()[0].1);
        assert!(running.is_running());
        let report = running.stop();
        assert!(report.failure.is_none(), "{:?}", report.failure);
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    stream.set_write_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    stream
}

fn ask(stream: &mut TcpStream, request: &str, answer_len: usize) -> String {
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = vec![0; answer_len];
    stream.read_exact(&mut answer).expect("an answer");
    String::from_utf8(answer).expect("text")
}

fn to_end(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    assert!(read.is_ok(), "no orderly end after {} bytes: {read:?}", bytes.len());
    bytes
}

#[test]
fn sixty_four_at_once() {
    on_each_driver(|running, address| {
        let mut streams: Vec<TcpStream> = (0..64).map(|_| connect(address)).collect();
        for _ in 0..20 {
            streams.iter_mut().for_each(|stream| stream.write_all(GET.as_bytes()).expect("sent"));
            for stream in &mut streams {
                assert_eq!(ask(stream, "", HELLO.len()), HELLO);
            }
        }
        assert!(running.requests() <= 64 * 20);
    });
}

#[test]
fn what_was_served_is_counted() {
    let running = start(ServeOptions::default()).expect("a server");
    let mut stream = connect(running.addresses()[0].1);
    for _ in 0..100 {
        assert_eq!(ask(&mut stream, GET, HELLO.len()), HELLO);
    }
    let report = running.stop();
    assert!(report.failure.is_none());
    assert_eq!((report.counters.connections, report.counters.requests), (1, 100));
    assert_eq!(report.counters.responses, [0, 100, 0, 0, 0]);
    assert_eq!(report.counters.bytes_sent, 100 * HELLO.len() as u64);
    assert_eq!(to_end(stream), b"");
}

#[test]
fn large_answers_to_a_slow_reader() {
    on_each_driver(|_, address| {
        for route in ["bytes", "chunked"] {
            let mut stream = connect(address);
            let request =
                format!("GET /{route}/20M HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            let first = ask(&mut stream, &request, 1);
            // By now the server has long filled every queue there is.
            ask(&mut connect(address), GET, HELLO.len());
            let bytes = [first.into_bytes(), to_end(stream)].concat();
            assert_eq!(body(&bytes).len(), 20_000_000, "{route}");
        }
    });
}

#[test]
fn a_large_echo() {
    on_each_driver(|_, address| {
        let sent: Vec<u8> = (0..16u32 << 20).map(|i| (i / 5 % 253) as u8).collect();
        let mut stream = connect(address);
        let head = format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n", sent.len());
        let head = head + "Connection: close\r\nExpect: 100-continue\r\n\r\n";
        assert_eq!(ask(&mut stream, &head, 25), "HTTP/1.1 100 Continue\r\n\r\n");
        stream.write_all(&sent).expect("sent");
        assert!(body(&to_end(stream)) == sent);
    });
}

#[test]
fn half_closed_connections_are_answered() {
    on_each_driver(|_, address| {
        let delayed = "GET /delay/20ms HTTP/1.1\r\nHost: a\r\n\r\n";
        for (request, answers) in [(GET, 1), (&*GET.repeat(3), 3), (&*(delayed.repeat(2) + GET), 3)]
        {
            let mut stream = connect(address);
            stream.write_all(request.as_bytes()).expect("sent");
            stream.shutdown(Shutdown::Write).expect("half-closed");
            assert_eq!(String::from_utf8(to_end(stream)).expect("text"), HELLO.repeat(answers));
        }
        let mut stream = connect(address);
        stream.write_all(b"GET / HTTP/1.1\r\nHo").expect("sent");
        stream.shutdown(Shutdown::Write).expect("half-closed");
        assert_eq!(to_end(stream), b"", "half a request has no answer");
    });
}

#[test]
fn a_client_that_never_reads_is_bounded_and_harms_nobody() {
    on_each_driver(|_, address| {
        let mut stream = connect(address);
        let request = "GET /bytes/16k HTTP/1.1\r\nHost: a\r\n\r\n".repeat(100);
        let error = loop {
            if let Err(error) = stream.write_all(request.as_bytes()) {
                break error;
            }
        };
        let reset = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe].contains(&error.kind());
        assert!(reset, "{error}");
        assert_eq!(ask(&mut connect(address), GET, HELLO.len()), HELLO);
    });
}

#[test]
fn clients_that_vanish_amid_an_answer_are_forgotten() {
    on_each_driver(|_, address| {
        for _ in 0..32 {
            let mut stream = connect(address);
            ask(&mut stream, "GET /bytes/1G HTTP/1.1\r\nHost: a\r\n\r\n", 1000);
        }
        assert_eq!(ask(&mut connect(address), GET, HELLO.len()), HELLO);
        // The server stops at once only if no answer is under way any more; `stop` checks.
    });
}

#[test]
fn the_address_is_the_clients() {
    on_each_driver(|_, address| {
        let mut stream = connect(address);
        let mine = stream.local_addr().expect("an address").to_string() + "\n";
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ";
        let want = format!("{head}{}\r\n\r\n{mine}", mine.len());
        let answer = ask(&mut stream, "GET /ip HTTP/1.1\r\nHost: a\r\n\r\n", want.len());
        assert_eq!(answer, want);
    });
}

#[test]
fn three_ports_in_pipys_shape_by_several_workers() {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let roles = vec![(Role::Hello, any), (Role::Echo, any), (Role::Address, any)];
    let options = ServeOptions { roles, workers: 3, ..ServeOptions::default() };
    let running = start(options).expect("servers");
    let [hello, echo, address] = running.addresses() else { panic!("three addresses") };
    assert_eq!((hello.0, echo.0, address.0), (Role::Hello, Role::Echo, Role::Address));
    let post = "POST /any HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc";
    for _ in 0..30 {
        let answer = |to: SocketAddr| {
            let mut stream = connect(to);
            stream.write_all(post.as_bytes()).expect("sent");
            let from = stream.local_addr().expect("an address");
            (body(&to_end(stream)), from)
        };
        assert_eq!(answer(hello.1).0, b"hello world");
        assert_eq!(answer(echo.1).0, b"abc");
        let (line, from) = answer(address.1);
        assert_eq!(String::from_utf8(line).expect("text"), format!("{from}\n"));
    }
    assert_eq!(running.stop().counters.requests, 90);
}

#[test]
fn stopping_under_load_answers_or_closes_everything() {
    for driver in [DriverChoice::Epoll, DriverChoice::Auto] {
        let options = ServeOptions { driver, workers: 2, ..ServeOptions::default() };
        let running = start(options).expect("servers");
        let address = running.addresses()[0].1;
        let load = std::thread::spawn(move || {
            let mut streams: Vec<TcpStream> = (0..32).map(|_| connect(address)).collect();
            let mut answered = 0u64;
            let mut answer = vec![0; HELLO.len()];
            while !streams.is_empty() {
                streams.retain_mut(|stream| stream.write_all(GET.as_bytes()).is_ok());
                streams.retain_mut(|stream| {
                    let whole =
                        stream.read_exact(&mut answer).is_ok() && answer == HELLO.as_bytes();
                    answered += u64::from(whole);
                    whole
                });
            }
            answered
        });
        while running.requests() < 2_000 {
            std::thread::yield_now();
        }
        let report = running.stop();
        let answered = load.join().expect("the load ends");
        assert!(report.failure.is_none());
        assert!(answered >= 2_000 && report.counters.requests >= answered);
    }
}

#[test]
fn a_port_in_use_is_named() {
    let running = start(ServeOptions::default()).expect("a server");
    let taken = running.addresses()[0].1;
    for workers in [1, 2] {
        let roles = vec![(Role::All, taken)];
        let error = start(ServeOptions { roles, workers, ..ServeOptions::default() }).err();
        let text = error.expect("the port is in use").to_string();
        let says = "Address already in use: end what listens there, or take another address";
        assert_eq!(text, format!("cannot listen on {taken}: {says}"));
    }
    let shared = start(ServeOptions { workers: 2, ..ServeOptions::default() }).expect("servers");
    let taken = shared.addresses()[0].1;
    let roles = vec![(Role::All, taken)];
    let again = start(ServeOptions { roles, workers: 2, ..ServeOptions::default() });
    assert!(matches!(again, Err(ServeError::Listen { .. })), "nor is one shared unasked");
}

#[test]
fn senseless_options_are_refused() {
    let good = ServeOptions::default;
    let cases = [
        (ServeOptions { workers: 0, ..good() }, "at least one worker is needed"),
        (ServeOptions { connections_max: 0, ..good() }, "at least one connection must be allowed"),
        (ServeOptions { roles: vec![], ..good() }, "there is no address to serve"),
        (ServeOptions { pin: Some(vec![]), ..good() }, "there is no CPU to pin to"),
    ];
    for (options, want) in cases {
        assert_eq!(start(options).err().expect(want).to_string(), want);
    }
    let error = start(ServeOptions { pin: Some(vec![1 << 20]), ..good() }).err();
    let text = error.expect("there is no such CPU").to_string();
    assert_eq!(text, "cannot pin a worker to its CPU: Invalid argument");
}

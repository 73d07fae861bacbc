//! Every mode, seen by a plain blocking client.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

use super::*;

mod calls;
mod http2;
mod tls;
mod websocket;

struct Running {
    address: SocketAddr,
    stop: UnixStream,
    thread: JoinHandle<Log>,
}

fn start(mode: Mode) -> Running {
    let oracle = Oracle::bind("127.0.0.1:0".parse().unwrap(), mode).unwrap();
    let address = oracle.address().unwrap();
    let (stop, stopped) = UnixStream::pair().unwrap();
    let thread =
        std::thread::spawn(move || oracle.serve(stopped.as_fd(), &mut std::io::sink()).unwrap());
    Running { address, stop, thread }
}

impl Running {
    fn stop(self) -> Log {
        drop(self.stop);
        self.thread.join().unwrap()
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).unwrap()
    }
}

fn ask(stream: &mut impl std::io::Write, path: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
}

/// The answer up to this many bytes, or to the end of the stream.
fn get(stream: &mut (impl std::io::Read + std::io::Write), path: &str, bytes: usize) -> String {
    ask(stream, path);
    let mut answer = vec![0; bytes];
    let mut have = 0;
    while have < bytes {
        match stream.read(&mut answer[have..]) {
            Ok(0) => break,
            Ok(n) => have += n,
            Err(error) => return format!("{:?}", error.kind()),
        }
    }
    String::from_utf8_lossy(&answer[..have]).into_owned()
}

const PLAIN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nxxxxxxxxxxxxx";

#[test]
fn answers_are_delayed_and_logged() {
    let oracle = start(Mode::delay_ns(2_000_000));
    let mut stream = oracle.connect();
    let port = stream.local_addr().unwrap().port();
    for _ in 0..3 {
        assert_eq!(get(&mut stream, "/a", PLAIN.len()), PLAIN);
    }
    drop(stream);
    let log = oracle.stop();
    assert_eq!((log.entries.len(), log.answered(), log.connections.len()), (3, 3, 1));
    assert!(log.service_s().iter().all(|time| *time >= 0.002), "{:?}", log.service_s());
    let connection = log.connections[0];
    assert_eq!((connection.port, connection.requests, connection.address), (port, 3, 1));
    let entry = log.entries[0];
    assert_eq!((entry.status, entry.reads, entry.bytes_out), (200, 1, PLAIN.len() as u32));
    assert_eq!(entry.bytes_in, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n".len() as u32);
}

/// Without the word of the server, a client of HTTP/1.0 waits for the connection to be closed.
#[test]
fn an_old_client_that_asks_to_stay_is_told_that_it_may() {
    let oracle = start(Mode::default());
    let mut stream = oracle.connect();
    for _ in 0..2 {
        stream.write_all(b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").unwrap();
        let want = PLAIN.replace("\r\n\r\n", "\r\nConnection: keep-alive\r\n\r\n");
        let mut answer = vec![0; want.len()];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(String::from_utf8_lossy(&answer), want);
    }
    drop(stream);
    oracle.stop();
}

#[test]
fn a_mix_has_errors_hangs_and_resets() {
    let mode = Mode::mixed(&[
        (1, 0, Act::Status(200)),
        (1, 0, Act::Status(503)),
        (1, 0, Act::Reset),
        (1, 0, Act::Hang),
    ]);
    let oracle = start(mode);
    let mut seen = Vec::new();
    for _ in 0..4 {
        let mut stream = oracle.connect();
        stream.set_read_timeout(Some(std::time::Duration::from_millis(300))).unwrap();
        seen.push(get(&mut stream, "/", 12));
    }
    seen.sort();
    assert_eq!(seen, ["ConnectionReset", "HTTP/1.1 200", "HTTP/1.1 503", "WouldBlock"]);
    let log = oracle.stop();
    assert_eq!((log.entries.len(), log.answered()), (4, 2));
    assert_eq!(log.connections.iter().filter(|c| c.end == End::Oracle).count(), 1);
}

#[test]
fn a_connection_hangs_after_its_answers() {
    let oracle = start(Mode { hang_after: 1, ..Mode::default() });
    for _ in 0..2 {
        let mut stream = oracle.connect();
        assert_eq!(get(&mut stream, "/", PLAIN.len()), PLAIN);
        stream.set_read_timeout(Some(std::time::Duration::from_millis(50))).unwrap();
        assert_eq!(get(&mut stream, "/", PLAIN.len()), "WouldBlock");
    }
    let log = oracle.stop();
    assert_eq!((log.entries.len(), log.answered()), (4, 2));
}

#[test]
fn a_body_belongs_to_its_request() {
    let oracle = start(Mode::default());
    let mut stream = oracle.connect();
    let head = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n";
    stream.write_all(format!("{head}a=b").as_bytes()).unwrap();
    let mut answer = vec![0; PLAIN.len()];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(get(&mut stream, "/b", PLAIN.len()), PLAIN);
    let log = oracle.stop();
    assert_eq!(
        log.entries.iter().map(|entry| entry.path).collect::<Vec<_>>(),
        [hash(b"/a"), hash(b"/b")]
    );
    assert_eq!(log.entries[0].bytes_in as usize, head.len() + 3);
}

#[test]
fn a_stall_answers_at_its_end_and_reads_meanwhile() {
    let stall = TimeSpan { from_ns: 0, for_ns: 30_000_000 };
    let oracle = start(Mode { stall: Some(stall), ..Mode::default() });
    let mut streams = [oracle.connect(), oracle.connect()];
    ask(&mut streams[0], "/");
    ask(&mut streams[1], "/");
    for stream in &mut streams {
        let mut answer = vec![0; PLAIN.len()];
        stream.read_exact(&mut answer).unwrap();
    }
    let log = oracle.stop();
    let first_ns = log.entries[0].received_ns;
    for entry in &log.entries {
        assert!(entry.received_ns < first_ns + stall.for_ns, "read during the stall");
        assert!(entry.sent_ns >= first_ns + stall.for_ns, "answered after it");
    }
}

#[test]
fn connections_are_closed_when_the_mode_says() {
    let oracle = start(Mode { close_every: 2, ..Mode::default() });
    let mut stream = oracle.connect();
    assert_eq!(get(&mut stream, "/", PLAIN.len()), PLAIN);
    let last = get(&mut stream, "/", 1000);
    assert!(last.contains("Connection: close\r\n") && last.ends_with("\r\n\r\nxxxxxxxxxxxxx"));
    assert_eq!(oracle.stop().connections[0].end, End::Oracle);
}

#[test]
fn shapes() {
    let oracle = start(Mode::default());
    for (shape, end, closes) in [
        ("chunked", "0\r\nTrailer: 1\r\n\r\n", false),
        ("continue", "\r\n\r\nhello", false),
        ("hints", "\r\n\r\nhello", false),
        ("204", "No Content\r\n\r\n", false),
        ("304", "Content-Length: 100\r\n\r\n", false),
        ("until-close", "\r\n\r\nhello", true),
        ("truncated", "\r\n\r\nhello", true),
        ("truncated-chunk", "A\r\nhello", true),
        ("split-head", "\r\n\r\nhello", false),
        ("bogus", "Content-Length: 0\r\n\r\n", false),
    ] {
        let mut stream = oracle.connect();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
        ask(&mut stream, &format!("/shape/{shape}"));
        // Until what it ends with is there: pieces come apart.
        let mut answer = Vec::new();
        let mut byte = [0];
        while !answer.ends_with(end.as_bytes()) {
            stream.read_exact(&mut byte).unwrap_or_else(|error| panic!("{shape}: {error}"));
            answer.push(byte[0]);
        }
        if closes {
            assert_eq!(stream.read(&mut byte).unwrap(), 0, "{shape}");
        } else {
            let again = get(&mut stream, "/", PLAIN.len());
            assert_eq!(again, PLAIN, "{shape}: nothing is left over");
        }
    }
    oracle.stop();
}

#[test]
fn only_the_head_of_an_answer_to_head() {
    let oracle = start(Mode::default());
    let mut stream = oracle.connect();
    write!(stream, "HEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n").unwrap();
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n";
    let mut both = vec![0; head.len() + PLAIN.len()];
    stream.read_exact(&mut both).unwrap();
    assert_eq!(String::from_utf8(both).unwrap(), format!("{head}{PLAIN}"));
    oracle.stop();
}

#[test]
fn a_split_answer_and_one_at_a_time() {
    let mode = Mode { split_ns: Some(3_000_000), service_ns: 1_000_000, ..Mode::default() };
    let oracle = start(mode);
    let mut streams = [oracle.connect(), oracle.connect(), oracle.connect()];
    for stream in &mut streams {
        ask(stream, "/");
    }
    for stream in &mut streams {
        stream.read_exact(&mut vec![0; PLAIN.len()]).unwrap();
    }
    let log = oracle.stop();
    let times = log.service_s();
    assert!(times[0] >= 0.004, "{times:?}");
    let span_ns =
        log.entries.iter().map(|entry| entry.sent_ns).max().unwrap() - log.entries[0].received_ns;
    assert!(span_ns >= 6_000_000, "three, one after another, and the last one's pause: {span_ns}");
}

#[test]
fn connects_are_kept_waiting() {
    let mode = Mode { accept_pause_ns: 50_000_000, backlog: 16, ..Mode::default() };
    let oracle = start(mode);
    let before_ns = clock_ns();
    let mut stream = oracle.connect();
    assert_eq!(get(&mut stream, "/", PLAIN.len()), PLAIN);
    let log = oracle.stop();
    assert!(log.connections[0].accepted_ns >= before_ns + 50_000_000);
}

#[test]
fn every_second_connection_is_slow() {
    let oracle = start(Mode { slow_connections_ns: 5_000_000, ..Mode::default() });
    for _ in 0..2 {
        assert_eq!(get(&mut oracle.connect(), "/", PLAIN.len()), PLAIN);
    }
    let log = oracle.stop();
    let took_ns = |entry: &Entry| entry.sent_ns - entry.received_ns;
    assert!(took_ns(&log.entries[1]) >= 5_000_000, "{log:?}");
}

#[test]
fn large_bodies_arrive_whole() {
    let bytes = 5 << 20;
    let oracle = start(Mode { body_bytes: bytes, ..Mode::default() });
    let mut stream = oracle.connect();
    ask(&mut stream, "/");
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n");
    let mut answer = vec![0; head.len() + bytes as usize];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(get(&mut stream, "/", 12), "HTTP/1.1 200");
    drop(stream);
    assert_eq!(oracle.stop().entries.len(), 2);
}

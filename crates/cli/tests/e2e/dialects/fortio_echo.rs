//! fortio's loads over TCP and UDP and ours, side by side, against echoes of several hands and
//! against servers that do not echo.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;

use super::fortio::{both, keys, lines};
use crate::programs::turn_with;
use crate::support::{Finished, plimsoll, run};

/// A server that says on stderr where it listens, ended when it is dropped.
struct Listening {
    child: Child,
    address: String,
    /// Some end when they print where nobody reads.
    _err: BufReader<ChildStderr>,
}

impl Listening {
    fn start(mut command: Command) -> Self {
        let mut child =
            command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("started");
        let mut err = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        while !line.contains("listening on ") {
            line.clear();
            assert!(err.read_line(&mut line).expect("text") > 0, "it ended");
        }
        let (_, port) = line.split_once("127.0.0.1:").expect("an address");
        let digits: String = port.chars().take_while(char::is_ascii_digit).collect();
        Self { child, address: format!("127.0.0.1:{digits}"), _err: err }
    }

    /// An echo of fortio's kind.
    fn echo(mut command: Command, kind: &str) -> Self {
        let port = format!("-{kind}-port");
        command.args([&format!("{kind}-echo"), &port, "127.0.0.1:0"]);
        Self::start(command)
    }

    fn socat(listen: &str) -> Self {
        let mut command = Command::new("socat");
        command.args(["-d", "-d", listen, "PIPE"]);
        Self::start(command)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What of a report does not depend on time.
fn counts<'a>(finished: &'a Finished, kind: &str) -> Vec<&'a str> {
    let starts = ["Sockets used", "Total Bytes", "Starting at", kind];
    let is_wanted = |line: &&str| starts.iter().any(|start| line.starts_with(start));
    finished.stderr.lines().filter(is_wanted).collect()
}

#[test]
fn loads_of_echoes_print_what_fortio_prints() {
    let Some(_turn) = turn_with(&["fortio"]) else { return };
    for kind in ["tcp", "udp"] {
        let theirs = Listening::echo(Command::new("fortio"), kind);
        let ours = Listening::echo(plimsoll(&["fortio"]), kind);
        for (server, arguments) in [
            (&theirs, &["-qps", "50", "-t", "1s", "-c", "2", "-json", "-"][..]),
            (&ours, &["-qps", "40", "-n", "12", "-c", "3", "-uniform", "-jitter"]),
            (&theirs, &["-qps", "0", "-n", "100", "-c", "4", "-quiet"]),
            (&ours, &["-qps", "0", "-n", "50", "-c", "2", "-payload-size", "20000"]),
            (&theirs, &["-qps", "20", "-n", "5", "-loglevel", "warning", "-payload", "hello"]),
            (&theirs, &["-qps", "20", "-n", "4", "-c", "2", "-keepalive=false", "-X", "PUT"]),
        ] {
            let target = format!("{kind}://{}", server.address);
            let arguments = [arguments, &[&target]].concat();
            let [theirs, ours] = both(&arguments);
            assert_eq!((ours.code, theirs.code), (Some(0), Some(0)), "{arguments:?}: {ours:?}");
            assert_eq!(lines(&ours), lines(&theirs), "{arguments:?}");
            assert_eq!(counts(&ours, kind), counts(&theirs, kind), "{arguments:?}");
            assert_eq!(keys(&ours.stdout), keys(&theirs.stdout), "{arguments:?}");
        }
    }
}

#[test]
fn servers_that_are_no_echo_are_told_as_fortio_tells_them() {
    let Some(_turn) = turn_with(&["fortio"]) else { return };
    let differs = serve(|mut stream| {
        while stream.read_exact(&mut [0; 24]).is_ok() && stream.write_all(&[b'x'; 24]).is_ok() {}
    });
    let cuts = serve(|mut stream| {
        let mut request = [0; 24];
        if stream.read_exact(&mut request).is_ok() {
            let _ = stream.write_all(&request[..5]);
        }
    });
    // A socket that hears another one alone keeps its port from everybody else.
    let deaf = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    deaf.connect("127.0.0.1:9").expect("an address");
    let nobody = format!("udp://{}", deaf.local_addr().expect("bound"));
    for (kind, target) in [("tcp", differs), ("tcp", cuts), ("udp", nobody)] {
        let arguments = ["-qps", "0", "-n", "6", "-c", "1", &target];
        let [theirs, ours] = both(&arguments);
        assert_eq!((ours.code, theirs.code), (Some(0), Some(0)), "{target}: {ours:?}");
        assert_eq!(counts(&ours, kind), counts(&theirs, kind), "{target}");
    }
}

/// Has each connection to a new port served; gives the target.
fn serve(with: impl Fn(TcpStream) + Copy + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let target = format!("tcp://{}", listener.local_addr().expect("bound"));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || with(stream));
        }
    });
    target
}

#[test]
fn socat_is_an_echo() {
    let Some(_turn) = turn_with(&["socat"]) else { return };
    // Without fork it serves one client of UDP.
    for (kind, listen, connections) in [
        ("tcp", "TCP4-LISTEN:0,bind=127.0.0.1,fork", "3"),
        ("udp", "UDP4-LISTEN:0,bind=127.0.0.1", "1"),
    ] {
        let socat = Listening::socat(listen);
        let target = format!("{kind}://{}", socat.address);
        let flags = ["fortio", "load", "-qps", "0", "-n", "60", "-c", connections, &target];
        let finished = run(&mut plimsoll(&flags));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let line = format!("\nTotal Bytes sent: 1440, received: 1440\n{kind} OK : 60 (100.0 %)\n");
        assert!(finished.stderr.contains(&line), "{}", finished.stderr);
    }
}

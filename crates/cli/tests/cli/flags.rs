//! The example of every flag, run as the documentation shows it, and its wrong value.

use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;

use crate::call_peer::{CallPeer, Reflects};
use crate::support::{Finished, Server, plimsoll, run};

#[path = "../../src/manual/examples.rs"]
mod examples;

use examples::{EXAMPLES, FILES, filled};

/// What the examples load and read, in a directory to run them in.
struct World {
    directory: tempfile::TempDir,
    plain: Server,
    secure: Server,
    peer: String,
    grpc: CallPeer,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        let certificate = path.join("server.pem");
        let certificate = certificate.to_str().expect("a readable path");
        let plain = Server::start(&[]);
        let secure = Server::start(&["--tls", "--tls-save", certificate]);
        let peer = answer_anything(&path.join("web.sock"));
        let grpc = CallPeer::new(Reflects::V1);
        let world = Self { plain, secure, peer, grpc, directory };
        for (name, text) in FILES {
            fs::write(world.directory.path().join(name), world.filled(text)).expect("a file");
        }
        let client = include_str!("support/client.pem");
        fs::write(world.directory.path().join("client.pem"), client).expect("a file");
        world
    }

    fn filled(&self, text: &str) -> String {
        let [plain, secure] = [&self.plain, &self.secure].map(|server| server.url(""));
        filled(text, &plain, &secure, &self.peer, &self.grpc.url())
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        let words = arguments.iter().map(|word| self.filled(word));
        run(plimsoll(&["run"]).args(words).current_dir(self.directory.path()))
    }
}

/// Takes any request over TCP and over a Unix socket; the address of the first.
fn answer_anything(path: &Path) -> String {
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = tcp.local_addr().expect("a bound address").to_string();
    let unix = UnixListener::bind(path).expect("a socket");
    thread::spawn(move || {
        for stream in tcp.incoming().flatten() {
            thread::spawn(move || answer(&stream, &stream));
        }
    });
    thread::spawn(move || {
        for stream in unix.incoming().flatten() {
            thread::spawn(move || answer(&stream, &stream));
        }
    });
    address
}

/// Answers whenever a head is over, until the client goes.
fn answer(input: impl Read, mut output: impl Write) {
    for line in BufReader::new(input).lines() {
        let Ok(line) = line else { return };
        if line.is_empty() && output.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").is_err() {
            return;
        }
    }
}

#[test]
fn every_example_does_what_it_shows() {
    let world = World::new();
    for example in EXAMPLES {
        let finished = world.run(example.arguments);
        let case = format!("{}: {:?}: {finished:?}", example.flag, example.arguments);
        assert_eq!(finished.code, Some(i32::from(example.exit)), "{case}");
        assert_eq!(!finished.stderr.is_empty(), example.flag == "verbose", "{case}");
        // The one about the verdict is about a server that does not answer.
        let is_fine = !finished.stdout.contains("\nErrors") || example.flag == "require_valid";
        assert!(is_fine, "{case}");
    }
}

#[test]
fn every_wrong_value_is_refused() {
    let world = World::new();
    for example in EXAMPLES {
        let finished = world.run(example.wrong);
        let case = format!("{}: {:?}: {finished:?}", example.flag, example.wrong);
        assert!(matches!(finished.code, Some(1 | 2)), "{case}");
        assert_eq!(finished.stdout, "", "{case}");
        assert_eq!(finished.stderr.lines().count(), 1, "{case}");
        assert!(finished.stderr.contains(example.says), "{case}");
    }
}

#[test]
fn the_manual_is_printed() {
    for (arguments, holds) in [
        (&["--man"][..], ".TH plimsoll 1"),
        (&["--man", "run"], "connections"),
        (&["--completions", "bash"], "--no-keepalive"),
        (&["--completions", "zsh"], "--no-keepalive"),
        (&["--completions", "fish"], "no-keepalive"),
        (&["--markdown"], "### `-c, --connections N|MIN..MAX`"),
    ] {
        let finished = run(plimsoll(&["manual"]).args(arguments));
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(finished.stdout.contains(holds), "{arguments:?}: {}", finished.stdout);
    }
    for (arguments, says) in [
        (&["--man", "nothing"][..], "serve, proxy"),
        (&["--completions", "dos"], "bash"),
        (&[], "--man"),
        (&["--man", "--markdown"], "cannot be used with"),
    ] {
        let finished = run(plimsoll(&["manual"]).args(arguments));
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(finished.stderr.contains(says), "{arguments:?}: {}", finished.stderr);
    }
}

//! fortio's loads of gRPC against its own server and ours: compressed pings are answered by both.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};

use super::fortio::lines;
use crate::programs::turn_with;
use crate::support::{plimsoll, run};

/// fortio's server of gRPC, or ours, ended when it is dropped.
struct Pings {
    child: Child,
    address: String,
    /// fortio ends when it logs where nobody reads.
    _log: BufReader<ChildStderr>,
    _folder: tempfile::TempDir,
}

impl Pings {
    fn start(mut command: Command) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let free = ["-http-port", "127.0.0.1:0", "-grpc-port", "127.0.0.1:0"];
        let off = ["-tcp-port", "-udp-port", "-redirect-port"].map(|port| [port, "disabled"]);
        let mut child = command
            .arg("server")
            .args(free)
            .args(off.as_flattened())
            .arg("-data-dir")
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("started");
        let mut log = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        while !line.contains("grpc 'ping' server listening on tcp ") {
            line.clear();
            let bytes = log.read_line(&mut line).expect("a line");
            assert!(bytes > 0, "it ended before it had an address");
        }
        let (_, address) = line.rsplit_once(' ').expect("an address");
        let address = address.trim_end().trim_end_matches(['"', '}']).to_owned();
        Self { child, address, _log: log, _folder: folder }
    }
}

impl Drop for Pings {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn compressed_pings_of_fortio_are_answered() {
    let Some(_turn) = turn_with(&["fortio"]) else { return };
    let mut original = plimsoll(&["fortio"]);
    original.stdin(Stdio::null());
    let servers = [Pings::start(Command::new("fortio")), Pings::start(original)];
    // Runs for a time begin with a call that warms up, which is the one that fortio compresses.
    for flags in [
        &["-ping", "-grpc-compression", "-t", "500ms"][..],
        &["-ping", "-grpc-compression", "-t", "500ms", "-payload", "abc", "-s", "2"],
        &["-grpc-compression", "-t", "500ms"],
        &["-ping", "-t", "500ms"],
    ] {
        let load = |server: &Pings| {
            let common = ["load", "-grpc", "-qps", "20", "-c", "2"];
            run(Command::new("fortio").args(common).args(flags).arg(&server.address))
        };
        let [theirs, ours] = servers.each_ref().map(load);
        assert_eq!((theirs.code, ours.code), (Some(0), Some(0)), "{flags:?}: {ours:?}");
        let [theirs, ours] = [(theirs, &servers[0]), (ours, &servers[1])].map(|(seen, server)| {
            let lines = lines(&seen).into_iter();
            lines.map(|line| line.replace(&server.address, "ADDRESS")).collect::<Vec<_>>()
        });
        assert_eq!(ours, theirs, "{flags:?}");
    }
}

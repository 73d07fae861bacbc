//! Peers in other languages: our own programs in `fixtures`, over other people's libraries.

use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Finished, Running, Stream, run};

/// The path of a program of ours in another language.
pub(crate) fn fixture(name: &str) -> String {
    format!("{}/tests/e2e/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs one to its end.
pub(crate) fn run_fixture(interpreter: &str, name: &str, arguments: &[&str]) -> Finished {
    run(Command::new(interpreter).arg(fixture(name)).args(arguments))
}

/// One that listens.
pub(crate) struct Listening {
    running: Running,
    /// Where, in the order in which it said so.
    pub(crate) ports: Vec<u16>,
}

impl Listening {
    /// Starts one, and waits until it says `listening on PORT…`.
    pub(crate) fn start(interpreter: &str, name: &str, arguments: &[&str]) -> Self {
        let mut running =
            Running::start(Command::new(interpreter).arg(fixture(name)).args(arguments));
        let line = running.next_line(Stream::Out);
        let ports = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}"));
        let ports = ports.split_whitespace().map(|port| port.parse().expect("a port")).collect();
        Self { running, ports }
    }

    /// What it has counted since the last time.
    pub(crate) fn take_counts(&mut self) -> Value {
        // Node keeps SIGUSR1 for its debugger.
        self.running.signal(Signal::USR2);
        let line = self.running.next_line(Stream::Out);
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
}

/// A certificate for `localhost` and its key, in files.
pub(crate) fn certificate(folder: &Path) -> [String; 2] {
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| folder.join(name).display().to_string());
    let kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    let flags = ["req", "-x509", "-subj", "/CN=localhost", "-out", &cert, "-keyout", &key];
    let made = run(Command::new("openssl").args(flags).args(kind));
    assert_eq!(made.code, Some(0), "{made:?}");
    [cert, key]
}

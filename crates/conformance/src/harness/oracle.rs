//! The oracle as a process: started from this program's own executable with its mode on the command
//! line, ended by closing its standard input, and read through its log.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::Signal;

use super::process::Process;
use crate::oracle::{Log, Mode};

/// How long an oracle may take to start, and to write its log.
const PATIENCE: Duration = Duration::from_secs(20);

/// An oracle.
#[derive(Debug)]
pub struct OracleProcess {
    process: Process,
    lines: Receiver<String>,
    log: PathBuf,
    address: SocketAddr,
}

impl OracleProcess {
    /// Starts one; returns when it listens. `wrapper` stands before its command line, such as a way
    /// into a network namespace.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn start(
        executable: &Path,
        wrapper: &[String],
        at: SocketAddr,
        mode: &Mode,
        log: PathBuf,
        cpu: Option<usize>,
    ) -> io::Result<Self> {
        let mode = serde_json::to_string(mode).map_err(io::Error::other)?;
        let mut command = match wrapper.split_first() {
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(executable);
                command
            }
            None => Command::new(executable),
        };
        command.args(["conformance", "oracle", "--mode", &mode, "--listen", &at.to_string()]);
        command.arg("--log").arg(&log);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut process = Process::start(command, cpu.as_slice())?;
        let stdout = process.child().stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let line = lines
            .recv_timeout(PATIENCE)
            .map_err(|_| io::Error::other("the oracle did not say where it listens"))?;
        let address = line.strip_prefix("listening ").and_then(|address| address.parse().ok());
        let address =
            address.ok_or_else(|| io::Error::other(format!("the oracle said '{line}'")))?;
        Ok(Self { process, lines, log, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether the first request has come; says so once.
    pub fn first_request(&self) -> bool {
        self.lines.try_recv().is_ok_and(|line| line == "first")
    }

    /// The process, to watch it.
    #[must_use]
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Ends it and reads its log.
    ///
    /// # Errors
    /// When it does not end well or its log cannot be read.
    pub fn stop(mut self) -> io::Result<Log> {
        drop(self.process.child().stdin.take());
        match self.process.finish(PATIENCE)? {
            Some(status) if status.success() => {}
            Some(status) => return Err(io::Error::other(format!("the oracle failed: {status}"))),
            None => return Err(io::Error::other("the oracle did not end")),
        }
        let file = File::open(&self.log)?;
        Log::read(&mut BufReader::with_capacity(1 << 20, file)).map_err(io::Error::other)
    }
}

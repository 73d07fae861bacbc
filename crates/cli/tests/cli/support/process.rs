//! Child processes that can neither outlive a test nor hang it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Longer than anything here takes, also on a slow machine that does other things too.
const LIMIT: Duration = Duration::from_secs(90);

/// Our program with arguments.
pub(crate) fn plimsoll(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    // A report is as wide as it is told, and so that tests see one width nobody tells it. Figures
    // go where a test says, and nowhere else.
    command.args(arguments).env_remove("COLUMNS").env_remove("PLIMSOLL_OUT");
    command
}

/// Takes what the user's environment says of k6 scripts and of proxies away from a command.
pub(crate) fn without_options_of_k6(command: &mut Command) {
    let is_own = |name: &str| name.starts_with("K6_") || name.ends_with("_PROXY");
    for (name, _) in std::env::vars().filter(|(name, _)| is_own(&name.to_uppercase())) {
        command.env_remove(name);
    }
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Finished {
    Running::start(command).finish()
}

/// Which of a process's outputs a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// What a process said and how it ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A process; killed when dropped.
pub(crate) struct Running {
    name: String,
    child: Child,
    lines: Receiver<(Stream, String)>,
    stdout: String,
    stderr: String,
    deadline: Instant,
}

impl Running {
    /// Starts a command with both outputs read from the beginning.
    pub(crate) fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let name = format!("{command:?}");
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        let (sender, lines) = channel();
        forward(Stream::Out, child.stdout.take().expect("piped"), sender.clone());
        forward(Stream::Err, child.stderr.take().expect("piped"), sender);
        let deadline = Instant::now() + LIMIT;
        Self { name, child, lines, stdout: String::new(), stderr: String::new(), deadline }
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a process to signal");
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child to ask")
    }

    /// Waits for the next line of a stream.
    ///
    /// # Panics
    /// When the stream ends, or no line comes in time.
    pub(crate) fn next_line(&mut self, stream: Stream) -> String {
        loop {
            match self.take_line() {
                Some((from, line)) if from == stream => return line,
                Some(_) => {}
                None => panic!("{}: no further line: {}{}", self.name, self.stdout, self.stderr),
            }
        }
    }

    /// Waits for the end.
    pub(crate) fn finish(mut self) -> Finished {
        while self.take_line().is_some() {}
        let status = self.child.wait().expect("a child to wait for");
        Finished {
            code: status.code(),
            stdout: std::mem::take(&mut self.stdout),
            stderr: std::mem::take(&mut self.stderr),
        }
    }

    /// Sends a signal and waits for the end.
    pub(crate) fn finish_by(self, signal: Signal) -> Finished {
        self.signal(signal);
        self.finish()
    }

    /// `None` once both streams are at their end.
    fn take_line(&mut self) -> Option<(Stream, String)> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok((stream, line)) => {
                match stream {
                    Stream::Out => self.stdout.push_str(&line),
                    Stream::Err => self.stderr.push_str(&line),
                }
                Some((stream, line))
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("{} hangs; so far: {}{}", self.name, self.stdout, self.stderr)
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended().is_none() {
            // It may end by itself just now, which is as well.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn forward(stream: Stream, output: impl Read + Send + 'static, lines: Sender<(Stream, String)>) {
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line).into_owned();
            if lines.send((stream, text)).is_err() {
                return;
            }
            line.clear();
        }
    });
}

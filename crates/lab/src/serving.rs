//! A server of a suite while it runs: started, ready, answering as it should, stopped.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use plimsoll_core::result::RunResult;
use plimsoll_core::secret::Masks;
use plimsoll_io::clock;
use rustix::process::Signal;

use crate::process::Process;
use crate::programs::{last_line, tail};
use crate::suite::{Names, Ready, Server, Stop};

/// How long one question may take.
const PROBE_LIMIT: Duration = Duration::from_secs(10);
const CONNECT_LIMIT: Duration = Duration::from_millis(500);
/// Between two looks at a server that is not ready.
const LOOK: Duration = Duration::from_millis(20);
/// Of a log that a case shows.
const LOG_BYTES_MAX: u64 = 4096;

/// A server that was started.
pub(crate) struct Serving<'a> {
    server: &'a Server,
    process: Process,
    port: u16,
    log: PathBuf,
    /// This program, which asks whether an answer is as it should be.
    plimsoll: &'a Path,
}

/// How to start one.
pub(crate) struct Start<'a> {
    pub(crate) server: &'a Server,
    /// What its placeholders stand for, its port among them.
    pub(crate) names: Names,
    pub(crate) port: u16,
    /// The file for what it prints.
    pub(crate) log: PathBuf,
    pub(crate) plimsoll: &'a Path,
}

impl<'a> Serving<'a> {
    /// Starts it and waits until it is ready and answers as it should. `stopped` is asked now and
    /// then whether to give up.
    ///
    /// # Errors
    /// One line, and the last lines of its log.
    pub(crate) fn start(
        start: Start<'a>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Self, (String, String)> {
        let log = start.log.clone();
        let told = |reason: String| (reason, tail(&log, LOG_BYTES_MAX));
        let mut serving = spawn(start).map_err(&told)?;
        serving.wait_ready(stopped).map_err(&told)?;
        serving.check().map_err(&told)?;
        Ok(serving)
    }

    /// The id of its first process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// The last lines of what it printed.
    pub(crate) fn last_lines(&self) -> String {
        tail(&self.log, LOG_BYTES_MAX)
    }

    /// Where loads go.
    pub(crate) fn url(&self) -> String {
        self.url_of(&self.server.path)
    }

    fn url_of(&self, path: &str) -> String {
        format!("{}://127.0.0.1:{}{path}", self.server.scheme, self.port)
    }

    /// Whether it answers as the suite says it should.
    ///
    /// # Errors
    /// What was wrong.
    pub(crate) fn check(&mut self) -> Result<(), String> {
        self.alive()?;
        let expect = if self.server.expect.is_empty() {
            vec!["status=200..399".to_owned()]
        } else {
            self.server.expect.clone()
        };
        let url = self.url();
        self.ask(&url, &expect)
            .map_err(|wrong| format!("a wrong answer to {}: {wrong}", Masks::default().url(&url)))
    }

    fn alive(&mut self) -> Result<(), String> {
        if !self.process.has_ended().map_err(|error| error.to_string())? {
            return Ok(());
        }
        let status = self.process.finish(Duration::ZERO).ok().flatten();
        let how = status.map_or_else(|| "it is gone".to_owned(), |status| status.to_string());
        let word = tail(&self.log, LOG_BYTES_MAX);
        let word = last_line(&word).map(|line| format!(": {line}")).unwrap_or_default();
        Err(format!("the server ended ({how}){word}"))
    }

    fn wait_ready(&mut self, stopped: &dyn Fn() -> bool) -> Result<(), String> {
        let limit_ns = self.server.ready_timeout_ns;
        let until_ns = clock::now_ns().saturating_add(limit_ns);
        loop {
            self.alive()?;
            let why = match self.is_ready() {
                Ok(()) => return Ok(()),
                Err(why) => why,
            };
            if stopped() {
                return Err("stopped".to_owned());
            }
            if clock::now_ns() >= until_ns {
                let limit = plimsoll_core::units::format_duration(limit_ns);
                return Err(format!("it was not ready within {limit}: {why}"));
            }
            thread::sleep(LOOK);
        }
    }

    fn is_ready(&self) -> Result<(), String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        TcpStream::connect_timeout(&address, CONNECT_LIMIT)
            .map_err(|error| format!("port {}: {error}", self.port))?;
        match &self.server.ready {
            Ready::Port => Ok(()),
            Ready::Http { path, status } => {
                self.ask(&self.url_of(path), &[format!("status={status}")])
            }
        }
    }

    /// Sends one request with our own program, which knows TLS and expectations.
    fn ask(&self, url: &str, expect: &[String]) -> Result<(), String> {
        let mut command = Command::new(self.plimsoll);
        command.args(["run", "-n", "1", "-c", "1", "--timeout", "5s", "--format", "json"]);
        command.args(["--no-progress"]);
        if self.server.scheme == "https" {
            command.arg("--insecure");
        }
        for expectation in expect {
            command.args(["--expect", expectation]);
        }
        let output = self.log.with_extension("probe");
        let cannot = |error: std::io::Error| format!("{}: {error}", output.display());
        let file = File::create(&output).map_err(cannot)?;
        command.arg(url).stdin(Stdio::null()).stdout(file).stderr(Stdio::null());
        let started = Process::start_group(command, &[]);
        let mut process = started.map_err(|error| format!("this program: {error}"))?;
        process.finish(PROBE_LIMIT).map_err(|error| error.to_string())?;
        let document = fs::read_to_string(&output).map_err(cannot)?;
        let _ = fs::remove_file(&output);
        judge(&document)
    }

    /// Stops it, and kills what does not stop.
    ///
    /// # Errors
    /// When it had to be killed.
    pub(crate) fn stop(mut self) -> Result<(), String> {
        self.process.signal(match self.server.stop {
            Stop::Term => Signal::TERM,
            Stop::Int => Signal::INT,
            Stop::Quit => Signal::QUIT,
            Stop::Kill => Signal::KILL,
        });
        let limit = Duration::from_nanos(self.server.stop_timeout_ns);
        match self.process.finish(limit) {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(format!("{} did not stop within {limit:?}: killed", self.server.name)),
            Err(error) => Err(format!("{}: {error}", self.server.name)),
        }
    }
}

fn spawn(start: Start<'_>) -> Result<Serving<'_>, String> {
    let Start { server, names, port, log, plimsoll } = start;
    for (to, from) in &server.files {
        let wrong = |error: &dyn std::fmt::Display| format!("files: {from}: {error}");
        let to = server.directory.join(names.fill(to).map_err(|error| wrong(&error))?);
        let template = fs::read_to_string(server.directory.join(from));
        let text = names.fill_file(&template.map_err(|error| wrong(&error))?);
        fs::write(&to, text).map_err(|error| format!("files: {}: {error}", to.display()))?;
    }
    let fill = |text: &String| names.fill(text).map_err(|error| format!("command: {error}"));
    let words = server.command.iter().map(fill).collect::<Result<Vec<_>, _>>()?;
    let (program, arguments) = words.split_first().ok_or("command: it is empty")?;
    let file = File::options().create(true).append(true).open(&log);
    let file = file.map_err(|error| format!("{}: {error}", log.display()))?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&server.directory).stdin(Stdio::null());
    for (key, value) in &server.env {
        command.env(key, names.fill(value).map_err(|error| format!("env: {error}"))?);
    }
    let twin = file.try_clone().map_err(|error| error.to_string())?;
    command.stdout(file).stderr(twin);
    let cpus = server.cpus.as_ref().map_or(&[][..], |cpus| cpus.numbers());
    let process = Process::start_group(command, cpus)
        .map_err(|error| format!("cannot start `{program}`: {error}"))?;
    Ok(Serving { server, process, port, log, plimsoll })
}

/// What a document of one request says was wrong with it.
fn judge(document: &str) -> Result<(), String> {
    let result: RunResult =
        serde_json::from_str(document).map_err(|_| "no answer at all".to_owned())?;
    if result.ledger.ok == 1 {
        return Ok(());
    }
    let error = result.errors.first();
    let of_status = || result.status.keys().next().map(|status| format!("status {status}"));
    let text = error.map(|error| format!("{}: {}", error.kind, error.sample)).or_else(of_status);
    Err(text.unwrap_or_else(|| "no answer".to_owned()))
}

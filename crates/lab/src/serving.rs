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

use crate::home::{Holders, Home, Stranger};
use crate::process::Process;
use crate::programs::{last_line, tail};
use crate::sample::{Root, SamplerOptions};
use crate::suite::{Names, Readiness, Server, Stop};

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
    /// What was started: the server, or what launches it.
    process: Process,
    /// Where it was started, or why there is no such place.
    home: Result<Home, String>,
    /// Who holds its port, once it is ready.
    holders: Option<Holders>,
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
        serving.find_holders();
        serving.check().map_err(&told)?;
        Ok(serving)
    }

    /// Who is to be watched, and how.
    ///
    /// # Errors
    /// Nobody is there.
    pub(crate) fn watched(&self) -> Result<(Vec<Root>, SamplerOptions), String> {
        let strangers = || self.holders.iter().flat_map(|holders| &holders.strangers);
        let launcher = Root::of(self.process.id());
        let mut roots: Vec<Root> = launcher.iter().cloned().collect();
        roots.extend(strangers().map(Stranger::root).cloned());
        if let (true, Err(error)) = (roots.is_empty(), launcher) {
            return Err(error.to_string());
        }
        // Processes that another program started for it are in another group.
        let counter = self.home.as_ref().ok().map(Home::counter);
        let inside = counter.map(|counter| counter.processes()).unwrap_or_default();
        let is_whole = strangers().all(|stranger| inside.contains(&stranger.root().pid));
        let group = counter.filter(|_| is_whole).cloned();
        Ok((roots, SamplerOptions { group, ..SamplerOptions::default() }))
    }

    /// Why its CPU time and memory are not those of what was watched, where they are not.
    pub(crate) fn hidden(&self) -> Option<&str> {
        self.holders.as_ref()?.hidden.as_deref()
    }

    /// Why its CPU time is put together from single processes, where it is.
    pub(crate) fn homeless(&self) -> Option<&str> {
        self.home.as_ref().err().map(String::as_str)
    }

    /// Who of it has left the process that was started, in words.
    pub(crate) fn left(&self) -> Option<String> {
        let strangers = &self.holders.as_ref()?.strangers;
        let name = |stranger: &Stranger| {
            let root = stranger.root();
            format!("{} (process {})", root.name, root.pid)
        };
        let names: Vec<String> = strangers.iter().map(name).collect();
        (!names.is_empty()).then(|| {
            let (name, names) = (&self.server.name, names.join(", "));
            format!(
                "{name} left the process that was started: {names} holds its port, and was watched \
                 and ended"
            )
        })
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
        let Some(code) = self.process.peek().map_err(|error| error.to_string())? else {
            return Ok(());
        };
        if code == Some(0) && self.has_left_a_server() {
            return Ok(());
        }
        let status = self.process.finish(Duration::ZERO).ok().flatten();
        let how = status.map_or_else(|| "it is gone".to_owned(), |status| status.to_string());
        let word = tail(&self.log, LOG_BYTES_MAX);
        let word = last_line(&word).map(|line| format!(": {line}")).unwrap_or_default();
        Err(format!("the server ended ({how}){word}"))
    }

    /// Whether a launcher that ended well may have left its server behind. Before it is ready only
    /// its control group tells; without one it has until its time to be ready is over.
    fn has_left_a_server(&self) -> bool {
        match (&self.holders, &self.home) {
            (Some(holders), _) => holders.is_alive(),
            (None, Ok(home)) => !home.counter().processes().is_empty(),
            (None, Err(_)) => true,
        }
    }

    fn find_holders(&mut self) {
        let is_there = matches!(self.process.peek(), Ok(None));
        self.holders = Some(Holders::find(self.port, is_there.then(|| self.process.id())));
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
                return Err(format!("it was not ready within {limit}: {why}{}", self.hint()));
            }
            thread::sleep(LOOK);
        }
    }

    /// What may keep it from ever being ready.
    fn hint(&self) -> &'static str {
        let Server { command, env, files, .. } = self.server;
        let is_told = command.iter().chain(env.values()).any(|text| text.contains("{port}"));
        if is_told || !files.is_empty() {
            return "";
        }
        ": it is to listen on {port}, which neither its command nor its env says"
    }

    fn is_ready(&self) -> Result<(), String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        TcpStream::connect_timeout(&address, CONNECT_LIMIT)
            .map_err(|error| format!("port {}: {error}", self.port))?;
        match &self.server.ready {
            Readiness::Port => Ok(()),
            Readiness::Http { path, status } => {
                self.ask(&self.url_of(path), &[format!("status={status}")])
            }
        }
    }

    /// Sends one request with our own program, which knows TLS and expectations.
    fn ask(&self, url: &str, expect: &[String]) -> Result<(), String> {
        let mut command = Command::new(self.plimsoll);
        command.args(["run", "-n", "1", "-c", "1", "--timeout", "5s", "--format", "json"]);
        command.args(["--no-progress", "--http", &self.server.http]);
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
        let signal = match self.server.stop {
            Stop::Term => Signal::TERM,
            Stop::Int => Signal::INT,
            Stop::Quit => Signal::QUIT,
            Stop::Kill => Signal::KILL,
        };
        let strangers = self.holders.take().map(|holders| holders.strangers).unwrap_or_default();
        self.process.signal(signal);
        strangers.iter().for_each(|stranger| stranger.signal(signal));
        let limit = Duration::from_nanos(self.server.stop_timeout_ns);
        let until_ns = clock::now_ns().saturating_add(self.server.stop_timeout_ns);
        // Before the launcher is waited for: that kills all that is left of its group.
        while strangers.iter().any(Stranger::is_alive) && clock::now_ns() < until_ns {
            thread::sleep(LOOK);
        }
        let killed = strangers.iter().any(Stranger::is_alive);
        let rest_ns = until_ns.saturating_sub(clock::now_ns());
        match self.process.finish(Duration::from_nanos(rest_ns)) {
            Ok(Some(_)) if !killed => Ok(()),
            Ok(_) => Err(format!("{} did not stop within {limit:?}: killed", self.server.name)),
            Err(error) => Err(format!("{}: {error}", self.server.name)),
        }
    }
}

fn spawn(start: Start<'_>) -> Result<Serving<'_>, String> {
    let Start { server, names, port, log, plimsoll } = start;
    for (to, from) in &server.files {
        let path = |text: &str| -> Result<PathBuf, String> {
            let filled = names.fill(text).map_err(|error| format!("files: {error}"))?;
            Ok(server.directory.join(filled))
        };
        let (to, from) = (path(to)?, path(from)?);
        let at = |path: &Path, error| format!("files: {}: {error}", path.display());
        let template = fs::read_to_string(&from).map_err(|error| at(&from, error))?;
        fs::write(&to, names.fill_file(&template)).map_err(|error| at(&to, error))?;
    }
    let fill = |text: &String| names.fill(text).map_err(|error| format!("command: {error}"));
    let words = server.command.iter().map(fill).collect::<Result<Vec<_>, _>>()?;
    let (program, arguments) = words.split_first().ok_or("command: it is empty")?;
    let file = File::options().create(true).append(true).open(&log);
    let file = file.map_err(|error| format!("{}: {error}", log.display()))?;
    let command = || -> Result<Command, String> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&server.directory).stdin(Stdio::null());
        for (key, value) in &server.env {
            command.env(key, names.fill(value).map_err(|error| format!("env: {error}"))?);
        }
        let twins =
            [file.try_clone(), file.try_clone()].map(|file| file.map_err(|e| e.to_string()));
        let [stdout, stderr] = twins;
        command.stdout(stdout?).stderr(stderr?);
        Ok(command)
    };
    let cpus = server.cpus.as_ref().map_or(&[][..], |cpus| cpus.numbers());
    let (process, home) = match start_at_home(command()?, cpus) {
        Ok((process, home)) => (process, Ok(home)),
        Err(why) => {
            let process = Process::start_group(command()?, cpus).map_err(|error| {
                format!("cannot start `{program}`: {error}{}", no_shell(&words))
            })?;
            (process, Err(why))
        }
    };
    Ok(Serving { server, process, home, holders: None, port, log, plimsoll })
}

/// What a command that cannot be started may want: it is given to no shell.
fn no_shell(words: &[String]) -> &'static str {
    let is_of_shell = |word: &String| ["cd", "&&", "||", ";", "|"].contains(&word.as_str());
    if words.iter().any(is_of_shell) { ": for a shell write sh -c '…'" } else { "" }
}

/// Starts a command in a control group of its own.
///
/// # Errors
/// Why that cannot be; the same without a group may be.
fn start_at_home(mut command: Command, cpus: &[usize]) -> Result<(Process, Home), String> {
    let home = Home::make()?;
    home.group().holds(&mut command).map_err(|error| error.to_string())?;
    let process = Process::start_group(command, cpus).map_err(|error| error.to_string())?;
    Ok((process, home))
}

/// What a document of one request says was wrong with it.
fn judge(document: &str) -> Result<(), String> {
    let result: RunResult =
        serde_json::from_str(document).map_err(|_| "no answer at all".to_owned())?;
    answered(&result)
}

/// Whether what was asked was answered as expected.
///
/// # Errors
/// What a result says was wrong.
pub(crate) fn answered(result: &RunResult) -> Result<(), String> {
    if result.ledger.ok > 0 && result.ledger.failed == 0 {
        return Ok(());
    }
    let error = result.errors.first();
    let of_status = || result.status.keys().next().map(|status| format!("status {status}"));
    let text = error.map(|error| format!("{}: {}", error.kind, error.sample)).or_else(of_status);
    Err(text.unwrap_or_else(|| "no answer".to_owned()))
}

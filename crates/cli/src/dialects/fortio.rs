//! Runs as `fortio load` does: parse, read the files to send, print the banner, warm the
//! connections up, run, print the report, write the JSON that was asked for.
//!
//! All of it goes to stderr, but for the JSON of `-json -`.

use std::io::{self, IsTerminal as _, Write as _};
use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use plimsoll_core::plan::{Endpoint, PemFile, PlanErrors};
use plimsoll_core::secret::Secret;
use plimsoll_core::{Plan, RunResult};
use plimsoll_dialect::fortio::pace::{Change, Deal, schedule};
use plimsoll_dialect::fortio::text::{self, Limit, Load, Summary};
use plimsoll_dialect::fortio::{
    self, Attribute, Command, FLAGS, GRPC_PORT, Host, Level, LogLevel, Outcome, Parts, Payload,
};
use plimsoll_dialect::{UsageText, WallTime};
use plimsoll_engine::RunError;
use plimsoll_runner::{Beside, Runner, RunnerError};

use super::{check_document, print, print_usage, print_verdict, ready, write_document};
use crate::exit::Exit;
use crate::files;
use crate::message::without_error_numbers;
use crate::run::{explain, stopped_by_signals};

/// A line that is printed in place of a run, with exit code 1.
struct Refused(String);

impl From<String> for Refused {
    fn from(line: String) -> Self {
        Self(line)
    }
}

impl From<Exit> for Refused {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Usage(line) | Exit::CouldNotRun(line) | Exit::Text(line) => {
                Self(format!("fortio: {line}"))
            }
        }
    }
}

pub(super) fn run(arguments: &[String]) -> Result<ExitCode, Exit> {
    let command = match fortio::parse(arguments) {
        Ok(command) => command,
        Err(usage) => return Ok(print_usage(&usage)),
    };
    match load(&command) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(Refused(line)) => {
            let stderr = without_error_numbers(&line) + "\n";
            Ok(print_usage(&UsageText { stderr, code: 1, ..UsageText::default() }))
        }
    }
}

fn load(command: &Command) -> Result<(), Refused> {
    check_document("-json-result", command.json_result.as_deref())?;
    let deal = Deal::of(command);
    let schedule = schedule(command, &deal).map_err(|_| {
        "fortio: -jitter and -as-original keep the time of each call, up to 10 000 000: lower -qps \
         or -t, or give -n"
            .to_owned()
    })?;
    let parts = parts(command)?;
    let endpoint = endpoint(command)?;
    let plan = ready(command.plan(endpoint.clone(), &parts, &deal, schedule), &FLAGS)?;
    check_folder(command)?;
    let processors = thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let used = if command.workers > 0 { command.workers } else { processors };
    let version = fortio::version();
    let load = described(command, &deal, &version, [processors, used]);
    say(&text::banner(&load));
    begin(command);
    if command.exactly == 0 {
        warm_up(command, command.warm_up(endpoint, &parts))?;
    }
    match deal.change {
        Change::None => {}
        Change::Raised => {
            let text = "Increasing the number of calls to the minimum of 2 with 1 thread. total \
                        duration will increase";
            log(command, Level::Warning, text, &[]);
        }
        Change::Lowered { calls, from } => {
            let text = format!(
                "Lowering number of threads - total call {calls} -> lowering from {from} to {} \
                 threads",
                deal.threads
            );
            log(command, Level::Warning, &text, &[]);
        }
    }
    if command.log_level <= LogLevel::Warning {
        say(&text::starting(&load));
    }
    let started = now();
    let result = carry_out(command, plan)?;
    report(command, &deal, &result, started, &parts)
}

fn described<'a>(
    command: &'a Command,
    deal: &Deal,
    version: &'a str,
    processors: [u32; 2],
) -> Load<'a> {
    let limit = match (command.exactly, command.duration_ns) {
        (0, 0) => Limit::UntilStopped,
        (0, ns) => Limit::Duration(ns),
        (calls, _) => Limit::Calls(calls),
    };
    Load {
        version,
        qps: command.qps,
        limit,
        target: &command.target,
        threads: deal.threads,
        processors,
        calls: [deal.calls, deal.more],
        access_log: "",
    }
}

/// Says that a test begins.
fn begin(command: &Command) {
    let text = if command.call.is_some() { "Starting grpc test" } else { "Starting http test" };
    let warmup = if command.sequential_warmup { "sequential" } else { "parallel" };
    let attributes = [
        ("run", command.run_id.into()),
        ("url", command.target.as_str().into()),
        ("threads", command.threads.into()),
        ("qps", format!("{:.1}", command.qps).into()),
        ("warmup", warmup.into()),
    ];
    log(command, Level::Info, text, &attributes);
}

/// Makes one call on each connection. Unless errors are allowed, one that fails ends all.
fn warm_up(command: &Command, plan: Result<Plan, PlanErrors>) -> Result<(), Refused> {
    let result = carry_out(command, ready(plan, &FLAGS)?);
    if command.allow_initial_errors {
        return Ok(());
    }
    let result = result?;
    let ledger = &result.ledger;
    if ledger.ok == ledger.scheduled || result.interrupted {
        return Ok(());
    }
    let is_good = |status: u16| (200..300).contains(&status) || status == 418;
    let bad = result.status.keys().find(|status| !is_good(**status));
    let bytes = result.bytes.received.checked_div(ledger.completed).unwrap_or(0);
    let target = &command.target;
    let line = match (&command.call, bad) {
        (None, Some(status)) => format!("error {status} for {target} ({bytes} bytes)"),
        (None, None) => format!("error -1 for {target} (0 bytes)"),
        (Some(_), _) => {
            let sample = result.errors.first().map_or("no answer", |error| error.sample.as_str());
            format!("a call of {target} that failed: {sample}")
        }
    };
    Err(format!("Aborting because of {line}").into())
}

fn carry_out(command: &Command, plan: Plan) -> Result<RunResult, Refused> {
    let scenarios = plan.into();
    let runner = Runner::new(&scenarios, Beside::default());
    // The original reports an interrupted run like any other.
    stopped_by_signals(&runner)?;
    runner.run(&mut |_| {}).map(|ran| ran.result).map_err(|error| match error {
        RunnerError::Run(ref cause @ (RunError::Unreachable { .. } | RunError::Resolve(_))) => {
            let target = &command.target;
            Refused(format!("Aborting because of error -1 for {target} (0 bytes): {cause}"))
        }
        error => explain(error).into(),
    })
}

fn report(
    command: &Command,
    deal: &Deal,
    run: &RunResult,
    started: WallTime,
    parts: &Parts,
) -> Result<(), Refused> {
    let name = rustix::system::uname();
    let host = Host { name: &name.nodename().to_string_lossy(), started };
    let Outcome { result, sleeps, behind, connections } =
        fortio::outcome(command, deal, run, host, &parts.payload);
    log_bad(command, run);
    let calls = result.duration_histogram.count;
    if command.log_level <= LogLevel::Warning {
        say(&text::ended(result.actual_duration, calls, result.actual_qps));
    }
    let attributes = [
        ("run", command.run_id.into()),
        ("elapsed", result.actual_duration.into()),
        ("calls", calls.into()),
        ("qps", result.actual_qps.into()),
    ];
    log(command, Level::Info, "Run ended", &attributes);
    let summary = Summary {
        result: &result,
        sleeps: sleeps.as_ref(),
        behind,
        connections: &connections,
        warmup: if command.exactly == 0 { command.threads } else { 0 },
        level: command.log_level,
    };
    say(&summary.to_string());
    let document = fortio::json::file(&result).map_err(|error| format!("fortio: {error}"))?;
    let path = command.json.clone().or_else(|| {
        let file = format!("{}.json", result.id);
        command.auto_save.then(|| Path::new(&command.data_dir).join(file).display().to_string())
    });
    match path.as_deref() {
        None => {}
        Some("-") => {
            print(|out| out.write_all(&document))?;
            say(&text::written(document.len(), "stdout"));
        }
        Some(path) => {
            std::fs::write(path, &document)
                .map_err(|error| format!("fortio: cannot write '{path}': {error}"))?;
            say(&text::written(document.len(), path));
        }
    }
    if command.log_level <= LogLevel::Warning {
        say(&text::corrected(&result));
    }
    print_verdict(run, command.as_original);
    write_document(run, command.json_result.as_deref())?;
    Ok(())
}

/// Logs how often bad statuses came, and what else went wrong.
fn log_bad(command: &Command, run: &RunResult) {
    if command.log_errors && command.call.is_none() {
        let is_good = |status: u16| (200..300).contains(&status) || status == 418;
        for (status, count) in run.status.iter().filter(|(status, _)| !is_good(**status)) {
            let attributes = [("code", (*status).into()), ("count", (*count).into())];
            log(command, Level::Warning, "Non ok http code", &attributes);
        }
    }
    for error in run.errors.iter().filter(|error| !error.kind.starts_with("expect_")) {
        let attributes = [
            ("phase", error.phase.name().into()),
            ("err", error.sample.as_str().into()),
            ("count", error.count.into()),
        ];
        log(command, Level::Error, "Calls failed", &attributes);
    }
    if let Some(condition) = &run.aborted {
        let attributes = [("run", command.run_id.into()), ("condition", condition.as_str().into())];
        log(command, Level::Info, "Aborted run", &attributes);
    }
}

/// Reads what the command names.
fn parts(command: &Command) -> Result<Parts, Refused> {
    let payload = match &command.payload {
        Payload::File(path) => files::read_or_stdin(Path::new(path), files::FILE_BYTES_MAX)
            .map_err(|why| format!("fortio: cannot read -payload-file '{path}': {why}"))?,
        _ => Vec::new(),
    };
    let pem = |flag: &str, path: &str| -> Result<Option<PemFile>, Refused> {
        if path.is_empty() {
            return Ok(None);
        }
        let bytes = files::pem(Path::new(path))
            .map_err(|why| format!("fortio: cannot read {flag} '{path}': {why}"))?;
        Ok(Some(PemFile { path: path.to_owned(), bytes: Secret::new(bytes) }))
    };
    let pems = [
        pem("-cacert", &command.ca_cert)?,
        pem("-cert", &command.cert)?,
        pem("-key", &command.key)?,
    ];
    let resolve = match command.resolve.as_str() {
        "" => None,
        text => Some(text.parse::<IpAddr>().map_err(|_| {
            format!("fortio: -resolve '{text}' is not an address: give an IP address")
        })?),
    };
    let descriptors = match command.call {
        Some(_) => plimsoll_grpc::builtin::schema()
            .map_err(|error| format!("fortio: {error}"))?
            .descriptors(),
        None => Vec::new(),
    };
    Ok(Parts { payload, pems, descriptors, resolve })
}

/// The server of the command. Without a port, that of gRPC is fortio's own.
fn endpoint(command: &Command) -> Result<Endpoint, Refused> {
    let target = &command.target;
    let has_port = target.rsplit(']').next().is_some_and(|rest| rest.contains(':'));
    let url = match command.call {
        Some(_) if !target.contains("://") && !has_port => format!("http://{target}:{GRPC_PORT}"),
        _ => command.url(),
    };
    crate::url::parse(&url).map_err(|why| Refused(format!("fortio: {why}")))
}

/// Finds out whether the JSON can be written before anything is loaded.
fn check_folder(command: &Command) -> Result<(), Refused> {
    let folder = match command.json.as_deref() {
        Some("-") => return Ok(()),
        Some(path) => Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty()),
        None if command.auto_save => Some(Path::new(&command.data_dir)),
        None => return Ok(()),
    };
    let folder = folder.unwrap_or_else(|| Path::new("."));
    let tried = tempfile::tempfile_in(folder);
    let shown = folder.display();
    tried.map(drop).map_err(|error| format!("fortio: cannot write to '{shown}': {error}").into())
}

/// Writes to stderr; where it goes there may be nobody.
fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

fn log(command: &Command, level: Level, text: &str, attributes: &[Attribute<'_>]) {
    if level.is_shown(command.log_level) {
        let unix_us = now().unix_ns.max(0) as u64 / 1000;
        let is_terminal = io::stderr().is_terminal();
        say(&fortio::line(level, unix_us, text, attributes, is_terminal));
    }
}

/// The time of the wall clock, in UTC.
fn now() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let unix_ns = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
    WallTime { unix_ns, offset_s: 0 }
}

//! `fortio load`: reads the files to send, prints the banner, warms the connections up, runs,
//! prints the report, and writes the JSON that was asked for.
//!
//! All of it goes to stderr, but for the JSON of `-json -`.

use std::path::Path;
use std::thread;

use plimsoll_core::details::Calls;
use plimsoll_core::plan::PlanErrors;
use plimsoll_core::result::Bytes;
use plimsoll_core::{Plan, RunResult};
use plimsoll_dialect::WallTime;
use plimsoll_dialect::fortio::pace::{Change, Deal, schedule};
use plimsoll_dialect::fortio::result::FortioResult;
use plimsoll_dialect::fortio::text::{self, Limit, Load, Summary};
use plimsoll_dialect::fortio::{
    self, Attribute, Command, FLAGS, Host, Level, LogLevel, Outcome, Surroundings,
};
use plimsoll_engine::RunError;
use plimsoll_runner::{Beside, Handle, Runner, RunnerError};

use super::access_log::Log;
use super::{
    Refused, check_document, endpoint, now, parts, print, print_verdict, ready, say, write_document,
};
use crate::run::{explain, stopped_by_signals};

pub(super) fn load(command: &Command) -> Result<(), Refused> {
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
    let access_log = Log::open(command)?;
    let processors = thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let used = if command.workers > 0 { command.workers } else { processors };
    let version = fortio::version();
    let access_log_text = command.access_log.as_ref().map_or_else(String::new, |log| {
        format!(" with access logger mode {} to {}", log.format(), log.path)
    });
    let load = Load {
        access_log: &access_log_text,
        ..described(command, &deal, &version, [processors, used])
    };
    say(&text::banner(&load));
    begin(command);
    let warm_up = match command.exactly {
        0 => warm_up(command, command.warm_up(endpoint, &parts))?,
        _ => Bytes::default(),
    };
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
    if let Some(log) = access_log {
        let nothing = Calls::default();
        let calls = result.details.calls.as_deref().unwrap_or(&nothing);
        log.append(command, calls, started)?;
        if calls.unkept > 0 {
            let attributes = [("count", calls.unkept.into())];
            super::log(command.log_level, Level::Warning, "Calls left out of the log", &attributes);
        }
    }
    let surroundings = Surroundings { payload: &parts.payload, warm_up };
    report(command, &deal, &result, started, surroundings)
}

/// Carries a load out and prints nothing: the caller shows the result. `started` is given a hand on
/// the run before it begins.
///
/// # Errors
/// Why there is no result, in one line.
pub(super) fn measure(
    command: &Command,
    started: impl FnOnce(Handle),
) -> Result<FortioResult, Refused> {
    let deal = Deal::of(command);
    let schedule =
        schedule(command, &deal).map_err(|_| "a run with jitter needs an end".to_owned())?;
    let parts = parts(command)?;
    let endpoint = endpoint(command)?;
    let plan = ready(command.plan(endpoint.clone(), &parts, &deal, schedule), &FLAGS)?;
    let mut surroundings = Surroundings { payload: &parts.payload, ..Surroundings::default() };
    if command.exactly == 0 {
        let warm_up = ready(command.warm_up(endpoint, &parts), &FLAGS)?.into();
        let runner = Runner::new(&warm_up, Beside::default());
        // Errors of the warm-up show again in the run, where they count.
        if let Ok(ran) = runner.run(&mut |_| {}) {
            surroundings.warm_up = ran.result.bytes;
        }
    }
    let scenarios = plan.into();
    let runner = Runner::new(&scenarios, Beside::default());
    started(runner.handle());
    let began = now();
    let run = runner.run(&mut |_| {}).map_err(explain)?.result;
    let name = rustix::system::uname();
    let host = Host { name: &name.nodename().to_string_lossy(), started: began };
    Ok(fortio::outcome(command, &deal, &run, host, surroundings).result)
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
    if let Some(carrier) = command.carrier() {
        let (target, threads) = (&command.target, command.threads);
        let qps = if command.has_rate() { command.qps } else { -1.0 };
        let text = format!(
            "Starting {} test for {target} with {threads} threads at {qps:.1} qps",
            carrier.name()
        );
        log(command, Level::Info, &text, &[]);
        return;
    }
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

/// Makes one call on each connection; gives what they sent and received. Unless errors are allowed,
/// as they are without a protocol, one that fails ends all.
fn warm_up(command: &Command, plan: Result<Plan, PlanErrors>) -> Result<Bytes, Refused> {
    let result = carry_out(command, ready(plan, &FLAGS)?);
    if command.allow_initial_errors || command.carrier().is_some() {
        return Ok(result.map_or_else(|_| Bytes::default(), |result| result.bytes));
    }
    let result = result?;
    let ledger = &result.ledger;
    if ledger.ok == ledger.scheduled || result.interrupted {
        return Ok(result.bytes);
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
    surroundings: Surroundings<'_>,
) -> Result<(), Refused> {
    let name = rustix::system::uname();
    let host = Host { name: &name.nodename().to_string_lossy(), started };
    let Outcome { result, sleeps, behind, connections } =
        fortio::outcome(command, deal, run, host, surroundings);
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

fn log(command: &Command, level: Level, text: &str, attributes: &[Attribute<'_>]) {
    super::log(command.log_level, level, text, attributes);
}

//! `fortio load`: reads the files to send, prints the banner, warms the connections up, runs,
//! prints the report, and writes the JSON that was asked for.
//!
//! All of it goes to stderr, but for the JSON of `-json -`.

use std::path::Path;
use std::process::ExitCode;
use std::thread;

use plimsoll_core::details::Calls;
use plimsoll_core::errors::ErrorCount;
use plimsoll_core::plan::Endpoint;
use plimsoll_core::{Phase, Plan, RunResult};
use plimsoll_dialect::WallTime;
use plimsoll_dialect::fortio::pace::{Deal, schedule};
use plimsoll_dialect::fortio::result::FortioResult;
use plimsoll_dialect::fortio::text::{self, Load, Summary};
use plimsoll_dialect::fortio::{
    self, Attribute, Command, FLAGS, Host, Level, LogLevel, Outcome, Parts,
};
use plimsoll_engine::{FirstFailure, RunError};
use plimsoll_runner::{Beside, Handle, News, Ran, Runner, RunnerError};

use super::access_log::Log;
use super::{
    Refused, check_document, endpoint, feed, now, parts, print, print_answer, ready, say,
    write_document,
};
use crate::destination;
use crate::feed::close;
use crate::run::{explain, stopped_by_signals};
use crate::signals::Caught;

pub(super) fn load(command: &Command) -> Result<ExitCode, Refused> {
    check_document("-json-result", command.json_result.as_deref())?;
    let deal = Deal::of(command);
    let parts = parts(command)?;
    let endpoint = endpoint(command)?;
    let prepare = |parts: &Parts| plan(command, &endpoint, parts, &deal);
    prepare(&parts)?;
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
        ..Load::of(command, &deal, &version, [processors, used])
    };
    say(&text::banner(&load));
    begin(command);
    let feed = feed(&endpoint, command.log_level > LogLevel::Warning)?;
    let (mut started, mut caught) = (now(), None);
    let result = carry_out(command, &parts, prepare, |plan| {
        let scenarios = plan.into();
        let beside = Beside { feed: feed.as_ref(), ..Beside::default() };
        let runner = Runner::new(&scenarios, beside);
        caught = Some(stopped_by_signals(&runner)?);
        Ok(runner.run(&mut |news| {
            if let News::Started(_) = news {
                started = now();
                announce(command, &deal, &load);
            }
        }))
    })?;
    if let Some(log) = access_log {
        let nothing = Calls::default();
        let calls = result.details.calls.as_deref().unwrap_or(&nothing);
        log.append(command, calls, started)?;
        if calls.unkept > 0 {
            let attributes = [("count", calls.unkept.into())];
            super::log(command.log_level, Level::Warning, "Calls left out of the log", &attributes);
        }
    }
    let reported = report(command, &deal, &result, started, &parts);
    close(feed);
    reported?;
    // The original reports a run that Ctrl-C ended like any other. Other signals end it at once,
    // with their code and without a report.
    let ended = caught.and_then(|caught: Caught| caught.code_but_of_interrupt());
    Ok(ended.unwrap_or(ExitCode::SUCCESS))
}

/// Says that the connections are warm and the load begins.
fn announce(command: &Command, deal: &Deal, load: &Load<'_>) {
    if let Some(text) = text::changed(deal) {
        log(command, Level::Warning, &text, &[]);
    }
    if command.log_level <= LogLevel::Warning {
        say(&text::starting(load));
    }
}

/// Carries a load out and prints nothing: the caller shows the result. `started` is given a hand on
/// the run before it begins. The run is stopped once nobody `waits` for it; that is looked at once
/// a second.
///
/// # Errors
/// Why there is no result, in one line.
pub(super) fn measure(
    command: &Command,
    mut started: impl FnMut(Handle),
    waits: impl Fn() -> bool,
) -> Result<FortioResult, Refused> {
    let deal = Deal::of(command);
    let parts = parts(command)?;
    let endpoint = endpoint(command)?;
    let mut began = now();
    let run = carry_out(
        command,
        &parts,
        |parts| plan(command, &endpoint, parts, &deal),
        |plan| {
            let scenarios = plan.into();
            let runner = Runner::new(&scenarios, Beside::default());
            started(runner.handle());
            let handle = runner.handle();
            Ok(runner.run(&mut |news| match news {
                News::Started(_) => began = now(),
                News::Interval(..) if !waits() => handle.stop(),
                _ => {}
            }))
        },
    )?;
    let name = rustix::system::uname();
    let host = Host { name: &name.nodename().to_string_lossy(), started: began };
    Ok(fortio::outcome(command, &deal, &run, host, &parts.payload).result)
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

/// The plan of a command.
fn plan(
    command: &Command,
    endpoint: &Endpoint,
    parts: &Parts,
    deal: &Deal,
) -> Result<Plan, Refused> {
    let schedule = schedule(command, deal).map_err(|_| {
        "fortio: -jitter and -as-original keep the time of each call, up to 10 000 000: lower -qps \
         or -t, or give -n"
            .to_owned()
    })?;
    Ok(ready(command.plan(endpoint.clone(), parts, deal, schedule), &FLAGS)?)
}

/// Warms the connections up and loads the server. If no connection can be opened and the command
/// goes on regardless, each call of the load tries to open one.
fn carry_out(
    command: &Command,
    parts: &Parts,
    prepare: impl Fn(&Parts) -> Result<Plan, Refused>,
    mut run: impl FnMut(Plan) -> Result<Result<Ran, RunnerError>, Refused>,
) -> Result<RunResult, Refused> {
    let mut ran = run(prepare(parts)?)?;
    if command.counts_initial_errors()
        && matches!(ran, Err(RunnerError::Run(RunError::Unreachable { .. })))
    {
        ran = run(prepare(&Parts { connects_each: true, ..parts.clone() })?)?;
    }
    ran.map(|ran| ran.result).map_err(|error| match error {
        RunnerError::Run(ref cause @ (RunError::Unreachable { .. } | RunError::Resolve(_))) => {
            let target = &command.target;
            Refused(format!("Aborting because of error -1 for {target} (0 bytes): {cause}"))
        }
        RunnerError::Run(RunError::FirstRequest(failure)) => cold(command, &failure),
        error => explain(error).into(),
    })
}

/// A connection that could not be warmed up.
fn cold(command: &Command, failure: &FirstFailure) -> Refused {
    let is_good = |status: u16| (200..300).contains(&status) || status == 418;
    let bad = failure.statuses.iter().find(|status| !is_good(**status));
    let (target, FirstFailure { bytes, reason, .. }) = (&command.target, failure);
    Refused(match (&command.call, bad) {
        (None, Some(status)) => {
            format!("Aborting because of error {status} for {target} ({bytes} bytes)")
        }
        (None, None) => format!("Aborting because of error -1 for {target} (0 bytes): {reason}"),
        (Some(_), _) => format!("Aborting because of a call of {target} that failed: {reason}"),
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
        warmup: run.warmup.as_ref().map_or(0, |warmup| warmup.ledger.sent),
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
            destination::write(Path::new(path), &document)
                .map_err(|error| format!("fortio: cannot write '{path}': {error}"))?;
            say(&text::written(document.len(), path));
        }
    }
    if command.log_level <= LogLevel::Warning {
        say(&text::corrected(&result));
    }
    print_answer(run, command.as_original);
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
        log(command, Level::Error, failure(error), &attributes);
    }
    if let Some(condition) = &run.aborted {
        let attributes = [("run", command.run_id.into()), ("condition", condition.as_str().into())];
        log(command, Level::Info, "Aborted run", &attributes);
    }
}

/// What an error is about. Not each of them is of a call.
fn failure(error: &ErrorCount) -> &'static str {
    match (error.phase, error.kind.as_str()) {
        (_, "unsolicited") => "Bytes that answer no call",
        (Phase::Connect | Phase::Tls, _) => "Unable to connect",
        _ => "Calls failed",
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

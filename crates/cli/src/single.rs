//! `plimsoll request`: the first request of a run and its response, to look at.
//!
//! It is a run of one request, whose result holds the transcript. So the bytes are those that `run`
//! sends, and the response is judged by the same rules.

use std::process::ExitCode;

use plimsoll_core::outcome::Outcome;
use plimsoll_core::scenario::Scenarios;
use plimsoll_core::transcript::Transcript;
use plimsoll_core::{Phase, RunResult};
use plimsoll_report::failures::no_response;
use plimsoll_report::transcript::lines;
use plimsoll_runner::{Beside, Runner};

use crate::ending::say;
use crate::exit::{self, COULD_NOT_RUN, Exit, GATE};
use crate::run::{not_run, stopped_by_signals};
use crate::run_args::RunFlags;
use crate::value_args::is_script;

/// Sends a request and shows what came back.
///
/// # Errors
/// Flags that make no request, and a server that is not there.
pub(crate) fn single(flags: &RunFlags) -> Result<ExitCode, Exit> {
    if let Some(script) = flags.url.as_deref().filter(|url| is_script(url)) {
        return Err(Exit::Usage(format!(
            "a k6 script decides what it sends: look at that with `plimsoll k6 run \
             --http-debug=full -i 1 {script}`"
        )));
    }
    let scenarios: Scenarios = crate::plan::of_one_request(flags)?.into();
    let beside = Beside { wait_ns: flags.wait, ..Beside::default() };
    let runner = Runner::new(&scenarios, beside);
    let caught = stopped_by_signals(&runner)?;
    let ran = runner.run(&mut |_| {}).map_err(|error| not_run(error, flags.wait.is_some()))?;
    let code = show(&ran.result, flags.outputs.quiet)?;
    Ok(caught.code().unwrap_or(code))
}

/// Shows the request with the redirects that were followed, and says why it failed.
fn show(result: &RunResult, is_quiet: bool) -> Result<ExitCode, Exit> {
    let first = &result.details.transcripts.first;
    if !is_quiet {
        exit::write(shown(first, resolve_ns(result)).as_bytes())?;
    }
    let failure = first.last().and_then(|last| last.failure.as_deref());
    let code = match (first.last().map(|last| last.outcome), failure) {
        (Some(Outcome::Completed { .. }), None) => 0,
        (Some(Outcome::Completed { .. }), Some(failure)) => {
            say(&[format!("the response is not as expected: {failure}")]);
            GATE
        }
        _ => {
            say(&[no_response(result)]);
            COULD_NOT_RUN
        }
    };
    Ok(ExitCode::from(code))
}

fn shown(transcripts: &[Transcript], resolve_ns: Option<u64>) -> String {
    let mut text = String::new();
    for (place, transcript) in transcripts.iter().enumerate() {
        for line in lines(transcript, resolve_ns.filter(|_| place == 0)) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

/// How long it took to look the server's name up, where that was done.
fn resolve_ns(result: &RunResult) -> Option<u64> {
    result.phases[Phase::Dns].max_ns()
}

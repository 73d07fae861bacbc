//! `plimsoll wrk`, `wrk2`, `ab` and `fortio`: the command lines and the output of other testers,
//! around our engine. The program also answers to their names, for example as a symlink called
//! `wrk`.
//!
//! Their output goes where they write it, byte for byte in their form. Our verdict goes to stderr.

mod ab;
mod fortio;
mod wrk;

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use plimsoll_core::plan::{Endpoint, Field, PlanErrors, Words};
use plimsoll_core::{Plan, RunResult};
use plimsoll_dialect::UsageText;
use plimsoll_outputs::Feed;
use plimsoll_report::failures::unanswered;
use plimsoll_report::text;

use crate::args::{Original, run_definition};
use crate::destination::{self, Destination};
use crate::ending::say;
use crate::exit::{self, Exit};
use crate::fault::{Fault, Flags};
use crate::feed_args::FeedFlags;
use crate::message;
use crate::terminal::columns_of_stderr;

/// The tester whose name this program was started by.
pub(crate) fn named(program: &OsStr) -> Option<&'static str> {
    let name = Path::new(program).file_name()?.to_str()?;
    ["wrk", "wrk2", "ab", "k6", "fortio"].into_iter().find(|known| *known == name)
}

/// Runs as the other tester does.
///
/// # Errors
/// When nothing could be run.
pub(crate) fn run(original: Original, arguments: &[String]) -> Result<ExitCode, Exit> {
    match original {
        Original::Wrk => wrk::run(plimsoll_dialect::wrk::Flavour::Wrk, arguments),
        Original::Wrk2 => wrk::run(plimsoll_dialect::wrk::Flavour::Wrk2, arguments),
        Original::Ab => ab::run(arguments),
        Original::Fortio => fortio::run(arguments),
    }
}

/// The words of another tester for the fields of a plan; those of `plimsoll run` for what it has
/// no word for.
struct Foreign(&'static [(Field, &'static str)]);

impl Foreign {
    fn word(&self, field: Field) -> Option<&'static str> {
        self.0.iter().find(|(known, _)| *known == field).map(|(_, word)| *word)
    }
}

impl Words for Foreign {
    fn name(&self, field: Field) -> String {
        self.word(field).map_or_else(|| Flags::new(&run_definition()).name(field), str::to_owned)
    }

    fn given(&self, field: Field, value: &str) -> String {
        format!("{} {value}", self.name(field))
    }
}

/// A plan that the engine can carry out, too.
fn ready(
    plan: Result<Plan, PlanErrors>,
    words: &'static [(Field, &'static str)],
) -> Result<Plan, Exit> {
    let ready = plan.map_err(Fault::from).and_then(|plan| {
        plimsoll_engine::check(&plan)?;
        Ok(plan)
    });
    ready.map_err(|fault| fault.told(&Foreign(words)))
}

/// Opens the outputs that the environment names: no command line of another tester names ours.
fn feed(endpoint: &Endpoint, is_quiet: bool) -> Result<Option<Feed>, Exit> {
    crate::feed::open(&FeedFlags::default(), Some(endpoint), is_quiet)
}

/// Prints what is printed instead of a run.
fn print_usage(usage: &UsageText) -> ExitCode {
    if let Err(exit) = exit::write(usage.stdout.as_bytes()) {
        return exit.report();
    }
    // A closed stderr is no reason to fail.
    let _ = io::stderr().write_all(message::shown(&usage.stderr).as_bytes());
    ExitCode::from(usage.code)
}

fn warn(program: &str, warnings: &[String]) {
    for warning in warnings {
        message::show(&format!("{program}: {warning}"));
    }
}

/// Says on stderr what the figures are worth, and what came where no response did: the exit code is
/// the original's, which may be 0 then.
fn print_answer(result: &RunResult, quiet: bool) {
    if !quiet {
        let mut lines = Vec::new();
        // Writing to memory does not fail.
        let style = text::Style { color: false, width: columns_of_stderr() };
        let _ = text::write_answer(result, &mut lines, style);
        let _ = io::stderr().write_all(&lines);
        say(unanswered(result).as_slice());
    }
}

/// Refuses to write our own document where the other's output goes.
fn check_document(flag: &str, path: Option<&str>) -> Result<(), Exit> {
    match path {
        Some("-") => {
            let text = format!("the report and {flag} would both go to stdout: give a file");
            Err(Exit::Usage(text))
        }
        Some(path) => {
            let cannot = |error| Exit::CouldNotRun(format!("cannot write '{path}': {error}"));
            Destination::open(Path::new(path)).map(drop).map_err(cannot)
        }
        None => Ok(()),
    }
}

/// Writes our own document beside the other's output, where asked for.
fn write_document(result: &RunResult, path: Option<&str>) -> Result<(), Exit> {
    let Some(path) = path else { return Ok(()) };
    let cannot = |error: io::Error| Exit::CouldNotRun(format!("cannot write '{path}': {error}"));
    let mut out = Vec::new();
    plimsoll_report::json::write(result, &mut out).map_err(cannot)?;
    destination::write(Path::new(path), &out).map_err(cannot)
}

/// Writes to stdout; a reader that has gone away has read enough.
fn print(write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> Result<(), Exit> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Exit::CouldNotRun(format!("stdout: {error}")))
        }
        _ => Ok(()),
    }
}

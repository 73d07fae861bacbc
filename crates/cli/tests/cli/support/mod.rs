//! What both test binaries stand on: our program as a child process under a hard time limit, its
//! built-in server, and result documents that are checked whole whenever they are read.

mod process;
mod report;
mod server;

pub(crate) use process::{Finished, Running, Stream, plimsoll, run, without_options_of_k6};
pub(crate) use report::{Report, check_schema};
pub(crate) use server::Server;

/// Runs the program with `--format json` added and reads its report. The exit code says whether any
/// response came.
pub(crate) fn measure(arguments: &[&str]) -> Report {
    let finished = run(plimsoll(arguments).args(["--format", "json"]));
    assert!(matches!(finished.code, Some(0 | 1)), "{arguments:?}: {finished:?}");
    let report = Report::read(&finished.stdout);
    let code = i32::from(report.ledger(["completed"]) == [0]);
    assert_eq!(finished.code, Some(code), "{arguments:?}: {finished:?}");
    report
}

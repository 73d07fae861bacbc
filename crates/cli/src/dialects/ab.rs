//! Runs as ab does: parse, read the files to send, print the banner, run, print progress, print the
//! report, write the files that were asked for.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use plimsoll_dialect::UsageText;
use plimsoll_dialect::ab::{self, Command, Files, Heartbeat, ending};
use plimsoll_engine::RunError;
use plimsoll_runner::{Beside, News, Runner, RunnerError};

use super::{check_document, feed, print, print_answer, print_usage, ready, warn, write_document};
use crate::destination;
use crate::exit::Exit;
use crate::feed::close;
use crate::run::{explain, stopped_by_signals};

pub(super) fn run(arguments: &[String]) -> Result<ExitCode, Exit> {
    let command = match ab::parse("ab", arguments) {
        Ok(command) => command,
        Err(usage) => return Ok(print_usage(&usage)),
    };
    check_document("--json-result", command.json_path.as_deref())?;
    if !command.quiet {
        warn("ab", &command.warnings);
    }
    let files = match read(&command) {
        Ok(files) => files,
        Err(usage) => return Ok(print_usage(&usage)),
    };
    let plan = ready(command.plan(files), &ab::FLAGS)?;
    let scenarios = plan.clone().into();
    let feed = feed(&plan.endpoint, command.quiet)?;
    let runner = Runner::new(&scenarios, Beside { feed: feed.as_ref(), ..Beside::default() });
    // The original reports an interrupted run like any other.
    stopped_by_signals(&runner)?;
    let mut progress = Heartbeat::new(&command);
    print(|out| ab::banner(&command, &plan, out))?;
    let ran = runner.run(&mut |news| {
        let News::Interval(figures, _) = news else { return };
        // Where it goes there may be nobody.
        let _ = io::stderr().write_all(progress.lines(figures.ledger.completed).as_bytes());
    });
    let result = match ran {
        Ok(ran) => ran.result,
        Err(RunnerError::Run(RunError::Unreachable { reason, .. })) => {
            return Ok(print_usage(&ab::not_reached(&reason)));
        }
        Err(RunnerError::Run(RunError::Resolve(_))) => {
            return Ok(print_usage(&ab::name_not_found(&command.endpoint.host)));
        }
        Err(error) => return Err(explain(error)),
    };
    let _ = io::stderr().write_all(progress.lines(result.ledger.completed).as_bytes());
    let end = ending(&command, &result);
    let _ = io::stderr().write_all(end.stderr.as_bytes());
    print(|out| out.write_all(end.stdout.as_bytes()))?;
    if end.report {
        print(|out| ab::report(&command, &result, out))?;
        let written = [
            ("CSV", &command.csv_path, ab::csv(&command, &result)),
            ("gnuplot", &command.gnuplot_path, ab::gnuplot(&result, 0)),
        ];
        for (what, path, text) in written {
            let (Some(path), Some(text)) = (path, text) else { continue };
            if let Err(error) = destination::write(Path::new(path), text.as_bytes()) {
                return Ok(print_usage(&ab::file_not_written(what, &error.to_string())));
            }
        }
    }
    print_answer(&result, command.quiet);
    close(feed);
    write_document(&result, command.json_path.as_deref())?;
    Ok(ExitCode::from(end.code))
}

/// Reads the files that the command names.
fn read(command: &Command) -> Result<Files, UsageText> {
    let body = command.body_path.as_ref().map(|path| {
        std::fs::read(path).map_err(|error| ab::file_not_read(path, &error.to_string()))
    });
    let certificate = command.certificate_path.as_ref().map(|path| {
        std::fs::read(path).map_err(|error| ab::certificate_not_read(path, &error.to_string()))
    });
    Ok(Files { body: body.transpose()?, certificate: certificate.transpose()? })
}

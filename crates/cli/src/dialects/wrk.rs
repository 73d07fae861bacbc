//! Runs as wrk and wrk2 do: parse, print the head, run, print the report, call the script's `done`.

use std::process::ExitCode;

use plimsoll_dialect::wrk::{self, Flavour, Periodic};
use plimsoll_engine::{Progress, RunError};
use plimsoll_script::lua::Api;

use super::{check_document, load, print, print_usage, print_verdict, ready, warn, write_document};
use crate::exit::Exit;
use crate::run::explain;
use crate::script::Scripts;

pub(super) fn run(flavour: Flavour, arguments: &[String]) -> Result<ExitCode, Exit> {
    let (program, api) = match flavour {
        Flavour::Wrk => ("wrk", Api::Wrk),
        Flavour::Wrk2 => ("wrk2", Api::Wrk2),
    };
    let command = match wrk::parse(flavour, program, arguments) {
        Ok(command) => command,
        Err(usage) => return Ok(print_usage(&usage)),
    };
    check_document("--json-result", command.json_result.as_deref())?;
    warn(program, &command.warnings);
    print(|out| out.write_all(command.preamble.as_bytes()))?;
    let Ok(endpoint) = crate::url::parse(&command.url) else {
        let usage = wrk::invalid_url(flavour, &command.url);
        return Ok(print_usage(&usage));
    };
    let text = command.script.as_deref().map(crate::script::read).transpose();
    let text = text.map_err(Exit::CouldNotRun)?;
    let plan = ready(command.plan(endpoint, text), &wrk::FLAGS)?;
    let (control, loading) = super::control()?;
    let mut scripts = Scripts::load(&plan, api, &command.url, &loading)?;
    let mut periodic = Periodic::new(&command);
    let mut printed = Ok(());
    let ran = load(&plan, &mut scripts, &control, &mut |progress| {
        let said = match (progress, &mut periodic) {
            (Progress::Started { .. }, _) => print(|out| wrk::write_head(&command, out)),
            (Progress::Interval(point), Some(periodic)) => {
                print(|out| periodic.push(point, out).map(drop))
            }
            (Progress::Measuring, _) | (Progress::Interval(_), None) => Ok(()),
        };
        if said.is_err() {
            printed = said;
        }
    });
    let result = match ran {
        Ok(result) => result,
        Err(RunError::Unreachable { address, reason }) => {
            let (host, service) = address.rsplit_once(':').unwrap_or((&address, ""));
            let usage = wrk::unable_to_connect(host, service, &reason);
            return Ok(print_usage(&usage));
        }
        Err(error) => return Err(explain(error)),
    };
    printed?;
    if let Some(scripts) = &mut scripts {
        scripts.flush();
    }
    match &mut periodic {
        Some(periodic) => print(|out| periodic.finish(&result, out))?,
        None => print(|out| wrk::write_report(&command, &result, out))?,
    }
    print_verdict(&result, command.quiet);
    write_document(&result, command.json_result.as_deref())?;
    // Last, because a script may end the program in it.
    if let Some(scripts) = &mut scripts {
        scripts.done(&result)?;
    }
    Ok(ExitCode::SUCCESS)
}

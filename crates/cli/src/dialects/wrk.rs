//! Runs as wrk and wrk2 do: parse, print the head, run, print the report, call the script's `done`.

use std::process::ExitCode;

use plimsoll_core::scenario::Scenarios;
use plimsoll_dialect::wrk::{self, Flavour, Periodic};
use plimsoll_engine::RunError;
use plimsoll_runner::{Beside, News, Runner, RunnerError};

use super::{check_document, feed, print, print_answer, print_usage, ready, warn, write_document};
use crate::exit::Exit;
use crate::feed::close;
use crate::run::{explain, stopped_by_signals};

/// A URL without `USER:PASS@`, which wrk takes and does not send.
fn without_userinfo(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

pub(super) fn run(flavour: Flavour, arguments: &[String]) -> Result<ExitCode, Exit> {
    let program = match flavour {
        Flavour::Wrk => "wrk",
        Flavour::Wrk2 => "wrk2",
    };
    let command = match wrk::parse(flavour, program, arguments) {
        Ok(command) => command,
        Err(usage) => return Ok(print_usage(&usage)),
    };
    check_document("--json-result", command.json_result.as_deref())?;
    warn(program, &command.warnings);
    print(|out| out.write_all(command.preamble.as_bytes()))?;
    let url = without_userinfo(&command.url);
    let Ok(endpoint) = crate::url::parse(&url) else {
        let usage = wrk::invalid_url(flavour, &command.url);
        return Ok(print_usage(&usage));
    };
    let text = command.script.as_deref().map(crate::files::script).transpose();
    let text = text.map_err(Exit::CouldNotRun)?;
    let scenarios: Scenarios = ready(command.plan(endpoint, text), &wrk::FLAGS)?.into();
    let feed = feed(&scenarios.run().endpoint, command.quiet)?;
    let beside = Beside { script_url: Some(&url), feed: feed.as_ref(), ..Beside::default() };
    let runner = Runner::new(&scenarios, beside);
    // The originals report an interrupted run like any other.
    stopped_by_signals(&runner)?;
    let mut periodic = Periodic::new(&command);
    let mut printed = Ok(());
    let ran = runner.run(&mut |news| {
        let said = match (news, &mut periodic) {
            (News::Started(_), _) => print(|out| wrk::write_head(&command, out)),
            (News::Interval(_, point), Some(periodic)) => {
                print(|out| periodic.push(point, out).map(drop))
            }
            _ => Ok(()),
        };
        if said.is_err() {
            printed = said;
        }
    });
    let mut ran = match ran {
        Ok(ran) => ran,
        Err(RunnerError::Run(RunError::Unreachable { address, reason, .. })) => {
            let (host, service) = address.rsplit_once(':').unwrap_or((&address, ""));
            let usage = wrk::unable_to_connect(host, service, &reason);
            return Ok(print_usage(&usage));
        }
        Err(error) => return Err(explain(error)),
    };
    printed?;
    ran.flush_script();
    match &mut periodic {
        Some(periodic) => print(|out| periodic.finish(&ran.result, out))?,
        None => print(|out| wrk::write_report(&command, &ran.result, out))?,
    }
    print_answer(&ran.result, command.quiet);
    close(feed);
    write_document(&ran.result, command.json_result.as_deref())?;
    // Last, because a script may end the program in it.
    ran.finish_script().map_err(explain)?;
    Ok(ExitCode::SUCCESS)
}

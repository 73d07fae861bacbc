//! `plimsoll doctor`: whether this host is fit to measure, and what a planned run asks of it.
//!
//! Reading and measuring (`readings`, `measure`) is separate from judging (`host`, `planned`),
//! which is done by functions of plain values.

mod finding;
mod host;
mod measure;
mod planned;
mod readings;
mod show;
#[cfg(test)]
mod tests;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use plimsoll_io::host::resolve;

use crate::args::{DoctorFlags, Planned};
use crate::exit::{self, COULD_NOT_RUN, Exit};
use crate::terminal::{columns, has_color};
use finding::Level;
use planned::Planning;
use readings::Readings;

/// Examines the host and says what was found.
///
/// # Errors
/// Usage, when the planned run's flags make no sense; a report that cannot be written.
pub(crate) fn doctor(flags: &DoctorFlags) -> Result<ExitCode, Exit> {
    let plan = match &flags.planned {
        Some(Planned::Run(run)) => Some(crate::plan::plan(run)?),
        None => None,
    };
    if !flags.quick && std::io::stderr().is_terminal() {
        // A courtesy: a user who waits should know how long.
        let _ = writeln!(std::io::stderr(), "measuring the floor of this host: some ten seconds");
    }
    let readings = Readings::take(flags.quick);
    let mut findings = host::judge(&readings);
    if let Some(plan) = &plan {
        let endpoint = &plan.endpoint;
        let addresses = match plan.transport.unix_socket {
            Some(_) => Ok(Vec::new()),
            None => resolve(&endpoint.host, endpoint.port).map_err(|error| error.to_string()),
        };
        findings.extend(planned::judge(&Planning { plan, addresses }, &readings));
    }
    let text = if flags.json {
        show::json(&findings)
    } else {
        show::text(&findings, has_color(flags.no_color), columns(true))
    };
    exit::write(text.as_bytes())?;
    let is_bad = findings.iter().any(|finding| finding.level == Level::Bad);
    Ok(if flags.strict && is_bad { ExitCode::from(COULD_NOT_RUN) } else { ExitCode::SUCCESS })
}

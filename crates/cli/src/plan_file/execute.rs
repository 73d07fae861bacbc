//! Carrying out the runs of a plan, one after the other. What is wrong with any of them is said
//! before the first one starts.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Command;

use super::{Prepared, Runs, print};
use crate::args::{Format, RunFlags};
use crate::ending::say;
use crate::exit::{COULD_NOT_RUN, Exit, GATE, USAGE, VERDICT};
use crate::outputs::{has_report_on_stdout, is_stdout};

/// Codes of runs, the worst first. The plan's is the worst of them.
const WORST_FIRST: [u8; 5] = [COULD_NOT_RUN, USAGE, GATE, VERDICT, 0];

/// Carries out the runs, or prints them.
///
/// # Errors
/// Whatever keeps one of them from being started: nothing is run then.
pub(crate) fn execute(runs: &Runs) -> Result<ExitCode, Exit> {
    let definition = crate::args::run_definition();
    let mut prepared = Vec::new();
    for run in &runs.runs {
        prepared.extend(run.prepare(&definition)?);
    }
    if runs.print {
        return Err(Exit::Text(print::print(&runs.runs, &definition)?));
    }
    if let [only] = &prepared[..] {
        return crate::run::run_plan(&only.plan, &only.flags);
    }
    check_outputs(runs, &definition)?;
    check_stdout(&prepared)?;
    let mut worst = ExitCode::SUCCESS;
    for (i, run) in prepared.iter().enumerate() {
        announce(run, i, prepared.len())?;
        let code = match crate::run::run_plan(&run.plan, &run.flags) {
            Ok(code) => {
                if severity(code).is_some() && code != ExitCode::SUCCESS {
                    // Why stands above: on stderr or, unless it is quiet, in the report.
                    say(&[format!("run '{}' failed", run.name)]);
                }
                code
            }
            Err(exit) => exit.map(|text| format!("run '{}': {text}", run.name)).report(),
        };
        match (severity(code), severity(worst)) {
            // Interrupted, which ends all.
            (None, _) => return Ok(code),
            (Some(this), Some(before)) if this < before => worst = code,
            _ => {}
        }
    }
    Ok(worst)
}

/// How bad a code is, 0 the worst; `None` for that of an interrupted run.
fn severity(code: ExitCode) -> Option<usize> {
    WORST_FIRST.iter().position(|known| code == ExitCode::from(*known))
}

/// A report must not take the place of another run's.
fn check_outputs(runs: &Runs, definition: &Command) -> Result<(), Exit> {
    let mut taken: BTreeMap<PathBuf, String> = BTreeMap::new();
    for run in &runs.runs {
        for name in run.names() {
            for (key, path) in run.settings.outputs(&name, definition) {
                // Devices and pipes may take several.
                let is_stream = is_stdout(&path) || (path.exists() && !path.is_file());
                let text = path.display().to_string();
                match taken.insert(path, name.clone()) {
                    Some(earlier) if earlier != name && !is_stream => {
                        let text = format!(
                            "runs '{earlier}' and '{name}' would both write '{text}': put {{name}} \
                             into the path, as in --{key} '{{name}}.out'"
                        );
                        return Err(Exit::Usage(text));
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

/// Pages one after the other are no page.
fn check_stdout(prepared: &[Prepared]) -> Result<(), Exit> {
    let is_page = |run: &&Prepared| {
        let outputs = &run.flags.outputs;
        let is_report = outputs.format == Some(Format::Html) && has_report_on_stdout(outputs);
        is_report || outputs.html.as_deref().is_some_and(is_stdout)
    };
    if prepared.iter().filter(is_page).count() > 1 {
        let text = "several HTML reports do not go to one stdout: give -o '{name}.html'";
        return Err(Exit::Usage(text.to_owned()));
    }
    Ok(())
}

/// Says which run's report comes next, where a person reads the reports.
fn announce(run: &Prepared, index: usize, of: usize) -> Result<(), Exit> {
    if !has_heading(&run.flags) {
        return Ok(());
    }
    let gap = if index == 0 { "" } else { "\n" };
    let mut out = io::stdout().lock();
    let written = writeln!(out, "{gap}== {} ({} of {of}) ==", run.name, index + 1);
    match written.and_then(|()| out.flush()) {
        // A reader that has gone away has read enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Exit::CouldNotRun(format!("stdout: {error}")))
        }
        _ => Ok(()),
    }
}

fn has_heading(flags: &RunFlags) -> bool {
    let format = flags.outputs.format.unwrap_or(Format::Text);
    format == Format::Text && has_report_on_stdout(&flags.outputs)
}

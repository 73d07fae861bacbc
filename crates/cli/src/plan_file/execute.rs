//! Runs the plans of a file. Every run is checked before the first one starts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Command;

use super::{Prepared, Runs, print};
use crate::exit::Exit;
use crate::output_args::Format;
use crate::outputs::{has_report_on_stdout, is_stdout};
use crate::repeat::{Job, take_turns};

/// Carries out the runs, or prints them.
///
/// # Errors
/// Whatever keeps one of them from being started: nothing is run then.
pub(crate) fn execute(runs: &Runs) -> Result<ExitCode, Exit> {
    let definition = crate::args::run_definition();
    let prepared = runs.runs.iter().map(|run| run.prepare(&runs.beside, &definition));
    let prepared = prepared.collect::<Result<Vec<Prepared>, Exit>>()?;
    if runs.print {
        return Err(Exit::Text(print::print(&runs.runs, &definition)?));
    }
    check_outputs(runs, &definition)?;
    check_stdout(&prepared)?;
    let jobs =
        prepared.iter().map(|Prepared { name, flags, load }| Job { name: Some(name), flags, load });
    take_turns(&jobs.collect::<Vec<_>>())
}

/// A report must not take the place of another run's.
fn check_outputs(runs: &Runs, definition: &Command) -> Result<(), Exit> {
    let mut taken: BTreeMap<PathBuf, String> = BTreeMap::new();
    for run in &runs.runs {
        let name = run.name();
        for (key, path) in run.settings.outputs(name, definition) {
            // Devices and pipes may take several.
            let is_stream = is_stdout(&path) || (path.exists() && !path.is_file());
            let text = path.display().to_string();
            match taken.insert(path, name.to_owned()) {
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

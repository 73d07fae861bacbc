//! The whole suite: experiments × testers × repeats, interleaved, and their findings.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[cfg(test)]
mod tests;

use crate::experiments::{Experiment, LEFT_OUT};
use crate::findings::{Cell, Findings, Omitted, Participant, Row, SCHEMA};
use crate::harness::{Bench, Disturbance, Process, Subject};
use crate::judge::Judgement;
use crate::options::SuiteOptions;
use crate::tool::TesterAdapter;

/// How long a tester may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// How often an experiment is made that fails on a machine that is busy with other things.
const ATTEMPTS: u32 = 3;

/// Runs the experiments on the testers. `progress` hears what is next and what came of it.
pub fn run(
    order: &SuiteOptions,
    experiments: &[Experiment],
    subjects: &[Subject],
    progress: &mut dyn FnMut(&str),
) -> Findings {
    let bench = Bench::new(order);
    let rows =
        experiments.iter().map(|experiment| row(&bench, order, experiment, subjects, progress));
    let experiments = rows.collect();
    let tools = subjects.iter().map(|subject| Participant {
        name: subject.tool.name().to_owned(),
        version: subject.version.clone(),
    });
    let left_out = LEFT_OUT.iter().map(|left| Omitted {
        mistake: left.row,
        title: left.title.to_owned(),
        why: left.why.to_owned(),
    });
    Findings {
        schema: SCHEMA.to_owned(),
        tools: tools.collect(),
        experiments,
        left_out: left_out.collect(),
    }
}

fn row(
    bench: &Bench,
    order: &SuiteOptions,
    experiment: &Experiment,
    subjects: &[Subject],
    progress: &mut dyn FnMut(&str),
) -> Row {
    let mut cells: Vec<Cell> = subjects
        .iter()
        .map(|subject| Cell {
            tool: subject.tool.name().to_owned(),
            repeats: Vec::new(),
            others_share: None,
        })
        .collect();
    // Interleaved, so that what changes on the machine changes for all.
    for _ in 0..order.repeats {
        for (subject, cell) in subjects.iter().zip(&mut cells) {
            if bench.is_stopped() {
                continue;
            }
            progress(&format!("{} {} ...", experiment.name, subject.tool.name()));
            let (outcome, others) = one(bench, experiment, subject);
            progress(&format!("  {}: {}", outcome.word(), outcome.details()));
            cell.others_share = others.into_iter().chain(cell.others_share).reduce(f64::max);
            cell.repeats.push(outcome);
        }
    }
    Row {
        name: experiment.name.to_owned(),
        mistake: experiment.row,
        title: experiment.title.to_owned(),
        cells,
    }
}

/// An experiment on a tester, and the share of the machine that others used. A tester that passes
/// although CPU time was taken from it has passed. A failure says nothing where that can cause it:
/// the experiment is made again.
fn one(bench: &Bench, experiment: &Experiment, subject: &Subject) -> (Judgement, Option<f64>) {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        bench.begin(experiment.needs_quiet);
        let (Ok(outcome) | Err(outcome)) = (experiment.run)(bench, subject);
        let Disturbance { stolen_share, others_share } = bench.take_disturbance();
        let excuse = match (stolen_share, others_share) {
            (Some(share), _) => Some(("the hypervisor took", share)),
            (None, Some(share)) if experiment.needs_quiet => Some(("other processes used", share)),
            _ => None,
        };
        match (outcome, excuse) {
            (Judgement::Fail { figure, expected }, Some((what, share))) => {
                let share = share * 100.0;
                let why =
                    format!("{what} {share:.1} % of the CPUs' time: {figure}; expected {expected}");
                last = Some((Judgement::Unmeasured { why }, others_share));
            }
            (judged, _) => return (judged, others_share),
        }
    }
    last.unwrap_or_else(|| (Judgement::broken("not attempted"), None))
}

/// A tester as it is installed here: its program, which has to start, and its version.
///
/// # Errors
/// One line, when it cannot be started.
pub fn subject(
    tool: Box<dyn TesterAdapter>,
    program: &Path,
    scratch: &Path,
) -> Result<Subject, String> {
    let cannot =
        |error: std::io::Error| format!("{} ({}): {error}", tool.name(), program.display());
    let file = std::fs::File::create(scratch.join("version")).map_err(cannot)?;
    let mut command = Command::new(program);
    command.args(tool.version_arguments()).stdin(Stdio::null());
    command.stderr(file.try_clone().map_err(cannot)?).stdout(file);
    let mut process = Process::start(command, &[]).map_err(cannot)?;
    // A tester may complain about its arguments and still say what it is.
    process.finish(VERSION_LIMIT).map_err(cannot)?;
    let said = std::fs::read_to_string(scratch.join("version")).unwrap_or_default();
    let version = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("unknown");
    let version = version.trim().chars().take(60).collect();
    Ok(Subject { tool, program: program.to_path_buf(), version })
}

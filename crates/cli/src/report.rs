//! `plimsoll report`: writes a result document as any of the reports that its run could have
//! written, and a result of another tester as those that it has figures for.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use plimsoll_core::gate;
use plimsoll_core::repeats::Repeats;
use plimsoll_core::result::SCHEMA;
use plimsoll_report::failures::unmet_gates;

use crate::args::ReportFlags;
use crate::document::{self, Document};
use crate::ending::{gates_code, say};
use crate::exit::{Exit, GATE, VERDICT};
use crate::outputs::Outputs;
use crate::{find, foreign, repeat, study};

/// The document in the folder of a study.
const STUDY: &str = "study.json";

/// Writes the reports.
///
/// # Errors
/// A file that cannot be read or is not a document, gates that cannot be read, and reports that
/// cannot be written.
pub(crate) fn report(flags: &ReportFlags) -> Result<ExitCode, Exit> {
    let mut result = match read(&flags.file)? {
        Document::Result(result) => *result,
        Document::Study(_) if !flags.gate.is_empty() => {
            let text = "--gate judges one run; compare studies with plimsoll compare --fail-if";
            return Err(Exit::Usage(text.to_owned()));
        }
        Document::Repeats(mut repeats) => return report_repeats(&mut repeats, flags),
        Document::Study(document) => {
            study::report(&document, &flags.outputs)?;
            return Ok(ExitCode::SUCCESS);
        }
        Document::Foreign(result) => {
            foreign::report(&result, flags)?;
            return Ok(ExitCode::SUCCESS);
        }
        Document::Find(_) | Document::FindClosed(_) if !flags.gate.is_empty() => {
            let text = "--gate judges one run; a search has its objectives";
            return Err(Exit::Usage(text.to_owned()));
        }
        Document::Find(found) => {
            find::report(&found, &flags.outputs)?;
            return Ok(ExitCode::SUCCESS);
        }
        Document::FindClosed(found) => {
            find::report_closed(&found, &flags.outputs)?;
            return Ok(ExitCode::SUCCESS);
        }
        Document::Other(schema) => return Err(Exit::CouldNotRun(stranger(&flags.file, schema))),
    };
    if !flags.gate.is_empty() {
        result.gates =
            gate::judge(&flags.gate, &result).map_err(|error| Exit::Usage(error.to_string()))?;
    }
    let code = if flags.gate.is_empty() { 0 } else { gates_code(&result) };
    let mut outputs = Outputs::open(&flags.outputs)?;
    for point in result.series.points() {
        outputs.point(point)?;
    }
    outputs.write(&result)?;
    if code != 0 && flags.outputs.quiet {
        say(&unmet_gates(&result));
    }
    Ok(ExitCode::from(code))
}

/// Writes the reports of repeats, each judged by itself.
fn report_repeats(repeats: &mut Repeats, flags: &ReportFlags) -> Result<ExitCode, Exit> {
    repeat::check_paths(&flags.outputs)?;
    if !flags.gate.is_empty() {
        for run in &mut repeats.runs {
            let judged = gate::judge(&flags.gate, run);
            run.gates = judged.map_err(|error| Exit::Usage(error.to_string()))?;
        }
    }
    let codes: Vec<u8> = repeats.runs.iter().map(gates_code).collect();
    let worst = [GATE, VERDICT].into_iter().find(|code| codes.contains(code));
    let code = worst.filter(|_| !flags.gate.is_empty()).unwrap_or(0);
    repeat::report(repeats, &flags.outputs)?;
    Ok(ExitCode::from(code))
}

fn read(path: &Path) -> anyhow::Result<Document> {
    let name = path.display().to_string();
    if path.is_dir() {
        let study = path.join(STUDY);
        if study.is_file() {
            anyhow::bail!("'{name}' is a folder: give '{}'", study.display());
        }
        anyhow::bail!("'{name}' is a folder: give a result document");
    }
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    let bytes = bytes.with_context(|| format!("cannot read '{name}'"))?;
    document::parse(&name, &bytes)
}

fn stranger(path: &Path, schema: Option<String>) -> String {
    let name = path.display();
    match schema {
        Some(other) => format!("'{name}' is a {other}, and this reads a {SCHEMA}"),
        None => format!("'{name}' is not a result: write one with --json or --format json"),
    }
}

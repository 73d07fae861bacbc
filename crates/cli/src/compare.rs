//! `plimsoll compare`: is one side faster, is it slower, or is it too close to tell?
//!
//! Reads the sides, refuses what cannot be compared, and writes the report. `core::comparison`
//! makes the decisions.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use plimsoll_core::RunResult;
use plimsoll_core::comparison::{Contrast, Limit, Outcome, Repeat, Settings, Side};
use plimsoll_core::find::{self, SearchContrast};
use plimsoll_core::result::{self, Tool};
use plimsoll_core::study;
use plimsoll_report::comparison::{
    write_html, write_json, write_markdown, write_summary, write_text,
};
use plimsoll_report::find::contrast;
use plimsoll_report::text::Style;

use crate::compare_args::{CompareFlags, CompareFormat};
use crate::document::{self, Document};
use crate::exit::{Exit, GATE, VERDICT};
use crate::output_args::Format;
use crate::outputs::Outputs;

/// More documents than this on a side are refused: all of them are held in memory.
const DOCUMENTS_MAX: usize = 1000;

/// Compares two sides and writes the report.
///
/// # Errors
/// Files that cannot be read or are not documents, sides that were not measured alike, and a report
/// that cannot be written.
pub(crate) fn compare(flags: &CompareFlags) -> Result<ExitCode, Exit> {
    if let (Some(base), Some(new)) = (search(&flags.base)?, search(&flags.new)?) {
        return searches(flags, &base, &new);
    }
    let mut base = side(&flags.base, flags.allow_different)?;
    let mut new = side(&flags.new, flags.allow_different)?;
    refuse_unlike(&base, &new, flags)?;
    if let Some(names) = &flags.names {
        base.label = Some(names.base.clone());
        new.label = Some(names.new.clone());
    }
    let usual = Settings::default();
    let settings =
        Settings { confidence: flags.confidence, least_change: flags.least_change, ..usual };
    let tool = Tool { name: "plimsoll".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let contrast = Contrast::of(&base, &new, settings, &flags.fail_if, tool);
    if contrast.cases.is_empty() {
        let (base, new) = (&flags.base, &flags.new);
        let text = format!("no server under a load stands both in '{base}' and in '{new}'");
        return Err(Exit::CouldNotRun(text));
    }
    Outputs::open(&flags.outputs())?
        .write_with(|kind, out, style| format(kind, &contrast, out, style))?;
    Ok(match contrast.outcome() {
        Outcome::Passed => ExitCode::SUCCESS,
        Outcome::Undecided => ExitCode::from(VERDICT),
        Outcome::Failed => ExitCode::from(GATE),
    })
}

/// The search that a side is, if it is one.
fn search(given: &str) -> Result<Option<Box<find::Document>>, Exit> {
    let path = Path::new(given);
    if !path.is_file() {
        return Ok(None);
    }
    Ok(match document(path)? {
        Document::Find(found) => Some(found),
        _ => None,
    })
}

/// Compares two searches and writes the report.
fn searches(
    flags: &CompareFlags,
    base: &find::Document,
    new: &find::Document,
) -> Result<ExitCode, Exit> {
    let falls = flags.fail_if.iter().map(Limit::rate_fall).collect::<Option<Vec<f64>>>();
    let falls = falls.ok_or_else(|| {
        let text = "searches have a load line alone: write --fail-if 'rate<-5%'";
        Exit::Usage(text.to_owned())
    })?;
    if flags.html.is_some() || flags.format == CompareFormat::Html {
        let text = "searches have no page to be compared on: give --format text, md or json";
        return Err(Exit::Usage(text.to_owned()));
    }
    let names = flags.names.as_ref();
    let base_name = names.map_or(&flags.base, |names| &names.base);
    let new_name = names.map_or(&flags.new, |names| &names.new);
    let contrast = SearchContrast::of((base_name, base), (new_name, new));
    if !contrast.differences.is_empty() && !flags.allow_different {
        let (base, new) = (&flags.base, &flags.new);
        let differences = contrast.differences.join("; ");
        let text = format!(
            "'{base}' and '{new}' are not alike: {differences}: search both alike, or give \
             --allow-different"
        );
        return Err(Exit::CouldNotRun(text));
    }
    Outputs::open(&flags.outputs())?.write_with(|kind, out, style| match kind {
        Format::Json => write_json(&contrast, out),
        Format::Md | Format::Github => contrast::write_markdown(&contrast, out),
        _ => contrast::write_text(&contrast, out, style),
    })?;
    let has_fallen = falls.iter().any(|part| contrast.has_fallen_by(*part));
    Ok(if has_fallen { ExitCode::from(GATE) } else { ExitCode::SUCCESS })
}

fn refuse_unlike(base: &Side, new: &Side, flags: &CompareFlags) -> Result<(), Exit> {
    let differences = base.differences(new);
    let (is_one_kind, is_allowed) = (base.is_study == new.is_study, flags.allow_different);
    if differences.is_empty() || (is_one_kind && is_allowed) {
        return Ok(());
    }
    let advice = match is_one_kind {
        true => "measure both alike, or give --allow-different",
        false => "give two studies, or results on both sides",
    };
    let (differences, base, new) = (differences.join("; "), &flags.base, &flags.new);
    let text = format!("'{base}' and '{new}' are not alike: {differences}: {advice}");
    Err(Exit::CouldNotRun(text))
}

/// Reads one side: files with commas between, or a directory.
fn side(given: &str, allow_different: bool) -> Result<Side, Exit> {
    let path = Path::new(given);
    let is_directory = path.is_dir();
    let files = match is_directory {
        true => documents_in(path)?,
        // A comma may be part of a name.
        false if path.exists() => vec![path.to_owned()],
        false => given.split(',').map(|name| PathBuf::from(name.trim())).collect(),
    };
    if files.len() > DOCUMENTS_MAX {
        let text = format!("'{given}' has {} documents: {DOCUMENTS_MAX} at most", files.len());
        return Err(Exit::CouldNotRun(text));
    }
    let mut results = Vec::new();
    let mut studies = Vec::new();
    for file in &files {
        let name = file.display().to_string();
        match document(file)? {
            Document::Result(result) => results.push(Repeat::of_result(&name, &result)),
            Document::Foreign(result) => results.push(Repeat::of_foreign(&name, &result)),
            Document::Repeats(repeats) => {
                let named = |(repeat, run): (u32, &RunResult)| {
                    Repeat::of_result(&format!("{name}, repeat {repeat}"), run)
                };
                results.extend((1_u32..).zip(&repeats.runs).map(named));
            }
            Document::Study(study) => studies.push(*study),
            Document::Find(_) | Document::FindClosed(_) if is_directory => {}
            Document::Find(_) => {
                let text = format!("'{name}' is a search: give one search on each side");
                return Err(Exit::CouldNotRun(text));
            }
            Document::FindClosed(_) => {
                let text =
                    format!("'{name}' is a search for connections: compare searches for a rate");
                return Err(Exit::CouldNotRun(text));
            }
            Document::Other(_) if is_directory => {}
            Document::Other(schema) => return Err(Exit::CouldNotRun(stranger(&name, schema))),
        }
    }
    match studies.as_slice() {
        [] => Side::of_repeats(given, &results, allow_different)
            .map_err(|error| Exit::CouldNotRun(error.to_string())),
        [study] if results.is_empty() && (is_directory || files.len() == 1) => {
            Ok(Side::of_study(given, study))
        }
        _ => {
            let text = format!("'{given}' has more than one study or other documents: give one");
            Err(Exit::CouldNotRun(text))
        }
    }
}

/// The JSON files of a directory, by name.
fn documents_in(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let cannot = || format!("cannot read '{}'", directory.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if path.extension().is_some_and(|extension| extension == "json") && path.is_file() {
            files.push(path);
        }
    }
    files.sort_unstable();
    Ok(files)
}

fn document(path: &Path) -> anyhow::Result<Document> {
    let name = path.display().to_string();
    let bytes = fs::read(path).with_context(|| format!("cannot read '{name}'"))?;
    document::parse(&name, &bytes)
}

fn stranger(name: &str, schema: Option<String>) -> String {
    let is =
        schema.map_or_else(|| "not a result".to_owned(), |schema| format!("of schema '{schema}'"));
    let (ours, lab) = (result::SCHEMA, study::SCHEMA);
    format!("'{name}' is {is}: give a {ours}, a {lab} or a result of fortio")
}

fn format(kind: Format, contrast: &Contrast, out: &mut dyn Write, style: Style) -> io::Result<()> {
    match kind {
        Format::Json => write_json(contrast, out),
        Format::Md => write_markdown(contrast, out),
        Format::Github => write_summary(contrast, out),
        Format::Html => write_html(contrast, out),
        _ => write_text(contrast, out, style),
    }
}

//! The reports of a study: written beside it after a lab, or again from its document.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use plimsoll_core::study::Study;
use plimsoll_report::json;
use plimsoll_report::study::{csv, html, markdown, text};
use plimsoll_report::text::Style;

use crate::destination;
use crate::exit::{self, Exit};
use crate::output_args::{Format, OutputFlags};
use crate::outputs::{check_stdout, has_report_on_stdout, is_stdout};
use crate::terminal::{columns, has_color};

/// The reports that a lab writes into its folder.
pub(crate) const BESIDE: [(&str, Format); 3] =
    [("report.md", Format::Md), ("report.csv", Format::Csv), ("report.html", Format::Html)];

/// Writes a report into a file.
///
/// # Errors
/// The file cannot be written, or the format is not of studies.
pub(crate) fn write_file(study: &Study, format: Format, path: &Path) -> Result<(), Exit> {
    let name = || format!("'{}'", path.display());
    let mut report = Vec::new();
    write(study, format, Style { color: false, width: columns(false) }, &mut report)?;
    Ok(destination::write(path, &report).with_context(name)?)
}

/// Writes a report to stdout.
///
/// # Errors
/// It cannot be written, or the format is not of studies.
pub(crate) fn print(study: &Study, format: Format, no_color: bool) -> Result<(), Exit> {
    let color = has_color(no_color);
    let mut report = Vec::new();
    write(study, format, Style { color, width: columns(true) }, &mut report)?;
    exit::write(&report)
}

/// Writes what the flags of `report` ask for.
///
/// # Errors
/// As above, and flags that say nothing about studies.
pub(crate) fn report(study: &Study, flags: &OutputFlags) -> Result<(), Exit> {
    let strangers = [
        ("--hgrm", flags.hgrm.is_some()),
        ("--hlog", flags.hlog.is_some()),
        ("--junit", flags.junit.is_some()),
        ("--timeseries", flags.timeseries.is_some()),
        ("--github-summary", flags.github_summary.is_some()),
    ];
    if let Some((flag, _)) = strangers.iter().find(|(_, given)| *given) {
        return Err(Exit::Usage(format!("{flag} shows one run, and this is a study of several")));
    }
    check_stdout(flags, None)?;
    let format = flags.format.unwrap_or(Format::Text);
    for (format, path) in [(Format::Json, &flags.json), (Format::Html, &flags.html)] {
        match path {
            Some(path) if is_stdout(path) => print(study, format, flags.no_color)?,
            Some(path) => write_file(study, format, path)?,
            None => {}
        }
    }
    match &flags.output {
        _ if has_report_on_stdout(flags) => print(study, format, flags.no_color),
        Some(path) => write_file(study, format, path),
        None => Ok(()),
    }
}

fn write(study: &Study, format: Format, style: Style, out: &mut dyn Write) -> Result<(), Exit> {
    let written = match format {
        Format::Text => text::write(study, out, style),
        Format::Md | Format::Github => markdown::write(study, out),
        Format::Csv => csv::write(study, out),
        Format::Json => json::write(study, out),
        Format::Html => html::write(study, out),
        Format::None => Ok(()),
        Format::Hgrm | Format::Hlog | Format::Junit => {
            let text = "a study is written as text, md, csv, json or html";
            return Err(Exit::Usage(format!("--format: {text}")));
        }
    };
    Ok(written.context("a report of the study")?)
}

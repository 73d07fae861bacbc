//! The reports of a search: when it has ended, or again from its document.

use std::io::{self, Write};

use plimsoll_core::find::Document;
use plimsoll_report::find::{write_csv, write_html, write_json, write_markdown, write_text};
use plimsoll_report::text::Style;

use crate::exit::Exit;
use crate::output_args::{Format, OutputFlags};
use crate::outputs::Outputs;

/// Finds what cannot be written of a search.
///
/// # Errors
/// A report that is of one run.
pub(crate) fn check(flags: &OutputFlags) -> Result<(), Exit> {
    let strangers = [
        ("--hgrm", flags.hgrm.is_some()),
        ("--hlog", flags.hlog.is_some()),
        ("--junit", flags.junit.is_some()),
        ("--timeseries", flags.timeseries.is_some()),
    ];
    if let Some((flag, _)) = strangers.iter().find(|(_, given)| *given) {
        return Err(Exit::Usage(format!("{flag} shows one run, and a search has many")));
    }
    match flags.format {
        Some(Format::Hgrm | Format::Hlog | Format::Junit) => {
            let text = "--format: a search is written as text, json, html, md or csv";
            Err(Exit::Usage(text.to_owned()))
        }
        _ => Ok(()),
    }
}

/// Writes what the flags of `report` ask for.
///
/// # Errors
/// As above, and reports that cannot be written.
pub(crate) fn report(found: &Document, flags: &OutputFlags) -> Result<(), Exit> {
    check(flags)?;
    write(Outputs::open(flags)?, found)
}

/// Writes the reports.
///
/// # Errors
/// The first that cannot be written.
pub(super) fn write(outputs: Outputs, found: &Document) -> Result<(), Exit> {
    outputs.write_with(|kind, out, style| format(kind, found, out, style))?;
    Ok(())
}

fn format(kind: Format, found: &Document, out: &mut dyn Write, style: Style) -> io::Result<()> {
    match kind {
        Format::Text => write_text(found, out, style),
        Format::Json => write_json(found, out),
        Format::Html => write_html(found, out),
        Format::Md | Format::Github => write_markdown(found, out),
        Format::Csv => write_csv(found, out),
        Format::None => Ok(()),
        Format::Hgrm | Format::Hlog | Format::Junit => {
            Err(io::Error::other("this report shows one run, and a search has many"))
        }
    }
}

//! The reports of a result that another tester wrote.

use plimsoll_core::foreign::ForeignResult;
use plimsoll_report::foreign;

use crate::args::ReportFlags;
use crate::ending::say;
use crate::exit::Exit;
use crate::output_args::{Format, OutputFlags};
use crate::outputs::Outputs;

/// What a result of another tester can be written as.
const FORMATS: &str = "another tester's result is written as text, md, github, csv or html";

/// Writes what the flags of `report` ask for, and says on stderr what the file was read as.
///
/// # Errors
/// Flags for what the file does not say, and reports that cannot be written.
pub(crate) fn report(result: &ForeignResult, flags: &ReportFlags) -> Result<(), Exit> {
    if !flags.gate.is_empty() {
        let text = "--gate judges results of Plimsoll's own: another tester's does not say what \
                    gates are about; compare two with plimsoll compare --fail-if";
        return Err(Exit::Usage(text.to_owned()));
    }
    check(&flags.outputs)?;
    let outputs = Outputs::open(&flags.outputs)?;
    if !flags.outputs.quiet {
        say(&[format!("'{}': read as {}", flags.file.display(), result.read_as)]);
    }
    Ok(outputs.write_with(|format, out, style| match format {
        Format::Md | Format::Github => foreign::write_markdown(result, out),
        Format::Csv => foreign::write_csv(result, out),
        Format::Html => foreign::write_html(result, &[], out),
        Format::None => Ok(()),
        _ => foreign::write_text(result, out, style),
    })?)
}

fn check(flags: &OutputFlags) -> Result<(), Exit> {
    let strangers = [
        ("--json", flags.json.is_some()),
        ("--hgrm", flags.hgrm.is_some()),
        ("--hlog", flags.hlog.is_some()),
        ("--junit", flags.junit.is_some()),
        ("--timeseries", flags.timeseries.is_some()),
    ];
    let known = [Format::Text, Format::Md, Format::Github, Format::Csv, Format::Html, Format::None];
    let wrong = match flags.format {
        Some(format) if !known.contains(&format) => Some("--format"),
        _ => strangers.iter().find(|(_, is_given)| *is_given).map(|(flag, _)| *flag),
    };
    match wrong {
        Some(flag) => Err(Exit::Usage(format!("{flag}: {FORMATS}"))),
        None => Ok(()),
    }
}

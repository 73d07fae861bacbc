//! `plimsoll find --closed`: the most connections with which a server meets objectives.

use std::io::{self, Write};
use std::process::ExitCode;

use plimsoll_core::Plan;
use plimsoll_core::find::{ClosedDocument, ClosedSearch, ClosedSettings};
use plimsoll_report::find::closed::{
    answer_words, live_title, probe_line, turn_line, write_csv, write_html, write_json,
    write_markdown, write_text,
};
use plimsoll_report::text::Style;
use plimsoll_runner::find::{ClosedNews, Finder, FoundClosed, origin};

use super::report::check;
use super::{Ended, Screen, caught, code, end, objectives};
use crate::exit::Exit;
use crate::feed;
use crate::find_args::FindFlags;
use crate::output_args::{Format, OutputFlags};
use crate::outputs::Outputs;
use crate::run::{beside, explain};

/// Carries out a search and writes its reports.
///
/// # Errors
/// Flags that make no search, a server that is not there, and reports that cannot be written.
pub(super) fn find(mut flags: FindFlags) -> Result<ExitCode, Exit> {
    let settings = ClosedSettings::of(&flags.settings(), flags.connections_max());
    let search = ClosedSearch::new(settings, objectives(&flags.slo)?);
    let search = search.map_err(|error| Exit::Usage(error.to_string()))?;
    let plan = plan(&mut flags)?;
    let origin = origin(&plan).map_err(explain)?;
    let feed = feed::open(&flags.run.feed, Some(&plan.endpoint), flags.run.outputs.quiet)?;
    let outputs = Outputs::open(&flags.run.outputs)?;
    let finder = Finder::new(&plan, beside(&flags.run, feed.as_ref()));
    let caught = caught(&finder)?;
    let is_quiet = flags.run.outputs.quiet;
    let mut screen = Screen::new(!is_quiet && !flags.run.outputs.no_progress, 0);
    let FoundClosed { document, failure } =
        finder.run_closed(search, origin, &mut |news| show(&mut screen, &news));
    screen.live.clear();
    feed::close(feed);
    let answer = &document.answer;
    let ended = Ended {
        has_probes: !document.probes.is_empty(),
        failure,
        code: code(answer.ending, answer.connections.is_some(), answer.fails_connections.is_some()),
        words: answer_words(&document),
    };
    end(ended, outputs, &caught, is_quiet, |outputs| write(outputs, &document))
}

/// The plan, with the most connections: the host has to allow them.
fn plan(flags: &mut FindFlags) -> Result<Plan, Exit> {
    flags.run.connections = (flags.connections_max(), None);
    flags.run.duration = Some(flags.hold);
    flags.run.warmup = flags.settle;
    Ok(crate::plan::plan(&flags.run)?)
}

fn show(screen: &mut Screen, news: &ClosedNews<'_>) {
    match news {
        ClosedNews::Probe { search, plan, spoilt } => {
            screen.begin(live_title(search, plan, *spoilt), "");
        }
        ClosedNews::Run(news) => screen.run(news),
        ClosedNews::Judged { probe, turns } => {
            screen.judged(|number| probe_line(number, probe));
            turns.iter().for_each(|turn| screen.live.keep(&turn_line(turn)));
        }
    }
}

/// Writes what the flags of `report` ask for.
///
/// # Errors
/// Formats that are of one run, and reports that cannot be written.
pub(crate) fn report(found: &ClosedDocument, flags: &OutputFlags) -> Result<(), Exit> {
    check(flags)?;
    write(Outputs::open(flags)?, found)
}

fn write(outputs: Outputs, found: &ClosedDocument) -> Result<(), Exit> {
    outputs.write_with(|kind, out, style| format(kind, found, out, style))?;
    Ok(())
}

fn format(
    kind: Format,
    found: &ClosedDocument,
    out: &mut dyn Write,
    style: Style,
) -> io::Result<()> {
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

//! `plimsoll find`: the highest rate at which a server meets objectives.
//!
//! The search itself is `core`'s and the runner carries out its probes. Here flags become a search,
//! a terminal sees it, reports are written, and the answer becomes an exit code.

mod closed;
mod report;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use plimsoll_core::Plan;
use plimsoll_core::find::{Answer, Document, Doubt, Ending, Objective, Origin, SCHEMA, Search};
use plimsoll_report::find::{answer_words, live_title, probe_line, turn_line};
use plimsoll_runner::find::{FindNews, Finder, Found, origin};
use plimsoll_runner::{News, RunnerError};

use crate::document;
use crate::ending::say;
use crate::exit::{COULD_NOT_RUN, Exit, GATE, VERDICT};
use crate::feed;
use crate::find_args::FindFlags;
use crate::outputs::Outputs;
use crate::progress::Live;
use crate::run::{beside, explain};
use crate::signals::Caught;
pub(crate) use closed::report as report_closed;
pub(crate) use report::report;

/// The objective that is added when none is about failures: a server that refuses requests
/// quickly does not serve them.
const ERRORS: &str = "errors<1%";

/// A document of a search beyond this is refused: it has a few kilobytes for each probe.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;

/// Carries out a search and writes its reports.
///
/// # Errors
/// Flags that make no search, a server that is not there, and reports that cannot be written.
pub(crate) fn find(mut flags: FindFlags) -> Result<ExitCode, Exit> {
    report::check(&flags.run.outputs)?;
    if flags.closed {
        return closed::find(flags);
    }
    let (search, known) = match flags.resume.clone() {
        Some(path) => {
            let (search, origin) = resumed(&flags, &path, read(&path)?)?;
            (search, Some((path, origin)))
        }
        None => (new(&flags)?, None),
    };
    let plan = plan(&mut flags, &search)?;
    let began = origin(&plan).map_err(explain)?;
    let origin = match known {
        Some((path, known)) => same_origin(known, &began, &path)?,
        None => began,
    };
    carry_out(&flags, &plan, search, origin)
}

/// Finds mistakes in a search before it is carried out.
///
/// # Errors
/// Flags that make no search.
pub(crate) fn check(mut flags: FindFlags) -> Result<(), Exit> {
    report::check(&flags.run.outputs)?;
    if flags.closed {
        return Err(Exit::Usage("closed: the lab ranks servers by rates".to_owned()));
    }
    let search = new(&flags)?;
    plan(&mut flags, &search).map(|_| ())
}

fn new(flags: &FindFlags) -> Result<Search, Exit> {
    let search = Search::new(flags.settings(), objectives(&flags.slo)?);
    search.map_err(|error| Exit::Usage(error.to_string()))
}

/// The objectives, with one about failures.
fn objectives(given: &[Objective]) -> Result<Vec<Objective>, Exit> {
    let mut objectives = given.to_vec();
    let is_about_failures = |it: &Objective| it.is_share() && it.time_limit_ns().is_none();
    if !objectives.is_empty() && !objectives.iter().any(is_about_failures) {
        let errors = Objective::parse(ERRORS);
        objectives.push(errors.map_err(|error| Exit::Usage(error.to_string()))?);
    }
    Ok(objectives)
}

/// What is sent, with the load of a first probe: a plan needs one.
fn plan(flags: &mut FindFlags, search: &Search) -> Result<Plan, Exit> {
    let settings = search.settings();
    flags.run.rate = Some((settings.from_rps * 1e6).round() as u64);
    flags.run.duration = Some(settings.hold_ns);
    flags.run.warmup = settings.settle_ns;
    Ok(crate::plan::plan(&flags.run)?)
}

/// The search of a document, which goes on where it ended.
fn resumed(flags: &FindFlags, path: &Path, document: Document) -> Result<(Search, Origin), Exit> {
    let name = path.display();
    let read = |text: &String| Objective::parse(text);
    let objectives = document.objectives.iter().map(read).collect::<Result<Vec<_>, _>>();
    let objectives = objectives.map_err(|error| Exit::CouldNotRun(format!("'{name}': {error}")))?;
    let mut settings = document.settings;
    settings.budget_ns = flags.budget;
    settings.is_quick_only = flags.quick_only;
    let search = Search::resume(settings, objectives, &document.probes)
        .map_err(|error| Exit::CouldNotRun(format!("'{name}' cannot be resumed: {error}")))?;
    let Document { tool, plan, started_at, environment, .. } = document;
    Ok((search, Origin { tool, plan, started_at, environment }))
}

/// The origin of the earlier part, if the rest is sent as it was.
fn same_origin(known: Origin, began: &Origin, file: &Path) -> Result<Origin, Exit> {
    if known.plan == began.plan {
        return Ok(known);
    }
    let name = file.display();
    let (before, now) = (&known.plan.endpoint, &began.plan.endpoint);
    Err(Exit::CouldNotRun(match before == now {
        true => format!(
            "'{name}' is of a search that sent something else: give the same flags for what is \
             sent and how"
        ),
        false => format!("'{name}' is of a search at {before}, and this one is at {now}"),
    }))
}

fn read(path: &Path) -> Result<Document, Exit> {
    let name = path.display().to_string();
    let cannot = || format!("cannot read '{name}'");
    let file = File::open(path).with_context(cannot)?;
    let mut bytes = Vec::new();
    file.take(DOCUMENT_BYTES_MAX).read_to_end(&mut bytes).with_context(cannot)?;
    match document::parse(&name, &bytes)? {
        document::Document::Find(document) => Ok(*document),
        _ => Err(Exit::CouldNotRun(format!(
            "'{name}' is not a {SCHEMA}: find writes one with --json"
        ))),
    }
}

fn carry_out(
    flags: &FindFlags,
    plan: &Plan,
    search: Search,
    origin: Origin,
) -> Result<ExitCode, Exit> {
    let feed = feed::open(&flags.run.feed, Some(&plan.endpoint), flags.run.outputs.quiet)?;
    let outputs = Outputs::open(&flags.run.outputs)?;
    let finder = Finder::new(plan, beside(&flags.run, feed.as_ref()));
    let caught = caught(&finder)?;
    let is_quiet = flags.run.outputs.quiet;
    let mut screen =
        Screen::new(!is_quiet && !flags.run.outputs.no_progress, search.probes().len());
    let Found { document, failure } = finder.run(search, origin, &mut |news| screen.show(&news));
    screen.live.clear();
    feed::close(feed);
    let Answer { ending, rate_rps, fails_rps, doubts, .. } = &document.answer;
    let code = match doubts.contains(&Doubt::StallsUndecided) {
        true => VERDICT,
        false => code(*ending, rate_rps.is_some(), fails_rps.is_some()),
    };
    let ended = Ended {
        has_probes: !document.probes.is_empty(),
        failure,
        code,
        words: answer_words(&document),
    };
    end(ended, outputs, &caught, is_quiet, |outputs| report::write(outputs, &document))
}

/// Ends a search when a signal comes.
fn caught(finder: &Finder<'_>) -> Result<Caught, Exit> {
    let handle = finder.handle();
    Caught::watch(move || handle.stop())
        .map_err(|error| Exit::CouldNotRun(format!("signals: {error}")))
}

/// How a search of either kind ended.
struct Ended {
    has_probes: bool,
    /// Why the next probe could not be carried out.
    failure: Option<RunnerError>,
    code: u8,
    /// The answer in a line.
    words: String,
}

/// Writes the reports of a search that is over, and gives its exit code.
fn end(
    ended: Ended,
    outputs: Outputs,
    caught: &Caught,
    is_quiet: bool,
    write: impl FnOnce(Outputs) -> Result<(), Exit>,
) -> Result<ExitCode, Exit> {
    if let Some(error) = ended.failure {
        if !ended.has_probes {
            outputs.discard();
            return Err(explain(error));
        }
        // The probes before it stand without it.
        say(&[format!("the search ended early: {}", explain(error).into_text())]);
        write(outputs)?;
        return Ok(ExitCode::from(COULD_NOT_RUN));
    }
    write(outputs)?;
    if let Some(code) = caught.code() {
        return Ok(code);
    }
    if is_quiet && ended.code != 0 {
        say(&[ended.words]);
    }
    Ok(ExitCode::from(ended.code))
}

/// The exit code of an answer: whether a load was shown to meet the objectives, and whether one was
/// shown not to.
fn code(ending: Ending, is_shown: bool, fails: bool) -> u8 {
    // Without a probe that decides, only these endings say that the server is the reason.
    let is_servers = fails || matches!(ending, Ending::NotMet | Ending::NotMonotone);
    match (is_shown, is_servers) {
        (true, _) => 0,
        (false, true) => GATE,
        (false, false) => VERDICT,
    }
}

/// What a terminal shows of a search: a line that stays for each probe, and one for what goes on.
struct Screen {
    live: Live,
    wanted: bool,
    title: String,
    probes: usize,
}

impl Screen {
    fn new(wanted: bool, probes: usize) -> Self {
        Self { live: Live::new(wanted, ""), wanted, title: String::new(), probes }
    }

    /// A probe begins.
    fn begin(&mut self, title: String, state: &str) {
        self.title = title;
        self.live = Live::new(self.wanted, &format!("{}{state}", self.title));
    }

    fn run(&mut self, news: &News<'_>) {
        if let News::Started(figures) | News::Interval(figures, _) = news {
            self.live.show(figures);
        }
    }

    fn judged(&mut self, line: impl FnOnce(usize) -> String) {
        self.probes += 1;
        self.live.keep(&line(self.probes));
    }

    fn show(&mut self, news: &FindNews<'_>) {
        match news {
            FindNews::Probe { search, plan, spoilt } => {
                let state = if plan.cool_down_rps.is_some() { "  cooling down" } else { "" };
                self.begin(live_title(search, plan, *spoilt), state);
            }
            FindNews::Loading => self.live = Live::new(self.wanted, &self.title),
            FindNews::Run(news) => self.run(news),
            FindNews::Judged { probe, turns } => {
                self.judged(|number| probe_line(number, probe));
                turns.iter().for_each(|turn| self.live.keep(&turn_line(turn)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_objective_about_failures_is_added_unless_there_is_one() {
        for (given, want) in [
            (&["p99<10ms"][..], &["p99<10ms", ERRORS][..]),
            (&["mean<5ms", "p99<1s"], &["mean<5ms", "p99<1s", ERRORS]),
            (&["p99<10ms", "errors<0.1%"], &["p99<10ms", "errors<0.1%"]),
            (&["ok>99%"], &["ok>99%"]),
            (&[], &[]),
        ] {
            let given: Vec<Objective> =
                given.iter().map(|text| Objective::parse(text).unwrap()).collect();
            let found = objectives(&given).unwrap();
            let texts: Vec<&str> = found.iter().map(Objective::text).collect();
            assert_eq!(texts, want);
        }
    }
}

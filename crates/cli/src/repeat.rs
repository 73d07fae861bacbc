//! Runs in turn: those of a plan file, and the repeats of a run (`--repeat`).
//!
//! Several runs take turns with their repeats, A B C A B C and not A A A B B B, so that a change on
//! the machine meanwhile affects all of them alike. Each repeat has its own seed and its own
//! result. The report of all repeats is written when the last has ended or a signal came.
//!
//! A report whose path holds `{repeat}` shows one repeat; all other reports show them all.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use plimsoll_core::RunResult;
use plimsoll_core::repeats::Repeats;
use plimsoll_core::result::Tool;
use plimsoll_outputs::Feed;

use crate::ending::say;
use crate::exit::{self, COULD_NOT_RUN, Exit, GATE, USAGE, VERDICT};
use crate::feed;
use crate::load::Load;
use crate::output_args::{Format, OutputFlags};
use crate::outputs::{Outputs, has_report_on_stdout};
use crate::run_args::RunFlags;

/// Codes of runs, the worst first. That of all is the worst of them.
const WORST_FIRST: [u8; 5] = [COULD_NOT_RUN, USAGE, GATE, VERDICT, 0];

/// What stands in a path for the number of the repeat.
const NUMBER: &str = "{repeat}";

/// A run, as often as its flags repeat it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job<'a> {
    /// What its plan file calls it; `None` for the run of a command line.
    pub name: Option<&'a str>,
    pub flags: &'a RunFlags,
    /// What its first repeat does. The others have seeds of their own.
    pub load: &'a Load,
}

/// A report of one run that all repeats would write to the same place.
#[derive(Debug)]
pub(crate) struct SharedReport {
    /// The flag, by its long name.
    pub flag: &'static str,
    text: String,
}

impl From<SharedReport> for Exit {
    fn from(shared: SharedReport) -> Self {
        Self::Usage(shared.text)
    }
}

/// A run whose repeats are under way.
struct Turn<'a> {
    job: Job<'a>,
    /// Its place among all runs, from 1, and how many there are.
    place: (usize, usize),
    /// Whether a report of any run has been headed.
    has_spoken: &'a Cell<bool>,
    others: Vec<String>,
    /// Reports of all repeats, from the first to the last of them.
    outputs: Option<Outputs>,
    /// Gets the figures of all repeats.
    feed: Option<Feed>,
    results: Vec<RunResult>,
    has_ended: bool,
}

/// Carries a load out as often as the flags say.
///
/// # Errors
/// When nothing could be run or a report could not be written.
pub(crate) fn run(load: &Load, flags: &RunFlags) -> Result<ExitCode, Exit> {
    say(&load.notes());
    if flags.repeat > 1 {
        check(flags)?;
        return take_turns(&[Job { name: None, flags, load }]);
    }
    let feed = feed::open(&flags.feed, load.endpoint(), flags.outputs.quiet)?;
    let outputs = Outputs::open(&flags.outputs)?;
    let ran = load.carry_out(flags, 1, outputs, feed.as_ref(), "");
    feed::close(feed);
    ran?.1
}

/// Finds what cannot be said of several repeats.
///
/// # Errors
/// A report of one run that all repeats would write.
pub(crate) fn check(flags: &RunFlags) -> Result<(), SharedReport> {
    if flags.repeat == 1 { Ok(()) } else { check_paths(&flags.outputs) }
}

/// Finds a report of one run that has no path for each repeat.
///
/// # Errors
/// The first of them.
pub(crate) fn check_paths(outputs: &OutputFlags) -> Result<(), SharedReport> {
    let own = [
        ("html", &outputs.html),
        ("hgrm", &outputs.hgrm),
        ("hlog", &outputs.hlog),
        ("junit", &outputs.junit),
        ("timeseries", &outputs.timeseries),
    ];
    let shared = own.iter().find_map(|(flag, path)| {
        path.as_ref().filter(|path| !is_numbered(path)).map(|path| (*flag, path))
    });
    if let Some((flag, path)) = shared {
        let text = format!(
            "--{flag} is a report of one run: put {NUMBER} into the path, as in --{flag} '{}'",
            suggested(path)
        );
        return Err(SharedReport { flag, text });
    }
    let format = outputs.format.filter(|_| !outputs.output.as_deref().is_some_and(is_numbered));
    match format {
        Some(Format::Html | Format::Hgrm | Format::Hlog | Format::Junit) => {
            let text = format!(
                "this --format is a report of one run: give each a file, as in -o 'run-{NUMBER}'"
            );
            Err(SharedReport { flag: "format", text })
        }
        _ => Ok(()),
    }
}

fn suggested(path: &Path) -> String {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{NUMBER}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name).display().to_string()
}

/// Carries out runs and their repeats in turn.
///
/// # Errors
/// Of a single run without a name: what kept it, or a repeat of it, from being carried out. Of
/// several that is printed at once, the others are still carried out, and the code says it.
pub(crate) fn take_turns(jobs: &[Job<'_>]) -> Result<ExitCode, Exit> {
    let has_spoken = Cell::new(false);
    let mut turns: Vec<Turn<'_>> =
        (0..jobs.len()).map(|index| Turn::new(jobs, index, &has_spoken)).collect();
    let rounds = jobs.iter().map(|job| job.flags.repeat).max().unwrap_or(0);
    let mut worst = ExitCode::SUCCESS;
    for round in 1..=rounds {
        for index in 0..turns.len() {
            if round > turns[index].job.flags.repeat || turns[index].has_ended {
                continue;
            }
            let code = match turns[index].take(round) {
                Ok(code) => {
                    turns[index].say_if_failed(round, code);
                    code
                }
                Err(exit) if jobs.len() == 1 => return Err(exit),
                Err(exit) => {
                    let name = jobs[index].name.unwrap_or("run");
                    exit.map(|text| format!("run '{name}': {text}")).report()
                }
            };
            if severity(code).is_none() {
                // Interrupted, which ends all.
                for turn in &mut turns {
                    turn.finish()?;
                }
                return Ok(code);
            }
            worst = worse(worst, code);
        }
    }
    Ok(worst)
}

/// How bad a code is, 0 the worst; `None` for that of an interrupted run.
fn severity(code: ExitCode) -> Option<usize> {
    WORST_FIRST.iter().position(|known| code == ExitCode::from(*known))
}

fn worse(one: ExitCode, other: ExitCode) -> ExitCode {
    if severity(other) < severity(one) { other } else { one }
}

impl<'a> Turn<'a> {
    fn new(jobs: &[Job<'a>], index: usize, has_spoken: &'a Cell<bool>) -> Self {
        let others = jobs.iter().enumerate().filter(|(other, job)| {
            // A run without repeats takes its turn in the first round alone.
            *other != index && job.flags.repeat > 1
        });
        Self {
            job: jobs[index],
            place: (index + 1, jobs.len()),
            has_spoken,
            others: others.filter_map(|(_, job)| job.name).map(str::to_owned).collect(),
            outputs: None,
            feed: None,
            results: Vec::new(),
            has_ended: false,
        }
    }

    /// Carries out a repeat, from 1.
    fn take(&mut self, repeat: u32) -> Result<ExitCode, Exit> {
        let flags = self.job.flags;
        if flags.repeat == 1 {
            self.has_ended = true;
            self.announce()?;
            say(&self.job.load.notes());
            let feed = feed::open(&flags.feed, self.job.load.endpoint(), flags.outputs.quiet)?;
            let outputs =
                Outputs::open(&with_paths(&flags.outputs, &|path| Some(numbered(path, 1))))?;
            let ran = self.job.load.carry_out(flags, 1, outputs, feed.as_ref(), "");
            feed::close(feed);
            return ran?.1;
        }
        let ran = self.carry_out(repeat);
        let is_last = match &ran {
            Ok(code) => repeat == flags.repeat || severity(*code).is_none(),
            Err(_) => true,
        };
        if is_last {
            self.finish()?;
        }
        ran
    }

    fn carry_out(&mut self, repeat: u32) -> Result<ExitCode, Exit> {
        let flags = self.job.flags;
        if repeat == 1 {
            self.feed = feed::open(&flags.feed, self.job.load.endpoint(), flags.outputs.quiet)?;
            self.outputs = Some(Outputs::open(&of_all(&flags.outputs))?);
        }
        let outputs = Outputs::open(&of_one(&flags.outputs, repeat))?;
        let name = self.job.name.map(|name| format!("{name} ")).unwrap_or_default();
        let title = format!("{name}{repeat} of {}", flags.repeat);
        let feed = self.feed.as_ref();
        let (result, ended) = self.job.load.carry_out(flags, repeat, outputs, feed, &title)?;
        self.results.extend(result);
        ended
    }

    /// Writes the reports of all repeats, once.
    fn finish(&mut self) -> Result<(), Exit> {
        self.has_ended = true;
        let feed = self.feed.take();
        let written = self.write();
        // A wait for a last scrape keeps nobody from the reports.
        feed::close(feed);
        written
    }

    fn write(&mut self) -> Result<(), Exit> {
        let Some(outputs) = self.outputs.take() else { return Ok(()) };
        let results = std::mem::take(&mut self.results);
        if results.is_empty() {
            outputs.discard();
            return Ok(());
        }
        let outputs = if results.iter().any(RunResult::was_carried_out) {
            self.announce()?;
            outputs
        } else {
            outputs.without_text()
        };
        let (asked, others) = (self.job.flags.repeat, std::mem::take(&mut self.others));
        outputs.write_repeats(&Repeats::of(results, asked, others, tool()))?;
        Ok(())
    }

    /// Names a run of a plan that failed. Why stands above: on stderr or, unless it is quiet, in
    /// the report.
    fn say_if_failed(&self, repeat: u32, code: ExitCode) {
        let has_failed = severity(code).is_some() && code != ExitCode::SUCCESS;
        let Some(name) = self.job.name.filter(|_| has_failed && self.place.1 > 1) else { return };
        let which = match self.job.flags.repeat {
            1 => String::new(),
            _ => format!(", repeat {repeat},"),
        };
        say(&[format!("run '{name}'{which} failed")]);
    }

    /// Says which run's report comes next, where a person reads the reports of several.
    fn announce(&self) -> Result<(), Exit> {
        let (index, of) = self.place;
        let flags = self.job.flags;
        let is_headed = match flags.repeat {
            1 => has_heading(&flags.outputs),
            _ => has_heading(&of_all(&flags.outputs)),
        };
        let Some(name) = self.job.name.filter(|_| of > 1 && is_headed) else { return Ok(()) };
        let gap = if self.has_spoken.replace(true) { "\n" } else { "" };
        exit::write(format!("{gap}== {name} ({index} of {of}) ==\n").as_bytes())
    }
}

fn has_heading(outputs: &OutputFlags) -> bool {
    let format = outputs.format.unwrap_or(Format::Text);
    format == Format::Text && has_report_on_stdout(outputs)
}

fn tool() -> Tool {
    Tool { name: "plimsoll".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// Writes repeats again that were taken before.
///
/// # Errors
/// A report of one run that all repeats would write, and what cannot be written.
pub(crate) fn report(repeats: &Repeats, outputs: &OutputFlags) -> Result<(), Exit> {
    for (repeat, result) in (1..).zip(&repeats.runs) {
        let mut each = Outputs::open(&of_one(outputs, repeat))?;
        for point in result.series.points() {
            each.point(point)?;
        }
        each.write(result)?;
    }
    Ok(Outputs::open(&of_all(outputs))?.write_repeats(repeats)?)
}

fn is_numbered(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.contains(NUMBER))
}

fn numbered(path: &Path, repeat: u32) -> PathBuf {
    match path.to_str() {
        Some(text) => OsString::from(text.replace(NUMBER, &repeat.to_string())).into(),
        None => path.to_owned(),
    }
}

/// The reports of one repeat alone: those that have a path of their own.
fn of_one(outputs: &OutputFlags, repeat: u32) -> OutputFlags {
    let mut one = with_paths(outputs, &|path| is_numbered(path).then(|| numbered(path, repeat)));
    if one.output.is_none() {
        one.format = None;
    }
    OutputFlags { quiet: true, ..one }
}

/// The reports of all repeats. What is written to a file for each is text on stdout for all.
fn of_all(outputs: &OutputFlags) -> OutputFlags {
    let mut all = with_paths(outputs, &|path| (!is_numbered(path)).then(|| path.to_owned()));
    if outputs.output.as_deref().is_some_and(is_numbered) {
        all.format = None;
    }
    all
}

/// The same flags with other paths; those without one are not given.
pub(crate) fn with_paths(
    outputs: &OutputFlags,
    path: &dyn Fn(&Path) -> Option<PathBuf>,
) -> OutputFlags {
    let changed = |given: &Option<PathBuf>| given.as_deref().and_then(path);
    OutputFlags {
        output: changed(&outputs.output),
        json: changed(&outputs.json),
        html: changed(&outputs.html),
        hgrm: changed(&outputs.hgrm),
        hlog: changed(&outputs.hlog),
        junit: changed(&outputs.junit),
        timeseries: changed(&outputs.timeseries),
        github_summary: outputs.github_summary.as_ref().and_then(|given| match given {
            Some(given) => path(given).map(Some),
            // The summary of the step is one for all.
            None => path(Path::new("")).map(|_| None),
        }),
        format: outputs.format,
        quiet: outputs.quiet,
        no_progress: outputs.no_progress,
        no_color: outputs.no_color,
    }
}

//! `plimsoll lab`: carries out a suite and writes its study.

mod asking;
mod ending;
mod figures;
mod loads;
mod planned;

use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use plimsoll_core::result::{Environment, Tool};
use plimsoll_core::study::Study;
use plimsoll_lab::order::PlannedRun;
use plimsoll_lab::suite::Suite;
use plimsoll_lab::{Carried, Lab, LabError, Store, prepare, suite};
use plimsoll_report::text::wrap;

use self::figures::Figures;
use crate::exit::Exit;
use crate::lab_args::LabFlags;
use crate::output_args::Format;
use crate::signals::Caught;
use crate::{message, study, terminal};

/// Carries out a suite, or shows what it would do.
///
/// # Errors
/// A suite that cannot be read, a case that is not there, or a folder that cannot be written. A
/// case that fails is not an error: the study says so.
pub(crate) fn lab(flags: &LabFlags) -> Result<ExitCode, Exit> {
    let text = read(&flags.suite)?;
    let mut suite = checked(flags, &text)?;
    let places = places(flags, &suite)?;
    let lengths = loads::read(&suite, &text, &places)
        .map_err(|error| Exit::Usage(format!("{}:{error}", flags.suite.display())))?;
    let folder = flags.output.clone().unwrap_or_else(|| Path::new("results").join(&suite.name));
    let folder = std::path::absolute(&folder)
        .with_context(|| format!("the folder '{}'", folder.display()))?;
    let environment = plimsoll_io::host::HostEnvironment::read().document();
    let resumed = match flags.go_on {
        true => Some(resume(&folder, &text, flags, &environment, &mut suite)?),
        false => None,
    };
    let figures = Figures::wanted(&flags.feed)?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopper = Arc::clone(&stop);
    let stopping = move || stopper.store(true, Ordering::Relaxed);
    let caught = Caught::watch_with(stopping, Some(plimsoll_lab::process::kill_all))
        .map_err(|error| Exit::CouldNotRun(format!("signals: {error}")))?;
    let mut say = message::show;
    let mut lab = Lab {
        suite: &suite,
        places,
        only: flags.only.clone(),
        builds: !flags.no_build,
        environment,
        tool: Tool { name: "plimsoll".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        variables: &|run| figures.variables(run),
        stopped: &|| stop.load(Ordering::Relaxed),
        say: &mut say,
        goes_on: &|why| flags.keep_going || asking::goes_on(why, &stop),
    };
    let usage = |error: &dyn std::fmt::Display| Exit::Usage(error.to_string());
    if flags.list {
        return Err(Exit::Text(fitted(&list(&suite, &lab))));
    }
    // Names are checked before a folder is made for nothing.
    let slots = lab.slots().map_err(|error| usage(&error))?;
    let words = planned::words(&slots, &suite, &lengths);
    if flags.dry_run {
        return Err(Exit::Text(dry_run(&slots, &words)));
    }
    if resumed.is_none() {
        Store::vacant(&folder).map_err(|error| usage(&error))?;
    }
    words.iter().for_each(|line| (lab.say)(line));
    if let Some(warning) = resumed.as_ref().and_then(|store| planned::taken_up(&slots, store)) {
        (lab.say)(&warning);
    }
    let ready = lab.prepare(resumed.as_ref()).map_err(could_not)?;
    if let Some(code) = caught.code() {
        // Nothing has been measured yet, so there is nothing to keep.
        return Ok(code);
    }
    let store = match resumed {
        Some(store) => store,
        None => Store::create(&folder, &text).map_err(|error| usage(&error))?,
    };
    let Carried { study, unfit } = lab.run(&ready, &store).map_err(could_not)?;
    let written = write(&study, &store);
    let open = slots.iter().filter(|slot| !is_there(&study, slot)).count();
    let ending = ending::of(&study, unfit.as_deref(), (open, slots.len()));
    ending.lines.iter().for_each(|line| (lab.say)(line));
    if let Some(code) = caught.code() {
        // The signal may mean that the terminal is gone, so no table is printed.
        return Ok(code);
    }
    written?;
    Ok(ExitCode::from(ending.code))
}

/// Whether nothing is left to do for a run: it gave figures, or its case was skipped.
fn is_there(study: &Study, slot: &PlannedRun<'_>) -> bool {
    study.case(&slot.server.name, &slot.load.name).is_some_and(|case| {
        case.skipped.is_some()
            || case.runs.iter().any(|run| run.repeat == slot.repeat && run.failure.is_none())
    })
}

fn could_not(error: LabError) -> Exit {
    match error {
        LabError::Unknown(error) => Exit::Usage(error.to_string()),
        LabError::Store(error) => Exit::CouldNotRun(error.to_string()),
        LabError::Unfit(error) => Exit::CouldNotRun(error.to_string()),
    }
}

/// Takes up a study where it was, with the order and the repeats that it was begun with.
///
/// # Errors
/// No study to continue, or one measured with another suite, in another order or on another
/// machine.
fn resume(
    folder: &Path,
    text: &str,
    flags: &LabFlags,
    environment: &Environment,
    suite: &mut Suite,
) -> Result<Store, Exit> {
    let store = Store::resume(folder, text).map_err(|error| Exit::Usage(error.to_string()))?;
    let Some(before) = store.study() else { return Ok(store) };
    let at = folder.display();
    if flags.seed.is_some_and(|seed| seed != before.seed) {
        let text = format!("--seed: the order of '{at}' was drawn from {}", before.seed);
        return Err(Exit::Usage(text));
    }
    let host = |it: &Environment| format!("{}, {}, {} cores", it.cpu, it.kernel, it.cores);
    let (there, here) = (host(&before.environment), host(environment));
    if there != here {
        let text = format!(
            "'{at}' was measured on another machine ({there}; here {here}): give another folder \
             (-o)"
        );
        return Err(Exit::Usage(text));
    }
    suite.seed = before.seed;
    if flags.repeats.is_none() {
        suite.repeats = suite.repeats.max(before.repeats);
    }
    Ok(store)
}

fn read(path: &Path) -> Result<String, Exit> {
    fs::read_to_string(path).map_err(|error| {
        Exit::Usage(format!("cannot read the suite '{}': {error}", path.display()))
    })
}

/// The suite with what the flags say in its place.
fn checked(flags: &LabFlags, text: &str) -> Result<Suite, Exit> {
    let path = &flags.suite;
    let absolute =
        std::path::absolute(path).with_context(|| format!("the folder of '{}'", path.display()))?;
    let directory = absolute.parent().unwrap_or(&absolute);
    let mut suite = suite::read(path, directory, text).map_err(|error| {
        Exit::Usage(plan_in_place_of_suite(path, text).unwrap_or_else(|| error.to_string()))
    })?;
    if let Some(repeats) = flags.repeats {
        if !(1..=suite::REPEATS_MAX).contains(&repeats) {
            return Err(Exit::Usage(format!("--repeats: give 1 to {}", suite::REPEATS_MAX)));
        }
        suite.repeats = repeats;
    }
    suite.seed = flags.seed.unwrap_or(suite.seed);
    Ok(suite)
}

/// What to do with a plan file that was given as a suite.
fn plan_in_place_of_suite(path: &Path, text: &str) -> Option<String> {
    let table: toml::Table = toml::from_str(text).ok()?;
    let has = |key: &str| table.contains_key(key);
    let is_plan = !has("servers") && !has("loads") && (has("url") || has("run"));
    let path = path.display();
    is_plan.then(|| {
        format!("'{path}' is a plan file and not a suite: carry it out with plimsoll run {path}")
    })
}

fn places(flags: &LabFlags, suite: &Suite) -> anyhow::Result<prepare::Places> {
    let work: PathBuf = flags.work.clone().unwrap_or_else(|| suite.directory.join(".work"));
    Ok(prepare::Places {
        plimsoll: std::env::current_exe().context("this program's own path")?,
        work: std::path::absolute(&work).context("the work folder")?,
        suite: suite.directory.clone(),
    })
}

fn list(suite: &Suite, lab: &Lab<'_>) -> String {
    let title = Some(&suite.title).filter(|title| **title != suite.name);
    let title = title.map(|title| format!(": {title}")).unwrap_or_default();
    let mut text = format!("{}{title}\n\nservers\n", suite.name);
    for server in &suite.servers {
        let missing = prepare::missing(server);
        let what = if missing.is_empty() {
            plimsoll_lab::words(&server.command)
        } else {
            format!("left out here: there is no {}", missing.join(", "))
        };
        text += &format!("  {:<20} {what}\n", server.name);
    }
    text += "\nloads\n";
    for load in &suite.loads {
        let what = match prepare::tester(load.tester, &lab.places).skipped {
            Some(reason) => format!("left out here: {reason}"),
            None => load.command(),
        };
        text += &format!("  {:<20} {what}\n", load.name);
    }
    for exclude in &suite.excludes {
        let (server, load) = (exclude.server.as_deref(), exclude.load.as_deref());
        let pair = format!("{}/{}", server.unwrap_or("*"), load.unwrap_or("*"));
        text += &format!("\nleft out: {pair}: {}\n", exclude.reason);
    }
    text
}

fn dry_run(slots: &[PlannedRun<'_>], words: &[String]) -> String {
    let mut text = String::new();
    for slot in slots {
        let (server, load) = (&slot.server.name, slot.load);
        let command = load.command();
        text +=
            &format!("{:>4}  {server} {} #{}: {command}\n", slot.position, load.name, slot.repeat);
    }
    let mut text = fitted(&text);
    for line in words {
        let lines = wrap("", "", line, terminal::columns(true));
        text += &format!("\n{}\n", lines.join("\n"));
    }
    text
}

/// Rows as a terminal shows them, broken at words; elsewhere one line each.
fn fitted(rows: &str) -> String {
    let columns = io::stdout().is_terminal().then(|| terminal::columns(true));
    message::broken(rows, columns) + "\n"
}

/// Writes the reports beside the study, and the table to stdout.
fn write(study: &Study, store: &Store) -> Result<(), Exit> {
    for (name, format) in study::BESIDE {
        study::write_file(study, format, &store.path(name))?;
    }
    study::print(study, Format::Text, false)?;
    message::show(&format!("\nreports: {}", store.path("report.html").display()));
    Ok(())
}

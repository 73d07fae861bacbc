//! `plimsoll lab`: a suite carried out, and its study written.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use plimsoll_core::result::Tool;
use plimsoll_core::study::Study;
use plimsoll_lab::suite::Suite;
use plimsoll_lab::{Lab, LabError, Store, prepare, suite};

use crate::args::Format;
use crate::exit::{COULD_NOT_RUN, Exit};
use crate::lab_args::LabFlags;
use crate::signals::Caught;
use crate::study;

/// Carries out a suite, or shows what it would do.
///
/// # Errors
/// A suite that cannot be read, a case that is not there, or a folder that cannot be written. A
/// case that fails is none.
pub(crate) fn lab(flags: &LabFlags) -> Result<ExitCode, Exit> {
    let text = read(&flags.suite)?;
    let suite = checked(flags, &text)?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopper = Arc::clone(&stop);
    let caught = Caught::watch(move || stopper.store(true, Ordering::Relaxed))
        .map_err(|error| Exit::CouldNotRun(format!("signals: {error}")))?;
    let mut say = |line: &str| {
        // Progress that nobody hears is no reason to stop.
        let _ = writeln!(io::stderr(), "{line}");
    };
    let mut lab = Lab {
        suite: &suite,
        places: places(flags, &suite)?,
        only: flags.only.clone(),
        builds: !flags.no_build,
        environment: plimsoll_io::host::Environment::read().document(),
        tool: Tool { name: "plimsoll".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        stopped: &|| stop.load(Ordering::Relaxed),
        say: &mut say,
    };
    let usage = |error: &dyn std::fmt::Display| Exit::Usage(error.to_string());
    if flags.list {
        return Err(Exit::Text(list(&suite, &lab)));
    }
    if flags.dry_run {
        return Err(Exit::Text(dry_run(&lab).map_err(|error| usage(&error))?));
    }
    // Names are checked before a folder is made for nothing.
    lab.slots().map_err(|error| usage(&error))?;
    let folder = flags.output.clone().unwrap_or_else(|| Path::new("results").join(&suite.name));
    let folder = std::path::absolute(&folder)
        .with_context(|| format!("the folder '{}'", folder.display()))?;
    let store =
        if flags.go_on { Store::resume(&folder, &text) } else { Store::create(&folder, &text) };
    let store = store.map_err(|error| usage(&error))?;
    let study = lab.run(&store).map_err(|error| match error {
        LabError::Unknown(error) => usage(&error),
        LabError::Store(error) => Exit::CouldNotRun(error.to_string()),
    })?;
    write(&study, &store)?;
    Ok(caught.code().unwrap_or_else(|| code(&study)))
}

/// 0 when every run that was possible gave figures.
fn code(study: &Study) -> ExitCode {
    let mut cases = study.cases.iter();
    let failed = cases.any(|case| {
        case.skipped.is_none() && (case.runs.is_empty() || case.failures().next().is_some())
    });
    let nothing = study.cases.iter().all(|case| case.runs.is_empty());
    if failed || nothing { ExitCode::from(COULD_NOT_RUN) } else { ExitCode::SUCCESS }
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
    let mut suite =
        suite::read(path, directory, text).map_err(|error| Exit::Usage(error.to_string()))?;
    if let Some(repeats) = flags.repeats {
        if !(1..=suite::REPEATS_MAX).contains(&repeats) {
            return Err(Exit::Usage(format!("--repeats: give 1 to {}", suite::REPEATS_MAX)));
        }
        suite.repeats = repeats;
    }
    suite.seed = flags.seed.unwrap_or(suite.seed);
    Ok(suite)
}

fn places(flags: &LabFlags, suite: &Suite) -> anyhow::Result<prepare::Places> {
    let work: PathBuf = flags.work.clone().unwrap_or_else(|| suite.directory.join(".work"));
    Ok(prepare::Places {
        plimsoll: std::env::current_exe().context("this program's own path")?,
        work: std::path::absolute(&work).context("the work folder")?,
    })
}

fn list(suite: &Suite, lab: &Lab<'_>) -> String {
    let mut text = format!("{}: {}\n\nservers\n", suite.name, suite.title);
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

fn dry_run(lab: &Lab<'_>) -> Result<String, plimsoll_lab::Unknown> {
    let mut text = String::new();
    for slot in lab.slots()? {
        let (server, load) = (&slot.server.name, slot.load);
        let command = load.command();
        text +=
            &format!("{:>4}  {server} {} #{}: {command}\n", slot.position, load.name, slot.repeat);
    }
    Ok(text)
}

/// Writes the reports beside the study, and the table to stdout.
fn write(study: &Study, store: &Store) -> Result<(), Exit> {
    for (name, format) in study::BESIDE {
        study::write_file(study, format, &store.path(name))?;
    }
    study::print(study, Format::Text, false)?;
    let _ = writeln!(io::stderr(), "\nreports: {}", store.path("report.html").display());
    Ok(())
}

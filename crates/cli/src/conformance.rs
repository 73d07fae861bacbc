//! `plimsoll conformance`: runs experiments on testers, writes the findings, and is the oracle that
//! experiments start as a process of its own.

use std::process::ExitCode;

use crate::conformance_args::ConformanceFlags;
use crate::exit::Exit;

/// Runs the experiments, or the part of them that was asked for.
///
/// # Errors
/// When a name is not known, a tester cannot be started, or the findings cannot be written.
#[cfg(target_os = "linux")]
pub(crate) fn conformance(flags: &ConformanceFlags) -> Result<ExitCode, Exit> {
    use crate::conformance_args::ConformancePart;
    match &flags.part {
        Some(ConformancePart::Oracle { mode, listen, log }) => linux::oracle(mode, *listen, log),
        None if flags.list => linux::list(flags),
        None if !flags.from.is_empty() => linux::again(flags),
        None => linux::suite(flags),
    }
}

/// There are no experiments for this system.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub(crate) fn conformance(_: &ConformanceFlags) -> Result<ExitCode, Exit> {
    Err(Exit::CouldNotRun("the experiments need Linux: its clocks, signals and /proc".to_owned()))
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::{self, BufReader, BufWriter, Write};
    use std::net::SocketAddr;
    use std::os::fd::AsFd as _;
    use std::path::{Path, PathBuf};
    use std::process::ExitCode;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use plimsoll_conformance::experiments::{self, Experiment};
    use plimsoll_conformance::harness::Subject;
    use plimsoll_conformance::oracle::{Mode, Oracle};
    use plimsoll_conformance::views::{self, View};
    use plimsoll_conformance::{Findings, SuiteOptions, TesterAdapter, suite, testers};
    use plimsoll_core::nearest::did_you_mean;

    use crate::conformance_args::{ConformanceFlags, FindingsFormat};
    use crate::destination::Destination;
    use crate::exit::Exit;
    use crate::message;
    use crate::outputs::is_stdout;
    use crate::signals::Caught;
    use crate::terminal::columns;

    /// Serves as an oracle until the standard input ends, then writes the log.
    pub(super) fn oracle(mode: &str, listen: SocketAddr, log: &Path) -> Result<ExitCode, Exit> {
        let mode: Mode =
            serde_json::from_str(mode).map_err(|error| Exit::Usage(format!("--mode: {error}")))?;
        let cannot = |error: io::Error| Exit::CouldNotRun(format!("oracle: {error}"));
        // With fewer it still serves, if not as many connections.
        let _ = plimsoll_io::host::raise_open_files();
        let oracle = Oracle::bind(listen, mode).map_err(cannot)?;
        let mut stdout = io::stdout().lock();
        let address = oracle.address().map_err(cannot)?;
        writeln!(stdout, "listening {address}").and_then(|()| stdout.flush()).map_err(cannot)?;
        let seen = oracle.serve(io::stdin().as_fd(), &mut stdout).map_err(cannot)?;
        let mut file = BufWriter::with_capacity(1 << 20, File::create(log).map_err(cannot)?);
        seen.write(&mut file).and_then(|()| file.flush()).map_err(cannot)?;
        Ok(ExitCode::SUCCESS)
    }

    /// What there is, as text for the terminal or a document.
    pub(super) fn list(flags: &ConformanceFlags) -> Result<ExitCode, Exit> {
        let (mut text, chosen, testers) = (Vec::new(), chosen(&flags.only)?, testers());
        let names: Vec<&str> = testers.iter().map(|tester| tester.name()).collect();
        let written = match view(flags.format) {
            View::Markdown => views::describe(&chosen, &mut text),
            View::Text | View::Json => views::list(&chosen, &names, &mut text),
        };
        written.map_err(|error| Exit::CouldNotRun(error.to_string()))?;
        Err(Exit::Text(String::from_utf8_lossy(&text).into_owned()))
    }

    fn view(format: FindingsFormat) -> View {
        match format {
            FindingsFormat::Text => View::Text,
            FindingsFormat::Md => View::Markdown,
            FindingsFormat::Json => View::Json,
        }
    }

    /// Runs the experiments and writes the findings. The exit code is 0 whatever they are: they are
    /// about testers, and one that fails has been examined well.
    pub(super) fn suite(flags: &ConformanceFlags) -> Result<ExitCode, Exit> {
        let chosen = chosen(&flags.only)?;
        let scratch = tempfile::tempdir()
            .map_err(|error| Exit::CouldNotRun(format!("a scratch directory: {error}")))?;
        let executable = std::env::current_exe()
            .map_err(|error| Exit::CouldNotRun(format!("this program's own path: {error}")))?;
        let subjects = subjects(flags, &executable, scratch.path())?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopper = Arc::clone(&stop);
        let stopping = move || stopper.store(true, Ordering::Relaxed);
        let caught = Caught::watch_with(stopping, Some(plimsoll_lab::process::kill_all))
            .map_err(|error| Exit::CouldNotRun(format!("signals: {error}")))?;
        let order = SuiteOptions {
            stop,
            executable,
            scratch: scratch.path().to_path_buf(),
            quick: flags.quick,
            may_step_clock: flags.step_clock,
            repeats: flags.repeats.max(1),
        };
        let findings = suite::run(&order, &chosen, &subjects, &mut message::show);
        write(flags, &findings)?;
        Ok(caught.code().unwrap_or(ExitCode::SUCCESS))
    }

    /// Writes what earlier calls found, their columns joined.
    pub(super) fn again(flags: &ConformanceFlags) -> Result<ExitCode, Exit> {
        let chosen = chosen(&flags.only)?;
        let documents = flags.from.iter().map(|path| document(path));
        let mut findings = documents
            .collect::<Result<Vec<_>, _>>()
            .and_then(|all| Findings::join(all).map_err(|error| error.to_string()))
            .map_err(Exit::Usage)?;
        findings.experiments.retain(|row| {
            flags.only.is_empty() || chosen.iter().any(|experiment| experiment.name == row.name)
        });
        write(flags, &findings)?;
        Ok(ExitCode::SUCCESS)
    }

    fn document(path: &Path) -> Result<Findings, String> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let file = File::open(path).map_err(|error| named(&error))?;
        serde_json::from_reader(BufReader::new(file)).map_err(|error| named(&error))
    }

    fn write(flags: &ConformanceFlags, findings: &Findings) -> Result<(), Exit> {
        let view = view(flags.format);
        let written = match flags.output.as_deref().filter(|path| !is_stdout(path)) {
            Some(path) => Destination::open(path).and_then(|file| {
                file.write(|out| views::write(findings, view, columns(false), out))
            }),
            None => views::write(findings, view, columns(true), &mut io::stdout().lock()),
        };
        match written {
            // A reader that has gone away has read enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Exit::CouldNotRun(format!("the findings: {error}"))),
            Ok(()) => Ok(()),
        }
    }

    fn chosen(only: &[String]) -> Result<Vec<Experiment>, Exit> {
        let all = experiments::all();
        if let Some(unknown) = only.iter().find(|name| !all.iter().any(|e| e.name == **name)) {
            let meant = did_you_mean(unknown, all.iter().map(|e| e.name));
            return Err(Exit::Usage(format!("no experiment '{unknown}'{meant} (see --list)")));
        }
        let is_wanted = |e: &Experiment| only.is_empty() || only.iter().any(|name| name == e.name);
        Ok(all.into_iter().filter(is_wanted).collect())
    }

    fn subjects(
        flags: &ConformanceFlags,
        executable: &Path,
        scratch: &Path,
    ) -> Result<Vec<Subject>, Exit> {
        let default = ["plimsoll".to_owned()];
        let names = if flags.tools.is_empty() { &default[..] } else { &flags.tools };
        let known: Vec<&str> = testers().iter().map(|tester| tester.name()).collect();
        let unknown = |name: &str| {
            let meant = did_you_mean(name, known.iter().copied());
            Exit::Usage(format!("no tester '{name}'{meant}; there are {}", known.join(", ")))
        };
        if let Some((name, _)) = flags.tool_paths.iter().find(|(name, _)| !names.contains(name)) {
            return Err(Exit::Usage(format!("--tool-path for '{name}' without --tool {name}")));
        }
        names
            .iter()
            .map(|name| {
                let tester = testers().into_iter().find(|tester| tester.name() == name);
                let tester = tester.ok_or_else(|| unknown(name))?;
                let program = program(flags, tester.as_ref(), executable);
                suite::subject(tester, &program, scratch).map_err(Exit::CouldNotRun)
            })
            .collect()
    }

    fn program(flags: &ConformanceFlags, tester: &dyn TesterAdapter, executable: &Path) -> PathBuf {
        let given = flags.tool_paths.iter().rev().find(|(name, _)| name == tester.name());
        match given {
            // Runs happen in directories of their own.
            Some((_, path)) => std::path::absolute(path).unwrap_or_else(|_| path.clone()),
            None if tester.program() == "plimsoll" => executable.to_path_buf(),
            None => PathBuf::from(tester.program()),
        }
    }
}

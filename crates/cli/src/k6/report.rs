//! `plimsoll run SCRIPT.js`: a k6 script with our report. The script is loaded and carried out as
//! `plimsoll k6 run` does it; what comes out is a result as every run has it.
//!
//! Absent on purpose: `handleSummary()`, which replaces a report that is not made here, and k6's
//! configuration file.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use plimsoll_core::RunResult;
use plimsoll_core::secret::Masks;
use plimsoll_core::units::format_duration;
use plimsoll_dialect::k6::options::{Flags, Options, Sources};
use plimsoll_dialect::k6::runtime::{Runtime, RuntimeFlags};
use plimsoll_dialect::k6::{ExitCode as K6Code, Refused, SecretSources};
use plimsoll_runner::k6::{Planned, RecordError, Terms, Test};
use plimsoll_runner::{News, RunnerError};

use super::log::{Log, Wanted};
use super::run::Stop;
use super::script::{Asked, evaluate, module_cache};
use super::variable;
use crate::args::key;
use crate::ending::{end, say};
use crate::exit::{Exit, print};
use crate::feed;
use crate::outputs::Outputs;
use crate::progress::Live;
use crate::run::{beside, explain};
use crate::run_args::RunFlags;
use crate::signals::Caught;
use crate::value_args::is_script;

/// Flags that a script's run has, by their names in the definition.
const FIT: [&str; 33] = [
    "url",
    "connections",
    "duration",
    "requests",
    "env",
    "threads",
    "driver",
    "seed",
    "insecure",
    "require_valid",
    "control",
    "monitor",
    "out",
    "out_label",
    "out_names",
    "redact",
    "show_secrets",
    "gate",
    "abort_when",
    "print_plan",
    "output",
    "json",
    "html",
    "hgrm",
    "hlog",
    "junit",
    "timeseries",
    "github_summary",
    "format",
    "quiet",
    "no_progress",
    "no_color",
    "help",
];

/// What to do instead of flags that it does not have.
const UNFIT: [(&str, &str); 15] = [
    ("rate", "set an arrival rate in the script: options.scenarios"),
    ("arrival", "set an arrival rate in the script: options.scenarios"),
    ("stages", "set stages in the script: options.scenarios"),
    ("rate_file", "set an arrival rate in the script: options.scenarios"),
    ("shed_after", "iterations that no virtual user is free for are dropped at once"),
    ("warmup", "give the script a scenario that runs before the others"),
    ("drain", "set gracefulStop in the script: options.scenarios"),
    ("timeout", "set timeout in the parameters of a request"),
    ("wait", "wait for the server in the script's setup()"),
    ("expect", "use check() in the script, and thresholds on it"),
    ("script", "the script is the whole load: give it alone"),
    ("repeat", "run it again and compare the documents"),
    ("spin", "virtual users sleep while they wait"),
    ("pin", "set the CPUs of the process with taskset"),
    ("plan", "give either a plan file or a script"),
];

/// A script's run as the command line asks for it.
#[derive(Debug)]
pub(crate) struct ScriptRun {
    path: String,
    vus: Option<u32>,
}

impl ScriptRun {
    /// The run of a script, if the arguments of `run` name one. `definition` is that of `run`.
    ///
    /// # Errors
    /// A flag that a script's run does not have, in a line.
    pub(crate) fn asked(given: &ArgMatches, definition: &Command) -> Result<Option<Self>, Exit> {
        let Some(path) = given.get_one::<String>("url").filter(|url| is_script(url)) else {
            return Ok(None);
        };
        let is_given = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
        let unfit = definition.get_arguments().find(|arg| {
            let id = arg.get_id().as_str();
            !FIT.contains(&id) && is_given(id)
        });
        if let Some(arg) = unfit {
            let id = arg.get_id().as_str();
            let advice = UNFIT.iter().find(|(name, _)| *name == id);
            let advice = advice.map_or("set it in the script", |(_, advice)| advice);
            let text = format!("the run of a script has no --{}: {advice}", key(arg));
            return Err(Exit::Usage(text));
        }
        let vus = given.get_one::<(u32, Option<u32>)>("connections");
        let vus = vus.filter(|_| is_given("connections"));
        if let Some((_, Some(_))) = vus {
            let text =
                "-c MIN..MAX is for connections: of a script, -c N is the number of virtual users";
            return Err(Exit::Usage(text.to_owned()));
        }
        Ok(Some(Self { path: path.clone(), vus: vus.map(|(vus, _)| *vus) }))
    }

    /// Carries the run out and writes its reports.
    ///
    /// # Errors
    /// Why nothing was run, or what could not be written.
    pub(crate) fn run(&self, flags: &RunFlags) -> Result<ExitCode, Exit> {
        let log = Log::start(&wanted(flags)).map_err(exit_of)?;
        let done = self.run_logged(flags, &log);
        log.finish();
        let (result, caught) = match done? {
            Done::Result(result, caught) => (result, caught),
            Done::Ended(code) => return Ok(code),
        };
        Ok(caught.code().unwrap_or_else(|| end(&result, flags.outputs.quiet)))
    }

    fn run_logged(&self, flags: &RunFlags, log: &Log) -> Result<Done, Exit> {
        let stop = Arc::new(Stop::default());
        let on_signal = Arc::clone(&stop);
        let caught = Caught::watch(move || on_signal.stop())
            .map_err(|error| Exit::CouldNotRun(format!("signals: {error}")))?;
        let test = match self.load(flags, log, &stop.is_stopped) {
            Ok(test) => test,
            Err(refused) if refused.code == K6Code::Interrupted => {
                return Ok(Done::Ended(caught.code().unwrap_or(ExitCode::FAILURE)));
            }
            Err(refused) => return Err(exit_of(refused)),
        };
        let terms = self.terms(flags);
        let planned = test.plan(&terms).map_err(|error| explain(RunnerError::from(error)))?;
        if flags.print_plan {
            return Ok(Done::Ended(print(&scenario_lines(&planned))));
        }
        let feed = feed::open(flags, &planned.run.endpoint)?;
        let mut outputs = Outputs::open(&flags.outputs)?;
        if test.program.function("handleSummary").is_some() {
            let note = "note: handleSummary() is not called: `plimsoll k6 run` calls it";
            say(&[note.to_owned()]);
        }
        let handle = test.handle();
        stop.guard(&handle);
        let is_quiet = flags.outputs.quiet;
        let live = Live::new(!is_quiet && !flags.outputs.no_progress, "");
        let mut series = Ok(());
        let news = &mut |news: News<'_>| {
            if let News::Measuring(figures) | News::Interval(figures, _) = news {
                live.show(figures);
            }
            if let News::Interval(_, point) = news
                && let Err(error) = outputs.point(point)
            {
                series = Err(error);
            }
        };
        let beside = beside(flags, feed.as_ref());
        let ran = test.record(&planned, beside, &handle, log.lines(), news);
        feed::close(feed);
        live.clear();
        match ran {
            Ok(result) => {
                outputs.write(&result)?;
                series?;
                Ok(Done::Result(Box::new(result), caught))
            }
            Err(RecordError::Refused(refused)) if refused.code == K6Code::Interrupted => {
                outputs.discard();
                Ok(Done::Ended(caught.code().unwrap_or(ExitCode::FAILURE)))
            }
            Err(error) => {
                let exit = match error {
                    RecordError::Refused(refused) => exit_of(refused),
                    RecordError::Run(error) => explain(error),
                };
                if let Exit::CouldNotRun(reason) = &exit {
                    outputs
                        .without_text()
                        .write(&plimsoll_engine::not_carried_out(&planned.run, reason))?;
                } else {
                    outputs.discard();
                }
                Err(exit)
            }
        }
    }

    fn load(&self, flags: &RunFlags, log: &Log, stop: &AtomicBool) -> Result<Test, Refused> {
        let env = flags.env.iter().map(|variable| variable.reveal().clone()).collect();
        let runtime = RuntimeFlags { env, ..RuntimeFlags::default() };
        let own = Flags {
            vus: self.vus.map(|vus| vus.to_string()),
            duration: flags.duration.map(format_duration),
            iterations: flags.requests.map(|iterations| iterations.to_string()),
            insecure_skip_tls_verify: flags.tls.insecure.then_some(true),
            ..Flags::default()
        };
        let asked = Asked {
            name: self.path.clone(),
            runtime: Runtime::new(&runtime, &variable, true)?,
            sources: Sources {
                environment: Options::from_environment(&variable)?,
                flags: own.options()?,
                ..Sources::default()
            },
            user_agent: concat!("plimsoll/", env!("CARGO_PKG_VERSION")).to_owned(),
            seed: flags.seed,
            is_verbose: false,
            driver: crate::plan::driver(flags.driver),
            workers: flags.threads,
            secrets: SecretSources::default(),
            module_cache: module_cache(),
            can_resume: false,
        };
        evaluate(asked, log, stop).map(|(test, _)| test)
    }

    fn terms(&self, flags: &RunFlags) -> Terms {
        Terms {
            script: self.path.clone(),
            gates: flags.conditions.gate.clone(),
            abort_when: flags.conditions.abort_when.clone(),
            require_valid: flags.require_valid,
            control: flags.control.as_ref().map(|path| path.display().to_string()),
            seed: flags.seed,
            driver: crate::plan::driver(flags.driver),
            masks: Masks { names: flags.redact.clone(), shows_all: flags.show_secrets },
        }
    }
}

/// What a script would do, a line for each scenario.
fn scenario_lines(planned: &Planned) -> String {
    let scenarios = planned.run.vus.iter().flat_map(|vus| &vus.scenarios);
    scenarios.map(|it| format!("{}: {}: {}\n", it.name, it.executor, it.load)).collect()
}

/// What came of a run.
enum Done {
    Result(Box<RunResult>, Caught),
    /// There is nothing to report: only the plan was asked for, or a signal came first.
    Ended(ExitCode),
}

/// Lines of the script go to stderr, as those of `plimsoll k6` do.
fn wanted(flags: &RunFlags) -> Wanted {
    Wanted {
        output: "stderr".to_owned(),
        format: None,
        console: None,
        has_colors: !flags.outputs.no_color && crate::terminal::takes_escapes(),
        is_verbose: false,
    }
}

/// Options that make no sense are the user's mistake; all else kept the run from being.
fn exit_of(refused: Refused) -> Exit {
    match refused.code {
        K6Code::InvalidConfig => Exit::Usage(refused.what),
        _ => Exit::CouldNotRun(refused.what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_scripts_are_flags_of_run() {
        let definition = crate::args::run_definition();
        let names: Vec<&str> =
            definition.get_arguments().map(|arg| arg.get_id().as_str()).collect();
        let unfit = UNFIT.iter().map(|(name, _)| name);
        for name in FIT.iter().chain(unfit) {
            assert!(names.contains(name), "{name}");
        }
        assert!(UNFIT.iter().all(|(name, _)| !FIT.contains(name)));
    }
}

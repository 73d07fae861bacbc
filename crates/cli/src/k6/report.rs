//! `plimsoll run SCRIPT.js`: a k6 script with our report. The script is loaded and carried out as
//! `plimsoll k6 run` does it; what comes out is a result as every run has it.
//!
//! Absent on purpose: `handleSummary()`, which replaces a report that is not made here, and k6's
//! configuration file.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plimsoll_core::RunResult;
use plimsoll_core::secret::Masks;
use plimsoll_core::units::format_duration;
use plimsoll_dialect::k6::options::{Flags, Options, Sources};
use plimsoll_dialect::k6::runtime::{Runtime, RuntimeFlags};
use plimsoll_dialect::k6::{ExitCode as K6Code, Refused, SecretSources};
use plimsoll_outputs::Feed;
use plimsoll_runner::k6::{Planned, RecordError, Terms, Test};
use plimsoll_runner::{News, RunnerError};

use super::log::{Log, Wanted};
use super::run::Stop;
use super::script::{Asked, evaluate, module_cache};
use crate::ending::{end, say};
use crate::exit::{Exit, print};
use crate::outputs::Outputs;
use crate::progress::Live;
use crate::run::{beside, explain};
use crate::run_args::RunFlags;
use crate::signals::Caught;
use crate::value_args::{is_script, variable};

/// Flags that a script's run has, by their names in the definition.
const FIT: [&str; 34] = [
    "url",
    "connections",
    "duration",
    "requests",
    "env",
    "repeat",
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
    ("spin", "virtual users sleep while they wait"),
    ("pin", "set the CPUs of the process with taskset"),
    ("plan", "give either a plan file or a script"),
    ("verbose", "see what it sends with `plimsoll k6 run --http-debug=full -i 1 SCRIPT`"),
];

/// A script's run as flags or a plan file ask for it.
#[derive(Debug)]
pub(crate) struct ScriptRun {
    path: String,
    vus: Option<u32>,
}

/// A flag that a script's run does not have, or has with other values.
#[derive(Debug)]
pub(crate) struct Unfit {
    /// The flag, by its name in the definition.
    pub id: String,
    /// The mistake and what to do, in a line.
    pub text: String,
}

impl ScriptRun {
    /// The run of a script, if the flags name one. What was given comes with the name that a flag
    /// has in the definition and the name that the user gave it.
    ///
    /// # Errors
    /// The first flag that a script's run does not have.
    pub(crate) fn asked(
        flags: &RunFlags,
        given: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Option<Self>, Unfit> {
        let Some(path) = flags.url.clone().filter(|url| is_script(url)) else { return Ok(None) };
        let mut vus = None;
        for (id, name) in given {
            if !FIT.contains(&id.as_str()) {
                let advice = UNFIT.iter().find(|(unfit, _)| *unfit == id);
                let advice = advice.map_or("set it in the script", |(_, advice)| advice);
                return Err(Unfit {
                    text: format!("the run of a script has no {name}: {advice}"),
                    id,
                });
            }
            if id == "connections" {
                let (count, None) = flags.connections else {
                    let text = format!(
                        "{name} MIN..MAX is for connections: of a script, {name} N is the number \
                         of virtual users"
                    );
                    return Err(Unfit { text, id });
                };
                vus = Some(count);
            }
        }
        Ok(Some(Self { path, vus }))
    }

    /// Prints what the script would do, a line for each scenario.
    ///
    /// # Errors
    /// A mistake in the script or its options.
    pub(crate) fn print_plan(&self, flags: &RunFlags) -> Result<ExitCode, Exit> {
        let log = Log::start(&wanted(flags)).map_err(exit_of)?;
        let test = self.load(flags, flags.seed, &log, &AtomicBool::new(false));
        log.finish();
        let planned = test.map_err(exit_of)?.plan(&self.terms(flags, flags.seed));
        let planned = planned.map_err(|error| explain(RunnerError::from(error)))?;
        Ok(print(&scenario_lines(&planned)))
    }

    /// Carries the run out once and writes its reports. The title stands before the live progress.
    /// Gives the result, and how the run ended as [`crate::run::carry_out`] does. A signal that
    /// comes before the load leaves no result.
    ///
    /// # Errors
    /// Why nothing was run, or what could not be written.
    pub(crate) fn carry_out(
        &self,
        flags: &RunFlags,
        seed: u64,
        outputs: Outputs,
        feed: Option<&Feed>,
        title: &str,
    ) -> Result<(Option<RunResult>, Result<ExitCode, Exit>), Exit> {
        let log = Log::start(&wanted(flags)).map_err(exit_of)?;
        let stop = Arc::new(Stop::default());
        let on_signal = Arc::clone(&stop);
        let caught = Caught::watch(move || on_signal.stop())
            .map_err(|error| Exit::CouldNotRun(format!("signals: {error}")))?;
        let once = Once { flags, seed, feed, title };
        let done = self.load_and_report(once, outputs, &log, &stop);
        log.finish();
        Ok(match done? {
            Done::Result(result) => {
                let code = caught.code().unwrap_or_else(|| end(&result, flags.outputs.quiet));
                (Some(*result), Ok(code))
            }
            Done::NotCarriedOut(result, reason) => (Some(*result), Err(Exit::CouldNotRun(reason))),
            Done::Interrupted => (None, Ok(caught.code().unwrap_or(ExitCode::FAILURE))),
        })
    }

    fn load_and_report(
        &self,
        once: Once<'_>,
        mut outputs: Outputs,
        log: &Log,
        stop: &Stop,
    ) -> Result<Done, Exit> {
        let Once { flags, seed, feed, title } = once;
        let (test, planned) = match self.planned(flags, seed, log, stop) {
            Ok(Some(planned)) => planned,
            Ok(None) => {
                outputs.discard();
                return Ok(Done::Interrupted);
            }
            Err(exit) => {
                outputs.discard();
                return Err(exit);
            }
        };
        let handle = test.handle();
        stop.guard(&handle);
        let is_quiet = flags.outputs.quiet;
        let live = Live::new(!is_quiet && !flags.outputs.no_progress, title);
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
        let beside = beside(flags, feed);
        let ran = test.record(&planned, beside, &handle, log.lines(), news);
        live.clear();
        match ran {
            Ok(result) => {
                outputs.write(&result)?;
                series?;
                Ok(Done::Result(Box::new(result)))
            }
            Err(RecordError::Refused(refused)) if refused.code == K6Code::Interrupted => {
                outputs.discard();
                Ok(Done::Interrupted)
            }
            Err(error) => not_carried_out(&planned, error, outputs),
        }
    }

    /// Reads the script and plans its run; `None` if a signal came meanwhile.
    fn planned(
        &self,
        flags: &RunFlags,
        seed: u64,
        log: &Log,
        stop: &Stop,
    ) -> Result<Option<(Test, Planned)>, Exit> {
        let test = match self.load(flags, seed, log, &stop.is_stopped) {
            Ok(test) => test,
            Err(refused) if refused.code == K6Code::Interrupted => return Ok(None),
            Err(refused) => return Err(exit_of(refused)),
        };
        let planned = test.plan(&self.terms(flags, seed));
        let planned = planned.map_err(|error| explain(RunnerError::from(error)))?;
        if test.program.function("handleSummary").is_some() {
            let note = "note: handleSummary() is not called: `plimsoll k6 run` calls it";
            say(&[note.to_owned()]);
        }
        Ok(Some((test, planned)))
    }

    fn load(
        &self,
        flags: &RunFlags,
        seed: u64,
        log: &Log,
        stop: &AtomicBool,
    ) -> Result<Test, Refused> {
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
            call_agent: None,
            seed,
            is_verbose: false,
            driver: crate::plan::driver(flags.driver),
            workers: flags.threads,
            secrets: SecretSources::default(),
            module_cache: module_cache(),
            can_resume: false,
        };
        evaluate(asked, log, stop).map(|(test, _)| test)
    }

    fn terms(&self, flags: &RunFlags, seed: u64) -> Terms {
        Terms {
            script: self.path.clone(),
            gates: flags.conditions.gate.clone(),
            abort_when: flags.conditions.abort_when.clone(),
            require_valid: flags.require_valid,
            control: flags.control.as_ref().map(|path| path.display().to_string()),
            seed,
            driver: crate::plan::driver(flags.driver),
            masks: masks(flags),
        }
    }
}

/// What a script would do, a line for each scenario.
fn scenario_lines(planned: &Planned) -> String {
    let scenarios = planned.run.vus.iter().flat_map(|vus| &vus.scenarios);
    scenarios.map(|it| format!("{}: {}: {}\n", it.name, it.executor, it.load)).collect()
}

/// One of the runs that flags ask for.
struct Once<'a> {
    flags: &'a RunFlags,
    /// Its own seed.
    seed: u64,
    /// Who else gets its figures.
    feed: Option<&'a Feed>,
    /// What stands before its live progress.
    title: &'a str,
}

/// What came of a run.
enum Done {
    Result(Box<RunResult>),
    /// No load ran. The reports give the reason.
    NotCarriedOut(Box<RunResult>, String),
    /// A signal came before the load.
    Interrupted,
}

/// Reports why no load ran, unless the command line has to change.
fn not_carried_out(planned: &Planned, error: RecordError, outputs: Outputs) -> Result<Done, Exit> {
    let exit = match error {
        RecordError::Refused(refused) => exit_of(refused),
        RecordError::Run(error) => explain(error),
    };
    let Exit::CouldNotRun(reason) = exit else {
        outputs.discard();
        return Err(exit);
    };
    let result = plimsoll_engine::not_carried_out(&planned.run, &reason);
    outputs.without_text().write(&result)?;
    Ok(Done::NotCarriedOut(Box::new(result), reason))
}

/// Lines of the script go to stderr, as those of `plimsoll k6` do.
fn wanted(flags: &RunFlags) -> Wanted {
    Wanted {
        output: "stderr".to_owned(),
        format: None,
        console: None,
        has_colors: !flags.outputs.no_color && crate::terminal::takes_escapes(),
        is_verbose: false,
        masks: Some(masks(flags)),
    }
}

fn masks(flags: &RunFlags) -> Masks {
    Masks { names: flags.redact.clone(), shows_all: flags.show_secrets }
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

//! Plan files: one or more runs in TOML, whose keys are the names of `run`'s flags.
//!
//! The values of a file go through the definition of the command line, once. So a file can say
//! whatever the flags can say and nothing else. Flags beside the file have been through it already
//! and take the place of the file's values. Errors carry the flag or the field that they
//! are about, which leads to the line of the file. The code here knows no flags by name except
//! those for plan files. `--print-plan` goes the other way, from arguments to a file.
//!
//! Absent on purpose: includes, variables, and paths relative to the file. A path means what it
//! means on the command line.

mod execute;
mod print;
mod read;
mod setting;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, FromArgMatches};
use plimsoll_core::plan::{Field, Keys, Words};
use plimsoll_core::scenario::{Scenario, ScenarioError, Scenarios};

use crate::args::key;
use crate::exit::Exit;
use crate::fault::{Fault, Flags};
use crate::find_args::{self, FindFlags};
use crate::k6::{ScriptRun, Unfit};
use crate::load::Load;
use crate::output_args::OutputFlags;
use crate::refusal::{refusal, refused};
use crate::repeat::{SharedReport, with_paths};
use crate::run_args::RunFlags;
pub(crate) use execute::execute;
pub(crate) use read::setting_named;
pub(crate) use setting::is_setting;
use setting::{Settings, with_name};

/// Flags that say something about plan files and so have no place in one.
const ABOUT_FILES: [&str; 2] = ["plan", "print_plan"];

/// The runs that were asked for, in order.
#[derive(Debug)]
pub(crate) struct Runs {
    runs: Vec<Run>,
    /// What the command line itself says, for each of them.
    beside: ArgMatches,
    /// Whether to print the plan instead of carrying it out.
    print: bool,
}

/// One run, or one of its scenarios.
#[derive(Debug)]
struct Run {
    /// `run` or `scenario`.
    what: &'static str,
    /// What the file calls it; `None` for the run of a command line.
    name: Option<String>,
    /// Its flags, in the file and beside it.
    settings: Settings,
    /// Its scenarios; none in a plain run.
    parts: Vec<Part>,
    /// The file, and the line where the run starts in it.
    file: Option<(PathBuf, usize)>,
}

/// A scenario of a run.
#[derive(Debug)]
struct Part {
    name: String,
    start_ns: u64,
    /// What its table says, which takes the place of the run's.
    settings: Settings,
    /// Where its table starts in the file.
    line: usize,
}

/// A run that can be carried out.
#[derive(Debug)]
struct Prepared {
    name: String,
    flags: RunFlags,
    load: Load,
}

/// Why a run cannot be carried out.
enum Obstacle {
    /// A value of the file is not one.
    Value(clap::Error),
    /// A report of one run that all its repeats would write.
    Shared(SharedReport),
    /// A flag that the run of a script does not have.
    Unfit(Unfit),
    /// The flags make no plan.
    Plan(Fault),
    /// The scenarios make no run.
    Scenarios(ScenarioError),
}

impl Runs {
    /// What `run`'s arguments ask for, when that is a plan file or to print one.
    ///
    /// # Errors
    /// A file that cannot be read or says what no flag can.
    pub(crate) fn asked(given: &ArgMatches, definition: &Command) -> Result<Option<Self>, Exit> {
        let print = given.get_flag("print_plan");
        let mut settings = Settings::given(given, definition);
        let path = match given.get_one::<PathBuf>("plan") {
            Some(path) => path.clone(),
            None => match file_in_place_of_url(given) {
                Some(path) => {
                    settings.remove("url");
                    path
                }
                None if print => {
                    let beside = said(given, &settings, definition);
                    let parts = Vec::new();
                    let run = Run { what: read::RUN, name: None, settings, parts, file: None };
                    return Ok(Some(Self { runs: vec![run], beside, print }));
                }
                None => return Ok(None),
            },
        };
        let mut runs = read::read(&path, definition)?;
        for run in &mut runs {
            run.settings = run.settings.overridden_by(&settings, definition);
        }
        Ok(Some(Self { runs, beside: said(given, &settings, definition), print }))
    }
}

impl Runs {
    /// The flags of a search that sends what the one run of the file sends. A file may have the
    /// flags of searches too.
    ///
    /// # Errors
    /// Several runs, scenarios, and what a search has no place for.
    pub(crate) fn search(&self, definition: &Command) -> Result<Box<FindFlags>, Exit> {
        let run = self.only_run("a search")?;
        let unfit = run.settings.iter().find_map(|it| Some((it, find_args::unfit(&it.id)?)));
        if let Some((setting, advice)) = unfit {
            let path = run.file.as_ref().map(|(path, _)| path.display().to_string());
            let (path, line) = (path.unwrap_or_default(), setting.line.unwrap_or_default());
            let key = setting.key(definition);
            return Err(Exit::Usage(format!("{path}:{line}: find has no {key}: {advice}")));
        }
        let flags = run.read(&self.beside, definition);
        flags.map(Box::new).map_err(|error| run.place(Obstacle::Value(error), definition))
    }

    /// The flags of a request as the one run of the file sends it. What the file says of the load
    /// and of reports is not for it.
    ///
    /// # Errors
    /// Several runs, and scenarios.
    pub(crate) fn request(&self, definition: &Command) -> Result<Box<RunFlags>, Exit> {
        let run = self.only_run("a request")?;
        let flags = run.read(&self.beside, definition);
        flags.map(Box::new).map_err(|error| run.place(Obstacle::Value(error), definition))
    }

    /// The one run of the file, for `what` is about one.
    fn only_run(&self, what: &str) -> Result<&Run, Exit> {
        let [run] = &self.runs[..] else {
            let text = format!("{what} is about one run, and the plan has {}", self.runs.len());
            return Err(Exit::Usage(text));
        };
        if !run.parts.is_empty() {
            let text = format!("{what} is about a run without scenarios: give their flags here");
            return Err(Exit::Usage(text));
        }
        Ok(run)
    }
}

/// The values that the arguments give for these settings, without defaults.
fn said(given: &ArgMatches, settings: &Settings, definition: &Command) -> ArgMatches {
    let mut said = given.clone();
    for arg in definition.get_arguments() {
        let id = arg.get_id().as_str();
        if !settings.iter().any(|setting| setting.id == id) {
            // Flags that have nothing to be cleared have no values either.
            let _ = said.try_clear_id(id);
        }
    }
    said
}

/// The plan file given in place of a URL. It may be missing: nothing else is called like that.
fn file_in_place_of_url(given: &ArgMatches) -> Option<PathBuf> {
    if given.value_source("url") != Some(ValueSource::CommandLine) {
        return None;
    }
    let text = given.get_one::<String>("url")?;
    let is_called_so = Path::new(text).extension() == Some(OsStr::new("toml"));
    (is_called_so && !text.contains("://")).then(|| PathBuf::from(text))
}

impl Run {
    /// The run with its plans. What the file says goes through the definition of the command line,
    /// and what was said beside it, which has been there already, takes its place.
    fn prepare(&self, beside: &ArgMatches, definition: &Command) -> Result<Prepared, Exit> {
        let place = |obstacle| self.place(obstacle, definition);
        let flags = self.flags(beside, definition).map_err(place)?;
        let load = if self.parts.is_empty() {
            self.plain(&flags, definition).map_err(place)?
        } else {
            let scenario = |part| self.scenario(part, beside, definition);
            let list = self.parts.iter().map(scenario).collect::<Result<Vec<_>, Exit>>()?;
            let checked = Scenarios::check(crate::plan::terms(&flags), list);
            Load::Scenarios(Box::new(checked.map_err(Obstacle::Scenarios).map_err(place)?))
        };
        Ok(Prepared { name: self.name().to_owned(), flags, load })
    }

    /// What the run does that has no scenarios of the file.
    fn plain(&self, flags: &RunFlags, definition: &Command) -> Result<Load, Obstacle> {
        let given = self.settings.iter().map(|setting| {
            let key = setting.key(definition);
            let is_of_file = setting.line.is_some();
            (setting.id.clone(), if is_of_file { key } else { format!("--{key}") })
        });
        if let Some(script) = ScriptRun::asked(flags, given).map_err(Obstacle::Unfit)? {
            return Ok(Load::Script(script));
        }
        let plan = crate::plan::plan(flags).map_err(Obstacle::Plan)?;
        Ok(Load::Scenarios(Box::new(plan.into())))
    }

    fn flags(&self, beside: &ArgMatches, definition: &Command) -> Result<RunFlags, Obstacle> {
        let mut flags: RunFlags = self.read(beside, definition).map_err(Obstacle::Value)?;
        flags.outputs = named(&flags.outputs, self.name());
        crate::repeat::check(&flags).map_err(Obstacle::Shared)?;
        Ok(flags)
    }

    /// The flags of a command with this definition: those of the file, and what stands beside it.
    fn read<F: FromArgMatches>(
        &self,
        beside: &ArgMatches,
        definition: &Command,
    ) -> Result<F, clap::Error> {
        let words = self.settings.arguments_of_file(definition);
        let of_file = definition.clone().try_get_matches_from(words)?;
        let mut flags = F::from_arg_matches(&of_file)?;
        flags.update_from_arg_matches(beside)?;
        Ok(flags)
    }

    /// A scenario: what its table says takes the place of what the run says.
    fn scenario(
        &self,
        part: &Part,
        beside: &ArgMatches,
        definition: &Command,
    ) -> Result<Scenario, Exit> {
        let settings = self.settings.overridden_by(&part.settings, definition);
        let beside = said(beside, &settings.beside_file(), definition);
        let file = self.file.as_ref().map(|(path, _)| (path.clone(), part.line));
        let name = Some(part.name.clone());
        let run = Self { what: read::SCENARIO, name, settings, parts: Vec::new(), file };
        let flags = run.flags(&beside, definition);
        let plan = flags.and_then(|it| crate::plan::of_scenario(&it).map_err(Obstacle::Plan));
        let plan = plan.map_err(|obstacle| run.place(obstacle, definition))?;
        Ok(Scenario { name: part.name.clone(), start_ns: part.start_ns, plan })
    }

    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("run")
    }

    /// What is in the way, with where it comes from: the key if there is one, or the run.
    fn place(&self, obstacle: Obstacle, definition: &Command) -> Exit {
        let (keys, exit) = match obstacle {
            Obstacle::Value(error) => {
                let words: Vec<String> = ["plimsoll", "run"].map(str::to_owned).into();
                let keys = refused(&error, definition).map(key);
                (keys.into_iter().collect(), refusal(&error, &words))
            }
            Obstacle::Shared(shared) => (vec![shared.flag.to_owned()], shared.into()),
            Obstacle::Unfit(Unfit { id, text }) => {
                let arg = definition.get_arguments().find(|arg| arg.get_id() == id.as_str());
                (arg.map(key).into_iter().collect(), Exit::Usage(text))
            }
            Obstacle::Plan(fault) => {
                let keys = fault.fields().into_iter().map(|field| field.name().to_owned());
                (keys.collect::<Vec<_>>(), fault.told(&Placed { run: self, definition }))
            }
            Obstacle::Scenarios(error) => {
                let key = match &error {
                    ScenarioError::Condition(field, _) => Some(field.name().to_owned()),
                    _ => None,
                };
                (key.into_iter().collect(), Exit::Usage(error.to_string()))
            }
        };
        let Some((path, line)) = &self.file else { return exit };
        let path = path.display();
        let given = keys.iter().find_map(|key| self.settings.with_key(key, definition));
        let place = match given.map(|setting| (setting, setting.line)) {
            Some((setting, Some(line))) => format!("{path}:{line}: {}: ", setting.key(definition)),
            // It was given beside the file.
            Some((_, None)) => String::new(),
            None => match &self.name {
                Some(name) => format!("{path}:{line}: {} '{name}': ", self.what),
                None => format!("{path}: "),
            },
        };
        exit.map(|text| place + &text)
    }
}

/// Fields as they were given: keys of the file, or flags beside it.
struct Placed<'r> {
    run: &'r Run,
    definition: &'r Command,
}

impl Placed<'_> {
    fn words(&self, field: Field) -> Box<dyn Words + '_> {
        let given = self.run.settings.with_key(field.name(), self.definition);
        let is_of_file =
            given.map_or_else(|| self.run.file.is_some(), |setting| setting.line.is_some());
        if is_of_file { Box::new(Keys) } else { Box::new(Flags::new(self.definition)) }
    }
}

impl Words for Placed<'_> {
    fn name(&self, field: Field) -> String {
        self.words(field).name(field)
    }

    fn given(&self, field: Field, value: &str) -> String {
        self.words(field).given(field, value)
    }
}

/// Reports with the run's name in place of `{name}` in their paths; but not in that of the one
/// report that all runs are added to.
fn named(outputs: &OutputFlags, name: &str) -> OutputFlags {
    let named = with_paths(outputs, &|path| Some(with_name(path.as_os_str(), name).into()));
    OutputFlags { github_summary: outputs.github_summary.clone(), ..named }
}

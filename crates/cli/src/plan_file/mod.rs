//! Plan files: one or more runs in TOML, whose keys are the names of `run`'s flags.
//!
//! A run of a file becomes arguments that go through the definition of the command line. So a file
//! can say whatever the flags can say and nothing else, with the same errors. The code here knows
//! no flags by name except those for plan files. `--print-plan` goes the other way, from arguments
//! to a file.
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

use crate::args::run_flags;
use crate::exit::Exit;
use crate::refusal::refusal;
use crate::run_args::RunFlags;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
pub(crate) use execute::execute;
pub(crate) use read::setting_named;
use setting::Settings;
pub(crate) use setting::is_setting;

/// Flags that say something about plan files and so have no place in one.
const ABOUT_FILES: [&str; 2] = ["plan", "print_plan"];

/// The runs that were asked for, in order.
#[derive(Debug)]
pub(crate) struct Runs {
    runs: Vec<Run>,
    /// Whether to print the plan instead of carrying it out.
    print: bool,
}

/// One run.
#[derive(Debug)]
struct Run {
    /// What the file calls it; `None` for the run of a command line.
    name: Option<String>,
    settings: Settings,
    /// The file, and the line where the run starts in it.
    file: Option<(PathBuf, usize)>,
}

/// A run that passed the definition.
#[derive(Debug)]
struct Prepared {
    name: String,
    flags: Box<RunFlags>,
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
                    let run = Run { name: None, settings, file: None };
                    return Ok(Some(Self { runs: vec![run], print }));
                }
                None => return Ok(None),
            },
        };
        let mut runs = read::read(&path, definition)?;
        for run in &mut runs {
            run.settings = run.settings.overridden_by(&settings, definition);
        }
        Ok(Some(Self { runs, print }))
    }
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
    /// The run through the definition of the command line.
    fn prepare(&self, definition: &Command) -> Result<Prepared, Exit> {
        let name = self.name();
        let arguments = self.settings.arguments(name, definition);
        let checked = run_flags(arguments).map_err(|error| refusal(&error));
        let checked = checked.and_then(|flags| {
            crate::repeat::check(&flags)?;
            crate::run::check(&crate::plan::plan(&flags)?)?;
            Ok(flags)
        });
        let flags = checked.map_err(|exit| exit.map(|text| self.place(&text, definition)))?;
        Ok(Prepared { name: name.to_owned(), flags })
    }

    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("run")
    }

    /// An error with where it comes from: the key if it can be told, or the run.
    fn place(&self, text: &str, definition: &Command) -> String {
        let Some((path, line)) = &self.file else {
            return text.to_owned();
        };
        let path = path.display();
        match self.settings.blamed(text, definition).map(|setting| (setting, setting.line)) {
            Some((setting, Some(line))) => {
                format!("{path}:{line}: {}: {text}", setting.key(definition))
            }
            // It was given beside the file.
            Some((_, None)) => text.to_owned(),
            None => match &self.name {
                Some(name) => format!("{path}:{line}: run '{name}': {text}"),
                None => format!("{path}: {text}"),
            },
        }
    }
}

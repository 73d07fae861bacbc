//! Settings: the flags of a run with their values, wherever they were given. They are read from
//! parsed arguments or a file, and override one another.

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::ABOUT_FILES;
use crate::args::key;

/// Flags of files that reports are added to: those of several runs go into one.
const ADDED_TO: [&str; 1] = ["github_summary"];

/// Groups of flags that are about a whole run, and further such flags.
const OF_RUN_HEADINGS: [&str; 4] = ["Output", "Conditions", "While it runs", "Secrets"];
const OF_RUN: [&str; 5] = ["repeat", "wait", "require_valid", "seed", "driver"];

/// What a flag is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// A flag without values, given this many times.
    Times(u8),
    /// One value for each time the flag is given.
    Texts(Vec<OsString>),
}

/// A flag with what it is given.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// The flag, by its name in the definition.
    pub id: String,
    pub value: Value,
    /// The line of the plan file; `None` for the command line.
    pub line: Option<usize>,
}

/// The flags of a run, in the order in which they were said.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings(Vec<Setting>);

/// Whether a flag is one that a plan can hold.
pub(crate) fn is_setting(arg: &Arg) -> bool {
    use ArgAction::{Help, HelpLong, HelpShort, Version};
    !ABOUT_FILES.contains(&arg.get_id().as_str())
        && !matches!(arg.get_action(), Help | HelpLong | HelpShort | Version)
}

/// Whether a flag is about a whole run, and not about one of its scenarios.
pub(super) fn is_of_run(arg: &Arg) -> bool {
    OF_RUN.contains(&arg.get_id().as_str())
        || arg.get_help_heading().is_some_and(|heading| OF_RUN_HEADINGS.contains(&heading))
}

/// Whether a flag stands alone, without a value.
pub(super) fn stands_alone(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count)
}

/// Whether a flag may stand alone, with a value or without.
pub(super) fn may_stand_alone(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|range| range.min_values() == 0)
}

/// Whether a flag names a file that a report takes the whole of.
fn is_output(arg: &Arg) -> bool {
    !ADDED_TO.contains(&arg.get_id().as_str())
        && arg.get_help_heading() == Some("Output")
        && arg.get_value_parser().type_id() == TypeId::of::<PathBuf>()
}

fn find<'a>(definition: &'a Command, id: &str) -> &'a Arg {
    definition
        .get_arguments()
        .find(|arg| arg.get_id() == id)
        .expect("settings are made of the definition's flags")
}

impl Setting {
    /// Its name in a plan file.
    pub(super) fn key(&self, definition: &Command) -> String {
        key(find(definition, &self.id))
    }
}

impl Settings {
    /// What was given on the command line.
    pub(super) fn given(given: &ArgMatches, definition: &Command) -> Self {
        let settings = definition.get_arguments().filter(|arg| is_setting(arg)).filter_map(|arg| {
            let id = arg.get_id().as_str();
            if given.value_source(id) != Some(ValueSource::CommandLine) {
                return None;
            }
            let value = match arg.get_action() {
                ArgAction::Count => Value::Times(given.get_count(id)),
                _ if stands_alone(arg) => Value::Times(1),
                // Without a value that it might have had it stands alone.
                _ => match given.get_raw(id).into_iter().flatten().collect::<Vec<_>>() {
                    none if none.is_empty() => Value::Times(1),
                    texts => Value::Texts(texts.into_iter().map(OsString::from).collect()),
                },
            };
            Some(Setting { id: id.to_owned(), value, line: None })
        });
        Self(settings.collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.0.iter()
    }

    pub(super) fn push(&mut self, setting: Setting) {
        self.0.push(setting);
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.0.retain(|setting| setting.id != id);
    }

    /// Those that were given beside the file.
    pub(super) fn beside_file(&self) -> Self {
        Self(self.iter().filter(|setting| setting.line.is_none()).cloned().collect())
    }

    /// These settings, except what others say otherwise or exclude, and the others.
    pub(super) fn overridden_by(&self, others: &Self, definition: &Command) -> Self {
        let excluded = |setting: &&Setting| {
            others
                .iter()
                .any(|other| other.id == setting.id || conflict(definition, &other.id, &setting.id))
        };
        let kept = self.iter().filter(|setting| !excluded(setting));
        Self(kept.chain(others.iter()).cloned().collect())
    }

    /// The arguments that say the same as the file alone.
    pub(super) fn arguments_of_file(&self, definition: &Command) -> Vec<OsString> {
        let mut flags: Vec<OsString> = vec!["run".into()];
        let (mut positionals, mut last) = (Vec::new(), Vec::new());
        for setting in self.iter().filter(|setting| setting.line.is_some()) {
            let arg = find(definition, &setting.id);
            let texts = match &setting.value {
                Value::Times(times) => {
                    let long = format!("--{}", key(arg));
                    flags.extend(std::iter::repeat_n(long.into(), usize::from(*times)));
                    continue;
                }
                Value::Texts(texts) => texts,
            };
            for text in texts {
                if arg.is_positional() {
                    let words = if arg.is_last_set() { &mut last } else { &mut positionals };
                    words.push(text.clone());
                    continue;
                }
                let mut word = OsString::from(format!("--{}=", key(arg)));
                word.push(text);
                flags.push(word);
            }
        }
        flags.extend(positionals);
        if !last.is_empty() {
            flags.push("--".into());
        }
        flags.extend(last);
        flags
    }

    /// The files that reports of a run of that name go to.
    pub(super) fn outputs(&self, name: &str, definition: &Command) -> Vec<(String, PathBuf)> {
        let mut outputs = Vec::new();
        for setting in self.iter() {
            let arg = find(definition, &setting.id);
            if let (true, Value::Texts(texts)) = (is_output(arg), &setting.value) {
                let paths = texts.iter().map(|text| with_name(text, name).into());
                outputs.extend(paths.map(|path| (key(arg), path)));
            }
        }
        outputs
    }

    /// The setting of this name in plan files.
    pub(super) fn with_key(&self, key: &str, definition: &Command) -> Option<&Setting> {
        self.iter().find(|setting| setting.key(definition) == key)
    }
}

/// Whether two flags cannot stand beside each other. A conflict is declared on one side only.
fn conflict(definition: &Command, one: &str, other: &str) -> bool {
    let excludes = |a: &str, b: &str| {
        let excluded = definition.get_arg_conflicts_with(find(definition, a));
        excluded.iter().any(|arg| arg.get_id() == b)
    };
    excludes(one, other) || excludes(other, one)
}

/// A path with the run's name in place of `{name}`.
pub(super) fn with_name(path: &OsStr, name: &str) -> OsString {
    match path.to_str() {
        Some(text) => text.replace("{name}", name).into(),
        None => path.to_owned(),
    }
}

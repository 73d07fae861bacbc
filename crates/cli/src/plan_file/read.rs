//! Reads settings from the text of a plan file. Every error names the file and the line.

use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

use clap::{Arg, ArgAction, Command};
use plimsoll_core::nearest::nearest;
use plimsoll_core::scenario::check_name;
use plimsoll_core::units::parse_duration_ns;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::setting::{
    Setting, Settings, Value, is_of_run, is_setting, may_stand_alone, stands_alone,
};
use super::{Exit, Part, Run};
use crate::args::key;

/// A plan file is written by a person, or made from what one wrote.
const FILE_LIMIT_BYTES: u64 = 1 << 20;

/// Runs of a file.
const RUNS_LIMIT: usize = 1000;

const NAME_LIMIT: usize = 100;

/// Keys that are no flags: of the file, of each run, and of each scenario.
pub(super) const RUN: &str = "run";
pub(super) const SCENARIO: &str = "scenario";
pub(super) const NAME: &str = "name";
pub(super) const START: &str = "start";

/// Which table is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    File,
    Run,
    Scenario,
}

/// A file that is being read.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    definition: &'a Command,
}

/// What a table says.
#[derive(Default)]
struct Said {
    name: Option<String>,
    start_ns: u64,
    settings: Settings,
}

/// Reads a plan file.
///
/// # Errors
/// The first thing that is wrong with it: one line, with the file's line.
pub(super) fn read(path: &Path, definition: &Command) -> Result<Vec<Run>, Exit> {
    let text = contents(path)?;
    let reader = Reader { path, text: &text, definition };
    let document = DeTable::parse(&text).map_err(|error| {
        let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        reader.error(&error.span().unwrap_or(0..0), &message)
    })?;
    reader.check_kind(document.get_ref())?;
    reader.runs(document.get_ref())
}

fn contents(path: &Path) -> Result<String, Exit> {
    let name = path.display();
    let unreadable = |error| Exit::CouldNotRun(format!("plan file '{name}': {error}"));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(FILE_LIMIT_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_LIMIT_BYTES {
        return Err(Exit::Usage(format!("plan file '{name}' is larger than 1 MiB")));
    }
    String::from_utf8(bytes)
        .map_err(|_| Exit::Usage(format!("plan file '{name}' is not text in UTF-8")))
}

impl Reader<'_> {
    /// A suite of the lab is no plan, though its loads have the same keys.
    fn check_kind(&self, document: &DeTable<'_>) -> Result<(), Exit> {
        if !["servers", "loads"].iter().all(|key| document.contains_key(*key)) {
            return Ok(());
        }
        let path = self.path.display();
        let text = format!(
            "'{path}' is a suite and not a plan file: carry it out with plimsoll lab {path}"
        );
        Err(Exit::Usage(text))
    }

    fn error(&self, span: &Range<usize>, message: &str) -> Exit {
        Exit::Usage(format!("{}:{}: {message}", self.path.display(), self.line(span)))
    }

    fn line(&self, span: &Range<usize>) -> usize {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    fn runs(&self, document: &DeTable<'_>) -> Result<Vec<Run>, Exit> {
        let defaults = self.table(document, Table::File)?;
        let parts = self.parts(document)?;
        let Some((_, tables)) = document.iter().find(|(key, _)| key.get_ref() == RUN) else {
            let name = defaults.name.or_else(|| {
                // Without a name of its own the run of a file is called as the file is.
                self.path.file_stem().map(|stem| stem.to_string_lossy().into_owned())
            });
            let file = Some((self.path.to_owned(), 1));
            let settings = defaults.settings;
            return Ok(vec![Run { what: RUN, name, settings, parts, file }]);
        };
        if !parts.is_empty() {
            let message =
                "a file has runs or scenarios: put the scenarios into a file of their own";
            return Err(self.error(&tables.span(), message));
        }
        let wrong = || self.error(&tables.span(), "runs are tables: write [[run]] before each");
        let list = tables.get_ref().as_array().ok_or_else(wrong)?;
        if defaults.name.is_some() {
            let message = "a name for all runs names none: write it under [[run]]";
            return Err(self.error(&(0..0), message));
        }
        let mut runs = Vec::new();
        for (i, table) in list.iter().enumerate() {
            let said = self.table(table.get_ref().as_table().ok_or_else(wrong)?, Table::Run)?;
            runs.push(Run {
                what: RUN,
                parts: Vec::new(),
                name: Some(said.name.unwrap_or_else(|| format!("run-{}", i + 1))),
                settings: defaults.settings.overridden_by(&said.settings, self.definition),
                file: Some((self.path.to_owned(), self.line(&table.span()))),
            });
            self.check_names(&runs, &table.span())?;
        }
        if runs.is_empty() {
            return Err(wrong());
        }
        Ok(runs)
    }

    /// The scenarios of the file's run, in the order of the file.
    fn parts(&self, document: &DeTable<'_>) -> Result<Vec<Part>, Exit> {
        let Some((_, tables)) = document.iter().find(|(key, _)| key.get_ref() == SCENARIO) else {
            return Ok(Vec::new());
        };
        let wrong = || {
            let message = "scenarios are tables: write [scenario.NAME] before each";
            self.error(&tables.span(), message)
        };
        let mut entries: Vec<_> = tables.get_ref().as_table().ok_or_else(wrong)?.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let part = |(name, table): &(&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
            let said =
                self.table(table.get_ref().as_table().ok_or_else(wrong)?, Table::Scenario)?;
            let text = name.get_ref().to_string();
            check_name(&text).map_err(|error| self.error(&name.span(), &error.to_string()))?;
            let (start_ns, settings) = (said.start_ns, said.settings);
            Ok(Part { name: text, start_ns, settings, line: self.line(&name.span()) })
        };
        let parts: Vec<Part> = entries.iter().map(part).collect::<Result<_, Exit>>()?;
        if parts.is_empty() { Err(wrong()) } else { Ok(parts) }
    }

    /// No two runs may have the same name, and there is an end to them.
    fn check_names(&self, runs: &[Run], span: &Range<usize>) -> Result<(), Exit> {
        let (last, earlier) = runs.split_last().expect("one was just added");
        if runs.len() > RUNS_LIMIT {
            let message = format!("more than {RUNS_LIMIT} runs: use several files");
            return Err(self.error(span, &message));
        }
        let is_taken = earlier.iter().any(|run| run.name == last.name);
        match last.name.as_ref().filter(|_| is_taken) {
            Some(name) => {
                let message = format!("two runs are called '{name}': give each a name of its own");
                Err(self.error(span, &message))
            }
            None => Ok(()),
        }
    }

    /// Everything a table says, in the order of the file.
    fn table(&self, table: &DeTable<'_>, which: Table) -> Result<Said, Exit> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let mut said = Said::default();
        for (name, value) in entries {
            match name.get_ref().as_ref() {
                RUN | SCENARIO if which == Table::File => {}
                START if which == Table::Scenario => said.start_ns = self.start(value)?,
                NAME if which != Table::Scenario => said.name = Some(self.name(value)?),
                other => {
                    let arg = setting_named(other, self.definition)
                        .map_err(|message| self.error(&name.span(), &message))?;
                    let id = arg.get_id().as_str().to_owned();
                    if which == Table::Scenario && is_of_run(arg) {
                        let message = format!("'{other}' is about the whole run: write it above");
                        return Err(self.error(&name.span(), &message));
                    }
                    if said.settings.iter().any(|setting| setting.id == id) {
                        let message = format!("'{other}' is given twice");
                        return Err(self.error(&name.span(), &message));
                    }
                    let value = self.value(arg, value)?;
                    let line = Some(self.line(&name.span()));
                    said.settings.push(Setting { id, value, line });
                }
            }
        }
        Ok(said)
    }

    /// A value as a flag would be given it.
    fn value(&self, arg: &Arg, value: &Spanned<DeValue<'_>>) -> Result<Value, Exit> {
        let key = key(arg);
        let wrong = |wanted: &str| self.error(&value.span(), &format!("{key} {wanted}"));
        if stands_alone(arg) {
            return match value.get_ref() {
                DeValue::Boolean(is_on) => Ok(Value::Times(u8::from(*is_on))),
                _ => Err(wrong("is true or false")),
            };
        }
        if let (true, DeValue::Boolean(is_on)) = (may_stand_alone(arg), value.get_ref()) {
            return Ok(Value::Times(u8::from(*is_on)));
        }
        let is_list = matches!(arg.get_action(), ArgAction::Append);
        let texts = match value.get_ref() {
            DeValue::Array(items) if is_list => items
                .iter()
                .map(|item| text(item.get_ref()).ok_or_else(|| wrong("is a list of texts")))
                .collect::<Result<_, _>>()?,
            other => vec![text(other).ok_or_else(|| {
                wrong(if is_list { "is a text or a list of texts" } else { "is a text or number" })
            })?],
        };
        Ok(Value::Texts(texts.into_iter().map(Into::into).collect()))
    }

    /// When a scenario starts, ns.
    fn start(&self, value: &Spanned<DeValue<'_>>) -> Result<u64, Exit> {
        let text = text(value.get_ref()).unwrap_or_default();
        parse_duration_ns(&text)
            .map_err(|error| self.error(&value.span(), &format!("{START}: {error}")))
    }

    /// Names stand in paths of files.
    fn name(&self, value: &Spanned<DeValue<'_>>) -> Result<String, Exit> {
        let is_fine = |name: &&str| {
            let is_usual = |c: char| c.is_alphanumeric() || " ._+=@%,-".contains(c);
            !name.is_empty()
                && name.chars().count() <= NAME_LIMIT
                && name.chars().all(is_usual)
                && !name.starts_with('.')
        };
        value.get_ref().as_str().filter(is_fine).map(str::to_owned).ok_or_else(|| {
            let message = "a name stands in names of files: letters, digits, blanks and ._+=@%,- \
                           make it, 100 at most, and no dot comes first";
            self.error(&value.span(), message)
        })
    }
}

/// The flag of a key.
///
/// # Errors
/// An unknown name, with the nearest known one.
pub(crate) fn setting_named<'a>(name: &str, definition: &'a Command) -> Result<&'a Arg, String> {
    let wanted = name.replace('_', "-");
    let mut flags = definition.get_arguments().filter(|arg| is_setting(arg));
    let is_it = |arg: &&Arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        key(arg) == wanted || aliases.contains(&wanted.as_str())
    };
    if let Some(arg) = flags.find(is_it) {
        return Ok(arg);
    }
    let known: Vec<String> =
        definition.get_arguments().filter(|arg| is_setting(arg)).map(key).collect();
    let meant = nearest(&wanted, known.iter().map(String::as_str));
    let meant = meant.map_or_else(String::new, |key| format!("did you mean '{key}'? "));
    Err(format!("'{name}' is not a key of a plan: {meant}`plimsoll run --help` lists them"))
}

/// A text or a number, as it would stand on a command line.
fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Integer(number) => {
            u64::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n.to_string())
        }
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

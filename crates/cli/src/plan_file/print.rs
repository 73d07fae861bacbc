//! `--print-plan`: writes a command line as a plan file. It contains only the flags that were
//! given, under their full names, with secrets masked unless `--show-secrets` is given.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command};
use plimsoll_core::secret::{Masks, holds_mask, run_flag};
use plimsoll_core::units::format_duration;
use toml::Value as Toml;

use super::read::{SCENARIO, START};
use super::setting::{Settings, Value, is_setting};
use super::{Exit, Run};
use crate::args::key;

const HEAD: &str = "# A plan for `plimsoll run`: what was given.\n";

const MASKED: &str = "\
# Secrets are masked, so it does not run as it is: put them in the places of [masked:..], or print
# it with --show-secrets.
";

/// The flags that say what is masked: how the plan is printed, too.
const REDACT: &str = "redact";
const SHOW: &str = "show_secrets";

/// Writes runs as a plan file.
///
/// # Errors
/// A value that is not UTF-8, which TOML cannot hold.
pub(super) fn print(runs: &[Run], definition: &Command) -> Result<String, Exit> {
    let mut text = String::new();
    for run in runs {
        if run.file.is_some() {
            let name = Toml::from(run.name.as_deref().unwrap_or_default());
            let table = if run.parts.is_empty() { "\n[[run]]\n" } else { "" };
            let _ = writeln!(text, "{table}name = {name}");
        }
        let masks = masks(&run.settings);
        write_settings(&run.settings, &masks, definition, &mut text)?;
        for part in &run.parts {
            // A dot would make a table within another.
            let name = match part.name.contains('.') {
                true => Toml::from(part.name.as_str()).to_string(),
                false => part.name.clone(),
            };
            let _ = write!(text, "\n[{SCENARIO}.{name}]\n");
            if part.start_ns > 0 {
                let start = Toml::from(format_duration(part.start_ns));
                let _ = writeln!(text, "{START} = {start}");
            }
            write_settings(&part.settings, &masks, definition, &mut text)?;
        }
    }
    let note = if holds_mask(&text) { MASKED } else { "" };
    Ok(format!("{HEAD}{note}{text}"))
}

/// What the run itself says of masks.
fn masks(settings: &Settings) -> Masks {
    let mut masks = Masks::default();
    for setting in settings.iter() {
        match (&setting.value, setting.id.as_str()) {
            (Value::Texts(names), REDACT) => {
                masks.names.extend(names.iter().map(|name| name.to_string_lossy().into_owned()));
            }
            (Value::Times(times), SHOW) => masks.shows_all = *times > 0,
            _ => {}
        }
    }
    masks
}

/// Writes settings in the order of the definition.
fn write_settings(
    settings: &Settings,
    masks: &Masks,
    definition: &Command,
    text: &mut String,
) -> Result<(), Exit> {
    for arg in definition.get_arguments().filter(|arg| is_setting(arg) && arg.get_id() != SHOW) {
        let Some(setting) = settings.iter().find(|setting| arg.get_id() == setting.id.as_str())
        else {
            continue;
        };
        let value = match &setting.value {
            Value::Times(times) => Toml::from(*times > 0),
            Value::Texts(texts) => {
                let texts = texts.iter().map(|text| text.to_str().ok_or_else(|| not_text(arg)));
                let kind = run_flag(&key(arg));
                let texts = texts.map(|text| text.map(|text| masks.given(kind, text)));
                written(arg, &texts.collect::<Result<Vec<_>, _>>()?)
            }
        };
        let _ = writeln!(text, "{} = {value}", key(arg));
    }
    Ok(())
}

fn not_text(arg: &Arg) -> Exit {
    Exit::Usage(format!("--{} is not UTF-8, which a plan file cannot hold", key(arg)))
}

fn written(arg: &Arg, texts: &[String]) -> Toml {
    let mut values = texts.iter().map(|text| scalar(text));
    match (arg.get_action(), values.len()) {
        (ArgAction::Append, _) | (_, 0) => Toml::Array(values.collect()),
        _ => values.next_back().unwrap_or_else(|| Toml::from("")),
    }
}

/// A number where a number says the same, or a text.
fn scalar(text: &str) -> Toml {
    match text.parse::<i64>() {
        Ok(number) if number.to_string() == text => Toml::from(number),
        _ => Toml::from(text),
    }
}

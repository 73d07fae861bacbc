//! What a run is told beside options: flags that have no place in a script, each with a variable of
//! the environment below it. What cannot be read ends with exit code 255.

use std::collections::BTreeMap;

use super::exit::{ExitCode, Refused};
use super::options::shortened;
use super::summary::Mode;

/// Flags as text; `None`: the flag is not given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuntimeFlags {
    /// `-e`, each `NAME=value`; without a value it is empty.
    pub env: Vec<String>,
    /// `--include-system-env-vars`
    pub include_system_env_vars: Option<bool>,
    /// `--compatibility-mode`
    pub compatibility_mode: Option<String>,
    /// `-t`, `--type`
    pub test_type: Option<String>,
    /// `--no-thresholds`
    pub no_thresholds: Option<bool>,
    /// `--summary-mode`
    pub summary_mode: Option<String>,
    /// `--summary-export`
    pub summary_export: Option<String>,
    /// `--new-machine-readable-summary`
    pub new_machine_readable_summary: Option<bool>,
    /// `--traces-output`
    pub traces_output: Option<String>,
}

/// Which globals a script has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Compatibility {
    /// `global` stands for `globalThis`.
    #[default]
    Extended,
    /// It does not.
    Base,
}

/// What the file of a test holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestType {
    /// A script.
    Js,
    /// An archive.
    Archive,
}

/// What a run is told beside options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// Variables that scripts find in `__ENV`, beside those of the system.
    pub env: BTreeMap<String, String>,
    /// Whether scripts find the system's variables there too.
    pub include_system_env_vars: bool,
    /// Which globals a script has.
    pub compatibility: Compatibility,
    /// What the file holds; `None`: it is looked at.
    pub test_type: Option<TestType>,
    /// Evaluate no thresholds.
    pub no_thresholds: bool,
    /// How much the summary shows.
    pub summary_mode: Mode,
    /// Where the summary is exported to.
    pub summary_export: Option<String>,
    /// Write the machine-readable summary there, and hand it to `handleSummary()`.
    pub new_machine_readable_summary: bool,
    /// Where traces go; `none` unless told.
    pub traces_output: String,
    /// What is odd but no error, a line each.
    pub warnings: Vec<String>,
}

/// The name of a mode that k6 still takes.
const ENHANCED: &str = "experimental_enhanced";

impl Runtime {
    /// What flags say, and where they say nothing, the environment. Scripts of `run` find the
    /// system's variables unless told otherwise, those of `archive` and `inspect` do not.
    ///
    /// # Errors
    /// The first flag or variable that cannot be read; exit code 255.
    pub fn new(
        flags: &RuntimeFlags,
        lookup: &dyn Fn(&str) -> Option<String>,
        includes_system: bool,
    ) -> Result<Self, Refused> {
        let text = |given: &Option<String>, flag: &str, name: &str| match given {
            Some(text) => Some((format!("--{flag}"), text.clone())),
            None => lookup(name).map(|text| (name.to_owned(), text)),
        };
        let switch = |given: Option<bool>, name: &str, default: bool| match given {
            Some(given) => Ok(given),
            None => lookup(name).map_or(Ok(default), |text| boolean(name, &text)),
        };
        let mode = text(&flags.summary_mode, "summary-mode", "K6_SUMMARY_MODE");
        let compatibility =
            text(&flags.compatibility_mode, "compatibility-mode", "K6_COMPATIBILITY_MODE");
        let test_type = text(&flags.test_type, "type", "K6_TYPE");
        let traces = text(&flags.traces_output, "traces-output", "K6_TRACES_OUTPUT");
        let export = text(&flags.summary_export, "summary-export", "K6_SUMMARY_EXPORT");
        Ok(Self {
            env: flags.env.iter().map(|text| env(text)).collect::<Result<_, _>>()?,
            include_system_env_vars: switch(
                flags.include_system_env_vars,
                "K6_INCLUDE_SYSTEM_ENV_VARS",
                includes_system,
            )?,
            warnings: compatibility
                .iter()
                .filter(|(_, mode)| mode == ENHANCED)
                .map(|(name, _)| format!("{name}: '{ENHANCED}' is deprecated: write base"))
                .collect(),
            compatibility: one_of(compatibility, "extended or base", |text| match text {
                "extended" => Some(Compatibility::Extended),
                // Types of .ts files are taken away in every mode.
                "base" | ENHANCED => Some(Compatibility::Base),
                _ => None,
            })?
            .unwrap_or_default(),
            test_type: one_of(test_type, "js or archive", |text| match text {
                "js" => Some(TestType::Js),
                "archive" => Some(TestType::Archive),
                _ => None,
            })?,
            no_thresholds: switch(flags.no_thresholds, "K6_NO_THRESHOLDS", false)?,
            summary_mode: one_of(mode, "compact, full or disabled", Mode::parse)?
                .unwrap_or_default(),
            summary_export: export.map(|(_, path)| path).filter(|path| !path.is_empty()),
            new_machine_readable_summary: switch(
                flags.new_machine_readable_summary,
                "K6_NEW_MACHINE_READABLE_SUMMARY",
                false,
            )?,
            traces_output: traces.map_or_else(|| "none".to_owned(), |(_, text)| text),
        })
    }
}

fn wrong(what: String) -> Refused {
    Refused { code: ExitCode::Other, what }
}

/// One of the values that a flag or variable can have.
fn one_of<T>(
    given: Option<(String, String)>,
    known: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Refused> {
    let Some((name, text)) = given else { return Ok(None) };
    let value = read(&text);
    let what = || format!("{name}: '{}' is not {known}", shortened(&text));
    value.map(Some).ok_or_else(|| wrong(what()))
}

/// As Go reads booleans.
fn boolean(name: &str, text: &str) -> Result<bool, Refused> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(wrong(format!("{name}: '{}' is not true or false", shortened(text)))),
    }
}

/// A name of a letter or `_`, then letters, digits and `_`.
fn env(text: &str) -> Result<(String, String), Refused> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let is_first = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let is_name = name.as_bytes().first().is_some_and(is_first)
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let what = || format!("--env: '{}' is not a variable: write NAME=value", shortened(name));
    is_name.then(|| (name.to_owned(), value.to_owned())).ok_or_else(|| wrong(what()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime(flags: &RuntimeFlags, variables: &[(&str, &str)]) -> Result<Runtime, Refused> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        Runtime::new(flags, &|name| find(name).map(|(_, text)| (*text).to_owned()), true)
    }

    #[test]
    fn flags_win_over_the_environment() {
        let usual = runtime(&RuntimeFlags::default(), &[]).expect("nothing is wrong");
        assert_eq!((usual.summary_mode, usual.include_system_env_vars), (Mode::Compact, true));
        assert_eq!((usual.compatibility, usual.test_type), (Compatibility::Extended, None));
        let variables = [
            ("K6_SUMMARY_MODE", "full"),
            ("K6_NO_THRESHOLDS", "T"),
            ("K6_COMPATIBILITY_MODE", "base"),
            ("K6_INCLUDE_SYSTEM_ENV_VARS", "0"),
            ("K6_SUMMARY_EXPORT", "a.json"),
        ];
        let flags = RuntimeFlags {
            env: ["A=1", "B", "C=x=y"].map(str::to_owned).to_vec(),
            summary_mode: Some("disabled".to_owned()),
            ..RuntimeFlags::default()
        };
        let all = runtime(&flags, &variables).expect("nothing is wrong");
        assert_eq!((all.summary_mode, all.no_thresholds), (Mode::Disabled, true));
        assert_eq!((all.compatibility, all.include_system_env_vars), (Compatibility::Base, false));
        assert_eq!(all.summary_export.as_deref(), Some("a.json"));
        let env: Vec<(&str, &str)> =
            all.env.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(env, [("A", "1"), ("B", ""), ("C", "x=y")]);
    }

    #[test]
    fn what_cannot_be_read_ends_with_255() {
        let none = RuntimeFlags::default;
        let text = |text: &str| Some(text.to_owned());
        for (flags, variable, want) in [
            (
                RuntimeFlags { summary_mode: text("foo"), ..none() },
                ("", ""),
                "--summary-mode: 'foo' is not compact, full or disabled",
            ),
            (none(), ("K6_SUMMARY_MODE", "legacy"), "K6_SUMMARY_MODE: 'legacy' is not compact,"),
            (none(), ("K6_NO_THRESHOLDS", "x"), "K6_NO_THRESHOLDS: 'x' is not true or false"),
            (
                RuntimeFlags { test_type: text("foo"), ..none() },
                ("", ""),
                "--type: 'foo' is not js or archive",
            ),
            (
                none(),
                ("K6_COMPATIBILITY_MODE", "es6"),
                "K6_COMPATIBILITY_MODE: 'es6' is not extended or base",
            ),
            (
                RuntimeFlags { env: vec!["=x".to_owned()], ..none() },
                ("", ""),
                "--env: '' is not a variable: write NAME=value",
            ),
        ] {
            let error = runtime(&flags, &[variable]).expect_err(want);
            assert!(error.what.starts_with(want), "{error}");
            assert_eq!(error.code.code(), 255);
        }
    }
}

//! Flags of `explain`.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args};

use crate::explain;

/// Flags of `explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainFlags {
    /// What to explain, such as suspect, late_tail, timeout, p99, exit-4 or beyond; causes, kinds,
    /// gates, exit-codes or columns for a list of them; without one, all codes are listed
    #[arg(value_name = "CODE", value_parser = CodeParser, hide_possible_values = true)]
    pub codes: Vec<String>,
}

/// Takes any word, because `explain` says itself which codes are near. Shells complete those that
/// it knows.
#[derive(Debug, Clone)]
struct CodeParser;

impl TypedValueParser for CodeParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(explain::completions().into_iter().map(PossibleValue::new)))
    }
}

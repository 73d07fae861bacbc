//! Documents with results: tells which kind one is, and reads it.

use anyhow::Context as _;
use plimsoll_core::RunResult;
use plimsoll_core::find;
use plimsoll_core::foreign::ForeignResult;
use plimsoll_core::repeats::{self, Repeats};
use plimsoll_core::result;
use plimsoll_core::study::{self, Study};
use plimsoll_dialect::fortio;
use serde_json::Value;

/// What a document is.
pub(crate) enum Document {
    Result(Box<RunResult>),
    Repeats(Box<Repeats>),
    Study(Box<Study>),
    Find(Box<find::Document>),
    FindClosed(Box<find::ClosedDocument>),
    /// A result of another tester.
    Foreign(Box<ForeignResult>),
    /// Of another schema, or of none: what it says.
    Other(Option<String>),
}

/// Reads a document that was read from `name`.
///
/// # Errors
/// It is not JSON, or not what its kind has to be.
pub(crate) fn parse(name: &str, bytes: &[u8]) -> anyhow::Result<Document> {
    let value: Value =
        serde_json::from_slice(bytes).with_context(|| format!("'{name}' is not JSON"))?;
    if fortio::is_result(&value) {
        let said = fortio::Said::read(&value).with_context(|| format!("cannot read '{name}'"))?;
        return Ok(Document::Foreign(Box::new(fortio::foreign(&said))));
    }
    let schema = value.get("schema").and_then(Value::as_str).map(str::to_owned);
    let wrong = || {
        let schema = schema.as_deref().unwrap_or_default();
        format!("'{name}' is not what a {schema} has to be")
    };
    Ok(match schema.as_deref() {
        Some(result::SCHEMA) => {
            Document::Result(serde_json::from_value(value).with_context(wrong)?)
        }
        Some(repeats::SCHEMA) => {
            Document::Repeats(serde_json::from_value(value).with_context(wrong)?)
        }
        Some(study::SCHEMA) => Document::Study(serde_json::from_value(value).with_context(wrong)?),
        Some(find::SCHEMA) => Document::Find(serde_json::from_value(value).with_context(wrong)?),
        Some(find::CLOSED_SCHEMA) => {
            Document::FindClosed(serde_json::from_value(value).with_context(wrong)?)
        }
        _ => Document::Other(schema),
    })
}

//! fortio's REST interface: what requests ask for and what they are answered with, as pure
//! functions.
//!
//! The arguments of a run stand in the query, or in a JSON object whose values are texts. Switches
//! are `on`.

mod answers;
mod lists;
mod run;

use plimsoll_core::secret::form_decoded;
use serde::Serialize;
use serde_json::Value;

pub use answers::{Found, RunAnswer, RunOptions, RunStatus, Statuses};
pub use lists::{INDEX_HEAD, Listing, index_line, is_result_name};
pub use run::RestRun;

/// The largest JSON object that asks for a run, bytes.
pub const BODY_BYTES_MAX: usize = 1 << 20;

/// Why a request is refused, with 400.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RestError {
    error: bool,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    exception: Option<String>,
}

impl RestError {
    /// What could not be done, and why.
    #[must_use]
    pub fn new(message: &str, exception: Option<&str>) -> Self {
        let exception = exception.map(str::to_owned);
        Self { error: true, message: message.to_owned(), exception }
    }
}

/// The arguments of a request.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    query: Vec<(String, String)>,
    body: Value,
}

impl Arguments {
    /// Those of a target and of a body, whose object `jsonPath` may name. Without a body those of
    /// the target alone.
    ///
    /// # Errors
    /// A body that is not an object, or does not have what `jsonPath` names.
    pub fn read(target: &str, body: &[u8]) -> Result<Self, RestError> {
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (form_decoded(name), form_decoded(value))
        };
        let mut arguments = Self { query: pairs.map(pair).collect(), body: Value::Null };
        if body.is_empty() {
            return Ok(arguments);
        }
        let wrong = |why: &str| RestError::new("body json deserialization error", Some(why));
        if body.len() > BODY_BYTES_MAX {
            return Err(wrong("it is longer than 1 MiB"));
        }
        let mut object: Value =
            serde_json::from_slice(body).map_err(|error| wrong(&error.to_string()))?;
        let path = arguments.text("jsonPath").to_owned();
        for name in path.split('.').filter(|name| !name.is_empty()) {
            object = match object.get_mut(name) {
                Some(inner) => inner.take(),
                None => return Err(wrong(&format!("{name:?} not found in json"))),
            };
        }
        if !object.is_object() {
            return Err(wrong("it is not an object"));
        }
        arguments.body = object;
        Ok(arguments)
    }

    /// The first value of a name; empty without one.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        let of_query = self.query.iter().find(|(known, _)| known == name);
        of_query
            .map(|(_, value)| value.as_str())
            .or_else(|| self.body.get(name)?.as_str())
            .unwrap_or_default()
    }

    /// Whether a switch is on.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        self.text(name) == "on"
    }

    /// All values of a name in the query, or of a list in the body.
    pub fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        let of_query = self.query.iter().filter(move |(known, _)| known == name);
        of_query.map(|(_, value)| value.as_str())
    }

    fn listed(&self, name: &str) -> impl Iterator<Item = &str> {
        self.body
            .get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    }
}

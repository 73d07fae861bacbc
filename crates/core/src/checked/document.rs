//! Plans as documents: what one process hands to another that is to carry the plan out.
//!
//! A document, `plimsoll/plan/1`, is whole: scripts, bodies, tables and certificates stand in it,
//! and reading it opens no file. Secrets do not. Each has a name, the place in the plan where it
//! belongs (a JSON pointer, RFC 6901), and stands under it in a part that the receiver is handed
//! apart from the document, `plimsoll/plan-secrets/1`.
//!
//! What is secret follows [`Masks`]: values by the names they go under,
//! arguments of scripts, credentials and keys always, and bodies, scripts and tables as a whole if
//! they name a secret anywhere. A document is not trusted: it passes the same check
//! as flags, and lengths have a limit.
//!
//! Files that a script itself opens do not travel.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Plan;
use crate::expect::Expectation;
use crate::plan::{Draft, PlanErrors};
use crate::secret::{Masks, Secret};

/// The schema's name and version.
pub const SCHEMA: &str = "plimsoll/plan/1";

/// That of the part with the secrets.
pub const SECRETS_SCHEMA: &str = "plimsoll/plan-secrets/1";

/// The longest document, and the longest part with secrets, bytes.
pub const BYTES_MAX: usize = 1 << 28;
const MIB_MAX: usize = BYTES_MAX >> 20;

/// How much of what was found in place of a schema's name is quoted.
const QUOTED_CHARS: usize = 40;

/// A plan on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// The plan without its secrets, JSON.
    pub document: String,
    /// Its secrets, JSON; they are to be handed over apart.
    pub secrets: Secret,
}

/// Why a plan cannot be packed, or a document holds none: one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// It is beyond [`BYTES_MAX`].
    #[error("the {0} is longer than {MIB_MAX} MiB: send less with each run")]
    TooLong(&'static str),
    /// It is not JSON of that form.
    #[error("the {0} cannot be read: {1}: hand over what a plimsoll of this version has written")]
    Malformed(&'static str, String),
    /// It is of another kind, or another version's.
    #[error("the {what} is {given}, not {wanted}: use the same version of plimsoll on both sides")]
    Schema {
        /// Which part.
        what: &'static str,
        /// What it calls itself.
        given: String,
        /// What it should.
        wanted: &'static str,
    },
    /// It says something that this version does not know, and would not do.
    #[error("{0} in the plan is not known: use the same version of plimsoll on both sides")]
    Unknown(String),
    /// A secret was not handed over.
    #[error("the secret for {0} is missing: hand over the secrets that were packed with the plan")]
    Missing(String),
    /// Secrets were handed over that the plan does not ask for.
    #[error("the secrets are not those of this plan: hand over those that were packed with it")]
    Foreign,
    /// It is a document, and what it says cannot be carried out.
    #[error(transparent)]
    Plan(#[from] PlanErrors),
}

/// The document as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: String,
    plan: Value,
    /// The names of the secrets, whose places in the plan are null.
    secrets: Vec<String>,
}

/// The secrets as they are written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Secrets {
    schema: String,
    values: BTreeMap<String, Value>,
}

impl Plan {
    /// Packs it to be carried out by another process.
    ///
    /// # Errors
    /// A plan that is too long to travel.
    pub fn pack(&self) -> Result<Packed, DocumentError> {
        let mut draft = Draft::clone(self);
        let names = secret_places(&mut draft);
        let mut plan = serde_json::to_value(&draft).expect("plans have texts for keys");
        let mut values = BTreeMap::new();
        for name in &names {
            // A place with nothing in it is not written.
            if let Some(place) = plan.pointer_mut(name) {
                values.insert(name.clone(), place.take());
            }
        }
        let secrets = values.keys().cloned().collect();
        let document = Document { schema: SCHEMA.to_owned(), plan, secrets };
        let secrets = Secrets { schema: SECRETS_SCHEMA.to_owned(), values };
        let secrets = written("part with secrets", &secrets)?.into();
        Ok(Packed { document: written("document", &document)?, secrets })
    }

    /// Reads a plan that [`pack`](Self::pack) wrote, opening no file.
    ///
    /// # Errors
    /// What is wrong with the document or the secrets, in one line without any of their values.
    pub fn unpack(document: &str, secrets: &Secret) -> Result<Self, DocumentError> {
        let document: Document = read("document", document, SCHEMA)?;
        let secrets: Secrets = read("part with secrets", secrets.reveal(), SECRETS_SCHEMA)?;
        let (mut plan, mut values) = (document.plan, secrets.values);
        for name in document.secrets {
            let value =
                values.remove(&name).ok_or_else(|| DocumentError::Missing(quoted(&name)))?;
            let place = plan.pointer_mut(&name).filter(|place| place.is_null());
            *place.ok_or_else(|| DocumentError::Unknown(quoted(&name)))? = value;
        }
        if !values.is_empty() {
            return Err(DocumentError::Foreign);
        }
        // What serde says may quote a value.
        let malformed =
            |_| DocumentError::Malformed("plan", "a value has the wrong form".to_owned());
        let mut draft = Draft::deserialize(&plan).map_err(malformed)?;
        draft.each_place(&mut |_, held| held.show(true));
        let known = serde_json::to_value(&draft).expect("plans have texts for keys");
        if let Some(place) = unknown(&plan, &known) {
            return Err(DocumentError::Unknown(quoted(&place)));
        }
        draft.each_place(&mut |_, held| held.show(false));
        Ok(draft.check()?)
    }
}

/// The places of a draft's secrets. Has all of the draft written as it is.
fn secret_places(draft: &mut Draft) -> Vec<String> {
    // Who asks for reports with secrets does not ask for them here.
    let masks = Masks { shows_all: false, ..draft.masks.clone() };
    let mut names = Vec::new();
    draft.each_place(&mut |place, held| {
        if place.is_secret(&held.text(), &masks) {
            names.push(place.pointer());
        }
        held.show(true);
    });
    let is_secret = |expectation: &Expectation| masks.expectation(expectation) != *expectation;
    let expected = |of: &str, list: &[Expectation]| -> Vec<String> {
        let secret = list.iter().enumerate().filter(|(_, expectation)| is_secret(expectation));
        secret.map(|(number, _)| format!("{of}/expect/{number}")).collect()
    };
    names.extend(expected("", &draft.expect));
    for (number, target) in draft.targets.iter().enumerate() {
        names.extend(expected(&format!("/targets/{number}"), &target.expect));
    }
    let tables = draft.tables.iter().enumerate();
    let secret = tables.filter(|(_, table)| table.columns.iter().any(|name| masks.hides(name)));
    names.extend(secret.map(|(number, _)| format!("/tables/{number}/rows")));
    names
}

fn written(what: &'static str, part: &impl Serialize) -> Result<String, DocumentError> {
    let text = serde_json::to_string(part).expect("plans have texts for keys");
    if text.len() > BYTES_MAX { Err(DocumentError::TooLong(what)) } else { Ok(text) }
}

/// Reads a part of one schema.
fn read<T: for<'de> Deserialize<'de>>(
    what: &'static str,
    text: &str,
    wanted: &'static str,
) -> Result<T, DocumentError> {
    /// What every part says of itself.
    #[derive(Deserialize)]
    struct Named {
        schema: String,
    }
    if text.len() > BYTES_MAX {
        return Err(DocumentError::TooLong(what));
    }
    let malformed = |error: serde_json::Error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        DocumentError::Malformed(what, place)
    };
    let Named { schema } = serde_json::from_str(text).map_err(malformed)?;
    if schema != wanted {
        return Err(DocumentError::Schema { what, given: quoted(&schema), wanted });
    }
    serde_json::from_str(text).map_err(malformed)
}

/// The place of something in a document that what was read of it does not have.
fn unknown(given: &Value, known: &Value) -> Option<String> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => {
            given.iter().find_map(|(key, value)| match known.get(key) {
                Some(known) => unknown(value, known).map(|place| format!("/{key}{place}")),
                None => Some(format!("/{key}")),
            })
        }
        (Value::Array(given), Value::Array(known)) => {
            let mut pairs = given.iter().zip(known).enumerate();
            pairs.find_map(|(number, (given, known))| {
                unknown(given, known).map(|place| format!("/{number}{place}"))
            })
        }
        _ => None,
    }
}

/// The beginning of a text from outside, on one line.
fn quoted(text: &str) -> String {
    let start: String = text.chars().take(QUOTED_CHARS).collect();
    format!("{start:?}")
}

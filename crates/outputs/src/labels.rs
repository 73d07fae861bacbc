//! Labels: what tells the figures of one run from those of another where they are kept.

use std::str::FromStr;

/// The longest value of a label, bytes. Longer ones are cut.
const VALUE_BYTES_MAX: usize = 200;

/// A name with a value that all figures of a feed have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    name: String,
    value: String,
}

/// Why a text is not a label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// There is no name or no value.
    #[error("'{0}' is not a label: write NAME=VALUE")]
    Form(String),
    /// Receivers do not take such a name.
    #[error(
        "'{0}' is not a name of a label: use letters, digits and _, a letter first, and not one \
         of Plimsoll's own labels"
    )]
    Name(String),
}

/// Names that single figures use.
const OWN: [&str; 8] = ["outcome", "code", "phase", "verdict", "gate", "version", "le", "quantile"];

impl Label {
    /// A label, its value without control characters.
    ///
    /// # Errors
    /// A name that receivers do not take.
    pub fn new(name: &str, value: &str) -> Result<Self, LabelError> {
        let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        let is_plain = name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit());
        let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
        if !is_plain || !begins || OWN.contains(&name) {
            return Err(LabelError::Name(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), value: shortened(value) })
    }

    /// Its name: letters, digits and `_`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its value.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl FromStr for Label {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        match text.split_once('=') {
            Some((name, value)) if !value.is_empty() => Self::new(name, value),
            _ => Err(LabelError::Form(text.to_owned())),
        }
    }
}

/// A value without control characters, at most as long as receivers like.
pub(crate) fn shortened(value: &str) -> String {
    let mut plain: String = value.chars().filter(|letter| !letter.is_control()).collect();
    let end = (0..=plain.len().min(VALUE_BYTES_MAX)).rev().find(|at| plain.is_char_boundary(*at));
    plain.truncate(end.unwrap_or(0));
    plain
}

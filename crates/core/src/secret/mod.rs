//! Secrets: values that are sent but not shown, and what is shown in their place.
//!
//! [`Secret`] carries a value through the program. It has no `Display`; debugging or serializing it
//! gives a mask, unless it was made public. Only [`Masks`] decides that: it makes the record of a
//! run once, and views show what the record holds. [`Secret::reveal`] is for the code that sends.
//!
//! A mask is `[masked:7f]`. Its two digits are a fingerprint of eight bits, so `compare` notices,
//! in 255 cases of 256, that two runs sent different values. The fingerprint reveals at most eight
//! bits of a value, whatever an attacker tries. A longer hash of a password could be looked up; a
//! keyed hash would need a key on every machine.
//!
//! Absent on purpose: guessing by a value's looks. The name of a value decides, so a secret in a
//! segment of a path (`/hooks/T0/B0/x`) is shown.

mod mask;
mod names;
mod place;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::expect::Expectation;
use crate::template::{Span, spans};

pub use mask::{fingerprint, holds_mask};
pub use names::{HARMLESS_HEADERS, form_decoded, percent_decoded, percent_decoded_bytes};
pub use words::{Kind, RUN_FLAGS, run_flag};

/// A value that is sent and that nothing shows by accident.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret<T = String> {
    value: T,
    is_public: bool,
}

impl<T: AsRef<[u8]>> Secret<T> {
    /// A value to be sent.
    pub fn new(value: T) -> Self {
        Self { value, is_public: false }
    }

    /// A value that may be shown: it is not secret, or is already a mask.
    pub fn public(value: T) -> Self {
        Self { value, is_public: true }
    }

    /// The value, for the place that sends it.
    pub fn reveal(&self) -> &T {
        &self.value
    }

    /// Has it shown as it is, or not.
    pub(crate) fn show(&mut self, is_public: bool) {
        self.is_public = is_public;
    }

    /// Whether it may be shown as it is.
    #[must_use]
    pub fn is_public(&self) -> bool {
        self.is_public
    }

    /// Whether there is nothing to it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.value.as_ref().is_empty()
    }

    /// The value if it may be shown, or its mask.
    #[must_use]
    pub fn shown(&self) -> String {
        if self.is_public {
            String::from_utf8_lossy(self.value.as_ref()).into_owned()
        } else {
            mask::of_bytes(self.value.as_ref())
        }
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self::new(value)
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self::new(value.to_owned())
    }
}

impl<T: AsRef<[u8]>> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.shown())
    }
}

impl<T: AsRef<[u8]> + Serialize> Serialize for Secret<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.is_public {
            true => self.value.serialize(serializer),
            false => self.shown().serialize(serializer),
        }
    }
}

/// What stands in a document was public there.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Secret<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|value| Self { value, is_public: true })
    }
}

/// What is masked: values by the names they go under.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Masks {
    /// Names beyond those that are known, as [`Masks::hides`] takes them.
    pub names: Vec<String>,
    /// Show everything.
    pub shows_all: bool,
}

impl Masks {
    /// Whether a field of this name holds a secret: `token`, `X-API-Key`, `user[password]`. Case,
    /// percent-encoding, and what stands between the letters make no difference.
    #[must_use]
    pub fn hides(&self, name: &str) -> bool {
        !self.shows_all && (names::is_secret(name) || self.is_named(name))
    }

    /// Whether a request header's value is hidden: all but those that are known to be harmless.
    #[must_use]
    pub fn hides_header(&self, name: &str) -> bool {
        !self.shows_all && (!names::is_harmless_header(name) || self.is_named(name))
    }

    /// Whether a word of a text is the name of a secret: of a field in a form or in JSON, of a
    /// variable in a script.
    #[must_use]
    pub(crate) fn names_secret(&self, text: &str) -> bool {
        text.split(|c: char| !words::is_of_name(c)).any(|word| !word.is_empty() && self.hides(word))
    }

    fn is_named(&self, name: &str) -> bool {
        self.names.iter().any(|part| names::contains(name, part))
    }

    /// A text that is a secret as a whole. Templates in it stay: they say where a value comes from.
    #[must_use]
    pub fn whole(&self, text: &str) -> String {
        if self.shows_all {
            return text.to_owned();
        }
        let Ok(spans) = spans(text) else { return mask::of(text) };
        let span = |span: Span<'_>| match span {
            Span::Text(text) => mask::of(text),
            Span::Template(text) => text.to_owned(),
        };
        spans.into_iter().map(span).collect()
    }

    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str, value: &str) -> String {
        if self.hides_header(name) { self.whole(value) } else { value.to_owned() }
    }

    /// A body, by its length and its mask.
    #[must_use]
    pub fn body(&self, text: &str) -> String {
        if self.shows_all || holds_mask(text) {
            return text.to_owned();
        }
        format!("{} bytes {}", text.len(), mask::of(text))
    }

    /// A response's field as an expectation has it, where its name is one of a secret.
    #[must_use]
    pub fn expectation(&self, expectation: &Expectation) -> Expectation {
        match expectation.clone() {
            Expectation::HeaderIs { name, value } if self.hides(&name) => {
                Expectation::HeaderIs { value: mask::of(&value), name }
            }
            Expectation::HeaderMatches { name, pattern } if self.hides(&name) => {
                Expectation::HeaderMatches { pattern: mask::of(&pattern), name }
            }
            other => other,
        }
    }
}

//! How the value of an option is read, from JSON and from text, whatever the option.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::duration;

/// A value that options of a kind have. An error says what is wrong with it, without the option's
/// name.
pub(in crate::k6) trait OptionValue: Sized + Clone {
    /// Reads what a script or a configuration file has; never `null`, which sets nothing.
    fn from_json(value: &Value) -> Result<Self, String>;

    /// Reads what a flag or a variable of the environment has; never empty, which sets nothing.
    fn from_text(text: &str) -> Result<Self, String>;

    /// As `inspect` and `exec.test.options` show it.
    fn to_json(&self) -> Value;

    /// Sets it where a source of higher precedence has a value too.
    fn overlay(&mut self, over: &Self) {
        *self = over.clone();
    }
}

/// A duration in ns. Negative ones can be written, and are refused where they make no sense.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ns(pub i64);

impl Ns {
    /// The duration, 0 when it is negative.
    #[must_use]
    pub fn unsigned(self) -> u64 {
        self.0.try_into().unwrap_or(0)
    }
}

impl std::fmt::Display for Ns {
    /// As k6 prints it: `1m30s`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&duration::print(self.0))
    }
}

/// The value of a field; `None` without it, and for `null`. As Go reads JSON, the name may be in
/// other letter case, and the exact one comes first.
pub(in crate::k6) fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let folded = || fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    let value = fields.get(name).or_else(|| folded().map(|(_, value)| value));
    value.filter(|value| !value.is_null())
}

/// JSON as a message shows it: the start of it.
pub(super) fn shown(value: &Value) -> String {
    shortened(&value.to_string())
}

/// Text as a message shows it: the start of it, on one line.
pub(in crate::k6) fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    let one_line = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.chars().take(CHARS_MAX).map(one_line).collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        short.push('…');
    }
    short
}

impl OptionValue for i64 {
    fn from_json(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Self::from_text(text),
            _ => value.as_i64().ok_or_else(|| format!("{} is not a whole number", shown(value))),
        }
    }

    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("'{}' is not a whole number", shortened(text)))
    }

    fn to_json(&self) -> Value {
        (*self).into()
    }
}

impl OptionValue for bool {
    fn from_json(value: &Value) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| format!("{} is not true or false", shown(value)))
    }

    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("'{}' is not true or false", shortened(text)))
    }

    fn to_json(&self) -> Value {
        (*self).into()
    }
}

impl OptionValue for String {
    fn from_json(value: &Value) -> Result<Self, String> {
        let text = value.as_str().map(str::to_owned);
        text.ok_or_else(|| format!("{} is not text: put it in quotes", shown(value)))
    }

    fn from_text(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn to_json(&self) -> Value {
        self.as_str().into()
    }
}

const DURATION: &str = "is not a duration: write 500ms, 1.5s, 2m, 1h or 1d, or milliseconds";

impl OptionValue for Ns {
    fn from_json(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Self::from_text(text),
            _ => value
                .as_f64()
                .and_then(duration::of_ms)
                .map(Self)
                .ok_or_else(|| format!("{} {DURATION}", shown(value))),
        }
    }

    fn from_text(text: &str) -> Result<Self, String> {
        let read = duration::parse_ns(text).map(Self);
        read.ok_or_else(|| format!("'{}' {DURATION}", shortened(text)))
    }

    fn to_json(&self) -> Value {
        self.to_string().into()
    }
}

impl OptionValue for Vec<String> {
    fn from_json(value: &Value) -> Result<Self, String> {
        let items = value.as_array().ok_or_else(|| format!("{} is not a list", shown(value)))?;
        items.iter().map(String::from_json).collect()
    }

    fn from_text(text: &str) -> Result<Self, String> {
        Ok(text.split(',').map(|item| item.trim().to_owned()).collect())
    }

    fn to_json(&self) -> Value {
        self.as_slice().into()
    }
}

impl OptionValue for BTreeMap<String, String> {
    fn from_json(value: &Value) -> Result<Self, String> {
        let entries = value.as_object();
        let entries = entries.ok_or_else(|| format!("{} is not an object", shown(value)))?;
        let entry = |(name, value): (&String, &Value)| match value {
            Value::String(value) => Ok((name.clone(), value.clone())),
            _ => Err(format!("the value of '{}' is not text: put it in quotes", shortened(name))),
        };
        entries.iter().map(entry).collect()
    }

    /// `name:value,name:value`.
    fn from_text(text: &str) -> Result<Self, String> {
        let entry = |item: &str| match item.split_once(':') {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            None => Err(format!("'{}' has no value: write name:value", shortened(item))),
        };
        text.split(',').map(entry).collect()
    }

    fn to_json(&self) -> Value {
        self.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect()
    }
}

/// What is kept as it is, because nothing here acts on it.
impl OptionValue for Value {
    fn from_json(value: &Value) -> Result<Self, String> {
        Ok(value.clone())
    }

    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Self::String(text.to_owned()))
    }

    fn to_json(&self) -> Value {
        self.clone()
    }
}

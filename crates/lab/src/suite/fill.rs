//! Placeholders in commands and files: `{port}`, `{work}`, `{backend.port}`.
//!
//! Braces mean something to nginx, Lua and shells too, so only `{name}` of a known form counts: a
//! lower-case word, with dots. In commands an unknown one is a mistake; in files it is left alone.

use std::collections::BTreeMap;

/// What placeholders stand for.
#[derive(Debug, Clone, Default)]
pub struct Names(BTreeMap<String, String>);

/// A placeholder that nothing is known for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("nothing is known as {{{name}}}: there are {known}")]
pub struct Unfilled {
    /// Its name.
    pub name: String,
    /// The names there are.
    pub known: String,
}

impl Names {
    /// Adds a name, or gives it another value.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Puts values in the places of names.
    ///
    /// # Errors
    /// The first that is not known.
    pub fn fill(&self, text: &str) -> Result<String, Unfilled> {
        self.replace(text, |name| {
            let known: Vec<String> = self.0.keys().map(|name| format!("{{{name}}}")).collect();
            Err(Unfilled { name: name.to_owned(), known: known.join(", ") })
        })
    }

    /// The same for a file, in which what is not known is no placeholder.
    #[must_use]
    pub fn fill_file(&self, text: &str) -> String {
        self.replace(text, |name| Ok(format!("{{{name}}}"))).unwrap_or_default()
    }

    /// What stands in a text as a placeholder would, known or not.
    pub fn within(text: &str) -> impl Iterator<Item = &str> {
        text.split('{').skip(1).filter_map(placeholder)
    }

    fn replace(
        &self,
        text: &str,
        unknown: impl Fn(&str) -> Result<String, Unfilled>,
    ) -> Result<String, Unfilled> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            filled.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            match placeholder(rest) {
                Some(name) => {
                    match self.0.get(name) {
                        Some(value) => filled.push_str(value),
                        None => filled.push_str(&unknown(name)?),
                    }
                    rest = &rest[name.len() + 1..];
                }
                None => filled.push('{'),
            }
        }
        filled.push_str(rest);
        Ok(filled)
    }
}

/// The name that begins a text after its brace, if it is one and the brace is closed.
fn placeholder(text: &str) -> Option<&str> {
    let name = &text[..text.find('}')?];
    is_word(name).then_some(name)
}

/// Whether a name can be that of a placeholder.
pub(super) fn is_word(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| is_part(byte) || b"._-".contains(&byte))
}

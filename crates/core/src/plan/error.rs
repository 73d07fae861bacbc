//! Why a draft is no plan: which field, what is wrong with it, and what to do.
//!
//! Messages mention fields, not flags. [`Words`] says what a front calls a field, so nothing has to
//! look for names in a finished text.

use std::fmt;
use std::ops::Add;

use super::Field;

/// What a front calls fields.
pub trait Words {
    /// A field by its name: `-c`, `'connections'`.
    fn name(&self, field: Field) -> String;

    /// A field with a value: `-c 5`, `connections = 5`.
    fn given(&self, field: Field, value: &str) -> String;
}

/// The words of plan files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Keys;

impl Words for Keys {
    fn name(&self, field: Field) -> String {
        format!("'{field}'")
    }

    fn given(&self, field: Field, value: &str) -> String {
        match value.parse::<i64>() {
            Ok(_) => format!("{field} = {value}"),
            Err(_) => format!("{field} = '{value}'"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Name(Field),
    Given(Field, String),
}

/// A text that mentions fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message(Vec<Piece>);

impl Message {
    /// The text, with fields as a front calls them.
    #[must_use]
    pub fn told(&self, words: &dyn Words) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Name(field) => words.name(*field),
            Piece::Given(field, value) => words.given(*field, value),
        };
        self.0.iter().map(piece).collect()
    }

    fn fields(&self) -> impl Iterator<Item = Field> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Name(field) | Piece::Given(field, _) => Some(*field),
        })
    }
}

/// A mention of a field.
#[must_use]
pub fn name(field: Field) -> Message {
    Message(vec![Piece::Name(field)])
}

/// A mention of a field with a value.
#[must_use]
pub fn given(field: Field, value: impl fmt::Display) -> Message {
    Message(vec![Piece::Given(field, value.to_string())])
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self(vec![Piece::Text(text.to_owned())])
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self(vec![Piece::Text(text)])
    }
}

impl<M: Into<Self>> Add<M> for Message {
    type Output = Self;

    fn add(mut self, more: M) -> Self {
        self.0.extend(more.into().0);
        self
    }
}

/// One thing that is wrong with a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError {
    field: Field,
    /// Another field that may have said the same.
    other: Option<Field>,
    problem: Message,
    advice: Message,
}

impl PlanError {
    /// What is wrong with a field, and what to do; fragments that a colon joins. The advice is
    /// empty where the problem says it as well.
    #[must_use]
    pub fn new(field: Field, problem: impl Into<Message>, advice: impl Into<Message>) -> Self {
        Self { field, other: None, problem: problem.into(), advice: advice.into() }
    }

    /// The same, of what another field may have said as well.
    #[must_use]
    pub fn or(self, other: Field) -> Self {
        Self { other: Some(other), ..self }
    }

    /// The field that is wrong.
    #[must_use]
    pub fn field(&self) -> Field {
        self.field
    }

    /// The field that is wrong, and then the others that have to do with it.
    pub fn fields(&self) -> impl Iterator<Item = Field> {
        let own = [self.field].into_iter().chain(self.other);
        own.chain(self.problem.fields()).chain(self.advice.fields())
    }

    /// What is wrong.
    #[must_use]
    pub fn problem(&self) -> &Message {
        &self.problem
    }

    /// What to do.
    #[must_use]
    pub fn advice(&self) -> &Message {
        &self.advice
    }

    /// All of it in one line, in the words of a front.
    #[must_use]
    pub fn told(&self, words: &dyn Words) -> String {
        let (problem, advice) = (self.problem.told(words), self.advice.told(words));
        if advice.is_empty() { problem } else { format!("{problem}: {advice}") }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(&Keys))
    }
}

impl std::error::Error for PlanError {}

/// Everything that is wrong with a draft: at least one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanErrors {
    first: PlanError,
    others: Vec<PlanError>,
}

impl PlanErrors {
    /// The errors of a list, if there is any.
    pub(crate) fn of(errors: Vec<PlanError>) -> Option<Self> {
        let mut errors = errors.into_iter();
        let first = errors.next()?;
        Some(Self { first, others: errors.collect() })
    }

    /// The one to mend first.
    #[must_use]
    pub fn first(&self) -> &PlanError {
        &self.first
    }

    /// All of them, the one to mend first at the front.
    pub fn iter(&self) -> impl Iterator<Item = &PlanError> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

impl From<PlanError> for PlanErrors {
    fn from(first: PlanError) -> Self {
        Self { first, others: Vec::new() }
    }
}

impl fmt::Display for PlanErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)
    }
}

impl std::error::Error for PlanErrors {}

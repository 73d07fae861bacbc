//! Messages from JSON and as JSON, in protobuf's own mapping (ProtoJSON).

use plimsoll_core::template::TemplateError;
use prost_reflect::prost::Message as _;
use prost_reflect::{DynamicMessage, MessageDescriptor};
use serde_json::{Deserializer, Value};

use crate::text::one_line;
use crate::wire::Malformed;

/// Why a text is not the JSON of a message. Each is one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The text is not JSON, or not that of a message; with line and column.
    #[error("not the JSON of a {message}: {reason}")]
    Json {
        /// The type of the message.
        message: String,
        /// What is wrong, and where.
        reason: String,
    },
    /// A field can't be filled as the text asks.
    #[error("{path}: {reason}")]
    Field {
        /// The names on the way to the field, with dots between.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// One of several messages is wrong.
    #[error("message {number}: {error}")]
    Nth {
        /// Its number, from 1.
        number: usize,
        /// What is wrong with it.
        error: Box<Self>,
    },
    /// There are several messages, and one is sent.
    #[error("a call sends one message, and here are {0}")]
    Several(usize),
    /// A template is wrong.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

/// The values in a text of JSON, one behind the other; nothing but white space is one empty text.
/// What is not JSON is the last of them.
pub(crate) fn values(text: &str) -> Vec<&str> {
    let mut values = Deserializer::from_str(text).into_iter::<Value>();
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(value) = values.next() {
        let to = if value.is_ok() { values.byte_offset() } else { text.len() };
        found.push(&text[from..to]);
        from = to;
    }
    if found.is_empty() { vec![text] } else { found }
}

/// The bytes of a message from its JSON; none for an empty text.
pub(crate) fn encode(descriptor: &MessageDescriptor, text: &str) -> Result<Vec<u8>, BodyError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut source = Deserializer::from_str(text);
    let message = DynamicMessage::deserialize(descriptor.clone(), &mut source)
        .and_then(|message| source.end().map(|()| message));
    match message {
        Ok(message) => Ok(message.encode_to_vec()),
        Err(error) => Err(not_json(descriptor, &error)),
    }
}

pub(crate) fn not_json(descriptor: &MessageDescriptor, error: &serde_json::Error) -> BodyError {
    BodyError::Json {
        message: descriptor.full_name().to_owned(),
        reason: one_line(&error.to_string()),
    }
}

/// The bytes of a message from its JSON as a value.
pub(crate) fn encode_value(
    descriptor: &MessageDescriptor,
    value: &Value,
) -> Result<Vec<u8>, String> {
    DynamicMessage::deserialize(descriptor.clone(), value)
        .map(|message| message.encode_to_vec())
        .map_err(|error| one_line(&error.to_string()))
}

/// A message as JSON.
pub(crate) fn decode(descriptor: MessageDescriptor, message: &[u8]) -> Result<String, Malformed> {
    let message = DynamicMessage::decode(descriptor, message).map_err(|_| Malformed)?;
    serde_json::to_string(&message).map_err(|_| Malformed)
}

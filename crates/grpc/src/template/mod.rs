//! Messages with places that are filled anew for each request.
//!
//! The text is JSON with `core`'s templates in the values of fields and in the keys of maps. It is
//! compiled once: what is the same in each request becomes bytes, and between them stand places
//! that know their field's type. Filling a place writes its value in binary; the lengths around it
//! are put in afterwards. JSON is not looked at again, and nothing is allocated once the buffer has
//! grown.
//!
//! [`mark`] makes the text plain JSON with marks in it, [`compile`] walks that beside the message's
//! descriptor, [`scalar`] knows the forms of numbers.

mod compile;
mod mark;
mod scalar;

#[cfg(test)]
mod tests;

use plimsoll_core::template::{Compiler, Template};
use prost_reflect::MessageDescriptor;

use crate::json::{self, BodyError};
use crate::wire::{VARINT_BYTES_MAX, write_delimited};
use mark::Marked;
use scalar::Scalar;

/// A message ready to be filled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageTemplate {
    parts: Vec<Part>,
}

/// A stretch of a message. A `tag` is what stands before the value; in a packed list, nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// The same in each request.
    Fixed(Vec<u8>),
    /// Others behind their length: a message, an entry of a map or a packed list.
    Delimited { tag: Vec<u8>, parts: Vec<Self> },
    /// A string.
    Text(Place),
    /// A number, a truth value or a name of an enum.
    Scalar(Place, Scalar),
}

/// A value that templates make.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    tag: Vec<u8>,
    value: Template,
    /// Whether 0 or an empty string is written, too: the field has presence.
    keeps_default: bool,
}

impl MessageTemplate {
    /// Compiles the JSON of messages, one behind the other; an empty text is one empty message.
    /// Without a compiler, braces stand for themselves.
    pub(crate) fn compile(
        descriptor: &MessageDescriptor,
        text: &str,
        compiler: Option<&mut Compiler<'_>>,
    ) -> Result<Vec<Self>, BodyError> {
        match compiler {
            Some(compiler) => compile::compile(descriptor, &Marked::of(text)?, compiler),
            None => each(text, |text| Self::of_json(descriptor, text)),
        }
    }

    fn of_json(descriptor: &MessageDescriptor, text: &str) -> Result<Self, BodyError> {
        Ok(Self { parts: vec![Part::Fixed(json::encode(descriptor, text)?)] })
    }

    /// The message, if it is always the same.
    #[must_use]
    pub fn fixed(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [] => Some(&[]),
            [Part::Fixed(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Appends the message of a request.
    #[inline]
    pub fn fill(&self, number: u64, out: &mut Vec<u8>) {
        for part in &self.parts {
            part.fill(number, out);
        }
    }

    /// How much room [`fill`](Self::fill) needs at most so that it does not allocate, bytes.
    #[must_use]
    pub fn bytes_max(&self) -> usize {
        self.parts.iter().map(Part::bytes_max).sum()
    }
}

impl Part {
    fn fill(&self, number: u64, out: &mut Vec<u8>) {
        match self {
            Self::Fixed(bytes) => out.extend_from_slice(bytes),
            Self::Delimited { tag, parts } => {
                out.extend_from_slice(tag);
                write_delimited(out, |out| parts.iter().for_each(|part| part.fill(number, out)));
            }
            Self::Text(place) => {
                let start = out.len();
                out.extend_from_slice(&place.tag);
                let value_start = out.len();
                write_delimited(out, |out| place.value.fill(number, out));
                // An empty text is its length alone.
                if !place.keeps_default && out.len() == value_start + 1 {
                    out.truncate(start);
                }
            }
            Self::Scalar(place, scalar) => {
                // The end of the buffer holds the text for as long as it is read.
                let start = out.len();
                place.value.fill(number, out);
                let bits = scalar.read(&out[start..]).expect("each value was checked before");
                out.truncate(start);
                if bits != 0 || place.keeps_default {
                    out.extend_from_slice(&place.tag);
                    scalar.write(bits, out);
                }
            }
        }
    }

    fn bytes_max(&self) -> usize {
        match self {
            Self::Fixed(bytes) => bytes.len(),
            Self::Delimited { tag, parts } => {
                let content: usize = parts.iter().map(Self::bytes_max).sum();
                tag.len() + VARINT_BYTES_MAX + content
            }
            Self::Text(place) => place.tag.len() + VARINT_BYTES_MAX + place.value.bytes_max(),
            Self::Scalar(place, _) => {
                place.value.bytes_max().max(place.tag.len() + VARINT_BYTES_MAX)
            }
        }
    }

    /// Itself, as bytes if no template is in it.
    fn settled(self) -> Self {
        let is_fixed = match &self {
            Self::Fixed(_) => true,
            Self::Delimited { parts, .. } => parts.iter().all(|it| matches!(it, Self::Fixed(_))),
            Self::Text(place) | Self::Scalar(place, _) => place.value.fixed().is_some(),
        };
        if !is_fixed {
            return self;
        }
        let mut bytes = Vec::new();
        self.fill(0, &mut bytes);
        Self::Fixed(bytes)
    }
}

/// Compiles each of the values of a text; of several, an error says which.
fn each(
    text: &str,
    mut compile: impl FnMut(&str) -> Result<MessageTemplate, BodyError>,
) -> Result<Vec<MessageTemplate>, BodyError> {
    let values = json::values(text);
    let is_one = values.len() == 1;
    let compile = |(number, text): (usize, &&str)| {
        compile(text).map_err(|error| match is_one {
            true => error,
            false => BodyError::Nth { number, error: Box::new(error) },
        })
    };
    (1..).zip(&values).map(compile).collect()
}

/// Adds a part; bytes are added to those before them.
fn push(parts: &mut Vec<Part>, part: Part) {
    match (parts.last_mut(), part.settled()) {
        (Some(Part::Fixed(before)), Part::Fixed(bytes)) => before.extend_from_slice(&bytes),
        (_, part) => parts.push(part),
    }
}

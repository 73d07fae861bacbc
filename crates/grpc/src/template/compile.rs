//! Walks marked JSON beside the descriptor of its message. What has no mark in it is encoded as it
//! is, field by field; what has one becomes a part with a place.

use plimsoll_core::nearest::nearest;
use plimsoll_core::template::{Compiler, Piece, Template, parse};
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value};

use super::mark::{Marked, Stretch};
use super::scalar::{Scalar, is_exact};
use super::{MessageTemplate, Part, Place, each, push};
use crate::json::{BodyError, encode_value, not_json};
use crate::wire::{self, kind, write_tag};

/// Compiles a marked text of one message or several.
pub(super) fn compile(
    descriptor: &MessageDescriptor,
    marked: &Marked,
    compiler: &mut Compiler<'_>,
) -> Result<Vec<MessageTemplate>, BodyError> {
    // In the order of the text, on which depends what is random.
    let templates: Result<_, _> = marked.templates().map(|it| compiler.compile(it)).collect();
    let mut walk = Walk { marked, templates: templates?, path: Vec::new() };
    each(&marked.json, |text| {
        if !marked.is_in(text) {
            return MessageTemplate::of_json(descriptor, text);
        }
        let json = serde_json::from_str(text).map_err(|error| not_json(descriptor, &error))?;
        Ok(MessageTemplate { parts: walk.message(descriptor, &json)? })
    })
}

struct Walk<'m> {
    marked: &'m Marked,
    /// Those of the text, in order.
    templates: Vec<Template>,
    /// The names on the way to what is compiled.
    path: Vec<String>,
}

impl Walk<'_> {
    /// The parts of a message, without its length.
    fn message(&mut self, of: &MessageDescriptor, json: &Value) -> Result<Vec<Part>, BodyError> {
        if is_wrapper(of) {
            let field = of.get_field(1).expect("wrappers have the field 'value'");
            return self.field(&field, json);
        }
        if has_own_json(of) {
            let name = of.full_name();
            return self.fail(format!("a template cannot fill a {name}: its JSON is its own"));
        }
        let Value::Object(object) = json else {
            return self.fail(format!("a {} is written as an object", of.full_name()));
        };
        let mut fields: Vec<(u32, Vec<Part>)> = Vec::new();
        for (name, value) in object {
            self.path.push(name.clone());
            let field = self.known_field(of, name)?;
            let parts = match self.has_mark(value) {
                true => self.field(&field, value)?,
                false => vec![self.fixed_field(of, name, value)?],
            };
            self.refuse_second(&field, &fields)?;
            if !value.is_null() || takes_null(&field) {
                fields.push((field.number(), parts));
            }
            self.path.pop();
        }
        fields.sort_by_key(|(number, _)| *number);
        Ok(joined(fields.into_iter().flat_map(|(_, parts)| parts)))
    }

    fn known_field(
        &self,
        of: &MessageDescriptor,
        name: &str,
    ) -> Result<FieldDescriptor, BodyError> {
        let field = of.get_field_by_json_name(name).or_else(|| of.get_field_by_name(name));
        if let Some(field) = field {
            return Ok(field);
        }
        let names: Vec<String> = of.fields().map(|it| it.json_name().to_owned()).collect();
        let advice = match nearest(name, names.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean '{meant}'?"),
            None if names.is_empty() => "it has none".to_owned(),
            None => format!("there are {}", names.join(", ")),
        };
        self.fail(format!("{} has no such field: {advice}", of.full_name()))
    }

    /// Refuses a field that is there already, or of which only one of several may be there.
    fn refuse_second(
        &self,
        field: &FieldDescriptor,
        before: &[(u32, Vec<Part>)],
    ) -> Result<(), BodyError> {
        let has = |number: u32| before.iter().any(|(known, _)| *known == number);
        if has(field.number()) {
            return self.fail("the field is there twice".to_owned());
        }
        let Some(oneof) = field.containing_oneof() else { return Ok(()) };
        match oneof.fields().find(|it| has(it.number())) {
            Some(other) => {
                self.fail(format!("only one of this and '{}' can be there", other.json_name()))
            }
            None => Ok(()),
        }
    }

    fn fixed_field(
        &self,
        of: &MessageDescriptor,
        name: &str,
        value: &Value,
    ) -> Result<Part, BodyError> {
        let object = Map::from_iter([(name.to_owned(), value.clone())]);
        encode_value(of, &Value::Object(object)).map(Part::Fixed).or_else(|it| self.fail(it))
    }

    /// A field with a mark in its value.
    fn field(&mut self, field: &FieldDescriptor, value: &Value) -> Result<Vec<Part>, BodyError> {
        if field.is_map() {
            return self.map(field, value);
        }
        if field.is_list() {
            return self.list(field, value);
        }
        Ok(vec![self.single(field, value, tag(field), field.supports_presence())?])
    }

    fn list(&mut self, field: &FieldDescriptor, value: &Value) -> Result<Vec<Part>, BodyError> {
        let Value::Array(items) = value else {
            return self.fail("a list is written in brackets".to_owned());
        };
        let mut parts = Vec::new();
        let tag = if field.is_packed() { Vec::new() } else { tag(field) };
        for (index, item) in items.iter().enumerate() {
            self.path.push(index.to_string());
            let part = match self.has_mark(item) {
                true => self.single(field, item, tag.clone(), true)?,
                false => self.fixed_item(field, item)?,
            };
            push(&mut parts, part);
            self.path.pop();
        }
        if field.is_packed() {
            let mut tag = Vec::new();
            write_tag(&mut tag, field.number(), kind::DELIMITED);
            parts = vec![Part::Delimited { tag, parts }];
        }
        Ok(parts)
    }

    /// An item of a list without a mark: in a packed list, its value alone.
    fn fixed_item(&self, field: &FieldDescriptor, item: &Value) -> Result<Part, BodyError> {
        let list = Value::Array(vec![item.clone()]);
        let part = self.fixed_field(field.parent_message(), field.json_name(), &list)?;
        match part {
            Part::Fixed(bytes) if field.is_packed() => {
                let field = wire::Fields::of(&bytes).next();
                let item = field.and_then(|it| it.ok()?.1.bytes().ok());
                Ok(Part::Fixed(item.unwrap_or_default().to_vec()))
            }
            part => Ok(part),
        }
    }

    fn map(&mut self, field: &FieldDescriptor, value: &Value) -> Result<Vec<Part>, BodyError> {
        let (Value::Object(object), Kind::Message(entry)) = (value, field.kind()) else {
            return self.fail("a map is written as an object".to_owned());
        };
        let (key_field, value_field) = (entry.map_entry_key_field(), entry.map_entry_value_field());
        let mut parts = Vec::new();
        for (key, value) in object {
            self.path.push(self.marked.shown(key));
            if self.marked.is_in(key) || self.has_mark(value) {
                let key = Value::String(key.clone());
                let mut inner = vec![self.single(&key_field, &key, tag(&key_field), true)?];
                let value = match self.has_mark(value) {
                    true => self.single(&value_field, value, tag(&value_field), true)?,
                    false => self.fixed_field(&entry, "value", value)?,
                };
                push(&mut inner, value);
                push(&mut parts, Part::Delimited { tag: tag(field), parts: inner });
            } else {
                let entry = Value::Object(Map::from_iter([(key.clone(), value.clone())]));
                let of = field.parent_message();
                push(&mut parts, self.fixed_field(of, field.json_name(), &entry)?);
            }
            self.path.pop();
        }
        Ok(parts)
    }

    /// One value, behind its tag.
    fn single(
        &mut self,
        field: &FieldDescriptor,
        json: &Value,
        tag: Vec<u8>,
        keeps_default: bool,
    ) -> Result<Part, BodyError> {
        let kind = field.kind();
        if field.is_group() {
            return self.fail("a template cannot be in a group".to_owned());
        }
        if let Kind::Message(of) = &kind {
            return Ok(Part::Delimited { tag, parts: self.message(of, json)? }.settled());
        }
        let Value::String(text) = json else {
            return self.fail("the field takes one value".to_owned());
        };
        let value = self.template(text);
        let place = Place { tag, value, keeps_default };
        if kind == Kind::String {
            return Ok(Part::Text(place).settled());
        }
        let Some(scalar) = Scalar::of(&kind) else {
            return self.fail("a template cannot fill a field of bytes".to_owned());
        };
        self.check(&kind, &scalar, text, &place.value)?;
        Ok(Part::Scalar(place, scalar).settled())
    }

    /// The templates of a string with the text between them.
    fn template(&self, text: &str) -> Template {
        let mut template = Template::default();
        for stretch in self.marked.stretches(text) {
            match stretch {
                Stretch::Text(text) => template.push_bytes(text.as_bytes()),
                Stretch::Template { number, .. } => {
                    template.append(self.templates[number].clone());
                }
            }
        }
        template
    }

    /// Refuses what could be no value of the field for some request.
    fn check(
        &self,
        kind: &Kind,
        scalar: &Scalar,
        text: &str,
        template: &Template,
    ) -> Result<(), BodyError> {
        let exact = |text: &[u8]| is_exact(kind, scalar, text);
        let refuse = |text: &str| self.fail(format!("'{text}' is not a value of type {kind:?}"));
        let stretches: Vec<Stretch<'_>> = self.marked.stretches(text).collect();
        let piece = match stretches.as_slice() {
            [] => return refuse(""),
            [Stretch::Text(text)] if exact(text.as_bytes()) => return Ok(()),
            [Stretch::Template { text, .. }] => parse(text)?.pop(),
            _ => None,
        };
        match piece {
            Some(Piece::Seq) if scalar.takes_any_number() => Ok(()),
            Some(Piece::Random { from, to }) => {
                let ends = [from.to_string(), to.to_string()];
                let wrong = ends.iter().find(|it| !exact(it.as_bytes()));
                // The numbers between two numbers of an enum need not be its own, but any is sent.
                wrong.map_or(Ok(()), |it| refuse(it))
            }
            Some(Piece::Csv { table, column, .. }) => {
                let mut values = template.columns().flat_map(|it| it.values());
                match values.find(|it| !exact(it)) {
                    None => Ok(()),
                    Some(value) => {
                        let value = String::from_utf8_lossy(value);
                        let where_it_is = format!("in column '{column}' of {table}");
                        self.fail(format!(
                            "'{value}' {where_it_is} is not a value of type {kind:?}"
                        ))
                    }
                }
            }
            Some(_) => refuse(&self.marked.shown(text)),
            None => {
                let shown = self.marked.shown(text);
                self.fail(format!(
                    "'{shown}' is not a value of type {kind:?}: write one template, and nothing \
                        beside it"
                ))
            }
        }
    }

    fn has_mark(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.marked.is_in(text),
            Value::Array(items) => items.iter().any(|it| self.has_mark(it)),
            Value::Object(object) => {
                object.iter().any(|(key, value)| self.marked.is_in(key) || self.has_mark(value))
            }
            _ => false,
        }
    }

    fn fail<T>(&self, reason: String) -> Result<T, BodyError> {
        let path = self.path.iter().map(|it| self.marked.shown(it)).collect::<Vec<_>>().join(".");
        Err(BodyError::Field { path, reason })
    }
}

fn joined(parts: impl Iterator<Item = Part>) -> Vec<Part> {
    let mut all = Vec::new();
    parts.for_each(|part| push(&mut all, part));
    all
}

fn tag(field: &FieldDescriptor) -> Vec<u8> {
    let written_as = match field.kind() {
        Kind::Fixed64 | Kind::Sfixed64 | Kind::Double => kind::FIXED64,
        Kind::Fixed32 | Kind::Sfixed32 | Kind::Float => kind::FIXED32,
        Kind::String | Kind::Bytes | Kind::Message(_) => kind::DELIMITED,
        _ => kind::VARINT,
    };
    let mut tag = Vec::new();
    write_tag(&mut tag, field.number(), written_as);
    tag
}

/// A message that is one value, and is written as that in JSON.
fn is_wrapper(of: &MessageDescriptor) -> bool {
    let name = of.full_name().strip_prefix("google.protobuf.");
    name.and_then(|name| name.strip_suffix("Value"))
        .is_some_and(|name| !matches!(name, "" | "List" | "Null"))
}

/// Whether null is a value of a field, and not its absence.
fn takes_null(field: &FieldDescriptor) -> bool {
    let is_one = !field.is_list() && !field.is_map();
    is_one
        && match field.kind() {
            Kind::Message(of) => of.full_name() == "google.protobuf.Value",
            Kind::Enum(of) => of.full_name() == "google.protobuf.NullValue",
            _ => false,
        }
}

/// A message whose JSON is not an object of its fields.
fn has_own_json(of: &MessageDescriptor) -> bool {
    let name = of.full_name().strip_prefix("google.protobuf.");
    name.is_some_and(|name| {
        ["Any", "Duration", "FieldMask", "ListValue", "Struct", "Timestamp", "Value"]
            .contains(&name)
    })
}

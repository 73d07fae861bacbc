//! Messages as JSON with the fields that are not set: the form in which k6 shows them to scripts
//! (ProtoJSON with "emit unpopulated").
//!
//! The library that makes all other JSON leaves out messages that are not there, where this form
//! has `null`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use prost_reflect::prost::Message as _;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor,
    ReflectMessage as _, SerializeOptions, Syntax, Value,
};
use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::wire::{Fields, Malformed};

const ANY: &str = "google.protobuf.Any";

/// Types with a JSON of their own, which the library knows.
const WELL_KNOWN: [&str; 15] = [
    "google.protobuf.Timestamp",
    "google.protobuf.Struct",
    "google.protobuf.Value",
    "google.protobuf.ListValue",
    "google.protobuf.FieldMask",
    "google.protobuf.DoubleValue",
    "google.protobuf.FloatValue",
    "google.protobuf.Int64Value",
    "google.protobuf.UInt64Value",
    "google.protobuf.Int32Value",
    "google.protobuf.UInt32Value",
    "google.protobuf.BoolValue",
    "google.protobuf.StringValue",
    "google.protobuf.BytesValue",
    "google.protobuf.Empty",
];

const DURATION: &str = "google.protobuf.Duration";

/// What `grpc-status-details-bin` says: a `google.rpc.Status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusDetails {
    /// The code.
    pub code: u32,
    /// The text.
    pub message: String,
    /// The details, each as JSON.
    pub details: Vec<String>,
}

/// A message as JSON.
pub(crate) fn json(descriptor: MessageDescriptor, message: &[u8]) -> Result<String, Malformed> {
    let message = DynamicMessage::decode(descriptor, message).map_err(|_| Malformed)?;
    serde_json::to_string(&Whole(&message)).map_err(|_| Malformed)
}

/// Reads a `google.rpc.Status`, whose details are messages of `pool`; `None` if it is not one.
pub(crate) fn status_details(pool: &DescriptorPool, value: &[u8]) -> Option<StatusDetails> {
    let mut read = StatusDetails { code: 0, message: String::new(), details: Vec::new() };
    for field in Fields::of(value) {
        match field.ok()? {
            (1, value) => read.code = u32::try_from(value.number().ok()?).ok()?,
            (2, value) => read.message = value.text().ok()?.to_owned(),
            (3, value) => {
                let any = Any::read(pool, value.bytes().ok()?).ok()?;
                read.details.push(serde_json::to_string(&any).ok()?);
            }
            _ => {}
        }
    }
    Some(read)
}

/// A message of any type.
struct Any<'p> {
    pool: &'p DescriptorPool,
    url: String,
    value: Vec<u8>,
}

impl<'p> Any<'p> {
    fn read(pool: &'p DescriptorPool, bytes: &[u8]) -> Result<Self, Malformed> {
        let mut any = Self { pool, url: String::new(), value: Vec::new() };
        for field in Fields::of(bytes) {
            match field? {
                (1, value) => any.url = value.text()?.to_owned(),
                (2, value) => any.value = value.bytes()?.to_vec(),
                _ => {}
            }
        }
        Ok(any)
    }
}

impl Serialize for Any<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if self.url.is_empty() {
            return map.end();
        }
        map.serialize_entry("@type", &self.url)?;
        let name = self.url.rsplit('/').next().unwrap_or_default();
        match self.pool.get_message_by_name(name) {
            Some(descriptor) => {
                let message = DynamicMessage::decode(descriptor, self.value.as_slice());
                let message = message.map_err(S::Error::custom)?;
                if name == ANY || name == DURATION || WELL_KNOWN.contains(&name) {
                    map.serialize_entry("value", &Whole(&message))?;
                } else {
                    fields(&mut map, &message)?;
                }
            }
            // A message of an unknown type is shown as its bytes.
            None => map.serialize_entry("value", &BASE64_STANDARD.encode(&self.value))?,
        }
        map.end()
    }
}

struct Whole<'m>(&'m DynamicMessage);

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let descriptor = self.0.descriptor();
        match descriptor.full_name() {
            ANY => {
                let any = Any::read(descriptor.parent_pool(), &self.0.encode_to_vec());
                any.map_err(S::Error::custom)?.serialize(serializer)
            }
            DURATION => serializer.serialize_str(&duration(self.0)),
            name if WELL_KNOWN.contains(&name) => {
                self.0.serialize_with_options(serializer, &SerializeOptions::new())
            }
            _ => {
                let mut map = serializer.serialize_map(None)?;
                fields(&mut map, self.0)?;
                map.end()
            }
        }
    }
}

fn fields<M: SerializeMap>(map: &mut M, message: &DynamicMessage) -> Result<(), M::Error> {
    for field in message.descriptor().fields() {
        if message.has_field(&field) || !field.supports_presence() {
            let value = message.get_field(&field);
            map.serialize_entry(field.json_name(), &Of { value: &value, kind: &field.kind() })?;
        } else if shows_nothing(&field) {
            map.serialize_entry(field.json_name(), &())?;
        }
    }
    Ok(())
}

/// Whether `null` stands for a field that is not set.
fn shows_nothing(field: &FieldDescriptor) -> bool {
    let is_message = matches!(field.kind(), Kind::Message(_));
    let is_proto2 = field.parent_file().syntax() == Syntax::Proto2;
    field.containing_oneof().is_none() && (is_message || is_proto2)
}

/// As Go writes it: no fraction, or one of 3, 6 or 9 digits.
fn duration(message: &DynamicMessage) -> String {
    let number = |field: u32| match message.get_field_by_number(field).as_deref() {
        Some(Value::I64(number)) => *number,
        Some(Value::I32(number)) => i64::from(*number),
        _ => 0,
    };
    let (seconds, nanos) = (number(1), number(2));
    let sign = if seconds < 0 || nanos < 0 { "-" } else { "" };
    let fraction = format!("{:09}", nanos.unsigned_abs());
    let fraction = match fraction.as_str() {
        "000000000" => String::new(),
        text if text.ends_with("000000") => format!(".{}", &text[..3]),
        text if text.ends_with("000") => format!(".{}", &text[..6]),
        text => format!(".{text}"),
    };
    format!("{sign}{}{fraction}s", seconds.unsigned_abs())
}

/// A value of a field of this kind.
struct Of<'v> {
    value: &'v Value,
    kind: &'v Kind,
}

impl Serialize for Of<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::I32(value) => serializer.serialize_i32(*value),
            Value::U32(value) => serializer.serialize_u32(*value),
            Value::I64(value) => serializer.collect_str(value),
            Value::U64(value) => serializer.collect_str(value),
            Value::F32(value) if value.is_finite() => serializer.serialize_f32(*value),
            Value::F64(value) if value.is_finite() => serializer.serialize_f64(*value),
            Value::F32(value) => serializer.serialize_str(infinite(f64::from(*value))),
            Value::F64(value) => serializer.serialize_str(infinite(*value)),
            Value::String(value) => serializer.serialize_str(value),
            Value::Bytes(value) => serializer.serialize_str(&BASE64_STANDARD.encode(value)),
            Value::EnumNumber(number) => self.enumerated(*number, serializer),
            Value::Message(message) => Whole(message).serialize(serializer),
            Value::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    list.serialize_element(&Of { value, kind: self.kind })?;
                }
                list.end()
            }
            Value::Map(values) => {
                let kind = self.kind.as_message().map(|it| it.map_entry_value_field().kind());
                let kind = kind.as_ref().unwrap_or(self.kind);
                let mut entries: Vec<(&MapKey, &Value)> = values.iter().collect();
                entries.sort_by_key(|(name, _)| *name);
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(&key_text(key), &Of { value, kind })?;
                }
                map.end()
            }
        }
    }
}

impl Of<'_> {
    /// By its name, or as a number that has none.
    fn enumerated<S: Serializer>(&self, number: i32, serializer: S) -> Result<S::Ok, S::Error> {
        let descriptor = self.kind.as_enum();
        if descriptor.is_some_and(|it| it.full_name() == "google.protobuf.NullValue") {
            return serializer.serialize_unit();
        }
        match descriptor.and_then(|it| it.get_value(number)) {
            Some(value) => serializer.serialize_str(value.name()),
            None => serializer.serialize_i32(number),
        }
    }
}

fn infinite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

fn key_text(key: &MapKey) -> String {
    match key {
        MapKey::Bool(key) => key.to_string(),
        MapKey::I32(key) => key.to_string(),
        MapKey::I64(key) => key.to_string(),
        MapKey::U32(key) => key.to_string(),
        MapKey::U64(key) => key.to_string(),
        MapKey::String(key) => key.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::schema::Schema;

    const SOURCE: &str = "syntax = \"proto3\"; package p;
        import \"google/protobuf/any.proto\"; import \"google/protobuf/duration.proto\";
        import \"google/protobuf/timestamp.proto\"; import \"google/protobuf/wrappers.proto\";
        import \"google/protobuf/struct.proto\";
        enum Color { RED = 0; BLUE = 2; }
        message Inner { string name = 1; Inner next = 2; }
        message All {
          double d = 1; float f = 2; int32 i32 = 3; int64 i64 = 4; uint64 u64 = 5; bool flag = 6;
          string text = 7; bytes raw = 8; Color color = 9; Inner inner = 10;
          repeated int32 numbers = 11; map<string, Inner> by_name = 12;
          oneof pick { string a_text = 13; int32 b_num = 14; } optional int32 maybe = 15;
          google.protobuf.Timestamp at = 16; google.protobuf.Duration took = 17;
          google.protobuf.Int64Value wrapped = 18; google.protobuf.Any any = 19;
          google.protobuf.Value val = 20;
        }
        service S { rpc Echo(All) returns (All); }";

    fn echo(message: &Json) -> Json {
        let read = |name: &str| Ok((name == "a.proto").then(|| SOURCE.to_owned()));
        let schema = Schema::compile(&["a.proto".to_owned()], read).expect("compiles");
        let method = schema.method("p.S/Echo").expect("there");
        let bytes = method.encode(&message.to_string()).expect("fits");
        serde_json::from_str(&method.whole_json(&bytes).expect("a message")).expect("JSON")
    }

    fn empty() -> Json {
        json!({
            "d": 0.0, "f": 0.0, "i32": 0, "i64": "0", "u64": "0", "flag": false, "text": "",
            "raw": "", "color": "RED", "inner": null, "numbers": [], "byName": {}, "at": null,
            "took": null, "wrapped": null, "any": null, "val": null
        })
    }

    /// What k6 1.8.1 makes of the same messages.
    #[test]
    fn fields_that_are_not_set_are_shown() {
        for (fields, shown) in [
            (json!({}), json!({})),
            (json!({"maybe": 0, "bNum": 0}), json!({"maybe": 0, "bNum": 0})),
            (json!({"inner": {}}), json!({"inner": {"name": "", "next": null}})),
            (
                json!({"by_name": {"b": {}, "a": {"name": "x"}}}),
                json!({"byName": {"a": {"name": "x", "next": null}, "b": {"name": "", "next": null}}}),
            ),
            (
                json!({"i64": "9007199254740993", "u64": 7}),
                json!({"i64": "9007199254740993", "u64": "7"}),
            ),
            (json!({"d": "NaN", "f": "-Infinity"}), json!({"d": "NaN", "f": "-Infinity"})),
            (json!({"raw": "_-8="}), json!({"raw": "/+8="})),
            (json!({"color": 77}), json!({"color": 77})),
            (json!({"color": "BLUE"}), json!({"color": "BLUE"})),
            (json!({"at": "2020-01-02T03:04:05.678Z"}), json!({"at": "2020-01-02T03:04:05.678Z"})),
            (json!({"took": "1.5s"}), json!({"took": "1.500s"})),
            (json!({"took": "-0.000000001s"}), json!({"took": "-0.000000001s"})),
            (json!({"wrapped": 0}), json!({"wrapped": "0"})),
            (
                json!({"any": {"@type": "type.googleapis.com/p.Inner", "name": "in"}}),
                json!({"any": {"@type": "type.googleapis.com/p.Inner", "name": "in", "next": null}}),
            ),
            (json!({"val": [1.0, null]}), json!({"val": [1.0, null]})),
        ] {
            let mut want = empty();
            for (name, value) in shown.as_object().expect("an object") {
                want[name] = value.clone();
            }
            assert_eq!(echo(&fields), want, "{fields}");
        }
    }

    #[test]
    fn details_of_a_status_are_messages_of_the_schema() {
        let read = |name: &str| Ok((name == "a.proto").then(|| SOURCE.to_owned()));
        let schema = Schema::compile(&["a.proto".to_owned()], read).expect("compiles");
        let any = b"\x0a\x09x/p.Inner\x12\x03\x0a\x01n";
        let other = b"\x0a\x09x/p.Other\x12\x01z";
        let mut status = b"\x08\x05\x12\x03det".to_vec();
        for any in [&any[..], other] {
            status.extend_from_slice(&[0x1a, any.len() as u8]);
            status.extend_from_slice(any);
        }
        let want = StatusDetails {
            code: 5,
            message: "det".to_owned(),
            details: vec![
                r#"{"@type":"x/p.Inner","name":"n","next":null}"#.to_owned(),
                r#"{"@type":"x/p.Other","value":"eg=="}"#.to_owned(),
            ],
        };
        assert_eq!(status_details(schema.pool(), &status), Some(want));
        for end in 0..status.len() {
            // Each prefix is a shorter status, or none.
            let _ = status_details(schema.pool(), &status[..end]);
        }
        assert_eq!(status_details(schema.pool(), b"\xff"), None);
    }
}

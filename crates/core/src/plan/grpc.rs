//! What a run calls with gRPC.

use std::fmt;
use std::str::FromStr;

use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How the messages of a call go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// One there, and one back.
    Unary,
    /// One there, and any number back.
    Server,
    /// Any number there, and one back when all are there.
    Client,
    /// Any number there, without waiting for those that come back.
    Bidi,
    /// Any number there, each when the one before is answered.
    #[serde(rename = "pingpong")]
    PingPong,
}

impl CallKind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Unary, Self::Server, Self::Client, Self::Bidi, Self::PingPong];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unary => "unary",
            Self::Server => "server",
            Self::Client => "client",
            Self::Bidi => "bidi",
            Self::PingPong => "pingpong",
        }
    }

    /// Whether the client sends any number of messages.
    #[must_use]
    pub fn sends_many(self) -> bool {
        matches!(self, Self::Client | Self::Bidi | Self::PingPong)
    }
}

impl fmt::Display for CallKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for CallKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == text);
        let names = Self::ALL.map(Self::name).join(", ");
        known.ok_or_else(|| format!("'{text}' is not one of {names}"))
    }
}

/// A method to call, and its schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrpcPlan {
    /// Its name, `package.Service/Method`.
    pub method: String,
    /// The `.proto` files that the schema was compiled from, as they were named; none: the server
    /// is asked for it by reflection before the run.
    #[serde(default)]
    pub files: Vec<String>,
    /// The schema, a serialized `FileDescriptorSet`; empty as long as it is not known. Not kept in
    /// results.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "in_base64")]
    pub descriptors: Vec<u8>,
    /// How the messages of a call go; none: as the schema says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<CallKind>,
    /// How many messages a call sends, where it may send any number; none: those of the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u32>,
}

impl GrpcPlan {
    /// A call of a method whose schema the server knows.
    #[must_use]
    pub fn new(method: String) -> Self {
        Self { method, files: Vec::new(), descriptors: Vec::new(), stream: None, messages: None }
    }

    /// The path of its calls.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/{}", self.method)
    }

    /// Whether the server has yet to be asked for the schema.
    #[must_use]
    pub fn asks_server(&self) -> bool {
        self.files.is_empty() && self.descriptors.is_empty()
    }
}

/// Bytes as text.
mod in_base64 {
    use base64::Engine as _;

    use super::{BASE64, Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&BASE64.encode(bytes))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        BASE64.decode(text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_travels_as_text() {
        let plan = GrpcPlan {
            files: vec!["a.proto".to_owned()],
            descriptors: vec![0, 255, 7],
            ..GrpcPlan::new("p.S/M".to_owned())
        };
        let text = serde_json::to_string(&plan).expect("plain data");
        assert_eq!(text, r#"{"method":"p.S/M","files":["a.proto"],"descriptors":"AP8H"}"#);
        assert_eq!(serde_json::from_str::<GrpcPlan>(&text).expect("its own"), plan);
        assert!(serde_json::from_str::<GrpcPlan>(r#"{"method":"a","descriptors":"?"}"#).is_err());
        assert_eq!((plan.path().as_str(), plan.asks_server()), ("/p.S/M", false));
        let streamed =
            GrpcPlan { stream: Some(CallKind::PingPong), messages: Some(3), ..plan.clone() };
        let text = serde_json::to_string(&streamed).expect("plain data");
        assert!(text.ends_with(r#""stream":"pingpong","messages":3}"#), "{text}");
        assert_eq!(serde_json::from_str::<GrpcPlan>(&text).expect("its own"), streamed);
    }

    #[test]
    fn kinds_are_read_as_they_are_written() {
        for kind in CallKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let error = "ping".parse::<CallKind>().expect_err("is not a kind");
        assert_eq!(error, "'ping' is not one of unary, server, client, bidi, pingpong");
    }
}

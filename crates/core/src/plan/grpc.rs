//! What a run calls with gRPC.

use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
}

impl GrpcPlan {
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
            method: "p.S/M".to_owned(),
            files: vec!["a.proto".to_owned()],
            descriptors: vec![0, 255, 7],
        };
        let text = serde_json::to_string(&plan).expect("plain data");
        assert_eq!(text, r#"{"method":"p.S/M","files":["a.proto"],"descriptors":"AP8H"}"#);
        assert_eq!(serde_json::from_str::<GrpcPlan>(&text).expect("its own"), plan);
        assert!(serde_json::from_str::<GrpcPlan>(r#"{"method":"a","descriptors":"?"}"#).is_err());
        assert_eq!((plan.path().as_str(), plan.asks_server()), ("/p.S/M", false));
    }
}

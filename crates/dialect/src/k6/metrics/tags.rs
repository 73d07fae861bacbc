//! Tags of samples: those that k6 sets itself, and sets of names and values.

use std::sync::Arc;

use serde_json::Value;

use crate::k6::options::OptionValue;

/// The longest name or value of a tag, in bytes. Longer ones are cut off there.
pub const TAG_BYTES_MAX: usize = 4096;

/// Tags that k6 sets itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum SystemTag {
    /// Name of the check.
    Check,
    /// Text of the error.
    Error,
    /// Number of the error.
    ErrorCode,
    /// Whether the response was as expected.
    ExpectedResponse,
    /// Path of the group.
    Group,
    /// Method of the request.
    Method,
    /// Name of the request, or its URL.
    Name,
    /// Protocol, such as `HTTP/1.1`.
    Proto,
    /// Name of the scenario.
    Scenario,
    /// Service of a gRPC call.
    Service,
    /// Status of the response.
    Status,
    /// Subprotocol of a WebSocket.
    Subproto,
    /// Version of TLS.
    TlsVersion,
    /// URL of the request.
    Url,
    /// Number of the iteration; goes to metadata, not to tags.
    Iter,
    /// Number of the VU; goes to metadata, not to tags.
    Vu,
    /// State of the certificate by OCSP.
    OcspStatus,
    /// Address of the server.
    Ip,
}

use SystemTag as T;

/// By name, in the order in which outputs list them.
const NAMES: [(&str, SystemTag); 18] = [
    ("check", T::Check),
    ("error", T::Error),
    ("error_code", T::ErrorCode),
    ("expected_response", T::ExpectedResponse),
    ("group", T::Group),
    ("ip", T::Ip),
    ("iter", T::Iter),
    ("method", T::Method),
    ("name", T::Name),
    ("ocsp_status", T::OcspStatus),
    ("proto", T::Proto),
    ("scenario", T::Scenario),
    ("service", T::Service),
    ("status", T::Status),
    ("subproto", T::Subproto),
    ("tls_version", T::TlsVersion),
    ("url", T::Url),
    ("vu", T::Vu),
];

impl SystemTag {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, tag)| *tag == self).map_or("", |(name, _)| name)
    }

    /// Whether it goes to metadata, because it has too many values to sort samples by.
    #[must_use]
    pub fn is_metadata(self) -> bool {
        matches!(self, Self::Iter | Self::Vu)
    }
}

/// Which system tags are set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemTags {
    bits: u32,
    /// Names that are not those of system tags; they are ignored.
    pub unknown: Vec<String>,
}

impl Default for SystemTags {
    /// All but `iter`, `vu`, `ocsp_status` and `ip`.
    fn default() -> Self {
        let is_default = |tag: SystemTag| tag < T::Iter;
        Self {
            bits: bits(NAMES.iter().map(|(_, tag)| *tag).filter(|tag| is_default(*tag))),
            unknown: Vec::new(),
        }
    }
}

fn bits(tags: impl Iterator<Item = SystemTag>) -> u32 {
    tags.fold(0, |bits, tag| bits | 1 << tag as u8)
}

impl SystemTags {
    /// Those with these names.
    #[must_use]
    pub fn of(names: &[String]) -> Self {
        let find = |name: &String| NAMES.iter().find(|(known, _)| known == name);
        let known = names.iter().filter_map(|name| find(name).map(|(_, tag)| *tag));
        let unknown = names.iter().filter(|name| !name.is_empty() && find(name).is_none());
        Self { bits: bits(known), unknown: unknown.cloned().collect() }
    }

    /// Whether a tag is set.
    #[must_use]
    pub fn has(&self, tag: SystemTag) -> bool {
        self.bits & 1 << tag as u8 != 0
    }

    /// Those that are set, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = SystemTag> + '_ {
        NAMES.iter().map(|(_, tag)| *tag).filter(|tag| self.has(*tag))
    }
}

impl OptionValue for SystemTags {
    fn from_json(value: &Value) -> Result<Self, String> {
        Ok(Self::of(&Vec::<String>::from_json(value)?))
    }

    fn from_text(text: &str) -> Result<Self, String> {
        Ok(Self::of(&Vec::<String>::from_text(text)?))
    }

    fn to_json(&self) -> Value {
        self.iter().map(SystemTag::name).collect()
    }
}

/// Names and values, sorted by name, each name once. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TagSet(Arc<[(Box<str>, Box<str>)]>);

impl TagSet {
    /// The tags of a list, of which a later one replaces an earlier one with the same name: those
    /// of the run, of the scenario, of the VU, of the call.
    #[must_use]
    pub fn of<'a>(tags: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut all: Vec<(&str, &str)> = Vec::new();
        for (name, value) in tags {
            let (name, value) = (cut(name), cut(value));
            match all.binary_search_by_key(&name, |(known, _)| *known) {
                Ok(at) => all[at].1 = value,
                Err(at) => all.insert(at, (name, value)),
            }
        }
        Self(all.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// Whether another is a clone of this one. Sets that are not may still have the same tags.
    pub(in crate::k6) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The value of a tag.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        Some(&self.0[at].1)
    }

    /// Whether all tags of another set are among these.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        other.iter().all(|(name, value)| self.get(name) == Some(value))
    }

    /// Names and values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(TAG_BYTES_MAX)]
}

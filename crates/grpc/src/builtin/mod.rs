//! The services of the built-in server: health, fortio's ping, reflection, and those of gRPC's own
//! tests ([`testing`]). Their schema, for the reflection service, and their messages, read and
//! written in place: the server answers without allocating.
//!
//! Absent on purpose: what the services do. The server does it.

pub mod testing;

use crate::schema::{Schema, SchemaError};
use crate::wire::{Fields, Malformed, write_number, write_text};

/// The method of the health service that answers once.
pub const HEALTH_CHECK: &str = "/grpc.health.v1.Health/Check";
/// The method of the health service that goes on.
pub const HEALTH_WATCH: &str = "/grpc.health.v1.Health/Watch";
/// The method of fortio's ping service.
pub const PING: &str = "/fgrpc.PingServer/Ping";

/// The services, by the names under which clients ask for their health.
pub const SERVICES: [&str; 5] = [
    "grpc.health.v1.Health",
    "fgrpc.PingServer",
    "grpc.testing.TestService",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
];

/// Each file by the name that reflection gives it.
const FILES: [(&str, &str); 4] = [
    ("grpc/health/v1/health.proto", include_str!("../../proto/health.proto")),
    ("ping.proto", include_str!("../../proto/ping.proto")),
    ("grpc/testing/test.proto", include_str!("../../proto/testing.proto")),
    (REFLECTION_FILE, include_str!("../../proto/reflection.proto")),
];

const REFLECTION_FILE: &str = "grpc/reflection/v1/reflection.proto";
/// Both versions of reflection have the same messages.
const ALPHA_FILE: &str = "grpc/reflection/v1alpha/reflection.proto";

/// The schema of all of these services.
///
/// # Errors
/// Never, unless the sources in this crate are broken.
pub fn schema() -> Result<Schema, SchemaError> {
    let names: Vec<String> =
        FILES.iter().map(|(name, _)| *name).chain([ALPHA_FILE]).map(str::to_owned).collect();
    Schema::compile(&names, |name| {
        let known = if name == ALPHA_FILE { REFLECTION_FILE } else { name };
        let source = FILES.iter().find(|(file, _)| *file == known).map(|(_, source)| *source);
        Ok(source.map(|source| match name {
            ALPHA_FILE => source.replace("grpc.reflection.v1;", "grpc.reflection.v1alpha;"),
            _ => source.to_owned(),
        }))
    })
}

/// Whether a service can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serving {
    /// It can.
    Serving = 1,
    /// It can't.
    NotServing = 2,
    /// There is no such service. Only Watch says so; Check ends with NOT_FOUND.
    ServiceUnknown = 3,
}

/// The name of the service that a health request asks about; empty: the server as a whole.
///
/// # Errors
/// When the bytes are not such a request.
pub fn read_health_request(message: &[u8]) -> Result<&str, Malformed> {
    let mut service = "";
    for field in Fields::of(message) {
        if let (1, value) = field? {
            service = value.text()?;
        }
    }
    Ok(service)
}

/// Appends the response of the health service.
pub fn write_health_response(serving: Serving, out: &mut Vec<u8>) {
    write_number(out, 1, serving as u64);
}

/// Fortio's message, which is request and response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ping<'a> {
    /// The sender's number for it.
    pub seq: i64,
    /// When it was sent, by the sender's wall clock, ns since 1970.
    pub sent_at_ns: i64,
    /// Anything.
    pub payload: &'a str,
    /// How long the server is to hold its response back, ns.
    pub delay_ns: i64,
}

impl<'a> Ping<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// When the bytes are not such a message.
    pub fn read(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut ping = Self::default();
        for field in Fields::of(message) {
            match field? {
                (1, value) => ping.seq = value.number()? as i64,
                (2, value) => ping.sent_at_ns = value.number()? as i64,
                (3, value) => ping.payload = value.text()?,
                (4, value) => ping.delay_ns = value.number()? as i64,
                _ => {}
            }
        }
        Ok(ping)
    }

    /// Appends the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_number(out, 1, self.seq as u64);
        write_number(out, 2, self.sent_at_ns as u64);
        write_text(out, 3, self.payload);
        write_number(out, 4, self.delay_ns as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn the_sources_compile_and_have_these_methods() {
        let schema = schema().expect("compiles");
        let names: Vec<_> = schema.pool().services().map(|it| it.full_name().to_owned()).collect();
        assert_eq!(names, SERVICES);
        let reflection = |version: &str| {
            format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo")
        };
        for (path, kind) in [
            (HEALTH_CHECK.to_owned(), Kind::Unary),
            (HEALTH_WATCH.to_owned(), Kind::Server),
            (PING.to_owned(), Kind::Unary),
            (testing::EMPTY_CALL.to_owned(), Kind::Unary),
            (testing::UNARY_CALL.to_owned(), Kind::Unary),
            (testing::STREAMING_OUTPUT_CALL.to_owned(), Kind::Server),
            (testing::STREAMING_INPUT_CALL.to_owned(), Kind::Client),
            (testing::FULL_DUPLEX_CALL.to_owned(), Kind::Bidi),
            (reflection("v1"), Kind::Bidi),
            (reflection("v1alpha"), Kind::Bidi),
        ] {
            let method = schema.method(&path).expect("is there");
            assert_eq!((method.path(), method.kind()), (path, kind));
        }
    }

    #[test]
    fn messages_are_those_of_the_schema() {
        let schema = schema().expect("compiles");
        let method = schema.method(PING).expect("is there");
        let ping = Ping { seq: -1, sent_at_ns: i64::MAX, payload: "é", delay_ns: 7 };
        for (ping, json) in [
            (Ping::default(), "{}"),
            (ping, r#"{"seq":"-1","ts":"9223372036854775807","payload":"é","delayNanos":"7"}"#),
        ] {
            let mut bytes = Vec::new();
            ping.write(&mut bytes);
            assert_eq!(method.response_json(&bytes).expect("is one"), json);
            let request = method.request(json, None).expect("is one");
            assert_eq!(request.fixed(), Some(&bytes[..]), "{json}");
            assert_eq!(Ping::read(&bytes), Ok(ping));
        }
        let method = schema.method(HEALTH_CHECK).expect("is there");
        for (serving, name) in [
            (Serving::Serving, "SERVING"),
            (Serving::NotServing, "NOT_SERVING"),
            (Serving::ServiceUnknown, "SERVICE_UNKNOWN"),
        ] {
            let mut bytes = Vec::new();
            write_health_response(serving, &mut bytes);
            let json = method.response_json(&bytes).expect("is one");
            assert_eq!(json, format!(r#"{{"status":"{name}"}}"#));
        }
        for (json, service) in [("{}", ""), (r#"{"service":"a.B"}"#, "a.B")] {
            let request = method.request(json, None).expect("is one");
            let bytes = request.fixed().expect("has no templates");
            assert_eq!(read_health_request(bytes), Ok(service));
        }
    }

    #[test]
    fn fields_of_other_versions_are_read_over_and_wrong_ones_refused() {
        assert_eq!(Ping::read(b"\x78\x05\x08\x02"), Ok(Ping { seq: 2, ..Ping::default() }));
        for bytes in [&b"\x0a\x01x"[..], b"\x18\x01", b"\x1a\x01\xff", b"\x08"] {
            assert_eq!(Ping::read(bytes), Err(Malformed), "{}", bytes.escape_ascii());
        }
        assert_eq!(read_health_request(b"\x08\x01"), Err(Malformed));
    }
}

//! The messages of gRPC's interoperability tests (`grpc.testing`), read and written in place.
//!
//! A payload in a response is zeros. Only what stands before them is written here: a response may
//! be larger than anything that the server keeps.

use crate::wire::{
    Fields, Malformed, Value, kind, varint_bytes, write_number, write_tag, write_varint,
};

/// `rpc EmptyCall(Empty) returns (Empty)`.
pub const EMPTY_CALL: &str = "/grpc.testing.TestService/EmptyCall";
/// `rpc UnaryCall(SimpleRequest) returns (SimpleResponse)`.
pub const UNARY_CALL: &str = "/grpc.testing.TestService/UnaryCall";
/// One request, any number of responses.
pub const STREAMING_OUTPUT_CALL: &str = "/grpc.testing.TestService/StreamingOutputCall";
/// Any number of requests, one response.
pub const STREAMING_INPUT_CALL: &str = "/grpc.testing.TestService/StreamingInputCall";
/// Any number of both.
pub const FULL_DUPLEX_CALL: &str = "/grpc.testing.TestService/FullDuplexCall";

/// Metadata of a request that is to be in the head of the response.
pub const ECHO_INITIAL: &str = "x-grpc-test-echo-initial";
/// Metadata of a request that is to be in the trailers of the response.
pub const ECHO_TRAILING: &str = "x-grpc-test-echo-trailing-bin";

/// A status that the server is to end the call with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EchoStatus<'a> {
    /// The code; 0 asks for nothing.
    pub code: i32,
    /// The text.
    pub message: &'a str,
}

/// A request of `UnaryCall`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SimpleRequest<'a> {
    /// Which kind of payload the response is to have; 0 is the only one.
    pub response_type: i32,
    /// Bytes of the response's payload.
    pub response_size: i32,
    /// The status to end with instead.
    pub response_status: EchoStatus<'a>,
}

/// A request of `StreamingOutputCall` and `FullDuplexCall`, without its parameters, which
/// [`next_parameters`] reads one by one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutputRequest<'a> {
    /// Which kind of payload the responses are to have; 0 is the only one.
    pub response_type: i32,
    /// The status to end with after the responses.
    pub response_status: EchoStatus<'a>,
    /// Whether a parameter is negative.
    pub has_negative: bool,
}

/// What one response is to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Bytes of its payload.
    pub size: i32,
    /// How long to wait before it, µs.
    pub interval_us: i32,
}

impl<'a> EchoStatus<'a> {
    fn read(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut status = Self::default();
        for field in Fields::of(message) {
            match field? {
                (1, value) => status.code = value.number()? as i32,
                (2, value) => status.message = value.text()?,
                _ => {}
            }
        }
        Ok(status)
    }
}

impl<'a> SimpleRequest<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// When the bytes are not such a message.
    pub fn read(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut request = Self::default();
        for field in Fields::of(message) {
            match field? {
                (1, value) => request.response_type = value.number()? as i32,
                (2, value) => request.response_size = value.number()? as i32,
                (3, value) => payload_bytes(value).map(drop)?,
                (7, value) => request.response_status = EchoStatus::read(value.bytes()?)?,
                _ => {}
            }
        }
        Ok(request)
    }
}

impl<'a> OutputRequest<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// When the bytes are not such a message.
    pub fn read(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut request = Self::default();
        for field in Fields::of(message) {
            match field? {
                (1, value) => request.response_type = value.number()? as i32,
                (2, value) => {
                    let Parameters { size, interval_us } = Parameters::read(value.bytes()?)?;
                    request.has_negative |= size < 0 || interval_us < 0;
                }
                (3, value) => payload_bytes(value).map(drop)?,
                (7, value) => request.response_status = EchoStatus::read(value.bytes()?)?,
                _ => {}
            }
        }
        Ok(request)
    }
}

impl Parameters {
    fn read(message: &[u8]) -> Result<Self, Malformed> {
        let mut parameters = Self::default();
        for field in Fields::of(message) {
            match field? {
                (1, value) => parameters.size = value.number()? as i32,
                (2, value) => parameters.interval_us = value.number()? as i32,
                _ => {}
            }
        }
        Ok(parameters)
    }
}

/// The status that a request asks for, of either kind: both have it in the same field.
///
/// # Errors
/// When the bytes are not such a message.
pub fn read_response_status(message: &[u8]) -> Result<EchoStatus<'_>, Malformed> {
    let mut status = EchoStatus::default();
    for field in Fields::of(message) {
        if let (7, value) = field? {
            status = EchoStatus::read(value.bytes()?)?;
        }
    }
    Ok(status)
}

/// The next parameters in a request that [`OutputRequest::read`] has read, from byte `at` on, which
/// moves behind them. `None` behind the last.
pub fn next_parameters(message: &[u8], at: &mut usize) -> Option<Parameters> {
    let mut fields = Fields::of(&message[*at..]);
    let parameters = fields.by_ref().find_map(|field| match field {
        Ok((2, value)) => Parameters::read(value.bytes().ok()?).ok(),
        _ => None,
    });
    *at = message.len() - fields.left_bytes();
    parameters
}

/// Bytes of the payload in a request of `StreamingInputCall`.
///
/// # Errors
/// When the bytes are not such a message.
pub fn read_input_bytes(message: &[u8]) -> Result<u64, Malformed> {
    let mut bytes = 0;
    for field in Fields::of(message) {
        if let (1, value) = field? {
            bytes = payload_bytes(value)?;
        }
    }
    Ok(bytes)
}

/// Appends the response of `StreamingInputCall`. Its number has 31 bits; more payload than that
/// counts as as much.
pub fn write_input_response(payload_bytes: u64, out: &mut Vec<u8>) {
    write_number(out, 1, payload_bytes.min(i32::MAX as u64));
}

/// Appends what stands before the zeros of a response with a payload of this size.
pub fn write_payload_start(size: u32, out: &mut Vec<u8>) {
    let size = u64::from(size);
    let field_bytes = if size == 0 { 0 } else { 1 + varint_bytes(size) as u64 + size };
    write_tag(out, 1, kind::DELIMITED);
    write_varint(out, field_bytes);
    if size > 0 {
        write_tag(out, 2, kind::DELIMITED);
        write_varint(out, size);
    }
}

/// Bytes of a payload's body.
fn payload_bytes(payload: Value<'_>) -> Result<u64, Malformed> {
    let mut bytes = 0;
    for field in Fields::of(payload.bytes()?) {
        match field? {
            (1, value) => value.number().map(drop)?,
            (2, value) => bytes = value.bytes()?.len() as u64,
            _ => {}
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::schema;

    /// The message that this JSON is, for a method.
    fn message(path: &str, json: &str) -> Vec<u8> {
        let method = schema().expect("compiles").method(path).expect("is there");
        let message = method.request(json, None).expect(json);
        message.fixed().expect("has no templates").to_vec()
    }

    fn response(path: &str, message: &[u8]) -> String {
        let method = schema().expect("compiles").method(path).expect("is there");
        method.response_json(message).expect("is one")
    }

    #[test]
    fn requests_are_those_of_the_schema() {
        let json = r#"{"responseType": 1, "responseSize": 300, "payload": {"body": "AAAA"},
            "responseStatus": {"code": 2, "message": "é"}}"#;
        let simple = message(UNARY_CALL, json);
        let response_status = EchoStatus { code: 2, message: "é" };
        let want = SimpleRequest { response_type: 1, response_size: 300, response_status };
        assert_eq!(SimpleRequest::read(&simple), Ok(want));
        assert_eq!(read_response_status(&simple), Ok(response_status));
        assert_eq!(SimpleRequest::read(b""), Ok(SimpleRequest::default()));
        let input = message(STREAMING_INPUT_CALL, r#"{"payload": {"body": "AAAA"}}"#);
        assert_eq!((read_input_bytes(&input), read_input_bytes(b"")), (Ok(3), Ok(0)));
        let json = r#"{"responseParameters": [{"size": 31415}, {"intervalUs": 7}], "payload": {},
            "responseStatus": {"code": 5}}"#;
        let output = message(FULL_DUPLEX_CALL, json);
        let response_status = EchoStatus { code: 5, message: "" };
        let want = OutputRequest { response_status, ..OutputRequest::default() };
        assert_eq!(OutputRequest::read(&output), Ok(want));
        assert_eq!(read_response_status(&output), Ok(response_status));
        let mut at = 0;
        let read: Vec<_> = std::iter::from_fn(|| next_parameters(&output, &mut at)).collect();
        let first = Parameters { size: 31_415, interval_us: 0 };
        assert_eq!(read, [first, Parameters { size: 0, interval_us: 7 }]);
        assert_eq!((at, next_parameters(&output, &mut at)), (output.len(), None));
        for json in [
            r#"{"responseParameters": [{"size": -1}]}"#,
            r#"{"responseParameters": [{"intervalUs": -1}, {}]}"#,
        ] {
            let output = message(STREAMING_OUTPUT_CALL, json);
            assert!(OutputRequest::read(&output).expect("is one").has_negative, "{json}");
        }
    }

    #[test]
    fn responses_are_those_of_the_schema() {
        for size in [0, 1, 125, 126, 127, 128, 16_380, 16_384, 70_000] {
            let mut bytes = Vec::new();
            write_payload_start(size, &mut bytes);
            bytes.resize(bytes.len() + size as usize, 0);
            // In base64, three zeros are four letters.
            let body = response(UNARY_CALL, &bytes).matches('A').count();
            assert_eq!(body, (size as usize * 4).div_ceil(3), "{size}");
            assert_eq!(read_input_bytes(&bytes), Ok(u64::from(size)));
        }
        for (bytes, want) in [(0, "{}"), (7, r#"{"aggregatedPayloadSize":7}"#)] {
            let mut message = Vec::new();
            write_input_response(bytes, &mut message);
            assert_eq!(response(STREAMING_INPUT_CALL, &message), want);
        }
        let mut most = Vec::new();
        write_input_response(u64::MAX, &mut most);
        assert!(response(STREAMING_INPUT_CALL, &most).contains("2147483647"));
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for bytes in [&b"\x10"[..], b"\x0a\x00", b"\x1a\x02\x12\x05", b"\x3a\x02\x12\x05"] {
            assert_eq!(SimpleRequest::read(bytes), Err(Malformed), "{}", bytes.escape_ascii());
        }
        for bytes in [&b"\x12\x02\x08"[..], b"\x10\x01", b"\x1a\x01\x08", b"\x3a\x02\x10\x01"] {
            assert_eq!(OutputRequest::read(bytes), Err(Malformed), "{}", bytes.escape_ascii());
        }
        for bytes in [&b"\x08\x01"[..], b"\x0a\x02\x12\x01"] {
            assert_eq!(read_input_bytes(bytes), Err(Malformed), "{}", bytes.escape_ascii());
        }
    }
}

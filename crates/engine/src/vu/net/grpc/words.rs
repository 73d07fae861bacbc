//! What goes wrong with connections and calls, in the words of k6's library for gRPC.

use plimsoll_conn::grpc::{CallMessageError, CallStatus};
use plimsoll_io::Address;

use super::Owned;

/// Codes of gRPC that the client gives by itself.
pub(super) mod code {
    pub(in super::super) const CANCELLED: u32 = 1;
    pub(in super::super) const UNKNOWN: u32 = 2;
    pub(in super::super) const DEADLINE_EXCEEDED: u32 = 4;
    pub(in super::super) const PERMISSION_DENIED: u32 = 7;
    pub(in super::super) const RESOURCE_EXHAUSTED: u32 = 8;
    pub(in super::super) const INTERNAL: u32 = 13;
    pub(in super::super) const UNAVAILABLE: u32 = 14;
}

pub(super) const DEADLINE: &str = "context deadline exceeded";
pub(super) const CLOSING: &str = "grpc: the client connection is closing";
pub(super) const DRAINING: &str = "the connection is draining";
pub(super) const NO_MESSAGE: &str =
    "cardinality violation: received no response message from non-server-streaming RPC";
pub(super) const EXTRA_MESSAGE: &str = "cardinality violation: expected <EOF> for non \
                                        server-streaming RPCs, but received another message";

/// Why no connection could be opened.
pub(super) fn unconnected(fault: &Owned, host: &str, to: Option<&Address>) -> String {
    let dialled = |why: &str| match to {
        Some(Address::Tcp(address)) => format!("dial tcp {address}: {why}"),
        _ => why.to_owned(),
    };
    let why = match fault {
        Owned::Refused => dialled("connect: connection refused"),
        Owned::ConnectTimedOut => dialled("i/o timeout"),
        Owned::NoSuchHost => format!("lookup {host}: no such host"),
        fault => fault.as_fault().to_string(),
    };
    let (what, why) = match fault {
        Owned::NotTls => (
            "transport: authentication handshake failed: ",
            "tls: not TLS".to_owned() + &format!(" ({why})"),
        ),
        Owned::UnknownAuthority | Owned::WrongName | Owned::Tls(_) => {
            ("transport: authentication handshake failed: ", why)
        }
        Owned::Closed
        | Owned::ClosedWithin
        | Owned::Reset(_)
        | Owned::BrokenPipe(_)
        | Owned::GoAway(_)
        | Owned::Http2Connection(_)
        | Owned::Other(_) => ("error reading server preface: ", why),
        _ => ("transport: error while dialing: ", why),
    };
    format!("connection error: desc = {:?}", format!("{what}{why}"))
}

/// Why a connection was lost.
pub(super) fn lost(fault: &Owned) -> String {
    match fault {
        Owned::Closed | Owned::ClosedWithin => "error reading from server: EOF".to_owned(),
        Owned::GoAway(_) => DRAINING.to_owned(),
        fault => format!("error reading from server: {}", fault.as_fault()),
    }
}

/// The code and the text of a stream that the server has reset, by the kind of that.
pub(super) fn reset(kind: &str) -> (u32, String) {
    let name = kind.strip_prefix("reset:").unwrap_or(kind);
    let code = match name {
        "CANCEL" => code::CANCELLED,
        "REFUSED_STREAM" => code::UNAVAILABLE,
        "FLOW_CONTROL_ERROR" | "ENHANCE_YOUR_CALM" => code::RESOURCE_EXHAUSTED,
        "INADEQUATE_SECURITY" => code::PERMISSION_DENIED,
        "UNKNOWN" => code::UNKNOWN,
        _ => code::INTERNAL,
    };
    (code, format!("stream terminated by RST_STREAM with error code: {name}"))
}

/// The code and the text for a body that does not consist of messages.
pub(super) fn bad_message(error: CallMessageError) -> (u32, String) {
    match error {
        CallMessageError::Flag(flag) => {
            (code::INTERNAL, format!("grpc: received unexpected payload format {flag}"))
        }
        CallMessageError::Uncoded => {
            let text = "grpc: compressed flag set with identity or empty encoding";
            (code::INTERNAL, text.to_owned())
        }
        CallMessageError::TooLong { bytes, limit } => {
            let text = format!("grpc: received message larger than max ({bytes} vs. {limit})");
            (code::RESOURCE_EXHAUSTED, text)
        }
        CallMessageError::Cut => (code::INTERNAL, "unexpected EOF".to_owned()),
    }
}

/// The text of a message that is too long to be sent.
pub(super) fn too_long(bytes: usize, limit: u32) -> String {
    format!("trying to send message larger than max ({bytes} vs. {limit})")
}

/// The code and the text of a complete response.
pub(super) fn of_status(status: CallStatus) -> (u32, Vec<u8>) {
    let (code, text) = match status {
        CallStatus::Given(code, text) => return (code, text),
        CallStatus::Missing => {
            (code::INTERNAL, "server closed the stream without sending trailers".to_owned())
        }
        CallStatus::Malformed(value) => {
            let value = String::from_utf8_lossy(&value);
            let why = format!("strconv.ParseInt: parsing {value:?}: invalid syntax");
            (code::UNKNOWN, format!("transport: malformed grpc-status: {why}"))
        }
        CallStatus::Http { code, status, content_type, body } => {
            let kind = content_type.map_or_else(
                || "malformed header: missing HTTP content-type".to_owned(),
                |kind| {
                    let kind = String::from_utf8_lossy(&kind).into_owned();
                    format!("transport: received unexpected content-type {kind:?}")
                },
            );
            let body = String::from_utf8_lossy(&body).into_owned();
            let text = format!(
                "unexpected HTTP status code received from server: {status}; {kind}\ndata: {body:?}"
            );
            (code, text)
        }
    };
    (code, text.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As k6 1.8.1 gives them.
    #[test]
    fn resets_and_statuses_are_those_of_k6() {
        for (kind, want) in [
            ("reset:NO_ERROR", 13),
            ("reset:PROTOCOL_ERROR", 13),
            ("reset:FLOW_CONTROL_ERROR", 8),
            ("reset:REFUSED_STREAM", 14),
            ("reset:CANCEL", 1),
            ("reset:ENHANCE_YOUR_CALM", 8),
            ("reset:INADEQUATE_SECURITY", 7),
            ("reset:HTTP_1_1_REQUIRED", 13),
        ] {
            let (code, text) = reset(kind);
            assert_eq!(code, want, "{kind}");
            assert!(text.ends_with(&kind[6..]), "{text}");
        }
        let http = |content_type: Option<&str>| CallStatus::Http {
            code: 12,
            status: 404,
            content_type: content_type.map(|text| text.as_bytes().to_vec()),
            body: b"<p>x".to_vec(),
        };
        for (status, code, text) in [
            (CallStatus::Given(5, b"no".to_vec()), 5, "no"),
            (CallStatus::Missing, 13, "server closed the stream without sending trailers"),
            (
                CallStatus::Malformed(b"abc".to_vec()),
                2,
                "transport: malformed grpc-status: strconv.ParseInt: parsing \"abc\": invalid syntax",
            ),
            (
                http(Some("text/html")),
                12,
                "unexpected HTTP status code received from server: 404; transport: received \
                 unexpected content-type \"text/html\"\ndata: \"<p>x\"",
            ),
            (
                http(None),
                12,
                "unexpected HTTP status code received from server: 404; malformed header: missing \
                 HTTP content-type\ndata: \"<p>x\"",
            ),
        ] {
            assert_eq!(of_status(status), (code, text.as_bytes().to_vec()));
        }
    }

    #[test]
    fn connects_fail_in_one_line() {
        let to = Address::Tcp("127.0.0.1:1".parse().expect("an address"));
        let refused = unconnected(&Owned::Refused, "localhost", Some(&to));
        let want = "connection error: desc = \"transport: error while dialing: dial tcp \
                    127.0.0.1:1: connect: connection refused\"";
        assert_eq!(refused, want);
        for fault in [Owned::NotTls, Owned::Closed, Owned::NoSuchHost, Owned::Tls("x".into())] {
            let text = unconnected(&fault, "a.test", None);
            assert!(
                text.starts_with("connection error: desc = ") && !text.contains('\n'),
                "{text}"
            );
        }
    }
}

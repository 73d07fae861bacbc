//! Errors of a run: the stable name of each kind, which results, reports and `docs/errors.md` use,
//! and how often each happened in which phase.

use serde::{Deserialize, Serialize};

use crate::phase::Phase;

/// Every name. [`Recorder::error`](crate::recorder::Recorder::error) takes no other, and each has a
/// section in `docs/errors.md` or one of its siblings.
pub const ERROR_KINDS: [&str; 165] = [
    // The operating system refused.
    "refused",
    "reset",
    "aborted",
    "broken_pipe",
    "timed_out",
    "unreachable",
    "no_ports",
    "no_files",
    "other",
    // The timeout passed.
    "timeout",
    "abandoned",
    // The connection ended, or the way to the server.
    "closed",
    "close_unanswered",
    "unsolicited",
    "not_echoed",
    "cut_short",
    "tunnel_refused",
    // The server says that it has not processed the request.
    "request_refused",
    // The bytes are not a response.
    "malformed_head",
    "malformed_field",
    "head_too_long",
    "too_many_headers",
    "too_many_interim",
    "bad_content_length",
    "conflicting_length",
    "bad_transfer_encoding",
    "bad_chunk",
    "chunk_line_too_long",
    "trailers_too_long",
    "body_too_long",
    "unsupported_version",
    "truncated_head",
    "truncated_body",
    // TLS failed.
    "tls_certificate",
    "tls_alert",
    "tls_version",
    "tls_incompatible",
    "tls_alpn",
    "tls_protocol",
    "tls_decrypt",
    "tls_truncated",
    "tls_not_open",
    "tls_internal",
    "other_protocol",
    // With HTTP/2: the server gave a stream up.
    "reset:NO_ERROR",
    "reset:PROTOCOL_ERROR",
    "reset:INTERNAL_ERROR",
    "reset:FLOW_CONTROL_ERROR",
    "reset:SETTINGS_TIMEOUT",
    "reset:STREAM_CLOSED",
    "reset:FRAME_SIZE_ERROR",
    "reset:REFUSED_STREAM",
    "reset:CANCEL",
    "reset:COMPRESSION_ERROR",
    "reset:CONNECT_ERROR",
    "reset:ENHANCE_YOUR_CALM",
    "reset:INADEQUATE_SECURITY",
    "reset:HTTP_1_1_REQUIRED",
    "reset:UNKNOWN",
    // With HTTP/2: the server ended the connection, and said why.
    "goaway:PROTOCOL_ERROR",
    "goaway:INTERNAL_ERROR",
    "goaway:FLOW_CONTROL_ERROR",
    "goaway:SETTINGS_TIMEOUT",
    "goaway:STREAM_CLOSED",
    "goaway:FRAME_SIZE_ERROR",
    "goaway:REFUSED_STREAM",
    "goaway:CANCEL",
    "goaway:COMPRESSION_ERROR",
    "goaway:CONNECT_ERROR",
    "goaway:ENHANCE_YOUR_CALM",
    "goaway:INADEQUATE_SECURITY",
    "goaway:HTTP_1_1_REQUIRED",
    "goaway:UNKNOWN",
    // The connection breaks the rules.
    "http1_peer",
    "bad_preface",
    "no_settings",
    "frame_too_long",
    "bad_frame_length",
    "bad_padding",
    "bad_stream",
    "idle_stream",
    "bad_stream_id",
    "stream_closed",
    "broken_header_block",
    "bad_setting",
    "push",
    "bad_goaway",
    "zero_increment",
    "window_overflow",
    "window_exceeded",
    "compression",
    "block_too_long",
    "reset_flood",
    "futile_flood",
    "truncated_frame",
    // A stream does.
    "bad_pseudo_field",
    "bad_field_name",
    "bad_field_value",
    "connection_field",
    "body_length",
    "host_differs",
    "bad_sequence",
    "half_closed",
    "stream_window_exceeded",
    "stream_window_overflow",
    "stream_zero_increment",
    "priority_length",
    "priority_loop",
    // A call of gRPC did not succeed.
    "grpc_status",
    "grpc_no_status",
    "grpc_not_grpc",
    "grpc_encoding",
    "grpc_no_message",
    "grpc_extra_messages",
    "grpc_messages",
    "grpc_flag",
    "grpc_uncoded",
    "grpc_message_cut",
    // With WebSocket: the server does not open one.
    "not_upgraded",
    "bad_upgrade",
    "bad_connection",
    "bad_accept",
    "bad_subprotocol",
    "bad_extension",
    // It closes one.
    "close:1000",
    "close:1001",
    "close:1002",
    "close:1003",
    "close:1005",
    "close:1007",
    "close:1008",
    "close:1009",
    "close:1010",
    "close:1011",
    "close:1012",
    "close:1013",
    "close:1014",
    "close:3xxx",
    "close:4xxx",
    // It breaks the rules of one.
    "reserved_bits",
    "reserved_opcode",
    "mask_missing",
    "mask_unexpected",
    "fragmented_control",
    "control_too_long",
    "nothing_to_continue",
    "message_interrupted",
    "length_overflow",
    "message_too_long",
    "invalid_utf8",
    "bad_deflate",
    "close_length",
    "invalid_close_code",
    "invalid_close_reason",
    "no_close",
    "truncated",
    "ping_flood",
    // The response is not as expected.
    "expect_status",
    "expect_bytes",
    "expect_header",
    "expect_body",
    "length",
    "redirect_elsewhere",
    "redirect_limit",
    "redirect_too_long",
];

/// One kind of error in one phase.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ErrorCount {
    /// Where it happened.
    pub phase: Phase,
    /// What it was, as a stable name.
    pub kind: String,
    /// How often.
    pub count: u64,
    /// The first of them, in words.
    pub sample: String,
}

/// Adds `more` to `errors`, most frequent first; the alphabetically first sample is kept, so the
/// order of merging does not matter.
pub fn merge_errors(errors: &mut Vec<ErrorCount>, more: &[ErrorCount]) {
    for error in more {
        match errors.iter_mut().find(|e| e.phase == error.phase && e.kind == error.kind) {
            Some(known) => {
                known.count += error.count;
                if error.sample < known.sample {
                    known.sample.clone_from(&error.sample);
                }
            }
            None => errors.push(error.clone()),
        }
    }
    errors.sort_by(|a, b| (b.count, a.phase, &a.kind).cmp(&(a.count, b.phase, &b.kind)));
}

//! The stable names of errors: what results, reports and `docs/errors.md` call each of them.

/// Every name. [`Recorder::error`](crate::recorder::Recorder::error) takes no other, and each has a
/// section in `docs/errors.md`.
pub const ERROR_KINDS: [&str; 47] = [
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
    "unsolicited",
    "tunnel_refused",
    // The server says that it has not processed the request.
    "request_refused",
    // The bytes are not a response.
    "malformed_head",
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

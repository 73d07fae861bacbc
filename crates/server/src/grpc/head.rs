//! What the head of a request says about its call.

use plimsoll_grpc::builtin::testing;
use plimsoll_proto::grpc::{is_content_type, timeout};
use plimsoll_proto::http2::Headers;

use super::coding::Coding;

/// What stands in the fields of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CallHead<'a> {
    /// How long the client waits, if it says so; `Err` if what it says is not a time.
    pub(crate) timeout_ns: Option<Result<u64, ()>>,
    /// How messages may be compressed.
    pub(crate) coding: Coding,
    /// Metadata to be sent back in the head.
    pub(crate) echo_initial: Option<&'a [u8]>,
    /// Metadata to be sent back in the trailers.
    pub(crate) echo_trailing: Option<&'a [u8]>,
}

impl<'a> CallHead<'a> {
    /// Reads the fields.
    #[inline]
    pub(crate) fn read(fields: Headers<'a>) -> Self {
        let mut head = Self::default();
        for (name, value) in fields {
            match name {
                "grpc-timeout" => head.timeout_ns = Some(timeout::read(value).ok_or(())),
                "grpc-encoding" => head.coding = Coding::named(value),
                testing::ECHO_INITIAL => head.echo_initial = Some(value),
                testing::ECHO_TRAILING => head.echo_trailing = Some(value),
                _ => {}
            }
        }
        head
    }
}

/// Whether the body of a request with these fields is messages of gRPC.
pub(crate) fn is_grpc(mut fields: Headers<'_>) -> bool {
    fields.any(|(name, value)| name == "content-type" && is_content_type(value))
}

//! The header blocks of answers in HTTP/2. That of hello is compiled beforehand.

use std::sync::Arc;

use plimsoll_proto::http2::{Block, BlockBuilder, HeadWriter, SharedFields, Value};

use super::{Answer, Content, GRPC, HELLO, LINE, TEXT};

/// Bytes of the pattern handed to a connection at a time. A whole number of lines, so that each
/// piece begins like the first, and as many as fit a frame that every client takes.
pub(crate) const PIECE_BYTES: usize = 16 * 1024;

/// What answers in HTTP/2 share.
#[derive(Debug)]
pub(crate) struct Blocks {
    pub(crate) hello: Block,
    pub(crate) hello_body: Arc<[u8]>,
    pub(crate) piece: Arc<[u8]>,
    /// The head of an answer of gRPC.
    pub(crate) call: Block,
    /// The trailers of a call that succeeded.
    pub(crate) call_ok: Block,
    /// The payload of messages, as long as `piece`.
    pub(crate) zeros: Arc<[u8]>,
    /// How many fields the blocks share.
    pub(crate) shared_fields: usize,
}

impl Blocks {
    pub(crate) fn new() -> Self {
        let mut shared = SharedFields::default();
        let mut block = |fields: &[(&str, &[u8])]| {
            let mut block = BlockBuilder::new(&mut shared);
            for (name, value) in fields {
                block.field(name, Value::Fixed(value)).expect("a constant field is valid");
            }
            block.finish()
        };
        let length = HELLO.len().to_string();
        let hello = block(&[
            (":status", b"200"),
            ("content-type", TEXT),
            ("content-length", length.as_bytes()),
        ]);
        let call = block(&[(":status", b"200"), ("content-type", GRPC)]);
        let call_ok = block(&[("grpc-status", b"0")]);
        Self {
            hello,
            hello_body: HELLO.into(),
            call,
            call_ok,
            zeros: vec![0; PIECE_BYTES].into(),
            piece: LINE.iter().copied().cycle().take(PIECE_BYTES).collect(),
            shared_fields: shared.len(),
        }
    }
}

/// Writes the fields of an answer.
pub(crate) fn write_fields(answer: &Answer, head: &mut HeadWriter<'_>) {
    head.status(answer.status);
    if let Some(content_type) = answer.content.content_type() {
        head.passed_on(b"content-type", content_type);
    }
    if let Some(location) = answer.location {
        head.passed_on(b"location", location);
    }
    match answer.content {
        Content::Text(ref text) => head.content_length(text.bytes().len() as u64),
        Content::Page(page) => head.content_length(page.len() as u64),
        Content::Pattern { bytes, is_sized: true } => head.content_length(bytes),
        Content::Pattern { .. } | Content::Absent => {}
    }
}

//! A request to the interface, and what is answered.

use plimsoll_dialect::k6::rest::Fault;
use plimsoll_proto::http1::{
    write_content_length, write_head_end, write_header, write_status_line,
};

/// A request, whole.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    /// The path, decoded, without a query.
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    content_type: &'static str,
    pub(super) body: String,
}

impl Answer {
    /// A document.
    pub(super) fn document(body: String) -> Self {
        Self { status: 200, content_type: "application/json; charset=utf-8", body }
    }

    /// Text, be it none.
    pub(super) fn text(status: u16, body: &str) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", body: body.to_owned() }
    }

    /// Why there is no document.
    pub(super) fn fault(status: u16, title: &'static str, detail: impl Into<String>) -> Self {
        let fault = Fault { status, title, detail: detail.into() };
        Self { status, ..Self::document(fault.document()) }
    }

    /// The bytes on the wire.
    pub(super) fn bytes(&self, keeps_alive: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.body.len() + 256);
        write_status_line(&mut out, 1, self.status);
        if !self.body.is_empty() {
            write_header(&mut out, "Content-Type", self.content_type.as_bytes());
        }
        write_content_length(&mut out, self.body.len() as u64);
        if !keeps_alive {
            write_header(&mut out, "Connection", b"close");
        }
        write_head_end(&mut out);
        out.extend_from_slice(self.body.as_bytes());
        out
    }
}

/// A target's path, decoded, without its query; bytes that are not UTF-8 are replaced.
pub(super) fn path_of(target: &str) -> String {
    let path = target.split(['?', '#']).next().unwrap_or(target).as_bytes();
    let digit = |at: usize| path.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let (mut bytes, mut at) = (Vec::with_capacity(path.len()), 0);
    while at < path.len() {
        match (path[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

//! How WebSocket writes a compiled request: its body is the message, and the rest is what the
//! opening handshake says. All of a run's have the same handshake.

use std::sync::Arc;

use plimsoll_core::template::Template;
use plimsoll_proto::http1::write_request_head;
use plimsoll_proto::websocket::handshake::Offer;
use plimsoll_proto::websocket::{DeflateParameters, Deflater};

use crate::request::{CompiledRequest, EncodeError, Encoding, Field, Filling, RequestBody};

/// The longest head of a client's frame (RFC 6455 section 5.2).
const FRAME_HEAD_BYTES: usize = 14;

/// Fields that the handshake has of its own, or that say something about a body.
const LEFT_OUT: [&str; 4] = ["Connection", "Upgrade", "Content-Length", "Transfer-Encoding"];

/// What the handshake's own fields begin with.
const OWN_PREFIX: &str = "sec-websocket-";

/// The opening handshake of a run's connections.
#[derive(Debug, Clone, Default)]
pub struct Handshake {
    /// Its request line and the fields that are not WebSocket's.
    head: Arc<[u8]>,
}

impl Handshake {
    fn of(request: &CompiledRequest) -> Result<Self, EncodeError> {
        let fixed = |template: &Template| {
            let bytes = template.fixed().ok_or(EncodeError::VaryingHandshake)?;
            Ok::<_, EncodeError>(String::from_utf8_lossy(bytes).into_owned())
        };
        let mut fields = Vec::new();
        for field in &request.fields {
            let Field::Given(name, value) = field else { continue };
            if name.to_ascii_lowercase().starts_with(OWN_PREFIX) {
                return Err(EncodeError::OwnField);
            }
            if !LEFT_OUT.iter().any(|other| name.eq_ignore_ascii_case(other)) {
                fields.push((name.as_str(), fixed(value)?));
            }
        }
        let fields = fields.iter().map(|(name, value)| (*name, value.as_str()));
        let mut head = Vec::new();
        write_request_head(&mut head, "GET", &fixed(&request.path)?, 1, fields)?;
        // WebSocket's own fields go before the empty line.
        head.truncate(head.len() - b"\r\n".len());
        Ok(Self { head: head.into() })
    }

    /// Of nothing, for connections whose handshake is over.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self { head: [].into() }
    }

    /// Writes it with what WebSocket asks for.
    pub(super) fn write(&self, offer: &Offer<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        offer.write_fields(out);
        out.extend_from_slice(b"\r\n");
    }
}

/// One of the messages of a run.
#[derive(Debug)]
pub struct WebSocketRequest {
    message: Template,
    /// A message that never varies, compressed, where that is to be offered.
    compressed: Option<Vec<u8>>,
}

impl WebSocketRequest {
    /// What it says as the request of this number; what varies is filled into `filled`.
    #[inline]
    pub(super) fn payload<'p>(&'p self, number: u64, filled: &'p mut Vec<u8>) -> &'p [u8] {
        if let Some(fixed) = self.message.fixed() {
            return fixed;
        }
        filled.clear();
        self.message.fill(number, filled);
        filled
    }

    /// What its payload is compressed to. `None` where it goes out as it is.
    #[inline]
    pub(super) fn compressed<'p>(
        &'p self,
        payload: &[u8],
        parameters: DeflateParameters,
        deflater: &'p mut Deflater,
    ) -> Option<&'p [u8]> {
        // Nothing in it points farther back than its own beginning.
        let fits = parameters.window_bits >= DeflateParameters::LARGEST.window_bits
            || payload.len() <= 1 << parameters.window_bits;
        match &self.compressed {
            Some(compressed) if fits => Some(compressed),
            _ => deflater.message(payload, parameters),
        }
    }
}

/// A message as any connection may have it whose server allows a window of its length.
fn compressed(message: &Template) -> Option<Vec<u8>> {
    let message = message.fixed()?;
    Deflater::new().message(message, DeflateParameters::LARGEST).map(<[u8]>::to_vec)
}

impl Encoding for WebSocketRequest {
    type Shared = Handshake;

    fn of(request: CompiledRequest, shared: &mut Handshake) -> Result<Self, EncodeError> {
        if shared.head.is_empty() {
            *shared = Handshake::of(&request)?;
        }
        let RequestBody::Template(message) = request.body else {
            return Err(EncodeError::MessageNeedsHttp2);
        };
        let compressed = if request.is_compressed { compressed(&message) } else { None };
        Ok(Self { message, compressed })
    }

    fn of_written(_bytes: &[u8]) -> Self {
        unreachable!("scripts write HTTP/1, and a plan with one speaks it")
    }

    /// Each has a key of its own.
    fn fixed(&self) -> Option<&Arc<[u8]>> {
        None
    }

    fn bytes_max(&self) -> usize {
        FRAME_HEAD_BYTES + self.message.bytes_max()
    }

    /// Nothing is held back.
    fn has_body(&self, _filling: &Filling<'_>) -> bool {
        false
    }

    fn write_text(&self, filling: &Filling<'_>, out: &mut Vec<u8>) -> usize {
        self.message.fill(filling.number, out);
        0
    }
}

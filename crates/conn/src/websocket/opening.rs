//! The answer to the opening handshake.

use plimsoll_proto::http1::{Limits, RequestKind, ResponseDecoder, ResponseEvent};
use plimsoll_proto::websocket::handshake::Offer;

use crate::event::Failure;

/// A handshake under way.
#[derive(Debug)]
pub(super) struct Opening {
    decoder: ResponseDecoder,
    nonce: [u8; 16],
    subprotocol: Option<String>,
}

impl Opening {
    /// One that asked with this nonce for this subprotocol.
    pub(super) fn new(nonce: [u8; 16], subprotocol: Option<String>) -> Self {
        Self { decoder: ResponseDecoder::new(Limits::default()), nonce, subprotocol }
    }

    /// Gives what follows the server's answer, once that is whole.
    pub(super) fn receive<'b>(&mut self, mut bytes: &'b [u8]) -> Result<Option<&'b [u8]>, Failure> {
        let subprotocols = self.subprotocol.as_deref();
        let subprotocols = subprotocols.as_slice();
        let offer = Offer { nonce: self.nonce, subprotocols, deflate: false };
        while !bytes.is_empty() {
            let decoded = self.decoder.decode(RequestKind::Plain, bytes)?;
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                Some(ResponseEvent::Head(head)) => _ = offer.check(&head)?,
                Some(ResponseEvent::End(_)) => return Ok(Some(bytes)),
                _ => {}
            }
        }
        Ok(None)
    }
}

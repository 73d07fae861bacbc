//! The answer to the opening handshake.

use plimsoll_proto::http1::{Limits, RequestKind, ResponseDecoder, ResponseEvent};
use plimsoll_proto::websocket::handshake::{Agreed, Offer};

use crate::event::Failure;

/// A handshake under way.
#[derive(Debug)]
pub(super) struct Opening {
    decoder: ResponseDecoder,
    nonce: [u8; 16],
    subprotocol: Option<String>,
    offers_deflate: bool,
    /// What the server agreed to, once its head has come.
    agreed: Option<Agreed>,
}

impl Opening {
    /// One that asked with this nonce for this subprotocol, and offered compression or not.
    pub(super) fn new(nonce: [u8; 16], subprotocol: Option<String>, offers_deflate: bool) -> Self {
        let decoder = ResponseDecoder::new(Limits::default());
        Self { decoder, nonce, subprotocol, offers_deflate, agreed: None }
    }

    /// Gives what follows the server's answer, once that is whole, and what it agreed to.
    pub(super) fn receive<'b>(
        &mut self,
        mut bytes: &'b [u8],
    ) -> Result<Option<(&'b [u8], Agreed)>, Failure> {
        let subprotocols = self.subprotocol.as_deref();
        let (nonce, subprotocols) = (self.nonce, subprotocols.as_slice());
        let offer = Offer { nonce, subprotocols, deflate: self.offers_deflate };
        while !bytes.is_empty() {
            let decoded = self.decoder.decode(RequestKind::Plain, bytes)?;
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                Some(ResponseEvent::Head(head)) => self.agreed = Some(offer.check(&head)?),
                Some(ResponseEvent::End(_)) => {
                    return Ok(self.agreed.map(|agreed| (bytes, agreed)));
                }
                _ => {}
            }
        }
        Ok(None)
    }
}

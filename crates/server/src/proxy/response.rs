//! A response on its way: what of it was read goes to the client's end of the exchange, which knows
//! the client's protocol.

use plimsoll_proto::http1::{self, BodyLength, Headers, RequestKind, ResponseEvent, ResponseHead};

use super::exchange::Exchange;
use super::head::{self, Body, Recipient, Unusable};
use super::link::Link;

/// Where reading a stretch of a response stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// All of it was used up.
    More,
    /// At the end of the response, which the connection may outlive. `has_more`: bytes that answer
    /// nothing follow it.
    End { is_reusable: bool, has_more: bool },
    /// At bytes that cannot be forwarded.
    Unusable,
}

/// The client's end of an exchange, while a stretch of the response is read.
pub(super) trait ClientEnd {
    /// An interim response.
    ///
    /// # Errors
    /// When its lines are malformed.
    fn interim(&mut self, head: &ResponseHead<'_>) -> Result<(), Unusable>;

    /// The head of the response.
    ///
    /// # Errors
    /// When two readers could disagree about it.
    fn head(&mut self, head: &ResponseHead<'_>) -> Result<(), Unusable>;

    /// A piece of its body; `is_last` if the head said where it ends, and that is here.
    fn piece(&mut self, piece: &[u8], is_last: bool);

    /// Its end.
    fn end(&mut self, trailers: Headers<'_>);
}

/// Reads up to the end of a response or of the input.
#[inline]
pub(super) fn read(
    link: &mut Link,
    exchange: &mut Exchange,
    bytes: &[u8],
    to: &mut impl ClientEnd,
) -> Read {
    let kind = if exchange.facts.is_head { RequestKind::Head } else { RequestKind::Plain };
    let mut at = 0;
    while at < bytes.len() {
        let Ok(decoded) = link.decoder.decode(kind, &bytes[at..]) else { return Read::Unusable };
        at += decoded.consumed;
        match decoded.event {
            None => break,
            Some(ResponseEvent::Interim(head)) => {
                // HTTP/1.0 does not know them (RFC 9110 section 15.2).
                if exchange.facts.minor_version > 0 && to.interim(&head).is_err() {
                    return Read::Unusable;
                }
            }
            Some(ResponseEvent::Head(head)) => {
                if head.status == 101 || to.head(&head).is_err() {
                    return Read::Unusable;
                }
                exchange.is_answered = true;
                link.status = head.status;
                link.length_bytes = match head.body {
                    BodyLength::Known(length_bytes) => Some(length_bytes),
                    _ => None,
                };
            }
            Some(ResponseEvent::Body(piece)) => {
                link.body_bytes += piece.len() as u64;
                to.piece(piece, link.length_bytes == Some(link.body_bytes));
            }
            Some(ResponseEvent::End(end)) => {
                to.end(link.decoder.trailers());
                let has_more = at < bytes.len();
                let is_reusable = end.keep_alive && exchange.is_read && !has_more;
                return Read::End { is_reusable, has_more };
            }
        }
    }
    Read::More
}

/// A client that speaks HTTP/1: the response is written as it goes out.
pub(super) struct Http1End<'e> {
    pub(super) out: &'e mut Vec<u8>,
    pub(super) recipient: Recipient,
    /// How the body is framed.
    pub(super) body: Body,
}

impl ClientEnd for Http1End<'_> {
    fn interim(&mut self, head: &ResponseHead<'_>) -> Result<(), Unusable> {
        head::write_interim(self.out, head)
    }

    #[inline]
    fn head(&mut self, head: &ResponseHead<'_>) -> Result<(), Unusable> {
        self.body = head::write_response(self.out, head, self.recipient)?;
        self.recipient.is_last |= self.body == Body::UntilClose;
        Ok(())
    }

    #[inline]
    fn piece(&mut self, piece: &[u8], _is_last: bool) {
        match self.body {
            Body::Chunked => http1::write_chunk(self.out, piece),
            Body::Plain | Body::UntilClose => self.out.extend_from_slice(piece),
        }
    }

    #[inline]
    fn end(&mut self, _trailers: Headers<'_>) {
        if self.body == Body::Chunked {
            http1::write_last_chunk(self.out);
        }
    }
}

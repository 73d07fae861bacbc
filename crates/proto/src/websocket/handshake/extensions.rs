//! The negotiation of permessage-deflate (RFC 7692 7.1), on either side.

use crate::http1::Headers;
use crate::websocket::deflate::{DeflateParameters, WINDOW_BITS_MAX};

use super::fields::elements;

pub(super) const FIELD: &str = "Sec-WebSocket-Extensions";
/// What a client offers. It can honour any window that the server wants it to have.
pub(super) const OFFER: &str = "permessage-deflate; client_max_window_bits";
const NAME: &str = "permessage-deflate";

/// What a server answers to an offer: each message stands by itself, in both directions, so that
/// neither side has to keep a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeflateAnswer {
    /// The window that the client wants the server to have, in bits.
    server_window_bits: Option<u8>,
}

impl DeflateAnswer {
    /// What the answer means for the server's socket.
    #[must_use]
    pub fn parameters(self) -> DeflateParameters {
        let window_bits = self.server_window_bits.unwrap_or(WINDOW_BITS_MAX);
        DeflateParameters { window_bits, peer_no_context_takeover: true }
    }

    /// The value of the answer's field.
    pub(super) fn value(self) -> String {
        let window = match self.server_window_bits {
            Some(bits) => format!("; server_max_window_bits={bits}"),
            None => String::new(),
        };
        format!("{NAME}; server_no_context_takeover; client_no_context_takeover{window}")
    }
}

/// The answer to the first offer of permessage-deflate that can be accepted.
pub(super) fn answer(headers: Headers<'_>) -> Option<DeflateAnswer> {
    let offers = elements(headers, FIELD).filter_map(|element| Parameters::parse(element).ok());
    let mut offers = offers.flatten();
    offers.next().map(|offer| DeflateAnswer { server_window_bits: offer.server_window_bits })
}

/// What a server made of [`OFFER`]: at most one permessage-deflate, and nothing else.
pub(super) fn agreed(headers: Headers<'_>) -> Result<Option<DeflateParameters>, ()> {
    let mut elements = elements(headers, FIELD);
    let Some(element) = elements.next() else { return Ok(None) };
    if elements.next().is_some() {
        return Err(());
    }
    let answer = Parameters::parse(element)?.ok_or(())?;
    // In an answer this one has a value.
    if answer.client_window == Some(None) {
        return Err(());
    }
    Ok(Some(DeflateParameters {
        window_bits: answer.client_window.flatten().unwrap_or(WINDOW_BITS_MAX),
        peer_no_context_takeover: answer.server_no_context_takeover,
    }))
}

/// The parameters of one permessage-deflate.
#[derive(Debug, Default)]
struct Parameters {
    server_no_context_takeover: bool,
    client_no_context_takeover: bool,
    server_window_bits: Option<u8>,
    /// Whether it is there, and its value.
    client_window: Option<Option<u8>>,
}

impl Parameters {
    /// Reads an element; `None` when it is another extension.
    ///
    /// # Errors
    /// When a parameter is unknown, repeated or has a wrong value (RFC 7692 7.1).
    fn parse(element: &str) -> Result<Option<Self>, ()> {
        let mut parts = element.split(';').map(str::trim_ascii);
        if !parts.next().is_some_and(|name| name.eq_ignore_ascii_case(NAME)) {
            return Ok(None);
        }
        let mut parameters = Self::default();
        for part in parts {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name.trim_ascii(), Some(unquoted(value.trim_ascii()))),
                None => (part, None),
            };
            parameters.set(&name.to_ascii_lowercase(), value)?;
        }
        Ok(Some(parameters))
    }

    fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), ()> {
        let flag = match name {
            "server_no_context_takeover" => &mut self.server_no_context_takeover,
            "client_no_context_takeover" => &mut self.client_no_context_takeover,
            "server_max_window_bits" if self.server_window_bits.is_none() => {
                self.server_window_bits = Some(window_bits(value.ok_or(())?)?);
                return Ok(());
            }
            "client_max_window_bits" if self.client_window.is_none() => {
                self.client_window = Some(value.map(window_bits).transpose()?);
                return Ok(());
            }
            _ => return Err(()),
        };
        if *flag || value.is_some() {
            return Err(());
        }
        *flag = true;
        Ok(())
    }
}

/// 8 to 15, without leading zeros (RFC 7692 7.1.2).
fn window_bits(value: &str) -> Result<u8, ()> {
    match value {
        "8" | "9" | "10" | "11" | "12" | "13" | "14" | "15" => value.parse().map_err(|_| ()),
        _ => Err(()),
    }
}

fn unquoted(value: &str) -> &str {
    value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(values: &[&str]) -> Vec<u8> {
        let mut head = b"GET / HTTP/1.1\r\n".to_vec();
        for value in values {
            head.extend_from_slice(format!("{FIELD}: {value}\r\n").as_bytes());
        }
        head.extend_from_slice(b"\r\n");
        head
    }

    #[test]
    fn answers_to_offers() {
        const PLAIN: &str =
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
        let small = &format!("{PLAIN}; server_max_window_bits=9");
        for (offers, want) in [
            (&[][..], None),
            (&["permessage-deflate"][..], Some(PLAIN)),
            (&["Permessage-Deflate ; client_max_window_bits"], Some(PLAIN)),
            (&["permessage-deflate; client_max_window_bits=8"], Some(PLAIN)),
            (&["permessage-deflate;server_max_window_bits=\"9\""], Some(small)),
            (&["x-webkit-deflate-frame, permessage-deflate"], Some(PLAIN)),
            (&["x-other", "permessage-deflate"], Some(PLAIN)),
            // The first that is valid, in the client's order.
            (
                &["permessage-deflate; strange, permessage-deflate; server_max_window_bits=9"],
                Some(small),
            ),
            (&["permessage-deflate; server_max_window_bits=9, permessage-deflate"], Some(small)),
            (&["permessage-deflate; server_max_window_bits"], None),
            (&["permessage-deflate; server_max_window_bits=7"], None),
            (&["permessage-deflate; server_max_window_bits=16"], None),
            (&["permessage-deflate; server_max_window_bits=09"], None),
            (&["permessage-deflate; server_no_context_takeover=1"], None),
            (&["permessage-deflate; client_max_window_bits; client_max_window_bits"], None),
            (&["permessage-deflate; server_no_context_takeover; server_no_context_takeover"], None),
        ] {
            let head = head(offers);
            let answer = answer(Headers::of_head(&head)).map(DeflateAnswer::value);
            assert_eq!(answer.as_deref(), want.map(|want| want as &str), "{offers:?}");
        }
    }

    #[test]
    fn what_a_server_may_answer() {
        let open = DeflateParameters { window_bits: 15, peer_no_context_takeover: false };
        for (answers, want) in [
            (&[][..], Ok(None)),
            (&["permessage-deflate"][..], Ok(Some(open))),
            (
                &["permessage-deflate; server_no_context_takeover; client_max_window_bits=10"],
                Ok(Some(DeflateParameters { window_bits: 10, peer_no_context_takeover: true })),
            ),
            (&["permessage-deflate; server_max_window_bits=10"], Ok(Some(open))),
            (&["permessage-deflate; client_no_context_takeover"], Ok(Some(open))),
            (&["permessage-deflate; client_max_window_bits"], Err(())),
            (&["permessage-deflate, permessage-deflate"], Err(())),
            (&["permessage-deflate", "permessage-deflate"], Err(())),
            (&["permessage-deflate; strange"], Err(())),
            (&["x-other"], Err(())),
        ] {
            let head = head(answers);
            assert_eq!(agreed(Headers::of_head(&head)), want, "{answers:?}");
        }
    }
}

//! The opening handshake: requests that are granted and refused, answers that are believed and not,
//! and one side against the other.

use crate::http1::{
    Limits, RequestDecoder, RequestEvent, RequestKind, ResponseDecoder, ResponseEvent,
};
use crate::websocket::handshake::{Agreed, Answer, HandshakeError, Offer, Upgrade, UpgradeError};

const REQUEST: &str = "GET /chat HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\n\
    Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
    Sec-WebSocket-Version: 13\r\n\r\n";
const NONCE: [u8; 16] = *b"the sample nonce";
const OFFER: Offer<'static> =
    Offer { nonce: NONCE, subprotocols: &["chat", "superchat"], deflate: true };

/// What a server makes of a request: whether it is granted, or why not.
fn read(request: &str) -> Result<bool, UpgradeError> {
    let mut decoder = RequestDecoder::new(Limits::default());
    let decoded = decoder.decode(request.as_bytes()).expect("a request");
    let Some(RequestEvent::Head(head)) = decoded.event else { panic!("no head") };
    Upgrade::read(&head).map(|upgrade| upgrade.is_some())
}

#[test]
fn requests() {
    use UpgradeError as E;
    assert_eq!(read(REQUEST), Ok(true));
    for (from, to, want) in [
        ("Upgrade: websocket", "upgrade: h2c, WebSocket", Ok(true)),
        ("Connection: Upgrade", "Connection: keep-alive, upgrade", Ok(true)),
        ("Upgrade: websocket\r\n", "", Ok(false)),
        ("Upgrade: websocket", "Upgrade: h2c", Ok(false)),
        ("HTTP/1.1", "HTTP/1.0", Ok(false)),
        ("GET ", "POST ", Err(E::Method)),
        ("Host:", "Content-Length: 1\r\nHost:", Err(E::Body)),
        ("Host:", "Content-Length: 0\r\nHost:", Ok(true)),
        ("Connection: Upgrade", "Connection: keep-alive", Err(E::Connection)),
        ("Connection: Upgrade\r\n", "", Err(E::Connection)),
        ("Version: 13", "Version: 8", Err(E::Version)),
        ("Version: 13", "Version: 13, 8", Err(E::Version)),
        ("Sec-WebSocket-Version: 13\r\n", "", Err(E::Version)),
        ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ", Err(E::Key)),
        ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25j", Err(E::Key)),
        ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZWE=", Err(E::Key)),
        ("dGhlIHNhbXBsZSBub25jZQ==", "", Err(E::Key)),
        ("Sec-WebSocket-Key", "X-Key", Err(E::Key)),
        ("Host:", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nHost:", Err(E::Key)),
    ] {
        assert!(REQUEST.contains(from));
        assert_eq!(read(&REQUEST.replacen(from, to, 1)), want, "{from:?} as {to:?}");
    }
    assert_eq!(E::Version.status(), 426);
    assert_eq!(E::Key.status(), 400);
}

/// What a client makes of an answer.
fn check(offer: &Offer<'_>, answer: &[u8]) -> Result<Agreed, HandshakeError> {
    let mut decoder = ResponseDecoder::new(Limits::default());
    let decoded = decoder.decode(RequestKind::Plain, answer).expect("a response");
    let Some(ResponseEvent::Head(head)) = decoded.event else { panic!("no head") };
    offer.check(&head)
}

#[test]
fn answers() {
    use HandshakeError as E;
    const ANSWER: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
        Connection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
    let plain = Agreed { subprotocol: None, deflate: None };
    assert_eq!(check(&OFFER, ANSWER.as_bytes()), Ok(plain));
    let second = Agreed { subprotocol: Some(1), ..plain };
    for (from, to, want) in [
        ("Upgrade: websocket", "Upgrade: WebSocket", Ok(plain)),
        ("Connection: Upgrade", "Connection: keep-alive, upgrade", Ok(plain)),
        ("101 Switching Protocols", "200 OK", Err(E::Status(200))),
        ("101 Switching Protocols", "426 Upgrade Required", Err(E::Status(426))),
        ("Upgrade: websocket\r\n", "", Err(E::Upgrade)),
        ("Upgrade: websocket", "Upgrade: h2c", Err(E::Upgrade)),
        ("Connection: Upgrade\r\n", "", Err(E::Connection)),
        ("Connection: Upgrade", "Connection: close", Err(E::Connection)),
        ("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "s3pplmbitxaq9kygzzhzrbk+xoo=", Err(E::Accept)),
        ("Sec-WebSocket-Accept", "X-Accept", Err(E::Accept)),
        ("\r\n\r\n", "\r\nSec-WebSocket-Protocol: superchat\r\n\r\n", Ok(second)),
        ("\r\n\r\n", "\r\nSec-WebSocket-Protocol: other\r\n\r\n", Err(E::Subprotocol)),
        ("\r\n\r\n", "\r\nSec-WebSocket-Protocol: chat, superchat\r\n\r\n", Err(E::Subprotocol)),
        ("\r\n\r\n", "\r\nSec-WebSocket-Protocol: \r\n\r\n", Err(E::Subprotocol)),
        ("\r\n\r\n", "\r\nSec-WebSocket-Extensions: x-other\r\n\r\n", Err(E::Extension)),
    ] {
        assert!(ANSWER.contains(from));
        let answer = ANSWER.replacen(from, to, 1);
        assert_eq!(check(&OFFER, answer.as_bytes()), want, "{from:?} as {to:?}");
    }
    let deflate = "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
    let answer = ANSWER.replacen("\r\n\r\n", deflate, 1);
    assert!(check(&OFFER, answer.as_bytes()).is_ok_and(|agreed| agreed.deflate.is_some()));
    let none = Offer { deflate: false, subprotocols: &[], ..OFFER };
    assert_eq!(check(&none, answer.as_bytes()), Err(E::Extension));
    let mut kinds: Vec<&str> =
        [E::Status(200), E::Upgrade, E::Connection, E::Accept, E::Subprotocol, E::Extension]
            .map(E::kind)
            .to_vec();
    kinds.dedup();
    assert_eq!(kinds.len(), 6);
}

/// What our client asks for our server grants, and our client believes the answer.
#[test]
fn our_client_and_our_server() {
    for deflate in [false, true] {
        for (chosen, index) in [(None, None), (Some("superchat"), Some(1))] {
            let offer = Offer { deflate, ..OFFER };
            let mut request = b"GET /ws HTTP/1.1\r\nHost: a\r\n".to_vec();
            offer.write_fields(&mut request);
            request.extend_from_slice(b"\r\n");
            let mut decoder = RequestDecoder::new(Limits::default());
            let decoded = decoder.decode(&request).expect("a request");
            let Some(RequestEvent::Head(head)) = decoded.event else { panic!("no head") };
            let upgrade = Upgrade::read(&head).expect("granted").expect("asked for");
            assert_eq!(upgrade.subprotocols().collect::<Vec<_>>(), ["chat", "superchat"]);
            let granted = upgrade.deflate();
            assert_eq!(granted.is_some(), deflate);
            let mut response = Vec::new();
            let answer = Answer { subprotocol: chosen, deflate: granted };
            upgrade.write_response(&answer, &mut response);
            let agreed = check(&offer, &response).expect("believed");
            assert_eq!(agreed.subprotocol, index);
            assert_eq!(agreed.deflate.is_some(), deflate);
        }
    }
}

//! Answers cut at every byte, answers that differ, and what comes beside them.

use plimsoll_core::template::Compiler;

use crate::request::{Framing, literal};

use super::*;

const ID: ExchangeId = ExchangeId(3);

fn request(body: Template) -> EchoRequest {
    let compiled = CompiledRequest {
        method: "GET".to_owned(),
        scheme: "tcp".to_owned(),
        prefix: String::new(),
        path: literal(b"/"),
        http_minor: 1,
        fields: Vec::new(),
        framing: Framing::AsGiven,
        body: RequestBody::Template(body),
        takes_cookies: false,
        follows_redirects: false,
        is_compressed: false,
    };
    EchoRequest::of(compiled, &mut ()).expect("it is sent as it is")
}

/// Starts a request and gives what goes on the wire.
fn start(echo: &mut Echo, request: &EchoRequest, number: u64) -> Vec<u8> {
    let filling = Filling { number, ..Filling::default() };
    let message =
        Message::Compiled { encoding: request, payload: None, filling, withholds_body: false };
    let mut out = Vec::new();
    match echo.start(ID, &message, &mut out).expect("it is sent as it is") {
        Wire::Bytes(bytes) => bytes.to_vec(),
        Wire::Framed => out,
        Wire::Registered(..) => unreachable!("no driver knows the bytes"),
    }
}

/// A connection that is open, for requests like this one.
fn open(request: &EchoRequest) -> Echo {
    let mut echo = Echo::new(&EchoSettings { fixed: request.fixed().cloned(), is_datagram: false });
    echo.begin(None, &mut Vec::new());
    echo
}

/// What a connection tells of bytes that come in pieces: those of the body, and how it went on.
fn told(echo: &mut Echo, pieces: &[&[u8]]) -> (Vec<u8>, Vec<&'static str>) {
    let (mut body, mut rest, mut bytes) = (Vec::new(), Vec::new(), 0);
    for piece in pieces {
        let read = echo.receive(piece, &mut Vec::new(), &mut |progress| match progress {
            Progress::Body(ID, piece) => body.extend_from_slice(piece),
            Progress::FirstByte(ID) => rest.push("first"),
            Progress::Complete(ID, response) => {
                bytes = response.body_bytes;
                rest.push("whole");
            }
            Progress::Message(ID) => {}
            other => panic!("{other:?}"),
        });
        if let Err(failure) = read {
            rest.push(failure.kind());
            break;
        }
    }
    assert!(bytes == 0 || bytes == body.len() as u64, "{bytes}");
    (body, rest)
}

#[test]
fn an_answer_is_whole_wherever_it_is_cut() {
    let compiled = Compiler::new(7, &[]).compile("n={{random 100 999}}").expect("a template");
    for request in [request(literal(b"n=1234")), request(compiled)] {
        for cut in 1..4 {
            let mut echo = open(&request);
            for number in 0..3 {
                let sent = start(&mut echo, &request, number);
                assert_eq!((echo.room(), echo.open_exchanges()), (0, 1));
                let (body, rest) = told(&mut echo, &[&sent[..cut], &sent[cut..]]);
                assert_eq!(body, sent);
                assert_eq!(rest, ["first", "whole"]);
                assert_eq!((echo.room(), echo.open_exchanges()), (1, 0));
            }
        }
    }
}

#[test]
fn what_is_no_echo_ends_the_connection() {
    let request = request(literal(b"hello"));
    for (pieces, body, rest) in [
        (&[&b"hEllo"[..]][..], &b""[..], &["first", "not_echoed"][..]),
        (&[b"he", b"xlo"], b"he", &["first", "not_echoed"]),
        (&[b"hello!"], b"hello", &["first", "whole", "unsolicited"]),
        (&[b"hello", b"!"], b"hello", &["first", "whole", "unsolicited"]),
    ] {
        let mut echo = open(&request);
        start(&mut echo, &request, 0);
        let (got, told) = told(&mut echo, pieces);
        assert_eq!((&got[..], &told[..]), (body, rest), "{pieces:?}");
    }
    let mut echo = open(&request);
    assert_eq!(told(&mut echo, &[b"220 hello"]).1, ["unsolicited"]);
}

#[test]
fn a_datagram_is_an_answer_as_it_is() {
    let request = request(literal(b"hello"));
    for (pieces, body, rest) in [
        (&[&b"hello"[..]][..], &b"hello"[..], &["first", "whole"][..]),
        (&[b"hel", b"lo"], b"", &["cut_short"]),
        (&[b"hello!"], b"", &["not_echoed"]),
        (&[b"hullo"], b"", &["first", "not_echoed"]),
        (&[b"hello", b"hello"], b"hello", &["first", "whole", "unsolicited"]),
    ] {
        let mut echo = open(&request);
        echo.settings.is_datagram = true;
        start(&mut echo, &request, 0);
        let (got, told) = told(&mut echo, pieces);
        assert_eq!((&got[..], &told[..]), (body, rest), "{pieces:?}");
    }
}

#[test]
fn the_end_breaks_the_open_request_alone() {
    let request = request(literal(b"hello"));
    let mut echo = open(&request);
    assert_eq!(echo.ended(&mut |_| {}), Ok(()));
    assert!(echo.is_spent() && echo.room() == 0);
    echo.begin(None, &mut Vec::new());
    start(&mut echo, &request, 0);
    told(&mut echo, &[b"hel"]);
    assert_eq!(echo.ended(&mut |_| {}), Err(Failure::Closed));
    assert_eq!(echo.drain().collect::<Vec<_>>(), [ID]);
    // The next connection begins anew.
    echo.begin(None, &mut Vec::new());
    start(&mut echo, &request, 1);
    assert_eq!(told(&mut echo, &[b"hello"]).1, ["first", "whole"]);
}

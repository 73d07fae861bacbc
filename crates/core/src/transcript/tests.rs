//! What is masked in transcripts, and what is not.

use super::*;
use crate::secret::Masks;

fn text_of(message: &Message) -> String {
    match &message.body.kept {
        Kept::Text(text) => text.clone(),
        kept => panic!("{kept:?}"),
    }
}

fn sent(media_type: &str, body: &str) -> Message {
    let head = format!("POST / HTTP/1.1\r\nContent-Type: {media_type}\r\n\r\n");
    request(&Masks::default(), format!("{head}{body}").as_bytes(), head.len())
}

fn received(media_type: &str, body: &[u8]) -> Message {
    let fields = format!("Content-Type: {media_type}\r\n\r\n");
    let (fields, bytes) = (fields.as_bytes(), body.len() as u64);
    response(&Masks::default(), &[], Received { first_line: None, fields, start: body, bytes })
}

#[test]
fn heads_of_requests_show_what_is_harmless() {
    let lines = "GET http://u:sesame@a/x?token=sesame&n=1 HTTP/1.1\r\nHost: a\r\n\
                 Authorization: Bearer sesame\r\nCookie: a=sesame\r\nX-Own: sesame\r\n\
                 Accept: */*\r\n\r\n";
    let shown = request(&Masks::default(), lines.as_bytes(), lines.len()).head;
    let all = shown.join("\n");
    assert!(!all.contains("sesame") && all.matches("[masked:").count() == 5, "{all}");
    assert!(all.contains("n=1 HTTP/1.1\nHost: a\n") && all.ends_with("\nAccept: */*"), "{all}");
    let masks = Masks { shows_all: true, ..Masks::default() };
    let open = request(&masks, lines.as_bytes(), lines.len()).head;
    assert_eq!(open.join("\r\n"), lines.trim_end());
    // HTTP/2 has the path in a field.
    let lines = ":method: GET\r\n:path: /?key=sesame\r\nx-own: sesame\r\naccept: a\r\n\r\n";
    let shown = request(&Masks::default(), lines.as_bytes(), lines.len()).head;
    let masked = |line: &String| line.contains("[masked:") && !line.contains("sesame");
    assert!(masked(&shown[1]) && masked(&shown[2]), "{shown:?}");
    assert_eq!((shown[0].as_str(), shown[3].as_str()), (":method: GET", "accept: a"));
}

#[test]
fn heads_of_responses_hide_what_is_named_as_a_secret() {
    let fields = "Server: x\r\nSet-Cookie: id=sesame; Path=/; HttpOnly\r\nX-Auth-Token: sesame\r\n\
                  Location: https://u:sesame@b/?token=sesame&n=1\r\nX-Rate: 7\r\n\
                  WWW-Authenticate: Digest realm=\"r\", nonce=\"sesame\"\r\n\r\n";
    let first_line = Some("HTTP/1.1 401 No".to_owned());
    let received = Received { first_line, fields: fields.as_bytes(), ..Received::default() };
    let shown = response(&Masks::default(), &[], received.clone()).head.join("\n");
    assert!(!shown.contains("sesame"), "{shown}");
    for kept in
        ["HTTP/1.1 401 No\nServer: x\n", "; Path=/; HttpOnly", "n=1", "X-Rate: 7", "realm=\"r\""]
    {
        assert!(shown.contains(kept), "{kept}: {shown}");
    }
    let named = Masks { names: vec!["rate".to_owned()], ..Masks::default() };
    let shown = response(&named, &[], received).head.join("\n");
    assert!(shown.contains("X-Rate: [masked:"), "{shown}");
}

#[test]
fn bodies_lose_the_values_of_secrets() {
    let json = "application/json";
    for (media_type, body, kept) in [
        (json, r#"{"user":"a","password":"ses\"ame","n":[1]}"#, r#"{"user":"a","password":"["#),
        (json, r#"{"tokens":["sesame",{"a":"sesame"}],"b":1}"#, r#"]","b":1}"#),
        (json, r#"{"code": 503, "key":true, "message":"no"}"#, r#""code": 503, "key":true, "m"#),
        (json, r#"{"pin": 123456, "b": "x"}"#, r#", "b": "x"}"#),
        (json, r#"{"message":"token=sesame was refused"}"#, "was refused"),
        (json, r#"{"inner":"{\"token\":\"sesame\"}"}"#, r#"{"inner":"["#),
        (json, r#"{"a":"b","secret":"sesam"#, r#"{"a":"b","secret":"["#),
        ("text/plain", r#"{"token":"sesame"}"#, r#"{"token":"["#),
        ("application/x-www-form-urlencoded", "a=1&password=sesame&b=2", "a=1&password=["),
    ] {
        for message in [sent(media_type, body), received(media_type, body.as_bytes())] {
            let shown = text_of(&message);
            assert!(!shown.contains("sesam") && !shown.contains("ame\""), "{shown}");
            assert!(!shown.contains("123456") && shown.contains(kept), "{shown}");
            assert_eq!(message.body.bytes, body.len() as u64);
        }
    }
}

#[test]
fn what_has_no_secret_stays_as_it_is() {
    for body in ["{\"a\":[1, \"\\u00e9\\\\\"],\n \"b\":{}}", "over capacity\n", "\u{1b}[31mred", ""]
    {
        assert_eq!(text_of(&sent("", body)), body);
        assert_eq!(text_of(&received("", body.as_bytes())), body);
    }
}

#[test]
fn a_body_in_an_unknown_grammar_is_masked_as_a_whole_if_it_names_a_secret() {
    let multipart =
        "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nsesame\r\n--b--";
    let cases = [
        sent("multipart/form-data; boundary=b", multipart),
        sent("application/xml", "<password>sesame</password>"),
        sent("application/grpc", "\0\0\0\0\u{3}abc"),
        received("application/grpc", b"\0\0\0\0\x03abc"),
    ];
    for message in cases {
        let Kept::Mask(mask) = &message.body.kept else { panic!("{message:?}") };
        assert!(mask.starts_with("[masked:") && !mask.contains("sesame"), "{mask}");
    }
}

#[test]
fn what_is_not_text_is_bytes_and_what_is_long_is_cut() {
    let binary = received("", b"\xff\0");
    assert_eq!(binary.body.kept, Kept::Binary(b"\xff\0".to_vec()));
    let long = "é".repeat(BODY_BYTES_MAX);
    // The limit is in the middle of a character.
    let odd = format!("a{long}");
    let message = received("", odd.as_bytes());
    assert_eq!(text_of(&message).len(), BODY_BYTES_MAX - 1);
    assert_eq!(message.body.bytes, odd.len() as u64);
}

#[test]
fn the_first_is_the_one_with_the_lowest_number_and_the_failure_the_earliest() {
    let of = |number: u64, ended_ns: u64| Transcript {
        number,
        hops: 0,
        request: Message::default(),
        line: None,
        response: None,
        trailers: Vec::new(),
        times: Times::default(),
        ended_ns,
        outcome: Outcome::TimedOut,
        failure: None,
    };
    let all = |number, ended_ns| Transcripts {
        first: vec![of(number, 9)],
        failed: Some(of(number, ended_ns)),
    };
    let mut sum = all(16, 5);
    sum.merge(&all(0, 7));
    sum.merge(&Transcripts::default());
    assert_eq!((sum.first[0].number, sum.failed.as_ref().map(|it| it.number)), (0, Some(16)));
    assert!(Transcripts::default().is_empty() && !sum.is_empty());
    assert!(!sum.first[0].is_same(&sum.failed.unwrap()));
}

#[test]
fn secrets_of_the_request_are_masked_where_the_response_repeats_them() {
    let masks = Masks::default();
    let head = "POST /?token=sesame%21 HTTP/1.1\r\nAuthorization: Bearer opened\r\nX-Own: custom\r\n\
                Cookie: a=biscuit; b=no\r\nAccept: harmless\r\n\
                Content-Type: application/x-www-form-urlencoded\r\n\r\n";
    let text = format!("{head}n=plain1&password=hidden");
    let found = secrets(&masks, text.as_bytes(), head.len());
    let said = "sesame%21 sesame! opened custom biscuit hidden harmless plain1 no";
    let fields = format!("X-Said: {said}\r\n\r\n");
    let received = Received {
        first_line: None,
        fields: fields.as_bytes(),
        start: said.as_bytes(),
        bytes: said.len() as u64,
    };
    let message = response(&masks, &found, received);
    for shown in [message.head.join(""), text_of(&message)] {
        for secret in ["sesame", "opened", "custom", "biscuit", "hidden"] {
            assert!(!shown.contains(secret), "{secret}: {shown}");
        }
        assert!(shown.ends_with("harmless plain1 no"), "{shown}");
    }
    let path = ":method: GET\r\n:path: /?key=sesame\r\n\r\n";
    assert!(secrets(&masks, path.as_bytes(), path.len()).contains(&"sesame".to_owned()));
    let open = Masks { shows_all: true, ..masks };
    assert!(secrets(&open, text.as_bytes(), head.len()).is_empty());
}

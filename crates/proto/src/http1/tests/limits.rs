//! Every length is held to its limit, exactly and however the bytes are cut.

use super::check;
use crate::http1::RequestKind::Plain;
use crate::http1::fuzz::{trace_request, trace_response};
use crate::http1::{INTERIM_MAX, Limits};

fn check_response(limits: Limits, data: &str, expected: &[&str]) {
    check(data.as_bytes(), expected, |data, cuts| trace_response(limits, Plain, data, cuts));
}

fn check_request(limits: Limits, data: &str, expected: &[&str]) {
    check(data.as_bytes(), expected, |data, cuts| trace_request(limits, data, cuts));
}

#[test]
fn head_bytes() {
    let data = "GET / HTTP/1.1\r\nA: b\r\n\r\n";
    let fits = Limits { head_bytes: data.len(), ..Limits::default() };
    let expected = ["head GET / 1.1 keep-alive None [A=b]", "end keep-alive", "idle"];
    check_request(fits, data, &expected);
    let short = Limits { head_bytes: data.len() - 1, ..Limits::default() };
    check_request(short, data, &["error head_too_long"]);
    // Blank lines count, or there would be no end to them.
    check_request(fits, &format!("\n{data}"), &["error head_too_long"]);
    check_request(fits, &"\r\n".repeat(data.len()), &["error head_too_long"]);
    // The error that comes first is the one that is given.
    check_request(short, &data.replace('A', "\0"), &["error malformed_head"]);
    // Each head has the whole limit.
    let twice: Vec<&str> = [&expected[..2], &expected[..]].concat();
    let roomy = Limits { head_bytes: data.len() + 2, ..Limits::default() };
    check_request(fits, &data.repeat(2), &twice);
    check_request(roomy, &format!("\r\n{data}").repeat(2), &twice);
}

#[test]
fn long_heads_in_pieces() {
    let limits = Limits::default();
    let value = "v".repeat(limits.head_bytes);
    let data = format!("GET / HTTP/1.1\r\nA: {value}");
    let cuts: Vec<usize> = (1..data.len()).step_by(100).collect();
    for cuts in [&[][..], &cuts] {
        assert_eq!(trace_request(limits, data.as_bytes(), cuts), ["error head_too_long"]);
    }
    let data = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", &value[..60_000]);
    for cuts in [&[][..], &cuts[..500]] {
        let trace = trace_request(limits, data.as_bytes(), cuts);
        assert_eq!(trace[1..], ["end keep-alive", "idle"]);
    }
}

#[test]
fn headers() {
    let limits = Limits { headers: 2, ..Limits::default() };
    check_response(
        limits,
        "HTTP/1.1 204 \r\nA: 1\r\nB: 2\r\n\r\n",
        &["head 204 1.1 None [A=1] [B=2]", "end keep-alive", "idle"],
    );
    check_response(
        limits,
        "HTTP/1.1 204 \r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n",
        &["error too_many_headers"],
    );
    let many = |count: usize| format!("GET / HTTP/1.1\r\n{}\r\n", "A: 1\r\n".repeat(count));
    for headers in [128, 1000] {
        let limits = Limits { headers, ..Limits::default() };
        assert_eq!(trace_request(limits, many(128).as_bytes(), &[]).len(), 3);
        let trace = trace_request(limits, many(129).as_bytes(), &[]);
        assert_eq!(trace, ["error too_many_headers"]);
    }
}

#[test]
fn responses_have_as_many_headers_as_the_limit_says() {
    let many = |count: usize| format!("HTTP/1.1 204 \r\n{}\r\n", "A: 1\r\n".repeat(count));
    for (limit, count, is_read) in [
        (128, 128, true),
        (128, 129, false),
        (129, 129, true),
        (5000, 5000, true),
        (5000, 5001, false),
        (usize::MAX, 20_000, true),
    ] {
        let limits = Limits { headers: limit, head_bytes: 1 << 20, ..Limits::default() };
        let data = many(count);
        let pieces: Vec<usize> = (1..data.len()).step_by(1000).collect();
        for cuts in [&[][..], &[data.len() - 4], &pieces] {
            let trace = trace_response(limits, Plain, data.as_bytes(), cuts);
            match is_read {
                true => assert_eq!(trace[1..], ["end keep-alive", "idle"], "{limit} {count}"),
                false => assert_eq!(trace, ["error too_many_headers"], "{limit} {count}"),
            }
        }
    }
}

#[test]
fn a_long_head_in_pieces_is_read_to_its_end() {
    let limits = Limits { head_bytes: 1 << 20, ..Limits::default() };
    let long = |bytes: usize| format!("HTTP/1.1 204 \r\nA: {}\r\nB: 2\r\n\r\n", "v".repeat(bytes));
    let rest = long(0).len();
    for (bytes, is_read) in [((1 << 20) - rest, true), ((1 << 20) - rest + 1, false)] {
        let data = long(bytes);
        // The pieces end at the last line breaks, too.
        let ends = (data.len() - 12)..data.len();
        let pieces: Vec<usize> = (1..data.len() - 12).step_by(9000).chain(ends).collect();
        for cuts in [&[][..], &pieces] {
            let trace = trace_response(limits, Plain, data.as_bytes(), cuts);
            match is_read {
                true => assert_eq!(trace[1..], ["end keep-alive", "idle"]),
                false => assert_eq!(trace, ["error head_too_long"]),
            }
        }
    }
}

#[test]
fn interim_responses() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    let most = usize::from(INTERIM_MAX);
    let data = format!("{}HTTP/1.1 204 \r\n\r\n", interim.repeat(most));
    let trace = trace_response(Limits::default(), Plain, data.repeat(2).as_bytes(), &[]);
    assert_eq!(trace.len(), 2 * (most + 2) + 1);
    let data = interim.repeat(most + 1);
    let trace = trace_response(Limits::default(), Plain, data.as_bytes(), &[]);
    assert_eq!(trace.len(), most + 1);
    assert_eq!(trace[most], "error too_many_interim");
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const CHUNKED_HEAD: &str = "head 200 1.1 Chunked [Transfer-Encoding=chunked]";

#[test]
fn chunk_line_bytes() {
    let limits = Limits { chunk_line_bytes: 5, ..Limits::default() };
    let whole = [CHUNKED_HEAD, "body x", "end keep-alive", "idle"];
    check_response(limits, &format!("{CHUNKED}1;a\r\nx\r\n000\r\n\r\n"), &whole);
    let long = [CHUNKED_HEAD, "error chunk_line_too_long"];
    check_response(limits, &format!("{CHUNKED}1;ab\r\nx\r\n0\r\n\r\n"), &long);
    check_response(limits, &format!("{CHUNKED}000000000"), &long);
    check_response(limits, &format!("{CHUNKED}1;          "), &long);
}

#[test]
fn trailer_bytes() {
    let limits = Limits { trailer_bytes: 12, ..Limits::default() };
    let whole = [CHUNKED_HEAD, "end keep-alive", "idle"];
    check_response(limits, &format!("{CHUNKED}0\r\nA: 1\r\nB: 2\r\n\r\n"), &whole);
    let long = [CHUNKED_HEAD, "error trailers_too_long"];
    check_response(limits, &format!("{CHUNKED}0\r\nA: 1\r\nB: 23\r\n\r\n"), &long);
    check_response(limits, &format!("{CHUNKED}0\r\nAAAAAAAAAAAAAAAA"), &long);
}

#[test]
fn body_bytes() {
    let limits = Limits { body_bytes: 4, ..Limits::default() };
    let response = |fields: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n{body}");
    check_response(
        limits,
        &response("Content-Length: 4\r\n", "abcd"),
        &["head 200 1.1 Known(4) [Content-Length=4]", "body abcd", "end keep-alive", "idle"],
    );
    check_response(limits, &response("Content-Length: 5\r\n", ""), &["error body_too_long"]);
    let until_close = "head 200 1.1 UntilClose";
    check_response(limits, &response("", "abcd"), &[until_close, "body abcd", "end close"]);
    check_response(
        limits,
        &response("", "abcde"),
        &[until_close, "body abcd", "error body_too_long"],
    );
    check_response(
        limits,
        &format!("{CHUNKED}3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n"),
        &[CHUNKED_HEAD, "body abcd", "end keep-alive", "idle"],
    );
    check_response(
        limits,
        &format!("{CHUNKED}3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
        &[CHUNKED_HEAD, "body abc", "error body_too_long"],
    );
    // The largest size there is, with nothing left for the next.
    check_response(
        Limits::default(),
        &format!("{CHUNKED}ffffffffffffffff\r\nab"),
        &[CHUNKED_HEAD, "body ab", "error truncated_body"],
    );
    check_response(
        limits,
        &format!("{CHUNKED}ffffffffffffffff\r\nab"),
        &[CHUNKED_HEAD, "error body_too_long"],
    );
}

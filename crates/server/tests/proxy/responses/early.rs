//! Answers before the request is whole, more than one answer, and bodies where none belongs.

use super::{Ask, Case, POISON, Want, case, passed};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = extra();
    cases.extend(bodiless());
    cases.extend(interim());
    cases.extend(early());
    cases
}

fn hello() -> Want {
    Want::Passed(passed(200, "hello"))
}

fn extra() -> Vec<Case> {
    let source = "RFC 9112 9.2; Kettle 2021: response queue poisoning";
    let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    vec![
        case("a second response", source, format!("{OK}{POISON}"), hello()).whole(),
        case("a second response after chunks", source, format!("{chunks}{POISON}"), hello())
            .whole(),
        case("a second response, to HTTP/1.0", source, format!("{OK}{POISON}"), hello())
            .to(Ask::GetOld)
            .whole(),
        case("a second response, and a close", source, format!("{OK}{POISON}"), hello())
            .closing()
            .whole(),
        case("half of a second response", source, format!("{OK}HTTP/1.1 2"), hello()).whole(),
        case("a byte too many", "RFC 9112 9.2", format!("{OK}x"), hello()).whole(),
        case("an empty line too many", "RFC 9112 9.2", format!("{OK}\r\n"), hello()).whole(),
        case(
            "a second response after one that closes",
            source,
            format!("{}{POISON}", OK.replace("Content", "Connection: close\r\nContent")),
            hello(),
        )
        .closing()
        .whole(),
    ]
}

fn bodiless() -> Vec<Case> {
    let head = |status: &str, fields: &str| format!("HTTP/1.1 {status}\r\n{fields}\r\n{POISON}");
    let pass = |name, source, status: u16, bytes: String| {
        case(name, source, bytes, Want::PassedOrGateway(passed(status, ""))).whole()
    };
    let length = "Content-Length: 44\r\n";
    let chunked = "Transfer-Encoding: chunked\r\n";
    vec![
        pass("HEAD with a body", "RFC 9110 9.3.2", 200, head("200 OK", length)).to(Ask::Head),
        pass("HEAD with chunks", "RFC 9110 9.3.2", 200, head("200 OK", chunked)).to(Ask::Head),
        pass("HEAD up to the close", "RFC 9110 9.3.2", 200, head("200 OK", "")).to(Ask::Head),
        pass("204 with a length and a body", "RFC 9110 15.3.5", 204, head("204 No", length)),
        pass("204 with chunks", "RFC 9110 15.3.5", 204, head("204 No", chunked)),
        pass("204 and a body", "RFC 9110 15.3.5", 204, head("204 No", "")),
        pass("304 with a length and a body", "RFC 9110 15.4.5", 304, head("304 Not", length)),
        pass("304 and a body", "RFC 9110 15.4.5", 304, head("304 Not", "")),
    ]
}

fn interim() -> Vec<Case> {
    let many = |count: usize| "HTTP/1.1 103 Early\r\nX: y\r\n\r\n".repeat(count) + OK;
    let source = "RFC 9110 15.2";
    vec![
        case("10 interim responses", source, many(10), hello()).whole(),
        case("5000 interim responses", "RFC 9110 15.2: a limit", many(5000), Want::Unusable)
            .whole(),
        case(
            "interim response with a length",
            "RFC 9110 8.6",
            format!("HTTP/1.1 103 Early\r\nContent-Length: 5\r\n\r\n{OK}"),
            Want::PassedOrGateway(passed(200, "hello")),
        ),
        case(
            "101 unasked",
            "RFC 9110 15.2.2, 7.8",
            "HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\nfree",
            Want::Gateway,
        ),
        case(
            "101 unasked, to POST",
            "RFC 9110 15.2.2; Miller 2020",
            format!("HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n{POISON}"),
            Want::Gateway,
        )
        .to(Ask::Post),
        case(
            "interim response and a close",
            "RFC 9110 15.2",
            "HTTP/1.1 103 Early\r\n\r\n",
            Want::Unusable,
        )
        .closing(),
        case(
            "invalid interim response",
            source,
            format!("HTTP/1.1 1 x\r\n\r\n{OK}"),
            Want::Gateway,
        )
        .closing(),
    ]
}

fn early() -> Vec<Case> {
    let unauthorized = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno";
    let no = || Want::Passed(passed(401, "no"));
    let source = "RFC 9112 9.3; CVE-2025-4366 Pingora; Kettle 2022";
    let late = |name, bytes: &str, want| case(name, source, bytes, want).to(Ask::PostLate).early();
    let expecting = |name, bytes: &str, want| {
        case(name, "RFC 9110 10.1.1; Kettle 2025", bytes, want).to(Ask::PostExpecting).early()
    };
    vec![
        late("answered before the body, which then comes", OK, hello()),
        late("refused before the body, which then comes", unauthorized, no()),
        late("answered before the body, and closed", OK, hello()).closing(),
        late(
            "answered in chunks before the body",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            hello(),
        ),
        late("answered up to the close before the body", "HTTP/1.1 200 OK\r\n\r\nhello", hello())
            .closing(),
        late("answered twice before the body", &format!("{OK}{POISON}"), hello()),
        expecting("not asked to continue: 401, and the body comes", unauthorized, no()),
        expecting("not asked to continue: 401, and closed", unauthorized, no()).closing(),
        expecting("not asked to continue: 200", OK, hello()),
        expecting(
            "asked to continue, and refused at once",
            &format!("HTTP/1.1 100 Continue\r\n\r\n{unauthorized}"),
            no(),
        ),
    ]
}

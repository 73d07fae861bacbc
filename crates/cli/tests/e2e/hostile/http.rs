//! Every way we know to break HTTP/1 as a server.

use super::server::{Dice, Step};
use Step::{Drip, Fin, Flood, Read, Reset, Say, Split, Stall};

/// A fault: its name, and what a server does for it.
pub(crate) type Fault = (&'static str, fn(&mut Dice) -> Vec<Step>);

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcx";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const GZIP: &str = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 10\r\n\r\n";

fn say(text: impl AsRef<[u8]>) -> Step {
    Say(text.as_ref().to_vec())
}

/// Answers a request with these bytes.
fn answer(bytes: impl AsRef<[u8]>) -> Vec<Step> {
    vec![Read, say(bytes), Stall]
}

/// Answers a request with these bytes and ends.
fn last(bytes: impl AsRef<[u8]>) -> Vec<Step> {
    vec![Read, say(bytes), Fin]
}

/// Answers a request with this head and a body of four bytes.
fn head(fields: &str) -> Vec<Step> {
    answer(format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nabcx"))
}

/// Answers a request with these chunks.
fn chunks(bytes: &str) -> Vec<Step> {
    answer(format!("{CHUNKED}{bytes}"))
}

/// The start of a good answer, of any length.
fn part(dice: &mut Dice) -> Vec<u8> {
    let whole = if dice.below(2) == 0 { OK.to_owned() } else { format!("{CHUNKED}3\r\nabc\r\n") };
    whole.as_bytes()[..dice.below(whole.len())].to_vec()
}

fn redirect(to: &str) -> Vec<Step> {
    let again = format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
    (0..8).flat_map(|_| [Read, say(&again)]).collect()
}

fn cookie(value: impl AsRef<[u8]>) -> Vec<Step> {
    let mut bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nSet-Cookie: ".to_vec();
    bytes.extend_from_slice(value.as_ref());
    bytes.extend_from_slice(b"\r\n\r\nx");
    (0..4).flat_map(|_| [Read, say(&bytes)]).collect()
}

/// Malformed heads, and heads that nobody should believe.
pub(crate) const HEADS: &[Fault] = &[
    ("garbage", |dice| {
        let count = 1 + dice.below(3000);
        answer(dice.bytes(count))
    }),
    ("garbage and end", |dice| {
        let count = 1 + dice.below(300);
        last(dice.bytes(count))
    }),
    ("mutated answer", |dice| {
        let mut bytes = OK.as_bytes().to_vec();
        for _ in 0..=dice.below(4) {
            let at = dice.below(bytes.len());
            bytes[at] = dice.next() as u8;
        }
        answer(bytes)
    }),
    ("status line without version", |_| answer("200 OK\r\n\r\n")),
    ("status of two digits", |_| answer("HTTP/1.1 20 OK\r\n\r\n")),
    ("status of four digits", |_| answer("HTTP/1.1 2000 OK\r\n\r\n")),
    ("status 000", |_| answer("HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n")),
    ("status 999", |_| answer("HTTP/1.1 999 OK\r\nContent-Length: 0\r\n\r\n")),
    ("negative status", |_| answer("HTTP/1.1 -20 OK\r\n\r\n")),
    ("status without reason", |_| answer("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n")),
    ("bare line feeds", |_| answer("HTTP/1.1 200 OK\nContent-Length: 1\n\nx")),
    ("bare carriage returns", |_| answer("HTTP/1.1 200 OK\rContent-Length: 1\r\rx")),
    ("lower case version", |_| answer("http/1.1 200 OK\r\n\r\n")),
    ("version 0.9", |_| last("<html>hello</html>")),
    ("version 1.2", |_| answer("HTTP/1.2 200 OK\r\nContent-Length: 0\r\n\r\n")),
    ("version 2.0", |_| answer("HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n")),
    ("version 1.0", |_| answer("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx")),
    ("settings of HTTP/2", |_| answer([0, 0, 0, 4, 0, 0, 0, 0, 0])),
    ("preface of HTTP/2", |_| answer("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")),
    ("a request", |_| answer("GET / HTTP/1.1\r\nHost: a\r\n\r\n")),
    ("NUL in a name", |_| head("A\0b: c\r\nContent-Length: 4")),
    ("NUL in a value", |_| head("A: b\0c\r\nContent-Length: 4")),
    ("NULs", |_| vec![Read, Flood(vec![0; 4096], 64)]),
    ("folded value", |_| head("A: b\r\n c\r\nContent-Length: 4")),
    ("folded length", |_| head("Content-Length:\r\n 4")),
    ("folded first field", |_| head(" A: b\r\nContent-Length: 4")),
    ("space before the colon", |_| head("Content-Length : 4")),
    ("field without a colon", |_| head("Content-Length 4")),
    ("field without a name", |_| head(": 4\r\nContent-Length: 4")),
    ("bytes above 127", |_| {
        answer(b"HTTP/1.1 200 \xff\r\nA\xe9: \xfe\r\nContent-Length: 0\r\n\r\n")
    }),
    ("enormous value", |_| head(&format!("A: {}\r\nContent-Length: 4", "a".repeat(1 << 20)))),
    ("enormous name", |_| head(&format!("{}: a\r\nContent-Length: 4", "a".repeat(1 << 20)))),
    ("enormous reason", |_| answer(format!("HTTP/1.1 200 {}\r\n\r\n", "a".repeat(1 << 20)))),
    ("many fields", |_| head(&format!("{}Content-Length: 4", "A: b\r\n".repeat(10_000)))),
    ("endless line", |_| vec![Read, Flood(vec![b'H'; 65_536], 256)]),
    ("endless head", |_| {
        vec![Read, say("HTTP/1.1 200 OK\r\n"), Flood(b"Abc: def\r\n".repeat(1000), 400)]
    }),
    ("endless empty lines", |_| vec![Read, Flood(b"\r\n".repeat(4096), 256)]),
    ("interim flood", |_| vec![Read, Flood(b"HTTP/1.1 100 Continue\r\n\r\n".repeat(100), 400)]),
    ("interim hints, then an answer", |_| {
        answer(format!("{}{OK}", "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n".repeat(5)))
    }),
    ("interim, then the end", |_| last("HTTP/1.1 100 Continue\r\n\r\n")),
    ("interim, then nothing", |_| answer("HTTP/1.1 100 Continue\r\n\r\n")),
    ("other protocol", |_| {
        answer("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n\x01\x02")
    }),
    ("no content, with a body", |_| answer("HTTP/1.1 204 No\r\nContent-Length: 4\r\n\r\nabcd")),
    ("not modified, with a body", |_| answer("HTTP/1.1 304 No\r\nContent-Length: 4\r\n\r\nabcd")),
    ("not modified, chunked", |_| {
        answer("HTTP/1.1 304 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n")
    }),
];

/// Bodies that do not end where they say.
pub(crate) const BODIES: &[Fault] = &[
    ("negative length", |_| head("Content-Length: -4")),
    ("length with a plus", |_| head("Content-Length: +4")),
    ("length in hex", |_| head("Content-Length: 0x4")),
    ("length beyond 64 bits", |_| head("Content-Length: 99999999999999999999999999")),
    ("length of 2^64-1", |_| head("Content-Length: 18446744073709551615")),
    ("length of 2^63", |_| last(format!("{}abc", OK.replace(": 4", ": 9223372036854775808")))),
    ("empty length", |_| head("Content-Length:")),
    ("list of equal lengths", |_| head("Content-Length: 4, 4")),
    ("list of lengths", |_| head("Content-Length: 4, 5")),
    ("conflicting lengths", |_| head("Content-Length: 4\r\nContent-Length: 5")),
    ("length and chunks", |_| {
        answer(
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        )
    }),
    ("unknown transfer coding", |_| head("Transfer-Encoding: x")),
    ("chunked twice", |_| head("Transfer-Encoding: chunked, chunked")),
    ("chunked not last", |_| head("Transfer-Encoding: chunked, gzip")),
    ("neither length nor end", |_| head("A: b")),
    ("endless body", |_| {
        vec![Read, say("HTTP/1.1 200 OK\r\n\r\n"), Flood(vec![b'x'; 65_536], 400)]
    }),
    ("chunk without size", |_| chunks("\r\nabc\r\n")),
    ("chunk of no number", |_| chunks("zz\r\nabc\r\n")),
    ("negative chunk", |_| chunks("-1\r\nabc\r\n")),
    ("chunk beyond 64 bits", |_| chunks("fffffffffffffffff\r\nabc")),
    ("chunk of 2^64-1", |_| chunks("ffffffffffffffff\r\nabc")),
    ("chunk too short", |_| chunks("5\r\nabc\r\n0\r\n\r\n")),
    ("chunk too long", |_| chunks("1\r\nabc\r\n0\r\n\r\n")),
    ("chunk without its end", |_| last(format!("{CHUNKED}3\r\nabc"))),
    ("chunks without the last", |_| last(format!("{CHUNKED}3\r\nabc\r\n"))),
    ("endless chunk line", |_| {
        vec![Read, say(format!("{CHUNKED}1;")), Flood(vec![b'a'; 65_536], 64)]
    }),
    ("endless zeros of a size", |_| vec![Read, say(CHUNKED), Flood(vec![b'0'; 65_536], 64)]),
    ("endless trailers", |_| {
        vec![Read, say(format!("{CHUNKED}0\r\n")), Flood(b"A: b\r\n".repeat(1000), 400)]
    }),
    ("endless chunks of a byte", |_| {
        vec![Read, say(CHUNKED), Flood(b"1\r\nx\r\n".repeat(1000), 400)]
    }),
    ("bad trailer", |_| chunks("0\r\nA\0: b\r\n\r\n")),
    ("invalid gzip", |_| answer(format!("{GZIP}abcdefghij"))),
    ("gzip of every flag", |_| {
        answer([GZIP.as_bytes(), b"\x1f\x8b\x08\xff\xff\xff\xff\xff\xff\xff"].concat())
    }),
    ("gzip as transfer coding", |_| last(CHUNKED.replace("chunked", "gzip") + "\x1f\x08")),
];

/// Connections that are cut, slow, deaf, or talk out of turn.
pub(crate) const CONNECTIONS: &[Fault] = &[
    ("end before the request", |_| vec![Fin]),
    ("end after the request", |_| vec![Read, Fin]),
    ("end within the answer", |dice| vec![Read, Say(part(dice)), Fin]),
    ("close with the request unread", |_| vec![]),
    ("reset before the request", |_| vec![Reset]),
    ("reset after the request", |_| vec![Read, Reset]),
    ("reset within the answer", |dice| vec![Read, Say(part(dice)), Reset]),
    ("reset after the answer", |_| vec![Read, say(OK), Reset]),
    ("reset after several", |_| vec![Read, say(OK), Read, say(OK), Read, Reset]),
    ("stall within the answer", |dice| vec![Read, Say(part(dice)), Stall]),
    ("never reads", |_| vec![Stall]),
    ("never answers", |_| vec![Read, Stall]),
    ("answers with its side ended", |_| vec![say(OK), Fin]),
    ("bytes before the request", |_| vec![say("x"), Read, say(OK), Stall]),
    ("answer before the request", |_| vec![say(OK), Read, say(OK), Stall]),
    ("flood before the request", |_| vec![Flood(OK.repeat(100).into_bytes(), 40)]),
    ("bytes after the answer", |_| answer(format!("{OK}garbage"))),
    ("two answers", |_| answer(format!("{OK}{OK}"))),
    ("many answers", |_| vec![Read, Flood(OK.repeat(100).into_bytes(), 100)]),
    ("split at every byte", |_| (0..4).flat_map(|_| [Read, Split(OK.into())]).collect()),
    ("chunks split at every byte", |_| {
        vec![Read, Split(format!("{CHUNKED}3;a=b\r\nabc\r\n0\r\nA: b\r\n\r\n").into()), Stall]
    }),
    ("slow head", |_| vec![Read, Drip(OK.into()), Stall]),
    ("slow body", |_| vec![Read, say(CHUNKED), Drip(b"1\r\nx\r\n".repeat(20))]),
    ("says close, does not", |_| answer(OK.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"))),
    ("says close, talks on", |_| {
        let bytes = OK.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
        vec![Read, say(bytes), Flood(OK.repeat(100).into_bytes(), 40)]
    }),
    ("good", |_| (0..20).flat_map(|_| [Read, say(OK)]).collect()),
];

/// What redirects and cookies can be abused for.
pub(crate) const DIALOGS: &[Fault] = &[
    ("redirect to itself", |_| redirect("/")),
    ("many redirects at once", |_| {
        let one = b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n";
        [Read, Flood(one.to_vec(), 50)].into_iter().chain(redirect("/")).collect()
    }),
    ("redirect elsewhere", |_| redirect("http://192.0.2.1:1/")),
    ("redirect to another scheme", |_| redirect("file:///etc/passwd")),
    ("redirect with a space", |_| redirect("/a b\tc")),
    ("redirect to nothing", |_| redirect("")),
    ("redirect to dots", |_| redirect(&"/..".repeat(2000))),
    ("redirect to an enormous place", |_| redirect(&format!("/{}", "a".repeat(60_000)))),
    ("redirect to a broken port", |_| redirect("http://127.0.0.1:99999/")),
    ("redirect without a place", |_| answer("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n")),
    ("redirect to two places", |_| {
        answer("HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")
    }),
    ("redirect of bytes above 127", |_| {
        answer(b"HTTP/1.1 302 Found\r\nLocation: /\xff\xfe\r\nContent-Length: 0\r\n\r\n")
    }),
    ("redirect, then the end", |_| {
        last("HTTP/1.1 302 Found\r\nLocation: /\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    }),
    ("cookie without a value", |_| cookie("a")),
    ("cookie without a name", |_| cookie("=b")),
    ("cookie of control bytes", |_| cookie(b"a=\x01\x7f\xff")),
    ("cookie of separators", |_| cookie("; ; =;;,a=b; Max-Age=-99999999999999999999")),
    ("enormous cookie", |_| cookie(format!("a={}", "b".repeat(60_000)))),
    ("many cookies", |dice| {
        let fields = (0..60).map(|_| format!("Set-Cookie: c{}=v\r\n", dice.next()));
        let fields: String = fields.collect();
        let bytes = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 1\r\n\r\nx");
        (0..8).flat_map(|_| [Read, say(&bytes)]).collect()
    }),
];

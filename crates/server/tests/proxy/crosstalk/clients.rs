//! Clients that ask well and badly, and compare every response with its request.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::upstreams::{Manner, body_of, sum};
use super::{Dice, Verdict};
use crate::client::{Client, Ended, Trouble};
use crate::strict::Response;
use crate::upstream::socket_reset;

/// Statuses of a proxy that speaks for itself.
const OWN: [u16; 10] = [400, 405, 408, 413, 417, 431, 501, 502, 503, 504];

/// Connections that a client leaves half way at once.
const PARKED_MAX: usize = 6;

#[derive(Debug, Clone)]
struct Request {
    method: &'static str,
    token: u64,
    bytes: Vec<u8>,
}

/// A request of which only the beginning is sent.
struct Parked {
    client: Client,
    request: Request,
    rest: usize,
}

/// A client that does one thing after the other.
pub(super) struct Wild<'a> {
    address: SocketAddr,
    dice: Dice,
    parked: Vec<Parked>,
    /// What it is at, for a report.
    doing: usize,
    verdict: &'a Verdict,
}

impl<'a> Wild<'a> {
    pub(super) fn new(address: SocketAddr, seed: u64, number: u64, verdict: &'a Verdict) -> Self {
        let dice = Dice::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(number));
        Self { address, dice, parked: Vec::new(), doing: 0, verdict }
    }

    /// One connection, or a part of one.
    pub(super) fn act(&mut self) {
        self.doing = self.dice.below(16);
        match self.doing {
            0..=4 => self.one_after_another(),
            5 | 6 => self.pipeline(),
            7 => self.leave_while_asking(),
            8 => self.leave_while_answered(),
            9 => self.half_close(),
            10 => self.in_pieces(),
            11 => self.flip(),
            12 | 13 => self.park(),
            14 => self.unpark(),
            _ => self.read_late(),
        }
    }

    /// Ends what is half way.
    pub(super) fn settle(&mut self) {
        while !self.parked.is_empty() {
            self.unpark();
        }
    }

    /// Plain requests that have to be answered, each on a connection of its own.
    pub(super) fn ask_calmly(&mut self, count: usize) {
        for _ in 0..count {
            let token = self.dice.next() | 0xff << 56;
            let request = self.request("GET", token, false);
            let mut client = Client::connect(self.address);
            client.send(&request.bytes);
            match client.response("GET") {
                Ok(response) if response.status == 200 => {
                    self.check(&request, &response);
                }
                other => self.verdict.wrong(format!("at the end, a good request got {other:?}")),
            }
        }
    }

    fn any_request(&mut self) -> Request {
        let method = *self.dice.pick(&["GET", "GET", "GET", "POST", "POST", "HEAD", "DELETE"]);
        let token = self.dice.next();
        self.request(method, token, false)
    }

    fn request(&mut self, method: &'static str, token: u64, is_flipped: bool) -> Request {
        let length = match (method, self.dice.below(12)) {
            ("POST", 0) => self.dice.below(200_000),
            ("POST", _) => self.dice.below(2000),
            _ => 0,
        };
        let body: Vec<u8> = format!("{token:x},").bytes().cycle().take(length).collect();
        let mark = if is_flipped { "X-Flipped: 1\r\nx-flipped: 1\r\n" } else { "" };
        let sum = format!("{length}-{:016x}{}", sum(&body), if is_flipped { "?" } else { "" });
        let mut head =
            format!("{method} /t/{token:016x} HTTP/1.1\r\nHost: a\r\nX-Sum: {sum}\r\n{mark}");
        if method == "POST" && self.dice.below(10) == 0 {
            head += "Expect: 100-continue\r\n";
        }
        let mut bytes = head.into_bytes();
        if method != "POST" {
            bytes.extend(b"\r\n");
        } else if self.dice.below(2) == 0 {
            bytes.extend(format!("Content-Length: {length}\r\n\r\n").bytes());
            bytes.extend(body);
        } else {
            bytes.extend(b"Transfer-Encoding: chunked\r\n\r\n");
            let mut rest = &body[..];
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(1 + self.dice.below(rest.len()));
                bytes.extend(format!("{:X};a=b\r\n", piece.len()).bytes());
                bytes.extend([piece, b"\r\n"].concat());
                rest = after;
            }
            bytes.extend(b"0\r\nX-Trailer: 1\r\n\r\n");
        }
        Request { method, token, bytes }
    }

    /// Reads the response to a request; whether another may follow.
    fn expect(&self, client: &mut Client, request: &Request) -> bool {
        match client.response(request.method) {
            Ok(response) => self.check(request, &response) && !response.head.closes(),
            Err(Trouble::Wrong(why)) => {
                let token = request.token;
                self.verdict.wrong(format!("{token:016x} {:?}: {why}", Manner::of(token)));
                false
            }
            Err(Trouble::Ended(Ended::Open, rest)) => {
                let (token, rest) = (request.token, rest.escape_ascii());
                let (manner, act) = (Manner::of(token), self.doing);
                let head = request.bytes[..request.bytes.len().min(160)].escape_ascii();
                let why = format!("no end of the response in act {act} to {token:016x} {manner:?}");
                let length = request.bytes.len();
                self.verdict.wrong(format!("{why}: \"{rest}\", asked by {length} bytes {head}"));
                false
            }
            Err(Trouble::Ended(..)) => {
                let good = if Manner::of(request.token).is_good() { "good" } else { "bad" };
                self.verdict.count(&format!("cut off, {good} upstream"));
                false
            }
        }
    }

    /// Whether a response is the request's own, or the proxy's.
    fn check(&self, request: &Request, response: &Response) -> bool {
        let (token, manner) = (request.token, Manner::of(request.token));
        let Some(said) = response.head.get("x-token") else {
            if !OWN.contains(&response.status) {
                self.verdict.wrong(format!("{token:016x} {manner:?} got {}", response.status));
            }
            let good = if manner.is_good() { ", good upstream" } else { "" };
            self.verdict.count(&format!("{} of the proxy{good}", response.status));
            if manner == Manner::Plain {
                self.verdict.count("refused by the proxy");
            }
            return true;
        };
        let body = if request.method == "HEAD" { Vec::new() } else { body_of(token) };
        let is_cut =
            manner == Manner::UpToClose || response.framing == crate::strict::Framing::Close;
        let is_own = response.body == body || (is_cut && body.starts_with(&response.body));
        if said != format!("{token:016x}") || !is_own {
            let (length, text) = (response.body.len(), response.body.escape_ascii().to_string());
            let text = &text[..text.len().min(60)];
            let why = format!("{token:016x} {manner:?} got {said} with {length} bytes: {text}");
            self.verdict.wrong(why);
        }
        self.verdict.count("answered");
        true
    }

    fn one_after_another(&mut self) {
        let mut client = Client::connect(self.address);
        for _ in 0..1 + self.dice.below(8) {
            let request = self.any_request();
            client.send(&request.bytes);
            if !self.expect(&mut client, &request) {
                return;
            }
        }
    }

    fn pipeline(&mut self) {
        let requests: Vec<Request> =
            (0..2 + self.dice.below(5)).map(|_| self.any_request()).collect();
        let bytes: Vec<u8> = requests.iter().flat_map(|it| it.bytes.clone()).collect();
        let mut client = Client::connect(self.address);
        // Responses are not read while this is sent, which is no more than buffers hold.
        client.send(&bytes[..bytes.len().min(200_000)]);
        client.finish();
        for request in &requests {
            if !self.expect(&mut client, request) {
                return;
            }
        }
    }

    fn leave_while_asking(&mut self) {
        let request = self.any_request();
        let Ok(mut stream) = TcpStream::connect(self.address) else { return };
        let length = self.dice.below(request.bytes.len());
        // Nobody waits for its response any more.
        let _ = stream.write_all(&request.bytes[..length]);
        if self.dice.below(2) == 0 {
            let _ = socket_reset(&stream);
        }
        self.verdict.count("left while asking");
    }

    fn leave_while_answered(&mut self) {
        let request = self.any_request();
        let Ok(mut stream) = TcpStream::connect(self.address) else { return };
        let _ = stream.write_all(&request.bytes);
        let mut bytes = vec![0; 1 + self.dice.below(300)];
        let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
        let _ = std::io::Read::read(&mut stream, &mut bytes);
        if self.dice.below(2) == 0 {
            let _ = socket_reset(&stream);
        }
        self.verdict.count("left while answered");
    }

    fn half_close(&mut self) {
        let request = self.any_request();
        let mut client = Client::connect(self.address);
        client.send(&request.bytes);
        client.finish();
        self.expect(&mut client, &request);
    }

    fn in_pieces(&mut self) {
        let request = self.any_request();
        let mut client = Client::connect(self.address);
        let mut rest = &request.bytes[..];
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(1 + self.dice.below(rest.len().min(5000)));
            if !client.send(piece) {
                break;
            }
            rest = after;
        }
        self.expect(&mut client, &request);
    }

    /// A request with some bytes changed: what comes back may be anything but another's.
    fn flip(&mut self) {
        let method = *self.dice.pick(&["GET", "POST", "HEAD"]);
        let token = self.dice.next() | 0xff << 56;
        let mut request = self.request(method, token, true);
        for _ in 0..1 + self.dice.below(3) {
            let at = self.dice.below(request.bytes.len().min(400));
            request.bytes[at] = *self.dice.pick(b"\0\n\r \t:;,/0159aZ\x7f\xff-_\"");
        }
        let mut client = Client::connect(self.address);
        client.send(&request.bytes);
        client.finish();
        let ended = client.end();
        if ended == Ended::Open {
            self.verdict.wrong(format!("no end of {}", request.bytes.escape_ascii()));
        }
        if client.rest.windows(6).any(|at| at == b"poison") {
            self.verdict.wrong("poison".into());
        }
        self.verdict.count("flipped");
    }

    fn park(&mut self) {
        if self.parked.len() == PARKED_MAX {
            return self.unpark();
        }
        let request = self.any_request();
        let mut client = Client::connect(self.address);
        let rest = self.dice.below(request.bytes.len());
        client.send(&request.bytes[..rest]);
        self.parked.push(Parked { client, request, rest });
    }

    fn unpark(&mut self) {
        if self.parked.is_empty() {
            return;
        }
        let index = self.dice.below(self.parked.len());
        let Parked { mut client, request, rest } = self.parked.swap_remove(index);
        client.send(&request.bytes[rest..]);
        self.expect(&mut client, &request);
    }

    fn read_late(&mut self) {
        let token = self.dice.next() & !(0xff << 56) | 13 << 56;
        let request = self.request("GET", token, false);
        let mut client = Client::connect(self.address);
        client.send(&request.bytes);
        std::thread::park_timeout(Duration::from_millis(20));
        self.expect(&mut client, &request);
    }
}

//! The judge: a reader of HTTP/1.1 that takes nothing but the canonical form and shares no code
//! with the program. What a proxy sends upstream has to be readable here, in one way only.
//!
//! Absent on purpose: leniency of any kind, and speed.

/// Why bytes are not a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// They may become one.
    Incomplete,
    /// They never will.
    Wrong(String),
}

/// How the end of a body was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// No body.
    None,
    /// By Content-Length.
    Length,
    /// By the last chunk.
    Chunked,
    /// By the end of the connection.
    Close,
}

/// The start of a message up to the empty line.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) start: String,
    pub(crate) fields: Vec<(String, String)>,
    /// Its bytes, the empty line with them.
    pub(crate) bytes: usize,
}

/// A request that a proxy sent.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

/// A response that a proxy sent, with the statuses of the interim ones before it.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) interim: Vec<u16>,
    pub(crate) status: u16,
    pub(crate) head: Head,
    pub(crate) framing: Framing,
    pub(crate) body: Vec<u8>,
}

type Read<T> = Result<(T, usize), Fault>;

fn wrong<T>(why: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Wrong(why.into()))
}

impl Head {
    /// The values of a field, in order.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.fields.iter().filter(move |(it, _)| it.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str())
    }

    /// The first value of a field.
    pub(crate) fn get<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).next()
    }

    /// Whether the sender says that it will close.
    pub(crate) fn closes(&self) -> bool {
        self.all("connection").any(|value| value.eq_ignore_ascii_case("close"))
    }
}

fn is_token(text: &str) -> bool {
    let special = "!#$%&'*+-.^_`|~";
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || special.contains(c))
}

/// One line without its CRLF. A CR or LF anywhere else is wrong.
fn line(bytes: &[u8]) -> Read<String> {
    let stop = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
    let Some(stop) = stop else { return Err(Fault::Incomplete) };
    match bytes[stop..] {
        [b'\r', b'\n', ..] => {
            let text = bytes[..stop].iter().map(|&byte| char::from(byte)).collect::<String>();
            let control = text.chars().find(|c| *c != '\t' && (*c < ' ' || *c == '\x7f'));
            match control {
                Some(control) => wrong(format!("control character {control:?} in {text:?}")),
                None => Ok((text, stop + 2)),
            }
        }
        [b'\r'] => Err(Fault::Incomplete),
        _ => wrong("a CR or LF alone"),
    }
}

/// Field lines up to the empty line.
fn fields(bytes: &[u8]) -> Read<Vec<(String, String)>> {
    let (mut fields, mut at) = (Vec::new(), 0);
    loop {
        let (text, length) = line(&bytes[at..])?;
        at += length;
        if text.is_empty() {
            return Ok((fields, at));
        }
        let Some((name, value)) = text.split_once(':') else {
            return wrong(format!("a field without a colon: {text:?}"));
        };
        if !is_token(name) {
            return wrong(format!("the field name {name:?}"));
        }
        fields.push((name.to_owned(), value.trim_matches([' ', '\t']).to_owned()));
    }
}

/// The head of a message.
pub(crate) fn head(bytes: &[u8]) -> Result<Head, Fault> {
    let (start, first) = line(bytes)?;
    let (fields, rest) = fields(&bytes[first..])?;
    Ok(Head { start, fields, bytes: first + rest })
}

/// What the head says about the body; `None` where it says nothing.
fn framing(head: &Head) -> Result<Option<(Framing, usize)>, Fault> {
    let lengths: Vec<&str> = head.all("content-length").collect();
    let codings: Vec<&str> = head.all("transfer-encoding").collect();
    match (&lengths[..], &codings[..]) {
        ([], []) => Ok(None),
        ([], ["chunked"]) => Ok(Some((Framing::Chunked, 0))),
        ([length], []) => match length.parse() {
            Ok(number) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
                Ok(Some((Framing::Length, number)))
            }
            _ => wrong(format!("the length {length:?}")),
        },
        _ => wrong(format!("the lengths {lengths:?} with the codings {codings:?}")),
    }
}

/// A chunked body and how many bytes it took. Extensions are wrong: a proxy makes chunks anew.
fn chunked(bytes: &[u8]) -> Read<Vec<u8>> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let (size, length) = line(&bytes[at..])?;
        at += length;
        if size.is_empty() || size.len() > 15 || !size.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return wrong(format!("the chunk size {size:?}"));
        }
        let size = usize::from_str_radix(&size, 16).expect("up to 15 hexadecimal digits");
        if size == 0 {
            let (trailers, length) = fields(&bytes[at..])?;
            let framing = ["content-length", "transfer-encoding", "host", "connection", "te"];
            let bad = trailers
                .iter()
                .find(|(name, _)| framing.iter().any(|framing| name.eq_ignore_ascii_case(framing)));
            return match bad {
                Some((name, _)) => wrong(format!("{name} in the trailers")),
                None => Ok((body, at + length)),
            };
        }
        let Some(data) = bytes.get(at..at + size) else { return Err(Fault::Incomplete) };
        body.extend(data);
        match bytes.get(at + size..at + size + 2) {
            None => return Err(Fault::Incomplete),
            Some(b"\r\n") => at += size + 2,
            Some(other) => return wrong(format!("{other:?} after the data of a chunk")),
        }
    }
}

fn body(bytes: &[u8], framing: Framing, length: usize) -> Read<Vec<u8>> {
    match framing {
        Framing::None => Ok((Vec::new(), 0)),
        Framing::Length => match bytes.get(..length) {
            Some(body) => Ok((body.to_vec(), length)),
            None => Err(Fault::Incomplete),
        },
        Framing::Chunked => chunked(bytes),
        Framing::Close => Ok((bytes.to_vec(), bytes.len())),
    }
}

/// Fields that concern one connection only and have no place in what a proxy passes on. Connection
/// itself is looked at apart: the proxy may speak for itself in it.
const HOPS: [&str; 6] =
    ["keep-alive", "proxy-connection", "te", "upgrade", "http2-settings", "proxy-authenticate"];

/// The head of a request as a proxy has to send it.
pub(crate) fn request_head(bytes: &[u8]) -> Result<(Head, String, String), Fault> {
    let head = head(bytes)?;
    let parts: Vec<&str> = head.start.split(' ').collect();
    let [method, target, "HTTP/1.1"] = parts[..] else {
        return wrong(format!("the request line {:?}", head.start));
    };
    let visible = target.bytes().all(|byte| (0x21..0x7f).contains(&byte) && byte != b'#');
    let form = target.starts_with('/') || (target == "*" && method == "OPTIONS");
    if !is_token(method) || !visible || !form {
        return wrong(format!("the request line {:?}", head.start));
    }
    let hosts: Vec<&str> = head.all("host").collect();
    let [host] = hosts[..] else { return wrong(format!("the hosts {hosts:?}")) };
    if host.chars().any(|c| !c.is_ascii_graphic() || "/\\@?#,\"<>".contains(c)) {
        return wrong(format!("the host {host:?}"));
    }
    if let Some((name, _)) =
        head.fields.iter().find(|(name, _)| HOPS.iter().any(|hop| name.eq_ignore_ascii_case(hop)))
    {
        return wrong(format!("{name} was passed on"));
    }
    let options: Vec<&str> = head.all("connection").collect();
    if !matches!(options[..], [] | ["close" | "keep-alive"]) {
        return wrong(format!("Connection {options:?} was passed on"));
    }
    let (method, target) = (method.to_owned(), target.to_owned());
    Ok((head, method, target))
}

/// The first request in `bytes`, and its length.
pub(crate) fn request(bytes: &[u8]) -> Read<Request> {
    let (head, method, target) = request_head(bytes)?;
    let (framing, length) = framing(&head)?.unwrap_or((Framing::None, 0));
    let (body, body_bytes) = body(&bytes[head.bytes..], framing, length)?;
    let bytes = head.bytes + body_bytes;
    Ok((Request { method, target, head, body }, bytes))
}

fn status(head: &Head) -> Result<u16, Fault> {
    let mut parts = head.start.splitn(3, ' ');
    let (version, status, reason) = (parts.next(), parts.next(), parts.next());
    let digits = status.filter(|it| it.len() == 3 && it.bytes().all(|b| b.is_ascii_digit()));
    match (version, digits, reason) {
        (Some("HTTP/1.1"), Some(digits), Some(_)) => Ok(digits.parse().expect("three digits")),
        _ => wrong(format!("the status line {:?}", head.start)),
    }
}

/// The first final response in `bytes`, and its length. `method` is that of the request; `ended` is
/// whether no more bytes can come.
pub(crate) fn response(bytes: &[u8], method: &str, ended: bool) -> Read<Response> {
    let (mut at, mut interim) = (0, Vec::new());
    loop {
        let head = head(&bytes[at..])?;
        at += head.bytes;
        let status = status(&head)?;
        let said = framing(&head)?;
        if (100..200).contains(&status) && status != 101 {
            if said.is_some() {
                return wrong(format!("a body in an interim response {status}"));
            }
            interim.push(status);
            continue;
        }
        if head.all("keep-alive").chain(head.all("upgrade")).next().is_some() && status < 400 {
            return wrong("Keep-Alive or Upgrade was passed on");
        }
        let bodiless = method == "HEAD" || matches!(status, 101 | 204 | 304);
        if status == 204 && said.is_some() {
            return wrong("a 204 with a length");
        }
        let (framing, length) = match said {
            _ if bodiless => (Framing::None, 0),
            Some(said) => said,
            None if !head.closes() => return wrong("no length and no close"),
            None if !ended => return Err(Fault::Incomplete),
            None => (Framing::Close, 0),
        };
        let (body, body_bytes) = body(&bytes[at..], framing, length)?;
        return Ok((Response { interim, status, head, framing, body }, at + body_bytes));
    }
}

#[test]
fn only_the_canonical_form_is_taken() {
    let read = |bytes: &str| match request(bytes.as_bytes()) {
        Ok((request, length)) if length == bytes.len() => Some(request.body.len()),
        _ => None,
    };
    for (head, rest, want) in [
        ("GET / HTTP/1.1\r\nHost: a\r\n", "\r\n", Some(0)),
        ("GET / HTTP/1.1\r\nHost: a\r\n", "\n", None),
        ("GET / HTTP/1.1\nHost: a\r\n", "\r\n", None),
        ("GET / HTTP/1.0\r\nHost: a\r\n", "\r\n", None),
        ("GET / HTTP/1.1\r\n", "\r\n", None),
        ("GET  / HTTP/1.1\r\nHost: a\r\n", "\r\n", None),
        ("GET / HTTP/1.1\r\nHost: a\r\nA : b\r\n", "\r\n", None),
        ("GET / HTTP/1.1\r\nHost: a\r\n a: b\r\n", "\r\n", None),
        ("GET / HTTP/1.1\r\nHost: a\r\nA: \x0bb\r\n", "\r\n", None),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: x\r\n", "\r\n", None),
        ("GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n", "\r\n", None),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n", "\r\nabc", Some(3)),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n", "\r\nab", None),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n", "\r\nabcd", None),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n", "\r\nabc", None),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n", "\r\nabc", None),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n", "\r\n0\r\n\r\n", Some(0)),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n", "\r\n0\r\n\r\n", None),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n",
            "\r\n3\r\nabc\r\n0\r\n\r\n",
            Some(3),
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n",
            "\r\n3;a\r\nabc\r\n0\r\n\r\n",
            None,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            "\r\n0\r\n\r\n",
            None,
        ),
    ] {
        assert_eq!(read(&format!("{head}{rest}")), want, "{head}{rest}");
    }
}

//! Counts the HTTP requests in a script's first request, as wrk does, because that many responses
//! belong to one latency.
//!
//! The parser is as lenient as wrk's: lines may end without a carriage return, and empty lines
//! before a request are skipped. The count does not change what is sent.

/// Why the bytes are not requests, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) what: &'static str,
    /// In the bytes, from 0.
    pub(super) offset: usize,
}

/// How a request's body ends.
#[derive(Clone, Copy)]
enum Body {
    Sized(usize),
    Chunked,
}

/// One of the requests in some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Whether it is a HEAD: its response has no body, whatever that says of itself.
    pub is_head: bool,
    /// Where it ends, empty lines behind it included.
    pub end: usize,
}

/// The request that begins at `start`, with the empty lines before it. A request that is malformed
/// or incomplete takes in everything that follows: it is sent as it is, and the server's answer to
/// it is recorded.
#[must_use]
pub fn message_at(bytes: &[u8], start: usize) -> Message {
    let mut reader = Reader { bytes, offset: start };
    reader.skip_empty_lines();
    let is_head = bytes[reader.offset..].starts_with(b"HEAD ");
    let end = match reader.message() {
        Ok(()) => {
            reader.skip_empty_lines();
            reader.offset
        }
        Err(_) => bytes.len(),
    };
    Message { is_head, end }
}

/// Counts whole requests; at least one.
pub(super) fn count(bytes: &[u8]) -> Result<usize, Malformed> {
    let mut reader = Reader { bytes, offset: 0 };
    let mut messages = 0;
    loop {
        reader.skip_empty_lines();
        if reader.offset == bytes.len() && messages > 0 {
            return Ok(messages);
        }
        reader.message()?;
        messages += 1;
    }
}

/// Line and column of an offset, both from 1.
pub(super) fn position(bytes: &[u8], offset: usize) -> (usize, usize) {
    let before = &bytes[..offset.min(bytes.len())];
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    (line, 1 + before.len() - start)
}

struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    fn malformed(&self, what: &'static str) -> Malformed {
        Malformed { what, offset: self.offset }
    }

    fn incomplete(&self, what: &'static str) -> Malformed {
        Malformed { what, offset: self.bytes.len() }
    }

    fn skip_empty_lines(&mut self) {
        while self.bytes[self.offset..].first().is_some_and(|byte| matches!(byte, b'\r' | b'\n')) {
            self.offset += 1;
        }
    }

    /// The next line without its end.
    fn line(&mut self) -> Result<&'a [u8], Malformed> {
        let rest = &self.bytes[self.offset..];
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            return Err(self.incomplete("it ends within its head"));
        };
        self.offset += end + 1;
        Ok(rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]))
    }

    fn message(&mut self) -> Result<(), Malformed> {
        let start = self.offset;
        let line = self.line()?;
        if !is_request_line(line) {
            let what = "it does not start with a method, a target and HTTP/1.1";
            return Err(Malformed { what, offset: start });
        }
        match self.headers()? {
            Body::Sized(len) => self.skip(len),
            Body::Chunked => self.chunks(),
        }
    }

    fn headers(&mut self) -> Result<Body, Malformed> {
        let mut body = Body::Sized(0);
        loop {
            let start = self.offset;
            let line = self.line()?;
            if line.is_empty() {
                return Ok(body);
            }
            // A line that goes on with the one before it.
            if matches!(line[0], b' ' | b'\t') {
                continue;
            }
            let colon = line.iter().position(|byte| *byte == b':').filter(|colon| *colon > 0);
            let Some(colon) = colon else {
                return Err(Malformed { what: "a header has no name or no colon", offset: start });
            };
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            if name.eq_ignore_ascii_case(b"Transfer-Encoding") {
                let is_chunked = value.to_ascii_lowercase().ends_with(b"chunked");
                body = if is_chunked { Body::Chunked } else { body };
            } else if name.eq_ignore_ascii_case(b"Content-Length") && matches!(body, Body::Sized(_))
            {
                let what = "its Content-Length is not a number";
                body = Body::Sized(number(value, 10).ok_or(Malformed { what, offset: start })?);
            }
        }
    }

    fn skip(&mut self, len: usize) -> Result<(), Malformed> {
        if self.bytes.len() - self.offset < len {
            return Err(self.incomplete("its body is shorter than its Content-Length"));
        }
        self.offset += len;
        Ok(())
    }

    fn chunks(&mut self) -> Result<(), Malformed> {
        loop {
            let start = self.offset;
            let line = self.line()?;
            let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
            let what = "the size of a chunk is not a number";
            let len = number(digits.trim_ascii(), 16).ok_or(Malformed { what, offset: start })?;
            if len == 0 {
                self.headers()?;
                return Ok(());
            }
            self.skip(len)?;
            if !self.line()?.is_empty() {
                return Err(self.malformed("a chunk is longer than its size"));
            }
        }
    }
}

/// `METHOD target HTTP/x.y`, and nothing else.
fn is_request_line(line: &[u8]) -> bool {
    let mut words = line.split(|byte| *byte == b' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    method.is_some_and(|word| !word.is_empty() && word.iter().all(u8::is_ascii_graphic))
        && target.is_some_and(|word| !word.is_empty())
        && version.is_some_and(|word| word.starts_with(b"HTTP/"))
        && words.next().is_none()
}

fn number(digits: &[u8], radix: u32) -> Option<usize> {
    let text = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
    usize::from_str_radix(text, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted() {
        for (text, want) in [
            ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", 1),
            ("GET / HTTP/1.1\n\n", 1),
            ("\r\nGET / HTTP/1.1\r\n\r\n\r\nGET /b HTTP/1.0\r\n\r\n\r\n", 2),
            ("POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nabcPUT / HTTP/1.1\r\n\r\n", 2),
            (
                "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: v\r\n\r\n",
                1,
            ),
            (
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n0\r\n\r\n",
                1,
            ),
            ("GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", 1),
        ] {
            assert_eq!(count(text.as_bytes()), Ok(want), "{text:?}");
        }
    }

    #[test]
    fn each_request_ends_before_the_next() {
        let get = "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n\r\n";
        let post = "POST /x HTTP/1.1\r\ncontent-LENGTH: 3\r\n\r\nabc\r\n";
        let head = "HEAD / HTTP/1.1\nHost: a\n\n";
        let chunked = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
        let none = "who are you";
        // Empty lines belong to what is before them.
        let last = get.trim_start();
        let all = [get, post, head, chunked, last, none].concat();
        let mut seen = Vec::new();
        let mut start = 0;
        while start < all.len() {
            let message = message_at(all.as_bytes(), start);
            seen.push((&all[start..message.end], message.is_head));
            start = message.end;
        }
        let want = [
            (get, false),
            (post, false),
            (head, true),
            (chunked, false),
            (last, false),
            (none, false),
        ];
        assert_eq!(seen, want);
        assert_eq!(message_at(b"", 0), Message { is_head: false, end: 0 });
    }

    #[test]
    fn what_is_no_request_is_refused_with_its_place() {
        for (text, what, line, column) in [
            ("", "ends within its head", 1, 1),
            ("GET / HTTP/1.1\r\nHost: h\r\n", "ends within its head", 3, 1),
            ("hello\r\n\r\n", "does not start with", 1, 1),
            ("GET / HTTP/1.1 x\r\n\r\n", "does not start with", 1, 1),
            ("GET  / HTTP/1.1\r\n\r\n", "does not start with", 1, 1),
            ("GET / HTTP/1.1\r\nHost\r\n\r\n", "no name or no colon", 2, 1),
            ("GET / HTTP/1.1\r\n: h\r\n\r\n", "no name or no colon", 2, 1),
            ("PUT / HTTP/1.1\r\nContent-Length: +1\r\n\r\na", "not a number", 2, 1),
            (
                "PUT / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
                "not a number",
                2,
                1,
            ),
            ("PUT / HTTP/1.1\r\nContent-Length: 2\r\n\r\na", "shorter than", 4, 2),
            (
                "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
                "size of a chunk",
                4,
                1,
            ),
            (
                "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
                "longer than",
                6,
                1,
            ),
            ("GET / HTTP/1.1\r\n\r\nGET", "ends within its head", 3, 4),
        ] {
            let malformed = count(text.as_bytes()).expect_err(text);
            assert!(malformed.what.contains(what), "{text:?}: {malformed:?}");
            assert_eq!(position(text.as_bytes(), malformed.offset), (line, column), "{text:?}");
        }
    }

    #[test]
    fn no_prefix_panics() {
        let text = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        for end in 0..text.len() {
            assert!(count(&text[..end]).is_err(), "the first {end} bytes");
        }
        assert_eq!(count(text), Ok(1));
    }
}

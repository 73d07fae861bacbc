//! The lines of a head: what each field is to a proxy, and a copy of those that go from end to end.

/// The most fields that Connection may name, beyond those that never pass.
pub(super) const NAMED_MAX: usize = 16;

/// What a field is to a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// It goes from end to end.
    Other,
    /// It is between neighbours.
    Hop,
    Connection,
    ContentLength,
    TransferEncoding,
    Host,
    ForwardedFor,
    /// Other statements about where a client is and what it asked for: fields that begin with
    /// `X-Forwarded-`, and `Forwarded` (RFC 7239).
    ForwardedAs,
    MaxForwards,
    Expect,
    Cookie,
}

#[inline]
pub(super) fn field(name: &[u8]) -> Field {
    let is = |text: &str| name.eq_ignore_ascii_case(text.as_bytes());
    match name.len() {
        2 if is("te") => Field::Hop,
        4 if is("host") => Field::Host,
        // CGI programs take it for the environment variable that names a proxy: CVE-2016-5385.
        5 if is("proxy") => Field::Hop,
        6 if is("expect") => Field::Expect,
        6 if is("cookie") => Field::Cookie,
        7 if is("trailer") || is("upgrade") => Field::Hop,
        9 if is("forwarded") => Field::ForwardedAs,
        10 if is("connection") => Field::Connection,
        10 if is("keep-alive") => Field::Hop,
        12 if is("max-forwards") => Field::MaxForwards,
        14 if is("content-length") => Field::ContentLength,
        14 if is("http2-settings") || is_alias(name, "content-length") => Field::Hop,
        15 if is("x-forwarded-for") => Field::ForwardedFor,
        16 if is("proxy-connection") => Field::Hop,
        17 if is("transfer-encoding") => Field::TransferEncoding,
        17 if is_alias(name, "transfer-encoding") => Field::Hop,
        18 if is("proxy-authenticate") => Field::Hop,
        19 if is("proxy-authorization") => Field::Hop,
        13.. if is_alias(&name[..12], "x-forwarded-") => Field::ForwardedAs,
        _ => Field::Other,
    }
}

/// Whether programs that make variables of fields (RFC 3875 section 4.1.18) take `name` for
/// `field`: they turn hyphens into underscores.
fn is_alias(name: &[u8], field: &str) -> bool {
    let plain = |&byte: &u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    name.iter().map(plain).eq(field.bytes())
}

/// Where `byte` first stands, eight bytes at a time.
#[inline]
pub(super) fn find(bytes: &[u8], byte: u8) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let pattern = LOW * u64::from(byte);
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let differs = u64::from_le_bytes(*word) ^ pattern;
        let hit = differs.wrapping_sub(LOW) & !differs & HIGH;
        if hit != 0 {
            return Some(index * 8 + hit.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(|&it| it == byte).map(|at| words.len() * 8 + at)
}

/// One line of a head, by where it stands in it.
#[derive(Debug, Clone, Copy)]
struct Line {
    start: usize,
    /// Behind its CRLF.
    end: usize,
}

/// Goes through a head line by line. `None` in an item: the line does not end in CRLF.
struct Lines<'a> {
    head: &'a [u8],
    at: usize,
}

impl Iterator for Lines<'_> {
    type Item = Option<Line>;

    #[inline]
    fn next(&mut self) -> Option<Option<Line>> {
        let start = self.at;
        if start == self.head.len() {
            return None;
        }
        let end = start + find(&self.head[start..], b'\n')? + 1;
        self.at = end;
        let ends_well = end - start >= 2 && self.head[end - 2] == b'\r';
        Some(ends_well.then_some(Line { start, end }))
    }
}

fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// The fields that Connection names, beyond those that never pass.
#[derive(Default)]
pub(super) struct Named<'a> {
    names: [&'a [u8]; NAMED_MAX],
    len: usize,
    pub(super) overflows: bool,
}

impl<'a> Named<'a> {
    /// Adds what one Connection field names.
    fn add(&mut self, value: &'a [u8]) {
        // Nearly all Connection fields are one of these.
        if matches!(value, b"close" | b"keep-alive" | b"Keep-Alive" | b"Close") {
            return;
        }
        for option in value.split(|&byte| byte == b',').map(trim) {
            let is_known = matches!(field(option), Field::Hop | Field::Host)
                || option.eq_ignore_ascii_case(b"close")
                || option.is_empty();
            if is_known {
                continue;
            }
            match self.names.get_mut(self.len) {
                Some(slot) => *slot = option,
                None => return self.overflows = true,
            }
            self.len += 1;
        }
    }

    fn has(&self, name: &[u8]) -> bool {
        self.names[..self.len].iter().any(|named| named.eq_ignore_ascii_case(name))
    }
}

/// The lines that stay, copied in runs.
struct Copier<'a> {
    head: &'a [u8],
    run_start: usize,
}

impl Copier<'_> {
    /// The line is left out.
    #[inline]
    fn drop_line(&mut self, out: &mut Vec<u8>, line: Line) {
        out.extend_from_slice(&self.head[self.run_start..line.start]);
        self.run_start = line.end;
    }
}

/// What the fields of a head say to a proxy.
#[derive(Default)]
pub(super) struct Found<'a> {
    pub(super) named: Named<'a>,
    pub(super) hosts: u32,
    pub(super) host: &'a [u8],
    pub(super) content_lengths: u32,
    pub(super) content_length: &'a [u8],
    pub(super) has_transfer_encoding: bool,
    /// There is a transfer coding beside chunked.
    pub(super) has_other_coding: bool,
    pub(super) has_forwarded_for: bool,
    pub(super) max_forwards: Option<&'a [u8]>,
}

/// Copies the fields that stay, from behind the start line, and learns about the others. `None`
/// when a line does not end in CRLF. `drops` says which of the end-to-end fields known here go too.
#[inline]
fn copy_fields<'a>(
    out: &mut Vec<u8>,
    head: &'a [u8],
    from: usize,
    named_before: Option<&Named<'_>>,
    drops: impl Fn(Field) -> bool,
) -> Option<Found<'a>> {
    let mut found = Found::default();
    let mut copier = Copier { head, run_start: from };
    for line in (Lines { head, at: from }) {
        let line = line?;
        let bytes = &head[line.start..line.end - 2];
        if bytes.is_empty() {
            copier.drop_line(out, line);
            break;
        }
        let colon = find(bytes, b':')?;
        let name = &bytes[..colon];
        let field = field(name);
        let value = || trim(&bytes[colon + 1..]);
        let is_dropped = match field {
            Field::Other => false,
            Field::Hop => true,
            Field::Connection => {
                found.named.add(value());
                true
            }
            Field::ContentLength => {
                found.content_lengths += 1;
                found.content_length = value();
                true
            }
            Field::TransferEncoding => {
                found.has_transfer_encoding = true;
                found.has_other_coding |= !value().eq_ignore_ascii_case(b"chunked");
                true
            }
            Field::Host => {
                found.hosts += 1;
                found.host = value();
                drops(field)
            }
            Field::ForwardedFor => {
                found.has_forwarded_for = true;
                drops(field)
            }
            Field::MaxForwards => {
                found.max_forwards = Some(value());
                drops(field)
            }
            Field::ForwardedAs | Field::Expect | Field::Cookie => drops(field),
        };
        if is_dropped || (field != Field::Host && named_before.is_some_and(|named| named.has(name)))
        {
            copier.drop_line(out, line);
        }
    }
    Some(found)
}

/// Copies fields; again, without those that Connection names, in the rare case that it names any.
#[inline]
pub(super) fn copy_end_to_end<'a>(
    out: &mut Vec<u8>,
    head: &'a [u8],
    from: usize,
    drops: impl Fn(Field) -> bool + Copy,
) -> Option<Found<'a>> {
    let start = out.len();
    let found = copy_fields(out, head, from, None, drops)?;
    if found.named.len == 0 {
        return Some(found);
    }
    out.truncate(start);
    copy_fields(out, head, from, Some(&found.named), drops)
}

/// Makes the names in lines lower-case.
pub(super) fn lower_names(mut lines: &mut [u8]) {
    while let Some(end) = find(lines, b'\n') {
        let (line, rest) = lines.split_at_mut(end + 1);
        let name_bytes = find(line, b':').unwrap_or(0);
        line[..name_bytes].make_ascii_lowercase();
        lines = rest;
    }
}

/// Where the first line ends, if it ends in CRLF.
#[inline]
pub(super) fn first_line(head: &[u8]) -> Option<usize> {
    Lines { head, at: 0 }.next().flatten().map(|line| line.end)
}

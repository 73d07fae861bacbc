//! The answer to a request with wishes: what chance decides, and its fields as Go's server orders
//! them.
//!
//! Fields that the answer has of itself come sorted, then Date, then the length and the type that
//! follow from the body.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_proto::http1;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Date, SiteOptions, Wishes};

const BINARY: &[u8] = b"application/octet-stream";
const SNIFFED_TEXT: &[u8] = b"text/plain; charset=utf-8";

/// What of a request decides its answer, and then the answer itself but for its body.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    query: String,
    has_query: bool,
    content_type: Option<Vec<u8>>,
    has_length: bool,
    takes_gzip: bool,
    /// Of the answer.
    pub(crate) status: u16,
    /// Whether the connection is closed after it.
    pub(crate) closes: bool,
    /// Fields, sorted.
    fields: Vec<(String, Vec<u8>)>,
    /// Whether a field says how long the body is.
    has_own_length: bool,
    /// Whether the body is one of a size that was wished.
    is_sized: bool,
}

impl Parts {
    /// Keeps what the head of a request decides.
    pub(crate) fn begin<'h>(
        &mut self,
        target: &str,
        has_length: bool,
        fields: impl Iterator<Item = (&'h str, &'h [u8])>,
    ) {
        *self = Self { status: 200, has_length, ..Self::default() };
        if let Some((_, query)) = target.split_once('?') {
            self.has_query = true;
            self.query.push_str(query);
        }
        for (name, value) in fields {
            if name.eq_ignore_ascii_case("content-type") {
                self.content_type = Some(value.to_vec());
            } else if name.eq_ignore_ascii_case("accept-encoding") {
                self.takes_gzip |= value.windows(4).any(|part| part.eq_ignore_ascii_case(b"gzip"));
            }
        }
    }

    /// Whether the body is one of a size that was wished, and no echo.
    pub(crate) fn is_sized(&self) -> bool {
        self.is_sized
    }

    /// The answer of a program, in the place of the request's own.
    pub(crate) fn set(&mut self, status: u16, fields: Vec<(&'static str, String)>) {
        let own = fields.into_iter().map(|(name, value)| (name.to_owned(), value.into_bytes()));
        *self = Self { status, fields: own.collect(), ..Self::default() };
    }
}

/// What draws answers.
#[derive(Debug)]
pub(crate) struct Shaper {
    pub(crate) options: SiteOptions,
    random: Xoshiro256PlusPlus,
    /// The body that clients get parts of.
    bytes: Vec<u8>,
    /// The wishes of requests without a query.
    default: Wishes,
    date: Date,
    /// What the wall clock shows at the driver's 0, if that is known.
    pub(crate) base_unix_ns: Option<u64>,
    /// The answer to a request without wishes and without a body, with the date.
    plain: Vec<u8>,
}

impl Shaper {
    /// Of a worker; the wall clock shows this time at the driver's 0.
    pub(crate) fn new(options: SiteOptions, base_unix_ns: Option<u64>, worker: usize) -> Self {
        let seed = options.seed.wrapping_add(1 + worker as u64);
        let default = Wishes::of(&options.default_query);
        Self {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            bytes: Vec::new(),
            default,
            date: Date::new(base_unix_ns.unwrap_or(0)),
            base_unix_ns,
            plain: Vec::new(),
            options,
        }
    }

    /// Whether a request without a body and with this target can have [`plain`](Self::plain).
    pub(crate) fn is_plain(options: &SiteOptions, target: &str) -> bool {
        options.default_query.is_empty() && !target.contains('?')
    }

    /// The whole answer to such a request, on a connection of HTTP/1.1 that goes on.
    pub(crate) fn plain(&mut self, now_ns: u64) -> &[u8] {
        let (date, is_new) = self.date.at(now_ns);
        if is_new || self.plain.is_empty() {
            self.plain.clear();
            http1::write_status_line(&mut self.plain, 1, 200);
            http1::write_header(&mut self.plain, "Date", date);
            http1::write_content_length(&mut self.plain, 0);
            http1::write_head_end(&mut self.plain);
        }
        &self.plain
    }

    /// Decides on the answer to a request whose body is whole; gives the delay before it, ns.
    pub(crate) fn shape(&mut self, parts: &mut Parts, body: &mut Vec<u8>) -> u64 {
        let read;
        let wishes = match parts.has_query {
            true => {
                read = Wishes::of(&parts.query);
                &read
            }
            false => &self.default,
        };
        let delay_ns = draw(&mut self.random, &wishes.delays_ns).unwrap_or(0);
        let closes = hits(&mut self.random, wishes.close_percent);
        let status = match &wishes.statuses {
            Some(statuses) => draw(&mut self.random, statuses).unwrap_or(200),
            None => 400,
        };
        let compresses = parts.takes_gzip && hits(&mut self.random, wishes.gzip_percent);
        let size = draw(&mut self.random, &wishes.sizes);
        parts.closes = closes;
        parts.is_sized = size.is_some();
        parts.status = status;
        let mut fields = wishes.fields.clone();
        let mut has_own_length = false;
        if let Some(size) = size {
            let size = size.min(self.options.body_bytes_max) as usize;
            if self.bytes.is_empty() {
                // The same in all workers.
                self.bytes.resize(self.options.body_bytes_max as usize, 0);
                Xoshiro256PlusPlus::seed_from_u64(self.options.seed).fill_bytes(&mut self.bytes);
            }
            body.clear();
            body.extend_from_slice(&self.bytes[..size]);
            fields.push(("Content-Type".to_owned(), BINARY.to_vec()));
            has_own_length = true;
        } else if !body.is_empty() || parts.content_type.is_some() {
            let given = parts.content_type.take().filter(|given| !given.is_empty());
            fields.extend(given.map(|given| ("Content-Type".to_owned(), given)));
            has_own_length = parts.has_length && !body.is_empty();
        }
        if compresses {
            *body = gzipped(body);
            fields.push(("Content-Encoding".to_owned(), b"gzip".to_vec()));
            has_own_length = false;
        }
        if has_own_length {
            let length = body.len().to_string().into_bytes();
            fields.push(("Content-Length".to_owned(), length));
        }
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        parts.fields = fields;
        parts.has_own_length = has_own_length;
        delay_ns.min(self.options.delay_ns_max)
    }

    /// The fields of an answer in order; `each` is given the name and the value.
    pub(crate) fn fields(
        &mut self,
        parts: &Parts,
        body: &[u8],
        is_head: bool,
        now_ns: u64,
        mut each: impl FnMut(&str, &[u8]),
    ) {
        let has_body = has_body(parts.status);
        for (name, value) in &parts.fields {
            if has_body || name != "Content-Length" {
                each(name, value);
            }
        }
        each("Date", self.date.at(now_ns).0);
        if !has_body || is_head {
            return;
        }
        if !parts.has_own_length {
            each("Content-Length", body.len().to_string().as_bytes());
        }
        let has_type = parts.fields.iter().any(|(name, _)| name == "Content-Type");
        if !has_type && !body.is_empty() {
            each("Content-Type", if is_text(body) { SNIFFED_TEXT } else { BINARY });
        }
    }
}

/// Whether answers with this status have a body (RFC 9110 section 15).
pub(crate) fn has_body(status: u16) -> bool {
    !matches!(status, 204 | 304)
}

/// The value that chance picks; `None`: none of them.
fn draw<T: Copy>(random: &mut Xoshiro256PlusPlus, values: &[(T, f64)]) -> Option<T> {
    match values {
        [] => None,
        [(value, 100.0)] => Some(*value),
        _ => {
            let at = percent(random);
            let mut sum = 0.0;
            values
                .iter()
                .find(|(_, chance)| {
                    sum += chance;
                    *chance > 0.0 && at <= sum
                })
                .map(|(value, _)| *value)
        }
    }
}

fn hits(random: &mut Xoshiro256PlusPlus, chance: f64) -> bool {
    chance > 0.0 && (chance >= 100.0 || percent(random) <= chance)
}

/// From 0 to 100.
fn percent(random: &mut Xoshiro256PlusPlus) -> f64 {
    100.0 * (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

fn gzipped(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(body);
    encoder.finish().unwrap_or_default()
}

/// Whether a body looks like text: UTF-8 without control characters.
fn is_text(body: &[u8]) -> bool {
    let start = &body[..body.len().min(512)];
    let is_control = |byte: &u8| matches!(byte, 0..=8 | 11 | 14..=26 | 28..=31);
    let is_utf8 = match std::str::from_utf8(start) {
        Ok(_) => true,
        // The cut may be within a character.
        Err(error) => error.error_len().is_none() && start.len() == 512,
    };
    is_utf8 && !start.iter().any(is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shaped(options: SiteOptions, target: &str, body: &[u8]) -> (String, u64) {
        let mut parts = Parts::default();
        let mut content = body.to_vec();
        let fields = [("Accept-Encoding", &b"gzip"[..]), ("Content-Type", b"a/b")];
        let sent = fields.into_iter().take(if body.is_empty() { 1 } else { 2 });
        parts.begin(target, !body.is_empty(), sent);
        let mut shaper = Shaper::new(options, None, 0);
        let delay_ns = shaper.shape(&mut parts, &mut content);
        let mut text = format!("{}{}", parts.status, if parts.closes { " close" } else { "" });
        shaper.fields(&parts, &content, false, 0, |name, value| {
            if name != "Date" {
                text.push_str(&format!("|{name}: {}", String::from_utf8_lossy(value)));
            }
        });
        (text, delay_ns)
    }

    /// What fortio 1.66 answers.
    #[test]
    fn answers_are_those_of_fortio() {
        for (target, body, want, delay_ns) in [
            ("/", "", "200|Content-Length: 0", 0),
            ("/a", "hello", "200|Content-Length: 5|Content-Type: a/b", 0),
            (
                "/a?size=3",
                "hello",
                "200|Content-Length: 3|Content-Type: application/octet-stream",
                0,
            ),
            (
                "/a?gzip=true",
                "hello",
                "200|Content-Encoding: gzip|Content-Type: a/b|Content-Length: 25",
                0,
            ),
            ("/x?header=B:C&header=A:B", "", "200|A: B|B: C|Content-Length: 0", 0),
            ("/a?status=503&close=yes", "", "503 close|Content-Length: 0", 0),
            ("/?status=404:150", "", "400|Content-Length: 0", 0),
            ("/?status=204&size=5", "", "204|Content-Type: application/octet-stream", 0),
            ("/?size=-4", "", "200|Content-Length: 0|Content-Type: application/octet-stream", 0),
            ("/?size=bad&delay=1ms", "", "200|Content-Length: 0", 1_000_000),
            ("/?delay=9s", "", "200|Content-Length: 0", 1_500_000_000),
        ] {
            let got = shaped(SiteOptions::default(), target, body.as_bytes());
            // How well gzip compresses is no concern of this test.
            let (got_text, got_ns) = got;
            let cut = |text: &str| match text.contains("gzip") {
                true => {
                    text.rsplit_once(": ").map_or_else(String::new, |(text, _)| text.to_owned())
                }
                false => text.to_owned(),
            };
            assert_eq!((cut(&got_text), got_ns), (cut(want), delay_ns), "{target}");
        }
        let default_query = "status=418&delay=2ms".to_owned();
        let options = SiteOptions { default_query, ..SiteOptions::default() };
        assert_eq!(shaped(options.clone(), "/", b"").1, 2_000_000);
        assert_eq!(shaped(options, "/?", b""), ("200|Content-Length: 0".to_owned(), 0));
        let large = shaped(SiteOptions::default(), "/?size=999999999", b"").0;
        assert!(large.starts_with("200|Content-Length: 262144|"), "{large}");
    }

    /// Within three standard deviations, of which fewer than one seed in a hundred is outside.
    #[test]
    fn chances_are_kept() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let values = [(404, 10.0), (503, 5.0)];
        let mut counts = [0; 3];
        for _ in 0..10_000 {
            match draw(&mut random, &values) {
                Some(404) => counts[0] += 1,
                Some(503) => counts[1] += 1,
                _ => counts[2] += 1,
            }
        }
        assert!((910..=1090).contains(&counts[0]), "{counts:?}");
        assert!((435..=565).contains(&counts[1]), "{counts:?}");
        assert_eq!((0..100).filter(|_| hits(&mut random, 0.0)).count(), 0);
        assert_eq!((0..100).filter(|_| hits(&mut random, 100.0)).count(), 100);
        assert_eq!(draw(&mut random, &[(1, 0.0), (2, 100.0)]), Some(2));
    }

    #[test]
    fn bodies_without_a_type_are_told_apart() {
        for (body, want) in [
            (&b"hello\n"[..], true),
            ("Φορτίο".as_bytes(), true),
            (b"\x00a", false),
            (b"\xff", false),
        ] {
            assert_eq!(is_text(body), want, "{body:?}");
        }
        // What is looked at ends within a character.
        assert!(is_text(format!("x{}", "é".repeat(300)).as_bytes()));
    }
}

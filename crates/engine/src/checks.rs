//! Expectations compiled for a run: whether a complete response is as expected.
//!
//! Status and length cost one comparison each. Headers and bodies are read only if an expectation
//! asks for them.

use plimsoll_core::expect::Expectation;
use plimsoll_core::secret::Masks;
use plimsoll_core::units::counted;
use regex::bytes::Regex;

use crate::error::RunError;
use crate::search::{Needle, Search};

/// A status from here on fails a request, where no expectation says otherwise.
const FAILED_STATUS: u16 = 400;

/// Regular expressions and whole bodies are compared with this many bytes of a body.
pub(crate) const BODY_BYTES_MAX: usize = 1 << 20;

/// How much of a body is quoted.
const QUOTED_BYTES: usize = 80;

/// One bit for each status up to 1023.
type StatusSet = [u64; 16];

/// What makes a response one that was expected.
#[derive(Debug, Clone)]
pub(crate) struct Checks {
    status: StatusSet,
    /// Ranges of codes of gRPC; each list has to have the call's. Without any, only 0 is good.
    codes: Vec<Vec<(u32, u32)>>,
    /// How many messages a call gets, both ends included.
    messages: Option<(u64, u64)>,
    bytes: Option<(u64, u64)>,
    headers: Vec<HeaderCheck>,
    body: Vec<BodyCheck>,
    /// What bodies must contain, looked for while they come, and how it is shown.
    needles: Vec<Needle>,
    needle_texts: Vec<String>,
    /// Whether an expectation names the status; then a status that fails it is an error.
    names_status: bool,
    texts: String,
    /// Whether the beginning of a body may be quoted.
    quotes_bodies: bool,
}

#[derive(Debug, Clone)]
struct HeaderCheck {
    name: String,
    test: Test,
    text: String,
}

#[derive(Debug, Clone)]
struct BodyCheck {
    test: Test,
    wanted: bool,
    text: String,
}

#[derive(Debug, Clone)]
enum Test {
    Matches(Regex),
    Is(Vec<u8>),
}

impl Test {
    fn holds(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Matches(regex) => regex.is_match(bytes),
            Self::Is(whole) => bytes == whole,
        }
    }
}

impl BodyCheck {
    /// Whether it is certain of a body, which with `is_cut` goes on behind what is given of it:
    /// then only a match that does not touch the cut is one whatever follows.
    fn is_met(&self, body: &[u8], is_cut: bool) -> bool {
        match &self.test {
            Test::Matches(regex) if is_cut => {
                self.wanted && regex.find(body).is_some_and(|found| found.end() < body.len())
            }
            Test::Is(_) if is_cut => false,
            test => test.holds(body) == self.wanted,
        }
    }
}

/// What was not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unmet {
    /// A stable name.
    pub kind: &'static str,
    /// In words: what came and what was expected.
    pub text: String,
}

impl Checks {
    /// Makes expectations ready. All of them have to be met.
    ///
    /// # Errors
    /// An invalid regular expression.
    pub(crate) fn new<'a>(
        expectations: impl Iterator<Item = &'a Expectation> + Clone,
        masks: &Masks,
    ) -> Result<Self, RunError> {
        let mut checks = Self {
            status: below(FAILED_STATUS),
            codes: Vec::new(),
            messages: None,
            bytes: None,
            headers: Vec::new(),
            body: Vec::new(),
            needles: Vec::new(),
            needle_texts: Vec::new(),
            names_status: false,
            texts: String::new(),
            quotes_bodies: masks.shows_all,
        };
        for expectation in expectations.clone() {
            checks.add(expectation, &masks.expectation(expectation).to_string())?;
        }
        let texts: Vec<String> = expectations.map(|it| masks.expectation(it).to_string()).collect();
        checks.texts = texts.join(" ");
        Ok(checks)
    }

    /// `text` is how it is shown.
    fn add(&mut self, expectation: &Expectation, text: &str) -> Result<(), RunError> {
        let regex = |pattern: &str| {
            Regex::new(pattern).map_err(|error| RunError::Expectation {
                expectation: text.to_owned(),
                reason: error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
            })
        };
        let body = |test, wanted| BodyCheck { test, wanted, text: text.to_owned() };
        let header =
            |name: &str, test| HeaderCheck { name: name.to_owned(), test, text: text.to_owned() };
        match expectation {
            Expectation::Status(ranges) => {
                let wanted = within(ranges);
                let all = if self.names_status { self.status } else { [u64::MAX; 16] };
                self.status = std::array::from_fn(|i| all[i] & wanted[i]);
                self.names_status = true;
            }
            Expectation::GrpcStatus(ranges) => self.codes.push(ranges.clone()),
            Expectation::GrpcMessages(from, to) => narrow(&mut self.messages, *from, *to),
            Expectation::Bytes(from, to) => narrow(&mut self.bytes, *from, *to),
            Expectation::BodyMatches { pattern, wanted } => {
                self.body.push(body(Test::Matches(regex(pattern)?), *wanted));
            }
            Expectation::BodyContains(part) => {
                self.needles.push(Needle::new(part)?);
                self.needle_texts.push(text.to_owned());
            }
            Expectation::BodyIs(whole) => {
                self.body.push(body(Test::Is(whole.clone().into_bytes()), true));
            }
            Expectation::HeaderMatches { name, pattern } => {
                self.headers.push(header(name, Test::Matches(regex(pattern)?)));
            }
            Expectation::HeaderIs { name, value } => {
                self.headers.push(header(name, Test::Is(value.clone().into_bytes())));
            }
        }
        Ok(())
    }

    /// Whether headers have to be shown.
    #[inline]
    pub(crate) fn needs_headers(&self) -> bool {
        !self.headers.is_empty()
    }

    /// Whether the body has to be shown.
    #[inline]
    pub(crate) fn needs_body(&self) -> bool {
        !self.body.is_empty() || !self.needles.is_empty()
    }

    /// What its body must contain.
    #[inline]
    pub(crate) fn needles(&self) -> &[Needle] {
        &self.needles
    }

    /// How much of the body has to be kept until its end.
    #[inline]
    pub(crate) fn body_bytes_kept(&self) -> usize {
        match (self.body.is_empty(), self.quotes_bodies) {
            (false, _) => BODY_BYTES_MAX,
            (true, true) => QUOTED_BYTES,
            (true, false) => 0,
        }
    }

    /// Whether a call may end with this status.
    #[inline]
    pub(crate) fn expects_code(&self, code: u32) -> bool {
        let has = |ranges: &Vec<(u32, u32)>| ranges.iter().any(|it| (it.0..=it.1).contains(&code));
        if self.codes.is_empty() { code == 0 } else { self.codes.iter().all(has) }
    }

    /// Whether a call may get as many messages.
    #[inline]
    pub(crate) fn expects_messages(&self, messages: u64) -> bool {
        self.messages.is_none_or(|(from, to)| (from..=to).contains(&messages))
    }

    /// What is not as expected of the number of a call's messages.
    pub(crate) fn unmet_messages(&self, messages: u64) -> Option<Unmet> {
        let text = || format!("{}, expected {}", counted(messages, "message"), self.texts);
        (!self.expects_messages(messages)).then(|| Unmet { kind: "grpc_messages", text: text() })
    }

    /// Whether status and length are as expected: all there is to most responses.
    #[inline]
    pub(crate) fn meets(&self, status: u16, body_bytes: u64) -> bool {
        let bit = self.status[usize::from(status >> 6) & 15] >> (status & 63) & 1;
        let fits = self.bytes.is_none_or(|(from, to)| (from..=to).contains(&body_bytes));
        bit == 1 && fits
    }

    /// What of status and length is not as expected; `None` for a status that fails by default,
    /// which the counts by status tell.
    pub(crate) fn unmet(&self, status: u16, body_bytes: u64) -> Option<Unmet> {
        let bit = self.status[usize::from(status >> 6) & 15] >> (status & 63) & 1;
        if bit == 0 {
            let text = || format!("status {status}, expected {}", self.texts);
            return self.names_status.then(|| Unmet { kind: "expect_status", text: text() });
        }
        let text = format!("{}, expected {}", counted(body_bytes, "byte"), self.texts);
        Some(Unmet { kind: "expect_bytes", text })
    }

    /// The first expectation of headers that is not met.
    pub(crate) fn unmet_header<'h>(
        &self,
        headers: impl Iterator<Item = (&'h str, &'h [u8])> + Clone,
    ) -> Option<Unmet> {
        let failed = self.headers.iter().find(|check| {
            let mut values =
                headers.clone().filter(|(name, _)| name.eq_ignore_ascii_case(&check.name));
            !values.any(|(_, value)| check.test.holds(value))
        })?;
        Some(Unmet { kind: "expect_header", text: format!("not met: {}", failed.text) })
    }

    /// The first expectation of the body that is not met. With `is_cut` the body goes on behind
    /// what is given of it.
    pub(crate) fn unmet_body(&self, body: &[u8], is_cut: bool, search: &Search) -> Option<Unmet> {
        let missing = (0..self.needles.len()).find(|needle| !search.has(*needle));
        let missing = missing.map(|needle| self.needle_texts[needle].as_str());
        let failed = missing.or_else(|| {
            let mut checks = self.body.iter();
            Some(checks.find(|check| !check.is_met(body, is_cut))?.text.as_str())
        })?;
        let limit = match is_cut && missing.is_none() {
            true => " within the first MiB, which is what is looked at",
            false => "",
        };
        let what = if self.quotes_bodies {
            let start = String::from_utf8_lossy(&body[..body.len().min(QUOTED_BYTES)]);
            format!("the body begins with {start:?}")
        } else {
            "--show-secrets quotes the body".to_owned()
        };
        let text = format!("not met: {failed}{limit} ({what})");
        Some(Unmet { kind: "expect_body", text })
    }
}

/// What lies in these bounds, both included, and in those from before.
fn narrow(bounds: &mut Option<(u64, u64)>, from: u64, to: u64) {
    let (low, high) = bounds.unwrap_or((0, u64::MAX));
    *bounds = Some((low.max(from), high.min(to)));
}

fn below(status: u16) -> StatusSet {
    within(&[(0, status - 1)])
}

fn within(ranges: &[(u16, u16)]) -> StatusSet {
    let mut set = [0; 16];
    for status in ranges.iter().flat_map(|(from, to)| *from..=*to) {
        set[usize::from(status >> 6) & 15] |= 1 << (status & 63);
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(texts: &[&str]) -> Checks {
        let expectations: Vec<Expectation> =
            texts.iter().map(|text| text.parse().expect(text)).collect();
        Checks::new(expectations.iter(), &Masks::default()).expect("they are sound")
    }

    #[test]
    fn status_and_length() {
        let cases: [(&[&str], u16, u64, Option<&str>); 9] = [
            (&[], 200, 0, None),
            (&[], 399, 9, None),
            (&["status=200..299"], 204, 0, None),
            (&["status=200..299"], 304, 0, Some("expect_status")),
            (&["status=404"], 404, 0, None),
            (&["status=404"], 200, 0, Some("expect_status")),
            (&["bytes=5..7"], 200, 7, None),
            (&["bytes=5..7"], 200, 8, Some("expect_bytes")),
            (&["bytes=5..", "bytes=..6"], 200, 7, Some("expect_bytes")),
        ];
        for (texts, status, bytes, want) in cases {
            let checks = checks(texts);
            assert_eq!(checks.meets(status, bytes), want.is_none(), "{texts:?} {status} {bytes}");
            if let Some(kind) = want {
                assert_eq!(checks.unmet(status, bytes).expect("named").kind, kind);
            }
        }
        assert!(!checks(&[]).meets(400, 0));
        assert_eq!(checks(&[]).unmet(503, 0), None, "the counts by status say so");
    }

    #[test]
    fn codes_of_calls() {
        for (texts, good, bad) in [
            (&[][..], &[0][..], &[1, 5][..]),
            (&["grpc-status=5"], &[5], &[0, 4, 6]),
            (&["grpc-status=0,5..7"], &[0, 5, 7], &[1, 4, 8]),
            (&["grpc-status=0..5", "grpc-status=5..9"], &[5], &[0, 9]),
        ] {
            let checks = checks(texts);
            assert!(good.iter().all(|code| checks.expects_code(*code)), "{texts:?}");
            assert!(!bad.iter().any(|code| checks.expects_code(*code)), "{texts:?}");
        }
    }

    #[test]
    fn messages_of_calls() {
        for (texts, good, bad) in [
            (&[][..], &[0, 1, 9][..], &[][..]),
            (&["grpc-messages=3"], &[3], &[0, 2, 4]),
            (&["grpc-messages=3..5", "grpc-messages=..4"], &[3, 4], &[2, 5]),
        ] {
            let checks = checks(texts);
            assert!(good.iter().all(|count| checks.expects_messages(*count)), "{texts:?}");
            let unmet = |count| checks.unmet_messages(count).map(|it| it.text);
            assert!(good.iter().all(|count| unmet(*count).is_none()), "{texts:?}");
            assert!(bad.iter().all(|count| unmet(*count).is_some()), "{texts:?}");
        }
        let unmet = checks(&["grpc-messages=3"]).unmet_messages(1).expect("too few");
        assert_eq!(unmet.text, "1 message, expected grpc-messages=3");
    }

    #[test]
    fn headers_and_bodies() {
        let headers = [("Content-Type", &b"text/plain"[..]), ("X", b"1"), ("x", b"2")];
        let header = |text: &str| checks(&[text]).unmet_header(headers.iter().copied()).is_none();
        assert!(header("header:content-type=text/plain"));
        assert!(header("header:X=2"));
        assert!(header("header:content-type~=^text/"));
        assert!(!header("header:content-type=text"));
        assert!(!header("header:Missing~=.*"));

        let body = |text: &str| is_met(text, b"hello \xff world", false);
        assert!(body("body~=^hello"));
        assert!(!body("body~=^world"));
        assert!(body("body!~error"));
        assert!(!body("body!~hello"));
        assert!(body("body*=world"));
        assert!(!body("body*=wurld"));
        assert!(!body("body==hello"));
    }

    fn is_met(text: &str, body: &[u8], is_cut: bool) -> bool {
        let (checks, mut search) = (checks(&[text]), Search::default());
        search.begin(checks.needles());
        search.piece(checks.needles(), body);
        checks.unmet_body(body, is_cut, &search).is_none()
    }

    #[test]
    fn of_a_body_that_goes_on_only_what_is_certain_is_met() {
        for (text, want) in [
            ("body*=world", true),
            ("body~=hello", true),
            ("body~=world$", false),
            ("body~=none", false),
            ("body!~none", false),
            ("body!~hello", false),
            ("body==hello world", false),
        ] {
            assert_eq!(is_met(text, b"hello world", true), want, "{text}");
        }
    }

    #[test]
    fn a_regular_expression_that_is_none_is_refused() {
        let expectation: Expectation = "body~=(".parse().expect("it is read as text");
        let error =
            Checks::new(std::iter::once(&expectation), &Masks::default()).unwrap_err().to_string();
        assert!(error.contains("body~=(") && !error.contains('\n'), "{error}");
    }
}

//! What is kept of a response where the plan looks at more than its status and length: the body to
//! check, the fields, where a redirect leads, and what a transcript shows.
//!
//! Absent on purpose: what outlives the exchange. Cookies are the user's.

use plimsoll_conn::{Head, Hop};
use plimsoll_core::Plan;
use plimsoll_core::secret::Masks;

use crate::checks::{Checks, Unmet};
use crate::kept::Kept;
use crate::search::Search;
use crate::source::Interest;

/// Sources are given this much.
const SOURCE_BODY_BYTES_MAX: usize = 64 << 20;
/// Memory for them that is kept for the next response.
const BODY_BYTES_KEPT: usize = 16 << 10;
/// The longest Location that is followed.
const LOCATION_BYTES_MAX: usize = 8192;

/// Which of these things a plan wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wants {
    pub checks: bool,
    pub cookies: bool,
    pub redirects: bool,
    /// A request and its redirects are one call.
    pub joins_redirects: bool,
    pub continues: bool,
    /// The source is told of the fields.
    pub head: bool,
    /// The source is given the body.
    pub body: bool,
    /// The first exchange that fails, or the first of all, is yet to be seen.
    pub transcripts: bool,
}

impl Wants {
    pub(crate) fn of(plan: &Plan) -> Self {
        let expectations = plan.targets.iter().flat_map(|target| &target.expect);
        let mut expectations = expectations.chain(&plan.expect);
        Self {
            checks: expectations.any(|expect| expect.needs_body() || expect.needs_headers()),
            cookies: plan.cookies,
            redirects: plan.redirects > 0,
            joins_redirects: plan.redirects > 0 && plan.joins_redirects,
            continues: plan.requests().any(|request| request.expect_continue),
            head: false,
            body: false,
            transcripts: plan.details.transcripts,
        }
    }

    /// With what the source wants to know of responses.
    #[inline]
    pub(crate) fn with(self, interest: Interest) -> Self {
        Self { head: interest.head, body: interest.body, ..self }
    }

    /// Whether a complete response is looked at by more than its status and length.
    pub(crate) fn judges(self) -> bool {
        self.checks || self.redirects || self.transcripts
    }

    pub(crate) fn any(self) -> bool {
        self != Self::default()
    }
}

/// What is kept of the response of one exchange. The next exchange in the same place uses the
/// memory again.
#[derive(Debug, Default)]
pub(crate) struct Inspection {
    /// The head of the response under way, where the source is told of it.
    head: Vec<u8>,
    body: Vec<u8>,
    /// Whether the body is longer than what is kept of it.
    is_cut: bool,
    search: Search,
    unmet_header: Option<Unmet>,
    location: Vec<u8>,
    /// How long it was as received; what does not fit is not kept.
    location_bytes: usize,
    /// Where the request was redirected to, if it follows a redirect.
    pub hop: Option<Hop>,
    /// What a transcript shows.
    kept: Option<Box<Kept>>,
}

impl Inspection {
    /// A response begins: nothing of it is known yet.
    pub(crate) fn begin(&mut self, checks: &Checks) {
        self.body.clear();
        self.is_cut = false;
        self.search.begin(checks.needles());
        self.location.clear();
        self.location_bytes = 0;
        self.unmet_header = None;
    }

    /// What is kept for a transcript.
    pub(crate) fn kept(&mut self) -> &mut Kept {
        self.kept.get_or_insert_default()
    }

    /// What a transcript is made of: where the request was redirected to, and what is kept.
    pub(crate) fn of_transcript(&mut self) -> (Option<&Hop>, &Kept) {
        (self.hop.as_ref(), self.kept.get_or_insert_default())
    }

    /// Takes the parts of a response's head that are needed.
    pub(crate) fn head(&mut self, head: &Head<'_>, checks: &Checks, wants: Wants) {
        self.begin(checks);
        if wants.transcripts {
            self.kept().head(head);
        }
        if wants.head {
            self.head.clear();
            self.head.extend_from_slice(head.lines());
        }
        if checks.needs_headers() {
            self.unmet_header = checks.unmet_header(head.fields());
        }
        if wants.redirects
            && matches!(head.status, 301 | 302 | 303 | 307 | 308)
            && let Some((_, value)) =
                head.fields().find(|(name, _)| name.eq_ignore_ascii_case("location"))
        {
            self.location_bytes = value.len();
            self.location.extend_from_slice(&value[..value.len().min(LOCATION_BYTES_MAX)]);
        }
    }

    /// Takes a piece of a body that is looked at.
    pub(crate) fn body(&mut self, piece: &[u8], checks: &Checks, wants: Wants) {
        if wants.transcripts {
            self.kept().body(piece);
        }
        self.search.piece(checks.needles(), piece);
        let kept_bytes = checks.body_bytes_kept();
        let most = if wants.body { SOURCE_BODY_BYTES_MAX } else { kept_bytes };
        let room = most.saturating_sub(self.body.len());
        self.body.extend_from_slice(&piece[..piece.len().min(room)]);
        self.is_cut |= piece.len() > room;
    }

    /// The head and body of the complete response, for the source.
    pub(crate) fn response(&self) -> (&[u8], &[u8]) {
        (&self.head, &self.body)
    }

    /// Nobody looks at it any more.
    pub(crate) fn forget_response(&mut self) {
        self.head.clear();
        self.body.clear();
        self.body.shrink_to(BODY_BYTES_KEPT);
    }

    /// What of the complete response was not as expected, beside status and length.
    pub(crate) fn unmet(&mut self, checks: &Checks) -> Option<Unmet> {
        let header = self.unmet_header.take();
        if !checks.needs_body() {
            return header;
        }
        header.or_else(|| checks.unmet_body(&self.body, self.is_cut, &self.search))
    }

    /// The path that the complete response redirects to, from a request for `path` on `origin`
    /// (`scheme://host:port`, and the same without a default port); `None` where it is no redirect.
    ///
    /// # Errors
    /// When it leads to another server, or nowhere.
    pub(crate) fn redirection(
        &self,
        path: &str,
        origin: &[String],
        masks: &Masks,
    ) -> Result<Option<String>, Unmet> {
        if self.location.is_empty() {
            return Ok(None);
        }
        if self.location_bytes > self.location.len() {
            let text = format!("to a place of {} bytes: not followed", self.location_bytes);
            return Err(Unmet { kind: "redirect_too_long", text });
        }
        let location = String::from_utf8_lossy(&self.location);
        let refuse = || Unmet {
            kind: "redirect_elsewhere",
            text: format!(
                "to {:?}, which is not on this server: not followed",
                masks.url(&location)
            ),
        };
        resolve(&location, path, origin).map(Some).ok_or_else(refuse)
    }
}

/// The path a Location means (RFC 3986 section 5.2, without dot segments); `None` when it is on
/// another server or could not stand in a request line.
fn resolve(location: &str, path: &str, origin: &[String]) -> Option<String> {
    let location = location.split('#').next().unwrap_or_default();
    let sound = location.bytes().all(|byte| byte > b' ' && byte != 0x7f);
    if !sound {
        return None;
    }
    let here = origin.iter().find_map(|origin| {
        let start = location.get(..origin.len())?;
        let rest = &location[origin.len()..];
        let ends = rest.is_empty() || rest.starts_with(['/', '?']);
        (start.eq_ignore_ascii_case(origin) && ends).then_some(rest)
    });
    let before_query = path.split('?').next().unwrap_or("/");
    match here.unwrap_or(location) {
        "" if here.is_some() => Some("/".to_owned()),
        rest if here.is_some() && rest.starts_with('?') => Some(format!("/{rest}")),
        rest if rest.starts_with("//") || (here.is_none() && has_scheme(rest)) => None,
        rest if rest.starts_with('/') => Some(rest.to_owned()),
        rest if rest.starts_with('?') => Some(format!("{before_query}{rest}")),
        "" => Some(path.to_owned()),
        rest => {
            let folder = &before_query[..=before_query.rfind('/')?];
            Some(format!("{folder}{rest}"))
        }
    }
}

fn has_scheme(text: &str) -> bool {
    let scheme = text.split(['/', '?']).next().and_then(|start| start.split_once(':'));
    scheme.is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_core::expect::Expectation;

    use super::*;
    use crate::checks::BODY_BYTES_MAX;

    #[test]
    fn locations() {
        let origin = ["http://a.example:80".to_owned(), "http://a.example".to_owned()];
        let cases = [
            ("/x", Some("/x")),
            ("/x?q#f", Some("/x?q")),
            ("http://a.example/y", Some("/y")),
            ("HTTP://A.example:80/y", Some("/y")),
            ("http://a.example", Some("/")),
            ("http://a.example?q=1", Some("/?q=1")),
            ("next", Some("/dir/next")),
            ("?p=2", Some("/dir/page?p=2")),
            ("a/b:c", Some("/dir/a/b:c")),
            ("http://b.example/", None),
            ("http://a.example.evil/", None),
            ("https://a.example/", None),
            ("//b.example/", None),
            ("mailto:x", None),
            ("/a b", None),
            ("/a\r\nX: y", None),
        ];
        for (location, want) in cases {
            assert_eq!(resolve(location, "/dir/page?q", &origin).as_deref(), want, "{location}");
        }
    }

    /// Three MiB in pieces, each text at its start, across a border, or at its end.
    #[test]
    fn texts_are_found_in_bodies_of_any_length() {
        const PIECE_BYTES: usize = 4096;
        let mut body = vec![b'.'; 3 * BODY_BYTES_MAX];
        let places = [(0, "first"), (BODY_BYTES_MAX - 3, "border"), (body.len() - 4, "last")];
        for (at, text) in places {
            body[at..at + text.len()].copy_from_slice(text.as_bytes());
        }
        for (texts, is_met) in [
            (&["body*=first"][..], true),
            (&["body*=border"], true),
            (&["body*=last"], true),
            (&["body*=first", "body*=border", "body*=last", "body~=^first"], true),
            (&["body*=first", "body*=absent"], false),
            // Other tests look at the first MiB.
            (&["body~=last"], false),
        ] {
            let expectations: Vec<Expectation> =
                texts.iter().map(|text| text.parse().expect(text)).collect();
            let checks = Checks::new(expectations.iter(), &Masks::default()).expect("sound");
            let mut inspection = Inspection::default();
            inspection.search.begin(checks.needles());
            for piece in body.chunks(PIECE_BYTES) {
                inspection.body(piece, &checks, Wants::default());
            }
            let unmet = inspection.unmet(&checks);
            assert_eq!(unmet.is_none(), is_met, "{texts:?}: {unmet:?}");
        }
    }
}

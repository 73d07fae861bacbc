//! What a connection remembers of an exchange when the plan needs more than status and length:
//! bodies to check, cookies, redirects, `100 Continue`.
//!
//! Absent on purpose: what a browser knows of a cookie beyond name, value and end (paths, domains,
//! dates). A connection stands for one user of one server.

use plimsoll_core::Plan;
use plimsoll_core::secret::Masks;
use plimsoll_proto::http1::ResponseHead;

use crate::checks::{Checks, Unmet};
use crate::search::Search;

/// Scripts are given this much.
const SCRIPT_BODY_BYTES_MAX: usize = 64 << 20;
/// Memory for them that a connection keeps.
const BODY_BYTES_KEPT: usize = 16 << 10;
/// Cookies kept on a connection, and the longest name and value of one together.
const COOKIES_MAX: usize = 64;
const COOKIE_BYTES_MAX: usize = 4096;
/// The longest Location that is followed.
const LOCATION_BYTES_MAX: usize = 8192;

/// Which of these things a plan wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wants {
    pub checks: bool,
    pub cookies: bool,
    pub redirects: bool,
    pub continues: bool,
    /// A script is told of the fields.
    pub script_head: bool,
    /// A script is given the body.
    pub script_body: bool,
}

impl Wants {
    pub(crate) fn of(plan: &Plan) -> Self {
        let expectations = plan.targets.iter().flat_map(|target| &target.expect);
        let mut expectations = expectations.chain(&plan.expect);
        Self {
            checks: expectations.any(|expect| expect.needs_body() || expect.needs_headers()),
            cookies: plan.cookies,
            redirects: plan.redirects > 0,
            continues: plan.requests().any(|request| request.expect_continue),
            script_head: false,
            script_body: false,
        }
    }

    /// With what a script wants to be told of responses.
    pub(crate) fn with_script(self, wants: plimsoll_script::lua::Wants) -> Self {
        Self { script_head: wants.headers, script_body: wants.body, ..self }
    }

    /// Whether a complete response is judged by more than its status and length.
    pub(crate) fn judges(self) -> bool {
        self.checks || self.redirects
    }

    pub(crate) fn any(self) -> bool {
        self != Self::default()
    }
}

/// Where a redirect leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hop {
    /// Path and query on the same server.
    pub path: String,
    /// Whether the next request is a GET without a body, whatever this one was.
    pub as_get: bool,
}

/// The memory of one connection.
#[derive(Debug, Default)]
pub(crate) struct Dialog {
    /// The head of the response under way, where a script is told of it.
    head: Vec<u8>,
    body: Vec<u8>,
    /// Whether the body is longer than what is kept of it.
    is_cut: bool,
    search: Search,
    unmet_header: Option<Unmet>,
    location: Vec<u8>,
    /// How long it was as received; what does not fit is not kept.
    location_bytes: usize,
    cookies: Vec<(String, String)>,
    /// The cookies as a header line, made anew when they change.
    cookie_line: Vec<u8>,
    /// Where the request under way was sent on to.
    pub hop: Option<Hop>,
    /// The body waits for `100 Continue`.
    pub withheld: bool,
    /// The body may go.
    pub released: bool,
}

impl Dialog {
    /// A request is about to be sent.
    pub(crate) fn begin(&mut self, withheld: bool) {
        self.withheld = withheld;
        self.released = false;
    }

    /// The Cookie header to send, with its line end; empty without cookies.
    pub(crate) fn cookie_line(&self) -> &[u8] {
        &self.cookie_line
    }

    /// Takes the parts of a response's head that are needed.
    pub(crate) fn head(&mut self, head: &ResponseHead<'_>, checks: &Checks, wants: Wants) {
        self.body.clear();
        self.is_cut = false;
        self.search.begin(checks.needles());
        self.location.clear();
        self.location_bytes = 0;
        self.unmet_header = None;
        if wants.script_head {
            self.head.clear();
            self.head.extend_from_slice(head.head_bytes());
        }
        if checks.needs_headers() {
            self.unmet_header = checks.unmet_header(head.headers());
        }
        if wants.cookies {
            for (_, value) in named(head, "set-cookie") {
                self.set_cookie(value);
            }
            self.write_cookie_line();
        }
        if wants.redirects
            && matches!(head.status, 301 | 302 | 303 | 307 | 308)
            && let Some((_, value)) = named(head, "location").next()
        {
            self.location_bytes = value.len();
            self.location.extend_from_slice(&value[..value.len().min(LOCATION_BYTES_MAX)]);
        }
    }

    /// Takes a piece of a body that is looked at.
    pub(crate) fn body(&mut self, piece: &[u8], checks: &Checks, wants: Wants) {
        self.search.piece(checks.needles(), piece);
        let kept_bytes = checks.body_bytes_kept();
        let most = if wants.script_body { SCRIPT_BODY_BYTES_MAX } else { kept_bytes };
        let room = most.saturating_sub(self.body.len());
        self.body.extend_from_slice(&piece[..piece.len().min(room)]);
        self.is_cut |= piece.len() > room;
    }

    /// The head and body of the complete response, for a script.
    pub(crate) fn response(&self) -> (&[u8], &[u8]) {
        (&self.head, &self.body)
    }

    /// Nobody looks at it any more.
    pub(crate) fn forget_response(&mut self) {
        self.body.clear();
        self.body.shrink_to(BODY_BYTES_KEPT);
    }

    /// What of the complete response was not as expected, beside status and length.
    pub(crate) fn unmet(&mut self, checks: &Checks) -> Option<Unmet> {
        let header = self.unmet_header.take();
        if !checks.needs_body() {
            return header;
        }
        let unmet = header.or_else(|| checks.unmet_body(&self.body, self.is_cut, &self.search));
        self.body.clear();
        self.body.shrink_to(BODY_BYTES_KEPT);
        unmet
    }

    /// Where the complete response redirects to, from a request for `path` on `origin`
    /// (`scheme://host:port`, and the same without a default port).
    ///
    /// # Errors
    /// When it leads to another server, or nowhere.
    pub(crate) fn redirection(
        &self,
        status: u16,
        method: &str,
        path: &str,
        origin: &[String],
        masks: &Masks,
    ) -> Result<Option<Hop>, Unmet> {
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
        let path = resolve(&location, path, origin).ok_or_else(refuse)?;
        // RFC 9110 15.4: 303 means GET, and for 301 and 302 that is what clients do to a POST.
        let as_get = method != "HEAD"
            && (status == 303 || (matches!(status, 301 | 302) && method == "POST"));
        Ok(Some(Hop { path, as_get }))
    }

    fn set_cookie(&mut self, value: &[u8]) {
        let Ok(text) = std::str::from_utf8(value) else {
            return;
        };
        let (pair, attributes) = text.split_once(';').unwrap_or((text, ""));
        let Some((name, value)) = pair.split_once('=') else {
            return;
        };
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() || name.len() + value.len() > COOKIE_BYTES_MAX {
            return;
        }
        self.cookies.retain(|(known, _)| known != name);
        if !is_expired(attributes) && self.cookies.len() < COOKIES_MAX {
            self.cookies.push((name.to_owned(), value.to_owned()));
        }
    }

    fn write_cookie_line(&mut self) {
        self.cookie_line.clear();
        for (i, (name, value)) in self.cookies.iter().enumerate() {
            let before: &[u8] = if i == 0 { b"Cookie: " } else { b"; " };
            for part in [before, name.as_bytes(), b"=", value.as_bytes()] {
                self.cookie_line.extend_from_slice(part);
            }
        }
        if !self.cookies.is_empty() {
            self.cookie_line.extend_from_slice(b"\r\n");
        }
    }
}

/// A cookie is taken back with an age of nothing. Dates are not read.
fn is_expired(attributes: &str) -> bool {
    attributes.split(';').filter_map(|attribute| attribute.split_once('=')).any(|(name, value)| {
        let age = value.trim().parse::<i64>();
        name.trim().eq_ignore_ascii_case("max-age") && age.is_ok_and(|age_s| age_s <= 0)
    })
}

fn named<'h>(
    head: &'h ResponseHead<'h>,
    name: &'h str,
) -> impl Iterator<Item = (&'h str, &'h [u8])> {
    head.headers().filter(move |(known, _)| known.eq_ignore_ascii_case(name))
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
            let mut dialog = Dialog::default();
            dialog.search.begin(checks.needles());
            for piece in body.chunks(PIECE_BYTES) {
                dialog.body(piece, &checks, Wants::default());
            }
            let unmet = dialog.unmet(&checks);
            assert_eq!(unmet.is_none(), is_met, "{texts:?}: {unmet:?}");
        }
    }

    #[test]
    fn cookies_are_kept_replaced_and_taken_back() {
        let mut dialog = Dialog::default();
        let line = |dialog: &mut Dialog| {
            dialog.write_cookie_line();
            String::from_utf8_lossy(dialog.cookie_line()).into_owned()
        };
        dialog.set_cookie(b"a=1; Path=/; HttpOnly");
        dialog.set_cookie(b"b=two");
        assert_eq!(line(&mut dialog), "Cookie: a=1; b=two\r\n");
        dialog.set_cookie(b"a=3");
        assert_eq!(line(&mut dialog), "Cookie: b=two; a=3\r\n");
        dialog.set_cookie(b"b=; Max-Age=0");
        assert_eq!(line(&mut dialog), "Cookie: a=3\r\n");
        dialog.set_cookie(b"a=; max-age=-1");
        assert_eq!(line(&mut dialog), "");
        for bad in [&b"novalue"[..], b"=x", b"\xff=1", &[b'a'; 5000]] {
            dialog.set_cookie(bad);
            assert_eq!(line(&mut dialog), "");
        }
        for n in 0..100 {
            dialog.set_cookie(format!("c{n}=1").as_bytes());
        }
        assert_eq!(dialog.cookies.len(), COOKIES_MAX);
    }
}

//! The URL of a request: its parts, and where a reference in a response leads (RFC 3986).
//!
//! A path with bytes that it cannot have, such as blanks, is escaped. Everything else stays as it
//! was written: a load test that asks for `/a/../b` or `http://HOST:80` wants just that. Libraries
//! for URLs follow browsers, which rewrite both.
//!
//! Absent on purpose: other schemes, zones of IPv6 addresses, and names beyond ASCII.

use std::net::Ipv6Addr;

use thiserror::Error;

use plimsoll_core::secret::percent_decoded_bytes;

use super::Origin;

/// The most bytes of a URL.
const URL_BYTES_MAX: usize = 1 << 20;

/// Why text is not the URL of a request; a sentence of which the text is the subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(in crate::js) enum UrlError {
    #[error("has to begin with http or https")]
    Scheme,
    #[error("has a colon in its first part, but does not begin with http or https")]
    Colon,
    #[error("is no string")]
    NotText,
    #[error("names no host")]
    NoHost,
    #[error("has a character in its host that no host has: write names beyond ASCII as xn--…")]
    Host,
    #[error("has a port that is not a number")]
    Port,
    #[error("has a port that is greater than 65535")]
    PortTooHigh,
    #[error("has a % without two hexadecimal digits behind it")]
    Escape,
    #[error("has a control character in it")]
    Control,
    #[error("is longer than {URL_BYTES_MAX} bytes")]
    Long,
}

/// What is wrong with a text that begins with neither http nor https. With another scheme, or as a
/// path, it is a URL by the grammar (RFC 3986 4.2), which cannot be asked.
fn no_scheme(given: &str) -> UrlError {
    let path = given.split(['?', '#']).next().unwrap_or_default();
    let first = path.split('/').next().unwrap_or_default();
    let has_scheme = !scheme_of(given).is_empty();
    if first.contains(':') && !has_scheme {
        UrlError::Colon
    } else if !has_scheme && check_escapes(path).is_err() {
        UrlError::Escape
    } else {
        UrlError::Scheme
    }
}

/// The scheme that a text begins with, without its colon; empty if it has none.
pub(super) fn scheme_of(given: &str) -> &str {
    let first = given.split(['/', '?', '#']).next().unwrap_or_default();
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    first.split_once(':').map_or("", |(scheme, _)| if is_scheme(scheme) { scheme } else { "" })
}

impl UrlError {
    /// The number in k6.
    pub(in crate::js) fn number(self) -> u16 {
        match self {
            Self::Scheme | Self::NoHost => 1000,
            Self::PortTooHigh => 1210,
            _ => 1020,
        }
    }

    /// Whether k6 takes the text for a URL, and only fails to ask it: then it counts a request.
    pub(in crate::js) fn counts(self) -> bool {
        self.number() != 1020
    }
}

/// The URL of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::js) struct Url {
    text: String,
    is_tls: bool,
    port: u16,
    /// Where user and password end and the host begins, after the `@`.
    host_start: u32,
    /// Where the host ends, the brackets of IPv6 included.
    host_end: u32,
    path_start: u32,
    /// Where the path ends: at the `?` of the query, or where that would be.
    path_end: u32,
    /// Where the query ends: at the `#` of the fragment, or at the end.
    query_end: u32,
}

impl Url {
    pub(in crate::js) fn parse(given: &str) -> Result<Self, UrlError> {
        let mut url = Self::default();
        url.set(given)?;
        Ok(url)
    }

    /// Becomes the URL that a text is. After an error it is not to be used.
    pub(in crate::js) fn set(&mut self, given: &str) -> Result<(), UrlError> {
        if given.len() > URL_BYTES_MAX {
            return Err(UrlError::Long);
        }
        if given.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err(UrlError::Control);
        }
        let (scheme, rest) = given.split_once("://").ok_or_else(|| no_scheme(given))?;
        self.is_tls = match scheme {
            _ if scheme.eq_ignore_ascii_case("http") => false,
            _ if scheme.eq_ignore_ascii_case("https") => true,
            _ => return Err(no_scheme(given)),
        };
        self.text.clear();
        self.text.push_str(self.scheme());
        self.text.push_str("://");
        let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        self.set_authority(authority)?;
        self.path_start = self.end();
        let (path, rest) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
        if path.bytes().all(|byte| byte == b'%' || is_of_path(byte)) {
            check_escapes(path)?;
            self.text.push_str(path);
        } else {
            // As in Go, such a path is written anew.
            check_escapes(path)?;
            let is_plain = |byte| is_unreserved(byte) || b"$&+,/:;=@".contains(&byte);
            escape(&mut self.text, &percent_decoded_bytes(path), is_plain);
        }
        self.path_end = self.end();
        let (query, fragment) = rest.split_at(rest.find('#').unwrap_or(rest.len()));
        // Servers get a query as it was written, but for blanks, which would end the line.
        for part in query.split_inclusive(' ') {
            self.text.push_str(part.trim_end_matches(' '));
            if part.ends_with(' ') {
                self.text.push_str("%20");
            }
        }
        self.query_end = self.end();
        check_escapes(fragment)?;
        let is_plain = |byte| is_of_path(byte) || b"#?%".contains(&byte);
        escape(&mut self.text, fragment.as_bytes(), is_plain);
        Ok(())
    }

    fn set_authority(&mut self, authority: &str) -> Result<(), UrlError> {
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        if let Some(user) = user {
            check_escapes(user)?;
            let is_plain = |byte| is_unreserved(byte) || b"!$&'()*+,;=:%".contains(&byte);
            escape(&mut self.text, user.as_bytes(), is_plain);
            self.text.push('@');
        }
        self.host_start = self.end();
        let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, port)) => {
                address.parse::<Ipv6Addr>().map_err(|_| UrlError::Host)?;
                (&place[..address.len() + 2], port)
            }
            None => {
                let (name, port) = place.split_at(place.find(':').unwrap_or(place.len()));
                let is_wrong = |byte: u8| !is_unreserved(byte) && !b"!$&'()*+,;=".contains(&byte);
                if name.bytes().any(is_wrong) {
                    return Err(UrlError::Host);
                }
                (name, port)
            }
        };
        if host.is_empty() {
            return Err(UrlError::NoHost);
        }
        self.text.push_str(host);
        self.host_end = self.end();
        self.port = match port.strip_prefix(':') {
            None if !port.is_empty() => return Err(UrlError::Port),
            None | Some("") => {
                // A colon without a port stays, as in k6.
                self.text.push_str(port);
                if self.is_tls { 443 } else { 80 }
            }
            Some(digits) => {
                if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(UrlError::Port);
                }
                let number = digits.parse().map_err(|_| UrlError::PortTooHigh)?;
                self.text.push_str(port);
                number
            }
        };
        Ok(())
    }

    fn end(&self) -> u32 {
        // Escapes triple what is at most 1 MiB long.
        self.text.len() as u32
    }

    fn part(&self, start: u32, end: u32) -> &str {
        &self.text[start as usize..end as usize]
    }

    pub(in crate::js) fn is_tls(&self) -> bool {
        self.is_tls
    }

    pub(in crate::js) fn scheme(&self) -> &'static str {
        if self.is_tls { "https" } else { "http" }
    }

    /// All of it.
    pub(in crate::js) fn text(&self) -> &str {
        &self.text
    }

    /// The name or the address of the server, IPv6 without its brackets.
    pub(in crate::js) fn host(&self) -> &str {
        self.part(self.host_start, self.host_end).trim_matches(['[', ']'])
    }

    pub(super) fn origin(&self) -> Origin<'_> {
        Origin { is_tls: self.is_tls, host: self.host(), port: self.port }
    }

    pub(in crate::js) fn port(&self) -> u16 {
        self.port
    }

    /// Host and port as they were written: the value of the field `Host`.
    pub(in crate::js) fn host_and_port(&self) -> &str {
        self.part(self.host_start, self.path_start)
    }

    /// The path, which may be empty.
    fn path(&self) -> &str {
        self.part(self.path_start, self.path_end)
    }

    /// What a request line asks for: path and query. Only its first `/` may be missing.
    pub(in crate::js) fn target(&self) -> (&'static str, &str) {
        let root = if self.path().is_empty() { "/" } else { "" };
        (root, self.part(self.path_start, self.query_end))
    }

    /// User and password, with their escapes; without a password no `:` was written.
    fn user_info(&self) -> Option<(&str, Option<&str>)> {
        let start = self.scheme().len() as u32 + 3;
        let info = self.part(start, self.host_start).strip_suffix('@')?;
        Some(info.split_once(':').map_or((info, None), |(user, word)| (user, Some(word))))
    }

    /// User and password, without escapes.
    pub(in crate::js) fn credentials(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (user, password) = self.user_info()?;
        Some((percent_decoded_bytes(user), percent_decoded_bytes(password.unwrap_or_default())))
    }

    /// Forgets user and password, and gives them without escapes.
    pub(super) fn take_credentials(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        let credentials = self.credentials()?;
        let start = self.scheme().len() as u32 + 3;
        let gone = self.host_start - start;
        self.text.replace_range(start as usize..self.host_start as usize, "");
        for place in [
            &mut self.host_start,
            &mut self.host_end,
            &mut self.path_start,
            &mut self.path_end,
            &mut self.query_end,
        ] {
            *place -= gone;
        }
        Some(credentials)
    }

    /// Writes it with stars in the place of user and password. Gives whether it has any.
    pub(in crate::js) fn write_masked(&self, out: &mut String) -> bool {
        let Some((_, password)) = self.user_info() else { return false };
        let stars = if password.is_some() { "****:****@" } else { "****@" };
        out.clear();
        out.extend([self.scheme(), "://", stars, &self.text[self.host_start as usize..]]);
        true
    }

    /// It as the value of `Referer`: without user and password, but, as in Go, with its fragment.
    pub(in crate::js) fn referer(&self) -> String {
        format!("{}://{}", self.scheme(), &self.text[self.host_start as usize..])
    }

    /// Where a reference in a response from here leads (RFC 3986 5.2.2).
    pub(in crate::js) fn resolve(&self, reference: &str) -> Result<Self, UrlError> {
        if reference.len() > URL_BYTES_MAX {
            return Err(UrlError::Long);
        }
        let before_path = &self.text[..self.path_start as usize];
        let start = reference.find(['/', '?', '#']).unwrap_or(reference.len());
        let whole = if reference[..start].contains(':') {
            reference.to_owned()
        } else if reference.starts_with("//") {
            format!("{}:{reference}", self.scheme())
        } else if reference.is_empty() || reference.starts_with('#') {
            format!("{}{reference}", self.part(0, self.query_end))
        } else if reference.starts_with('?') {
            format!("{}{reference}", self.part(0, self.path_end))
        } else if reference.starts_with('/') {
            format!("{before_path}{reference}")
        } else {
            let folder = self.path().rfind('/').map_or("", |end| &self.path()[..end]);
            format!("{before_path}{folder}/{reference}")
        };
        let mut url = Self::parse(&whole)?;
        if url.path().contains("/.") {
            let path = without_dots(url.path());
            let rest = &url.text[url.path_end as usize..];
            let whole = format!("{}{path}{rest}", url.part(0, url.path_start));
            url.set(&whole)?;
        }
        Ok(url)
    }
}

/// A path without the segments `.` and `..` (RFC 3986 5.2.4).
fn without_dots(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    let mut is_folder = false;
    for segment in path.split('/').skip(1) {
        is_folder = segment == "." || segment == "..";
        match segment {
            "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    if is_folder {
        segments.push("");
    }
    format!("/{}", segments.join("/"))
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn is_of_path(byte: u8) -> bool {
    is_unreserved(byte) || b"!$&'()*+,;=:@/[]".contains(&byte)
}

/// Looks whether each `%` of a text is followed by two digits.
fn check_escapes(text: &str) -> Result<(), UrlError> {
    let is_escape = |after: &str| {
        after.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let is_right = text.split('%').skip(1).all(is_escape);
    if is_right { Ok(()) } else { Err(UrlError::Escape) }
}

/// Appends bytes, with escapes for those that are not plain.
fn escape(out: &mut String, bytes: &[u8], is_plain: impl Fn(u8) -> bool) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in bytes {
        if is_plain(*byte) {
            out.push((*byte).into());
        } else {
            let digit = |nibble: u8| char::from(HEX[usize::from(nibble)]);
            out.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_parts() {
        for (given, text, host, port, host_and_port, target) in [
            ("http://x.test", "http://x.test", "x.test", 80, "x.test", "/"),
            ("HTTPS://x.test?q", "https://x.test?q", "x.test", 443, "x.test", "/?q"),
            (
                "http://X.test:80/a/../b#c",
                "http://X.test:80/a/../b#c",
                "X.test",
                80,
                "X.test:80",
                "/a/../b",
            ),
            ("http://x:/", "http://x:/", "x", 80, "x:", "/"),
            ("http://[::1]:81/a", "http://[::1]:81/a", "::1", 81, "[::1]:81", "/a"),
            ("http://x/a b?c d#e f", "http://x/a%20b?c%20d#e%20f", "x", 80, "x", "/a%20b?c%20d"),
            (
                "http://x/%C3%bC{ü}",
                "http://x/%C3%BC%7B%C3%BC%7D",
                "x",
                80,
                "x",
                "/%C3%BC%7B%C3%BC%7D",
            ),
            (
                "http://x/a(1)[2]!'*%2f%c3",
                "http://x/a(1)[2]!'*%2f%c3",
                "x",
                80,
                "x",
                "/a(1)[2]!'*%2f%c3",
            ),
            (
                "http://x/a b(1)&%2fx!",
                "http://x/a%20b%281%29&/x%21",
                "x",
                80,
                "x",
                "/a%20b%281%29&/x%21",
            ),
            ("http://x/?a=ü&b=%zz", "http://x/?a=ü&b=%zz", "x", 80, "x", "/?a=ü&b=%zz"),
            ("http://u:p@w@x:8/", "http://u:p%40w@x:8/", "x", 8, "x:8", "/"),
            ("http://x/a://b", "http://x/a://b", "x", 80, "x", "/a://b"),
        ] {
            let url = Url::parse(given).unwrap_or_else(|error| panic!("{given}: {error}"));
            let (root, rest) = url.target();
            assert_eq!(url.text(), text, "{given}");
            assert_eq!((url.host(), url.port(), url.host_and_port()), (host, port, host_and_port));
            assert_eq!(format!("{root}{rest}"), target, "{given}");
            assert_eq!(Url::parse(url.text()), Ok(url.clone()), "{given}: it is what it says");
        }
        for (given, want) in [
            ("", UrlError::Scheme),
            ("x.test", UrlError::Scheme),
            ("ftp://x", UrlError::Scheme),
            ("http://", UrlError::NoHost),
            ("http:///a", UrlError::NoHost),
            ("http://u@:80/", UrlError::NoHost),
            ("http://a b/", UrlError::Host),
            ("http://ü.test/", UrlError::Host),
            ("http://[::1%25lo]/", UrlError::Host),
            ("http://[1.2.3.4]/", UrlError::Host),
            ("http://[::1/", UrlError::Host),
            ("http://[::1]x/", UrlError::Port),
            ("http://x:y/", UrlError::Port),
            ("http://x:+1/", UrlError::Port),
            ("http://x:65536/", UrlError::PortTooHigh),
            ("http://x/%", UrlError::Escape),
            ("http://x/%4", UrlError::Escape),
            ("http://x/%4g", UrlError::Escape),
            ("http://x/\r\nHost: y", UrlError::Control),
        ] {
            assert_eq!(Url::parse(given), Err(want), "{given:?}");
        }
        assert_eq!(
            Url::parse(&format!("http://x/{}", "a".repeat(URL_BYTES_MAX))),
            Err(UrlError::Long)
        );
    }

    #[test]
    fn credentials_are_read_and_masked() {
        for (given, credentials, masked) in [
            ("http://x/", None, None),
            ("http://u:p%40%3A@x/a", Some(("u", "p@:")), Some("http://****:****@x/a")),
            ("http://u@x/a", Some(("u", "")), Some("http://****@x/a")),
            ("http://:p@x/a", Some(("", "p")), Some("http://****:****@x/a")),
            ("http://ü%zz", None, None),
        ] {
            let Ok(url) = Url::parse(given) else { continue };
            let bytes =
                |(user, word): (&str, &str)| (user.as_bytes().to_vec(), word.as_bytes().to_vec());
            assert_eq!(url.credentials(), credentials.map(bytes), "{given}");
            let mut without = url.clone();
            assert_eq!(without.take_credentials(), url.credentials(), "{given}");
            assert_eq!(without, Url::parse(&url.referer()).unwrap(), "{given}");
            let mut out = String::new();
            assert_eq!(url.write_masked(&mut out).then_some(out.as_str()), masked, "{given}");
        }
        assert_eq!(Url::parse("https://u:p@x:8/a?b#c").unwrap().referer(), "https://x:8/a?b#c");
    }

    #[test]
    fn references_lead_on() {
        // The examples of RFC 3986 5.4, but for those of other schemes.
        for (reference, want) in [
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q#s"),
            ("g?y#s", "http://a/b/c/g?y#s"),
            (";x", "http://a/b/c/;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            ("..g", "http://a/b/c/..g"),
            ("./g/.", "http://a/b/c/g/"),
            ("g/../h", "http://a/b/c/h"),
            ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("https://other:1/x/../y", "https://other:1/y"),
            ("/ä b", "http://a/%C3%A4%20b"),
        ] {
            let base = Url::parse("http://a/b/c/d;p?q#f").unwrap();
            let url =
                base.resolve(reference).unwrap_or_else(|error| panic!("{reference}: {error}"));
            assert_eq!(url.text(), want, "{reference}");
        }
        let base = Url::parse("http://u:p@a").unwrap();
        assert_eq!(base.resolve("g").unwrap().text(), "http://u:p@a/g");
        assert_eq!(base.resolve("//b/g").unwrap().text(), "http://b/g");
        for reference in ["mailto:x", "ftp://x/", "a:b", "//", "http:", "/%", "/\0"] {
            assert!(base.resolve(reference).is_err(), "{reference}");
        }
    }

    #[test]
    fn every_prefix_is_a_url_or_an_error() {
        let given = "https://ü:%41@[::1]:8080/a/../%20ö?q= x#f%";
        let base = Url::parse("http://u@x/a/b?c").unwrap();
        for end in (0..=given.len()).filter(|end| given.is_char_boundary(*end)) {
            drop(Url::parse(&given[..end]));
            drop(base.resolve(&given[end..]));
        }
    }
}

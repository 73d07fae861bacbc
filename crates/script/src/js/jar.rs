//! A cookie jar: what servers and scripts have set, and what a request to a URL carries (RFC 6265).
//!
//! Absent on purpose: the list of public suffixes. A server of `a.co.uk` may set a cookie for all
//! of `co.uk`.

use std::net::IpAddr;

/// The most cookies of a jar, and the most bytes of a name and its value.
const COOKIES_MAX: usize = 1000;
const PAIR_BYTES_MAX: usize = 4096;

/// What is kept of a cookie.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Cookie {
    pub name: String,
    pub value: String,
    /// In small letters, without a dot before it; empty for the host of the URL alone.
    pub domain: String,
    /// Empty for the folder of the URL.
    pub path: String,
    /// Until when it is kept, ns since 1970; `None` for as long as the jar.
    pub expires_ns: Option<u64>,
    pub is_secure: bool,
    pub is_host_only: bool,
}

/// Cookies of a virtual user.
#[derive(Debug, Clone, Default)]
pub(super) struct Jar {
    cookies: Vec<Cookie>,
}

/// The parts of a URL that decide on cookies.
struct Target<'a> {
    is_secure: bool,
    host: String,
    path: &'a str,
}

impl<'a> Target<'a> {
    fn new(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let host = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next()?,
            None => host.split(':').next()?,
        };
        let path = rest.split(['?', '#']).next().filter(|path| path.starts_with('/'));
        let host = host.to_ascii_lowercase();
        Some(Self {
            is_secure: scheme.eq_ignore_ascii_case("https") || is_loopback(&host),
            host,
            path: path.unwrap_or("/"),
        })
    }

    /// The folder of the path, where a cookie without a path belongs (section 5.1.4).
    fn folder(&self) -> &'a str {
        match self.path.rfind('/') {
            None | Some(0) => "/",
            Some(end) => &self.path[..end],
        }
    }
}

impl Jar {
    /// Takes what a `Set-Cookie` field of a response from a URL says. What it may not set, it does
    /// not.
    pub(super) fn take(&mut self, url: &str, field: &str, now_ns: u64) {
        let Some(target) = Target::new(url) else { return };
        let mut parts = field.split(';');
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
            return;
        };
        let (name, value) = (name.trim().to_owned(), value.trim().trim_matches('"').to_owned());
        let mut cookie = Cookie { name, value, ..Cookie::default() };
        let mut max_age = None;
        for attribute in parts {
            let (key, value) = attribute.split_once('=').unwrap_or((attribute, ""));
            let value = value.trim();
            match key.trim().to_ascii_lowercase().as_str() {
                "domain" => value.trim_start_matches('.').clone_into(&mut cookie.domain),
                "path" => value.clone_into(&mut cookie.path),
                "secure" => cookie.is_secure = true,
                "max-age" => max_age = value.parse::<i64>().ok().or(max_age),
                "expires" => {
                    cookie.expires_ns = date_ms(value).map(|ms| (ms.max(0.0) * 1e6) as u64);
                }
                _ => {}
            }
        }
        if let Some(seconds) = max_age {
            let age_ns = u64::try_from(seconds).unwrap_or(0).saturating_mul(1_000_000_000);
            cookie.expires_ns = Some(if age_ns == 0 { 0 } else { now_ns.saturating_add(age_ns) });
        }
        self.add(&target, cookie, now_ns);
    }

    /// Sets a cookie as a response from the URL would; nothing if that is of no host.
    pub(super) fn set(&mut self, url: &str, cookie: Cookie, now_ns: u64) {
        if let Some(target) = Target::new(url) {
            self.add(&target, cookie, now_ns);
        }
    }

    /// The model of storage (section 5.3).
    fn add(&mut self, target: &Target<'_>, mut cookie: Cookie, now_ns: u64) {
        cookie.domain.make_ascii_lowercase();
        cookie.is_host_only = cookie.domain.is_empty() || cookie.domain == target.host;
        if cookie.is_host_only {
            // A domain that is the host itself stands for the hosts below it too.
            cookie.is_host_only = cookie.domain.is_empty();
            cookie.domain.clone_from(&target.host);
        } else if !is_below(&target.host, &cookie.domain) {
            return;
        }
        if !cookie.path.starts_with('/') {
            target.folder().clone_into(&mut cookie.path);
        }
        if cookie.name.is_empty() || cookie.name.len() + cookie.value.len() > PAIR_BYTES_MAX {
            return;
        }
        let is_same = |known: &Cookie| {
            known.name == cookie.name && known.domain == cookie.domain && known.path == cookie.path
        };
        let place = self.cookies.iter().position(is_same);
        let is_over = cookie.expires_ns.is_some_and(|end_ns| end_ns <= now_ns);
        match (place, is_over) {
            (Some(at), true) => drop(self.cookies.remove(at)),
            (Some(at), false) => self.cookies[at] = cookie,
            (None, false) if self.cookies.len() < COOKIES_MAX => self.cookies.push(cookie),
            (None, _) => {}
        }
    }

    /// The cookies that a request to a URL carries: longer paths first, then in the order they were
    /// set (section 5.4).
    pub(super) fn matching(&self, url: &str, now_ns: u64) -> Vec<&Cookie> {
        if self.cookies.is_empty() {
            return Vec::new();
        }
        let Some(target) = Target::new(url) else { return Vec::new() };
        let matches = |cookie: &&Cookie| {
            let is_host = cookie.domain == target.host;
            (is_host || !cookie.is_host_only && is_below(&target.host, &cookie.domain))
                && is_within(target.path, &cookie.path)
                && (target.is_secure || !cookie.is_secure)
                && cookie.expires_ns.is_none_or(|end_ns| end_ns > now_ns)
        };
        let mut found: Vec<&Cookie> = self.cookies.iter().filter(matches).collect();
        found.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        found
    }

    /// Forgets the cookies that a request to a URL carries: all, or those of a name.
    pub(super) fn remove(&mut self, url: &str, name: Option<&str>, now_ns: u64) {
        let gone: Vec<Cookie> = self.matching(url, now_ns).into_iter().cloned().collect();
        let is_gone =
            |cookie: &Cookie| name.is_none_or(|name| cookie.name == name) && gone.contains(cookie);
        self.cookies.retain(|cookie| !is_gone(cookie));
    }
}

/// Whether what goes to a host stays on the machine, where nobody can listen in.
fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a host is below a domain. An address is below nothing.
fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
        && host.parse::<IpAddr>().is_err()
}

/// Whether a path is a cookie's path or below it (section 5.1.4).
fn is_within(path: &str, of: &str) -> bool {
    path.strip_prefix(of)
        .is_some_and(|rest| rest.is_empty() || of.ends_with('/') || rest.starts_with('/'))
}

/// `Wed, 21 Oct 2026 07:28:00 GMT`, also with dashes in the date, ms since 1970.
pub(super) fn date_ms(text: &str) -> Option<f64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let text = text.split_once(',').map_or(text, |(_, rest)| rest).replace('-', " ");
    let mut words = text.split_ascii_whitespace();
    let day: i64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = MONTHS.find(words.next()?.get(..3)?).filter(|at| at % 3 == 0)? / 3;
    let year: i64 = words.next()?.parse().ok().filter(|year| (0..=9999).contains(year))?;
    let year = match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        year => year,
    };
    let mut clock = words.next()?.split(':').map(str::parse::<u8>);
    let mut part = || Some(i64::from(clock.next()?.ok()?));
    let seconds = part()? * 3600 + part()? * 60 + part()?;
    // Days from 1970, of a year that begins in March.
    let (y, m) = (year - i64::from(month < 2), (month as i64 + 10) % 12);
    let days =
        365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (153 * m + 2) / 5 + day
            - 719_469;
    Some(((days * 86_400 + seconds) * 1000) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_NS: u64 = 1_700_000_000_000_000_000;

    #[test]
    fn dates_of_cookies() {
        for (text, want) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0.0)),
            ("Wed, 21 Oct 2026 07:28:00 GMT", Some(1_792_567_680_000.0)),
            ("Wed, 21-Oct-2026 07:28:00 GMT", Some(1_792_567_680_000.0)),
            ("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199_000.0)),
            ("Sun, 06 Nov 94 08:49:37 GMT", Some(784_111_777_000.0)),
            ("Sun, 06 anF 94 08:49:37 GMT", None),
            ("Sun, 99999999999 Nov 94 08:49:37 GMT", None),
            ("soon", None),
            ("Wed, 21 Oct", None),
        ] {
            assert_eq!(date_ms(text), want, "{text}");
        }
    }

    #[test]
    fn requests_carry_what_was_set_for_them() {
        const SET: &str = "http://www.x.test/a/b";
        for (field, url, is_sent) in [
            ("n=v", "http://www.x.test/a/c", true),
            ("n=v", "http://WWW.x.test:8080/a/?q", true),
            ("n=v", "http://www.x.test/a", true),
            ("n=v", "http://www.x.test/ab", false),
            ("n=v", "http://www.x.test/", false),
            ("n=v; Path=/", "http://www.x.test", true),
            ("n=v; Path=/", "http://sub.www.x.test/", false),
            ("n=v; Path=/; Domain=.x.test", "https://other.X.test/", true),
            ("n=v; Path=/; domain=x.test", "http://x.test/", true),
            ("n=v; Path=/; Domain=www.x.test", "http://sub.www.x.test/", true),
            ("n=v; Path=/; Domain=x.test", "http://badx.test/", false),
            ("n=v; Path=/; Domain=y.test", "http://y.test/", false),
            ("n=v; Path=/; Domain=sub.www.x.test", "http://sub.www.x.test/", false),
            ("n=v; Path=/; Secure", "http://www.x.test/", false),
            ("n=v; Path=/; Secure", "https://www.x.test/", true),
            ("n=v; Path=/; Max-Age=5", "http://www.x.test/", true),
            ("n=v; Path=/; Max-Age=0", "http://www.x.test/", false),
            ("n=v; Path=/; Max-Age=-1; Expires=Fri, 01 Jan 2100 00:00:00 GMT", SET, false),
            ("n=v; Path=/; Expires=Fri, 01 Jan 2100 00:00:00 GMT", SET, true),
            ("n=v; Path=/; Expires=Thu, 01 Jan 2015 00:00:00 GMT", SET, false),
            ("n=\"v\"; HttpOnly", SET, true),
            ("=v", SET, false),
            ("nothing", SET, false),
            ("n=v", "nowhere", false),
        ] {
            let mut jar = Jar::default();
            jar.take(SET, field, NOW_NS);
            let sent = jar.matching(url, NOW_NS);
            assert_eq!(sent.len(), usize::from(is_sent), "{field:?} to {url}");
            assert!(sent.iter().all(|cookie| cookie.value == "v"), "{field:?}");
        }
        let mut jar = Jar::default();
        jar.take("http://127.0.0.1/", "n=v; Domain=0.0.1", NOW_NS);
        jar.take("http://127.0.0.1/", "m=v", NOW_NS);
        assert_eq!(jar.matching("http://127.0.0.1/", NOW_NS).len(), 1);
    }

    #[test]
    fn secure_cookies_go_to_this_machine_without_tls() {
        for (url, is_sent) in [
            ("http://localhost:8080/", true),
            ("http://LOCALHOST/", true),
            ("http://127.0.0.1/", true),
            ("http://127.1.2.3:80/", true),
            ("http://[::1]:8080/", true),
            ("http://10.0.0.1/", false),
            ("http://[::2]/", false),
            ("http://localhost.x.test/", false),
            ("https://x.test/", true),
        ] {
            let mut jar = Jar::default();
            jar.take(url, "n=v; Secure", NOW_NS);
            assert_eq!(jar.matching(url, NOW_NS).len(), usize::from(is_sent), "{url}");
        }
    }

    #[test]
    fn cookies_are_replaced_ordered_and_end() {
        let url = "http://x.test/a/b/c";
        let mut jar = Jar::default();
        for field in ["a=1; Path=/", "b=2; Path=/a/b", "a=3; Path=/", "c=4; Path=/; Max-Age=10"] {
            jar.take(url, field, NOW_NS);
        }
        let names = |jar: &Jar, now_ns| {
            let pair = |cookie: &&Cookie| format!("{}={}", cookie.name, cookie.value);
            jar.matching(url, now_ns).iter().map(pair).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(&jar, NOW_NS), "b=2 a=3 c=4");
        assert_eq!(names(&jar, NOW_NS + 10_000_000_000), "b=2 a=3");
        jar.remove(url, Some("a"), NOW_NS);
        assert_eq!(names(&jar, NOW_NS), "b=2 c=4");
        jar.remove("http://x.test/", None, NOW_NS);
        assert_eq!(names(&jar, NOW_NS), "b=2");
        for number in 0..=COOKIES_MAX {
            jar.take(url, &format!("n{number}=1"), NOW_NS);
        }
        assert_eq!(jar.cookies.len(), COOKIES_MAX);
        jar.take(url, &format!("long={}", "x".repeat(PAIR_BYTES_MAX)), NOW_NS);
        assert!(!names(&jar, NOW_NS).contains("long"));
    }

    #[test]
    fn every_prefix_of_a_field_is_harmless() {
        let field =
            "näme=\"v\"; Domain=.x.test; Path=/; Expires=Wed, 21-Öct-2026 07:28:00 GMT; Max-Age=1";
        for end in (0..=field.len()).filter(|end| field.is_char_boundary(*end)) {
            Jar::default().take("http://x.test/", &field[..end], NOW_NS);
        }
    }
}

//! Redirects: which are followed, and what of the first request goes along.

use super::super::api::http::Request;
use super::{
    Fault, Flow, HttpOptions, Next, Onward, REDIRECTS_MAX, Url, UrlError, fields, invalid_url,
    masked, shown,
};

/// Fields that the sender of a request trusts one server with.
const CREDENTIALS: [&str; 6] = [
    "authorization",
    "www-authenticate",
    "cookie",
    "cookie2",
    "proxy-authorization",
    "proxy-authenticate",
];

/// Fields about a body, which do not outlive it.
const ABOUT_BODY: [&str; 4] =
    ["content-encoding", "content-language", "content-location", "content-type"];

/// Fields that follow from the rest of the request.
const MADE: [&str; 3] = ["content-length", "transfer-encoding", "trailer"];

fn is_among(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

impl Flow {
    /// Looks at where a response leads.
    pub(super) fn redirect(&mut self, request: &Request, options: &HttpOptions) {
        if !matches!(self.status, 301 | 302 | 303 | 307 | 308) {
            return;
        }
        let Some(to) = fields::value(&self.head, "location").filter(|to| !to.is_empty()) else {
            return;
        };
        let limit = request.redirects_max.or(options.redirects_max);
        if self.redirects >= limit.unwrap_or(REDIRECTS_MAX) {
            self.warning = limit.is_none().then(|| {
                let url = masked(&request.url);
                format!(
                    "{url} led to more than {REDIRECTS_MAX} redirects, and the last one is the \
                     response: set redirects in the params of the request, or the option \
                     maxRedirects"
                )
            });
            return;
        }
        let to = String::from_utf8_lossy(to).into_owned();
        match self.url.resolve(&to) {
            Ok(url) => self.onward = Some(Onward::Redirect(Box::new(url))),
            Err(error) if error.counts() => self.onward = Some(Onward::Astray(to, error)),
            Err(error) => {
                let text = format!("failed to parse Location header: {} {error}", shown(&to));
                let _done = self.fail(&Fault::Other(&text));
            }
        }
    }

    /// Ends with a URL that a redirect has led to, and that cannot be asked.
    pub(super) fn go_astray(&mut self, to: String, error: UrlError) -> Next {
        self.redirects += 1;
        self.turn_to_get();
        self.mask(&to);
        self.astray = to;
        let text = invalid_url(&self.masked, error);
        self.end(error.number(), &format_args!("{text}"))
    }

    /// A redirect but for 307 and 308 asks anew, without the body.
    fn turn_to_get(&mut self) {
        if !matches!(self.status, 307 | 308) {
            (self.sends_body, self.has_lost_body) = (false, true);
            if !["GET", "HEAD"].contains(&&*self.method) {
                "GET".clone_into(&mut self.method);
            }
        }
    }

    /// Follows a redirect.
    pub(super) fn follow(&mut self, request: &Request, to: &Url) {
        self.redirects += 1;
        self.turn_to_get();
        let location = fields::value(&self.head, "location").unwrap_or_default();
        // A host of the request's own stands for the server, so it goes along as far as that.
        self.has_own_host &= !is_absolute(location);
        let is_trusted = |first: &Url| is_within(to.host(), first.host());
        self.strips_credentials |= !Url::parse(&request.url).as_ref().is_ok_and(is_trusted);
        // Another URL has its own challenge.
        self.authorization.clear();
        self.referer.clear();
        if !self.url.is_tls() || to.is_tls() {
            self.referer = self.url.referer();
        }
        self.url.clone_from(to);
        self.keep_secret(request);
    }

    /// Whether a field that the script gives goes with the next request on the wire.
    pub(super) fn carries(&self, name: &str) -> bool {
        let is_dropped = is_among(name, &MADE)
            || !self.is_first && name.eq_ignore_ascii_case("cookie")
            || self.strips_credentials && is_among(name, &CREDENTIALS)
            || self.has_lost_body && is_among(name, &ABOUT_BODY);
        !is_dropped
    }
}

/// Whether a reference begins with a scheme.
fn is_absolute(reference: &[u8]) -> bool {
    let is_end = |byte: &u8| b":/?#".contains(byte);
    reference.iter().find(|byte| is_end(byte)) == Some(&b':')
}

/// Whether a host is another one, or below it. Addresses are below nothing.
fn is_within(host: &str, other: &str) -> bool {
    if host.eq_ignore_ascii_case(other) {
        return true;
    }
    let is_address = host.contains(':') || other.contains(':');
    let cut = host.len().checked_sub(other.len()).filter(|cut| *cut > 0 && !is_address);
    cut.and_then(|cut| Some((host.get(..cut)?, host.get(cut..)?)))
        .is_some_and(|(sub, rest)| sub.ends_with('.') && rest.eq_ignore_ascii_case(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_below_others() {
        for (host, other, want) in [
            ("x.test", "x.test", true),
            ("X.test", "x.TEST", true),
            ("a.x.test", "x.test", true),
            ("x.test", "a.x.test", false),
            ("badx.test", "x.test", false),
            ("y.test", "x.test", false),
            ("::1", "::1", true),
            ("::1", "1", false),
            ("", "", true),
        ] {
            assert_eq!(is_within(host, other), want, "{host} within {other}");
        }
    }
}

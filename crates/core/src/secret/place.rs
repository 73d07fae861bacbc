//! URLs, paths and fields: finds the values in them whose names mark them as secret.

use super::Masks;
use super::percent_decoded;
use crate::template::{Span, spans};

/// A URL within a URL's parameter is looked into so deep.
const DEPTH_MAX: u32 = 3;

impl Masks {
    /// A URL or a path: without its userinfo, and without the values of parameters whose names say
    /// that they are secret, in query and fragment and behind `;` in the path.
    #[must_use]
    pub fn url(&self, text: &str) -> String {
        if self.shows_all { text.to_owned() } else { self.url_within(text, 0) }
    }

    fn url_within(&self, text: &str, depth: u32) -> String {
        let (origin, rest) = split_origin(text);
        let (path, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
        let mut shown = self.without_userinfo(origin);
        let mut segments = path.split(';');
        shown.push_str(segments.next().unwrap_or_default());
        for segment in segments {
            let end = segment.find('/').unwrap_or(segment.len());
            shown.push(';');
            shown.push_str(&self.parameter(&segment[..end], depth));
            shown.push_str(&segment[end..]);
        }
        for (parameter, separator) in separated(query) {
            shown.push_str(&self.parameter(parameter, depth));
            shown.extend(separator);
        }
        shown
    }

    fn without_userinfo(&self, origin: &str) -> String {
        let Some((scheme, authority)) = origin.split_once("://") else { return origin.to_owned() };
        match authority.rsplit_once('@') {
            Some((userinfo, host)) => format!("{scheme}://{}@{host}", self.whole(userinfo)),
            None => origin.to_owned(),
        }
    }

    /// `name=value` of a query or of a form.
    fn parameter(&self, text: &str, depth: u32) -> String {
        let Some((name, value)) = text.split_once('=') else { return text.to_owned() };
        if self.hides(name) {
            return format!("{name}={}", self.whole(value));
        }
        format!("{name}={}", self.nested(value, depth))
    }

    /// A value that may have secrets of its own in it: a URL, parameters, JSON. Templates stay.
    fn nested(&self, value: &str, depth: u32) -> String {
        let span = |span: Span<'_>| match span {
            Span::Text(text) => self.decoded(text, depth).unwrap_or_else(|| text.to_owned()),
            Span::Template(text) => text.to_owned(),
        };
        match spans(value) {
            Ok(spans) => spans.into_iter().map(span).collect(),
            Err(_) => span(Span::Text(value)),
        }
    }

    /// A value's text, however often it is encoded, with its secrets masked; `None` without any.
    fn decoded(&self, text: &str, depth: u32) -> Option<String> {
        let mut inside = text.to_owned();
        for depth in depth..DEPTH_MAX {
            inside = percent_decoded(&inside);
            let is_url = inside.contains("://") || inside.contains(['?', '#']);
            let of_urls = is_url.then(|| self.url_within(&inside, depth + 1));
            let shown = self.text(of_urls.as_deref().unwrap_or(&inside));
            if shown != inside {
                return Some(shown);
            }
        }
        None
    }

    /// A name that a script makes up, of an endpoint, a group or a check: it may be a URL or a
    /// path, or have fields in it.
    #[must_use]
    pub fn label(&self, text: &str) -> String {
        if self.shows_all { text.to_owned() } else { self.nested(&self.url(text), 0) }
    }

    /// The value of a tag of this name.
    #[must_use]
    pub fn tag(&self, name: &str, value: &str) -> String {
        if self.hides(name) { self.whole(value) } else { self.label(value) }
    }

    /// A form's field, `name=value`; a file's name is shown.
    #[must_use]
    pub fn field(&self, text: &str) -> String {
        match text.split_once('=') {
            Some((name, value)) if self.hides(name) && !value.starts_with(['@', '<']) => {
                format!("{name}={}", self.whole(value))
            }
            Some((name, value)) if !value.starts_with(['@', '<']) => {
                format!("{name}={}", self.nested(value, 0))
            }
            _ => text.to_owned(),
        }
    }

    /// A header as it is written, `Name: value`. What has no name has nothing that can be shown.
    #[must_use]
    pub fn header_line(&self, text: &str) -> String {
        let is_token =
            |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_. ".contains(&b));
        match text.split_once(':').filter(|(name, _)| is_token(name)) {
            Some((name, value)) if self.hides_header(name) => {
                let gap = &value[..value.len() - value.trim_start().len()];
                format!("{name}:{gap}{}", self.whole(value.trim()))
            }
            Some(_) => text.to_owned(),
            None => self.whole(text),
        }
    }

    /// The name of a metric of k6, or of a submetric, whose tags may be URLs: `a{name:URL}`.
    #[must_use]
    pub fn submetric(&self, text: &str) -> String {
        let tags = text.strip_suffix('}').and_then(|rest| rest.split_once('{'));
        let Some((metric, tags)) = tags else { return text.to_owned() };
        let tag = |tag: &str| match tag.split_once(':') {
            Some((name, value)) => format!("{name}:{}", self.tag(name, value)),
            None => tag.to_owned(),
        };
        let tags: Vec<String> = tags.split(',').map(tag).collect();
        format!("{metric}{{{}}}", tags.join(","))
    }

    /// A proxy, `USER:PASS@HOST:PORT`, with or without a scheme.
    #[must_use]
    pub fn proxy(&self, text: &str) -> String {
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (format!("{scheme}://"), rest),
            None => (String::new(), text),
        };
        match rest.rsplit_once('@') {
            Some((userinfo, host)) => format!("{scheme}{}@{host}", self.whole(userinfo)),
            None => text.to_owned(),
        }
    }
}

/// Scheme and authority, if there are any, and the rest.
fn split_origin(text: &str) -> (&str, &str) {
    let Some(at) = text.find("://") else { return ("", text) };
    let authority = at + "://".len();
    // What looks like a scheme inside a path or a query is not a scheme.
    if text[..at].contains(['/', '?', '#', '=']) {
        return ("", text);
    }
    let end = text[authority..].find(['/', '?', '#']).map_or(text.len(), |end| authority + end);
    text.split_at(end)
}

/// Parameters, each with the separator behind it.
fn separated(query: &str) -> impl Iterator<Item = (&str, Option<char>)> {
    query.split_inclusive(['?', '&', ';', '#']).map(|part| match part.chars().next_back() {
        Some(last @ ('?' | '&' | ';' | '#')) => (&part[..part.len() - 1], Some(last)),
        _ => (part, None),
    })
}

//! A request as a script asks for it, and how it is made of the arguments of a call.

use std::ffi::CStr;
use std::rc::Rc;

use super::super::classes::{self, Classes, Held};
use super::super::tags;
use super::form::{self, ContentType};
use super::jar::{JarObject, SharedJar};
use super::named_url::NamedUrl;
use crate::js::http::{self, Url, UrlError};
use crate::js::native::Call;
use crate::js::value::{Context, ErrorKind, Outcome, Thrown, Value};

/// The number of a mistake for which k6 has none.
const NO_NUMBER: u16 = 0;

/// How long a request may take unless it says so, ns.
const TIMEOUT_NS: u64 = 60_000_000_000;

/// What a script wants of a response's body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResponseBody {
    /// As text.
    #[default]
    Text,
    /// As an `ArrayBuffer`.
    Binary,
    /// Nothing: it need not be kept.
    Nothing,
}

/// Which statuses are expected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Expected {
    /// 200 to 399.
    #[default]
    Usual,
    /// Those in one of these ranges, both ends included.
    Ranges(Rc<[(u16, u16)]>),
    /// Nothing is expected: `http_req_failed` has no value.
    Off,
}

impl Expected {
    /// Whether a status is as expected; `None` if nothing is.
    #[must_use]
    pub fn holds(&self, status: u16) -> Option<bool> {
        match self {
            Self::Usual => Some((200..400).contains(&status)),
            Self::Ranges(ranges) => {
                Some(ranges.iter().any(|(from, to)| (*from..=*to).contains(&status)))
            }
            Self::Off => None,
        }
    }
}

/// What `http.expectedStatuses` makes.
pub(in crate::js) struct Callback(pub(super) Expected);

impl Held for Callback {
    const NAME: &'static CStr = c"ResponseCallback";

    fn class(classes: &Classes) -> u32 {
        classes.callback
    }
}

/// A request as the script asks for it.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Its method, as it was given.
    pub method: String,
    /// Its URL.
    pub url: String,
    /// What is wrong with the arguments, if anything is.
    pub(in crate::js) mistake: Option<String>,
    /// Whether the script gives something else than a string for its URL, which is then that thing
    /// as text.
    pub(in crate::js) has_no_url: bool,
    /// The name that it is counted under; empty if that is its URL.
    pub name: String,
    /// The fields of its head that the script gives, in order.
    pub headers: Vec<(String, String)>,
    /// The cookies that the script gives beside those of its jar, and whether each replaces one of
    /// the same name.
    pub cookies: Vec<(String, String, bool)>,
    pub(in crate::js) jar: Option<SharedJar>,
    /// Its body, if `has_body`.
    pub body: Vec<u8>,
    /// Whether it has a body, which may be empty.
    pub has_body: bool,
    /// How long it has waited for its turn in a batch, ns.
    pub waited_ns: u64,
    /// How long it may take, ns.
    pub timeout_ns: u64,
    /// How many redirects are followed; `None` for as many as the options say.
    pub redirects_max: Option<u32>,
    /// The codings that its body is to be compressed with, separated by commas; empty for none.
    pub compression: String,
    /// How it authenticates: `basic`, `digest`, `ntlm`; empty if it does not.
    pub auth: String,
    /// What the script wants of the response's body.
    pub response_body: ResponseBody,
    /// Which statuses are as expected.
    pub expected: Expected,
    /// The number of its [tags](crate::js::Worker::tags); `None` without any.
    pub tags: Option<u32>,
    /// Whether an error is an exception.
    pub throws: bool,
    /// Whether it asks for a WebSocket: its answer is a 101, and no redirect is followed.
    pub upgrades: bool,
}

/// `http.expectedStatuses(200, {min: 300, max: 399}, …)`.
pub(super) fn expected_statuses<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let status = |value: &Value<'js>| {
        let number = if value.is_number() { value.to_number()? } else { f64::NAN };
        if number.fract() == 0.0 && (0.0..=999.0).contains(&number) {
            return Ok(number as u16);
        }
        let message = "http.expectedStatuses() takes statuses, or objects with min and max";
        Err(context.throw(ErrorKind::Type, message))
    };
    let mut ranges = Vec::new();
    for value in call.rest(0) {
        if value.is_object() {
            ranges.push((status(&value.get("min")?)?, status(&value.get("max")?)?));
        } else {
            let status = status(&value)?;
            ranges.push((status, status));
        }
    }
    if ranges.is_empty() {
        let message = "http.expectedStatuses() needs at least one status";
        return Err(context.throw(ErrorKind::Type, message));
    }
    classes::hold(context, None, Callback(Expected::Ranges(ranges.into())))
}

/// `http.setResponseCallback(callback)`.
pub(super) fn set_response_callback<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let Some(expected) = expected(&call.argument(0)) else {
        return Err(call.context.throw(ErrorKind::Type, NO_CALLBACK));
    };
    *call.context.inner().expected.borrow_mut() = expected;
    Ok(call.context.undefined())
}

/// As Go writes it: without bytes that a value cannot have, and in quotes if it has blanks or
/// commas.
fn push_cookie_value(field: &mut String, value: &str) {
    let is_allowed = |c: &char| (' '..='~').contains(c) && !['"', ';', '\\'].contains(c);
    let quote = if value.contains([' ', ',']) { "\"" } else { "" };
    field.push_str(quote);
    field.extend(value.chars().filter(is_allowed));
    field.push_str(quote);
}

/// What is wrong with a response callback that is not one.
const NO_CALLBACK: &str = "a response callback is null, or what http.expectedStatuses() returns";

/// What a response callback expects; `None` if it is not one.
fn expected(value: &Value<'_>) -> Option<Expected> {
    if value.is_null() {
        return Some(Expected::Off);
    }
    classes::held::<Callback>(value).map(|Callback(expected)| expected.clone())
}

impl Request {
    /// The value of the `Cookie` field of a request to a URL, which is the request's own or that of
    /// a redirect: the cookies that the script gives, then those of the jar. Empty without any. The
    /// time is in ns since 1970.
    #[must_use]
    pub fn cookie_field(&self, url: &str, now_ns: u64) -> String {
        let jar = self.jar.as_ref().map(|jar| jar.borrow());
        let is_replaced =
            |name: &str| self.cookies.iter().any(|(own, _, replaces)| *replaces && own == name);
        let own = self.cookies.iter().map(|(name, value, _)| (name.as_str(), value.as_str()));
        let kept = jar.iter().flat_map(|jar| jar.matching(url, now_ns));
        let kept = kept.map(|cookie| (cookie.name.as_str(), cookie.value.as_str()));
        let mut field = String::new();
        for (name, value) in own.chain(kept.filter(|(name, _)| !is_replaced(name))) {
            field.push_str(if field.is_empty() { "" } else { "; " });
            field.extend(name.chars().map(|c| if c.is_control() { '-' } else { c }));
            field.push('=');
            push_cookie_value(&mut field, value);
        }
        field
    }

    /// Keeps the cookies that a response from a URL sets. To be told of every response, those of
    /// redirects too. The head has a line for each field.
    pub fn take_cookies(&self, url: &str, head: &[u8], now_ns: u64) {
        let Some(jar) = &self.jar else { return };
        for line in head.split(|byte| *byte == b'\n') {
            let Some(at) = line.iter().position(|byte| *byte == b':') else { continue };
            if line[..at].trim_ascii().eq_ignore_ascii_case(b"set-cookie") {
                let value = String::from_utf8_lossy(line[at + 1..].trim_ascii());
                jar.borrow_mut().take(url, &value, now_ns);
            }
        }
    }

    /// Fills it with the arguments of a call.
    pub(super) fn fill(
        &mut self,
        context: Context<'_>,
        method: &str,
        url: &Value<'_>,
        body: &Value<'_>,
        params: &Value<'_>,
    ) -> Result<(), Thrown> {
        let jar = Some(Rc::clone(&context.inner().jar.borrow()));
        *self = Self { timeout_ns: TIMEOUT_NS, jar, ..Self::default() };
        method.clone_into(&mut self.method);
        match classes::held::<NamedUrl>(url) {
            Some(named) => (self.url, self.name) = (named.url.clone(), named.name.clone()),
            None => {
                self.has_no_url = !url.is_string();
                self.url = url.to_text()?.str().into_owned();
            }
        }
        self.expected = context.inner().expected.borrow().clone();
        self.throws = context.inner().shared.settings.throws;
        if context.inner().shared.settings.discards_bodies {
            self.response_body = ResponseBody::Nothing;
        }
        let tags = self.fill_params(params)?;
        self.fill_tags(context, &tags)?;
        if !form::is_body(body) {
            let what = body.kind();
            self.note(format!("a body cannot be a {what}: give text, bytes or a form"));
            return Ok(());
        }
        let content_type = form::write(context, body, &mut self.body)?;
        self.has_body = content_type.is_some();
        let content_type = match content_type {
            Some(ContentType::Form) => Some("application/x-www-form-urlencoded".to_owned()),
            Some(ContentType::Multipart { boundary }) => {
                Some(format!("multipart/form-data; boundary={boundary}"))
            }
            _ => None,
        };
        let is_given = |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-type");
        if let Some(content_type) = content_type
            && !self.headers.iter().any(is_given)
        {
            self.headers.push(("Content-Type".to_owned(), content_type));
        }
        Ok(())
    }

    /// Fills it with what opens a WebSocket: its URL, and of the params of the call those that are
    /// about the request.
    pub(in crate::js::api) fn fill_upgrade(
        &mut self,
        context: Context<'_>,
        url: String,
        params: &Value<'_>,
    ) -> Result<(), Thrown> {
        let jar = Some(Rc::clone(&context.inner().jar.borrow()));
        *self = Self { url, jar, upgrades: true, redirects_max: Some(0), ..Self::default() };
        "GET".clone_into(&mut self.method);
        let mut tags = params.context().undefined();
        if params.is_object() {
            let headers = params.get("headers")?;
            if headers.is_object() {
                self.fill_headers(&headers)?;
            }
            let jar = params.get("jar")?;
            if !jar.is_nothing() {
                self.jar = Some(jar_of(context, &jar)?);
            }
            let given = params.get("tags")?;
            if given.is_object() {
                tags = given;
            }
        }
        self.fill_tags(context, &tags)
    }

    /// Reads the last argument of a call; what it does not know it leaves alone. Gives the tags.
    fn fill_params<'js>(&mut self, params: &Value<'js>) -> Outcome<'js> {
        let mut tags = params.context().undefined();
        if !params.is_object() {
            return Ok(tags);
        }
        params.for_each_property(|name, value| {
            if value.is_undefined() && name.bytes() != b"timeout" {
                return Ok(());
            }
            match name.bytes() {
                b"headers" if value.is_object() => return self.fill_headers(&value),
                b"cookies" if value.is_object() => return self.fill_cookies(&value),
                b"tags" => tags = value,
                b"timeout" => self.fill_timeout(&value)?,
                b"redirects" => self.redirects_max = Some(value.to_number()?.max(0.0) as u32),
                b"auth" => self.auth = value.to_text()?.str().into_owned(),
                b"compression" => self.compression = value.to_text()?.str().into_owned(),
                b"throw" => self.throws = value.to_bool()?,
                b"responseCallback" => match expected(&value) {
                    Some(expected) => self.expected = expected,
                    None => self.note(NO_CALLBACK.to_owned()),
                },
                b"responseType" => self.fill_response_body(&value)?,
                b"jar" => {
                    if let Some(JarObject(jar)) = classes::held::<JarObject>(&value) {
                        self.jar = Some(Rc::clone(jar));
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(tags)
    }

    fn fill_headers(&mut self, headers: &Value<'_>) -> Result<(), Thrown> {
        headers.for_each_property(|name, value| {
            let (name, value) = (name.str().into_owned(), value.to_text()?.str().into_owned());
            self.headers.push((name, value));
            Ok(())
        })
    }

    fn fill_cookies(&mut self, cookies: &Value<'_>) -> Result<(), Thrown> {
        cookies.for_each_property(|name, value| {
            if value.is_nothing() {
                return Ok(());
            }
            let (mut text, mut replaces) = (value.clone(), false);
            if value.is_object() {
                text = value.get("value")?;
                replaces = value.get("replace")?.to_bool()?;
            }
            let text = if text.is_undefined() {
                String::new()
            } else {
                text.to_text()?.str().into_owned()
            };
            self.cookies.push((name.str().into_owned(), text, replaces));
            Ok(())
        })
    }

    /// Numbers the tags; the tag `name` is the request's name.
    fn fill_tags(&mut self, context: Context<'_>, tags: &Value<'_>) -> Result<(), Thrown> {
        if tags.is_object() {
            let name = tags.get("name")?;
            if !name.is_undefined() {
                self.name = name.to_text()?.str().into_owned();
            }
        }
        match tags::number(context, tags, None) {
            Ok(number) => self.tags = number,
            Err(Thrown) => {
                let exception = context.exception();
                if exception.is_uncatchable() {
                    return Err(context.throw_value(exception));
                }
                let what = exception.get("message")?.to_text()?.str().into_owned();
                self.note(what);
            }
        }
        Ok(())
    }

    /// Notes a mistake; the first one stays.
    fn note(&mut self, what: String) {
        self.mistake.get_or_insert(what);
    }

    fn fill_response_body(&mut self, value: &Value<'_>) -> Result<(), Thrown> {
        let text = value.to_text()?;
        match text.bytes() {
            b"text" | b"" => self.response_body = ResponseBody::Text,
            b"binary" => self.response_body = ResponseBody::Binary,
            b"none" => self.response_body = ResponseBody::Nothing,
            _ => {
                let text = text.str();
                let what = format!("responseType '{text}' is not one of text, binary, none");
                self.note(what);
            }
        }
        Ok(())
    }

    /// Milliseconds as a number, or a duration such as `1m30s`. A time before now is over at once.
    fn fill_timeout(&mut self, value: &Value<'_>) -> Result<(), Thrown> {
        let timeout_ns = if value.is_number() {
            Some(value.to_number()? * 1e6)
        } else {
            duration_ns(&value.to_text()?.str())
        };
        match timeout_ns {
            Some(timeout_ns) if timeout_ns >= 0.0 => self.timeout_ns = timeout_ns as u64,
            Some(_) => self.timeout_ns = 1,
            None => {
                let text = value.to_text()?;
                let what = format!("timeout '{}' is not a time such as '30s'", text.str());
                self.note(what);
            }
        }
        Ok(())
    }

    /// Why it is no request at all, after the number of that in k6; `None` if it is.
    pub(super) fn fault(&self) -> Option<(u16, String)> {
        if let Some(mistake) = &self.mistake {
            return Some((NO_NUMBER, mistake.clone()));
        }
        let parsed =
            if self.has_no_url { Err(UrlError::NotText) } else { Url::parse(&self.url).map(drop) };
        if let Some(error) = parsed.err().filter(|error| !error.counts()) {
            return Some((error.number(), http::invalid_url(&self.url, error)));
        }
        Some((NO_NUMBER, http::list_error(&self.compression)?))
    }

    /// The host with its port, as the URL writes them.
    pub(super) fn host(&self) -> &str {
        let rest = self.url.split_once("://").map_or("", |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        authority.rsplit_once('@').map_or(authority, |(_, host)| host)
    }
}

fn jar_of(context: Context<'_>, value: &Value<'_>) -> Result<SharedJar, Thrown> {
    let jar = classes::held::<JarObject>(value).map(|JarObject(jar)| Rc::clone(jar));
    jar.ok_or_else(|| context.throw(ErrorKind::Type, "the param 'jar' takes a cookie jar"))
}

/// Milliseconds as a number, or a duration such as `1m30s`.
pub(in crate::js::api) fn timeout_ns(
    context: Context<'_>,
    value: &Value<'_>,
) -> Result<u64, Thrown> {
    let timeout_ns = if value.is_number() {
        Some(value.to_number()? * 1e6)
    } else {
        duration_ns(&value.to_text()?.str())
    };
    match timeout_ns {
        Some(timeout_ns) if timeout_ns >= 0.0 => Ok(timeout_ns as u64),
        _ => {
            let shown = value.to_text()?;
            let message = format!("timeout '{}' is not a time such as '30s'", shown.str());
            Err(context.throw(ErrorKind::Type, message))
        }
    }
}

fn duration_ns(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 8] = [
        ("ms", 1e6),
        ("us", 1e3),
        ("µs", 1e3),
        ("ns", 1.0),
        ("d", 86_400e9),
        ("h", 3600e9),
        ("m", 60e9),
        ("s", 1e9),
    ];
    if let Ok(ms) = text.parse::<f64>() {
        return Some(ms * 1e6);
    }
    let (mut rest, mut total) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let (unit, scale) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit))?;
        rest = &rest[unit.len()..];
        total += number * scale;
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, want) in [
            ("60s", Some(60e9)),
            ("1m30s", Some(90e9)),
            ("1.5s", Some(1.5e9)),
            ("250ms", Some(250e6)),
            ("100", Some(100e6)),
            ("1d2h", Some(93_600e9)),
            ("", None),
            ("s", None),
            ("5 s", None),
            ("5x", None),
        ] {
            assert_eq!(duration_ns(text), want, "{text:?}");
        }
    }

    #[test]
    fn urls_that_are_none() {
        for (url, is_wrong, host) in [
            ("http://example.com/a?b#c", false, "example.com"),
            ("HTTPS://user:pw@example.com:8443", false, "example.com:8443"),
            // These are counted, and fail.
            ("example.com", false, ""),
            ("ftp://example.com", false, "example.com"),
            ("http://", false, ""),
            ("http:///a", false, ""),
            ("", false, ""),
            ("foo", false, ""),
            ("localhost:80/a", false, ""),
            ("/a:b", false, ""),
            ("a?b:c", false, ""),
            (" http://a/", true, "a"),
            ("127.0.0.1:80/a", true, ""),
            ("://a/", true, "a"),
            ("http://a b/", true, "a b"),
            ("http://a/%zz", true, "a"),
        ] {
            let request = Request { url: url.to_owned(), ..Request::default() };
            assert_eq!(request.fault().is_some(), is_wrong, "{url}");
            assert_eq!(request.host(), host, "{url}");
        }
    }
}

//! The response as a script sees it: an object with properties of its own, each made when it is
//! first asked for.
//!
//! Scripts list and serialize responses, so the properties have to be its own and enumerable. Most
//! scripts look at two of them, and making all takes longer than the rest of an iteration.

use std::ffi::{CStr, c_int};

use super::super::classes::{self, Classes, Held};
use super::super::pairs::name_properties;
use super::gjson;
use super::request::{Request, ResponseBody};
use crate::js::ffi::{self, Raw};
use crate::js::http;
use crate::js::jar::date_ms;
use crate::js::modules;
use crate::js::native::{Call, functions};
use crate::js::step::{Answer, Timings};
use crate::js::value::{Context, ErrorKind, Outcome, Thrown, Value};

/// The properties, in order.
const FIELDS: [&str; 16] = [
    "remote_ip",
    "remote_port",
    "url",
    "status",
    "status_text",
    "proto",
    "headers",
    "cookies",
    "body",
    "timings",
    "tls_version",
    "tls_cipher_suite",
    "ocsp",
    "error",
    "error_code",
    "request",
];

/// What a session cookie has as its expiry, ms: the year 1 less a day and a quarter.
const NO_EXPIRY_MS: f64 = -6_795_364_578_871.0;

/// Where the whole value of a body of JSON is kept. It is not listed.
const PARSED: &str = "(json)";

const METHODS: &[ffi::FunctionEntry] = functions! {
    c"json" 1 => json;
    c"html" 1 => html;
    c"submitForm" 1 => submit_form;
    c"clickLink" 1 => click_link;
};

/// An answer that has come, with the request that it is to.
#[derive(Debug, Default)]
pub(in crate::js) struct ResponseObject {
    request: Box<Request>,
    status: u16,
    remote_port: u16,
    error_code: u16,
    timings: Timings,
    status_text: String,
    protocol: String,
    url: String,
    remote_ip: String,
    error: String,
    tls_version: String,
    tls_cipher_suite: String,
    cookies: String,
    head: Vec<u8>,
    body: Vec<u8>,
}

static EXOTIC: ffi::Exotic = ffi::Exotic {
    get_own_property: Some(get_own_property),
    get_own_property_names: Some(get_own_property_names),
    delete_property: None,
    define_own_property: None,
    has_property: None,
    get_property: None,
    set_property: None,
};

impl Held for ResponseObject {
    const NAME: &'static CStr = c"Response";
    const EXOTIC: *const ffi::Exotic = &raw const EXOTIC;

    fn class(classes: &Classes) -> u32 {
        classes.response
    }
}

/// Gives responses their methods, and numbers the names of their properties.
pub(super) fn define(context: Context<'_>) -> Result<(), Thrown> {
    let mut fields = context.inner().fields.borrow_mut();
    if !fields.is_empty() {
        return Ok(());
    }
    for name in FIELDS {
        // SAFETY: QuickJS reads as many bytes as it is told.
        fields.push(unsafe { ffi::JS_NewAtomLen(context.raw(), name.as_ptr().cast(), name.len()) });
    }
    let prototype = context.object()?;
    prototype.define_functions(METHODS)?;
    classes::set_prototype::<ResponseObject>(prototype);
    Ok(())
}

/// The name of a suite as it is registered, which is the one that k6 gives: TLS says the version of
/// those of 1.3 in it.
fn registered_suite(name: &str) -> String {
    name.replacen("TLS13_", "TLS_", 1)
}

impl ResponseObject {
    pub(super) fn new(request: Box<Request>, answer: &Answer<'_>) -> Self {
        Self {
            request,
            status: answer.status,
            remote_port: answer.remote_port,
            error_code: answer.error_code,
            timings: answer.timings,
            status_text: answer.status_text.to_owned(),
            protocol: answer.protocol.to_owned(),
            url: answer.url.to_owned(),
            remote_ip: answer.remote_ip.to_owned(),
            error: answer.error.to_owned(),
            tls_version: answer.tls_version.to_owned(),
            tls_cipher_suite: registered_suite(answer.tls_cipher_suite),
            cookies: answer.cookies.to_owned(),
            head: answer.head.to_owned(),
            body: answer.body.to_owned(),
        }
    }

    pub(super) fn error(&self) -> &str {
        &self.error
    }

    /// The URL that it came from, or that has failed after a redirect; empty if the request's own
    /// has failed.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn request(&self) -> &Request {
        &self.request
    }

    /// Whether there is a body, which may be empty; of a response that has failed on the way, the
    /// part that came.
    fn has_body(&self) -> bool {
        let has_none = match self.status {
            0 => self.body.is_empty(),
            status => matches!(status, 100..=199 | 204 | 304),
        };
        self.request.response_body != ResponseBody::Nothing && !has_none
    }

    /// Names and values of the fields of the head.
    fn head(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        fields(&self.head)
    }

    /// A property, by its place among [`FIELDS`].
    fn field<'js>(&self, context: Context<'js>, field: usize) -> Outcome<'js> {
        match FIELDS[field] {
            "remote_ip" => context.string(&self.remote_ip),
            "remote_port" => Ok(context.integer(i32::from(self.remote_port))),
            "url" if self.url.is_empty() => context.string(&self.request.url),
            "url" => context.string(&self.url),
            "status" => Ok(context.integer(i32::from(self.status))),
            "status_text" => context.string(&self.status_text),
            "proto" => context.string(&self.protocol),
            "headers" => headers_of(context, &self.head),
            "cookies" => self.cookies(context),
            "body" => self.body(context),
            "timings" => self.timings(context),
            "tls_version" => context.string(&self.tls_version),
            "tls_cipher_suite" => context.string(&self.tls_cipher_suite),
            "ocsp" => ocsp(context, !self.tls_version.is_empty()),
            "error" => context.string(&self.error),
            "error_code" => Ok(context.integer(i32::from(self.error_code))),
            _ => self.request_object(context),
        }
    }

    /// By name, each a list of those that were set.
    fn cookies<'js>(&self, context: Context<'js>) -> Outcome<'js> {
        let cookies = context.object()?;
        let set = self.head().filter(|(name, _)| name.eq_ignore_ascii_case(b"set-cookie"));
        for (_, line) in set {
            let line = String::from_utf8_lossy(line);
            let mut parts = line.split(';').map(str::trim);
            let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
                continue;
            };
            let cookie = cookie(context, name, value, parts)?;
            let list = cookies.get(name)?;
            let list = if list.is_array() { list } else { context.array()? };
            list.define_at(list.length()?, cookie)?;
            cookies.define(name, list)?;
        }
        Ok(cookies)
    }

    fn body<'js>(&self, context: Context<'js>) -> Outcome<'js> {
        match self.request.response_body {
            _ if !self.has_body() => Ok(context.null()),
            ResponseBody::Binary => context.array_buffer(&self.body),
            _ => context.string(&self.body),
        }
    }

    /// In milliseconds.
    fn timings<'js>(&self, context: Context<'js>) -> Outcome<'js> {
        let it = &self.timings;
        let timings = context.object()?;
        for (name, time_ns) in [
            ("duration", it.duration_ns()),
            ("blocked", it.blocked_ns),
            ("looking_up", 0),
            ("connecting", it.connecting_ns),
            ("tls_handshaking", it.tls_handshaking_ns),
            ("sending", it.sending_ns),
            ("waiting", it.waiting_ns),
            ("receiving", it.receiving_ns),
        ] {
            timings.define(name, context.number(time_ns as f64 / 1e6))?;
        }
        Ok(timings)
    }

    /// The request as it was sent before any redirect, but for what belongs to the connection.
    fn request_object<'js>(&self, context: Context<'js>) -> Outcome<'js> {
        let request = &self.request;
        let object = context.object()?;
        object.define("method", context.string(&request.method)?)?;
        object.define("url", context.string(&request.url)?)?;
        object.define("headers", self.sent_headers(context)?)?;
        object.define("body", context.string(&request.body)?)?;
        object.define("cookies", self.sent_cookies(context)?)?;
        Ok(object)
    }

    /// By canonical name, each a list of one value. As in k6, a length is not among them.
    fn sent_headers<'js>(&self, context: Context<'js>) -> Outcome<'js> {
        let headers = context.object()?;
        let put = |name: &str, value: &str| {
            let list = context.array()?;
            list.define_at(0, context.string(value)?)?;
            headers.define(name, list)
        };
        put("User-Agent", &context.inner().shared.settings.user_agent)?;
        let request = &self.request;
        let is_packed = !request.compression.is_empty() && !request.body.is_empty();
        if is_packed {
            put("Content-Encoding", &http::field_of(&request.compression))?;
        }
        for (name, value) in &request.headers {
            let name = canonical(name.as_bytes());
            if name != "Content-Length" {
                put(&name, value)?;
            }
        }
        if !self.cookies.is_empty() {
            put("Cookie", &self.cookies)?;
        }
        Ok(headers)
    }

    /// What the field says, by name: those of the jar too.
    fn sent_cookies<'js>(&self, context: Context<'js>) -> Outcome<'js> {
        let cookies = context.object()?;
        for pair in self.cookies.split(';') {
            let Some((name, value)) = pair.trim().split_once('=') else { continue };
            let quoted = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            let cookie = context.object()?;
            cookie.define("name", context.string(name)?)?;
            cookie.define("value", context.string(quoted.unwrap_or(value))?)?;
            cookie.define("replace", context.boolean(false))?;
            let list = cookies.get(name)?;
            let list = if list.is_array() { list } else { context.array()? };
            list.define_at(list.length()?, cookie)?;
            cookies.define(name, list)?;
        }
        Ok(cookies)
    }
}

/// Names and values in the lines of a head.
fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    head.split(|byte| *byte == b'\n').filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b':')?;
        Some((line[..at].trim_ascii(), line[at + 1..].trim_ascii()))
    })
}

/// The fields of a head by canonical name; values of one name are joined.
pub(in crate::js::api) fn headers_of<'js>(context: Context<'js>, head: &[u8]) -> Outcome<'js> {
    let mut joined: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, value) in fields(head) {
        let name = canonical(name);
        match joined.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => {
                values.extend_from_slice(b", ");
                values.extend_from_slice(value);
            }
            None => joined.push((name, value.to_vec())),
        }
    }
    let headers = context.object()?;
    for (name, value) in joined {
        headers.define(&name, context.string(value)?)?;
    }
    Ok(headers)
}

/// Stapled responses are not looked at: over TLS their status is not known.
fn ocsp(context: Context<'_>, is_tls: bool) -> Outcome<'_> {
    let ocsp = context.object()?;
    for name in ["produced_at", "this_update", "next_update", "revoked_at"] {
        ocsp.define(name, context.integer(0))?;
    }
    ocsp.define("revocation_reason", context.string("")?)?;
    ocsp.define("status", context.string(if is_tls { "unknown" } else { "" })?)?;
    Ok(ocsp)
}

fn cookie<'js, 'a>(
    context: Context<'js>,
    name: &str,
    value: &str,
    attributes: impl Iterator<Item = &'a str>,
) -> Outcome<'js> {
    let (mut domain, mut path, mut max_age, mut expires_ms) = ("", "", 0.0, NO_EXPIRY_MS);
    let (mut http_only, mut secure) = (false, false);
    for attribute in attributes {
        let (key, value) = attribute.split_once('=').unwrap_or((attribute, ""));
        match key.trim().to_ascii_lowercase().as_str() {
            "domain" => domain = value.trim(),
            "path" => path = value.trim(),
            "max-age" => max_age = value.trim().parse().unwrap_or(0.0),
            "expires" => expires_ms = date_ms(value.trim()).unwrap_or(NO_EXPIRY_MS),
            "httponly" => http_only = true,
            "secure" => secure = true,
            _ => {}
        }
    }
    let cookie = context.object()?;
    cookie.define("name", context.string(name.trim())?)?;
    cookie.define("value", context.string(value.trim().trim_matches('"'))?)?;
    cookie.define("domain", context.string(domain)?)?;
    cookie.define("path", context.string(path)?)?;
    cookie.define("http_only", context.boolean(http_only))?;
    cookie.define("secure", context.boolean(secure))?;
    cookie.define("max_age", context.number(max_age))?;
    cookie.define("expires", context.number(expires_ms))?;
    Ok(cookie)
}

fn canonical(name: &[u8]) -> String {
    let bytes: Vec<u8> = http::canonical(name).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// # Safety
/// QuickJS calls it with an open context and an object of the class, and so the other.
unsafe extern "C" fn get_own_property(
    context: *mut ffi::Context,
    descriptor: *mut ffi::Descriptor,
    object: Raw,
    atom: u32,
) -> c_int {
    // SAFETY: as the caller says.
    let context = unsafe { Context::new(context) };
    let Some(field) = context.inner().fields.borrow().iter().position(|known| *known == atom)
    else {
        return 0;
    };
    // SAFETY: QuickJS lends the object.
    let object = unsafe { context.lent(object) };
    let Some(response) = classes::held::<ResponseObject>(&object) else { return 0 };
    let Ok(value) = response.field(context, field) else { return -1 };
    // From now on it is a plain property, which QuickJS finds by itself.
    if object.define_atom(atom, value.clone()).is_err() {
        return -1;
    }
    if !descriptor.is_null() {
        let none = context.undefined().into_raw();
        let flags = ffi::PROP_C_W_E;
        let value = value.into_raw();
        // SAFETY: QuickJS gives room for one.
        unsafe { descriptor.write(ffi::Descriptor { flags, value, getter: none, setter: none }) };
    }
    1
}

/// Names the properties that are not made yet: QuickJS adds those that are.
unsafe extern "C" fn get_own_property_names(
    context: *mut ffi::Context,
    names: *mut *mut ffi::PropertyName,
    len: *mut u32,
    object: Raw,
) -> c_int {
    // SAFETY: as above.
    let context = unsafe { Context::new(context) };
    let fields = context.inner().fields.borrow().clone();
    let mut missing = Vec::new();
    for (name, atom) in FIELDS.iter().zip(fields) {
        // SAFETY: context, object and atom are alive.
        if !unsafe { ffi::plimsoll_has_plain(object, atom) } {
            missing.push(*name);
        }
    }
    name_properties(context, &missing, names, len)
}

fn this<'a, 'js>(
    call: &Call<'js, '_>,
    value: &'a Value<'js>,
) -> Result<&'a ResponseObject, Thrown> {
    classes::held(value)
        .ok_or_else(|| call.context.throw(ErrorKind::Type, "this is a method of responses"))
}

/// `response.json(path)`: the value of the body, or of what a path finds in it.
fn json<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, object) = (call.context, call.this());
    let response = this(call, &object)?;
    if !response.has_body() {
        let message = "response.json() needs a body, and there is none: the request has failed, \
                       the status has none, or bodies are discarded";
        return Err(context.throw(ErrorKind::Plain, message));
    }
    let path = call.argument(0);
    if path.is_nothing() {
        let parsed = object.get(PARSED)?;
        if !parsed.is_undefined() {
            return Ok(parsed);
        }
        let parsed = context.parse_json(&response.body, c"<response>")?;
        object.define_hidden(PARSED, parsed.clone())?;
        return Ok(parsed);
    }
    if serde_json::from_slice::<serde::de::IgnoredAny>(&response.body).is_err() {
        return Ok(context.undefined());
    }
    let path = path.to_text()?;
    match gjson::find(&response.body, path.bytes()) {
        Ok(Some(found)) => context.parse_json(&found, c"<response>"),
        Ok(None) => Ok(context.undefined()),
        Err(error) => {
            let message = format!("response.json('{}'): {error}", path.str());
            Err(context.throw(ErrorKind::Plain, message))
        }
    }
}

fn html<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    in_page(call, "html")
}

fn submit_form<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    in_page(call, "submitForm")
}

fn click_link<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    in_page(call, "clickLink")
}

/// Calls a function of `lib/response_html.js` with the response and the argument.
fn in_page<'js>(call: &Call<'js, '_>, name: &str) -> Outcome<'js> {
    let (context, object) = (call.context, call.this());
    if !this(call, &object)?.has_body() {
        let message = format!("response.{name}() needs a body, and there is none");
        return Err(context.throw(ErrorKind::Plain, message));
    }
    let library = modules::library(context, "plimsoll:html/response")?;
    library.get(name)?.call(&context.undefined(), &[object, call.argument(0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_in_go() {
        for (name, want) in
            [("content-type", "Content-Type"), ("X-REQUEST-id", "X-Request-Id"), ("etag", "Etag")]
        {
            assert_eq!(canonical(name.as_bytes()), want);
        }
    }

    #[test]
    fn suites_have_their_registered_names() {
        for (name, want) in [
            ("TLS13_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"),
            ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
            ("", ""),
        ] {
            assert_eq!(registered_suite(name), want);
        }
    }
}

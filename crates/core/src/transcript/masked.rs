//! The parts of a transcript, made of the bytes on the wire.
//!
//! In heads, the name of a field decides. Of requests all values are masked but those of fields
//! that are known to be harmless, because a user's own header may carry a credential. Of responses
//! those whose names mark them as secret. In bodies, what follows the name of a secret is masked
//! where the grammar is known; a request's body in another grammar is masked as a whole if it
//! names a secret. Secrets of a request are also masked where its response repeats them.

use super::{BODY_BYTES_MAX, Body, Kept, Message, json};
use crate::secret::{Masks, form_decoded};

/// Fields of responses that say how to log in and hold no credential, whatever their names.
const CHALLENGES: [&str; 2] = ["www-authenticate", "proxy-authenticate"];

/// Fields of responses that a browser keeps, each `name=value` and attributes.
const SET_COOKIE: &str = "set-cookie";

/// Shorter values of secrets are not looked for in responses: they are found in words.
const SECRET_BYTES_MIN: usize = 6;

const GRPC: &str = "application/grpc";
const FORM: &str = "application/x-www-form-urlencoded";

/// A request, of its text: `head_bytes` of head, and the body.
#[must_use]
pub fn request(masks: &Masks, text: &[u8], head_bytes: usize) -> Message {
    let (head, body) = text.split_at(head_bytes.min(text.len()));
    let lines = lines(head);
    let media_type = media_type(&lines);
    let shown = lines.iter().map(|line| sent_line(masks, line)).collect();
    let bytes = body.len() as u64;
    let start = &body[..body.len().min(BODY_BYTES_MAX)];
    Message { head: shown, body: Body { bytes, kept: sent_body(masks, &media_type, start) } }
}

/// The secrets of a request that have a name of their own: values of its fields, and of parameters
/// in its target and in a form. A server may send them back under any name, or under none.
#[must_use]
pub fn secrets(masks: &Masks, text: &[u8], head_bytes: usize) -> Vec<String> {
    if masks.shows_all {
        return Vec::new();
    }
    let (head, body) = text.split_at(head_bytes.min(text.len()));
    let lines = lines(head);
    let own = lines.iter().filter_map(|line| field(line));
    let hidden = own.filter(|(name, _)| !name.is_empty() && masks.hides_header(name));
    // What follows the scheme in `Authorization`, and a cookie's name, is a secret by itself.
    let values = hidden.flat_map(|(_, value)| {
        let parts =
            value.split([' ', ';']).map(|part| part.split_once('=').map_or(part, |it| it.1));
        [value].into_iter().chain(parts)
    });
    let form = if media_type(&lines).starts_with(FORM) { body } else { b"" };
    let targets = lines.iter().filter(|line| line.contains('?') && !line.contains(": "));
    let paths = lines.iter().filter(|line| line.starts_with(":path: "));
    let form = String::from_utf8_lossy(&form[..form.len().min(BODY_BYTES_MAX)]).into_owned();
    let places = targets.chain(paths).map(String::as_str).chain([form.as_str()]);
    let parameters = places.flat_map(|text| text.split(['?', '&', ';', '#', ' ']));
    let pairs = parameters.filter_map(|parameter| parameter.split_once('='));
    let pairs = pairs.filter(|(name, _)| masks.hides(name));
    let pairs = pairs.flat_map(|(_, value)| [value.to_owned(), form_decoded(value)]);
    let all = values.map(str::to_owned).chain(pairs);
    all.filter(|value| value.len() >= SECRET_BYTES_MIN).collect()
}

/// What came back, before anything is masked.
#[derive(Debug, Clone, Default)]
pub struct Received<'a> {
    /// The first line of its head, where the protocol has one.
    pub first_line: Option<String>,
    /// The lines of its fields.
    pub fields: &'a [u8],
    /// The beginning of its body.
    pub start: &'a [u8],
    /// How long its body is as a whole.
    pub bytes: u64,
}

/// A response to a request with these [`secrets`].
#[must_use]
pub fn response(masks: &Masks, secrets: &[String], received: Received<'_>) -> Message {
    let Received { first_line, fields, start, bytes } = received;
    let without = |text: &str| {
        let mask = |text: String, secret: &String| text.replace(secret, &masks.whole(secret));
        secrets.iter().fold(text.to_owned(), mask)
    };
    let lines: Vec<String> = lines(fields).iter().map(|line| without(line)).collect();
    let media_type = media_type(&lines);
    let shown = lines.iter().map(|line| received_line(masks, line));
    let start = &start[..start.len().min(BODY_BYTES_MAX)];
    Message {
        head: first_line.into_iter().chain(shown).collect(),
        body: Body { bytes, kept: received_body(masks, &media_type, start, without) },
    }
}

/// The fields behind the body of a response.
#[must_use]
pub fn trailers(masks: &Masks, fields: &[u8]) -> Vec<String> {
    lines(fields).iter().map(|line| received_line(masks, line)).collect()
}

/// The lines of a head, without the empty ones.
fn lines(head: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(head);
    let lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn field(line: &str) -> Option<(&str, &str)> {
    line.split_once(':').map(|(name, value)| (name.trim(), value.trim()))
}

/// What the lines of a head say of the body's kind, in lower case; empty if nothing.
fn media_type(lines: &[String]) -> String {
    let mut fields = lines.iter().filter_map(|line| field(line));
    let found = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    found.map_or_else(String::new, |(_, value)| value.to_ascii_lowercase())
}

fn sent_line(masks: &Masks, line: &str) -> String {
    if let Some((name, value)) = line.strip_prefix(':').and_then(field) {
        let shown = if name == "path" { masks.url(value) } else { value.to_owned() };
        return format!(":{name}: {shown}");
    }
    // A request line has spaces before any colon, and a field has none in its name.
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        [method, target, version] if version.starts_with("HTTP/") && !method.ends_with(':') => {
            format!("{method} {} {version}", masks.url(target))
        }
        _ => masks.header_line(line),
    }
}

fn received_line(masks: &Masks, line: &str) -> String {
    let Some((name, value)) = field(line) else { return masks.text(line) };
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    let shown = if is(SET_COOKIE) {
        cookie(masks, value)
    } else if masks.hides(name) && !CHALLENGES.iter().any(|known| is(known)) {
        masks.whole(value)
    } else {
        masks.text(&masks.urls_in(value))
    };
    format!("{name}: {shown}")
}

/// A cookie without its value.
fn cookie(masks: &Masks, value: &str) -> String {
    let (pair, attributes) = value.split_at(value.find(';').unwrap_or(value.len()));
    match pair.split_once('=') {
        _ if masks.shows_all => value.to_owned(),
        Some((name, value)) => format!("{name}={}{attributes}", masks.whole(value)),
        None => masks.whole(value),
    }
}

fn sent_body(masks: &Masks, media_type: &str, start: &[u8]) -> Kept {
    if masks.shows_all {
        return plain(start);
    }
    let text = match plain(start) {
        Kept::Text(text) => text,
        binary => {
            let names_secret = masks.names_secret(&String::from_utf8_lossy(start));
            return if names_secret || media_type.starts_with(GRPC) {
                mask(masks, start)
            } else {
                binary
            };
        }
    };
    if media_type.starts_with(FORM) {
        return Kept::Text(form(masks, &text));
    }
    if is_json(media_type, &text) {
        return Kept::Text(json::masked(masks, &text));
    }
    let names_secret = masks.names_secret(&text) || masks.names_secret(&form_decoded(&text));
    if names_secret || media_type.starts_with(GRPC) { mask(masks, start) } else { Kept::Text(text) }
}

fn received_body(
    masks: &Masks,
    media_type: &str,
    start: &[u8],
    without: impl Fn(&str) -> String,
) -> Kept {
    let kept = match plain(start) {
        Kept::Text(text) => Kept::Text(without(&text)),
        kept => kept,
    };
    match kept {
        kept if masks.shows_all => kept,
        Kept::Text(text) if media_type.starts_with(FORM) => Kept::Text(form(masks, &text)),
        Kept::Text(text) if text.is_empty() => Kept::Text(text),
        _ if media_type.starts_with(GRPC) => mask(masks, start),
        Kept::Text(text) if is_json(media_type, &text) => Kept::Text(json::masked(masks, &text)),
        // An echo of a form: what is secret stands below its name.
        Kept::Text(text) if text.contains("form-data; name=") && masks.names_secret(&text) => {
            mask(masks, start)
        }
        Kept::Text(text) => Kept::Text(masks.text(&text)),
        binary => binary,
    }
}

fn mask(masks: &Masks, start: &[u8]) -> Kept {
    Kept::Mask(masks.whole(&String::from_utf8_lossy(start)))
}

fn form(masks: &Masks, text: &str) -> String {
    let fields: Vec<String> = text.split('&').map(|field| masks.field(field)).collect();
    fields.join("&")
}

fn is_json(media_type: &str, text: &str) -> bool {
    media_type.contains("json") || text.trim_start().starts_with(['{', '['])
}

/// Text as such, with a character at the end left out that is cut in two; all else as bytes.
fn plain(start: &[u8]) -> Kept {
    let valid = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            let end = error.valid_up_to();
            std::str::from_utf8(&start[..end]).unwrap_or_default()
        }
        Err(_) => return Kept::Binary(start.to_vec()),
    };
    match valid.contains('\0') || (valid.is_empty() && !start.is_empty()) {
        true => Kept::Binary(start.to_vec()),
        false => Kept::Text(valid.to_owned()),
    }
}

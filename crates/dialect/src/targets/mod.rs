//! Target files: several requests for one run, in vegeta's `http` format, its JSON lines, or TOML.
//!
//! A run loads one server, so all targets must go to one origin: scheme, host and port.

mod http;
mod json;
mod table;

#[doc(hidden)]
pub mod fuzz;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use plimsoll_core::nearest::unknown_key;
use plimsoll_core::plan::{Body, Endpoint, Target};
use plimsoll_core::secret::{Masks, Secret};

/// The most targets.
const TARGETS_MAX: usize = 1_000_000;

/// The most bytes in all bodies together.
const BODIES_BYTES_MAX: usize = 1 << 30;

/// How a target file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `METHOD URL`, headers, `@FILE` for the body, one block for each target.
    Http,
    /// One JSON object a line: method, url, header (lists), body (base64).
    Json,
    /// TOML: `[[target]]` with name, method, url or path, headers, body or body_file, weight,
    /// expect, chunked.
    Toml,
}

impl Format {
    /// Tells the format by the file's ending or, failing that, by how the text begins.
    #[must_use]
    pub fn detect(path: &str, text: &str) -> Self {
        let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        match ending.as_deref() {
            Some("toml") => return Self::Toml,
            Some("json" | "jsonl" | "ndjson") => return Self::Json,
            _ => {}
        }
        let mut lines = text.lines().map(str::trim);
        let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
        match first.and_then(|line| line.bytes().next()) {
            Some(b'{') => Self::Json,
            Some(b'[') => Self::Toml,
            _ => Self::Http,
        }
    }
}

/// Why a target file cannot be used: one line, where, what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}, line {line}: {what}")]
pub struct TargetsError {
    /// The file.
    pub path: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub what: String,
}

/// Reads a file's bytes, or says why not.
pub type ReadFile<'a> = dyn Fn(&str) -> Result<Vec<u8>, String> + 'a;
/// Reads a URL, or says why not.
pub type ReadUrl<'a> = dyn Fn(&str) -> Result<Endpoint, String> + 'a;

/// A target file to be read.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Its name: for messages, and its ending tells the format.
    pub path: &'a str,
    /// What it holds.
    pub text: &'a str,
    /// Its format, if not to be detected.
    pub format: Option<Format>,
    /// Where the requests go, in place of what the targets say.
    pub origin: Option<&'a Endpoint>,
    /// Reads the files of bodies.
    pub read_file: &'a ReadFile<'a>,
    /// Reads the targets' URLs.
    pub read_url: &'a ReadUrl<'a>,
}

/// What a target file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Targets {
    /// Where all requests go; its path is `/`.
    pub origin: Endpoint,
    /// The requests, in the file's order; at least one.
    pub targets: Vec<Target>,
}

/// What is wrong in a line.
type Fault = (usize, String);

/// Where a target goes, before it is known that all go to one server.
#[derive(Debug)]
enum Place {
    Url(Endpoint),
    Path(String),
}

/// A target as the formats read it.
struct Draft {
    line: usize,
    place: Place,
    target: Target,
}

/// Reads a target file.
///
/// # Errors
/// The first line that cannot be used.
pub fn parse(source: &Source<'_>) -> Result<Targets, TargetsError> {
    let format = source.format.unwrap_or_else(|| Format::detect(source.path, source.text));
    let mut files = Files { read: source.read_file, known: HashMap::new(), bytes: 0 };
    let drafts = match format {
        Format::Http => http::parse(source, &mut files),
        Format::Json => json::parse(source, &mut files),
        Format::Toml => table::parse(source, &mut files),
    };
    let targets = drafts.and_then(|drafts| on_one_server(source.origin, drafts));
    targets.map_err(|(line, what)| TargetsError { path: source.path.to_owned(), line, what })
}

/// Finds the server that all targets go to.
fn on_one_server(given: Option<&Endpoint>, drafts: Vec<Draft>) -> Result<Targets, Fault> {
    if drafts.is_empty() {
        return Err((1, "there is no target: write a line such as GET http://HOST/PATH".into()));
    }
    let mut first: Option<(usize, Endpoint)> = None;
    let mut targets = Vec::with_capacity(drafts.len());
    for Draft { line, place, mut target } in drafts {
        target.path = match place {
            // A fragment is the client's own (RFC 9110 section 4.2.5).
            Place::Path(path) => path.split('#').next().unwrap_or_default().into(),
            Place::Url(url) => {
                let (known_line, known) = first.get_or_insert_with(|| (line, root(&url)));
                if root(&url) != *known {
                    let what = format!(
                        "{} is not the server of line {known_line}, {}: a run loads one, split \
                         the file",
                        origin(&url),
                        origin(known)
                    );
                    return Err((line, what));
                }
                url.path
            }
        };
        if target.name.is_empty() {
            // What identifies a request, and what changes from one to the next, meet at the query.
            let path = Masks::default().url(target.path.reveal());
            let path = path.split('?').next().unwrap_or_default();
            target.name = format!("{} {path}", target.request.method);
        }
        if target.name.contains(char::is_control) || target.path.reveal().contains(char::is_control)
        {
            let what = "its name or path has a control character: take it out, or write %XX";
            return Err((line, what.to_owned()));
        }
        targets.push(target);
    }
    let origin = given.map(root).or_else(|| first.map(|(_, origin)| origin)).ok_or_else(|| {
        (1, "no target says which server: give its URL on the command line too".to_owned())
    })?;
    Ok(Targets { origin, targets })
}

fn root(endpoint: &Endpoint) -> Endpoint {
    Endpoint { path: "/".into(), ..endpoint.clone() }
}

fn origin(endpoint: &Endpoint) -> String {
    format!("{}://{}", endpoint.scheme, endpoint.authority())
}

impl Source<'_> {
    /// Reads a URL, or a path on the server that is given elsewhere.
    fn place(&self, line: usize, text: &str) -> Result<Place, Fault> {
        if text.starts_with('/') {
            return Ok(Place::Path(text.to_owned()));
        }
        (self.read_url)(text).map(Place::Url).map_err(|what| (line, what))
    }
}

/// The bodies of a target file: each file is read once, and all together are limited.
struct Files<'a> {
    read: &'a ReadFile<'a>,
    known: HashMap<String, Body>,
    bytes: usize,
}

impl Files<'_> {
    /// The body in a file.
    fn body(&mut self, line: usize, path: &str) -> Result<Body, Fault> {
        if !self.known.contains_key(path) {
            let bytes = (self.read)(path).map_err(|why| (line, format!("body '{path}': {why}")))?;
            self.known.insert(path.to_owned(), Body::new(bytes));
        }
        let body = self.known[path].clone();
        self.count(line, &body)?;
        Ok(body)
    }

    /// Makes sure that a body still fits.
    fn count(&mut self, line: usize, body: &Body) -> Result<(), Fault> {
        self.bytes = self.bytes.saturating_add(body.as_bytes().len());
        let what = || "the bodies up to here are more than 1 GiB: send less, or less often";
        (self.bytes <= BODIES_BYTES_MAX).then_some(()).ok_or_else(|| (line, what().to_owned()))
    }
}

/// Adds a target while there is room.
fn push(drafts: &mut Vec<Draft>, draft: Draft) -> Result<(), Fault> {
    if drafts.len() == TARGETS_MAX {
        return Err((draft.line, format!("more than {TARGETS_MAX} targets: give fewer")));
    }
    drafts.push(draft);
    Ok(())
}

/// Refuses what is no method, so that the line can be named.
fn check_method(line: usize, method: &str) -> Result<(), Fault> {
    let is_method_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_method = !method.is_empty() && method.bytes().all(is_method_byte);
    let what = || format!("'{}' is not a method: write GET, POST or the like", excerpt(method));
    is_method.then_some(()).ok_or_else(|| (line, what()))
}

/// Reads `Name: value`.
fn header(line: usize, text: &str) -> Result<(String, Secret), Fault> {
    // Not the text: a value that has lost its name may be a secret.
    let what = || "this is not a header: write 'Name: value'".to_owned();
    let (name, value) = text.split_once(':').ok_or_else(|| (line, what()))?;
    let (name, value) = (name.trim(), value.trim());
    let is_name = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control());
    is_name.then(|| (name.to_owned(), value.into())).ok_or_else(|| (line, what()))
}

/// What a parser says, without the values that it quotes; of an unknown key, what was meant.
fn without_values(message: &str) -> String {
    if let Some(unknown) = unknown_key(message) {
        return unknown;
    }
    match (message.find('"'), message.rfind('"')) {
        (Some(from), Some(to)) if from < to => format!("{}\"…{}", &message[..from], &message[to..]),
        _ => message.to_owned(),
    }
}

/// The start of what cannot be read, on one line.
fn excerpt(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    let short: String = text.chars().take(CHARS_MAX).map(printable).collect();
    if text.chars().nth(CHARS_MAX).is_some() { short + "…" } else { short }
}

fn printable(character: char) -> char {
    if character.is_control() { ' ' } else { character }
}

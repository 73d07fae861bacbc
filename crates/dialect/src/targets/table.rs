//! Targets as TOML, which can say all that a target has.
//!
//! ```toml
//! [[target]]
//! name = "search"                     # default: method and path
//! path = "/search?q={{seq}}"          # or url = "http://HOST/search?q=1"
//! headers = { Accept = "text/html" }  # or ["Accept: text/html"], which keeps an order
//! weight = 3
//! expect = ["status=200"]
//!
//! [[target]]
//! method = "PUT"                      # default: GET, or POST with a body
//! url = "http://HOST/items"
//! body = "hello"                      # or body_file = "item.json"
//! chunked = true
//! ```

use std::collections::BTreeMap;

use plimsoll_core::plan::{Body, Request, Target};
use plimsoll_core::secret::Secret;
use serde::Deserialize;
use toml::Spanned;

use super::{Draft, Fault, Files, Place, Source, check_method, header, push, without_values};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    target: Vec<Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Option<String>,
    method: Option<String>,
    url: Option<String>,
    path: Option<String>,
    #[serde(default)]
    headers: Headers,
    body: Option<String>,
    body_file: Option<String>,
    weight: Option<u32>,
    #[serde(default)]
    expect: Vec<String>,
    #[serde(default)]
    chunked: bool,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a table of headers or a list of 'Name: value'")]
enum Headers {
    Table(BTreeMap<String, Values>),
    Lines(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a header's value, or a list of values")]
enum Values {
    One(String),
    Several(Vec<String>),
}

impl Default for Headers {
    fn default() -> Self {
        Self::Lines(Vec::new())
    }
}

impl Headers {
    fn read(self, line: usize) -> Result<Vec<(String, Secret)>, Fault> {
        match self {
            Self::Lines(lines) => lines.iter().map(|text| header(line, text)).collect(),
            Self::Table(table) => Ok(table
                .into_iter()
                .flat_map(|(name, values)| {
                    let values = match values {
                        Values::One(value) => vec![value],
                        Values::Several(values) => values,
                    };
                    values.into_iter().map(move |value| (name.clone(), value.into()))
                })
                .collect()),
        }
    }
}

pub(super) fn parse(source: &Source<'_>, files: &mut Files<'_>) -> Result<Vec<Draft>, Fault> {
    let document: Document = toml::from_str(source.text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(source.text, span.start));
        (line, without_values(&error.message().replace('\n', " ")))
    })?;
    let mut drafts = Vec::new();
    let mut lines = Lines { text: source.text, offset: 0, line: 1 };
    for entry in document.target {
        let line = lines.of(entry.span().start);
        push(&mut drafts, target(source, files, line, entry.into_inner())?)?;
    }
    Ok(drafts)
}

fn target(
    source: &Source<'_>,
    files: &mut Files<'_>,
    line: usize,
    entry: Entry,
) -> Result<Draft, Fault> {
    let fault = |what: &str| (line, what.to_owned());
    let place = match (&entry.url, &entry.path) {
        (Some(url), None) => source.place(line, url)?,
        (None, Some(path)) if path.starts_with('/') => Place::Path(path.clone()),
        (None, Some(_)) => return Err(fault("the path of this target does not start with '/'")),
        (None, None) => return Err(fault("this target goes nowhere: give it a url or a path")),
        (Some(_), Some(_)) => {
            return Err(fault("this target has both a url and a path: give one of them"));
        }
    };
    let body = match (entry.body, &entry.body_file) {
        (None, None) => None,
        (Some(text), None) => {
            let body = Body::Text(text.into());
            files.count(line, &body)?;
            Some(body)
        }
        (None, Some(path)) => Some(files.body(line, path)?),
        (Some(_), Some(_)) => {
            return Err(fault("this target has both a body and a body_file: give one of them"));
        }
    };
    if entry.chunked && body.is_none() {
        return Err(fault("this target is chunked and has no body: give it one"));
    }
    let default_method = if body.is_some() { "POST" } else { "GET" };
    let method = entry.method.unwrap_or_else(|| default_method.to_owned());
    check_method(line, &method)?;
    let expect = entry.expect.iter().map(|text| {
        text.parse().map_err(|error: plimsoll_core::expect::ExpectError| (line, error.to_string()))
    });
    let target = Target {
        name: entry.name.unwrap_or_default(),
        path: "".into(),
        weight: entry.weight.unwrap_or(1),
        expect: expect.collect::<Result<_, _>>()?,
        request: Request {
            method,
            headers: entry.headers.read(line)?,
            body,
            chunked: entry.chunked,
            ..Request::get()
        },
    };
    Ok(Draft { line, place, target })
}

fn line_of(text: &str, offset: usize) -> usize {
    Lines { text, offset: 0, line: 1 }.of(offset)
}

/// Tells lines of offsets that ascend, in one pass over the text.
struct Lines<'t> {
    text: &'t str,
    offset: usize,
    line: usize,
}

impl Lines<'_> {
    fn of(&mut self, offset: usize) -> usize {
        let offset = offset.clamp(self.offset, self.text.len());
        let between = &self.text.as_bytes()[self.offset..offset];
        self.line += between.iter().filter(|byte| **byte == b'\n').count();
        self.offset = offset;
        self.line
    }
}

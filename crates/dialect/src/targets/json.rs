//! vegeta's JSON lines. A field that is not known is refused: it would be left out of every
//! request.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use plimsoll_core::plan::{Body, Request, Target};
use serde::Deserialize;

use super::{Draft, Fault, Files, Source, check_method, push, without_values};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    method: String,
    url: String,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    header: Option<BTreeMap<String, Vec<String>>>,
}

pub(super) fn parse(source: &Source<'_>, files: &mut Files<'_>) -> Result<Vec<Draft>, Fault> {
    let mut drafts = Vec::new();
    for (index, text) in source.text.trim_start_matches('\u{feff}').lines().enumerate() {
        if !text.trim().is_empty() {
            push(&mut drafts, target(source, files, index + 1, text)?)?;
        }
    }
    Ok(drafts)
}

fn target(
    source: &Source<'_>,
    files: &mut Files<'_>,
    line: usize,
    text: &str,
) -> Result<Draft, Fault> {
    let read: Line = serde_json::from_str(text).map_err(|error| (line, explain(&error)))?;
    check_method(line, &read.method)?;
    let body = read.body.filter(|body| !body.is_empty()).map(|body| {
        let bytes = BASE64_STANDARD
            .decode(body.trim())
            .map_err(|error| (line, format!("the body is not base64 ({error}): encode it")))?;
        let body = Body::new(bytes);
        files.count(line, &body)?;
        Ok(body)
    });
    let headers = read.header.unwrap_or_default().into_iter().flat_map(|(name, values)| {
        values.into_iter().map(move |value| (name.clone(), value.into()))
    });
    let request = Request {
        method: read.method,
        headers: headers.collect(),
        body: body.transpose()?,
        ..Request::get()
    };
    let target =
        Target { name: String::new(), path: "".into(), request, weight: 1, expect: Vec::new() };
    Ok(Draft { line, place: source.place(line, read.url.trim())?, target })
}

fn explain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    // The message names the line already, and there is only one.
    let text = without_values(text.split(" at line ").next().unwrap_or_default());
    if text.ends_with('?') {
        return format!("column {}: {text}", error.column());
    }
    format!(
        "column {}: {text}: write {{\"method\":…,\"url\":…,\"header\":{{…}},\"body\":…}}",
        error.column()
    )
}

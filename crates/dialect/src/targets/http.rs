//! vegeta's `http` format.
//!
//! A block is a line `METHOD URL`, any number of headers, and at most one line `@FILE` for the
//! body, which ends it; so does an empty line, or the next request line. Lines that start with `#`
//! are comments. A header name is followed by its colon at once, so a line whose first word has
//! none is a request line.

use plimsoll_core::plan::{Request, Target};

use super::{Draft, Fault, Files, Source, check_method, excerpt, header, push};

pub(super) fn parse(source: &Source<'_>, files: &mut Files<'_>) -> Result<Vec<Draft>, Fault> {
    let mut drafts = Vec::new();
    let mut open: Option<Draft> = None;
    for (index, text) in source.text.trim_start_matches('\u{feff}').lines().enumerate() {
        let (line, text) = (index + 1, text.trim());
        if text.starts_with('#') {
            continue;
        }
        let is_end = text.is_empty() || is_request(text);
        if let Some(done) = open.take_if(|_| is_end) {
            push(&mut drafts, done)?;
        }
        if text.is_empty() {
            continue;
        }
        if is_request(text) {
            open = Some(request(source, line, text)?);
            continue;
        }
        let Some(mut draft) = open.take() else {
            let name = excerpt(text.split(':').next().unwrap_or_default());
            let what = format!("'{name}' belongs to no target: write METHOD URL first");
            return Err((line, what));
        };
        if let Some(path) = text.strip_prefix('@') {
            draft.target.request.body = Some(files.body(line, path.trim())?);
            push(&mut drafts, draft)?;
            continue;
        }
        draft.target.request.headers.push(header(line, text)?);
        open = Some(draft);
    }
    if let Some(done) = open {
        push(&mut drafts, done)?;
    }
    Ok(drafts)
}

fn is_request(text: &str) -> bool {
    let word = text.split(char::is_whitespace).next().unwrap_or_default();
    !word.is_empty() && !word.contains(':') && !word.starts_with('@')
}

fn request(source: &Source<'_>, line: usize, text: &str) -> Result<Draft, Fault> {
    let (method, url) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    check_method(line, method)?;
    let url = url.trim();
    if url.is_empty() {
        return Err((line, format!("{method} has no URL: write METHOD URL")));
    }
    let request = Request { method: method.to_owned(), ..Request::get() };
    let target =
        Target { name: String::new(), path: "".into(), request, weight: 1, expect: Vec::new() };
    Ok(Draft { line, place: source.place(line, url)?, target })
}

//! Makes what is sent from the flags: the request or the targets, and the tables of their
//! templates.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_core::authorization::basic;
use plimsoll_core::plan::error::{Message, given, name};
use plimsoll_core::plan::{Body, Endpoint, Field, Order, PlanError, Request, Target, TargetFile};
use plimsoll_core::random::{BOUNDARIES, Stream};
use plimsoll_core::secret::{Masks, Secret, percent_decoded};
use plimsoll_core::template::{self, Table};
use plimsoll_dialect::form::{self, Content, FormPart};
use plimsoll_dialect::{csv, targets};

use crate::fault::Fault;
use crate::files::{FILE_BYTES_MAX, read_or_stdin};
use crate::messages::{messages, targets as targets_of_messages};
use crate::request_args::RequestFlags;
use crate::url;

/// The largest table. Its fields take several times that.
const TABLE_BYTES_MAX: u64 = 1 << 28;

/// Boundaries tried, each of 128 random bits.
const BOUNDARIES_MAX: u64 = 16;

/// What is sent, and where to.
#[derive(Debug)]
pub(crate) struct Sent {
    pub endpoint: Endpoint,
    pub request: Request,
    pub targets: Vec<Target>,
    pub target_file: Option<TargetFile>,
    pub order: Order,
    pub templates: bool,
    pub tables: Vec<Table>,
}

/// A body, and the content type that goes with it.
type Typed = (Body, Option<String>);

/// Makes of the flags what is sent, reading the files they name.
///
/// # Errors
/// Usage for what makes no sense, and files that cannot be read.
pub(crate) fn sent(flags: &RequestFlags, url: Option<&str>, seed: u64) -> Result<Sent, Fault> {
    let templates = !flags.no_templates;
    let (url, credentials) = match url.map(split_credentials) {
        Some((url, credentials)) => (Some(url), credentials),
        None => (None, None),
    };
    let endpoint = url.as_deref().map(url::parse_to_load).transpose();
    let endpoint = endpoint.map_err(|line| Fault::of(Field::Url, line))?;
    let headers = headers(flags, credentials)?;
    let mut sent = Sent {
        endpoint: Endpoint::http("", 80, "/"),
        request: Request { http_minor: http_minor(flags), ..Request::get() },
        targets: Vec::new(),
        target_file: None,
        order: Order::Sequential,
        templates,
        tables: Vec::new(),
    };
    match (&flags.targets, endpoint) {
        (Some(path), endpoint) => {
            let read = several(flags, path, endpoint.as_ref(), &headers)?;
            let count = read.targets.len() as u64;
            sent.target_file = Some(TargetFile { path: path.display().to_string(), count });
            sent.order = order(flags, &read.targets);
            (sent.endpoint, sent.targets) = (read.origin, read.targets);
        }
        (None, Some(endpoint)) => {
            sent.endpoint = endpoint;
            sent.request = one(flags, headers, templates, seed)?;
        }
        (None, None) => {
            let advice = Message::from("give a URL or ") + given(Field::Targets, "FILE");
            return Err(PlanError::new(Field::Url, "say where to send the requests", advice).into());
        }
    }
    let mut messages = messages(flags, &sent.endpoint)?;
    if messages.len() > 1 {
        sent.targets = targets_of_messages(&sent.endpoint, &sent.request, messages);
    } else if let Some(message) = messages.pop() {
        sent.request.body = Some(message);
    }
    if templates {
        sent.tables = tables(&sent)?;
    }
    Ok(sent)
}

/// The order that was asked for, by the flag or by weights in the file.
fn order(flags: &RequestFlags, targets: &[Target]) -> Order {
    let has_weights = targets.iter().any(|target| target.weight != 1);
    let usual = if has_weights { Order::Weighted } else { Order::Sequential };
    flags.order.map_or(usual, Into::into)
}

fn http_minor(flags: &RequestFlags) -> u8 {
    u8::from(flags.http.as_deref() != Some("1.0"))
}

/// The one request that the flags describe.
fn one(
    flags: &RequestFlags,
    mut headers: Vec<(String, Secret)>,
    templates: bool,
    seed: u64,
) -> Result<Request, Fault> {
    let (body, content_type) = match body(flags, templates, seed)? {
        Some((body, content_type)) => (Some(body), content_type),
        None => (None, None),
    };
    if let Some(content_type) = content_type.filter(|_| !has(&headers, "Content-Type")) {
        headers.push(("Content-Type".to_owned(), content_type.into()));
    }
    let default_method = if body.is_some() { "POST" } else { "GET" };
    Ok(Request {
        method: flags.method.clone().unwrap_or_else(|| default_method.to_owned()),
        http_minor: http_minor(flags),
        headers,
        body,
        chunked: flags.chunked,
        expect_continue: flags.expect_continue,
    })
}

/// The targets of a file. Headers of the flags count for those that have none of the name.
fn several(
    flags: &RequestFlags,
    path: &Path,
    origin: Option<&Endpoint>,
    headers: &[(String, Secret)],
) -> Result<targets::Targets, Fault> {
    if let Some(origin) = origin.filter(|origin| origin.path.reveal() != "/") {
        let problem =
            Message::from("with ") + name(Field::Targets) + " the URL says only which server";
        let out = format!("leave '{}' out", Masks::default().url(origin.path.reveal()));
        return Err(PlanError::new(Field::Url, problem, out).into());
    }
    let shown = path.display().to_string();
    let unreadable = |why| Fault::File(Field::Targets, format!("target file '{shown}': {why}"));
    let bytes = read_or_stdin(path, FILE_BYTES_MAX).map_err(unreadable)?;
    let not_text = || format!("target file '{shown}' is not text in UTF-8");
    let text = String::from_utf8(bytes).map_err(|_| Fault::of(Field::Targets, not_text()))?;
    let source = targets::Source {
        path: &shown,
        text: &text,
        format: flags.targets_format.map(Into::into),
        origin,
        read_file: &|path| read_or_stdin(Path::new(path), FILE_BYTES_MAX),
        read_url: &url::parse,
    };
    let mut read =
        targets::parse(&source).map_err(|error| Fault::of(Field::Targets, error.to_string()))?;
    for Target { request, .. } in &mut read.targets {
        request.http_minor = http_minor(flags);
        request.chunked |= flags.chunked && request.body.is_some();
        request.expect_continue |= flags.expect_continue && request.body.is_some();
        let own = request.headers.len();
        for header in headers {
            if !has(&request.headers[..own], &header.0) {
                request.headers.push(header.clone());
            }
        }
    }
    Ok(read)
}

fn has(headers: &[(String, Secret)], name: &str) -> bool {
    headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
}

/// The headers of `-H`, and the credentials of `--basic` or the URL unless `-H` has others.
fn headers(
    flags: &RequestFlags,
    credentials: Option<Secret>,
) -> Result<Vec<(String, Secret)>, Fault> {
    let mut headers =
        flags.headers.iter().map(|text| header(text.reveal())).collect::<Result<Vec<_>, _>>()?;
    if flags.basic.as_ref().is_some_and(|basic| !basic.reveal().contains(':')) {
        let problem = name(Field::Basic) + " has no colon";
        return Err(PlanError::new(Field::Basic, problem, "write USER:PASS").into());
    }
    let credentials = flags.basic.clone().or(credentials);
    if let Some(credentials) = credentials.filter(|_| !has(&headers, "Authorization")) {
        headers.push(("Authorization".to_owned(), basic(credentials.reveal()).into()));
    }
    Ok(headers)
}

fn header(text: &str) -> Result<(String, Secret), Fault> {
    // Not the text: without a colon it can't be told what of it is the value.
    let wrong = || {
        let problem = Message::from("a header of ") + name(Field::Header) + " has no colon";
        PlanError::new(Field::Header, problem, "write 'Name: value'")
    };
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    Ok((name.trim().to_owned(), value.trim().into()))
}

/// The body of `-b`, `-F` or `--form-urlencoded`, of which there is at most one kind.
fn body(flags: &RequestFlags, templates: bool, seed: u64) -> Result<Option<Typed>, Fault> {
    if let Some(text) = &flags.body {
        let bytes = match text.reveal().strip_prefix('@') {
            None => text.reveal().as_bytes().to_vec(),
            Some(path) => body_file(Field::Body, path)?,
        };
        return Ok(Some((Body::new(bytes), None)));
    }
    if !flags.form.is_empty() {
        return multipart(&flags.form, templates, seed).map(Some);
    }
    if !flags.form_urlencoded.is_empty() {
        let parts = parts(Field::FormUrlencoded, &flags.form_urlencoded)?;
        let fields: Vec<(&str, &[u8])> =
            parts.iter().map(|(part, bytes)| (part.name.as_str(), bytes.as_slice())).collect();
        let bytes = form::urlencoded(&fields, templates)
            .map_err(|error| Fault::of(Field::FormUrlencoded, error.to_string()))?;
        return Ok(Some((Body::new(bytes), Some(form::URLENCODED.to_owned()))));
    }
    Ok(None)
}

fn multipart(form: &[Secret], templates: bool, seed: u64) -> Result<Typed, Fault> {
    let parts = parts(Field::Form, form)?;
    let borrowed: Vec<(&FormPart, &[u8])> =
        parts.iter().map(|(part, bytes)| (part, bytes.as_slice())).collect();
    let random = Stream::new(seed, BOUNDARIES);
    let written = (0..BOUNDARIES_MAX).find_map(|attempt| {
        let (high, low) = (random.word(2 * attempt), random.word(2 * attempt + 1));
        let boundary = format!("plimsoll-{high:016x}{low:016x}");
        form::multipart(&borrowed, &boundary).map(|bytes| (bytes, boundary))
    });
    let (bytes, boundary) = written.ok_or_else(|| {
        let problem = "the form's files hold every boundary tried";
        PlanError::new(Field::Form, problem, "give another --seed")
    })?;
    let body = Body::new(bytes);
    let in_head = |part: &FormPart| {
        let texts = [Some(&part.name), part.filename.as_ref(), part.content_type.as_ref()];
        texts.into_iter().flatten().any(|text| text.contains("{{"))
    };
    if templates && parts.iter().any(|(part, _)| in_head(part)) {
        let problem = "a part's name, file name and type hold no templates";
        let advice = Message::from("put them into its value, or give ") + name(Field::NoTemplates);
        return Err(PlanError::new(Field::Form, problem, advice).into());
    }
    let has_template =
        |part: &FormPart| matches!(&part.content, Content::Text(t) if t.contains("{{"));
    let is_binary = matches!(body, Body::Bytes(_));
    if templates && is_binary && parts.iter().any(|(part, _)| has_template(part)) {
        let problem = "a form with a file that is not text cannot have templates";
        let advice = Message::from("send the file alone, or give ") + name(Field::NoTemplates);
        return Err(PlanError::new(Field::Form, problem, advice).into());
    }
    Ok((body, Some(form::multipart_type(&boundary))))
}

/// Parts of a form, each with its content.
fn parts(field: Field, given: &[Secret]) -> Result<Vec<(FormPart, Vec<u8>)>, Fault> {
    let parse = match field {
        Field::FormUrlencoded => FormPart::parse_urlencoded,
        _ => FormPart::parse,
    };
    let with_content = |text: &Secret| {
        let part = parse(text.reveal()).map_err(|error| Fault::of(field, error.to_string()))?;
        let bytes = match &part.content {
            Content::Text(text) => text.as_bytes().to_vec(),
            Content::File(path) => body_file(field, path)?,
        };
        Ok((part, bytes))
    };
    given.iter().map(with_content).collect()
}

fn body_file(field: Field, path: &str) -> Result<Vec<u8>, Fault> {
    read_or_stdin(Path::new(path), FILE_BYTES_MAX)
        .map_err(|why| Fault::File(field, format!("body file '{path}': {why}")))
}

/// The tables that templates take values from.
fn tables(sent: &Sent) -> Result<Vec<Table>, Fault> {
    let mut paths: BTreeMap<String, Field> = BTreeMap::new();
    let own = std::iter::once((&sent.endpoint.path, &sent.request));
    let targets = sent.targets.iter().map(|target| (&target.path, &target.request));
    for (path, request) in own.chain(targets) {
        let headers = request.headers.iter().map(|(_, value)| (Field::Header, value));
        let body = match &request.body {
            Some(Body::Text(text)) => Some((Field::Body, text)),
            _ => None,
        };
        for (field, text) in [(Field::Url, path)].into_iter().chain(headers).chain(body) {
            // The engine, which knows whose text it is, says what is wrong with it.
            for path in template::tables(text.reveal()).unwrap_or_default() {
                let field = if sent.targets.is_empty() { field } else { Field::Targets };
                paths.entry(path).or_insert(field);
            }
        }
    }
    paths.iter().map(|(path, field)| table(*field, path)).collect()
}

fn table(field: Field, path: &str) -> Result<Table, Fault> {
    let bytes = read_or_stdin(Path::new(path), TABLE_BYTES_MAX)
        .map_err(|why| Fault::File(field, format!("table '{path}': {why}")))?;
    csv::parse(path, &bytes).map_err(|error| Fault::of(field, error.to_string()))
}

/// Takes `user:password@` out of a URL, with `%XX` in it decoded (RFC 3986 section 3.2.1).
fn split_credentials(url: &str) -> (String, Option<Secret>) {
    let whole = || (url.to_owned(), None);
    let Some((scheme, rest)) = url.split_once("://") else { return whole() };
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(authority_end);
    let Some((credentials, host)) = authority.rsplit_once('@') else { return whole() };
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let credentials = format!("{}:{}", percent_decoded(user), percent_decoded(password));
    (format!("{scheme}://{host}{path}"), Some(credentials.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_taken_out_of_a_url() {
        for (given, url, credentials) in [
            ("http://a/x@y", "http://a/x@y", None),
            ("http://u:p@a:80/x", "http://a:80/x", Some("u:p")),
            ("http://u@a?q=@", "http://a?q=@", Some("u:")),
            ("http://u:p@q@a", "http://a", Some("u:p@q")),
            ("http://%75%40:%3a%zz%@a/", "http://a/", Some("u@::%zz%")),
            ("http://u:%+1@a/", "http://a/", Some("u:%+1")),
            ("no url", "no url", None),
        ] {
            let (got, found) = split_credentials(given);
            let found = found.as_ref().map(|it| it.reveal().as_str());
            assert_eq!((got.as_str(), found), (url, credentials), "{given}");
        }
    }

    fn made(flags: RequestFlags) -> Request {
        match sent(&flags, Some("http://u:p@a/"), 7) {
            Ok(sent) => sent.request,
            Err(exit) => panic!("{exit:?}"),
        }
    }

    #[test]
    fn forms_are_posted_with_their_type() {
        let flags = RequestFlags {
            form_urlencoded: vec!["a=b c".into(), "d={{seq}}".into()],
            ..RequestFlags::default()
        };
        let request = made(flags);
        assert_eq!(
            (request.method.as_str(), request.body),
            ("POST", Some(Body::Text("a=b+c&d={{seq}}".into())))
        );
        assert!(has(&request.headers, "content-type"));

        let flags = || RequestFlags {
            form: vec!["a=b".into()],
            headers: vec!["content-type: x".into()],
            ..RequestFlags::default()
        };
        assert_eq!(made(flags()), made(flags()), "the boundary is from the seed");
        let types = made(flags()).headers.iter().filter(|(name, _)| name == "content-type").count();
        assert_eq!((types, made(flags()).headers.len()), (1, 2), "-H has its way");
    }

    #[test]
    fn credentials_of_the_flag_go_before_those_of_the_url_and_a_header_before_both() {
        let authorization = |request: Request| -> Vec<String> {
            let mut values: Vec<_> = request.headers;
            values.retain(|(name, _)| name.eq_ignore_ascii_case("authorization"));
            values.into_iter().map(|(_, value)| value.reveal().clone()).collect()
        };
        let flags = RequestFlags::default();
        assert_eq!(authorization(made(flags)), [basic("u:p")]);
        let flags = RequestFlags { basic: Some("x:y".into()), ..RequestFlags::default() };
        assert_eq!(authorization(made(flags)), [basic("x:y")]);
        let headers = vec!["authorization: own".into()];
        let flags = RequestFlags { headers, ..RequestFlags::default() };
        assert_eq!(authorization(made(flags)), ["own"]);
    }
}

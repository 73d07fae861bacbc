//! What is sent, and how its server is reached.

use crate::plan::error::{Message, PlanError, given, name};
use crate::plan::{Body, Draft, Field, HttpVersion};

/// What can be loaded.
const SCHEMES: [&str; 6] = ["http", "https", "ws", "wss", "tcp", "udp"];

pub(super) fn check(draft: &Draft, errors: &mut Vec<PlanError>) {
    errors.extend(endpoint(draft));
    errors.extend(bodiless(draft));
    errors.extend(omitted(draft));
    errors.extend(tunnel(draft));
    if draft.requests().any(|request| request.http_minor > 1) {
        let problem = "the version of HTTP is neither 1.0 nor 1.1";
        errors.push(PlanError::new(Field::Http, problem, "give one of them"));
    }
    if draft.tls.resume_percent > 100 {
        let problem = name(Field::TlsResume) + " is per cent of the handshakes";
        errors.push(PlanError::new(Field::TlsResume, problem, "give 0 to 100"));
    }
    // A server may choose any protocol that it was offered.
    if let Some(protocol) = draft.tls.alpn.iter().find(|protocol| !is_spoken(protocol)) {
        let problem = name(Field::Alpn) + format!(" '{protocol}' is not spoken here");
        let advice = Message::from("offer http/1.1 or http/1.0, or '' to offer none; ")
            + given(Field::Http, 2)
            + " offers h2";
        errors.push(PlanError::new(Field::Alpn, problem, advice));
    }
}

/// Whether a protocol that TLS can agree on is one that is spoken.
fn is_spoken(protocol: &str) -> bool {
    ["http/1.1", "http/1.0"].contains(&protocol)
}

fn endpoint(draft: &Draft) -> Option<PlanError> {
    let endpoint = &draft.endpoint;
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || "/?#@[]".contains(c);
    let problem = if !SCHEMES.contains(&endpoint.scheme.as_str()) {
        "the scheme is not http, https, ws, wss, tcp or udp"
    } else if endpoint.host.is_empty() || endpoint.host.contains(is_odd) {
        "the host is not a name or an address"
    } else if endpoint.port == 0 {
        "the port is not 1 to 65535"
    } else {
        return None;
    };
    Some(PlanError::new(Field::Url, problem, "write http://HOST:PORT/PATH"))
}

/// What is about a body, of a request that has none.
fn bodiless(draft: &Draft) -> Option<PlanError> {
    let mut without = draft.requests().filter(|request| request.body.is_none());
    let field = without.find_map(|request| match (request.chunked, request.expect_continue) {
        (true, _) => Some(Field::Chunked),
        (_, true) => Some(Field::ExpectContinue),
        _ => None,
    })?;
    let advice = Message::from("give one with ") + name(Field::Body) + " or " + name(Field::Form);
    Some(PlanError::new(field, name(field) + " is about a body", advice))
}

/// CONNECT asks a proxy for a tunnel (RFC 9110 9.3.6), and what follows its answer is no HTTP.
fn tunnel(draft: &Draft) -> Option<PlanError> {
    draft.requests().find(|request| request.method == "CONNECT")?;
    let advice = Message::from("load a server through a tunnel with ") + name(Field::Proxy);
    Some(PlanError::new(Field::Method, "CONNECT asks for a tunnel and is no request", advice))
}

/// A body of which a result kept the length alone.
fn omitted(draft: &Draft) -> Option<PlanError> {
    let bytes = draft.requests().find_map(|request| match request.body {
        Some(Body::Omitted { bytes, .. }) => Some(bytes),
        _ => None,
    })?;
    let problem = format!("a body of {bytes} bytes was not kept");
    Some(PlanError::new(Field::Body, problem, "give it again"))
}

/// What a script and the rest of a plan cannot both decide.
pub(super) fn check_script(draft: &Draft, errors: &mut Vec<PlanError>) {
    if draft.script.is_none() {
        return;
    }
    let request = &draft.request;
    let given = [
        (Field::Targets, !draft.targets.is_empty()),
        (Field::Redirects, draft.redirects > 0),
        (Field::Cookies, draft.cookies),
        (Field::Pipeline, draft.pipeline > 1),
        (Field::Body, request.body.is_some()),
        (Field::Method, request.method != "GET"),
        (Field::Http, request.http_minor == 0 || draft.http_version != HttpVersion::Http1),
        (Field::ExpectContinue, request.expect_continue),
        (Field::Proxy, draft.transport.proxy.is_some()),
        (Field::UnixSocket, draft.transport.unix_socket.is_some()),
        (Field::Resolve, !draft.transport.resolve.is_empty()),
        (Field::ConnectTo, !draft.transport.connect_to.is_empty()),
    ];
    const ADVICE: &str = "leave it out, or have the script do it";
    let conflict = |what: Message| what + " and a script do not go together";
    if let Some((field, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        errors.push(PlanError::new(field, conflict(name(field)), ADVICE));
    }
    let values = request.headers.iter().map(|(_, value)| (Field::Header, value));
    let mut texts = values.chain([(Field::Url, &draft.endpoint.path)]);
    let templated = texts.find(|(_, text)| draft.templates && text.reveal().contains("{{"));
    if let Some((field, _)) = templated {
        errors.push(PlanError::new(field, conflict("a template".into()), ADVICE));
    }
}

/// A key of no certificate; known before its file is read.
#[must_use]
pub fn key_without_cert() -> PlanError {
    let problem = name(Field::Key) + " without " + name(Field::Cert);
    PlanError::new(Field::Key, problem, "give the certificate that the key is of")
}

/// What came of files.
pub(super) fn check_files(draft: &Draft, errors: &mut Vec<PlanError>) {
    let tls = &draft.tls;
    let files = [(Field::Cacert, &tls.cacert), (Field::Cert, &tls.cert), (Field::Key, &tls.key)];
    for (field, file) in files {
        if let Some(file) = file.as_ref().filter(|file| file.bytes.is_empty()) {
            let problem = given(field, &file.path) + " is empty";
            errors.push(PlanError::new(field, problem, "give a file in PEM format"));
        }
    }
    if tls.key.is_some() && tls.cert.is_none() {
        errors.push(key_without_cert());
    }
    for table in &draft.tables {
        if table.rows.iter().any(|row| row.len() != table.columns.len()) {
            let problem = format!("{} has rows that are not as long as its head", table.path);
            let advice = "give each row a value for every column";
            errors.push(PlanError::new(Field::Body, problem, advice));
        }
    }
}

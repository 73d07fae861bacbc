//! Compiles the plan's requests: adds fields, frames bodies, parses templates, and refuses what
//! cannot be sent.

use std::borrow::Cow;
use std::sync::Arc;

use plimsoll_conn::grpc::timeout_value;
use plimsoll_conn::{CompiledRequest, Field, Framing, Messages, RequestBody};
use plimsoll_core::Plan;
use plimsoll_core::authorization::basic;
use plimsoll_core::plan::{Body, CallKind, Request};
use plimsoll_core::template::{Compiler, TableColumn, Template};
use plimsoll_grpc::{Method, Schema};

use super::error::Problem;
use super::framing::{LENGTH, framing};
use super::script::{Script, kind_of};

const USER_AGENT: &str = concat!("plimsoll/", env!("CARGO_PKG_VERSION"));

/// Where a template stands, which decides what its values may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spot {
    Path,
    Header,
    Body,
}

/// What a proxy that is spoken to in HTTP, rather than through a tunnel, wants to see.
struct Proxied {
    /// The target's scheme and authority stand before the path (RFC 9112 section 3.2.2).
    prefix: String,
    authorization: Option<String>,
}

impl Proxied {
    fn new(plan: &Plan) -> Option<Self> {
        let proxy = plan.transport.proxy.as_ref().filter(|_| !plan.endpoint.is_tunnelled())?;
        Some(Self {
            prefix: format!("{}://{}", plan.endpoint.scheme, plan.endpoint.authority()),
            authorization: proxy.credentials.as_ref().map(|pair| basic(pair.reveal())),
        })
    }
}

/// Prepares one request after the other.
pub(super) struct Writer<'p> {
    plan: &'p Plan,
    compiler: Compiler<'p>,
    authority: String,
    /// What stands before each path, if anything.
    prefix: String,
    proxy_authorization: Option<String>,
    /// The method that is called and how, where gRPC is spoken and the schema is known.
    method: Option<(Method, CallKind)>,
    /// The same with its messages, once they are compiled.
    script: Option<Script>,
    /// Columns whose every value may stand where a template puts it.
    checked: Vec<(Arc<TableColumn>, Spot)>,
}

impl<'p> Writer<'p> {
    pub(super) fn new(plan: &'p Plan) -> Result<Self, Problem> {
        let (prefix, proxy_authorization) = match Proxied::new(plan) {
            Some(proxied) => (proxied.prefix, proxied.authorization),
            None => (String::new(), None),
        };
        Ok(Self {
            plan,
            compiler: Compiler::new(plan.seed, &plan.tables),
            authority: plan.endpoint.authority(),
            prefix,
            proxy_authorization,
            method: method(plan)?,
            script: None,
            checked: Vec::new(),
        })
    }

    /// How the messages of a call go, where gRPC is spoken and one was compiled.
    pub(super) fn script(&self) -> Option<Script> {
        self.script
    }

    /// Compiles a request for a path.
    pub(super) fn request(
        &mut self,
        request: &Request,
        path: &str,
    ) -> Result<CompiledRequest, Problem> {
        self.compiler.begin_request();
        if !path.starts_with('/') && path != "*" {
            return Err(Problem::Path);
        }
        let body = self.body(request)?;
        let framing = framing(self.plan, request, &body)?;
        Ok(CompiledRequest {
            method: request.method.clone(),
            scheme: self.plan.endpoint.scheme.clone(),
            prefix: self.prefix.clone(),
            path: self.template(path, Spot::Path)?,
            http_minor: request.http_minor,
            fields: self.fields(request, framing)?,
            framing,
            body,
            takes_cookies: self.plan.cookies,
            follows_redirects: self.plan.redirects > 0,
            is_compressed: self.plan.websocket.compress,
        })
    }

    /// The head's fields: those that are added unless the request has them, or takes them away with
    /// an empty value, and then its own.
    fn fields(&mut self, request: &Request, framing: Framing) -> Result<Vec<Field>, Problem> {
        let connection = match (self.plan.connects_per_request(), request.http_minor) {
            (true, 1) => Some("close"),
            (false, 0) => Some("keep-alive"),
            _ => None,
        };
        let has_body = request.body.is_some();
        let is_call = self.plan.grpc.is_some();
        let timeout = is_call.then(|| timeout_value(self.plan.timeout_ns));
        let timeout = timeout.as_deref().and_then(|value| std::str::from_utf8(value).ok());
        let added = [
            ("Host", Some(self.authority.as_str())),
            ("User-Agent", Some(USER_AGENT)),
            ("Accept", (!is_call).then_some("*/*")),
            ("TE", is_call.then_some("trailers")),
            ("Content-Type", is_call.then_some("application/grpc+proto")),
            ("grpc-timeout", timeout),
            ("Connection", connection),
            ("Proxy-Authorization", self.proxy_authorization.as_deref()),
            ("Transfer-Encoding", (framing == Framing::Chunked).then_some("chunked")),
            ("Expect", (request.expect_continue && has_body).then_some("100-continue")),
        ];
        let mut fields = Vec::new();
        for (name, value) in added {
            if let Some(value) = value.filter(|_| given(request, name).is_none()) {
                fields.push(Field::Given(name.to_owned(), literal(value.as_bytes())));
            }
        }
        if framing == Framing::Length {
            fields.push(Field::Length);
        }
        let mut has_length = false;
        for (name, value) in request.headers.iter().filter(|(_, value)| !value.is_empty()) {
            // A repeat was found to say the same, and one is enough (RFC 9110 section 8.6).
            if name.eq_ignore_ascii_case(LENGTH) && std::mem::replace(&mut has_length, true) {
                continue;
            }
            let value = self.template(value.reveal(), Spot::Header)?;
            fields.push(Field::Given(name.clone(), value));
        }
        Ok(fields)
    }

    fn body(&mut self, request: &Request) -> Result<RequestBody, Problem> {
        match &self.plan.grpc {
            Some(_) => self.messages(request),
            None => self.bytes(request).map(RequestBody::Template),
        }
    }

    /// The messages of a call; nothing as long as its schema is not known.
    fn messages(&mut self, request: &Request) -> Result<RequestBody, Problem> {
        let Some((method, kind)) = &self.method else {
            return Ok(RequestBody::Template(Template::default()));
        };
        let text = match &request.body {
            None => "",
            Some(Body::Text(text)) => text.reveal(),
            Some(Body::Bytes(_)) => return Err(Problem::BinaryMessage),
            Some(Body::Omitted { bytes, .. }) => return Err(Problem::BodyNotKept(*bytes)),
        };
        let compiler = self.plan.templates.then_some(&mut self.compiler);
        let templates = match kind.sends_many() {
            true => method.requests(text, compiler)?,
            false => vec![method.request(text, compiler)?],
        };
        let given = u32::try_from(templates.len()).unwrap_or(u32::MAX);
        let asked = self.plan.grpc.as_ref().and_then(|grpc| grpc.messages);
        let messages = Messages { templates, count: asked.unwrap_or(given) };
        self.script = Some(Script::new(method.kind(), *kind, &messages));
        Ok(RequestBody::Messages(messages))
    }

    fn bytes(&mut self, request: &Request) -> Result<Template, Problem> {
        match &request.body {
            None => Ok(Template::default()),
            Some(Body::Text(text)) => self.template(text.reveal(), Spot::Body),
            Some(Body::Bytes(bytes)) => Ok(literal(bytes.reveal())),
            Some(Body::Omitted { bytes, .. }) => Err(Problem::BodyNotKept(*bytes)),
        }
    }

    /// Compiles a text where the plan has templates, and checks what tables put into it.
    fn template(&mut self, text: &str, spot: Spot) -> Result<Template, Problem> {
        let encoded = (spot == Spot::Path).then(|| in_ascii(text, self.plan.templates));
        let text = encoded.as_deref().unwrap_or(text);
        if !self.plan.templates {
            return Ok(literal(text.as_bytes()));
        }
        let template = match spot {
            Spot::Path => self.compiler.compile_target(text)?,
            Spot::Header | Spot::Body => self.compiler.compile(text)?,
        };
        for column in template.columns() {
            let is_known =
                self.checked.iter().any(|(known, at)| *at == spot && Arc::ptr_eq(known, column));
            if !is_known {
                check_column(column, spot)?;
                self.checked.push((Arc::clone(column), spot));
            }
        }
        Ok(template)
    }
}

/// The method that a plan calls and how, once its schema is known.
fn method(plan: &Plan) -> Result<Option<(Method, CallKind)>, Problem> {
    let Some(grpc) = plan.grpc.as_ref().filter(|grpc| !grpc.asks_server()) else {
        return Ok(None);
    };
    let method = Schema::read(&grpc.descriptors)?.method(&grpc.method)?;
    let kind = kind_of(grpc, method.kind())?;
    Ok(Some((method, kind)))
}

/// The value that the request itself gives a field.
fn given<'r>(request: &'r Request, name: &str) -> Option<&'r str> {
    let mut headers = request.headers.iter();
    headers
        .find(|(own, _)| own.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.reveal().as_str())
}

/// A path and query with what is beyond ASCII percent-encoded, as a request line has it (RFC 9112
/// section 3.2, RFC 3986 section 2.5). The insides of templates stay as they are.
fn in_ascii(text: &str, has_templates: bool) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let is_template = has_templates && rest.starts_with("{{");
        let end = match (is_template, rest.find("{{").filter(|_| has_templates)) {
            (true, _) => rest.find("}}").map_or(rest.len(), |at| at + 2),
            (false, at) => at.unwrap_or(rest.len()),
        };
        let (part, after) = rest.split_at(end);
        match is_template {
            true => encoded.push_str(part),
            false => part.bytes().for_each(|byte| match byte {
                0x80.. => encoded.push_str(&format!("%{byte:02X}")),
                _ => encoded.push(char::from(byte)),
            }),
        }
        rest = after;
    }
    Cow::Owned(encoded)
}

fn literal(bytes: &[u8]) -> Template {
    let mut template = Template::default();
    template.push_bytes(bytes);
    template
}

/// Refuses a column with a value that would break a request.
fn check_column(column: &TableColumn, spot: Spot) -> Result<(), Problem> {
    let (place, bad): (_, fn(u8) -> bool) = match spot {
        // Anything may stand in a body.
        Spot::Body => return Ok(()),
        Spot::Path => ("a path", |byte| byte <= b' ' || byte >= 0x7f || byte == b'#'),
        Spot::Header => ("a header", |byte| (byte < b' ' && byte != b'\t') || byte == 0x7f),
    };
    for (index, value) in column.values().enumerate() {
        let Some(byte) = value.iter().copied().find(|byte| bad(*byte)) else { continue };
        return Err(Problem::Cell {
            table: column.table().to_owned(),
            // The first row of values is the second of the file.
            row: index + 2,
            column: column.name().to_owned(),
            place,
            what: match byte {
                b'\r' | b'\n' => "a line break",
                b' ' => "a space: write %20",
                b'#' => "a '#', which ends a path: write %23",
                0x80.. => "a character beyond ASCII, and 'raw' does not encode it",
                _ => "a control character",
            },
        });
    }
    Ok(())
}

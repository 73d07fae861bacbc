//! How HTTP/2 writes a compiled request (RFC 9113 section 8.3).
//!
//! A request is a compiled header block and the values that vary in it. What HTTP/1 says about its
//! connection has no place here: `Host` becomes `:authority`, and Connection, Keep-Alive,
//! Proxy-Connection and Transfer-Encoding are left out. A body in chunks is a body whose length is
//! not said.

use std::sync::Arc;

use plimsoll_core::template::Template;
use plimsoll_grpc::MessageTemplate;
use plimsoll_proto::grpc::{PREFIX_BYTES, message_prefix};
use plimsoll_proto::http1::write_decimal;
use plimsoll_proto::http2::{
    Block, BlockBuilder, Body, HeadWriter, SharedFields, Value, read_back,
};

use crate::request::{
    BODY_FIELDS, CompiledRequest, EncodeError, Encoding, Field, Filling, Messages, RequestBody,
    push_target,
};

/// Fields about an HTTP/1 connection (RFC 9113 section 8.2.2).
pub(super) const CONNECTION_FIELDS: [&str; 4] =
    ["Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding"];

/// Of a Content-Length: 20 digits at most.
const LENGTH_BYTES: usize = 20;

/// A frame's head, and how many bytes the length of a long value takes beyond the first.
const FRAME_HEAD_BYTES: usize = 9;
const LENGTH_PREFIX_BYTES: usize = 5;

/// The least that a peer allows a frame to have (RFC 9113 section 4.2).
const FRAME_BYTES_MIN: usize = 16_384;

/// One of the requests of a run as HTTP/2 sends it.
#[derive(Debug)]
pub struct Http2Request {
    is_head: bool,
    head: Head,
    /// The field with its user's cookies, if they are added.
    cookies: Option<Block>,
    content: Content,
    redirect: Option<Box<Redirect>>,
}

/// The fields of a request.
#[derive(Debug)]
struct Head {
    block: Block,
    /// What is put in where the block leaves room, in order.
    values: Vec<Varied>,
}

/// A value that differs from request to request.
#[derive(Debug)]
enum Varied {
    Template(Template),
    /// The length of the body.
    Length,
    /// Where the request was redirected to.
    Hop,
}

/// A request's body.
#[derive(Debug)]
enum Content {
    Empty,
    Fixed(Arc<[u8]>),
    Varying(Template),
    /// One message of gRPC, behind its prefix.
    Message(MessageTemplate),
    /// Another number of messages, which need not go together.
    Messages(Box<Messages>),
}

/// What a request is turned into when it is sent on: the same with its body, or a GET without it.
#[derive(Debug)]
struct Redirect {
    same: Head,
    get: Head,
}

impl Encoding for Http2Request {
    type Shared = SharedFields;

    fn of(request: CompiledRequest, shared: &mut SharedFields) -> Result<Self, EncodeError> {
        request.check_literals()?;
        let content = Content::of(&request.body);
        let mut compile = |form| Head::of(&request, form, &content, shared);
        let head = compile(Form::AsGiven)?;
        let redirect = match request.follows_redirects {
            true => Some(Box::new(Redirect {
                same: compile(Form::SentOn)?,
                get: compile(Form::SentOnAsGet)?,
            })),
            false => None,
        };
        let cookies = request.takes_cookies.then(|| cookie_block(shared)).transpose()?;
        Ok(Self { is_head: request.method == "HEAD", head, cookies, content, redirect })
    }

    fn of_written(_bytes: &[u8]) -> Self {
        unreachable!("scripts write HTTP/1, and a plan with one speaks it")
    }

    /// The number of its stream tells each from the others.
    fn fixed(&self) -> Option<&Arc<[u8]>> {
        None
    }

    fn bytes_max(&self) -> usize {
        let body_bytes = self.content.bytes_max();
        let frames = 2 + body_bytes / FRAME_BYTES_MIN;
        self.head.bytes_max() + body_bytes + frames * FRAME_HEAD_BYTES
    }

    fn has_body(&self, filling: &Filling<'_>) -> bool {
        let loses_it = filling.hop.is_some_and(|hop| hop.as_get);
        !loses_it && !self.content.is_empty(filling.number)
    }

    fn write_text(&self, filling: &Filling<'_>, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        let line = |name: &[u8], value: &[u8]| {
            for part in [name, b": ", value, b"\r\n"] {
                out.extend_from_slice(part);
            }
        };
        let read = read_back(|writer| self.write_head(filling, writer), line);
        read.expect("a head that was compiled here can be read");
        out.extend_from_slice(b"\r\n");
        let head_bytes = out.len() - start;
        match self.body(filling, &mut Vec::new()) {
            Body::Empty => {}
            Body::Shared(bytes) => out.extend_from_slice(bytes),
            Body::Bytes(bytes) => out.extend_from_slice(bytes),
        }
        head_bytes
    }
}

impl Http2Request {
    /// Whether it is a HEAD request, whose response has no body.
    #[inline]
    pub(super) fn is_head(&self, filling: &Filling<'_>) -> bool {
        self.is_head && filling.hop.is_none_or(|hop| !hop.as_get)
    }

    /// Writes the fields of a request.
    #[inline]
    pub(super) fn write_head(&self, filling: &Filling<'_>, writer: &mut HeadWriter<'_>) {
        let head = match (filling.hop, &self.redirect) {
            (Some(hop), Some(redirect)) if hop.as_get => &redirect.get,
            (Some(_), Some(redirect)) => &redirect.same,
            _ => &self.head,
        };
        writer.block(&head.block, |at, out| self.fill(&head.values[at], filling, out));
        if let Some(block) = self.cookies.as_ref().filter(|_| !filling.cookies.is_empty()) {
            writer.block(block, |_, out| out.extend_from_slice(filling.cookies));
        }
    }

    #[inline]
    fn fill(&self, value: &Varied, filling: &Filling<'_>, out: &mut Vec<u8>) {
        match value {
            Varied::Template(template) => {
                let start = out.len();
                template.fill(filling.number, out);
                trim(out, start);
            }
            Varied::Length => write_decimal(out, self.content.bytes(filling.number) as u64),
            Varied::Hop => {
                if let Some(hop) = filling.hop {
                    push_target(out, &hop.path);
                }
            }
        }
    }

    /// The body of a request; a template is filled into `filled`.
    #[inline]
    pub(super) fn body<'b>(&'b self, filling: &Filling<'_>, filled: &'b mut Vec<u8>) -> Body<'b> {
        if filling.hop.is_some_and(|hop| hop.as_get) {
            return Body::Empty;
        }
        match &self.content {
            Content::Empty => Body::Empty,
            Content::Fixed(bytes) => Body::Shared(bytes),
            Content::Varying(template) => {
                filled.clear();
                template.fill(filling.number, filled);
                Body::Bytes(filled)
            }
            Content::Message(message) => {
                filled.clear();
                fill_message(message, filling.number, filled);
                Body::Bytes(filled)
            }
            Content::Messages(messages) => {
                filled.clear();
                fill_messages(messages, filling, filled);
                Body::Bytes(filled)
            }
        }
    }

    /// Whether nothing follows on what goes now.
    #[inline]
    pub(super) fn is_last(&self, filling: &Filling<'_>) -> bool {
        match &self.content {
            Content::Messages(messages) => filling.messages.to == messages.count,
            _ => true,
        }
    }
}

impl Content {
    fn of(body: &RequestBody) -> Self {
        match body {
            RequestBody::Template(body) => match body.fixed() {
                Some([]) => Self::Empty,
                Some(bytes) => Self::Fixed(bytes.into()),
                None => Self::Varying(body.clone()),
            },
            RequestBody::Messages(messages) => Self::of_messages(messages),
        }
    }

    fn of_messages(messages: &Messages) -> Self {
        let Messages { templates, count } = messages;
        match templates.as_slice() {
            [message] if *count == 1 && message.fixed().is_some() => {
                let mut bytes = Vec::new();
                fill_message(message, 0, &mut bytes);
                Self::Fixed(bytes.into())
            }
            [message] if *count == 1 => Self::Message(message.clone()),
            templates => {
                let templates = templates.to_vec();
                Self::Messages(Box::new(Messages { templates, count: *count }))
            }
        }
    }

    fn is_empty(&self, number: u64) -> bool {
        match self {
            Self::Varying(template) => template.bytes(number) == 0,
            Self::Empty => true,
            Self::Messages(messages) => messages.count == 0,
            Self::Fixed(_) | Self::Message(_) => false,
        }
    }

    /// Its length, where a field gives it. No field does for a message of gRPC.
    fn bytes(&self, number: u64) -> usize {
        match self {
            Self::Empty | Self::Message(_) | Self::Messages(_) => 0,
            Self::Fixed(bytes) => bytes.len(),
            Self::Varying(template) => template.bytes(number),
        }
    }

    fn is_messages(&self) -> bool {
        matches!(self, Self::Message(_) | Self::Messages(_))
    }

    fn bytes_max(&self) -> usize {
        match self {
            Self::Varying(template) => template.bytes_max(),
            Self::Message(message) => PREFIX_BYTES + message.bytes_max(),
            Self::Messages(messages) => messages.batch() as usize * messages.bytes_max(),
            content => content.bytes(0),
        }
    }
}

/// Appends a message of gRPC behind its prefix.
#[inline]
fn fill_message(message: &MessageTemplate, number: u64, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; PREFIX_BYTES]);
    message.fill(number, out);
    // The engine refuses requests of more than 1 GiB.
    let prefix = message_prefix((out.len() - start - PREFIX_BYTES) as u32);
    out[start..start + PREFIX_BYTES].copy_from_slice(&prefix);
}

/// Appends some of a call's messages. Templates count the messages of the whole run, so that each
/// is filled anew.
fn fill_messages(messages: &Messages, filling: &Filling<'_>, out: &mut Vec<u8>) {
    let Messages { templates, count } = messages;
    let before = filling.number.wrapping_mul(u64::from(*count));
    for number in filling.messages.from..filling.messages.to {
        let template = &templates[number as usize % templates.len()];
        fill_message(template, before.wrapping_add(u64::from(number)), out);
    }
}

/// Which form of a request a head is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    AsGiven,
    /// To where a response has redirected it.
    SentOn,
    /// The same without method and body.
    SentOnAsGet,
}

impl Head {
    fn of(
        request: &CompiledRequest,
        form: Form,
        content: &Content,
        shared: &mut SharedFields,
    ) -> Result<Self, EncodeError> {
        let mut fields = Fields { block: BlockBuilder::new(shared), values: Vec::new() };
        let is_get = form == Form::SentOnAsGet;
        let method = if is_get { "GET" } else { &request.method };
        fields.block.field(":method", Value::Fixed(method.as_bytes()))?;
        fields.block.field(":scheme", Value::Fixed(request.scheme.as_bytes()))?;
        if let Some((_, host)) = request.given_fields().find(|(name, _)| is(name, "Host")) {
            fields.template(":authority", host)?;
        }
        match form {
            Form::AsGiven => fields.template(":path", &request.path)?,
            Form::SentOn | Form::SentOnAsGet => fields.varied(":path", Varied::Hop)?,
        }
        for field in &request.fields {
            match field {
                Field::Given(name, _) if is(name, "Host") || is_any(name, &CONNECTION_FIELDS) => {}
                Field::Given(name, _) if is_get && is_any(name, &BODY_FIELDS) => {}
                Field::Given(name, value) => fields.template(name, value)?,
                Field::Length if is_get || content.is_messages() => {}
                Field::Length => fields.length(content)?,
            }
        }
        let Fields { block, values } = fields;
        Ok(Self { block: block.finish(), values })
    }

    fn bytes_max(&self) -> usize {
        let values = self.values.iter().map(|value| match value {
            Varied::Template(template) => LENGTH_PREFIX_BYTES + template.bytes_max(),
            Varied::Length => 1 + LENGTH_BYTES,
            Varied::Hop => 0,
        });
        self.block.bytes_max() + values.sum::<usize>()
    }
}

/// A head that is being compiled.
struct Fields<'s> {
    block: BlockBuilder<'s>,
    values: Vec<Varied>,
}

impl Fields<'_> {
    fn template(&mut self, name: &str, value: &Template) -> Result<(), EncodeError> {
        match value.fixed() {
            Some(bytes) => Ok(self.block.field(name, Value::Fixed(bytes.trim_ascii()))?),
            None => self.varied(name, Varied::Template(value.clone())),
        }
    }

    fn length(&mut self, content: &Content) -> Result<(), EncodeError> {
        const NAME: &str = "content-length";
        if let Content::Varying(_) = content {
            return self.varied(NAME, Varied::Length);
        }
        let digits = content.bytes(0).to_string();
        Ok(self.block.field(NAME, Value::Fixed(digits.as_bytes()))?)
    }

    fn varied(&mut self, name: &str, value: Varied) -> Result<(), EncodeError> {
        self.block.field(name, Value::Varying)?;
        self.values.push(value);
        Ok(())
    }
}

fn cookie_block(shared: &mut SharedFields) -> Result<Block, EncodeError> {
    let mut block = BlockBuilder::new(shared);
    block.field("cookie", Value::Varying)?;
    Ok(block.finish())
}

pub(super) fn is(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

pub(super) fn is_any(name: &str, others: &[&str]) -> bool {
    others.iter().any(|other| is(name, other))
}

/// White space around a value is no part of it, and malformed in HTTP/2 (RFC 9113 section 8.2.1).
#[inline]
fn trim(out: &mut Vec<u8>, start: usize) {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    while out.len() > start && out.last().is_some_and(is_space) {
        out.pop();
    }
    let spaces = out[start..].iter().take_while(|byte| is_space(byte)).count();
    if spaces > 0 {
        out.drain(start..start + spaces);
    }
}

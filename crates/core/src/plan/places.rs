//! The places of a draft where something secret may stand.

use std::borrow::Cow;

use super::{Body, Draft, Field, PemFile, Request};
use crate::secret::{Masks, Secret};

/// A place of a draft. Requests are those of targets, by their number, or the draft's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place<'n> {
    Path(Option<usize>),
    Header(Option<usize>, usize, &'n str),
    Body(Option<usize>),
    Script,
    Argument(usize),
    Credentials,
    Roots,
    Certificate,
    Key,
}

/// What stands there.
#[derive(Debug)]
pub(crate) enum Held<'s> {
    Text(&'s mut Secret),
    Bytes(&'s mut Secret<Vec<u8>>),
}

impl Held<'_> {
    /// Has it shown as it is, or not.
    pub(crate) fn show(self, is_public: bool) {
        match self {
            Self::Text(text) => text.show(is_public),
            Self::Bytes(bytes) => bytes.show(is_public),
        }
    }

    /// What it says.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => text.reveal().into(),
            Self::Bytes(bytes) => String::from_utf8_lossy(bytes.reveal()),
        }
    }
}

impl Place<'_> {
    /// Where it is in the draft's document, as a JSON pointer (RFC 6901).
    pub(crate) fn pointer(self) -> String {
        let of = |target: Option<usize>, rest: &str| match target {
            Some(number) => format!("/targets/{number}/{rest}"),
            None => format!("/{rest}"),
        };
        match self {
            Self::Path(None) => "/endpoint/path".to_owned(),
            Self::Path(target) => of(target, "path"),
            Self::Header(target, number, _) => of(target, &format!("request/headers/{number}/1")),
            Self::Body(target) => of(target, "request/body"),
            Self::Script => "/script/text".to_owned(),
            Self::Argument(number) => format!("/script/arguments/{number}"),
            Self::Credentials => "/transport/proxy/credentials".to_owned(),
            Self::Roots => "/tls/cacert/bytes".to_owned(),
            Self::Certificate => "/tls/cert/bytes".to_owned(),
            Self::Key => "/tls/key/bytes".to_owned(),
        }
    }

    /// The field whose place it is.
    pub(crate) fn field(self) -> Field {
        match self {
            Self::Path(Some(_)) | Self::Header(Some(_), ..) | Self::Body(Some(_)) => Field::Targets,
            Self::Path(None) => Field::Url,
            Self::Header(..) => Field::Header,
            Self::Body(None) => Field::Body,
            Self::Script => Field::Script,
            Self::Argument(_) => Field::ScriptArguments,
            Self::Credentials => Field::Proxy,
            Self::Roots => Field::Cacert,
            Self::Certificate => Field::Cert,
            Self::Key => Field::Key,
        }
    }

    /// Whether what stands there is a secret. Where a name decides and a text holds many, one name
    /// of a secret makes a secret of all of it: that costs nothing but a place elsewhere.
    pub(crate) fn is_secret(self, text: &str, masks: &Masks) -> bool {
        match self {
            Self::Path(_) => masks.url(text) != text,
            Self::Header(_, _, name) => masks.header(name, text) != text,
            Self::Body(_) | Self::Script => masks.names_secret(text),
            Self::Argument(_) | Self::Credentials | Self::Key => !text.is_empty(),
            // A certificate's file may hold its key.
            Self::Roots | Self::Certificate => text.contains("PRIVATE KEY"),
        }
    }
}

impl Draft {
    /// Sees every place where something secret may stand.
    pub(crate) fn each_place(&mut self, see: &mut dyn FnMut(Place<'_>, Held<'_>)) {
        see(Place::Path(None), Held::Text(&mut self.endpoint.path));
        each_of_request(None, &mut self.request, see);
        for (number, target) in self.targets.iter_mut().enumerate() {
            see(Place::Path(Some(number)), Held::Text(&mut target.path));
            each_of_request(Some(number), &mut target.request, see);
        }
        if let Some(script) = &mut self.script {
            see(Place::Script, Held::Text(&mut script.text));
            for (number, argument) in script.arguments.iter_mut().enumerate() {
                see(Place::Argument(number), Held::Text(argument));
            }
        }
        if let Some(credentials) =
            self.transport.proxy.as_mut().and_then(|proxy| proxy.credentials.as_mut())
        {
            see(Place::Credentials, Held::Text(credentials));
        }
        let tls = &mut self.tls;
        let mut file = |place, file: &mut Option<PemFile>| {
            if let Some(file) = file {
                see(place, Held::Bytes(&mut file.bytes));
            }
        };
        file(Place::Roots, &mut tls.cacert);
        file(Place::Certificate, &mut tls.cert);
        file(Place::Key, &mut tls.key);
    }
}

fn each_of_request(
    target: Option<usize>,
    request: &mut Request,
    see: &mut dyn FnMut(Place<'_>, Held<'_>),
) {
    for (number, (name, value)) in request.headers.iter_mut().enumerate() {
        see(Place::Header(target, number, name), Held::Text(value));
    }
    match &mut request.body {
        Some(Body::Text(text)) => see(Place::Body(target), Held::Text(text)),
        Some(Body::Bytes(bytes)) => see(Place::Body(target), Held::Bytes(bytes)),
        Some(Body::Omitted { .. }) | None => {}
    }
}

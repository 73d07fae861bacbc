//! A method: its messages, and what makes a call of it a good one.

use plimsoll_core::template::Compiler;
use prost_reflect::MethodDescriptor;

use crate::json::{self, BodyError};
use crate::template::MessageTemplate;
use crate::whole::{self, StatusDetails, status_details};
use crate::wire::Malformed;

/// Which side of a call may send any number of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Each sends one message.
    Unary,
    /// The server sends any number.
    Server,
    /// The client sends any number.
    Client,
    /// Both do.
    Bidi,
}

/// What became of a call that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded.
    Ok,
    /// Its status is another than 0.
    Status(u32),
    /// It succeeded by its status, and the one message that it owes is missing.
    NoMessage,
    /// It succeeded by its status, and there is more than the one message that it owes.
    ExtraMessages,
}

impl Kind {
    /// What became of a call with this status and this number of whole messages in its response.
    #[must_use]
    pub fn outcome(self, status: u32, messages: u64) -> Outcome {
        let owes_one = matches!(self, Self::Unary | Self::Client);
        match (status, messages) {
            (0, 0) if owes_one => Outcome::NoMessage,
            (0, 2..) if owes_one => Outcome::ExtraMessages,
            (0, _) => Outcome::Ok,
            (status, _) => Outcome::Status(status),
        }
    }

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unary => "unary",
            Self::Server => "server",
            Self::Client => "client",
            Self::Bidi => "bidi",
        }
    }
}

/// A method of a schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    descriptor: MethodDescriptor,
}

impl Method {
    pub(crate) fn new(descriptor: MethodDescriptor) -> Self {
        Self { descriptor }
    }

    /// The path that calls go to, `/package.Service/Method`.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/{}", method_name(&self.descriptor))
    }

    /// Which side may send any number of messages.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match (self.descriptor.is_client_streaming(), self.descriptor.is_server_streaming()) {
            (false, false) => Kind::Unary,
            (false, true) => Kind::Server,
            (true, false) => Kind::Client,
            (true, true) => Kind::Bidi,
        }
    }

    /// Compiles the JSON of the one message to this method; an empty text is the empty message.
    /// With a compiler, the text may hold templates.
    ///
    /// # Errors
    /// When the text is not JSON, the message has no such field, a value does not fit, or there are
    /// several messages.
    pub fn request(
        &self,
        text: &str,
        compiler: Option<&mut Compiler<'_>>,
    ) -> Result<MessageTemplate, BodyError> {
        let mut messages = self.requests(text, compiler)?;
        match (messages.len(), messages.pop()) {
            (1, Some(message)) => Ok(message),
            (several, _) => Err(BodyError::Several(several)),
        }
    }

    /// Compiles the JSON of messages to this method, one behind the other; an empty text is one
    /// empty message. With a compiler, the text may hold templates.
    ///
    /// # Errors
    /// When the text is not JSON, a message has no such field, or a value does not fit.
    pub fn requests(
        &self,
        text: &str,
        compiler: Option<&mut Compiler<'_>>,
    ) -> Result<Vec<MessageTemplate>, BodyError> {
        MessageTemplate::compile(&self.descriptor.input(), text, compiler)
    }

    /// The package of its service; empty without one.
    #[must_use]
    pub fn package(&self) -> String {
        self.descriptor.parent_service().package_name().to_owned()
    }

    /// The name of its service, without the package.
    #[must_use]
    pub fn service(&self) -> String {
        self.descriptor.parent_service().name().to_owned()
    }

    /// Its own name.
    #[must_use]
    pub fn name(&self) -> String {
        self.descriptor.name().to_owned()
    }

    /// The bytes of a message to this method from its JSON.
    ///
    /// # Errors
    /// When the text is not JSON, the message has no such field, or a value does not fit.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, BodyError> {
        json::encode(&self.descriptor.input(), text)
    }

    /// A message from this method as JSON that shows the fields that are not set, too: with their
    /// defaults, or as `null` where there is nothing in place of a message. That is how k6 shows
    /// messages to scripts.
    ///
    /// # Errors
    /// When the bytes are not such a message.
    pub fn whole_json(&self, message: &[u8]) -> Result<String, Malformed> {
        whole::json(self.descriptor.output(), message)
    }

    /// What the value of a `grpc-status-details-bin` says, with the messages that the schema of
    /// this method has.
    #[must_use]
    pub fn status_details(&self, value: &[u8]) -> Option<StatusDetails> {
        status_details(self.descriptor.parent_pool(), value)
    }

    /// A message from this method as JSON, in one line.
    ///
    /// # Errors
    /// When the bytes are not such a message.
    pub fn response_json(&self, message: &[u8]) -> Result<String, Malformed> {
        json::decode(self.descriptor.output(), message)
    }
}

/// As it is named on the command line.
pub(crate) fn method_name(method: &MethodDescriptor) -> String {
    format!("{}/{}", method.parent_service().full_name(), method.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_owes_as_many_messages_as_its_kind_says() {
        for (kind, status, messages, want) in [
            (Kind::Unary, 0, 1, Outcome::Ok),
            (Kind::Unary, 0, 0, Outcome::NoMessage),
            (Kind::Unary, 0, 2, Outcome::ExtraMessages),
            (Kind::Unary, 14, 0, Outcome::Status(14)),
            (Kind::Unary, 14, 1, Outcome::Status(14)),
            (Kind::Client, 0, 1, Outcome::Ok),
            (Kind::Client, 0, 0, Outcome::NoMessage),
            (Kind::Client, 0, 7, Outcome::ExtraMessages),
            (Kind::Server, 0, 0, Outcome::Ok),
            (Kind::Server, 0, 7, Outcome::Ok),
            (Kind::Server, 99, 7, Outcome::Status(99)),
            (Kind::Bidi, 0, 0, Outcome::Ok),
            (Kind::Bidi, 0, 7, Outcome::Ok),
        ] {
            assert_eq!(kind.outcome(status, messages), want, "{kind:?} {status} {messages}");
        }
    }
}

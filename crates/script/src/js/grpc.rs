//! Calls of gRPC as scripts make them: what a host does for them, and what it is asked for.
//!
//! Schemas come from the host too, through [`Schemas`]: another crate compiles them.
//! A message crosses as bytes on its way to the server, and as JSON on its way to the script; the
//! host has it [read](Call::read) when it is whole, because a message that cannot be read ends its
//! call with a status of its own.

use std::fmt;
use std::io::Read as _;
use std::sync::Arc;

/// Reads the source of a file by the name that imports use for it; `None` if the file is missing.
pub type ReadSource = Box<dyn Fn(&str) -> Result<Option<String>, String>>;

/// The methods of a schema.
pub type Methods = Arc<[Arc<dyn Method>]>;

/// Where schemas come from. The text of an error becomes part of a message.
pub trait Schemas: Send + Sync {
    /// Compiles `.proto` files.
    ///
    /// # Errors
    /// What is wrong with them, one line.
    fn compile(&self, files: &[String], read: ReadSource) -> Result<Methods, String>;

    /// Takes a serialized `FileDescriptorSet`.
    ///
    /// # Errors
    /// Why the bytes cannot be read.
    fn of_set(&self, bytes: &[u8]) -> Result<Methods, String>;

    /// The questions that a server answers about its services, by one version of the protocol for
    /// that; `None` beyond the last version.
    fn survey(&self, version: usize) -> Option<Box<dyn Survey>>;
}

/// A method of a schema.
pub trait Method: Send + Sync {
    /// The path that calls go to, `/package.Service/Method`.
    fn path(&self) -> &str;
    /// The package of its service; empty without one.
    fn package(&self) -> &str;
    /// The name of its service, without the package.
    fn service(&self) -> &str;
    /// Its own name.
    fn name(&self) -> &str;
    /// Whether a client may send any number of messages, and whether a server may.
    fn streams(&self) -> (bool, bool);
    /// The bytes of a message to it from its JSON.
    ///
    /// # Errors
    /// What does not fit, one line.
    fn encode(&self, json: &str) -> Result<Vec<u8>, String>;
    /// A message from it as JSON, with the fields that are not set.
    ///
    /// # Errors
    /// Why the bytes cannot be read.
    fn decode(&self, message: &[u8]) -> Result<String, String>;
    /// What the value of `grpc-status-details-bin` says: a text, and details as JSON.
    fn details(&self, value: &[u8]) -> Option<(String, Vec<String>)>;
}

/// The questions that a server is asked about its services, and what its answers come to.
pub trait Survey {
    /// The path that the questions go to.
    fn path(&self) -> &'static str;
    /// The next question.
    fn question(&self) -> Vec<u8>;
    /// Takes the answer to it. `true`: nothing is left to ask.
    ///
    /// # Errors
    /// What is wrong with the answer, one line.
    fn answer(&mut self, answer: &[u8]) -> Result<bool, String>;
    /// What there is.
    ///
    /// # Errors
    /// When the answers make no schema.
    fn methods(self: Box<Self>) -> Result<Methods, String>;
}

/// Where the schemas of a program come from.
#[derive(Clone)]
pub struct SchemaSource(pub(super) Option<Arc<dyn Schemas>>);

impl SchemaSource {
    /// From here.
    #[must_use]
    pub fn new(schemas: Arc<dyn Schemas>) -> Self {
        Self(Some(schemas))
    }
}

impl Default for SchemaSource {
    /// From nowhere: to load one is an error.
    fn default() -> Self {
        Self(None)
    }
}

impl fmt::Debug for SchemaSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SchemaSource")
    }
}

/// What a script has done with its channels and calls; each goes on at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Opens a [channel](super::Vu::channel), which [`Told`] says the outcome of.
    Connect(u32),
    /// Closes a channel. Calls on it end.
    Close(u32),
    /// Begins a [call](super::Vu::call).
    Begin(u32),
    /// Sends the message that the call has.
    Send(u32),
    /// Says that no message follows.
    Finish(u32),
}

/// A connection to a server, as a script asks for it.
#[derive(Debug, Clone, Default)]
pub struct Channel {
    /// The server's name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What calls name as the server they mean.
    pub authority: String,
    /// TLS, if it is spoken.
    pub tls: Option<ChannelTls>,
    /// How long it may take to connect, ns.
    pub timeout_ns: u64,
    /// The longest message that is received, bytes.
    pub received_bytes_max: u32,
    /// The longest message that is sent, bytes.
    pub sent_bytes_max: u32,
}

/// How TLS is spoken on a channel.
#[derive(Clone, Default)]
pub struct ChannelTls {
    /// The authorities that are trusted, PEM; `None` for those of the run.
    pub roots: Option<Vec<u8>>,
    /// The certificate chain and the key of the client, PEM.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl fmt::Debug for ChannelTls {
    /// Leaves out the key, because debug output gets logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelTls").field("roots", &self.roots.is_some()).finish_non_exhaustive()
    }
}

/// What a call is to its user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallKind {
    /// One message each way: [`Order::Begin`] sends it, and nothing follows.
    #[default]
    Unary,
    /// A stream: messages are sent by [`Order::Send`], and told as they come.
    Stream,
    /// A stream that serves the program itself.
    Survey,
}

/// A call, as a script asks for it.
#[derive(Clone, Default)]
pub struct Call {
    /// What it goes over.
    pub channel: u32,
    /// What it is.
    pub kind: CallKind,
    /// Where it goes to, `/package.Service/Method`.
    pub path: String,
    /// The URL that it is counted under.
    pub url: String,
    /// The fields that the script gives; the values of names in `-bin` are any bytes.
    pub metadata: Vec<(String, Vec<u8>)>,
    /// How long it may take, ns.
    pub timeout_ns: Option<u64>,
    /// The message to send next.
    pub message: Vec<u8>,
    /// The number of its [tags](super::Worker::tags); `None` without any.
    pub tags: Option<u32>,
    /// Whether its user does not want the response's message.
    pub discards: bool,
    /// What its messages are; `None` for bytes.
    pub(super) method: Option<Arc<dyn Method>>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("kind", &self.kind).field("path", &self.path).finish()
    }
}

impl Call {
    /// Whether the server may send any number of messages.
    #[must_use]
    pub fn returns_stream(&self) -> bool {
        let is_stream = self.method.as_ref().is_some_and(|method| method.streams().1);
        self.kind == CallKind::Survey || (self.kind == CallKind::Stream && is_stream)
    }

    /// What a message from the server is to the script: JSON or, where it is not a script that
    /// asks, its bytes. Nothing if the script does not want it.
    ///
    /// # Errors
    /// Why the bytes cannot be read as a message of the method, in k6's words.
    pub fn read(&self, message: Vec<u8>, coding: Coding) -> Result<Vec<u8>, String> {
        if self.discards {
            return Ok(Vec::new());
        }
        let message = match coding {
            Coding::Identity => message,
            Coding::Gzip(bytes_max) => unzip(&message, bytes_max)?,
            Coding::Other => {
                return Err("grpc: the message is in a coding that was not asked for".to_owned());
            }
        };
        let Some(method) = &self.method else { return Ok(message) };
        let json = method.decode(&message);
        json.map(String::into_bytes)
            .map_err(|why| format!("grpc: failed to unmarshal the received message: {why}"))
    }
}

/// How a message is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// Not at all.
    Identity,
    /// With gzip; it may be as long as this, bytes.
    Gzip(u32),
    /// In another way.
    Other,
}

fn unzip(message: &[u8], bytes_max: u32) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    let most = u64::from(bytes_max) + 1;
    flate2::read::MultiGzDecoder::new(message)
        .take(most)
        .read_to_end(&mut plain)
        .map_err(|error| format!("grpc: failed to decompress the message: {error}"))?;
    if plain.len() as u64 == most {
        return Err(format!("grpc: message after decompression larger than max {bytes_max}"));
    }
    Ok(plain)
}

/// What a script learns of a channel or a call.
#[derive(Debug, Clone, Copy)]
pub enum Told<'a> {
    /// A channel is open.
    Connected(u32),
    /// A channel could not be opened, and why.
    Unconnected(u32, &'a str),
    /// A message of a call, as [`Call::read`] has made it.
    Message(u32, &'a [u8]),
    /// A call has ended.
    Ended(u32, CallEnd<'a>),
}

/// How a call has ended.
#[derive(Debug, Clone, Copy)]
pub struct CallEnd<'a> {
    /// A code of gRPC.
    pub code: u32,
    /// The text with it.
    pub text: &'a [u8],
    /// The lines of the response's head, the first of which is no field; empty without any.
    pub head: &'a [u8],
    /// Those of its trailers.
    pub trailers: &'a [u8],
}

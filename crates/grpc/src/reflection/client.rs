//! Asks a server for the descriptors of one service.
//!
//! ```text
//! Symbol ── files ──> File, while one is missing ──> whole
//!    └───── error ──> Services ── names ──> error with the names
//! ```
//!
//! Files below `google/protobuf` are never asked for: they are known.

use std::collections::BTreeMap;

use prost_reflect::DescriptorPool;

use super::{request, response};
use crate::schema::{MethodName, Schema, SchemaError, advice};
use crate::text::one_line;
use crate::wire::{Fields, Malformed, Value, write_bytes};

/// Files of a schema at most.
const FILES_MAX: usize = 2000;
/// Bytes of all files at most.
const BYTES_MAX: usize = 32 << 20;

/// Why a schema can't be learned from a server. Each is one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReflectionError {
    /// The name of the method can't be one, or the files make no schema.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A message is not a response of the service.
    #[error("the server's reflection sent something that is not its response")]
    Malformed,
    /// The server has no such service.
    #[error("the server has no service '{service}'{advice}")]
    NoService {
        /// What was asked for.
        service: String,
        /// What was meant, and what there is.
        advice: String,
    },
    /// The server refused a question.
    #[error("the server's reflection does not give {what}: status {code}, '{message}'")]
    Refused {
        /// What was asked for.
        what: String,
        /// A status code of gRPC.
        code: u64,
        /// The server's own words.
        message: String,
    },
    /// The server answered with other files than the one that was asked for.
    #[error("the server's reflection was asked for the file '{0}' and sent others")]
    OtherFile(String),
    /// A file is in a syntax that is not understood here, such as an edition.
    #[error("the server's file '{file}' is in the syntax '{syntax}', not proto2 or proto3")]
    Syntax {
        /// The file.
        file: String,
        /// Its syntax.
        syntax: String,
    },
    /// The schema is too large.
    #[error("the server's schema has more than {FILES_MAX} files or {BYTES_MAX} B: give --proto")]
    TooLarge,
}

impl From<Malformed> for ReflectionError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Send the next request.
    Ask,
    /// End the call: the files are there.
    Whole,
}

/// What was asked last.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Question {
    Symbol,
    File(String),
    /// Only to say what there is instead.
    Services,
}

/// A file, and which ones it needs.
#[derive(Debug, Clone)]
struct Known {
    bytes: Vec<u8>,
    imports: Vec<String>,
}

/// The questions to a server about one service.
#[derive(Debug, Clone)]
pub struct Discovery {
    service: String,
    question: Question,
    files: BTreeMap<String, Known>,
    bytes: usize,
}

impl Discovery {
    /// For the service of a method, `package.Service/Method` or with a dot.
    ///
    /// # Errors
    /// When the name can't be that of a method.
    pub fn new(method: &str) -> Result<Self, ReflectionError> {
        let service = MethodName::read(method)?.service.to_owned();
        Ok(Self { service, question: Question::Symbol, files: BTreeMap::new(), bytes: 0 })
    }

    /// For no service yet; [`turn_to`](Self::turn_to) says which.
    pub(super) fn of_none() -> Self {
        let service = String::new();
        Self { service, question: Question::Symbol, files: BTreeMap::new(), bytes: 0 }
    }

    /// Goes on with another service; the files that are here stay.
    pub(super) fn turn_to(&mut self, service: String) {
        self.service = service;
        self.question = Question::Symbol;
    }

    /// Appends the message to send next.
    pub fn write_request(&self, out: &mut Vec<u8>) {
        match &self.question {
            Question::Symbol => {
                write_bytes(out, request::FILE_CONTAINING_SYMBOL, self.service.as_bytes());
            }
            Question::File(name) => write_bytes(out, request::FILE_BY_FILENAME, name.as_bytes()),
            Question::Services => write_bytes(out, request::LIST_SERVICES, b"*"),
        }
    }

    /// Takes the response to it.
    ///
    /// # Errors
    /// When there is no such service, or the server does not give what is needed.
    pub fn response(&mut self, message: &[u8]) -> Result<Step, ReflectionError> {
        let Some((number, value)) = answer(message)? else {
            return Err(ReflectionError::Malformed);
        };
        match number {
            response::FILE_DESCRIPTOR if self.question != Question::Services => self.add(value),
            response::LIST_SERVICES if self.question == Question::Services => {
                Err(self.no_service(&names(value)?))
            }
            response::ERROR if self.question == Question::Symbol => {
                self.question = Question::Services;
                Ok(Step::Ask)
            }
            response::ERROR => Err(self.refused(value)?),
            _ => Err(ReflectionError::Malformed),
        }
    }

    /// The schema, once it is whole.
    ///
    /// # Errors
    /// When the files are not descriptors or don't fit together.
    pub fn into_schema(self) -> Result<Schema, ReflectionError> {
        Ok(Schema::of_descriptors(self.files.values().map(|file| file.bytes.as_slice()))?)
    }

    fn add(&mut self, files: &[u8]) -> Result<Step, ReflectionError> {
        for field in Fields::of(files) {
            let (number, value) = field?;
            if number != u64::from(response::FIRST) {
                continue;
            }
            let bytes = value.bytes()?;
            let FileHead { name, imports, syntax } = FileHead::read(bytes)?;
            if self.files.contains_key(&name) {
                continue;
            }
            if !["", "proto2", "proto3"].contains(&syntax.as_str()) {
                let (file, syntax) = (one_line(&name), one_line(&syntax));
                return Err(ReflectionError::Syntax { file, syntax });
            }
            self.bytes += bytes.len();
            if self.files.len() == FILES_MAX || self.bytes > BYTES_MAX {
                return Err(ReflectionError::TooLarge);
            }
            self.files.insert(name, Known { bytes: bytes.to_vec(), imports });
        }
        if let Question::File(name) = &self.question
            && !self.files.contains_key(name)
        {
            return Err(ReflectionError::OtherFile(name.clone()));
        }
        let Some(name) = self.missing() else { return Ok(Step::Whole) };
        self.question = Question::File(name);
        Ok(Step::Ask)
    }

    /// A file that another one imports and that is not here.
    fn missing(&self) -> Option<String> {
        let bundled = DescriptorPool::global();
        let is_here =
            |name: &str| self.files.contains_key(name) || bundled.get_file_by_name(name).is_some();
        let mut imports = self.files.values().flat_map(|file| &file.imports);
        imports.find(|name| !is_here(name)).cloned()
    }

    fn no_service(&self, known: &[String]) -> ReflectionError {
        let advice = advice(&self.service, known);
        ReflectionError::NoService { service: self.service.clone(), advice }
    }

    fn refused(&self, error: &[u8]) -> Result<ReflectionError, Malformed> {
        let (mut code, mut message) = (0, String::new());
        for field in Fields::of(error) {
            match field? {
                (1, value) => code = value.number()?,
                (2, value) => message = one_line(&String::from_utf8_lossy(value.bytes()?)),
                _ => {}
            }
        }
        let what = match &self.question {
            Question::File(name) => format!("the file '{name}'"),
            _ => format!("the service '{}', nor a list of services", self.service),
        };
        Ok(ReflectionError::Refused { what, code, message })
    }
}

/// The field of a response that answers the question.
pub(super) fn answer(message: &[u8]) -> Result<Option<(u32, &[u8])>, Malformed> {
    let mut found = None;
    for field in Fields::of(message) {
        let (number, value) = field?;
        if let (Ok(number @ response::FILE_DESCRIPTOR..), Value::Bytes(bytes)) =
            (u32::try_from(number), value)
        {
            found = Some((number, bytes));
        }
    }
    Ok(found)
}

/// The names in a list of services.
pub(super) fn names(list: &[u8]) -> Result<Vec<String>, Malformed> {
    let mut names = Vec::new();
    for service in Fields::of(list) {
        let (number, value) = service?;
        if number != u64::from(response::FIRST) || names.len() == FILES_MAX {
            continue;
        }
        for field in Fields::of(value.bytes()?) {
            if let (1, name) = field? {
                names.push(one_line(name.text()?));
            }
        }
    }
    Ok(names)
}

/// What has to be known of a file before there is a schema.
struct FileHead {
    name: String,
    /// The names of the files that it imports.
    imports: Vec<String>,
    /// Empty for proto2.
    syntax: String,
}

impl FileHead {
    fn read(file: &[u8]) -> Result<Self, Malformed> {
        let mut head = Self { name: String::new(), imports: Vec::new(), syntax: String::new() };
        for field in Fields::of(file) {
            match field? {
                (1, value) => head.name = value.text()?.to_owned(),
                (3, value) => head.imports.push(value.text()?.to_owned()),
                (12, value) => head.syntax = value.text()?.to_owned(),
                _ => {}
            }
        }
        Ok(head)
    }
}

//! Answers of the reflection service about one schema.

use prost_reflect::{DescriptorPool, FileDescriptor};

use super::{request, response};
use crate::schema::Schema;
use crate::wire::{
    Fields, Malformed, Value, write_bytes, write_delimited, write_number, write_tag, write_text,
};

/// A status code of gRPC.
const NOT_FOUND: u64 = 5;
const INVALID_ARGUMENT: u64 = 3;

/// What the reflection service says.
#[derive(Debug, Clone)]
pub struct Answers {
    pool: DescriptorPool,
}

impl Answers {
    /// About this schema.
    #[must_use]
    pub fn new(schema: &Schema) -> Self {
        Self { pool: schema.pool().clone() }
    }

    /// Appends the response to a request. To what is not known, it is an error within the response:
    /// the call goes on.
    ///
    /// # Errors
    /// When the message is not a request of the service.
    pub fn answer(&self, message: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        let (mut host, mut question) = ("", None);
        for field in Fields::of(message) {
            let (number, value) = field?;
            match u32::try_from(number) {
                Ok(request::HOST) => host = value.text()?,
                Ok(number @ request::FILE_BY_FILENAME..=request::LIST_SERVICES) => {
                    question = Some((number, value));
                }
                _ => {}
            }
        }
        write_text(out, response::VALID_HOST, host);
        write_bytes(out, response::ORIGINAL_REQUEST, message);
        match question {
            Some((number, value)) => self.answer_question(number, value, out),
            None => {
                write_error(out, INVALID_ARGUMENT, "the request asks nothing");
                Ok(())
            }
        }
    }

    fn answer_question(
        &self,
        number: u32,
        value: Value<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        match number {
            request::FILE_BY_FILENAME => {
                write_file(out, self.pool.get_file_by_name(value.text()?), "no such file");
            }
            request::FILE_CONTAINING_SYMBOL => {
                write_file(out, self.file_of(value.text()?), "no such symbol");
            }
            request::FILE_CONTAINING_EXTENSION => {
                value.bytes()?;
                write_error(out, NOT_FOUND, "no such extension");
            }
            request::ALL_EXTENSION_NUMBERS_OF_TYPE => self.write_extensions(out, value.text()?),
            request::LIST_SERVICES => self.write_services(out),
            _ => return Err(Malformed),
        }
        Ok(())
    }

    /// The file with a service, a method, a message or an enum of this name.
    fn file_of(&self, symbol: &str) -> Option<FileDescriptor> {
        let service = |name: &str| self.pool.get_service_by_name(name);
        let method = || {
            let (name, method) = symbol.rsplit_once('.')?;
            service(name).filter(|it| it.methods().any(|known| known.name() == method))
        };
        let message = || self.pool.get_message_by_name(symbol).map(|it| it.parent_file());
        let of_enum = || self.pool.get_enum_by_name(symbol).map(|it| it.parent_file());
        let found = service(symbol).or_else(method).map(|it| it.parent_file());
        found.or_else(message).or_else(of_enum)
    }

    /// None of our messages has extensions.
    fn write_extensions(&self, out: &mut Vec<u8>, message: &str) {
        if self.pool.get_message_by_name(message).is_none() {
            write_error(out, NOT_FOUND, "no such type");
            return;
        }
        write_tag(out, response::ALL_EXTENSION_NUMBERS, 2);
        write_delimited(out, |out| write_text(out, response::FIRST, message));
    }

    fn write_services(&self, out: &mut Vec<u8>) {
        write_tag(out, response::LIST_SERVICES, 2);
        write_delimited(out, |out| {
            for service in self.pool.services() {
                write_tag(out, response::FIRST, 2);
                write_delimited(out, |out| write_text(out, 1, service.full_name()));
            }
        });
    }
}

fn write_file(out: &mut Vec<u8>, file: Option<FileDescriptor>, missing: &str) {
    let Some(file) = file else {
        write_error(out, NOT_FOUND, missing);
        return;
    };
    write_tag(out, response::FILE_DESCRIPTOR, 2);
    write_delimited(out, |out| write_bytes(out, response::FIRST, &file.encode_to_vec()));
}

fn write_error(out: &mut Vec<u8>, code: u64, message: &str) {
    write_tag(out, response::ERROR, 2);
    write_delimited(out, |out| {
        write_number(out, response::FIRST, code);
        write_text(out, response::ERROR_MESSAGE, message);
    });
}

//! Reflection: a service by which a server tells what services and messages it has. Both sides,
//! without streams: messages go in and out.
//!
//! The client side, [`Discovery`], asks for the file of one service, then for the files that those
//! import, one after the other; a [`Survey`] does so for all services that there are. The server
//! side, [`Answers`], has all answers in its schema.

mod client;
mod server;
mod survey;

#[cfg(test)]
mod tests;

pub use client::{Discovery, ReflectionError, Step};
pub use server::Answers;
pub use survey::Survey;

/// Versions of the service, which differ by name alone. A client tries them in this order: a server
/// that lacks one ends the call with UNIMPLEMENTED.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// `grpc.reflection.v1`.
    V1,
    /// `grpc.reflection.v1alpha`.
    V1Alpha,
}

impl Version {
    /// All versions, the one to try first at the beginning.
    pub const ALL: [Self; 2] = [Self::V1, Self::V1Alpha];

    /// The path of its only method.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::V1 => "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            Self::V1Alpha => "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        }
    }
}

/// Numbers of the fields in requests.
mod request {
    pub(super) const HOST: u32 = 1;
    pub(super) const FILE_BY_FILENAME: u32 = 3;
    pub(super) const FILE_CONTAINING_SYMBOL: u32 = 4;
    pub(super) const FILE_CONTAINING_EXTENSION: u32 = 5;
    pub(super) const ALL_EXTENSION_NUMBERS_OF_TYPE: u32 = 6;
    pub(super) const LIST_SERVICES: u32 = 7;
}

/// Numbers of the fields in responses, and of the first field within each.
mod response {
    pub(super) const VALID_HOST: u32 = 1;
    pub(super) const ORIGINAL_REQUEST: u32 = 2;
    pub(super) const FILE_DESCRIPTOR: u32 = 4;
    pub(super) const ALL_EXTENSION_NUMBERS: u32 = 5;
    pub(super) const LIST_SERVICES: u32 = 6;
    pub(super) const ERROR: u32 = 7;
    /// A file, a service, the name of one, a type, an error's code.
    pub(super) const FIRST: u32 = 1;
    pub(super) const ERROR_MESSAGE: u32 = 2;
}

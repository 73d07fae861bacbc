//! What is in a gRPC call: schemas, messages and reflection.
//!
//! A [`Schema`] comes from `.proto` files or from a server's [`reflection`]. A [`Method`] of it
//! turns JSON into messages, also into messages with places that are filled anew for each request
//! ([`MessageTemplate`]), and messages into JSON. [`builtin`] is the schema of the services that
//! the built-in server has, and their messages.
//!
//! A crate of its own because a compiler of `.proto` files brings three dozen crates along that
//! nothing else needs. How messages travel is `proto`'s.
//!
//! Absent on purpose: files and sockets. Sources come through a function, and what the reflection
//! service is asked is handed to the caller.
#![forbid(unsafe_code)]

pub mod builtin;
mod json;
mod method;
pub mod reflection;
mod schema;
mod template;
mod text;
mod whole;
mod wire;

pub use json::BodyError;
pub use method::{Kind, Method, Outcome};
pub use schema::{Schema, SchemaError, method_name_of};
pub use template::MessageTemplate;
pub use whole::StatusDetails;
pub use wire::Malformed;

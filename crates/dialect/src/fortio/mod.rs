//! fortio: the command line of `fortio load`, its pace, its report and its result files, as pure
//! functions.
//!
//! [`Said`] is what a file says, with all of it optional, because other programs write the format
//! too and each leaves out something else. [`foreign`] puts that in common terms. The facts are
//! those of fortio 1.75; Nighthawk's files of all versions are read as well.
//!
//! [`result`] is what fortio itself writes, whole; [`json`] and [`text`] write it byte for byte as
//! fortio does. [`parse`] reads a command line, [`pace`] computes when calls are due, and
//! [`outcome`] makes fortio's result of a run of ours.

mod access;
mod arguments;
mod buckets;
mod command;
mod echo;
mod flags;
mod foreign;
mod interpolate;
pub mod json;
mod log;
mod of_run;
pub mod pace;
mod ping;
mod plan;
mod redirect;
pub mod rest;
pub mod result;
mod said;
mod task;
#[cfg(test)]
mod tests;
pub mod text;

pub use access::access_line;
pub use arguments::{canonical, help, parse};
pub use command::{
    AccessLog, Call, Carrier, Command, LogLevel, Payload, long_version, scheme, version,
};
pub use foreign::foreign;
pub use log::{Attribute, Level, line};
pub use of_run::{Host, Outcome, id, outcome};
pub use ping::{Exchange, Pings};
pub use plan::{FLAGS, GRPC_PORT, Parts, user_agent};
pub use redirect::REDIRECTS_MAX;
pub use said::{Bucket, Histogram, Malformed, Said, is_result};
pub use task::{Curl, GrpcPing, Netcat, Serve, ServeKind, Task};

//! Runs as fortio does: each of its commands, with its streams and exit codes.

mod access_log;
mod curl;
mod grpcping;
mod load;
mod netcat;
mod serve;

use std::io::{self, IsTerminal as _, Write as _};
use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use plimsoll_core::plan::{Endpoint, PemFile};
use plimsoll_core::secret::Secret;
use plimsoll_dialect::fortio::{
    self, Attribute, Call, Command, GRPC_PORT, Level, LogLevel, Parts, Payload, Task,
};
use plimsoll_dialect::{UsageText, WallTime};

use super::{check_document, feed, print, print_answer, print_usage, ready, write_document};
use crate::exit::Exit;
use crate::files;
use crate::message::without_error_numbers;

/// A line that is printed in place of what was asked for, with exit code 1.
struct Refused(String);

impl From<String> for Refused {
    fn from(line: String) -> Self {
        Self(line)
    }
}

impl From<Exit> for Refused {
    fn from(exit: Exit) -> Self {
        Self(format!("fortio: {}", exit.into_text()))
    }
}

pub(super) fn run(arguments: &[String]) -> Result<ExitCode, Exit> {
    let task = match fortio::parse(arguments) {
        Ok(task) => task,
        Err(usage) => return Ok(print_usage(&usage)),
    };
    let done = match &task {
        Task::Load(command) => load::load(command),
        Task::Curl(curl) => curl::curl(curl),
        Task::GrpcPing(ping) => grpcping::ping(ping),
        Task::Netcat(netcat) => netcat::connect(netcat),
        Task::Serve(serve) => serve::serve(serve),
    };
    done.or_else(|Refused(line)| {
        let stderr = without_error_numbers(&line) + "\n";
        Ok(print_usage(&UsageText { stderr, code: 1, ..UsageText::default() }))
    })
}

/// Reads what the command names.
fn parts(command: &Command) -> Result<Parts, Refused> {
    let payload = match &command.payload {
        Payload::File(path) => files::read_or_stdin(Path::new(path), files::FILE_BYTES_MAX)
            .map_err(|why| format!("fortio: cannot read -payload-file '{path}': {why}"))?,
        _ => Vec::new(),
    };
    let pem = |flag: &str, path: &str| -> Result<Option<PemFile>, Refused> {
        if path.is_empty() {
            return Ok(None);
        }
        let bytes = files::pem(Path::new(path))
            .map_err(|why| format!("fortio: cannot read {flag} '{path}': {why}"))?;
        Ok(Some(PemFile { path: path.to_owned(), bytes: Secret::new(bytes) }))
    };
    let pems = [
        pem("-cacert", &command.ca_cert)?,
        pem("-cert", &command.cert)?,
        pem("-key", &command.key)?,
    ];
    let resolve = match command.resolve.as_str() {
        "" => None,
        text => Some(text.parse::<IpAddr>().map_err(|_| {
            format!("fortio: -resolve '{text}' is not an address: give an IP address")
        })?),
    };
    let descriptors = match command.call {
        Some(Call::Health(_) | Call::Ping { .. }) => plimsoll_grpc::builtin::schema()
            .map_err(|error| format!("fortio: {error}"))?
            .descriptors(),
        Some(Call::Method(_)) | None => Vec::new(),
    };
    Ok(Parts { payload, pems, descriptors, resolve, connects_each: false })
}

/// The server of the command. Without a port, that of gRPC is fortio's own.
fn endpoint(command: &Command) -> Result<Endpoint, Refused> {
    let target = &command.target;
    if command.carrier().is_some() {
        return crate::url::parse_echo(target).map_err(|why| Refused(format!("fortio: {why}")));
    }
    let has_port = target.rsplit(']').next().is_some_and(|rest| rest.contains(':'));
    let url = match command.call {
        Some(_) if fortio::scheme(target).is_none() && !has_port => {
            format!("http://{target}:{GRPC_PORT}")
        }
        _ => command.url(),
    };
    crate::url::parse(&url).map_err(|why| Refused(format!("fortio: {why}")))
}

/// Writes to stderr; where it goes there may be nobody.
fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Logs, unless the level is too low for that.
fn log(least: LogLevel, level: Level, text: &str, attributes: &[Attribute<'_>]) {
    if level.is_shown(least) {
        let unix_us = now().unix_ns.max(0) as u64 / 1000;
        let is_terminal = io::stderr().is_terminal();
        say(&fortio::line(level, unix_us, text, attributes, is_terminal));
    }
}

/// The time of the wall clock, in UTC.
fn now() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let unix_ns = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
    WallTime { unix_ns, offset_s: 0 }
}

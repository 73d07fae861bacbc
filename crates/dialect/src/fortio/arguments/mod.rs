//! The command line: fortio's commands, its order of checks and its messages.
//!
//! Values of flags are checked as they are read, in the order in which they were given, because
//! fortio's first complaint is about the first flag. `reader` keeps them, and `tasks` makes the
//! command of them. What Plimsoll does not do is refused by name.

mod reader;
mod tasks;
mod values;

use super::command::version;
use super::flags;
use super::task::{ServeKind, Task};
use crate::UsageText;
use crate::go_flag::{self, Wrong, invalid};
use reader::Reader;

pub use values::canonical;
pub(super) use values::{header, percentiles, reuse};

/// The most connections, and the most streams of all of them.
const THREADS_MAX: i64 = 1_000_000;

/// Reads the arguments that follow the program's name.
///
/// # Errors
/// What to print instead of doing anything: what was asked for, or what is wrong.
pub fn parse(arguments: &[String]) -> Result<Task, UsageText> {
    let Some((name, arguments)) = arguments.split_first() else {
        return Err(wrong("Missing command argument"));
    };
    if arguments.is_empty()
        && let Some(shown) = shown(name)
    {
        return Err(shown);
    }
    let (given, operands) = go_flag::parse(arguments, &flags::all()).map_err(|error| {
        let usage = flags::usage(&version());
        match error {
            Wrong::Help => UsageText { stderr: usage, code: 0, ..UsageText::default() },
            Wrong::Line(line) => {
                let stderr = format!("{line}\n{usage}");
                UsageText { stderr, code: 2, ..UsageText::default() }
            }
        }
    })?;
    let Some(kind) = kind(name) else { return Err(unknown(name, operands)) };
    Reader::new().read(given)?.finish(kind, operands)
}

/// What the commands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Load,
    Curl,
    GrpcPing,
    Netcat,
    Serve(ServeKind),
}

fn kind(name: &str) -> Option<Kind> {
    const KINDS: [(&str, Kind); 10] = [
        ("load", Kind::Load),
        ("curl", Kind::Curl),
        ("grpcping", Kind::GrpcPing),
        ("nc", Kind::Netcat),
        ("server", Kind::Serve(ServeKind::Server)),
        ("report", Kind::Serve(ServeKind::Report)),
        ("redirect", Kind::Serve(ServeKind::Redirect)),
        ("tcp-echo", Kind::Serve(ServeKind::TcpEcho)),
        ("udp-echo", Kind::Serve(ServeKind::UdpEcho)),
        ("proxies", Kind::Serve(ServeKind::Proxies)),
    ];
    KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// The help of `fortio help`.
#[must_use]
pub fn help() -> String {
    flags::usage(&version())
}

/// What a sole argument shows.
fn shown(name: &str) -> Option<UsageText> {
    let own = env!("CARGO_PKG_VERSION");
    let stdout = match name {
        "version" => format!("{}\n", version()),
        "buildinfo" => format!("{}\nPlimsoll {own}, as fortio\n", version()),
        "help" => help(),
        "envhelp" => {
            "# No environment variable changes what this program does or logs.\n".to_owned()
        }
        _ => return None,
    };
    Some(UsageText { stdout, ..UsageText::default() })
}

/// A command that is not spoken, or that fortio does not have.
fn unknown(name: &str, operands: &[String]) -> UsageText {
    match (name, operands.len()) {
        (_, 2..) => too_many(operands),
        ("script", _) => refused("script: grol is not spoken here"),
        _ => wrong(&format!("Error: unknown command {name:?}")),
    }
}

fn too_many(operands: &[String]) -> UsageText {
    wrong(&format!("At most 1 argument expected, got {}", operands.len()))
}

/// The usage, and a line that says what is wrong: exit code 1.
fn wrong(line: &str) -> UsageText {
    let stderr = format!("{}{line}\n", flags::usage(&version()));
    UsageText { stderr, code: 1, ..UsageText::default() }
}

/// A line about what is not done here.
fn refused(line: &str) -> UsageText {
    UsageText { stderr: format!("fortio: {line}\n"), code: 1, ..UsageText::default() }
}

/// A value that a flag cannot have: exit code 2, as all of Go's complaints about flags.
fn bad_value(name: &str, value: &str, why: &str) -> UsageText {
    let stderr = format!("{}\n{}", invalid(name, value, why), flags::usage(&version()));
    UsageText { stderr, code: 2, ..UsageText::default() }
}

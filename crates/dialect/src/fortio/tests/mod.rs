//! Files that fortio wrote, and files in the forms that Nighthawk has written.

mod arguments;
mod of_run;
mod pace;
mod reading;
mod secrets;
mod writing;

use super::{Command, Task, parse};

/// `fortio load` over HTTP, with errors.
const HTTP: &str = include_str!("../fixtures/http.json");
/// `fortio load` over TCP, with a number of calls.
const TCP: &str = include_str!("../fixtures/tcp.json");
/// What it printed in the run of `HTTP`.
const HTTP_ERR: &str = include_str!("../fixtures/http.err");

/// The words of a line.
fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// A load with these flags.
fn command(flags: &str) -> Command {
    match parse(&words(&format!("load {flags} h/"))) {
        Ok(Task::Load(command)) => *command,
        other => panic!("{flags}: {other:?}"),
    }
}

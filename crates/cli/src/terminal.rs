//! Properties of standard output: whether text on it is coloured, and how many columns it has.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

/// What is taken where nobody says how wide it is: a pipe, a file, a log.
const COLUMNS: usize = 80;

/// Whether text on stdout is coloured, where `--no-color` is as given.
pub(crate) fn has_color(no_color: bool) -> bool {
    is_colored(no_color, io::stdout().is_terminal(), |name| env::var_os(name))
}

/// `NO_COLOR` with anything in it (no-color.org), and a terminal that can do nothing but text.
fn is_colored(
    no_color: bool,
    is_terminal: bool,
    variable: impl Fn(&str) -> Option<OsString>,
) -> bool {
    let refuses = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    is_terminal && !no_color && !refuses && !is_dumb(variable)
}

/// Whether this terminal takes no escapes.
pub(crate) fn takes_escapes() -> bool {
    !is_dumb(|name| env::var_os(name))
}

fn is_dumb(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    variable("TERM").is_some_and(|term| term == "dumb")
}

/// How many columns a report has, on stdout or in a file.
pub(crate) fn columns(on_stdout: bool) -> usize {
    let terminal = if on_stdout { columns_there(io::stdout()) } else { None };
    columns_of(env::var_os("COLUMNS"), terminal)
}

/// How many columns the live progress has.
pub(crate) fn columns_of_stderr() -> usize {
    columns_of(env::var_os("COLUMNS"), columns_there(io::stderr()))
}

fn columns_there(stream: impl AsFd) -> Option<usize> {
    tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col))
}

/// `COLUMNS` where it says a number, else the terminal's, else what is usual.
fn columns_of(given: Option<OsString>, terminal: Option<usize>) -> usize {
    let given = given.and_then(|text| text.to_str()?.trim().parse().ok());
    given.into_iter().chain(terminal).find(|columns| *columns > 0).unwrap_or(COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_for_terminals_that_want_it() {
        for (no_color, is_terminal, variables, want) in [
            (false, true, &[][..], true),
            (false, true, &[("TERM", "xterm-256color")], true),
            (false, true, &[("NO_COLOR", "")], true),
            (false, true, &[("NO_COLOR", "1")], false),
            (false, true, &[("TERM", "dumb")], false),
            (true, true, &[], false),
            (false, false, &[], false),
        ] {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(is_colored(no_color, is_terminal, variable), want, "{variables:?}");
        }
    }

    #[test]
    fn the_width_is_what_is_said_or_what_is_there_or_80() {
        for (given, terminal, want) in [
            (None, None, 80),
            (None, Some(132), 132),
            (None, Some(0), 80),
            (Some("72"), Some(132), 72),
            (Some(" 72 "), None, 72),
            (Some("0"), Some(132), 132),
            (Some("wide"), None, 80),
            (Some(""), None, 80),
        ] {
            assert_eq!(columns_of(given.map(OsString::from), terminal), want, "{given:?}");
        }
    }
}

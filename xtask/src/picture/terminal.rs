//! Runs a program with a terminal as its stdout, and returns what it prints there. Programs use
//! colours only on a terminal.

use std::fs::File;
use std::io::Read as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Runs a command with a new terminal for stdout, and returns what it printed there.
pub(super) fn text_of(command: &mut Command) -> Result<String> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).context("cannot open a terminal")?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let theirs = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())?;
    let mut child = command.stdin(Stdio::null()).stdout(theirs).spawn().context("cannot start")?;
    // The command holds their end open too. Reading ends once every holder has closed it.
    command.stdout(Stdio::null());
    let bytes = printed(File::from(ours));
    let status = child.wait()?;
    if !status.success() {
        bail!("{status}");
    }
    // A terminal turns each line feed into a carriage return and a line feed.
    Ok(String::from_utf8(bytes).context("it did not print UTF-8")?.replace('\r', ""))
}

fn printed(mut terminal: File) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    // Reading fails once their end is closed everywhere.
    while let Ok(count @ 1..) = terminal.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..count]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<String> {
        text_of(Command::new("/bin/sh").args(["-c", script]))
    }

    #[test]
    fn a_program_finds_a_terminal_and_its_text_is_read_to_the_end() {
        assert_eq!(shell("test -t 1 && printf 'a\\n\\033[1mb'").unwrap(), "a\n\u{1b}[1mb");
        let long = shell("i=0; while [ $i -lt 5000 ]; do echo line; i=$((i + 1)); done").unwrap();
        assert_eq!(long, "line\n".repeat(5000));
        assert!(shell("echo some; exit 3").unwrap_err().to_string().contains('3'));
    }
}

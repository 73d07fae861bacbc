//! `fortio curl`: one request, and its answer: the head on stderr and the body on stdout.
//!
//! fortio's fast client shows what came on the connection, chunks and all; with TLS, HTTP/2 or
//! `-stdclient` it shows the body alone. Only a status of 200 ends with exit code 0.

use std::io::{self, Read as _};
use std::process::ExitCode;

use plimsoll_dialect::fortio::{Command, Curl, FLAGS, Level, Parts, Payload, REDIRECTS_MAX};
use plimsoll_engine::{Answer, Control, Inquiry, RunError};

use super::{Refused, endpoint, log, parts, print, ready, say};
use crate::files::FILE_BYTES_MAX;
use crate::message::without_error_numbers;

pub(super) fn curl(curl: &Curl) -> Result<ExitCode, Refused> {
    let mut command = curl.command.clone();
    let mut parts = parts(&command)?;
    if curl.streams {
        io::stdin()
            .take(FILE_BYTES_MAX)
            .read_to_end(&mut parts.payload)
            .map_err(|error| format!("fortio: cannot read stdin: {error}"))?;
        command.payload = Payload::File("-".to_owned());
    }
    let level = command.log_level;
    let mut answer = ask(&command, &parts)?;
    let mut redirects = 0;
    while let Ok(told) = &answer
        && let Some(next) = next(&command, told)
    {
        redirects += 1;
        if redirects > REDIRECTS_MAX {
            answer = Err(format!("stopped after {redirects} redirects"));
            break;
        }
        command = next;
        answer = ask(&command, &parts)?;
    }
    let answer = match answer {
        Ok(answer) => answer,
        Err(why) => {
            log(level, Level::Error, "Unable to connect", &[("err", why.into())]);
            log(level, Level::Error, "Error status -1", &[]);
            return Ok(ExitCode::FAILURE);
        }
    };
    if command.is_std_client() {
        print(|out| out.write_all(&answer.body))?;
    } else {
        let (head, body) = parted(&answer.received);
        match curl.stdout_headers {
            true => print(|out| out.write_all(head))?,
            false => say(&String::from_utf8_lossy(head)),
        }
        print(|out| out.write_all(body))?;
    }
    if answer.status == 200 {
        return Ok(ExitCode::SUCCESS);
    }
    let attributes = [("code", answer.status.into()), ("thread", 0.into()), ("run", 0.into())];
    if command.is_std_client() || answer.status != 204 {
        log(level, Level::Warning, "Non ok http code", &attributes);
    }
    log(level, Level::Error, &format!("Error status {}", answer.status), &[]);
    Ok(ExitCode::FAILURE)
}

/// The answer to a request, or the reason that no answer came.
///
/// # Errors
/// What of the request cannot be carried out.
fn ask(command: &Command, parts: &Parts) -> Result<Result<Answer, String>, Refused> {
    let plan = ready(command.once(endpoint(command)?, parts), &FLAGS)?;
    let control = Control::default();
    let asked = Inquiry::new(&plan, &control).and_then(|mut it| it.ask(&plan, &control));
    asked.map(Ok).or_else(|error| match error {
        RunError::Unreachable { .. } | RunError::Unanswered { .. } | RunError::Resolve(_) => {
            Ok(Err(without_error_numbers(&error.to_string())))
        }
        error => Err(format!("fortio: {error}").into()),
    })
}

/// The request to which an answer redirects, where that is followed.
fn next(command: &Command, answer: &Answer) -> Option<Command> {
    let head = String::from_utf8_lossy(&answer.head);
    let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let (_, location) = fields.find(|(name, _)| name.eq_ignore_ascii_case("location"))?;
    command.follows_redirects.then(|| command.redirected(answer.status, location)).flatten()
}

/// The head with the empty line behind it, and what follows.
fn parted(received: &[u8]) -> (&[u8], &[u8]) {
    const END: &[u8] = b"\r\n\r\n";
    let end = received.windows(END.len()).position(|part| part == END);
    received.split_at(end.map_or(received.len(), |at| at + END.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_with_an_empty_line() {
        for (received, head_bytes) in [
            (&b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nxy"[..], 25),
            (b"HTTP/1.1 200\r\n\r\n", 16),
            (b"x", 1),
        ] {
            let (head, body) = parted(received);
            assert_eq!(head.len(), head_bytes);
            assert_eq!([head, body].concat(), received);
        }
    }
}

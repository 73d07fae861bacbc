//! `fortio curl`: one request, and its answer: the head on stderr and the body on stdout.
//!
//! fortio's fast client shows what came on the connection, chunks and all; with TLS, HTTP/2 or
//! `-stdclient` it shows the body alone. Only a status of 200 ends with exit code 0.

use std::io::{self, Read as _};
use std::process::ExitCode;

use plimsoll_dialect::fortio::{Curl, FLAGS, Level, Payload};
use plimsoll_engine::{Control, Inquiry, RunError};

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
    let plan = ready(command.once(endpoint(&command)?, &parts), &FLAGS)?;
    let control = Control::default();
    let answer = Inquiry::new(&plan, &control).and_then(|mut it| it.ask(&plan, &control));
    let level = command.log_level;
    let answer = match answer {
        Ok(answer) => answer,
        Err(
            error @ (RunError::Unreachable { .. }
            | RunError::Unanswered { .. }
            | RunError::Resolve(_)),
        ) => {
            let text = without_error_numbers(&error.to_string());
            log(level, Level::Error, "Unable to connect", &[("err", text.into())]);
            log(level, Level::Error, "Error status -1", &[]);
            return Ok(ExitCode::FAILURE);
        }
        Err(error) => return Err(format!("fortio: {error}").into()),
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

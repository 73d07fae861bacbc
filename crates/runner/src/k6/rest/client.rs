//! The connection of one client: its bytes become requests, which are answered in turn.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use plimsoll_proto::http1::{
    Limits, RequestDecoder, RequestEvent, write_head_end, write_status_line,
};

use super::answer::{Answer, Request, path_of};

/// How long a client may say nothing, and how long it may take to read.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest body of a request: data of `setup` may be long.
const BODY_BYTES_MAX: u64 = 8 << 20;

/// The most that is read of a client that was refused.
const DRAINED_BYTES_MAX: usize = 1 << 20;

/// Reads what a client goes on to send, up to a limit: closing a connection with unread bytes
/// resets it, and the client might not see why it was refused.
fn drain(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let (mut buffer, mut drained) = ([0; 16 << 10], 0);
    while drained < DRAINED_BYTES_MAX {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            read => drained += read,
        }
    }
    Ok(())
}

/// Talks to a client until it has no more to say, errs, or is too slow. What `answer` gives beside
/// the answer is dropped when that is sent.
pub(super) fn talk<G>(mut stream: TcpStream, mut answer: impl FnMut(&Request) -> (Answer, G)) {
    // A client that has gone away has read enough.
    let _ = converse(&mut stream, &mut answer);
}

fn converse<G>(
    stream: &mut TcpStream,
    answer: &mut dyn FnMut(&Request) -> (Answer, G),
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let limits = Limits { head_bytes: 16 << 10, body_bytes: BODY_BYTES_MAX, ..Limits::default() };
    let mut decoder = RequestDecoder::new(limits);
    let mut request = Request::default();
    let mut buffer = [0; 16 << 10];
    loop {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        let mut input = &buffer[..read];
        while !input.is_empty() {
            let decoded = match decoder.decode(input) {
                Ok(decoded) => decoded,
                Err(error) => {
                    let refusal = Answer::fault(400, "Bad Request", error.to_string());
                    stream.write_all(&refusal.bytes(false))?;
                    return drain(stream);
                }
            };
            let mut ended = None;
            match decoded.event {
                Some(RequestEvent::Head(head)) => {
                    head.method.clone_into(&mut request.method);
                    request.path = path_of(head.target);
                    request.body.clear();
                    if head.expect_continue {
                        let mut interim = Vec::new();
                        write_status_line(&mut interim, 1, 100);
                        write_head_end(&mut interim);
                        stream.write_all(&interim)?;
                    }
                }
                Some(RequestEvent::Body(piece)) => request.body.extend_from_slice(piece),
                Some(RequestEvent::End(end)) => ended = Some(end.keep_alive),
                None => {}
            }
            input = &input[decoded.consumed..];
            if let Some(keeps_alive) = ended {
                let (answer, guard) = answer(&request);
                stream.write_all(&answer.bytes(keeps_alive))?;
                drop(guard);
                if !keeps_alive {
                    return Ok(());
                }
            }
        }
    }
}

//! The thread of a control socket: one loop over all clients that never waits for one of them.
//!
//! The loop reads from a client only when it owes that client nothing. A client that asks and does
//! not read the answer therefore holds up nobody, and needs no more memory than one line in and one
//! answer out.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::{Steer, command};

/// Clients at a time; one more is told so and sent away.
pub(super) const CLIENTS_LIMIT: usize = 8;

/// The longest line a client may send, bytes.
pub(super) const LINE_LIMIT: usize = 4096;

struct Client {
    stream: UnixStream,
    /// What came and is not answered.
    input: Vec<u8>,
    /// The answer, as far as it is not sent.
    output: Vec<u8>,
    /// Nothing more will come.
    is_at_end: bool,
}

/// Serves until the other end of `ended` is closed.
pub(super) fn serve(listener: &UnixListener, ended: &UnixStream, steer: &dyn Steer) {
    let mut clients: Vec<Client> = Vec::new();
    loop {
        let ready = match wait(listener, ended, &clients) {
            Ok(ready) => ready,
            Err(Errno::INTR) => continue,
            // The control socket ends here, and the run goes on.
            Err(_) => return,
        };
        if ready[0] {
            return;
        }
        let mut is_ready = ready[2..].iter();
        clients.retain_mut(|client| {
            let is_ready = is_ready.next().copied().unwrap_or(false);
            !is_ready || client.go_on(steer).is_ok_and(|is_open| is_open)
        });
        if ready[1] {
            accept(listener, &mut clients);
        }
    }
}

/// Waits for any of them; whether each is ready.
fn wait(
    listener: &UnixListener,
    ended: &UnixStream,
    clients: &[Client],
) -> Result<Vec<bool>, Errno> {
    let mut all = vec![PollFd::new(ended, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
    all.extend(clients.iter().map(|client| {
        let owes = !client.output.is_empty();
        PollFd::new(&client.stream, if owes { PollFlags::OUT } else { PollFlags::IN })
    }));
    poll(&mut all, None)?;
    Ok(all.iter().map(|fd| !fd.revents().is_empty()).collect())
}

fn accept(listener: &UnixListener, clients: &mut Vec<Client>) {
    while let Ok((mut stream, _)) = listener.accept() {
        if stream.set_nonblocking(true).is_err() {
            continue;
        }
        if clients.len() < CLIENTS_LIMIT {
            let (input, output) = (Vec::new(), Vec::new());
            clients.push(Client { stream, input, output, is_at_end: false });
            continue;
        }
        let text =
            format!("{CLIENTS_LIMIT} others are connected, which is as many as there may be");
        // Sent away either way.
        let _ = stream.write_all(&command::error_line(&text));
    }
}

impl Client {
    /// Sends, reads and answers as far as it goes without waiting; whether there is more to come.
    fn go_on(&mut self, steer: &dyn Steer) -> io::Result<bool> {
        loop {
            if !self.flush()? {
                return Ok(true);
            }
            if let Some(line) = self.take_line() {
                if line.iter().any(|byte| !byte.is_ascii_whitespace()) {
                    self.output = command::answer(&line, steer);
                }
                continue;
            }
            if self.is_at_end {
                return Ok(false);
            }
            if self.input.len() > LINE_LIMIT {
                let text = format!("a line has {LINE_LIMIT} bytes at most");
                self.output = command::error_line(&text);
                self.input.clear();
                self.is_at_end = true;
                continue;
            }
            if !self.read()? {
                return Ok(true);
            }
        }
    }

    /// Whether all is sent.
    fn flush(&mut self) -> io::Result<bool> {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(sent) => {
                    self.output.drain(..sent);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// A whole line, or what there is at the end.
    fn take_line(&mut self) -> Option<Vec<u8>> {
        if let Some(end) = self.input.iter().position(|byte| *byte == b'\n') {
            return Some(self.input.drain(..=end).collect());
        }
        (self.is_at_end && !self.input.is_empty()).then(|| std::mem::take(&mut self.input))
    }

    /// Whether anything came, be it the end.
    fn read(&mut self) -> io::Result<bool> {
        let mut buffer = [0; LINE_LIMIT];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.is_at_end = true,
            Ok(read) => self.input.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(true)
    }
}

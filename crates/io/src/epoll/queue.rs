//! What one socket still has to send: the remainders that the kernel did not take at once.
//!
//! Registered bytes are kept as ranges and never copied.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;

use rustix::net::SendFlags;
use std::sync::Arc;

use crate::driver::Payload;

/// The bytes of every [`PayloadId`](crate::PayloadId).
pub(super) type Registered = Vec<Arc<[u8]>>;

/// Copied bytes are gathered into chunks of up to this size.
const GATHER_BYTES: usize = 64 * 1024;

#[derive(Debug)]
enum Chunk {
    Copied { bytes: Vec<u8>, start: usize },
    Registered { id: usize, start: usize, end: usize },
}

/// Bytes waiting for the kernel, in order.
#[derive(Debug, Default)]
pub(super) struct SendQueue {
    chunks: VecDeque<Chunk>,
    len: usize,
}

impl SendQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn clear(&mut self) {
        self.chunks.clear();
        self.len = 0;
    }

    /// Appends a payload but for its first `taken` bytes.
    pub(super) fn push(&mut self, payload: Payload<'_>, taken: usize) {
        self.len += payload.len() - taken;
        match payload {
            Payload::Copied(bytes) => {
                let rest = &bytes[taken..];
                if let Some(Chunk::Copied { bytes: last, .. }) = self.chunks.back_mut()
                    && last.len() + rest.len() <= GATHER_BYTES
                {
                    last.extend_from_slice(rest);
                } else {
                    self.chunks.push_back(Chunk::Copied { bytes: rest.to_vec(), start: 0 });
                }
            }
            Payload::Registered { id, offset, len } => {
                let (start, end) = (offset as usize + taken, offset as usize + len as usize);
                self.chunks.push_back(Chunk::Registered { id: id.0 as usize, start, end });
            }
        }
    }

    /// Writes until all is written or the kernel takes no more.
    ///
    /// # Errors
    /// What the write returns, but for `EAGAIN` and `EINTR`.
    pub(super) fn write_to(
        &mut self,
        stream: &impl AsFd,
        registered: &Registered,
    ) -> io::Result<()> {
        while let Some(chunk) = self.chunks.front_mut() {
            let (bytes, start) = match chunk {
                Chunk::Copied { bytes, start } => (&bytes[*start..], start),
                Chunk::Registered { id, start, end } => (&registered[*id][*start..*end], start),
            };
            let wanted = bytes.len();
            let taken = write(stream, bytes)?;
            *start += taken;
            self.len -= taken;
            if taken < wanted {
                return Ok(());
            }
            self.chunks.pop_front();
        }
        Ok(())
    }
}

/// The bytes a payload stands for.
pub(super) fn bytes_of<'a>(payload: &Payload<'a>, registered: &'a Registered) -> &'a [u8] {
    match *payload {
        Payload::Copied(bytes) => bytes,
        Payload::Registered { id, offset, len } => {
            &registered[id.0 as usize][offset as usize..offset as usize + len as usize]
        }
    }
}

/// One write; returns how much the kernel took, 0 if it takes nothing now.
///
/// # Errors
/// What the write returns, but for `EAGAIN` and `EINTR`.
pub(super) fn write(stream: &impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    if bytes.is_empty() {
        return Ok(0);
    }
    // Straight to the system call: the C library's is a cancellation point, which costs. A signal
    // is no concern, because Rust programs ignore SIGPIPE.
    let send = || rustix::net::send(stream, bytes, SendFlags::empty());
    match super::retrying(|| send().map_err(io::Error::from)) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        result => result,
    }
}

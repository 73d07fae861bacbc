//! What a connection of an oracle reads from and writes to: its socket, with TLS between where the
//! mode has it.
//!
//! Bytes count as written once the kernel has them; over TLS, once it has the whole record that
//! they are in. So the times in the log mean the same either way.
//!
//! ```text
//! held ──its time──► shaking hands ──tester's Finished──► open
//! ```

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

use rustls::ServerConnection;

use super::mode::Alpn;
use super::tls::Tls;

/// Most bytes that a record holds (RFC 8446 5.1).
const RECORD_BYTES: usize = 1 << 14;

/// A socket, with TLS or without.
pub(super) struct Wire {
    socket: TcpStream,
    tls: Option<Box<Layer>>,
}

/// TLS on a socket.
struct Layer {
    connection: ServerConnection,
    /// Whether nothing leaves yet.
    is_held: bool,
    /// Bytes in the record that is being written.
    taken: usize,
}

impl Wire {
    /// # Errors
    /// When TLS cannot begin.
    pub(super) fn new(socket: TcpStream, tls: Option<&Tls>) -> io::Result<Self> {
        let layer = |tls: &Tls| -> io::Result<Box<Layer>> {
            let connection = tls.connection()?;
            Ok(Box::new(Layer { connection, is_held: tls.is_late, taken: 0 }))
        };
        Ok(Self { socket, tls: tls.map(layer).transpose()? })
    }

    /// Lets leave what was held back.
    ///
    /// # Errors
    /// Those of the socket.
    pub(super) fn release(&mut self) -> io::Result<()> {
        let Some(layer) = &mut self.tls else { return Ok(()) };
        layer.is_held = false;
        layer.flush(&mut self.socket)
    }

    /// What the handshake chose, once it has ended.
    pub(super) fn chosen(&self) -> Option<Option<Alpn>> {
        let layer = self.tls.as_ref().filter(|layer| !layer.connection.is_handshaking())?;
        let name = layer.connection.alpn_protocol();
        Some([Alpn::Http1, Alpn::Http2].into_iter().find(|alpn| name == Some(alpn.name())))
    }

    /// Tells the tester that nothing follows, where there is a way to.
    pub(super) fn say_goodbye(&mut self) {
        let Some(layer) = &mut self.tls else { return };
        layer.connection.send_close_notify();
        // The end of the socket, which follows, says it too.
        let _ = layer.flush(&mut self.socket);
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            Some(layer) => layer.read(&mut self.socket, buffer),
            None => self.socket.read(buffer),
        }
    }
}

impl Write for Wire {
    /// When the kernel does not take all of a record, the same bytes have to be given again.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            Some(layer) => layer.write(&mut self.socket, bytes),
            None => self.socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Layer {
    fn read(&mut self, socket: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                // All that came was read: there may be more in the socket.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Many testers leave without TLS's own goodbye.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            self.connection.read_tls(socket)?;
            let processed = self.connection.process_new_packets();
            // An answer of the handshake, or the alert that says what is wrong.
            self.flush(socket)?;
            processed.map_err(io::Error::other)?;
        }
    }

    fn write(&mut self, socket: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
        if self.taken == 0 {
            let record = &bytes[..bytes.len().min(RECORD_BYTES)];
            self.taken = self.connection.writer().write(record)?;
        }
        self.flush(socket)?;
        Ok(std::mem::take(&mut self.taken))
    }

    fn flush(&mut self, socket: &mut TcpStream) -> io::Result<()> {
        while !self.is_held && self.connection.wants_write() {
            if self.connection.write_tls(socket)? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }
}

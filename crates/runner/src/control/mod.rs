//! The control socket: a Unix socket that takes commands during a run. Each command is a line of
//! JSON, and so is each answer. A thread of its own serves it.
//!
//! Absent on purpose: TCP, and passwords. Only the owner of the file may open it, and so
//! steer the run.

mod command;
mod server;
mod status;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use plimsoll_core::live::LiveFigures;
use rustix::fs::{Mode, fchmod};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen};

use crate::error::RunnerError;
use crate::handle::Handle;

/// What can be seen of a run that goes on, and done to it.
pub(crate) trait Steer: Send + Sync {
    /// How it goes now.
    fn figures(&self) -> LiveFigures;
    /// Ends the run soon.
    fn stop(&self);
    /// Changes the rate, µHz; an error is one line.
    fn set_rate(&self, rate_uhz: u64) -> Result<(), String>;
    /// Changes how many connections there are; an error is one line.
    fn set_connections(&self, count: u32) -> Result<(), String>;
}

impl Steer for Handle {
    fn figures(&self) -> LiveFigures {
        Self::figures(self)
    }

    // A script that is still at its beginning comes to the end of it, and then nothing is loaded.
    fn stop(&self) {
        self.control().stop();
    }

    fn set_rate(&self, rate_uhz: u64) -> Result<(), String> {
        Self::set_rate(self, rate_uhz).map_err(|error| error.to_string())
    }

    fn set_connections(&self, count: u32) -> Result<(), String> {
        Self::set_connections(self, count).map_err(|error| error.to_string())
    }
}

/// The socket of a run; closed and taken away when dropped.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    path: PathBuf,
    /// Device and inode, so that nobody else's file is taken away.
    file: (u64, u64),
    /// Closing it ends the thread.
    alive: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl ControlSocket {
    /// Opens the socket of a run that is about to start.
    ///
    /// # Errors
    /// When something is there already, or the socket cannot be made.
    pub(crate) fn open(path: &Path, handle: &Handle) -> Result<Self, RunnerError> {
        Self::open_for(path, Arc::new(handle.clone()))
    }

    /// Opens the socket of a run that is steered by something else than a [`Handle`].
    ///
    /// # Errors
    /// As above.
    pub(crate) fn open_for(path: &Path, steer: Arc<dyn Steer>) -> Result<Self, RunnerError> {
        Self::start(path, steer)
            .map_err(|error| RunnerError::ControlSocket { path: path.to_owned(), error })
    }

    fn start(path: &Path, steer: Arc<dyn Steer>) -> io::Result<Self> {
        make_room(path)?;
        let listener = listener(path)?;
        let metadata = fs::symlink_metadata(path)?;
        let (alive, ended) = UnixStream::pair()?;
        let thread = thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || server::serve(&listener, &ended, &*steer))?;
        let file = (metadata.dev(), metadata.ino());
        Ok(Self { path: path.to_owned(), file, alive: Some(alive), thread: Some(thread) })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            // Every client has its answer by now.
            let _ = thread.join();
        }
        let is_ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == self.file);
        if is_ours {
            // One that is gone already is no loss.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Takes away the socket of a run that is no more; refuses whatever else is there.
fn make_room(path: &Path) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    let refuse = |text: &str| Err(io::Error::new(io::ErrorKind::AlreadyExists, text.to_owned()));
    if !metadata.file_type().is_socket() {
        return refuse("a file is there, and it is not a socket: give another path");
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        _ => refuse("something listens there already: give another path"),
    }
}

/// A listener that only its owner may connect to, from the first moment on.
fn listener(path: &Path) -> io::Result<UnixListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Linux gives the file the mode of the socket, elsewhere the umask alone decides until below.
    let _ = fchmod(&socket, Mode::RUSR | Mode::WUSR);
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    listen(&socket, server::CLIENTS_LIMIT as i32)?;
    Ok(UnixListener::from(socket))
}

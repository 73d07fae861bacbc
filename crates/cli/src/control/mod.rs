//! `--control SOCKET`: a Unix socket that takes commands during a run. Each command is a line of
//! JSON, and so is each answer. A thread of its own serves it and shares [`status`] with the run,
//! under a lock that is held only to copy some numbers.
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

use plimsoll_core::Plan;
use plimsoll_engine::{Control, Progress};
use rustix::fs::{Mode, fchmod};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen};

use crate::exit::Exit;
use status::Status;

/// What can be done to a run that goes on.
pub(crate) trait Steer: Send + Sync {
    /// Ends the run soon.
    fn stop(&self);
    /// Changes the rate, µHz; an error is one line.
    fn set_rate(&self, rate_uhz: u64) -> Result<(), String>;
    /// Changes how many connections there are; an error is one line.
    fn set_connections(&self, count: u32) -> Result<(), String>;
}

impl Steer for Control {
    fn stop(&self) {
        Self::stop(self);
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
    status: Arc<Status>,
    /// Closing it ends the thread.
    alive: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl ControlSocket {
    /// Opens the socket of a run that is about to start.
    ///
    /// # Errors
    /// When something is there already, or the socket cannot be made.
    pub(crate) fn open(path: &Path, plan: &Plan, control: Arc<Control>) -> Result<Self, Exit> {
        Self::start(path, Arc::new(Status::new(plan)), control).map_err(|error| {
            Exit::CouldNotRun(format!("control socket '{}': {error}", path.display()))
        })
    }

    fn start(path: &Path, status: Arc<Status>, steer: Arc<dyn Steer>) -> io::Result<Self> {
        make_room(path)?;
        let listener = listener(path)?;
        let metadata = fs::symlink_metadata(path)?;
        let (alive, ended) = UnixStream::pair()?;
        let seen = Arc::clone(&status);
        let thread = thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || server::serve(&listener, &ended, &seen, &*steer))?;
        let file = (metadata.dev(), metadata.ino());
        Ok(Self { path: path.to_owned(), file, status, alive: Some(alive), thread: Some(thread) })
    }

    /// Takes news of the run.
    pub(crate) fn show(&self, progress: &Progress<'_>) {
        self.status.note(progress, plimsoll_io::clock::now_ns());
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

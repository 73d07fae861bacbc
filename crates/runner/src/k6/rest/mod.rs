//! k6's REST interface to a run: an HTTP/1.1 server on a thread of its own, with a thread for each
//! client. No worker knows of it: it shows what workers hand over once a second, and asks for what
//! a [`Handle`] can be asked for.
//!
//! It reads requests with our own parser, answers them in turn, and has limits on all of it. Absent
//! on purpose: TLS, and passwords. It listens where it is told to, on loopback unless the address
//! says otherwise.

mod answer;
mod client;
mod desk;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};

use plimsoll_dialect::k6::{ExitCode, Refused};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::handle::Handle;
use super::load::{Test, refused};
use super::news::{Lines, Points};
use desk::Desk;

/// Clients at a time; the connection of one more is closed.
const CLIENTS_MAX: usize = 16;

/// What the clients of an interface have in common.
struct Counter {
    desk: Desk,
    clients: AtomicUsize,
    /// Held for reading while a request is answered, so that the end of the interface can wait.
    answering: RwLock<()>,
}

/// The interface to a run; closed when dropped, after it has answered what it was asked.
pub struct Rest {
    counter: Arc<Counter>,
    address: SocketAddr,
    /// Closing it ends the thread.
    alive: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Rest {
    /// Listens on `host:port`. A host that is empty is loopback, and the run must not have begun.
    ///
    /// # Errors
    /// An address that nothing can listen on, with k6's exit code for it.
    pub fn start(
        address: &str,
        test: &Arc<Test>,
        handle: &Handle,
        lines: &Lines,
        points: Option<Points>,
    ) -> Result<Self, Refused> {
        let full = if address.starts_with(':') {
            format!("localhost{address}")
        } else {
            address.to_owned()
        };
        let wrong = |error: io::Error| {
            let what = format!("the REST interface cannot listen on '{address}': {error}");
            refused(ExitCode::RestAddress, what)
        };
        let listener = TcpListener::bind(&full).map_err(wrong)?;
        handle.watch();
        let desk = Desk::new(test, handle, lines, points);
        let answering = RwLock::new(());
        let counter = Arc::new(Counter { desk, clients: AtomicUsize::new(0), answering });
        let address = listener.local_addr().map_err(wrong)?;
        let (alive, ended) = UnixStream::pair().map_err(wrong)?;
        let serving = Arc::clone(&counter);
        let serve = move || serve(&listener, &ended, &serving);
        let thread = thread::Builder::new().name("rest".to_owned()).spawn(serve).map_err(wrong)?;
        Ok(Self { counter, address, alive: Some(alive), thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            // It does nothing that could panic.
            let _ = thread.join();
        }
        drop(self.counter.answering.write().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Accepts clients until the other end of `ended` is closed.
fn serve(listener: &TcpListener, ended: &UnixStream, counter: &Arc<Counter>) {
    loop {
        let mut both = [PollFd::new(ended, PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
        match poll(&mut both, None) {
            Ok(_) if !both[0].revents().is_empty() => return,
            Ok(_) | Err(Errno::INTR) => {}
            // The interface ends here, and the run goes on.
            Err(_) => return,
        }
        let Ok((stream, _)) = listener.accept() else { continue };
        if counter.clients.fetch_add(1, Ordering::Relaxed) >= CLIENTS_MAX {
            counter.clients.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let own = Arc::clone(counter);
        let talk = move || {
            let counter: &Counter = &own;
            client::talk(stream, |request| {
                let answering = counter.answering.read().unwrap_or_else(PoisonError::into_inner);
                (counter.desk.answer(request), answering)
            });
            own.clients.fetch_sub(1, Ordering::Relaxed);
        };
        if thread::Builder::new().name("rest client".to_owned()).spawn(talk).is_err() {
            counter.clients.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

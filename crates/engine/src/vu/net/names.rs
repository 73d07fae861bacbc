//! Names to addresses, on a thread of their own: the system's resolver blocks. A worker has one
//! when it first needs it.

use std::fs::File;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use plimsoll_io::Waker;
use plimsoll_io::host::resolve;

use crate::vu::tally::Shortage;

/// A question: which site, and its host and port.
type Question = (u32, String, u16);

/// Which site, and its addresses or why the lookup failed.
type Answer = (u32, Result<Vec<SocketAddr>, Unresolved>);

/// Why a lookup failed.
pub(super) struct Unresolved {
    pub text: String,
    /// The number of the system's error, where this host has no file left to look with.
    pub errno: Option<i32>,
}

/// See the head of this module.
pub(super) struct Names {
    waker: Waker,
    thread: Option<(Sender<Question>, Receiver<Answer>)>,
}

impl Names {
    /// That wake a driver when there is an answer.
    pub(super) fn new(waker: Waker) -> Self {
        Self { waker, thread: None }
    }

    /// Asks for the addresses of a host. The answer comes with [`take`](Self::take).
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn ask(&mut self, site: u32, host: &str, port: u16) -> Result<(), String> {
        let (questions, _) = match &mut self.thread {
            Some(thread) => thread,
            none => none.insert(start(&self.waker)?),
        };
        let question = (site, host.to_owned(), port);
        questions.send(question).map_err(|_| "the resolver's thread has ended".to_owned())
    }

    /// An answer that has come.
    pub(super) fn take(&mut self) -> Option<Answer> {
        self.thread.as_ref()?.1.try_recv().ok()
    }
}

/// The system's number for having no file left, if it has none. The resolver does not say that it
/// could not open its own: its errors are about names.
fn no_file() -> Option<i32> {
    let errno = File::open("/dev/null").err()?.raw_os_error();
    errno.filter(|errno| Shortage::of(Some(*errno)) == Some(Shortage::Files))
}

fn start(waker: &Waker) -> Result<(Sender<Question>, Receiver<Answer>), String> {
    let (questions, asked) = channel::<Question>();
    let (answers, answered) = channel();
    let waker = waker.clone();
    let work = move || {
        for (site, host, port) in asked {
            let found = resolve(&host, port)
                .map_err(|error| Unresolved { text: error.to_string(), errno: no_file() });
            if answers.send((site, found)).is_err() {
                break;
            }
            waker.wake();
        }
    };
    let started = thread::Builder::new().name("names".to_owned()).spawn(work);
    started.map_err(|error| format!("cannot start a thread: {error}"))?;
    Ok((questions, answered))
}

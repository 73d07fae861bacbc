//! Where a server lives while it runs, and which of its processes have left their launcher: a
//! control group of its own if one can be made, and the processes that hold its port.
//!
//! The process that holds the port is the server. A server that puts itself into the background (a
//! double fork, a session of its own) is watched and ended like one that stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use plimsoll_io::host::{CgroupCounter, OwnCgroup};
use rustix::process::Signal;

use crate::process::{self, Held};
use crate::sample::{FindError, ProcessSelector, Root};

/// A control group, removed with what is in it when this goes away, on every path.
#[derive(Debug)]
pub(crate) struct Home(Arc<OwnCgroup>);

/// What the next one is called.
static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Home {
    /// Makes one.
    ///
    /// # Errors
    /// Why the home cannot be made: one line.
    pub(crate) fn make() -> Result<Self, String> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("plimsoll-lab-{}-{number}", std::process::id());
        let group = Arc::new(OwnCgroup::make(&name)?);
        process::hold(Held::Group(Arc::clone(&group)));
        Ok(Self(group))
    }

    pub(crate) fn group(&self) -> &OwnCgroup {
        &self.0
    }

    pub(crate) fn counter(&self) -> &CgroupCounter {
        self.0.counter()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.0.remove();
        process::release(|held| matches!(held, Held::Group(group) if Arc::ptr_eq(group, &self.0)));
    }
}

/// A process that is not our child. It is killed when this goes away, on every path.
#[derive(Debug)]
pub(crate) struct Stranger(Root);

impl Stranger {
    fn new(root: Root) -> Self {
        process::hold(Held::Other(root.clone()));
        Self(root)
    }

    pub(crate) fn root(&self) -> &Root {
        &self.0
    }

    pub(crate) fn is_alive(&self) -> bool {
        Root::of(self.0.pid).as_ref() == Ok(&self.0)
    }

    /// One that has ended gets none, nor does another of its number.
    pub(crate) fn signal(&self, signal: Signal) {
        process::signal_other(&self.0, signal);
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        process::release(|held| matches!(held, Held::Other(root) if *root == self.0));
    }
}

/// Who holds a server's port.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    /// Those that belong to their launcher.
    pub(crate) near: Vec<Root>,
    /// Those that have left it.
    pub(crate) strangers: Vec<Stranger>,
    /// Why nobody was found, where nobody was.
    pub(crate) hidden: Option<String>,
}

impl Holders {
    /// Finds them. `launcher` is the process that was started, `None` once it has ended.
    pub(crate) fn find(port: u16, launcher: Option<u32>) -> Self {
        let roots = match ProcessSelector::Port(port).find() {
            Ok(roots) => roots,
            Err(FindError::Hidden { port, uid }) => {
                let why = format!("port {port} is held by a process of user {uid}, unseen by ours");
                return Self { hidden: Some(why), ..Self::default() };
            }
            Err(_) => {
                let why = format!("nobody here holds port {port}, though it answers");
                return Self { hidden: Some(why), ..Self::default() };
            }
        };
        let is_near = |root: &Root| launcher.is_some_and(|pid| root.descends_from(pid));
        let (near, far): (Vec<Root>, Vec<Root>) = roots.into_iter().partition(is_near);
        Self { near, strangers: far.into_iter().map(Stranger::new).collect(), hidden: None }
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.strangers.iter().any(Stranger::is_alive)
            || self.near.iter().any(|root| Root::of(root.pid).as_ref() == Ok(root))
    }
}

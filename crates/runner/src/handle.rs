//! A hand on a run: what other threads may do to it and see of it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use plimsoll_core::live::LiveFigures;
use plimsoll_core::scenario::Scenarios;
use plimsoll_engine::{Control, ControlError, Progress};
use plimsoll_io::clock;

use crate::live::Live;
use crate::script::Loading;

/// A hand on a run from any thread, also before the run begins. Its clones hold the same run.
#[derive(Clone)]
pub struct Handle {
    control: Arc<Control>,
    loading: Loading,
    live: Arc<Mutex<Live>>,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("live", &self.live).finish_non_exhaustive()
    }
}

impl Handle {
    pub(crate) fn new(scenarios: &Scenarios) -> Self {
        Self {
            control: Arc::default(),
            loading: Loading::default(),
            live: Arc::new(Mutex::new(Live::new(scenarios))),
        }
    }

    /// Ends the run soon, whatever it is doing: waiting for the server, loading it, or running the
    /// beginning or the end of a script. A result is marked as interrupted.
    pub fn stop(&self) {
        self.control.stop();
        self.loading.stop();
    }

    /// Goes on at another rate, µHz, to the end of the run.
    ///
    /// # Errors
    /// Before the load has begun, in a closed loop, and for a rate that no schedule can have.
    pub fn set_rate(&self, rate_uhz: u64) -> Result<(), ControlError> {
        self.control.set_rate(rate_uhz)?;
        self.live().set_rate(rate_uhz);
        Ok(())
    }

    /// Holds another number of connections from now on.
    ///
    /// # Errors
    /// Before the load has begun, and for a number that the run has no room for.
    pub fn set_connections(&self, connections: u32) -> Result<(), ControlError> {
        self.control.set_connections(connections)?;
        self.live().set_connections(connections);
        Ok(())
    }

    /// How the run goes now.
    #[must_use]
    pub fn figures(&self) -> LiveFigures {
        self.live().figures(clock::now_ns())
    }

    /// Takes the engine's news, and gives the figures with them.
    pub(crate) fn note(&self, progress: &Progress<'_>) -> LiveFigures {
        let now_ns = clock::now_ns();
        let mut live = self.live();
        live.note(progress, now_ns);
        live.figures(now_ns)
    }

    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    pub(crate) fn loading(&self) -> &Loading {
        &self.loading
    }

    /// Held to copy some figures only.
    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().expect("no panic under the lock")
    }
}

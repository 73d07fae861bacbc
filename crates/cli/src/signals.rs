//! Ctrl-C and SIGTERM: the first ends the run with a partial report, the second ends the program.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

/// Which signal came first, if one did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caught(Arc<AtomicI32>);

impl Caught {
    /// Calls `stop` at the first signal.
    ///
    /// # Errors
    /// When handlers cannot be set.
    pub(crate) fn watch(stop: impl Fn() + Send + 'static) -> io::Result<Self> {
        let caught = Self::default();
        let again = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again))?;
            flag::register(signal, Arc::clone(&again))?;
        }
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let seen = caught.clone();
        thread::spawn(move || {
            for signal in signals.forever() {
                seen.0.store(signal, Ordering::Relaxed);
                stop();
            }
        });
        Ok(caught)
    }

    /// 130 or 143 after a signal.
    pub(crate) fn code(&self) -> Option<ExitCode> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(ExitCode::from(128 + signal as u8)),
        }
    }
}

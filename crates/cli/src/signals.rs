//! Ctrl-C and SIGTERM: the first ends the run with a partial report, the second ends the program.
//!
//! The handlers are set once for the program; what they stop is whatever is watched last.

use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

type Stop = Box<dyn Fn() + Send>;

/// What the next signal stops; `None` before anything is watched.
static STOP: Mutex<Option<Stop>> = Mutex::new(None);

/// The first signal, or 0.
static SEEN: AtomicI32 = AtomicI32::new(0);

fn stop() -> MutexGuard<'static, Option<Stop>> {
    STOP.lock().expect("no panic under the lock")
}

/// Which signal came first, if one did.
#[derive(Debug, Clone)]
pub(crate) struct Caught(());

impl Caught {
    /// Calls `stop` at the first signal, at once if it came already.
    ///
    /// # Errors
    /// When handlers cannot be set.
    pub(crate) fn watch(stop_this: impl Fn() + Send + 'static) -> io::Result<Self> {
        let is_first = stop().replace(Box::new(stop_this)).is_none();
        if is_first {
            set_handlers()?;
        }
        if SEEN.load(Ordering::SeqCst) != 0
            && let Some(stop) = stop().as_ref()
        {
            stop();
        }
        Ok(Self(()))
    }

    /// 130 or 143 after a signal.
    pub(crate) fn code(&self) -> Option<ExitCode> {
        match SEEN.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(ExitCode::from(128 + signal as u8)),
        }
    }
}

fn set_handlers() -> io::Result<()> {
    let again = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again))?;
        flag::register(signal, Arc::clone(&again))?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::spawn(move || {
        for signal in signals.forever() {
            SEEN.store(signal, Ordering::SeqCst);
            if let Some(stop) = stop().as_ref() {
                stop();
            }
        }
    });
    Ok(())
}

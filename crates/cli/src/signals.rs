//! Ctrl-C, SIGTERM and a terminal that closes. The first signal ends the run with a partial report,
//! the second ends the program. A terminal that closes may send SIGHUP twice, once through the
//! shell and once through the kernel, so SIGHUP never counts as the second. If it is ignored from
//! the start, as under nohup, it stays ignored.
//!
//! The handlers are installed once for the program; they stop whatever was watched last.

use std::fs;
use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

type Stop = Box<dyn Fn() + Send>;

/// What the next signal stops; `None` before anything is watched.
static STOP: Mutex<Option<Stop>> = Mutex::new(None);

/// The first signal, or 0.
static SEEN: AtomicI32 = AtomicI32::new(0);

fn stop() -> MutexGuard<'static, Option<Stop>> {
    STOP.lock().expect("no panic under the lock")
}

/// Whether a signal came.
pub(crate) fn is_seen() -> bool {
    SEEN.load(Ordering::SeqCst) != 0
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
        Self::watch_with(stop_this, None)
    }

    /// The same, but before the second signal ends the program `at_second` is called, if it is
    /// the first that is watched.
    ///
    /// # Errors
    /// When handlers cannot be set.
    pub(crate) fn watch_with(
        stop_this: impl Fn() + Send + 'static,
        at_second: Option<fn()>,
    ) -> io::Result<Self> {
        let is_first = stop().replace(Box::new(stop_this)).is_none();
        if is_first {
            set_handlers(at_second)?;
        }
        if is_seen()
            && let Some(stop) = stop().as_ref()
        {
            stop();
        }
        Ok(Self(()))
    }

    /// 129, 130 or 143 after a signal.
    pub(crate) fn code(&self) -> Option<ExitCode> {
        match SEEN.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(ExitCode::from(128 + signal as u8)),
        }
    }

    /// The same, but nothing after Ctrl-C.
    pub(crate) fn code_but_of_interrupt(&self) -> Option<ExitCode> {
        self.code().filter(|_| SEEN.load(Ordering::SeqCst) != SIGINT)
    }
}

/// Has a write beyond the limit of a file's size (`ulimit -f`) fail, which is told, where a signal
/// would end the program.
pub(crate) fn outlive_limits() {
    // Without the handler, the signal does what it does otherwise.
    let _ = flag::register(Signal::XFSZ.as_raw(), Arc::default());
}

/// Ends the program at once, for what is called at the second signal.
pub(crate) fn leave(code: i32) {
    low_level::exit(code);
}

fn set_handlers(at_second: Option<fn()>) -> io::Result<()> {
    let mut ending = vec![SIGINT, SIGTERM];
    if !is_ignored(SIGHUP) {
        ending.push(SIGHUP);
    }
    if at_second.is_none() {
        let again = Arc::new(AtomicBool::new(false));
        for &signal in &ending {
            if signal != SIGHUP {
                flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again))?;
            }
            flag::register(signal, Arc::clone(&again))?;
        }
    }
    let signals = Signals::new(ending)?;
    let watch = move || watch_for(signals, at_second);
    let started = thread::Builder::new().name("signals".to_owned()).spawn(watch);
    started
        .map(drop)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot start a thread: {error}")))
}

/// Stops what is watched at each signal. Never returns.
fn watch_for(mut signals: Signals, at_second: Option<fn()>) {
    for signal in signals.forever() {
        let order = Ordering::SeqCst;
        let is_first = SEEN.compare_exchange(0, signal, order, order).is_ok();
        if let (false, Some(at_second)) = (is_first || signal == SIGHUP, at_second) {
            at_second();
            low_level::exit(128 + signal);
        }
        if let Some(stop) = stop().as_ref() {
            stop();
        }
    }
}

/// Whether a signal was ignored when the program was started; proc(5), `SigIgn`.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // What cannot be told is left as it is.
    mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
}

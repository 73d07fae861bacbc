//! What a call of the suite is asked to do, and with what.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What is to be done.
#[derive(Debug)]
pub struct SuiteOptions {
    /// This program.
    pub executable: PathBuf,
    /// A directory for what is written meanwhile.
    pub scratch: PathBuf,
    /// Short runs where the truth allows it.
    pub quick: bool,
    /// Whether the machine's clock may be set.
    pub may_step_clock: bool,
    /// How often each experiment is made.
    pub repeats: u32,
    /// Set it to end early, with what there is.
    pub stop: Arc<AtomicBool>,
}

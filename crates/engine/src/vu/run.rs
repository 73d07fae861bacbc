//! A run of virtual users from outside: threads are started, VUs initialised, and the tallies
//! handed back.

use std::sync::Arc;

use plimsoll_script::js::{Failure, FunctionId, Program};

use super::{Cast, Controls, Network, Tally};

/// Why a run cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum VuError {
    /// A VU cannot be initialised: its modules threw an exception.
    #[error("{0}")]
    Script(Failure),
    /// The host, or the options of the network.
    #[error("{0}")]
    Host(String),
    /// A task took longer than it may.
    #[error("it took longer than it may")]
    Timeout,
    /// The run was aborted.
    #[error("the run was aborted")]
    Aborted,
}

/// What a run brings back.
#[derive(Debug)]
pub struct Ended<T> {
    /// The tally of each worker.
    pub tallies: Vec<T>,
    /// When the scenarios started, ns on the driver's clock.
    pub started_ns: u64,
    /// When the last VU was done.
    pub ended_ns: u64,
    /// CPU time of each worker's thread since the scenarios started, ns.
    pub cpu_ns: Vec<u64>,
}

/// A run whose VUs are initialised. Dropped, it ends its threads.
pub struct Prepared<T> {
    _tallies: Vec<T>,
}

/// Starts the threads, and initialises the planned VUs. Tallies tick meanwhile.
///
/// # Errors
/// When a VU cannot be initialised, or the host has too little of something.
pub fn prepare<T: Tally>(
    cast: Cast,
    controls: &Arc<Controls>,
    make_tally: impl Fn(u32) -> T,
) -> Result<Prepared<T>, VuError> {
    let _ = (cast, controls, make_tally);
    Err(VuError::Aborted)
}

impl<T: Tally> Prepared<T> {
    /// Starts the scenarios with the data that `setup` has returned, as JSON, and waits until they
    /// are over.
    ///
    /// # Errors
    /// When a worker cannot go on.
    pub fn run(self, setup_data: Option<Arc<str>>) -> Result<Ended<T>, VuError> {
        let _ = setup_data;
        Err(VuError::Aborted)
    }
}

/// What a throw-away VU is to do.
#[derive(Debug, Clone)]
pub enum Errand {
    /// Calls a function, `setup` or `teardown`, with data that is JSON.
    Call(FunctionId, Option<Arc<str>>),
    /// Calls `handleSummary` with data that is JSON.
    Summarize(FunctionId, Arc<str>),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Returned {
    /// What the function returned, as JSON.
    Value(Option<String>),
    /// Where each output goes, and its content.
    Outputs(Vec<(String, Vec<u8>)>),
}

/// Has a VU that is made for it, with `__VU` as 0, do one thing on this thread, for `limit_ns` at
/// most.
///
/// # Errors
/// An exception, a timeout, or that the run was aborted.
pub fn call<T: Tally>(
    program: &Program,
    errand: Errand,
    network: &Network,
    controls: &Arc<Controls>,
    options_json: &Arc<str>,
    limit_ns: u64,
    tally: &mut T,
) -> Result<Returned, VuError> {
    let _ = (program, errand, network, controls, options_json, limit_ns, tally);
    Err(VuError::Aborted)
}

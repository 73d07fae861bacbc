//! What a worker brings back when its part of the run is over.

use plimsoll_core::details::Details;
use plimsoll_core::iterations::Iterations;
use plimsoll_core::outage::Outage;
use plimsoll_core::recorder::Recorder;
use plimsoll_core::result::Connections;
use plimsoll_core::throughput::Answers;
use plimsoll_core::verdict::Pause;

use crate::observer::CpuUse;

/// What a worker brings back.
pub struct Record {
    /// The measured part.
    pub measured: Recorder,
    /// The warm-up, if the plan has one.
    pub warmup: Option<Box<Recorder>>,
    /// Stretches in which the worker did not run: the first of them.
    pub pauses: Vec<Pause>,
    /// How long all of them were together, ns.
    pub paused_ns: u64,
    /// CPU used in the measured part.
    pub cpu: CpuUse,
    /// Of it, spent spinning, ns.
    pub spun_ns: u64,
    /// CPU used and time spent spinning while requests were started, without the drain.
    pub in_window: (CpuUse, u64),
    /// How long the measured part took, ns, with its drain.
    pub elapsed_ns: u64,
    /// How long requests were started, ns.
    pub window_ns: u64,
    /// When the last response was complete, ns after the start of the measured part.
    pub answered_ns: u64,
    /// When responses came.
    pub answers: Answers,
    /// How far its users were cut off from the server.
    pub outage: Outage,
    /// What became of its connections.
    pub connections: Connections,
    /// Whether it was cut short from outside.
    pub interrupted: bool,
    /// What the plan asked for beside that.
    pub details: Details,
    /// What became of its iterations, where they are counted.
    pub iterations: Option<Box<Iterations>>,
}

//! What happens in a run of virtual users, as it is told to the caller, who counts it.
//!
//! There is a tally for each worker, on the worker's thread: it must not block. Times are ns on the
//! driver's clock unless they say otherwise; `wall_ns` is ns since 1970.

use std::fmt;

use plimsoll_script::js::{self, Failure, Level, Sample, Timings};

/// Where something happens.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// Which scenario, as an index of [`Cast::roles`](super::Cast::roles); `None` outside of
    /// scenarios: in `setup`, `teardown` and while modules are evaluated.
    pub scenario: Option<u32>,
    /// The number of the VU in this process, from 1; 0 outside of scenarios.
    pub vu: u64,
    /// Its iteration: `__ITER`.
    pub iteration: u64,
    /// The number of the group; `None` at the root.
    pub group: Option<u32>,
    /// The number of the VU's own tags; `None` without any. Requests and samples have numbers of
    /// their own, with these among them.
    pub tags: Option<u32>,
    /// When, ns since 1970.
    pub wall_ns: u64,
    /// When, on the driver's clock.
    pub at_ns: u64,
    /// What numbers of tags and groups stand for.
    pub names: &'a js::Worker,
}

impl fmt::Debug for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("scenario", &self.scenario)
            .field("vu", &self.vu)
            .field("iteration", &self.iteration)
            .field("group", &self.group)
            .field("at_ns", &self.at_ns)
            .finish_non_exhaustive()
    }
}

/// A request on the wire that has ended, one way or another: each redirect and each repetition with
/// authentication is a request of its own.
#[derive(Debug, Clone, Copy)]
pub struct RequestEnded<'a> {
    /// Its method.
    pub method: &'a str,
    /// Its URL, credentials masked.
    pub url: &'a str,
    /// Its name; that is the URL where nothing else was given.
    pub name: &'a str,
    /// The status; 0 without a response.
    pub status: u16,
    /// `HTTP/1.1`, `HTTP/2.0`; empty without a response.
    pub proto: &'a str,
    /// The version of TLS, such as `tls1.3`; empty without TLS.
    pub tls_version: &'a str,
    /// The address of the server; empty if there was none.
    pub remote_ip: &'a str,
    /// What went wrong; empty if nothing did.
    pub error: &'a str,
    /// Its number; 0 without.
    pub error_code: u16,
    /// Whether the status is as expected; `None`: not judged.
    pub is_expected: Option<bool>,
    /// The number of the request's tags; `None` without any.
    pub tags: Option<u32>,
    /// When the script asked for it, or for the request that led here.
    pub intended_ns: u64,
    /// When it began: its connection was asked for.
    pub started_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// How long its parts took.
    pub timings: Timings,
}

/// How an iteration has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Completed,
    /// With an exception; it counts as completed.
    Failed,
    /// It was cut off.
    Interrupted,
}

/// An iteration that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IterationEnded {
    /// How.
    pub outcome: Outcome,
    /// When it was due: by the arrival rate, else when its VU was free for it.
    pub due_ns: u64,
    /// When it started.
    pub started_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// Bytes sent on the VU's connections since the iteration before it.
    pub sent_bytes: u64,
    /// Bytes received on them.
    pub received_bytes: u64,
    /// Requests that were under way when it ended. They have ended with it, and are not told.
    pub requests_cut_off: u64,
}

/// Counts what happens on one worker. See the head of this module.
pub trait Tally: Send {
    /// A request on the wire has ended.
    fn request(&mut self, place: &Place<'_>, ended: &RequestEnded<'_>);
    /// The script has recorded a value.
    fn sample(&mut self, place: &Place<'_>, sample: &Sample);
    /// A group was left, of which `place` says the number, after `duration_ns`.
    fn group(&mut self, place: &Place<'_>, duration_ns: u64);
    /// An iteration has ended.
    fn iteration(&mut self, place: &Place<'_>, ended: &IterationEnded);
    /// Bytes of a task that is not an iteration: `setup`, `teardown`.
    fn data(&mut self, place: &Place<'_>, sent_bytes: u64, received_bytes: u64);
    /// Iterations that were to start and did not. `vu` of the place is 0 unless they were a VU's.
    fn dropped(&mut self, place: &Place<'_>, count: u64);
    /// The script has logged a line.
    fn log(&mut self, place: &Place<'_>, level: Level, line: &str);
    /// The API, or what carries the script out, tells of something.
    fn note(&mut self, place: &Place<'_>, level: Level, line: &str);
    /// An iteration has failed with an exception.
    fn failure(&mut self, place: &Place<'_>, failure: &Failure);
    /// A second has passed, or the run is over: VUs in their loops, those of arrival rates only
    /// within iterations, and VUs that are initialised. Every worker says the same numbers. They
    /// are `None` once all scenarios are over.
    fn tick(&mut self, place: &Place<'_>, vus: Option<[u64; 2]>);
}

impl<T: Tally> Tally for &mut T {
    fn request(&mut self, place: &Place<'_>, ended: &RequestEnded<'_>) {
        (**self).request(place, ended);
    }

    fn sample(&mut self, place: &Place<'_>, sample: &Sample) {
        (**self).sample(place, sample);
    }

    fn group(&mut self, place: &Place<'_>, duration_ns: u64) {
        (**self).group(place, duration_ns);
    }

    fn iteration(&mut self, place: &Place<'_>, ended: &IterationEnded) {
        (**self).iteration(place, ended);
    }

    fn data(&mut self, place: &Place<'_>, sent_bytes: u64, received_bytes: u64) {
        (**self).data(place, sent_bytes, received_bytes);
    }

    fn dropped(&mut self, place: &Place<'_>, count: u64) {
        (**self).dropped(place, count);
    }

    fn log(&mut self, place: &Place<'_>, level: Level, line: &str) {
        (**self).log(place, level, line);
    }

    fn note(&mut self, place: &Place<'_>, level: Level, line: &str) {
        (**self).note(place, level, line);
    }

    fn failure(&mut self, place: &Place<'_>, failure: &Failure) {
        (**self).failure(place, failure);
    }

    fn tick(&mut self, place: &Place<'_>, vus: Option<[u64; 2]>) {
        (**self).tick(place, vus);
    }
}

//! Details that only some views show: for the output of other testers the rates of each worker over
//! time, the first response and the times of each request; for users transcripts. A run keeps them
//! only if its plan asks for them.
//!
//! They are not part of the result document, because nothing here is needed to believe or compare a
//! result.

mod buckets;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::transcript::Transcripts;

pub use buckets::Buckets;

/// How long the stretches are over which each worker's rate is taken, ns (as wrk does).
pub const RATE_WINDOW_NS: u64 = 100_000_000;

/// Which of them a plan wants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailsPlan {
    /// The rates of each worker.
    pub worker_rates: bool,
    /// The first response, and how many bodies and kept connections there were.
    pub responses: bool,
    /// A response whose body is not as long as the first one's has failed (as ab has it).
    pub same_length: bool,
    /// The times of each request. Takes 48 bytes of memory for each.
    pub requests: bool,
    /// Times and sizes of calls in sum, and what was opened for them (as fortio reports).
    #[serde(default)]
    pub calls: Option<CallsPlan>,
    /// What the first request and the first that fails look like, with their responses.
    #[serde(default)]
    pub transcripts: bool,
}

/// The buckets in which calls are counted, by the greatest values of all but the last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallsPlan {
    /// For times of calls, ns.
    pub time_ends_ns: Vec<i64>,
    /// For times of connects, ns.
    pub connect_ends_ns: Vec<i64>,
    /// For how long connections idled before their next call, ns; less than 0: it had been due.
    pub idle_ends_ns: Vec<i64>,
    /// For sizes of heads, bytes.
    pub head_ends: Vec<i64>,
    /// For sizes of responses and of bodies, bytes.
    pub size_ends: Vec<i64>,
    /// Whether each call is kept, up to [`CALLS_KEPT_MAX`]. Takes 32 bytes of memory for each.
    pub keeps_calls: bool,
}

/// The most calls that a worker keeps one by one.
pub const CALLS_KEPT_MAX: usize = 10_000_000;

impl DetailsPlan {
    /// Whether it wants anything but transcripts.
    #[must_use]
    pub fn any_notes(&self) -> bool {
        *self != Self { transcripts: self.transcripts, ..Self::default() }
    }
}

/// The details of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Details {
    /// Responses per second, of each worker in each [`RATE_WINDOW_NS`]. Its values are rates, not
    /// times.
    pub worker_rates: Histogram,
    /// The response that was complete first.
    pub first: Option<FirstResponse>,
    /// Bytes of bodies received, of complete responses.
    pub body_bytes: u64,
    /// Complete responses after which their connection was open for another request.
    pub kept_alive: u64,
    /// Each request that was answered, in the order in which answers were complete.
    pub requests: Vec<RequestTimes>,
    /// Calls in sum, if the plan asks for them.
    pub calls: Option<Box<Calls>>,
    /// What the first request and the first that failed looked like, if the plan asks for that.
    pub transcripts: Transcripts,
}

/// Calls in sum. A call is a request that was sent, with the connect where it had one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calls {
    /// From when the tester acted on them to their ends, ns.
    pub taken: Buckets,
    /// The same of those without a response, or with one that was not as expected.
    pub failed: Buckets,
    /// Bytes of the heads of responses; 0 without one.
    pub head_bytes: Buckets,
    /// Bytes of bodies; 0 without a whole response.
    pub body_bytes: Buckets,
    /// Bytes of heads and bodies; 0 without a whole response.
    pub response_bytes: Buckets,
    /// How long connections idled before their next call was due, in an open loop, ns; less than 0:
    /// it had been due before.
    pub idle: Buckets,
    /// How many calls had been due when their connections became free, in an open loop.
    pub behind: u64,
    /// How long connects took, those before the start included, ns.
    pub connects: Buckets,
    /// The same by connection of the run, and by address among [`addresses`](Self::addresses).
    pub opens: BTreeMap<(u32, u16), Tally>,
    /// Where connections went.
    pub addresses: Vec<String>,
    /// Each call in the order of their ends, if the plan asks for that.
    pub kept: Vec<Call>,
    /// How many were not kept, because there were too many.
    pub unkept: u64,
}

/// A call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Call {
    /// When the tester acted on it, ns after the start of the measured part.
    pub start_ns: u64,
    /// From there to its end, ns.
    pub taken_ns: u64,
    /// The connection of the run that carried it.
    pub connection: u32,
    /// Which call of that connection it was, from 0.
    pub number: u32,
    /// The status of the response; 0 without a whole one, and where the protocol has none.
    pub status: u16,
    /// Whether a whole response came.
    pub is_answered: bool,
    /// Whether the response was as expected.
    pub is_ok: bool,
}

/// Times in sum, without a histogram.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    /// How many there are.
    pub count: u64,
    /// The least, ns; 0 without any.
    pub min_ns: u64,
    /// The greatest, ns.
    pub max_ns: u64,
    /// All of them, ns.
    pub sum_ns: u64,
    /// The squares of all of them, ns².
    pub sum_of_squares: f64,
}

impl Tally {
    /// Adds a time.
    pub fn record(&mut self, time_ns: u64) {
        self.min_ns = if self.count == 0 { time_ns } else { self.min_ns.min(time_ns) };
        self.max_ns = self.max_ns.max(time_ns);
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(time_ns);
        self.sum_of_squares += time_ns as f64 * time_ns as f64;
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let is_first = self.count == 0;
        self.min_ns = if is_first { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.sum_of_squares += other.sum_of_squares;
    }
}

impl Calls {
    /// None yet, in the buckets of a plan.
    #[must_use]
    pub fn new(plan: &CallsPlan) -> Self {
        Self {
            taken: Buckets::new(&plan.time_ends_ns),
            failed: Buckets::new(&plan.time_ends_ns),
            head_bytes: Buckets::new(&plan.head_ends),
            body_bytes: Buckets::new(&plan.size_ends),
            response_bytes: Buckets::new(&plan.size_ends),
            idle: Buckets::new(&plan.idle_ends_ns),
            connects: Buckets::new(&plan.connect_ends_ns),
            ..Self::default()
        }
    }

    /// Adds those of another worker, which has other connections and the same addresses.
    pub fn merge(&mut self, other: &Self) {
        self.taken.merge(&other.taken);
        self.failed.merge(&other.failed);
        self.head_bytes.merge(&other.head_bytes);
        self.body_bytes.merge(&other.body_bytes);
        self.response_bytes.merge(&other.response_bytes);
        self.idle.merge(&other.idle);
        self.behind += other.behind;
        self.connects.merge(&other.connects);
        self.kept.extend_from_slice(&other.kept);
        self.kept.sort_by_key(|call| call.start_ns + call.taken_ns);
        self.unkept += other.unkept;
        self.opens.extend(other.opens.iter().map(|(place, tally)| (*place, *tally)));
        if self.addresses.len() < other.addresses.len() {
            self.addresses.clone_from(&other.addresses);
        }
    }
}

/// What the first response was like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FirstResponse {
    /// When it was complete, ns after the start of the measured part.
    pub at_ns: u64,
    /// Its status.
    pub status: u16,
    /// Its `Server` field, at most 200 bytes of it; empty without one.
    pub server: String,
    /// Bytes of its body.
    pub body_bytes: u64,
}

/// The times of one request, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestTimes {
    /// When it was begun, after the start of the measured part: the connect if it had one, else the
    /// sending.
    pub start_ns: u64,
    /// From there to when the connection was open; 0 on one that was.
    pub connect_ns: u64,
    /// From when all of it was sent to the first byte of the response.
    pub waiting_ns: u64,
    /// From the start to the end of the response.
    pub total_ns: u64,
}

impl Details {
    /// Adds another worker's.
    pub fn merge(&mut self, other: &Self) {
        self.worker_rates.merge(&other.worker_rates);
        if let Some(theirs) = &other.first
            && self.first.as_ref().is_none_or(|first| theirs.at_ns < first.at_ns)
        {
            self.first = Some(theirs.clone());
        }
        self.body_bytes += other.body_bytes;
        self.kept_alive += other.kept_alive;
        self.requests.extend_from_slice(&other.requests);
        self.requests.sort_by_key(|request| request.start_ns + request.total_ns);
        match (&mut self.calls, &other.calls) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, theirs) => mine.clone_from(theirs),
            (Some(_), None) => {}
        }
        self.transcripts.merge(&other.transcripts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_the_first_response_and_the_order_of_requests() {
        let of = |at_ns: u64, total_ns: u64| Details {
            first: Some(FirstResponse { at_ns, ..FirstResponse::default() }),
            body_bytes: 3,
            kept_alive: 1,
            requests: vec![RequestTimes { total_ns, ..RequestTimes::default() }],
            ..Details::default()
        };
        let mut sum = of(9, 30);
        sum.merge(&of(5, 20));
        sum.merge(&Details::default());
        assert_eq!(sum.first.unwrap().at_ns, 5);
        assert_eq!((sum.body_bytes, sum.kept_alive), (6, 2));
        assert_eq!(sum.requests.iter().map(|r| r.total_ns).collect::<Vec<_>>(), [20, 30]);
    }

    #[test]
    fn calls_of_workers_add_up() {
        let of = |connection: u32, times_ns: &[u64]| {
            let plan = CallsPlan { connect_ends_ns: vec![4], ..CallsPlan::default() };
            let mut calls = Calls { addresses: vec!["a:1".to_owned()], ..Calls::new(&plan) };
            for time_ns in times_ns {
                calls.connects.record(*time_ns as i64);
                calls.opens.entry((connection, 0)).or_default().record(*time_ns);
            }
            Details { calls: Some(Box::new(calls)), ..Details::default() }
        };
        let mut sum = Details::default();
        sum.merge(&of(1, &[3, 5]));
        sum.merge(&of(0, &[4]));
        let calls = sum.calls.expect("two workers' calls");
        assert_eq!((calls.connects.count(), calls.addresses.len()), (3, 1));
        let tally = Tally { count: 2, min_ns: 3, max_ns: 5, sum_ns: 8, sum_of_squares: 34.0 };
        assert_eq!(calls.opens[&(1, 0)], tally);
        assert_eq!(calls.opens.keys().copied().collect::<Vec<_>>(), [(0, 0), (1, 0)]);
    }
}

//! Details that only the output of other testers shows: the rates of each worker over time, the
//! first response, the times of each request. A run keeps them only if its plan asks for them.
//!
//! They are not part of the result document, because nothing here is needed to believe or compare a
//! result.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// How long the stretches are over which each worker's rate is taken, ns (as wrk does).
pub const RATE_WINDOW_NS: u64 = 100_000_000;

/// Which of them a plan wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailsPlan {
    /// The rates of each worker.
    pub worker_rates: bool,
    /// The first response, and how many bodies and kept connections there were.
    pub responses: bool,
    /// A response whose body is not as long as the first one's has failed (as ab has it).
    pub same_length: bool,
    /// The times of each request. Takes 48 bytes of memory for each.
    pub requests: bool,
}

impl DetailsPlan {
    /// Whether it wants anything.
    #[must_use]
    pub fn any(self) -> bool {
        self != Self::default()
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
}

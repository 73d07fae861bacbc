//! What the workers of a closed loop share: how many requests are left, the numbers of requests,
//! and how many of them a connection can still serve.
//!
//! A fast worker takes requests in blocks, so that it seldom touches the shared counters. A slow
//! one takes them singly, and towards the end all workers do: the last requests go to whichever
//! worker is free.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use plimsoll_core::Plan;

/// The most that a worker takes at once.
const BLOCK_MAX: u64 = 16;

/// A worker that began all of a block in less time than this takes a larger one next.
const BLOCK_NS: u64 = 1_000_000;

/// A block leaves this number of requests to each connection.
const LEFT_PER_CONNECTION: u64 = 8;

/// The requests of a closed loop that no worker has taken yet.
#[derive(Debug)]
pub(crate) struct Tickets {
    /// The number of the next request.
    number: AtomicU64,
    /// Measured requests; `u64::MAX` without a limit.
    left: AtomicU64,
    /// Measured requests that there is no connection for; negative when the connections could serve
    /// more than there are.
    uncovered: AtomicI64,
    /// How many requests a connection serves, where that bounds how many are opened.
    room: Option<u64>,
    connections: u64,
}

impl Tickets {
    pub(crate) fn of(plan: &Plan) -> Self {
        let requests = plan.requests.unwrap_or(u64::MAX);
        let is_bound = !plan.is_open_loop() && !plan.connects_per_request();
        Self {
            number: AtomicU64::new(0),
            left: AtomicU64::new(requests),
            uncovered: AtomicI64::new(signed(requests)),
            room: plan.requests.and(plan.requests_per_connection).filter(|_| is_bound),
            connections: plan.connections_limit().into(),
        }
    }

    /// Takes measured requests, `wanted` at most; 0 when none are left.
    fn take(&self, wanted: u64) -> u64 {
        let mut taken = 0;
        let _ = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            taken = self.block(wanted, left);
            (taken > 0).then(|| if left == u64::MAX { left } else { left - taken })
        });
        taken
    }

    /// How many to take of what is left. Where connections are bounded a request is taken by the
    /// connection that sends it: another worker may have the last one.
    fn block(&self, wanted: u64, left: u64) -> u64 {
        let most = if self.room.is_some() { 1 } else { wanted };
        (left / (LEFT_PER_CONNECTION * self.connections)).clamp(1, most).min(left)
    }

    fn numbers(&self, count: u64) -> Range<u64> {
        let first = self.number.fetch_add(count, Ordering::Relaxed);
        first..first + count
    }

    /// Whether requests are left that no connection could serve which is open or being opened.
    pub(crate) fn need_connection(&self) -> bool {
        self.room.is_none() || self.uncovered.load(Ordering::Relaxed) > 0
    }

    /// A connection is being opened; gives how many requests it will serve.
    pub(crate) fn cover(&self) -> u64 {
        let room = self.room.unwrap_or(0);
        self.uncovered.fetch_sub(signed(room), Ordering::Relaxed);
        room
    }

    /// A connection was closed that could have served `room` more requests.
    pub(crate) fn uncover(&self, room: u64) {
        self.uncovered.fetch_add(signed(room), Ordering::Relaxed);
    }
}

fn signed(requests: u64) -> i64 {
    i64::try_from(requests).unwrap_or(i64::MAX)
}

/// One worker's requests of a closed loop.
#[derive(Debug)]
pub(crate) struct Closed {
    tickets: Arc<Tickets>,
    /// Measured requests that were taken and not begun.
    taken: u64,
    /// Numbers that were taken and not used.
    numbers: Range<u64>,
    /// How many requests were wanted the last time, and when.
    block: u64,
    block_ns: u64,
}

impl Closed {
    pub(crate) fn new(tickets: Arc<Tickets>) -> Self {
        Self { tickets, taken: 0, numbers: 0..0, block: 1, block_ns: 0 }
    }

    /// The number of the next request; `None` after the last measured one.
    #[inline]
    pub(crate) fn take(&mut self, measured: bool, now_ns: u64) -> Option<u64> {
        if measured && self.taken == 0 {
            let wanted = self.next_block(now_ns);
            self.taken = self.tickets.take(wanted);
            if self.taken == 0 {
                return None;
            }
        }
        if self.numbers.is_empty() {
            // With as many numbers as requests, those of the run have no gap.
            let count = if measured { self.taken } else { self.next_block(now_ns) };
            self.numbers = self.tickets.numbers(count);
        }
        self.taken -= u64::from(measured);
        self.numbers.next()
    }

    fn next_block(&mut self, now_ns: u64) -> u64 {
        let since_ns = now_ns.saturating_sub(std::mem::replace(&mut self.block_ns, now_ns));
        self.block = if since_ns < BLOCK_NS { (2 * self.block).min(BLOCK_MAX) } else { 1 };
        self.block
    }

    /// Whether the measured requests are all begun, or another worker's to begin.
    pub(crate) fn is_over(&self) -> bool {
        self.taken == 0 && self.tickets.left.load(Ordering::Relaxed) == 0
    }
}

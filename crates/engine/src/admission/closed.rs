//! What the workers of a closed loop share: how many requests are left, the numbers of requests,
//! and how many of them a connection can still serve.
//!
//! A fast worker takes requests in blocks, so that it seldom touches the shared counters. A slow
//! one takes them singly, and towards the end all workers do: the last requests go to whichever
//! worker is free. A worker whose connections can take no more gives the rest of its block back, so
//! that no request waits for a server that another worker does not need.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use plimsoll_core::Plan;

use super::returned::{RETURNED_MAX, Returned};

/// The most that a worker takes at once.
const BLOCK_MAX: u64 = 16;

/// A worker that began all of a block in less time than this takes a larger one next.
const BLOCK_NS: u64 = 1_000_000;

/// A worker gives back what it has not begun of a block after this time.
const HOLD_NS: u64 = 2 * BLOCK_NS;

/// A block leaves this number of requests to each connection.
const LEFT_PER_CONNECTION: u64 = 8;

/// The requests of a closed loop that no worker has taken yet.
#[derive(Debug)]
pub(crate) struct Tickets {
    /// The number of the next request.
    number: AtomicU64,
    /// Measured requests; `u64::MAX` without a limit.
    left: AtomicU64,
    /// Measured requests in blocks that workers have not begun all of.
    held: AtomicU64,
    /// Measured requests that workers gave back.
    returned: Returned,
    /// Whether there is a limit: without one nothing is worth giving back.
    is_counted: bool,
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
        let per_connection = plan.requests_per_connection_min.or(plan.requests_per_connection);
        Self {
            number: AtomicU64::new(0),
            left: AtomicU64::new(requests),
            held: AtomicU64::new(0),
            returned: Returned::new(plan.workers),
            is_counted: plan.requests.is_some(),
            uncovered: AtomicI64::new(signed(requests)),
            room: plan.requests.and(per_connection).filter(|_| is_bound),
            connections: plan.connections_limit().into(),
        }
    }

    /// Takes measured requests, `wanted` at most; 0 when none are left.
    fn take(&self, wanted: u64) -> u64 {
        let mut taken = 0;
        let _ = self.left.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |left| {
            taken = self.block(wanted, left);
            (taken > 0).then(|| if left == u64::MAX { left } else { left - taken })
        });
        taken
    }

    /// Takes a block, or a single request, and counts a block as held before it is gone from what
    /// is left: no worker sees neither.
    fn take_block(&self, wanted: u64) -> u64 {
        if wanted == 1 || !self.is_counted {
            return self.take(wanted);
        }
        self.held.fetch_add(wanted, Ordering::AcqRel);
        let taken = self.take(wanted);
        let is_block = taken > 1;
        self.let_go(if is_block { wanted - taken } else { wanted });
        taken
    }

    /// As many requests of blocks are begun, or were given back.
    fn let_go(&self, held: u64) {
        if held > 0 {
            self.held.fetch_sub(held, Ordering::AcqRel);
        }
    }

    /// Whether all measured requests are begun, or will be by the worker that took them.
    fn are_gone(&self) -> bool {
        // A block moves from what is left to what is held, and back or to what was returned. It is
        // seen in one of them in this order.
        self.left.load(Ordering::Acquire) == 0
            && self.held.load(Ordering::Acquire) == 0
            && self.left.load(Ordering::Acquire) == 0
            && self.returned.is_empty()
    }

    /// How many to take of what is left. Where connections are bounded a request is taken by the
    /// connection that sends it: another worker may have the last one.
    fn block(&self, wanted: u64, left: u64) -> u64 {
        let most = if self.room.is_some() { 1 } else { wanted };
        (left / (LEFT_PER_CONNECTION * self.connections)).clamp(1, most).min(left)
    }

    /// Counts requests that were taken as left again.
    fn put_back(&self, requests: u64) {
        let _ = self.left.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |left| {
            (requests > 0).then(|| left + requests)
        });
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

const _: () = assert!(BLOCK_MAX <= RETURNED_MAX, "a block that is given back has a place");

/// One worker's requests of a closed loop.
#[derive(Debug)]
pub(crate) struct Closed {
    tickets: Arc<Tickets>,
    /// Measured requests that were taken and not begun.
    taken: u64,
    /// How many of a block count as held.
    held: u64,
    /// How long the rest of a block is kept, ns on the driver's clock.
    until_ns: u64,
    /// Numbers that were taken and not used.
    numbers: Range<u64>,
    /// How many requests were wanted the last time, and when.
    block: u64,
    block_ns: u64,
}

impl Closed {
    pub(crate) fn new(tickets: Arc<Tickets>) -> Self {
        Self { tickets, taken: 0, held: 0, until_ns: 0, numbers: 0..0, block: 1, block_ns: 0 }
    }

    /// The number of the next request; `None` after the last measured one.
    #[inline]
    pub(crate) fn take(&mut self, measured: bool, now_ns: u64) -> Option<u64> {
        if measured && self.taken == 0 {
            if self.tickets.is_counted
                && let Some(number) = self.tickets.returned.take()
            {
                return Some(number);
            }
            let wanted = self.next_block(now_ns);
            self.taken = self.tickets.take_block(wanted);
            self.held = if self.taken > 1 && self.tickets.is_counted { self.taken } else { 0 };
            self.until_ns = now_ns + HOLD_NS;
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
        if self.taken == 0 {
            self.tickets.let_go(std::mem::take(&mut self.held));
        }
        self.numbers.next()
    }

    fn next_block(&mut self, now_ns: u64) -> u64 {
        let since_ns = now_ns.saturating_sub(std::mem::replace(&mut self.block_ns, now_ns));
        self.block = if since_ns < BLOCK_NS { (2 * self.block).min(BLOCK_MAX) } else { 1 };
        self.block
    }

    /// Until when the rest of a block is kept; `u64::MAX` without one.
    #[inline]
    pub(crate) fn keep_until_ns(&self) -> u64 {
        if self.held > 0 { self.until_ns } else { u64::MAX }
    }

    /// Gives back what was taken and not begun.
    #[cold]
    pub(crate) fn give_back(&mut self) {
        if self.held == 0 {
            return;
        }
        // After a warm-up some have no number yet: they are as good as never taken.
        let numbered = (self.numbers.end - self.numbers.start).min(self.taken);
        let end = self.numbers.start + numbered;
        let is_put = numbered > 0 && self.tickets.returned.put(&(self.numbers.start..end));
        let returned = if is_put { numbered } else { 0 };
        self.numbers.start += returned;
        self.tickets.put_back(self.taken - returned);
        self.taken = 0;
        self.tickets.let_go(std::mem::take(&mut self.held));
    }

    /// Whether requests that another worker took may come back, and there are no others.
    pub(crate) fn awaits_others(&self) -> bool {
        self.taken == 0
            && self.tickets.left.load(Ordering::Acquire) == 0
            && !self.tickets.are_gone()
    }

    /// Whether requests have come back.
    pub(crate) fn has_returned(&self) -> bool {
        !self.tickets.returned.is_empty()
    }

    /// Whether the measured requests are all begun, or about to be.
    pub(crate) fn is_over(&self) -> bool {
        self.taken == 0 && self.tickets.are_gone()
    }
}

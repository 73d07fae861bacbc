//! Servers in virtual time: when each request ends follows from when it arrives and what came
//! before it. All serve in the order of arrival.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A server in virtual time, in seconds.
pub(super) trait Server {
    /// When a request that arrives at `at_s` ends, and whether it is as expected. Arrivals rise.
    fn serve(&mut self, at_s: f64, random: &mut Xoshiro256PlusPlus) -> (f64, bool);

    /// When it has nothing left to do.
    fn idle_s(&self) -> f64;
}

/// A value from 0 to 1, 1 left out.
pub(super) fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// An exponentially distributed time with this mean.
pub(super) fn exponential(mean: f64, random: &mut Xoshiro256PlusPlus) -> f64 {
    -mean * (1.0 - unit(random)).ln()
}

/// How long a request takes to be served.
#[derive(Debug, Clone, Copy)]
pub(super) enum Service {
    Fixed(f64),
    Exponential(f64),
}

impl Service {
    fn draw(self, random: &mut Xoshiro256PlusPlus) -> f64 {
        match self {
            Self::Fixed(time) => time,
            Self::Exponential(mean) => exponential(mean, random),
        }
    }
}

/// Workers that share one queue.
pub(super) struct Queue {
    service: Service,
    /// When each worker is free, in a form whose order is that of the times.
    free: BinaryHeap<Reverse<u64>>,
    idle_s: f64,
}

impl Queue {
    pub(super) fn new(service: Service, workers: usize) -> Self {
        let free = vec![Reverse(0); workers].into();
        Self { service, free, idle_s: 0.0 }
    }
}

impl Server for Queue {
    fn serve(&mut self, at_s: f64, random: &mut Xoshiro256PlusPlus) -> (f64, bool) {
        // The order of positive floats is that of their bits.
        let Reverse(free) = self.free.pop().unwrap();
        let end_s = at_s.max(f64::from_bits(free)) + self.service.draw(random);
        self.free.push(Reverse(end_s.to_bits()));
        self.idle_s = self.idle_s.max(end_s);
        (end_s, true)
    }

    fn idle_s(&self) -> f64 {
        self.idle_s
    }
}

/// A single worker with times in which it stands still, and a speed that changes over time.
pub(super) struct Worker<S> {
    service: Service,
    free_s: f64,
    stalls: S,
}

/// When a worker stands still, and how much slower it is.
pub(super) trait Stalls {
    /// Notes an arrival; only servers that react to their load need it.
    fn arrived(&mut self, _at_s: f64) {}

    /// Until when a worker stands still that would work at `at_s`; that same time if it does not.
    fn until(&mut self, at_s: f64, random: &mut Xoshiro256PlusPlus) -> f64;

    /// How many times as long as usual a request takes that it starts at `at_s`.
    fn slowness(&self, _at_s: f64) -> f64 {
        1.0
    }
}

impl<S: Stalls> Worker<S> {
    pub(super) fn new(service: Service, stalls: S) -> Self {
        Self { service, free_s: 0.0, stalls }
    }
}

impl<S: Stalls> Server for Worker<S> {
    fn serve(&mut self, at_s: f64, random: &mut Xoshiro256PlusPlus) -> (f64, bool) {
        self.stalls.arrived(at_s);
        let start_s = self.stalls.until(at_s.max(self.free_s), random);
        let service_s = self.service.draw(random) * self.stalls.slowness(start_s);
        self.free_s = start_s + service_s;
        (self.free_s, true)
    }

    fn idle_s(&self) -> f64 {
        self.free_s
    }
}

/// Stalls of one length that come at any time.
pub(super) struct Random {
    every_s: f64,
    long_s: f64,
    next_s: f64,
}

impl Random {
    pub(super) fn new(every_s: f64, long_s: f64, random: &mut Xoshiro256PlusPlus) -> Self {
        Self { every_s, long_s, next_s: exponential(every_s, random) }
    }
}

impl Stalls for Random {
    fn until(&mut self, at_s: f64, random: &mut Xoshiro256PlusPlus) -> f64 {
        let mut at_s = at_s;
        while self.next_s <= at_s {
            at_s = at_s.max(self.next_s + self.long_s);
            self.next_s += self.long_s + exponential(self.every_s, random);
        }
        at_s
    }
}

/// Stands still for the first second of every ten if more than `above` requests came in the second
/// before; once that happened until fewer than `until_below` a second came for five seconds.
pub(super) struct AboveRate {
    above: usize,
    until_below: usize,
    /// Arrivals of the last second.
    last: VecDeque<f64>,
    /// Until when it stands still in the current period.
    until_s: f64,
    period: u64,
    is_latched: bool,
    /// When the rate last was not below `until_below`.
    busy_s: f64,
}

impl AboveRate {
    pub(super) fn new(above: usize, until_below: usize) -> Self {
        let last = VecDeque::new();
        let (until_s, period, is_latched, busy_s) = (0.0, 0, false, 0.0);
        Self { above, until_below, last, until_s, period, is_latched, busy_s }
    }
}

impl Stalls for AboveRate {
    fn arrived(&mut self, at_s: f64) {
        self.last.push_back(at_s);
        while self.last.front().is_some_and(|first| *first < at_s - 1.0) {
            self.last.pop_front();
        }
        let rate = self.last.len();
        if rate >= self.until_below {
            self.busy_s = at_s;
        } else if at_s - self.busy_s >= 5.0 {
            self.is_latched = false;
        }
        let period = (at_s / 10.0) as u64;
        if period > self.period {
            self.period = period;
            if rate > self.above || self.is_latched {
                self.is_latched = self.until_below > 0;
                self.until_s = period as f64 * 10.0 + 1.0;
            }
        }
    }

    fn until(&mut self, at_s: f64, _: &mut Xoshiro256PlusPlus) -> f64 {
        at_s.max(self.until_s)
    }
}

/// Never stands still, but its speed falls or rises between two times.
pub(super) struct Drift {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
    /// Its slowness before and after.
    pub(super) slowness: [f64; 2],
}

impl Stalls for Drift {
    fn until(&mut self, at_s: f64, _: &mut Xoshiro256PlusPlus) -> f64 {
        at_s
    }

    fn slowness(&self, at_s: f64) -> f64 {
        let share = ((at_s - self.from_s) / (self.to_s - self.from_s)).clamp(0.0, 1.0);
        self.slowness[0] + share * (self.slowness[1] - self.slowness[0])
    }
}

/// Answers after a fixed time, whatever the load.
pub(super) struct Delay(pub(super) f64);

impl Server for Delay {
    fn serve(&mut self, at_s: f64, _: &mut Xoshiro256PlusPlus) -> (f64, bool) {
        (at_s + self.0, true)
    }

    fn idle_s(&self) -> f64 {
        0.0
    }
}

/// Answers at once, with an error when its bucket of tokens is empty.
pub(super) struct Limiter {
    rate_rps: f64,
    burst: f64,
    tokens: f64,
    at_s: f64,
}

impl Limiter {
    pub(super) fn new(rate_rps: f64, burst: f64) -> Self {
        Self { rate_rps, burst, tokens: burst, at_s: 0.0 }
    }
}

impl Server for Limiter {
    fn serve(&mut self, at_s: f64, _: &mut Xoshiro256PlusPlus) -> (f64, bool) {
        let filled = self.tokens + (at_s - self.at_s) * self.rate_rps;
        self.at_s = at_s;
        self.tokens = filled.min(self.burst);
        let is_ok = self.tokens >= 1.0;
        self.tokens -= f64::from(u8::from(is_ok));
        (at_s + 0.001, is_ok)
    }

    fn idle_s(&self) -> f64 {
        0.0
    }
}

/// Waits for more requests at low rates, to serve them together.
pub(super) struct Batching {
    last: VecDeque<f64>,
    below: usize,
}

impl Batching {
    pub(super) fn new(below: usize) -> Self {
        Self { last: VecDeque::new(), below }
    }
}

impl Server for Batching {
    fn serve(&mut self, at_s: f64, _: &mut Xoshiro256PlusPlus) -> (f64, bool) {
        self.last.push_back(at_s);
        while self.last.front().is_some_and(|first| *first < at_s - 1.0) {
            self.last.pop_front();
        }
        let takes_s = if self.last.len() < self.below { 0.015 } else { 0.001 };
        (at_s + takes_s, true)
    }

    fn idle_s(&self) -> f64 {
        0.0
    }
}

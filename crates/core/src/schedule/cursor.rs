//! A worker's way through a schedule: its next slot, and what is behind, left or skipped.
//!
//! A cursor computes each slot from its number. So it can skip any number of evenly spaced slots at
//! once, and all workers agree where one schedule ends and another begins.

use std::sync::Arc;

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Arrival, Deal, Profile, REQUEST, Segment, area_at, segments};

/// A slot of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Its number in the whole run, from 0.
    pub index: u64,
    /// When it is due, ns after the schedule's start.
    pub due_ns: u64,
    /// Which stage it is in, from 0.
    pub stage: u16,
}

/// How far the integral of a rate has yet to go, where a schedule ends, to the slot that would have
/// been the next. A schedule that takes its place begins that much ahead of its first slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Carry(u128);

/// One worker's way through the schedule: the slots that are dealt to it, in order.
#[derive(Debug, Clone)]
pub struct Cursor {
    times: Times,
    deal: Deal,
    /// There are no slots from this number on.
    limit: u64,
    /// Nor any that are due from this time on.
    until_ns: u64,
    /// Where slot 0 of evenly spaced ones lies on the integral.
    first: u128,
    /// The slot from which on the next one of this worker is looked for.
    from: Walk,
    slot: Option<Slot>,
    at: Walk,
}

/// Where the slots come from.
#[derive(Debug, Clone)]
enum Times {
    /// A rate over time.
    Profile(Vec<Segment>),
    /// A list of times.
    Trace(Arc<[u64]>),
}

/// A place in the schedule: a slot of any worker.
#[derive(Debug, Clone)]
struct Walk {
    index: u64,
    position: u128,
    /// The segment of the last slot that was looked at.
    segment: usize,
    poisson: Option<Xoshiro256PlusPlus>,
}

impl Walk {
    #[inline]
    fn step(&mut self, slots: u64) {
        self.position += steps(&mut self.poisson, slots);
        self.index += slots;
    }
}

impl Cursor {
    /// The slots that are dealt to a worker, of the first `limit`. Every worker's cursor must be
    /// made with the same `seed`.
    #[must_use]
    pub fn new(profile: &Profile, deal: Deal, limit: Option<u64>, seed: u64) -> Self {
        let mut poisson = match profile.arrival {
            Arrival::Uniform => None,
            Arrival::Poisson => Some(Xoshiro256PlusPlus::seed_from_u64(seed)),
        };
        let position = if poisson.is_some() { steps(&mut poisson, 1) } else { 0 };
        let from = Walk { index: 0, position, segment: 0, poisson };
        Self::on(Times::Profile(segments(&profile.stages)), from, deal, limit)
    }

    /// The slots that are dealt to a worker in a list of times, ns after the start and in order.
    #[must_use]
    pub fn of_trace(offsets_ns: Arc<[u64]>, deal: Deal, limit: Option<u64>) -> Self {
        let from = Walk { index: 0, position: 0, segment: 0, poisson: None };
        Self::on(Times::Trace(offsets_ns), from, deal, limit)
    }

    fn on(times: Times, from: Walk, deal: Deal, limit: Option<u64>) -> Self {
        let (limit, until_ns, at) = (limit.unwrap_or(u64::MAX), u64::MAX, from.clone());
        let mut cursor = Self { times, deal, limit, until_ns, first: 0, from, slot: None, at };
        cursor.place();
        cursor
    }

    /// The next slot; `None` when the schedule is over.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<Slot> {
        self.slot
    }

    /// Goes on to the next slot.
    #[inline]
    pub fn advance(&mut self) {
        if self.slot.is_some() {
            self.from.clone_from(&self.at);
            self.from.step(1);
        }
        self.place();
    }

    /// Goes past this worker's next `count` slots: at once, or one by one under Poisson arrivals,
    /// whose random steps have to be made.
    pub fn skip(&mut self, count: u64) {
        let is_random = self.from.poisson.is_some();
        if is_random {
            (0..count).for_each(|_| self.advance());
        } else if let Some(slot) = self.slot {
            let index = self.deal.nth(self.deal.before(slot.index).saturating_add(count));
            let position = self.position(index);
            self.from = Walk { index, position, segment: self.at.segment, poisson: None };
            self.place();
        }
    }

    /// Ends the schedule early: nothing is due at `until_ns` or later. What was taken stays taken.
    pub fn end_at(&mut self, until_ns: u64) {
        self.until_ns = self.until_ns.min(until_ns);
        self.place();
    }

    /// How many slots the schedule has, all workers together, up to where
    /// [`end_at`](Self::end_at) has put its end. Call it when this worker's are all taken.
    ///
    /// Every worker finds the same number, unless it has taken slots beyond that end; under Poisson
    /// arrivals it counts those too.
    pub fn count_all(&mut self) -> u64 {
        self.pass();
        self.from.index
    }

    /// What is left to the next slot where [`end_at`](Self::end_at) has put the end. Call it when
    /// this worker's slots are all taken. Random arrivals have no memory, and a list of times no
    /// rate: they leave nothing.
    pub fn carry(&mut self) -> Carry {
        self.pass();
        let Times::Profile(segments) = &self.times else { return Carry::default() };
        if self.from.poisson.is_some() {
            return Carry::default();
        }
        let left = self.position(self.from.index).saturating_sub(area_at(segments, self.until_ns));
        Carry(left.min(REQUEST))
    }

    /// The same schedule, begun where another left this. Call it before a slot is taken.
    #[must_use]
    pub fn carrying(mut self, carry: Carry) -> Self {
        if self.from.poisson.is_none() {
            self.first = carry.0;
            self.from.position = carry.0;
            self.place();
        }
        self
    }

    /// Where an evenly spaced slot lies on the integral.
    fn position(&self, index: u64) -> u128 {
        self.first + u128::from(index) * REQUEST
    }

    /// The same schedule from where this part of it ended, without an end and dealt anew. Call it
    /// when this worker's slots are all taken.
    #[must_use]
    pub fn dealt(mut self, deal: Deal) -> Self {
        self.pass();
        self.until_ns = u64::MAX;
        self.deal = deal;
        self.place();
        self
    }

    /// How many of this worker's slots are due at `now_ns` and not taken; under Poisson arrivals
    /// the number to expect.
    #[must_use]
    pub fn behind(&self, now_ns: u64) -> u64 {
        let Some(slot) = self.slot.filter(|slot| slot.due_ns <= now_ns) else {
            return 0;
        };
        let last_ns = now_ns.min(self.until_ns - 1);
        let last = match &self.times {
            Times::Trace(offsets_ns) => {
                offsets_ns.partition_point(|offset_ns| *offset_ns <= last_ns) as u64 - 1
            }
            Times::Profile(segments) => {
                let area = area_at(segments, last_ns).saturating_sub(self.at.position);
                slot.index.saturating_add(u64::try_from(area / REQUEST).unwrap_or(u64::MAX))
            }
        };
        let end = last.saturating_add(1).min(self.limit);
        self.deal.before(end) - self.deal.before(slot.index)
    }

    /// Puts `at` on this worker's next slot.
    fn place(&mut self) {
        self.slot = None;
        let Some(index) = self.deal.next_from(self.from.index) else {
            return;
        };
        if index >= self.limit {
            return;
        }
        self.at.clone_from(&self.from);
        self.at.step(index - self.from.index);
        let slot = self.times.slot(&mut self.at);
        self.slot = slot.filter(|slot| slot.due_ns < self.until_ns);
    }

    /// Puts `from` on the first slot that is not before the end, of any worker.
    fn pass(&mut self) {
        self.jump_near();
        while self.from.index < self.limit {
            match self.times.slot(&mut self.from) {
                Some(slot) if slot.due_ns < self.until_ns => self.from.step(1),
                _ => return,
            }
        }
    }

    /// Puts `from` shortly before the end, where the slots before need not be gone through.
    fn jump_near(&mut self) {
        let near = match &self.times {
            Times::Trace(offsets_ns) => {
                offsets_ns.partition_point(|offset_ns| *offset_ns < self.until_ns) as u64
            }
            // The sum of random steps has to be made.
            Times::Profile(_) if self.from.poisson.is_some() => return,
            // The integral at a time is rounded; a slot or two make sure of it.
            Times::Profile(segments) => {
                let area = area_at(segments, self.until_ns).saturating_sub(self.first);
                let slots = area / REQUEST;
                u64::try_from(slots).unwrap_or(u64::MAX).saturating_sub(2)
            }
        };
        let index = near.min(self.limit);
        let position = self.position(index);
        self.from = Walk { index, position, segment: 0, poisson: None };
    }
}

impl Times {
    /// The slot at a place; `None` beyond the last.
    #[inline]
    fn slot(&self, at: &mut Walk) -> Option<Slot> {
        match self {
            Self::Trace(offsets_ns) => {
                let due_ns = offsets_ns.get(usize::try_from(at.index).ok()?).copied()?;
                Some(Slot { index: at.index, due_ns, stage: 0 })
            }
            Self::Profile(segments) => {
                while segments.get(at.segment).is_some_and(|placed| at.position >= placed.area_end)
                {
                    at.segment += 1;
                }
                let placed = segments.get(at.segment)?;
                let stage = u16::try_from(at.segment).unwrap_or(u16::MAX);
                Some(Slot { index: at.index, due_ns: placed.due_ns(at.position), stage })
            }
        }
    }
}

/// The distance of `n` arrivals on the integral.
#[inline]
fn steps(poisson: &mut Option<Xoshiro256PlusPlus>, n: u64) -> u128 {
    match poisson {
        None => u128::from(n) * REQUEST,
        Some(random) => (0..n).map(|_| exponential(random)).sum(),
    }
}

/// An exponential step with mean `REQUEST`, by inversion.
fn exponential(random: &mut Xoshiro256PlusPlus) -> u128 {
    const BITS_53: f64 = (1u64 << 53) as f64;
    let uniform = ((random.next_u64() >> 11) as f64 + 0.5) / BITS_53;
    (-uniform.ln() * REQUEST as f64) as u128
}

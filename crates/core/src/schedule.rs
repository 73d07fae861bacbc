//! When each request is due: pure functions of the plan.
//!
//! A [`Profile`] is a rate over time, piecewise linear. Its integral counts requests, and slot `i`
//! is due when the integral reaches `i`. So every rate gives exactly rate times time requests,
//! spaced evenly over the whole run and not per worker or connection. Poisson arrivals use
//! exponential steps in place of steps of one (the time-rescaling theorem), so they work under
//! ramps too.
//!
//! Positions on the integral are integers (`REQUEST` is one request), so counts are exact. Times
//! are exact to the ns at a constant rate and to a few ns on a ramp.
//!
//! A closed loop has no schedule: a connection sends when it is free.

use std::sync::Arc;

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use crate::units::{UnitError, format_duration, format_rate, parse_duration_ns, parse_rate_uhz};

/// One request, in units of half a µHz·ns (the half keeps the area of a ramp whole).
const REQUEST: u128 = 2_000_000_000_000_000;

/// The highest rate a profile can hold: 1 GHz. With it no arithmetic here can overflow.
pub const RATE_LIMIT_UHZ: u64 = 1_000_000_000_000_000;

/// How arrivals are spread around the rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// Evenly spaced.
    #[default]
    Uniform,
    /// A Poisson process: as many independent users would come.
    Poisson,
}

/// A stretch of time over which the rate goes linearly from one value to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// How long it lasts; `None`: to the end of the run (constant rate only).
    #[serde(rename = "duration_s", with = "crate::seconds::optional_from_ns")]
    pub duration_ns: Option<u64>,
    /// Rate at its start, millionths of requests per second.
    #[serde(rename = "from_rps", with = "crate::seconds::rps_from_uhz")]
    pub from_uhz: u64,
    /// Rate at its end.
    #[serde(rename = "to_rps", with = "crate::seconds::rps_from_uhz")]
    pub to_uhz: u64,
}

/// A rate over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The stretches, one after the other.
    pub stages: Vec<Stage>,
    /// How arrivals are spread around the rate.
    pub arrival: Arrival,
}

/// Why a list of stages cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StageError {
    /// A stage without `@`, or empty.
    #[error("stage '{0}' is not DURATION@RATE or DURATION@FROM..TO")]
    Shape(String),
    /// A duration or rate in it cannot be read.
    #[error("stage '{0}': {1}")]
    Unit(String, UnitError),
    /// A rate beyond [`RATE_LIMIT_UHZ`] or a duration of 0.
    #[error("stage '{0}' lasts no time or has a rate above 1G/s")]
    Range(String),
}

/// Reads `10s@100,1m@100..5k,30s@5k`.
///
/// # Errors
/// The first stage that cannot be read, and why.
pub fn parse_stages(text: &str) -> Result<Vec<Stage>, StageError> {
    text.split(',').map(|stage| parse_stage(stage.trim())).collect()
}

fn parse_stage(text: &str) -> Result<Stage, StageError> {
    let unit = |e| StageError::Unit(text.to_owned(), e);
    let (duration, rates) =
        text.split_once('@').ok_or_else(|| StageError::Shape(text.to_owned()))?;
    let (from, to) = rates.split_once("..").unwrap_or((rates, rates));
    let duration_ns = parse_duration_ns(duration).map_err(unit)?;
    let from_uhz = parse_rate_uhz(from).map_err(unit)?;
    let to_uhz = parse_rate_uhz(to).map_err(unit)?;
    if duration_ns == 0 || from_uhz.max(to_uhz) > RATE_LIMIT_UHZ {
        return Err(StageError::Range(text.to_owned()));
    }
    Ok(Stage { duration_ns: Some(duration_ns), from_uhz, to_uhz })
}

impl Profile {
    /// A constant rate, for a time or without end.
    #[must_use]
    pub fn constant(rate_uhz: u64, duration_ns: Option<u64>, arrival: Arrival) -> Self {
        Self { stages: vec![Stage { duration_ns, from_uhz: rate_uhz, to_uhz: rate_uhz }], arrival }
    }

    /// How long all stages last; `None` when the last has no end.
    #[must_use]
    pub fn duration_ns(&self) -> Option<u64> {
        self.stages.iter().map(|stage| stage.duration_ns).sum()
    }

    /// The rate at the start, µHz.
    #[must_use]
    pub fn initial_uhz(&self) -> u64 {
        self.stages.first().map_or(0, |stage| stage.from_uhz)
    }

    /// The highest rate, µHz.
    #[must_use]
    pub fn peak_uhz(&self) -> u64 {
        self.stages.iter().map(|stage| stage.from_uhz.max(stage.to_uhz)).max().unwrap_or(0)
    }

    /// When slot `index` of a uniform arrival is due, ns after the start; the end of the profile
    /// for slots beyond it.
    #[must_use]
    pub fn due_ns(&self, index: u64) -> u64 {
        let position = u128::from(index) * REQUEST;
        segments(&self.stages).iter().find(|segment| position < segment.area_end).map_or_else(
            || self.duration_ns().unwrap_or(u64::MAX),
            |segment| segment.due_ns(position),
        )
    }

    /// The rate averaged over the stages, requests per second; that of the start without an end.
    #[must_use]
    pub fn mean_rps(&self) -> f64 {
        let placed = segments(&self.stages);
        match (self.duration_ns(), placed.last()) {
            (Some(duration_ns), Some(last)) if duration_ns > 0 => {
                last.area_end as f64 / REQUEST as f64 * 1e9 / duration_ns as f64
            }
            _ => self.initial_uhz() as f64 / 1e6,
        }
    }

    /// How many slots of a uniform arrival are due before `time_ns`; under Poisson arrivals the
    /// number to expect.
    #[must_use]
    pub fn total_before(&self, time_ns: u64) -> u64 {
        let area = area_at(&segments(&self.stages), time_ns);
        u64::try_from(area.div_ceil(REQUEST)).unwrap_or(u64::MAX)
    }

    /// How many requests are due before `time_ns`, with the fraction of the one that is next.
    #[must_use]
    pub fn expected_before(&self, time_ns: u64) -> f64 {
        area_at(&segments(&self.stages), time_ns) as f64 / REQUEST as f64
    }

    /// Requests the profile asks for: how many slots of a uniform arrival are due before its end;
    /// `None` when it has no end. Under Poisson arrivals it is the expected number, rounded up.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.duration_ns()?;
        let area = segments(&self.stages).last().map_or(0, |segment| segment.area_end);
        u64::try_from(area.div_ceil(REQUEST)).ok()
    }
}

impl Stage {
    /// The rate averaged over it, requests per second.
    #[must_use]
    pub fn mean_rps(&self) -> f64 {
        (self.from_uhz as f64 + self.to_uhz as f64) / 2e6
    }
}

impl std::fmt::Display for Stage {
    /// As `--stages` takes it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(duration_ns) = self.duration_ns {
            write!(f, "{}@", format_duration(duration_ns))?;
        }
        let rate = |uhz: u64| format_rate(uhz as f64 / 1e6);
        f.write_str(&rate(self.from_uhz))?;
        if self.to_uhz != self.from_uhz {
            write!(f, "..{}", rate(self.to_uhz))?;
        }
        Ok(())
    }
}

/// A stage placed on the time axis and on the integral of the rate.
#[derive(Debug, Clone, Copy)]
struct Segment {
    start_ns: u64,
    duration_ns: u64,
    from_uhz: u64,
    to_uhz: u64,
    area_start: u128,
    area_end: u128,
}

fn segments(stages: &[Stage]) -> Vec<Segment> {
    let mut start_ns = 0u64;
    let mut area_start = 0u128;
    let mut placed = Vec::with_capacity(stages.len());
    for stage in stages {
        let duration_ns = stage.duration_ns.unwrap_or(u64::MAX - start_ns);
        let area =
            (u128::from(stage.from_uhz) + u128::from(stage.to_uhz)) * u128::from(duration_ns);
        let area_end = area_start + area;
        placed.push(Segment {
            start_ns,
            duration_ns,
            from_uhz: stage.from_uhz,
            to_uhz: stage.to_uhz,
            area_start,
            area_end,
        });
        start_ns += duration_ns;
        area_start = area_end;
    }
    placed
}

impl Segment {
    /// When the integral reaches `area`, which lies in this segment.
    fn due_ns(&self, area: u128) -> u64 {
        let inside = area - self.area_start;
        let offset_ns = if self.from_uhz == self.to_uhz {
            divide(inside, 2 * self.from_uhz)
        } else {
            self.ramp_offset_ns(inside)
        };
        self.start_ns + offset_ns.min(self.duration_ns - 1)
    }

    /// Solves `2 a t + (b - a) t² / T = inside` for `t`, in the form that does not cancel.
    fn ramp_offset_ns(&self, inside: u128) -> u64 {
        let (from, to) = (self.from_uhz as f64, self.to_uhz as f64);
        let area = inside as f64;
        let slope = (to - from) / self.duration_ns as f64;
        let root = (from * from + slope * area).max(0.0).sqrt();
        if from + root == 0.0 { 0 } else { (area / (from + root)) as u64 }
    }
}

/// A wide number by a narrow one; nearly all of them fit the one-instruction case.
fn divide(area: u128, by: u64) -> u64 {
    match u64::try_from(area) {
        Ok(narrow) => narrow / by,
        Err(_) => u64::try_from(area / u128::from(by)).unwrap_or(u64::MAX),
    }
}

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

/// Which slots of a schedule are a worker's: slot `i` is dealt to connection `i mod C`, and
/// connection `c` is worker `c mod W`'s. So a worker has slots as it has connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deal {
    connections: u64,
    worker: u64,
    workers: u64,
}

impl Deal {
    /// The part of `worker`, of `workers`, in what is dealt to `connections` connections. With more
    /// workers than connections, the last workers have no part.
    #[must_use]
    pub fn new(connections: u32, worker: u32, workers: u32) -> Self {
        Self { connections: connections.into(), worker: worker.into(), workers: workers.into() }
    }

    /// The first of the worker's slots from `index` on.
    #[inline]
    #[must_use]
    pub fn next_from(&self, index: u64) -> Option<u64> {
        if self.worker >= self.connections {
            return None;
        }
        let connection = index % self.connections;
        let ahead = (self.worker + self.workers - connection % self.workers) % self.workers;
        if connection + ahead < self.connections {
            return index.checked_add(ahead);
        }
        index.checked_add(self.connections - connection + self.worker)
    }

    /// How many of the first `total` slots are the worker's.
    #[must_use]
    pub fn before(&self, total: u64) -> u64 {
        let of_first = |total| part(total, self.worker, self.workers);
        (total / self.connections).saturating_mul(of_first(self.connections))
            + of_first(total % self.connections)
    }

    /// The worker's slot that `count` slots of the worker lie before; for a worker that has a part.
    fn nth(&self, count: u64) -> u64 {
        let of_round = part(self.connections, self.worker, self.workers);
        let connection = (count % of_round) * self.workers + self.worker;
        (count / of_round).saturating_mul(self.connections).saturating_add(connection)
    }
}

/// How far the integral of a rate has yet to go, where a schedule ends, to the slot that would have
/// been the next. A schedule that takes its place begins that much ahead of its first slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// A place in the schedule: a slot, whoever it belongs to.
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
        let Times::Profile(segments) = &self.times else { return Carry(0) };
        if self.from.poisson.is_some() {
            return Carry(0);
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

    /// Puts `from` on the first slot that is not before the end, whoever it belongs to.
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

/// The integral of the rate up to a time.
fn area_at(segments: &[Segment], now_ns: u64) -> u128 {
    let Some(segment) = segments.iter().rev().find(|segment| segment.start_ns <= now_ns) else {
        return 0;
    };
    let offset_ns = (now_ns - segment.start_ns).min(segment.duration_ns);
    if segment.from_uhz == segment.to_uhz {
        return segment.area_start + 2 * u128::from(segment.from_uhz) * u128::from(offset_ns);
    }
    let (from, to) = (segment.from_uhz as f64, segment.to_uhz as f64);
    let reached = from + (to - from) * offset_ns as f64 / segment.duration_ns as f64;
    segment.area_start + ((from + reached) * offset_ns as f64) as u128
}

/// An exponential step with mean `REQUEST`, by inversion.
fn exponential(random: &mut Xoshiro256PlusPlus) -> u128 {
    const BITS_53: f64 = (1u64 << 53) as f64;
    let uniform = ((random.next_u64() >> 11) as f64 + 0.5) / BITS_53;
    (-uniform.ln() * REQUEST as f64) as u128
}

/// How many of `total` connections belong to `worker` of `workers`.
#[must_use]
pub fn share(total: u32, worker: u32, workers: u32) -> u32 {
    part(total.into(), worker.into(), workers.into()) as u32
}

/// How many of the numbers below `total` leave the remainder `worker` when divided by `workers`.
fn part(total: u64, worker: u64, workers: u64) -> u64 {
    total / workers + u64::from(worker < total % workers)
}

#[cfg(test)]
mod tests;

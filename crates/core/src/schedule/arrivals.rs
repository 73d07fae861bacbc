//! Arrivals at whole numbers of iterations per unit of time, exact for any unit.
//!
//! A [`Profile`](super::Profile) holds rates in µHz, which cannot say "7 in 3 s". Here a rate is a
//! number of iterations and a unit in ns, and the integral of the rate is a whole number of half
//! iterations times ns. Due times are solved for in integers, so that each is the exact time,
//! rounded down to the ns, however long the schedule is.
//!
//! Absent: who takes which iteration. That is a [`Stripe`](super::Stripe) of their numbers.

/// A stretch of time over which the rate goes linearly from one value to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrivalStage {
    /// How long it lasts. With 0 the rate jumps.
    pub duration_ns: u64,
    /// Iterations per unit of time at its end; the stage before it ends with those at its start.
    pub target: u64,
}

/// Why there can be no schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ArrivalsError {
    /// A unit of time of 0.
    #[error("the unit of time is 0: give a longer one")]
    Unit,
    /// The arithmetic would overflow.
    #[error("rate and duration are too large to compute with: give a lower rate or a shorter time")]
    Range,
}

/// When each iteration of a scenario is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrivals {
    stages: Vec<Placed>,
    /// One iteration on the integral: twice the unit of time.
    iteration: u128,
    /// Where iteration 0 lies on the integral, in iterations.
    first: u64,
    total: u64,
    duration_ns: u64,
}

/// A stage placed on the time axis and on the integral.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Placed {
    start_ns: u64,
    duration_ns: u64,
    from: u64,
    to: u64,
    area_start: u128,
    area_end: u128,
}

impl Arrivals {
    /// `rate` iterations per unit of time: number `n`, from 0, is due at `n * unit / rate`, and
    /// none at the end of the duration.
    ///
    /// # Errors
    /// A unit of 0, and more than can be computed with.
    pub fn constant(rate: u64, unit_ns: u64, duration_ns: u64) -> Result<Self, ArrivalsError> {
        let stages = place(rate, &[ArrivalStage { duration_ns, target: rate }])?;
        Self::on(stages, unit_ns, 0, u128::div_ceil)
    }

    /// Rates that ramp from `start` over stages: number `n`, from 0, is due when the integral of
    /// the rate reaches `n + 1`, at the latest at the end.
    ///
    /// # Errors
    /// A unit of 0, and more than can be computed with.
    pub fn ramping(
        start: u64,
        unit_ns: u64,
        stages: &[ArrivalStage],
    ) -> Result<Self, ArrivalsError> {
        Self::on(place(start, stages)?, unit_ns, 1, |area, iteration| area / iteration)
    }

    fn on(
        stages: Vec<Placed>,
        unit_ns: u64,
        first: u64,
        count: impl Fn(u128, u128) -> u128,
    ) -> Result<Self, ArrivalsError> {
        if unit_ns == 0 {
            return Err(ArrivalsError::Unit);
        }
        let iteration = 2 * u128::from(unit_ns);
        let (area, duration_ns) =
            stages.last().map_or((0, 0), |last| (last.area_end, last.start_ns + last.duration_ns));
        let total = u64::try_from(count(area, iteration)).map_err(|_| ArrivalsError::Range)?;
        Ok(Self { stages, iteration, first, total, duration_ns })
    }

    /// How many iterations are due.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How long all stages last.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.duration_ns
    }

    /// When iteration `index`, from 0, is due, in ns after the start; `None` beyond the last.
    #[inline]
    #[must_use]
    pub fn due_ns(&self, index: u64) -> Option<u64> {
        if index >= self.total {
            return None;
        }
        let area = (u128::from(index) + u128::from(self.first)) * self.iteration;
        let stage = self.stages.partition_point(|stage| stage.area_end < area);
        self.stages
            .get(stage)
            .map(|stage| stage.start_ns + stage.offset_ns(area - stage.area_start))
    }

    /// The rate at a time, in iterations per unit of time; that of the end afterwards.
    #[must_use]
    pub fn rate_at(&self, now_ns: u64) -> f64 {
        let after = self.stages.partition_point(|stage| stage.start_ns <= now_ns);
        let Some(stage) = after.checked_sub(1).and_then(|at| self.stages.get(at)) else {
            return 0.0;
        };
        let (from, to) = (stage.from as f64, stage.to as f64);
        match stage.duration_ns {
            0 => to,
            long => from + (to - from) * (now_ns - stage.start_ns).min(long) as f64 / long as f64,
        }
    }
}

fn place(start: u64, stages: &[ArrivalStage]) -> Result<Vec<Placed>, ArrivalsError> {
    let (mut from, mut start_ns, mut area_start) = (start, 0u64, 0u128);
    let mut placed = Vec::with_capacity(stages.len());
    for stage in stages {
        let ArrivalStage { duration_ns, target } = *stage;
        let area = (u128::from(from) + u128::from(target)).checked_mul(duration_ns.into());
        let area_end = area.and_then(|area| area_start.checked_add(area));
        let area_end = area_end.ok_or(ArrivalsError::Range)?;
        let one = Placed { start_ns, duration_ns, from, to: target, area_start, area_end };
        if !one.can_be_solved() {
            return Err(ArrivalsError::Range);
        }
        placed.push(one);
        start_ns = start_ns.checked_add(duration_ns).ok_or(ArrivalsError::Range)?;
        (from, area_start) = (target, area_end);
    }
    Ok(placed)
}

impl Placed {
    /// Whether the products below stay within 128 bits with a sign.
    fn can_be_solved(&self) -> bool {
        let long = i128::from(self.duration_ns);
        let most = i128::from(self.from.max(self.to)).checked_mul(4);
        let square = most.and_then(|most| most.checked_mul(long)?.checked_mul(long));
        self.from == self.to || square.is_some()
    }

    /// When the integral has grown by `inside` since the start of the stage: the last ns at which
    /// it is not above that.
    fn offset_ns(&self, inside: u128) -> u64 {
        if inside == 0 {
            return 0;
        }
        if self.from == self.to {
            let offset_ns = inside / (2 * u128::from(self.from));
            return u64::try_from(offset_ns).unwrap_or(u64::MAX);
        }
        let target = i128::try_from(inside * u128::from(self.duration_ns)).unwrap_or(i128::MAX);
        let is_within = |offset_ns: u64| self.scaled_area(offset_ns) <= target;
        // The estimate is a few ns off, or more where a falling rate is close to 0.
        let guess = self.estimate_ns(inside as f64).min(self.duration_ns);
        let (mut low, mut high) = (guess, self.duration_ns);
        let mut step = 1u64;
        if is_within(guess) {
            while low.saturating_add(step) < high && is_within(low + step) {
                low += step;
                step = step.saturating_mul(2);
            }
            high = high.min(low.saturating_add(step));
        } else {
            high = guess;
            while step < high && !is_within(high - step) {
                high -= step;
                step = step.saturating_mul(2);
            }
            low = high.saturating_sub(step);
        }
        while low < high {
            let middle = high - (high - low) / 2;
            if is_within(middle) { low = middle } else { high = middle - 1 }
        }
        low
    }

    /// The integral at a time within the stage, times its duration.
    fn scaled_area(&self, offset_ns: u64) -> i128 {
        let (long, offset) = (i128::from(self.duration_ns), i128::from(offset_ns));
        let (from, to) = (i128::from(self.from), i128::from(self.to));
        offset * (2 * from * long + (to - from) * offset)
    }

    /// Solves `2 a t + (b - a) t² / T = inside` for `t`, in the form that does not cancel.
    fn estimate_ns(&self, inside: f64) -> u64 {
        let (from, to) = (self.from as f64, self.to as f64);
        let slope = (to - from) / self.duration_ns as f64;
        let root = (from * from + slope * inside).max(0.0).sqrt();
        (inside / (from + root).max(f64::MIN_POSITIVE)) as u64
    }
}

#[cfg(test)]
mod tests;

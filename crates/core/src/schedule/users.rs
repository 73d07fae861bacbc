//! How many users are active over time: a number that ramps, as whole users come and go.

use super::Stripe;

/// A stretch of time over which the number of users goes linearly to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserStage {
    /// How long it lasts. With 0 the number jumps.
    pub duration_ns: u64,
    /// Users at its end.
    pub target: u64,
}

/// From a time on there are this number of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserStep {
    /// ns after the start.
    pub at_ns: u64,
    /// Users from then on.
    pub users: u64,
}

/// A number of users that ramps over stages.
///
/// When the number rises, a user comes at the time at which the line reaches its number. When it
/// falls, a user goes when the line reaches the number of those who stay, so none goes early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRamp {
    /// Users at the start.
    pub start: u64,
    /// The stretches, one after the other.
    pub stages: Vec<UserStage>,
}

impl UserRamp {
    /// How long all stages last; at most `u64::MAX`.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.stages.iter().fold(0u64, |sum, stage| sum.saturating_add(stage.duration_ns))
    }

    /// How many steps [`steps`](Self::steps) has at most.
    #[must_use]
    pub fn steps_max(&self) -> u64 {
        let mut from = self.start;
        let all = self.stages.iter().map(|stage| {
            let steps = if stage.duration_ns == 0 { 1 } else { from.abs_diff(stage.target) };
            from = stage.target;
            steps
        });
        all.fold(1u64, u64::saturating_add)
    }

    /// The steps of the users that belong to a part, in the order of time; the first is at 0. Steps
    /// follow each other at one time where a stage lasts no time.
    pub fn steps<'a>(&'a self, part: &'a Stripe) -> impl Iterator<Item = UserStep> + 'a {
        let first = UserStep { at_ns: 0, users: part.count_below(self.start) };
        let (mut from, mut end_ns) = (self.start, 0u64);
        let stages = self.stages.iter().map(move |stage| {
            end_ns = end_ns.saturating_add(stage.duration_ns);
            let slope = Slope { end_ns, duration_ns: stage.duration_ns, from, to: stage.target };
            from = stage.target;
            slope
        });
        std::iter::once(first).chain(stages.flat_map(|slope| slope.steps(part)))
    }
}

/// A stage on the time axis.
#[derive(Debug, Clone, Copy)]
struct Slope {
    end_ns: u64,
    duration_ns: u64,
    from: u64,
    to: u64,
}

impl Slope {
    fn steps(self, part: &Stripe) -> impl Iterator<Item = UserStep> {
        let (before, after) = (part.count_below(self.from), part.count_below(self.to));
        let is_jump = self.duration_ns == 0 && before != after;
        let jump = is_jump.then_some(UserStep { at_ns: self.end_ns, users: after });
        let is_slope = self.duration_ns > 0;
        let rising = if is_slope { before..after.max(before) } else { 0..0 };
        let falling = if is_slope { after..before.max(after) } else { 0..0 };
        // The user with number `n`, from 0, makes them `n + 1`.
        let rises = rising.filter_map(move |users| {
            let at_ns = self.reaches_ns(part.nth(users)?.saturating_add(1));
            Some(UserStep { at_ns, users: users + 1 })
        });
        let falls = falling.rev().filter_map(move |users| {
            Some(UserStep { at_ns: self.reaches_ns(part.nth(users)?), users })
        });
        jump.into_iter().chain(rises).chain(falls)
    }

    /// When the line reaches a number of users between its ends.
    fn reaches_ns(&self, users: u64) -> u64 {
        let left = u128::from(self.to.abs_diff(users)) * u128::from(self.duration_ns);
        let left_ns = left / u128::from(self.to.abs_diff(self.from).max(1));
        self.end_ns.saturating_sub(u64::try_from(left_ns).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests;

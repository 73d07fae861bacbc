//! The interval in which a true value lies.

/// From the least to the most that a true value can be, both included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The least.
    pub low: f64,
    /// The most; infinite without a limit.
    pub high: f64,
}

impl Interval {
    /// That of a value without doubt.
    #[must_use]
    pub fn exact(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// From nothing to no limit.
    #[must_use]
    pub fn unknown() -> Self {
        Self { low: 0.0, high: f64::INFINITY }
    }

    /// The same in another unit, `factor` times as much.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { low: self.low * factor, high: self.high * factor }
    }

    /// To which side of `value` the truth may lie by more than `tolerance`.
    #[must_use]
    pub fn lean(self, value: f64, tolerance: f64) -> Option<Lean> {
        let lower = (self.low < value - tolerance).then_some(Lean::Lower);
        let higher = (self.high > value + tolerance).then_some(Lean::Higher);
        Lean::both(lower, higher)
    }
}

/// To which side a true value may lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lean {
    /// It may be lower.
    Lower,
    /// It may be higher.
    Higher,
    /// It may be either.
    Either,
}

impl Lean {
    /// Two reasons together.
    #[must_use]
    pub fn both(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) if one != other => Some(Self::Either),
            (one, other) => one.or(other),
        }
    }

    /// The mark in front of a value whose true one may lie there.
    #[must_use]
    pub fn sign(self) -> char {
        match self {
            Self::Higher => '≥',
            Self::Lower => '≤',
            Self::Either => '≈',
        }
    }
}

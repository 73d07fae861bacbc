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
}

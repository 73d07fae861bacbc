//! Recording, merging and reading back, with values drawn from seeds.

mod allocations;
mod merging;
mod numbers;
mod recording;
mod sum;

use std::sync::Arc;

use super::numbers::NumberHistogram;
use super::sum::Sum;
use super::*;
use crate::random::Stream;

const KINDS: [(&str, Kind); 5] = [
    ("items", Kind::Counter),
    ("queue", Kind::Gauge),
    ("ok_rate", Kind::Rate),
    ("balance", Kind::Trend),
    ("checkout_time", Kind::TimeTrend),
];

/// One metric of each kind.
fn registry() -> Arc<Registry> {
    let mut registry = Registry::default();
    for (name, kind) in KINDS {
        registry.declare(name, kind).expect("a name");
    }
    Arc::new(registry)
}

fn id(registry: &Registry, name: &str) -> MetricId {
    registry.find(name).expect("declared").0
}

/// Numbers of many sizes and both signs, from a seed.
struct Draw {
    stream: Stream,
    place: u64,
}

impl Draw {
    fn new(seed: u64) -> Self {
        Self { stream: Stream::new(seed, 0), place: 0 }
    }

    fn word(&mut self) -> u64 {
        self.place += 1;
        self.stream.word(self.place)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.word() % limit
    }

    /// A number with all its digits, of a size from 2^-`powers` to 2^`powers`.
    fn number(&mut self, powers: i32) -> f64 {
        let digits = 1.0 + (self.word() >> 12) as f64 / (1u64 << 52) as f64;
        let power = self.below(2 * powers as u64 + 1) as i32 - powers;
        let sign = if self.word() & 1 == 0 { 1.0 } else { -1.0 };
        sign * digits * 2f64.powi(power)
    }
}

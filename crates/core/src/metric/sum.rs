//! Exact sums of floating-point numbers, so that a total does not depend on the order of adding.
//!
//! Adding `f64`s rounds each time, and `(a + b) + c` is not always `a + (b + c)`. Here a sum is a
//! list of numbers that together are the exact value (J. R. Shewchuk, "Adaptive Precision
//! Floating-Point Arithmetic", 1997, section 2.4). It is rounded once, when it is read.

use serde::{Deserialize, Serialize};

/// Values up to this magnitude can be added: 2^64 of them stay finite.
pub(super) const VALUE_MAX: f64 = 1e270;

/// The most that a sum read from a document may be.
const TOTAL_MAX: f64 = 1e300;

/// With this number of parts a sum is compressed. The range of `f64`, divided into its 53 digits,
/// needs 40 at most.
const PARTS_MAX: usize = 64;

/// Compressing takes one part after the other away, and may add one each time.
const PARTS_ROOM: usize = PARTS_MAX + 64;

/// Numbers whose exact sum is meant, of ascending magnitude. None is 0; their bits do not overlap.
#[derive(Debug, Clone, Copy)]
struct Parts {
    parts: [f64; PARTS_ROOM],
    len: usize,
}

impl Parts {
    const NONE: Self = Self { parts: [0.0; PARTS_ROOM], len: 0 };

    fn add(&mut self, value: f64) {
        if self.len >= PARTS_MAX {
            *self = Self::of(self.largest_first());
        }
        self.grow(value);
    }

    fn grow(&mut self, value: f64) {
        let mut carried = value;
        let mut kept = 0;
        for at in 0..self.len {
            let (sum, error) = two_sum(carried, self.parts[at]);
            if error != 0.0 {
                self.parts[kept] = error;
                kept += 1;
            }
            carried = sum;
        }
        if carried != 0.0 {
            self.parts[kept] = carried;
            kept += 1;
        }
        self.len = kept;
    }

    fn of(values: impl Iterator<Item = f64>) -> Self {
        values.fold(Self::NONE, |mut parts, value| {
            parts.add(value);
            parts
        })
    }

    /// The number nearest to the sum, the one nearest to the rest, and so on until nothing is left:
    /// the same numbers for the same sum, whatever it was added from.
    fn largest_first(self) -> impl Iterator<Item = f64> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let nearest = nearest(&rest.parts[..rest.len]);
            rest.grow(-nearest);
            (nearest != 0.0).then_some(nearest)
        })
    }
}

/// A sum and what rounding took from it (D. Knuth, TAOCP volume 2, 4.2.2, theorem B).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_in_sum = sum - a;
    let error = (a - (sum - b_in_sum)) + (b - b_in_sum);
    (sum, error)
}

/// The number nearest to the sum of parts, ties to even.
fn nearest(parts: &[f64]) -> f64 {
    let mut below = parts.iter().rev().copied();
    let mut sum = below.next().unwrap_or(0.0);
    while let Some(part) = below.next() {
        let (rounded, error) = two_sum(sum, part);
        sum = rounded;
        if error == 0.0 {
            continue;
        }
        // Halfway between two numbers, what lies further below decides.
        let decides = below.next().is_some_and(|more| (more > 0.0) == (error > 0.0));
        let other = sum + 2.0 * error;
        let is_halfway = other - sum == 2.0 * error;
        return if is_halfway && decides { other } else { sum };
    }
    sum
}

/// A sum that is being added to. Adding allocates nothing.
#[derive(Debug, Clone)]
pub(super) struct Sum(Box<Parts>);

impl Default for Sum {
    fn default() -> Self {
        Self(Box::new(Parts::NONE))
    }
}

impl Sum {
    /// Adds a value that is finite and within ±1e270.
    pub(super) fn add(&mut self, value: f64) {
        self.0.add(value);
    }

    /// Adds all of `other`, exactly.
    pub(super) fn merge(&mut self, other: &Self) {
        other.0.parts[..other.0.len].iter().for_each(|part| self.0.add(*part));
    }

    /// The sum at rest.
    pub(super) fn total(&self) -> Total {
        Total::of(*self.0)
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.0.len = 0;
    }
}

/// An exact sum at rest: one number in most cases, and what rounding to it left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "TotalDocument")]
pub struct Total {
    /// The number nearest to the sum.
    sum: f64,
    /// The number nearest to the rest of it, and so on until nothing is left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sum_rest: Vec<f64>,
}

impl Total {
    /// The number nearest to the sum.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.sum
    }

    /// Adds all of `other`. Exact, associative and commutative.
    pub fn merge(&mut self, other: &Self) {
        *self = Self::of(Parts::of(self.parts().chain(other.parts())));
    }

    fn of(parts: Parts) -> Self {
        let mut largest_first = parts.largest_first();
        Self { sum: largest_first.next().unwrap_or(0.0), sum_rest: largest_first.collect() }
    }

    fn parts(&self) -> impl Iterator<Item = f64> {
        std::iter::once(self.sum).chain(self.sum_rest.iter().copied())
    }
}

#[derive(Deserialize)]
struct TotalDocument {
    sum: f64,
    #[serde(default)]
    sum_rest: Vec<f64>,
}

impl TryFrom<TotalDocument> for Total {
    type Error = String;

    /// Brings what anyone may have written into the form in which equal sums are equal.
    fn try_from(document: TotalDocument) -> Result<Self, String> {
        let total = Self { sum: document.sum, sum_rest: document.sum_rest };
        match total.parts().all(|part| part.abs() <= TOTAL_MAX) {
            true => Ok(Self::of(Parts::of(total.parts()))),
            false => Err(format!("sum {} is more than can be added up", total.sum)),
        }
    }
}

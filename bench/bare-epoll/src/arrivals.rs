//! Requests counted by the millisecond they arrived in: how evenly a client sends.

use std::time::Instant;

use bare::Measured;

/// Ten minutes of milliseconds; what comes later is not counted.
const BINS: usize = 600_000;
/// Left out at both ends: connections still opening, and the last stragglers.
const EDGE_BINS: usize = 500;

/// Counts per millisecond since the first arrival.
pub(crate) struct Arrivals {
    began: Option<Instant>,
    bins: Vec<u32>,
    last: usize,
}

impl Arrivals {
    pub(crate) fn new() -> Self {
        Self { began: None, bins: vec![0; BINS], last: 0 }
    }

    /// Counts a request as arriving now.
    pub(crate) fn count(&mut self) {
        let began = *self.began.get_or_insert_with(Instant::now);
        let bin = began.elapsed().as_millis() as usize;
        if let Some(count) = self.bins.get_mut(bin) {
            *count += 1;
            self.last = bin;
        }
    }

    /// Adds the mean and the variance/mean: 0 is even, 1 is what independent users do (Poisson).
    pub(crate) fn report(&self, measured: &mut Measured) {
        if self.last <= 2 * EDGE_BINS {
            return;
        }
        let (mean, ratio) = dispersion(&self.bins[EDGE_BINS..self.last - EDGE_BINS]);
        measured.add("arrivals_per_ms_mean", mean);
        measured.add("arrivals_per_ms_variance_to_mean", ratio);
    }
}

/// Mean and variance/mean.
fn dispersion(counts: &[u32]) -> (f64, f64) {
    let n = counts.len() as f64;
    let mean = counts.iter().map(|&count| f64::from(count)).sum::<f64>() / n;
    let variance = counts.iter().map(|&count| (f64::from(count) - mean).powi(2)).sum::<f64>() / n;
    (mean, variance / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dispersion_of_even_and_of_bunched_arrivals() {
        assert_eq!(dispersion(&[10, 10, 10, 10]), (10.0, 0.0));
        assert_eq!(dispersion(&[40, 0, 0, 0]), (10.0, 30.0));
    }
}

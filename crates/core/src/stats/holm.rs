//! Many tests at once: Holm's step-down method ("A simple sequentially rejective multiple test
//! procedure", 1979). It holds however the tests depend on each other, as the pairs of a table do.

/// The chances of several tests, each raised so that all of them can be compared with one level:
/// the chance of calling any difference between equal sets is then at most that level.
#[must_use]
pub fn holm(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let mut raised = vec![1.0; chances.len()];
    let mut highest: f64 = 0.0;
    for (smaller, index) in order.into_iter().enumerate() {
        highest = highest.max(chances[index] * (chances.len() - smaller) as f64);
        raised[index] = highest.min(1.0);
    }
    raised
}

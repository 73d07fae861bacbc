//! Where a curve of latency over rate bends: Kneedle (Satopää, Albrecht, Irwin and Raghavan,
//! "Finding a 'Kneedle' in a Haystack", ICDCS Workshops 2011). Shown, never the answer: it depends
//! on the range that was measured.

/// How far the curve has to come back to the diagonal behind a knee, in steps of the mean distance
/// of points: the paper's S.
const SENSITIVITY: f64 = 1.0;

/// Fewer points have no shape.
const LEAST_POINTS: usize = 5;

/// The knee of a rising, convex curve of points in rising order of their first value. `None` with
/// fewer than five points, or if the curve does not bend.
#[must_use]
pub fn knee(points: &[(f64, f64)]) -> Option<f64> {
    let merged = merged(points);
    let (first, last) = (merged.first()?, merged.last()?);
    let low = merged.iter().map(|it| it.1).fold(f64::INFINITY, f64::min);
    let high = merged.iter().map(|it| it.1).fold(f64::NEG_INFINITY, f64::max);
    if merged.len() < LEAST_POINTS || high <= low {
        return None;
    }
    let width = last.0 - first.0;
    // A convex curve runs below the diagonal; the knee is where it is farthest below.
    let below = |it: &(f64, f64)| (it.0 - first.0) / width - (it.1 - low) / (high - low);
    let distances: Vec<f64> = merged.iter().map(below).collect();
    let fall = SENSITIVITY / (merged.len() - 1) as f64;
    for (i, window) in distances.windows(3).enumerate() {
        let peak = window[1];
        if peak < window[0] || peak < window[2] {
            continue;
        }
        let behind = &distances[i + 2..];
        let next = behind.iter().position(|it| *it > peak).unwrap_or(behind.len());
        if peak > 0.0 && behind[..next].iter().any(|it| *it < peak - fall) {
            return Some(merged[i + 1].0);
        }
    }
    None
}

/// Points of the same first value as one, at the mean of their second.
fn merged(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let groups = points.chunk_by(|a, b| a.0 == b.0);
    groups.map(|it| (it[0].0, it.iter().map(|it| it.1).sum::<f64>() / it.len() as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_is_where_the_curve_leaves_its_floor() {
        // The paper's example, y = -1/x + 5, turned by 180° so that it is convex: 1/(10 - x).
        let turned: Vec<(f64, f64)> =
            (0..10).map(|i| (f64::from(i), 1.0 / (10.0 - f64::from(i)))).collect();
        let queue: Vec<(f64, f64)> =
            (0..25).map(|i| (40.0 * f64::from(i), 1.0 / (1000.0 - 40.0 * f64::from(i)))).collect();
        let line: Vec<(f64, f64)> = (0..10).map(|i| (f64::from(i), f64::from(i))).collect();
        let flat: Vec<(f64, f64)> = (0..10).map(|i| (f64::from(i), 1.0)).collect();
        for (name, points, want) in [
            ("turned", &turned[..], Some(7.0)),
            ("queue", &queue[..], Some(800.0)),
            ("line", &line[..], None),
            ("flat", &flat[..], None),
            ("few", &turned[..4], None),
            ("none", &[][..], None),
        ] {
            assert_eq!(knee(points), want, "{name}");
        }
    }

    #[test]
    fn a_rate_that_was_measured_twice_is_one_point() {
        let points = [(1.0, 1.0), (1.0, 3.0), (2.0, 2.0)];
        assert_eq!(merged(&points), [(1.0, 2.0), (2.0, 2.0)]);
    }
}

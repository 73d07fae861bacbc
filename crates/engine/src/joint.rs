//! Joins what several sources tell of the same intervals: the workers of a run, or the scenarios of
//! one. Each tells in order. An interval is whole once none of them can add to it any more.

use std::collections::BTreeMap;

use plimsoll_core::series::Point;

/// Intervals that sources still add to.
#[derive(Debug)]
pub(crate) struct Joint {
    partial: BTreeMap<u64, Point>,
    /// For each source, the first interval it may still tell of, by its start, ns.
    expected_ns: Vec<u64>,
}

impl Joint {
    /// Nothing yet, of sources that begin with the intervals that start at these times.
    pub(crate) fn new(begins_ns: impl IntoIterator<Item = u64>) -> Self {
        Self { partial: BTreeMap::new(), expected_ns: begins_ns.into_iter().collect() }
    }

    /// A source tells of its next interval.
    pub(crate) fn add(&mut self, source: usize, point: Point) {
        self.expected_ns[source] = point.t_ns + point.interval_ns;
        let entry = self.partial.entry(point.t_ns);
        entry.and_modify(|sum| sum.merge(&point)).or_insert(point);
    }

    /// A source has nothing more to tell.
    pub(crate) fn end(&mut self, source: usize) {
        self.expected_ns[source] = u64::MAX;
    }

    /// The next interval that is whole.
    pub(crate) fn take_whole(&mut self) -> Option<Point> {
        let open_ns = self.expected_ns.iter().copied().min().unwrap_or(u64::MAX);
        let entry = self.partial.first_entry().filter(|entry| *entry.key() < open_ns)?;
        Some(entry.remove())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn point(second: u64, sent: u64) -> Point {
        Point { t_ns: second * S, interval_ns: S, sent, ..Point::default() }
    }

    fn whole(joint: &mut Joint) -> Vec<(u64, u64)> {
        let taken = std::iter::from_fn(|| joint.take_whole());
        taken.map(|point| (point.t_ns / S, point.sent)).collect()
    }

    #[test]
    fn an_interval_is_whole_once_nobody_can_add_to_it() {
        // The third begins later, and holds nothing back before.
        let mut joint = Joint::new([0, 0, 2 * S]);
        joint.add(0, point(0, 1));
        assert_eq!(whole(&mut joint), []);
        joint.add(1, point(0, 10));
        assert_eq!(whole(&mut joint), [(0, 11)]);
        joint.add(0, point(1, 2));
        joint.add(0, point(2, 3));
        joint.end(1);
        assert_eq!(whole(&mut joint), [(1, 2)]);
        joint.add(2, point(2, 100));
        assert_eq!(whole(&mut joint), [(2, 103)]);
        joint.end(0);
        joint.add(2, point(3, 100));
        joint.end(2);
        assert_eq!(whole(&mut joint), [(3, 100)]);
    }
}

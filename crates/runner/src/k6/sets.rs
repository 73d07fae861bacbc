//! The tags of samples, and where samples with them count. Both follow from a few numbers and
//! texts. They are worked out once and found again without allocating.
//!
//! Sets are bounded: those of texts that keep changing, such as URLs with identities in them, are
//! made anew each time once there are too many.

use std::collections::HashMap;

use plimsoll_dialect::k6::metrics::{Book, MetricId, Route, TagSet};

/// The most sets that are kept by a worker.
const SETS_MAX: usize = 20_000;

/// What a set of tags is found by.
#[derive(Debug, Default)]
pub(super) struct Key(Vec<u8>);

impl Key {
    /// Begins a key. Keys of different kinds are never equal.
    pub(super) fn begin(&mut self, kind: u8) -> &mut Self {
        self.0.clear();
        self.0.push(kind);
        self
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    pub(super) fn optional(&mut self, number: Option<u32>) -> &mut Self {
        self.number(number.map_or(0, |number| u64::from(number) + 1))
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.number(text.len() as u64);
        self.0.extend(text.as_bytes());
        self
    }
}

/// A set of tags, and the routes of the metrics that have it.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) tags: TagSet,
    routes: Box<[(MetricId, Option<Route>)]>,
}

impl Set {
    pub(super) fn new(tags: TagSet, metrics: &[MetricId], book: &mut Book) -> Self {
        let route = |metric: &MetricId| (*metric, book.route(*metric, &tags));
        let routes = metrics.iter().map(route).collect();
        Self { tags, routes }
    }

    /// Counts a value of the metric that was the `at`-th when the set was made.
    pub(super) fn count(&self, book: &mut Book, at: usize, value: f64) -> MetricId {
        let (metric, route) = self.routes[at];
        match route {
            Some(route) => book.add(route, value),
            None => book.record(metric, &self.tags, value),
        }
        metric
    }

    /// The same of a value that is known to be this or more.
    pub(super) fn count_bound(&self, book: &mut Book, at: usize, value: f64) -> MetricId {
        let (metric, route) = self.routes[at];
        match route {
            Some(route) => book.add_bound(route, value),
            None => book.record_bound(metric, &self.tags, value),
        }
        metric
    }
}

/// The sets of a worker.
#[derive(Debug, Default)]
pub(super) struct Sets {
    known: HashMap<Box<[u8]>, u32>,
    sets: Vec<Set>,
    /// The last one that there was no room for.
    passing: Option<Set>,
}

impl Sets {
    /// The set with a key, which `make` makes when it is not there.
    pub(super) fn find(&mut self, key: &Key, make: impl FnOnce() -> Set) -> &Set {
        if let Some(at) = self.known.get(key.0.as_slice()) {
            return &self.sets[*at as usize];
        }
        let set = make();
        if self.sets.len() >= SETS_MAX {
            return self.passing.insert(set);
        }
        self.known.insert(key.0.as_slice().into(), self.sets.len() as u32);
        self.sets.push(set);
        &self.sets[self.sets.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_dialect::k6::metrics::{Registry, Sink};

    use super::*;

    #[test]
    fn sets_are_found_again_and_have_an_end() {
        let registry = Registry::default();
        let metric = registry.find("http_reqs").expect("built in");
        let mut book = Book::new(registry, false);
        let (mut sets, mut key) = (Sets::default(), Key::default());
        let mut made = 0;
        for round in 0..2 {
            for number in 0..SETS_MAX + 10 {
                let name = number.to_string();
                key.begin(b'x').optional(None).text(&name).text("");
                let set = sets.find(&key, || {
                    made += 1;
                    Set::new(TagSet::of([("name", name.as_str())]), &[metric], &mut book)
                });
                assert_eq!(set.tags.get("name"), Some(name.as_str()), "{round}");
                set.count(&mut book, 0, 1.0);
            }
        }
        assert_eq!(made, SETS_MAX + 20);
        assert_eq!(book.sink(metric).map(Sink::count), Some(2 * (SETS_MAX as u64 + 10)));
    }

    #[test]
    fn keys_of_different_texts_differ() {
        let key = |texts: [&str; 2]| {
            let mut key = Key::default();
            key.begin(b'x').text(texts[0]).text(texts[1]);
            key.0
        };
        assert_ne!(key(["ab", "c"]), key(["a", "bc"]));
        assert_ne!(key(["", "a"]), key(["a", ""]));
    }
}

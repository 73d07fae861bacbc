//! What the virtual users of a worker share: the numbers of their sets of tags and of their groups,
//! and the names that their runtimes begin with.
//!
//! A set that was seen before is found without allocating.

use std::cell::RefCell;
use std::collections::HashMap;

use plimsoll_core::metric::Tags;

use super::names;

/// The most sets of tags, and groups, that a worker tells apart. Sets beyond share the number of
/// an empty set.
const NUMBERS_MAX: usize = 100_000;

/// Separates names and values within a set. No UTF-8 text has it.
pub(super) const SEPARATOR: u8 = 0xff;

/// The numbers that a worker's virtual users name in their steps.
#[derive(Debug, Default)]
pub struct Worker {
    tags: RefCell<Numbers>,
    groups: RefCell<Numbers>,
    pub(super) names: names::Shared,
}

impl Worker {
    /// Without any.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The tags with a number that a [`Sample`](super::Sample) or a request has named. A number
    /// always stands for the same tags.
    #[must_use]
    pub fn tags(&self, number: u32) -> Tags {
        let numbers = self.tags.borrow();
        let bytes = numbers.bytes(number);
        let mut parts = bytes.split(|byte| *byte == SEPARATOR).map(String::from_utf8_lossy);
        let mut pairs = Vec::new();
        while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
            pairs.push((name.into_owned(), value.into_owned()));
        }
        pairs.into_iter().collect()
    }

    /// The name of a group, with those around it: `::outer::inner`. A number always stands for the
    /// same group.
    #[must_use]
    pub fn group(&self, number: u32) -> String {
        String::from_utf8_lossy(self.groups.borrow().bytes(number)).into_owned()
    }

    /// The number of a set of tags: names and values, each ended by [`SEPARATOR`].
    pub(super) fn tags_number(&self, bytes: &[u8]) -> u32 {
        self.tags.borrow_mut().number(bytes)
    }

    pub(super) fn group_number(&self, name: &[u8]) -> u32 {
        self.groups.borrow_mut().number(name)
    }
}

#[derive(Debug, Default)]
struct Numbers {
    numbers: HashMap<Box<[u8]>, u32>,
    all: Vec<Box<[u8]>>,
}

impl Numbers {
    fn number(&mut self, bytes: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(bytes) {
            return *number;
        }
        if self.all.len() >= NUMBERS_MAX && !bytes.is_empty() {
            return self.number(&[]);
        }
        let number = self.all.len() as u32;
        self.numbers.insert(bytes.into(), number);
        self.all.push(bytes.into());
        number
    }

    fn bytes(&self, number: u32) -> &[u8] {
        self.all.get(number as usize).map_or(&[], |bytes| bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_for_the_same_set_for_ever() {
        let worker = Worker::new();
        let one = worker.tags_number(b"page\xffhome\xff");
        let two = worker.tags_number(b"page\xffcart\xffstep\xff2\xff");
        assert_eq!(worker.tags_number(b"page\xffhome\xff"), one);
        assert_ne!(one, two);
        assert_eq!(worker.tags(one).to_string(), "{page:home}");
        assert_eq!(worker.tags(two).to_string(), "{page:cart, step:2}");
        let group = worker.group_number(b"::a::b");
        assert_eq!(worker.group(group), "::a::b");
    }

    #[test]
    fn numbers_have_an_end() {
        let worker = Worker::new();
        for number in 0..NUMBERS_MAX as u32 {
            assert_eq!(worker.tags_number(format!("n\u{ff}{number}").as_bytes()), number);
        }
        let beyond = worker.tags_number(b"n\xffmore\xff");
        assert_eq!(worker.tags(beyond), Tags::default());
        assert_eq!(worker.tags_number(b"n\xffothers\xff"), beyond);
    }
}

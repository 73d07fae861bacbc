//! Tags of values: sets of keys and values, each set with a number in its recorder.
//!
//! A source of work may make up tags as it goes on, so everything about them is bounded: pairs in a
//! set, bytes in a set, and sets. What is beyond has the number [`TagsId::FOLDED`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The most pairs of a set. k6 sets up to 14 by itself.
pub const PAIRS_MAX: usize = 32;

/// The most bytes of a set, keys and values together.
pub const SET_BYTES_MAX: usize = 4096;

/// The most sets that a run tells apart, over all its metrics.
pub const TAG_SETS_MAX: usize = 1000;

/// Keys with their values. Empty: without tags.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tags(BTreeMap<String, String>);

impl Tags {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The pairs, by key.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Whether all of `wanted` are among them.
    #[must_use]
    pub fn contain(&self, wanted: &Self) -> bool {
        wanted.0.iter().all(|(key, value)| self.0.get(key) == Some(value))
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Tags {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

/// As conditions and reports write them: `{page:home, step:2}`.
impl std::fmt::Display for Tags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("{")?;
        for (at, (key, value)) in self.pairs().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{key}:{value}")?;
        }
        f.write_str("}")
    }
}

/// The number of a set of tags in its recorder. Other recorders number theirs by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TagsId(pub(super) u32);

impl TagsId {
    /// Without tags.
    pub const NONE: Self = Self(0);
    /// Tags that are not told apart, because there are too many.
    pub const FOLDED: Self = Self(1);
    /// The first that has a set.
    const FIRST: u32 = 2;

    pub(super) fn is_set(self) -> bool {
        self.0 >= Self::FIRST
    }
}

/// The sets of tags of a recorder.
#[derive(Debug, Clone, Default)]
pub(super) struct TagSets {
    /// In the order of their numbers.
    sets: Vec<Tags>,
    /// Numbers, in the order of their sets.
    sorted: Vec<TagsId>,
}

impl TagSets {
    /// The number of a set. Of pairs with one key the last counts. Allocates when a set is new.
    pub(super) fn number(&mut self, pairs: &[(&str, &str)]) -> TagsId {
        let mut room = [("", ""); PAIRS_MAX];
        let Some(pairs) = sorted(pairs, &mut room) else { return TagsId::FOLDED };
        if pairs.is_empty() {
            return TagsId::NONE;
        }
        let sets = &self.sets;
        let compare = |id: &TagsId| set(sets, *id).pairs().cmp(pairs.iter().copied());
        match self.sorted.binary_search_by(compare) {
            Ok(at) => self.sorted[at],
            Err(at) => self.add(at, pairs),
        }
    }

    #[cold]
    fn add(&mut self, at: usize, pairs: &[(&str, &str)]) -> TagsId {
        let bytes: usize = pairs.iter().map(|(key, value)| key.len() + value.len()).sum();
        if self.sets.len() == TAG_SETS_MAX || bytes > SET_BYTES_MAX {
            return TagsId::FOLDED;
        }
        let id = TagsId(self.sets.len() as u32 + TagsId::FIRST);
        self.sets.push(pairs.iter().copied().collect());
        self.sorted.insert(at, id);
        id
    }

    /// The sets with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Tags, TagsId)> {
        self.sets.iter().zip((TagsId::FIRST..).map(TagsId))
    }

    /// The set with a number of this recorder.
    pub(super) fn get(&self, id: TagsId) -> Option<&Tags> {
        id.is_set().then(|| self.sets.get((id.0 - TagsId::FIRST) as usize)).flatten()
    }
}

fn set(sets: &[Tags], id: TagsId) -> &Tags {
    &sets[(id.0 - TagsId::FIRST) as usize]
}

/// Pairs by key, each key once. `None` if there are too many.
fn sorted<'r, 'a>(
    pairs: &[(&'a str, &'a str)],
    room: &'r mut [(&'a str, &'a str); PAIRS_MAX],
) -> Option<&'r [(&'a str, &'a str)]> {
    let mut len = 0;
    for (key, value) in pairs {
        match room[..len].binary_search_by(|(known, _)| known.cmp(key)) {
            Ok(at) => room[at] = (key, value),
            Err(_) if len == PAIRS_MAX => return None,
            Err(at) => {
                room[at..=len].rotate_right(1);
                room[at] = (key, value);
                len += 1;
            }
        }
    }
    Some(&room[..len])
}

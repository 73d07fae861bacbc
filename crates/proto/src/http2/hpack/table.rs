//! The decoder's dynamic table (RFC 7541 2.3.2, 4): the fields that the peer has put in, newest
//! first.
//!
//! Two buffers that never grow: one for the bytes and a ring of entries. Bytes of an entry are
//! contiguous, so that fields can be handed out as slices; one that does not fit behind the newest
//! entry goes to the front of the buffer. Twice the table's size always has a place for it:
//!
//! ```text
//!     newest behind oldest      |......[oldest  ...  newest][new?]|   all live bytes and the new
//!     newest before oldest      |[.. newest][new?]....[oldest ..]-|   ones fit into one size
//! ```
//!
//! In the first case, if the new bytes do not fit at the end, the oldest begins beyond one size, so
//! they fit in front of it. In the second, the gap at the end is where an entry did not fit, so the
//! rest is at least one size, which is what live and new bytes take at most.

use super::ENTRY_OVERHEAD_BYTES;

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    at: u32,
    name_bytes: u32,
    value_bytes: u32,
}

impl Entry {
    fn end(self) -> usize {
        (self.at + self.name_bytes + self.value_bytes) as usize
    }

    /// What it counts of the table's size (RFC 7541 4.1).
    fn size(self) -> usize {
        (self.name_bytes + self.value_bytes) as usize + ENTRY_OVERHEAD_BYTES
    }
}

#[derive(Debug)]
pub(super) struct Table {
    bytes: Box<[u8]>,
    entries: Box<[Entry]>,
    /// Place of the newest in `entries`.
    newest: usize,
    count: usize,
    /// What the entries count together, and may count.
    size: usize,
    size_max: usize,
}

impl Table {
    /// An empty table that can be given up to `capacity` bytes, and has them.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            bytes: vec![0; 2 * capacity].into(),
            entries: vec![Entry::default(); capacity / ENTRY_OVERHEAD_BYTES].into(),
            newest: 0,
            count: 0,
            size: 0,
            size_max: capacity,
        }
    }

    /// What the entries may count together.
    pub(super) fn size_max(&self) -> usize {
        self.size_max
    }

    /// Makes it larger or smaller, up to its capacity.
    pub(super) fn resize(&mut self, size_max: usize) {
        debug_assert!(2 * size_max <= self.bytes.len());
        self.size_max = size_max;
        self.evict(size_max);
    }

    /// The field at `index`, from 0, the newest.
    #[inline]
    pub(super) fn field(&self, index: usize) -> Option<(&[u8], &[u8])> {
        if index >= self.count {
            return None;
        }
        let Entry { at, name_bytes, value_bytes } = self.entries[self.place(index)];
        let name_end = (at + name_bytes) as usize;
        let name = &self.bytes[at as usize..name_end];
        Some((name, &self.bytes[name_end..name_end + value_bytes as usize]))
    }

    /// Where the entry stands that is `index` older than the newest.
    fn place(&self, index: usize) -> usize {
        let count = self.entries.len();
        if self.newest >= index { self.newest - index } else { self.newest + count - index }
    }

    /// Puts a field in, for which old ones go. One that is larger than the table empties it (RFC
    /// 7541 4.4).
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let size = name.len() + value.len() + ENTRY_OVERHEAD_BYTES;
        if size > self.size_max {
            return self.evict(0);
        }
        self.evict(self.size_max - size);
        let end = if self.count == 0 { 0 } else { self.entries[self.newest].end() };
        let fits_behind = end + name.len() + value.len() <= self.bytes.len();
        let at = if fits_behind { end } else { 0 };
        let name_end = at + name.len();
        self.bytes[at..name_end].copy_from_slice(name);
        self.bytes[name_end..name_end + value.len()].copy_from_slice(value);
        self.newest = if self.newest + 1 == self.entries.len() { 0 } else { self.newest + 1 };
        self.entries[self.newest] =
            Entry { at: at as u32, name_bytes: name.len() as u32, value_bytes: value.len() as u32 };
        self.count += 1;
        self.size += size;
    }

    /// Removes the oldest until they count no more than `size_max`.
    fn evict(&mut self, size_max: usize) {
        while self.size > size_max {
            let oldest = self.place(self.count - 1);
            self.size -= self.entries[oldest].size();
            self.count -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Change {
        Insert(usize, usize),
        Resize(usize),
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            9 => (0usize..90, 0usize..90).prop_map(|(name, value)| Change::Insert(name, value)),
            1 => (0usize..=256).prop_map(Change::Resize),
        ]
    }

    proptest! {
        /// It holds what a list of owned fields would hold.
        #[test]
        fn holds_what_a_list_holds(changes in prop::collection::vec(change(), 0..200)) {
            let mut table = Table::new(256);
            let mut list: VecDeque<(Vec<u8>, Vec<u8>)> = VecDeque::new();
            let mut size_max = 256;
            for (number, change) in changes.into_iter().enumerate() {
                match change {
                    Change::Insert(name, value) => {
                        let field = (vec![number as u8; name], vec![!number as u8; value]);
                        table.insert(&field.0, &field.1);
                        list.push_front(field);
                    }
                    Change::Resize(size) => {
                        table.resize(size);
                        size_max = size;
                    }
                }
                let size = |list: &VecDeque<(Vec<u8>, Vec<u8>)>| -> usize {
                    list.iter().map(|(name, value)| name.len() + value.len() + 32).sum()
                };
                while size(&list) > size_max {
                    list.pop_back();
                }
                for (index, (name, value)) in list.iter().enumerate() {
                    prop_assert_eq!(table.field(index), Some((&name[..], &value[..])));
                }
                prop_assert_eq!(table.field(list.len()), None);
            }
        }
    }
}

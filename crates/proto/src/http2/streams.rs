//! The open streams of a connection: found by their number, and in the order in which they were
//! opened.
//!
//! Slots are used again with what is in them, so that their buffers are. The number of a stream
//! leads to its slot by open addressing; numbers rise by two, so neighbours take neighbouring
//! places and a lookup is one comparison.

use std::ops::{Index, IndexMut};

const NONE: u32 = u32::MAX;

/// A slot. Good until its stream is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(u32);

#[derive(Debug)]
struct Slot<S> {
    /// 0 when the slot is free.
    id: u32,
    older: u32,
    /// Of a free slot: the next free one.
    newer: u32,
    stream: S,
}

/// Open streams, with something of the caller's for each.
#[derive(Debug)]
pub struct Streams<S> {
    slots: Vec<Slot<S>>,
    /// Where a number's slot is, plus one; 0 is empty. At least twice as many places as slots.
    places: Vec<u32>,
    free: u32,
    oldest: u32,
    newest: u32,
    count: usize,
}

impl<S: Default> Streams<S> {
    /// None open, with room for `capacity` without allocating.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            slots: Vec::with_capacity(capacity),
            places: vec![0; places_for(capacity)],
            free: NONE,
            oldest: NONE,
            newest: NONE,
            count: 0,
        }
    }

    /// How many are open.
    #[must_use]
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many slots there are, free ones included.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The slot of an open stream.
    #[must_use]
    #[inline]
    pub fn find(&self, id: u32) -> Option<Key> {
        self.place(id).map(|place| Key(self.places[place] - 1))
    }

    /// The number of the stream in a slot.
    #[must_use]
    #[inline]
    pub fn id(&self, key: Key) -> u32 {
        self.slots[key.0 as usize].id
    }

    /// Opens a stream whose number is not open. What the slot's last stream left is still in it.
    pub fn open(&mut self, id: u32) -> Key {
        let slot = self.free_slot();
        let newest = self.newest;
        let entry = &mut self.slots[slot as usize];
        (entry.id, entry.older, entry.newer) = (id, newest, NONE);
        match newest {
            NONE => self.oldest = slot,
            _ => self.slots[newest as usize].newer = slot,
        }
        self.newest = slot;
        self.count += 1;
        if self.places.len() < 2 * self.slots.len() {
            self.rebuild();
        } else {
            self.enter(slot);
        }
        Key(slot)
    }

    /// Closes an open stream.
    pub fn close(&mut self, key: Key) {
        let Slot { id, older, newer, .. } = self.slots[key.0 as usize];
        if let Some(place) = self.place(id) {
            self.vacate(place);
        }
        match older {
            NONE => self.oldest = newer,
            _ => self.slots[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            _ => self.slots[newer as usize].older = older,
        }
        let entry = &mut self.slots[key.0 as usize];
        (entry.id, entry.newer) = (0, self.free);
        self.free = key.0;
        self.count -= 1;
    }

    /// The open streams, oldest first.
    pub(super) fn keys(&self) -> Keys<'_, S> {
        Keys { streams: self, front: self.oldest, back: self.newest, left: self.count }
    }

    /// The stream that was opened last.
    #[must_use]
    pub fn newest(&self) -> Option<Key> {
        (self.newest != NONE).then_some(Key(self.newest))
    }

    /// The stream that was opened first.
    #[must_use]
    pub fn oldest(&self) -> Option<Key> {
        (self.oldest != NONE).then_some(Key(self.oldest))
    }

    /// The stream that was opened after this one.
    #[must_use]
    pub fn after(&self, key: Key) -> Option<Key> {
        let newer = self.slots[key.0 as usize].newer;
        (newer != NONE).then_some(Key(newer))
    }

    fn free_slot(&mut self) -> u32 {
        if self.free == NONE {
            self.slots.push(Slot { id: 0, older: NONE, newer: NONE, stream: S::default() });
            return self.slots.len() as u32 - 1;
        }
        let slot = self.free;
        self.free = self.slots[slot as usize].newer;
        slot
    }

    fn home(&self, id: u32) -> usize {
        (id >> 1) as usize & (self.places.len() - 1)
    }

    fn next_place(&self, place: usize) -> usize {
        (place + 1) & (self.places.len() - 1)
    }

    /// Where an open stream's number stands.
    #[inline]
    fn place(&self, id: u32) -> Option<usize> {
        let mut place = self.home(id);
        loop {
            match self.places[place] {
                0 => return None,
                slot if self.slots[slot as usize - 1].id == id => return Some(place),
                _ => place = self.next_place(place),
            }
        }
    }

    fn enter(&mut self, slot: u32) {
        let mut place = self.home(self.slots[slot as usize].id);
        while self.places[place] != 0 {
            place = self.next_place(place);
        }
        self.places[place] = slot + 1;
    }

    /// Empties a place, and moves numbers back that were displaced by it.
    fn vacate(&mut self, place: usize) {
        let mask = self.places.len() - 1;
        let (mut hole, mut place) = (place, self.next_place(place));
        while self.places[place] != 0 {
            let home = self.home(self.slots[self.places[place] as usize - 1].id);
            let may_move = place.wrapping_sub(home) & mask >= place.wrapping_sub(hole) & mask;
            if may_move {
                self.places[hole] = self.places[place];
                hole = place;
            }
            place = self.next_place(place);
        }
        self.places[hole] = 0;
    }

    fn rebuild(&mut self) {
        self.places = vec![0; places_for(self.slots.len())];
        for slot in 0..self.slots.len() as u32 {
            if self.slots[slot as usize].id != 0 {
                self.enter(slot);
            }
        }
    }
}

fn places_for(slots: usize) -> usize {
    (4 * slots).next_power_of_two().max(16)
}

impl<S> Index<Key> for Streams<S> {
    type Output = S;

    #[inline]
    fn index(&self, key: Key) -> &S {
        &self.slots[key.0 as usize].stream
    }
}

impl<S> IndexMut<Key> for Streams<S> {
    #[inline]
    fn index_mut(&mut self, key: Key) -> &mut S {
        &mut self.slots[key.0 as usize].stream
    }
}

/// The open streams, oldest first.
#[derive(Debug)]
pub(super) struct Keys<'s, S> {
    streams: &'s Streams<S>,
    front: u32,
    back: u32,
    left: usize,
}

impl<S> Iterator for Keys<'_, S> {
    type Item = Key;

    fn next(&mut self) -> Option<Key> {
        self.left = self.left.checked_sub(1)?;
        let key = Key(self.front);
        self.front = self.streams.slots[self.front as usize].newer;
        Some(key)
    }
}

impl<S> DoubleEndedIterator for Keys<'_, S> {
    fn next_back(&mut self) -> Option<Key> {
        self.left = self.left.checked_sub(1)?;
        let key = Key(self.back);
        self.back = self.streams.slots[self.back as usize].older;
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// It holds what a list would hold, in the same order, while numbers rise and some streams
        /// stay open for long.
        #[test]
        fn holds_what_a_list_holds(changes in prop::collection::vec(0usize..40, 1..400)) {
            let mut streams: Streams<u32> = Streams::with_capacity(2);
            let mut list: Vec<u32> = Vec::new();
            let mut next = 1u32;
            for change in changes {
                if change < 20 && change < list.len() {
                    let id = list.remove(change);
                    let key = streams.find(id).expect("an open stream");
                    prop_assert_eq!(streams[key], id);
                    streams.close(key);
                    prop_assert_eq!(streams.find(id), None);
                } else {
                    let key = streams.open(next);
                    streams[key] = next;
                    list.push(next);
                    next += 2;
                }
                let ids: Vec<u32> = streams.keys().map(|key| streams.id(key)).collect();
                prop_assert_eq!(&ids, &list);
                let back: Vec<u32> = streams.keys().rev().map(|key| streams.id(key)).collect();
                prop_assert_eq!(back, list.iter().rev().copied().collect::<Vec<_>>());
                prop_assert!(list.iter().all(|&id| streams.find(id).is_some()));
                prop_assert_eq!(streams.count(), list.len());
            }
        }
    }
}

//! The exchanges under way: requests that were started and have not ended, each with its moments,
//! its place in the schedule, and the connection it is on.
//!
//! An exchange has an identity of its own. A timeout, a stamp or an error addresses one of them,
//! whichever connection carries it and however many others that connection carries. All of a run
//! have the same timeout, so they time out in the order in which they were started. The slab keeps
//! them linked in that order: to begin one, to end one and to find the next to time out take
//! constant time.
//!
//! Absent on purpose: what a connection does about an exchange that timed out. HTTP/1 has to close.

use std::ops::{Index, IndexMut};

use plimsoll_conn::{ExchangeId, Hop};
use plimsoll_core::Phase;
use plimsoll_core::part::Place;
use plimsoll_core::recorder::Moments;

use crate::id::ConnectionId;
use crate::inspection::Inspection;

/// A request and what is known of its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    pub moments: Moments,
    /// Its number in the whole run; a redirect's request has that of the one it follows.
    pub number: u64,
    /// Which of the plan's targets it is.
    pub target: u32,
    pub place: Place,
    /// How many redirects led to it.
    pub hops: u32,
    /// By what the source knows it.
    pub tag: u32,
    /// Whether the source has written it.
    pub is_written: bool,
    /// Which origin it goes to.
    pub origin: u16,
    pub measured: bool,
    /// Whether its body waits for `100 Continue`.
    pub withholds: bool,
    /// Whether the peer's flow control or the kernel has held back a part of its request.
    pub was_held_back: bool,
    /// The entry of the pool whose connection carries it.
    pub client: ConnectionId,
    /// Where its request ends in the output of its connection; `i64::MAX`: not known, since the
    /// rest of it is yet to be handed over.
    pub end_bytes: i64,
}

impl Exchange {
    /// Where it stands.
    pub(crate) fn phase(&self) -> Phase {
        match (self.moments.first_byte_ns, self.moments.written_ns) {
            (0, 0) => Phase::Sending,
            (0, _) => Phase::Waiting,
            _ => Phase::Receiving,
        }
    }
}

/// Stands for no entry.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Entry {
    exchange: Exchange,
    /// Its neighbours in the order of starting. Of an unused entry `later` is the next unused one.
    earlier: u32,
    later: u32,
}

/// A worker's exchanges.
#[derive(Debug)]
pub(crate) struct Exchanges {
    entries: Vec<Entry>,
    unused: u32,
    oldest: u32,
    newest: u32,
    len: usize,
    /// One for each entry, where the plan looks at more than status and length.
    inspections: Vec<Inspection>,
    inspects: bool,
    /// Whether the place of one that has ended is kept until it is freed.
    keeps: bool,
}

impl Exchanges {
    /// With room for `room` exchanges at a time; more than that allocate. `inspects`: responses are
    /// looked at beyond status and length. `keeps`: the place of one that has ended, and what is
    /// kept of its response, stays until it is [freed](Self::free).
    pub(crate) fn new(room: usize, inspects: bool, keeps: bool) -> Self {
        Self {
            entries: Vec::with_capacity(room),
            unused: NONE,
            oldest: NONE,
            newest: NONE,
            len: 0,
            inspections: Vec::new(),
            inspects,
            keeps,
        }
    }

    /// How many are under way.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The one that was started first.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<ExchangeId> {
        (self.oldest != NONE).then_some(ExchangeId(self.oldest))
    }

    /// All of them, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Exchange> {
        let entry = |number: u32| self.entries.get(number as usize);
        let later = move |before: &&Entry| entry(before.later);
        std::iter::successors(entry(self.oldest), later).map(|entry| &entry.exchange)
    }

    /// Begins an exchange; its `started_ns` is set.
    #[inline]
    pub(crate) fn begin(&mut self, exchange: Exchange) -> ExchangeId {
        let started_ns = exchange.moments.started_ns;
        // What follows from an event has the event's time, which may be a little before that of
        // what was started of itself in the same turn.
        let mut earlier = self.newest;
        while earlier != NONE && self.started_ns(earlier) > started_ns {
            earlier = self.entries[earlier as usize].earlier;
        }
        let later =
            if earlier == NONE { self.oldest } else { self.entries[earlier as usize].later };
        let number = self.insert(Entry { exchange, earlier, later });
        *self.link_after(earlier) = number;
        *self.link_before(later) = number;
        self.len += 1;
        ExchangeId(number)
    }

    /// Ends an exchange. Its identity is void from here on, unless places are kept.
    #[inline]
    pub(crate) fn end(&mut self, id: ExchangeId) -> Exchange {
        let ExchangeId(number) = id;
        let Entry { exchange, earlier, later } = self.entries[number as usize];
        *self.link_after(earlier) = later;
        *self.link_before(later) = earlier;
        self.len -= 1;
        if !self.keeps {
            self.free(id);
        }
        exchange
    }

    /// Gives the place of an exchange that has ended to another, where places are kept.
    #[inline]
    pub(crate) fn free(&mut self, ExchangeId(number): ExchangeId) {
        self.entries[number as usize].later = self.unused;
        self.unused = number;
    }

    /// What is kept of an exchange's response, also right after its end; `None` where the plan
    /// needs nothing of the kind.
    #[inline]
    pub(crate) fn inspection(&mut self, id: ExchangeId) -> Option<&mut Inspection> {
        self.inspections.get_mut(id.0 as usize)
    }

    /// Where an exchange's request was redirected to, if it was.
    #[inline]
    pub(crate) fn hop(&self, id: ExchangeId) -> Option<&Hop> {
        self.inspections.get(id.0 as usize).and_then(|inspection| inspection.hop.as_ref())
    }

    fn insert(&mut self, entry: Entry) -> u32 {
        let number = self.unused;
        if number == NONE {
            self.entries.push(entry);
            if self.inspects {
                self.inspections.push(Inspection::default());
            }
            return self.entries.len() as u32 - 1;
        }
        self.unused = self.entries[number as usize].later;
        self.entries[number as usize] = entry;
        number
    }

    fn started_ns(&self, number: u32) -> u64 {
        self.entries[number as usize].exchange.moments.started_ns
    }

    /// Where it stands what comes after an entry; after none comes the oldest.
    fn link_after(&mut self, number: u32) -> &mut u32 {
        match self.entries.get_mut(number as usize) {
            Some(entry) => &mut entry.later,
            None => &mut self.oldest,
        }
    }

    fn link_before(&mut self, number: u32) -> &mut u32 {
        match self.entries.get_mut(number as usize) {
            Some(entry) => &mut entry.earlier,
            None => &mut self.newest,
        }
    }
}

impl Index<ExchangeId> for Exchanges {
    type Output = Exchange;

    #[inline]
    fn index(&self, id: ExchangeId) -> &Exchange {
        &self.entries[id.0 as usize].exchange
    }
}

impl IndexMut<ExchangeId> for Exchanges {
    #[inline]
    fn index_mut(&mut self, id: ExchangeId) -> &mut Exchange {
        &mut self.entries[id.0 as usize].exchange
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_io::SocketId;
    use rand_core::{Rng as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn started_at(started_ns: u64, number: u64) -> Exchange {
        Exchange {
            moments: Moments { started_ns, ..Moments::default() },
            number,
            target: 0,
            place: Place::NOWHERE,
            hops: 0,
            tag: 0,
            is_written: false,
            origin: 0,
            measured: true,
            withholds: false,
            was_held_back: false,
            end_bytes: i64::MAX,
            client: ConnectionId::of(SocketId(0)),
        }
    }

    /// Against a plain list, kept sorted.
    #[test]
    fn the_oldest_is_always_known_whatever_ends() {
        for seed in 0..200 {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut exchanges = Exchanges::new(4, seed % 2 == 0, false);
            let mut list: Vec<(u64, u64, ExchangeId)> = Vec::new();
            for number in 0..300 {
                if random.next_u64() % 100 < 55 {
                    let started_ns = number * 10 - random.next_u64() % 30_u64.min(number * 10 + 1);
                    let id = exchanges.begin(started_at(started_ns, number));
                    list.push((started_ns, number, id));
                    list.sort_by_key(|(started_ns, number, _)| (*started_ns, *number));
                } else if !list.is_empty() {
                    let at = (random.next_u64() % list.len() as u64) as usize;
                    let (_, number, id) = list.remove(at);
                    assert_eq!(exchanges.end(id).number, number, "seed {seed}");
                }
                let numbers: Vec<u64> = exchanges.iter().map(|exchange| exchange.number).collect();
                let want: Vec<u64> = list.iter().map(|(_, number, _)| *number).collect();
                assert_eq!((numbers, exchanges.len()), (want, list.len()), "seed {seed}");
                let oldest = list.first().map(|(_, _, id)| *id);
                assert_eq!(exchanges.oldest(), oldest, "seed {seed}");
                assert!(list.iter().all(|(_, number, id)| exchanges[*id].number == *number));
            }
        }
    }
}

//! The order of the runs.
//!
//! Every repeat carries out each case once, in an order of its own drawn from the seed. A drift of
//! the machine, a neighbour that comes and goes, or the remains of one server therefore affect all
//! cases alike, and show as spread instead of as a difference.

use plimsoll_core::random::{Stream, below};

use crate::suite::{Load, Server, Suite};

/// A run to carry out.
#[derive(Debug, Clone, Copy)]
pub struct PlannedRun<'a> {
    /// The server.
    pub server: &'a Server,
    /// The load.
    pub load: &'a Load,
    /// Which repeat, from 1.
    pub repeat: u32,
    /// Its place in the whole order, from 1.
    pub position: u32,
}

/// What the stream of the order is for.
const PURPOSE: u64 = 0x6f72_6465_7200;

/// The order of all runs of a suite.
#[must_use]
pub fn order(suite: &Suite) -> Vec<PlannedRun<'_>> {
    let pairs = || {
        let of = |server| suite.loads.iter().map(move |load| (server, load));
        suite.servers.iter().flat_map(of)
    };
    let cases: Vec<(&Server, &Load)> = pairs()
        .filter(|(server, load)| suite.excluded(&server.name, &load.name).is_none())
        .collect();
    let mut slots = Vec::new();
    for repeat in 1..=suite.repeats {
        let mut shuffled = cases.clone();
        shuffle(&mut shuffled, Stream::new(suite.seed, PURPOSE + u64::from(repeat)));
        for (server, load) in shuffled {
            let position = slots.len() as u32 + 1;
            slots.push(PlannedRun { server, load, repeat, position });
        }
    }
    slots
}

/// Fisher and Yates' shuffle.
fn shuffle<T>(items: &mut [T], stream: Stream) {
    for last in (1..items.len()).rev() {
        let other = below(stream.word(last as u64), last as u128 + 1) as usize;
        items.swap(last, other);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn suite(seed: u64) -> Suite {
        let mut text = format!("name = \"s\"\nseed = {seed}\nrepeats = 4\n");
        for i in 0..5 {
            text += &format!("[[servers]]\nname = \"s{i}\"\ncommand = \"x\"\n");
            text += &format!("[[loads]]\nname = \"l{i}\"\n");
        }
        text += "[[exclude]]\nserver = \"s1\"\nreason = \"r\"\n";
        crate::suite::read(Path::new("s.toml"), Path::new("."), &text).expect("a suite")
    }

    fn names(slots: &[PlannedRun<'_>]) -> Vec<String> {
        slots.iter().map(|slot| format!("{}/{}", slot.server.name, slot.load.name)).collect()
    }

    #[test]
    fn each_repeat_has_every_case_once_in_an_order_of_its_own() {
        let suite = suite(7);
        let slots = order(&suite);
        assert_eq!(slots.len(), 4 * 4 * 5);
        let mut orders = BTreeSet::new();
        for (repeat, block) in (1..).zip(slots.chunks(20)) {
            assert!(block.iter().all(|slot| slot.repeat == repeat));
            let names = names(block);
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 20);
            assert!(names.iter().all(|name| !name.starts_with("s1")));
            orders.insert(names);
        }
        assert_eq!(orders.len(), 4);
        assert!(slots.iter().zip(1..).all(|(slot, position)| slot.position == position));
    }

    #[test]
    fn the_seed_decides() {
        let of = |seed| names(&order(&suite(seed)));
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn every_place_is_as_likely() {
        let mut first = [0_u32; 4];
        for seed in 0..4000 {
            let mut items = [0, 1, 2, 3];
            shuffle(&mut items, Stream::new(seed, PURPOSE));
            first[items[0]] += 1;
        }
        // Four standard deviations of a binomial around 1000.
        assert!(first.iter().all(|count| (890..=1110).contains(count)), "{first:?}");
    }
}

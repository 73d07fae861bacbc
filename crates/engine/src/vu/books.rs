//! A worker's tally, with what it takes to say where something happens.

use std::rc::Rc;

use plimsoll_script::js;

use super::tally::{Place, Tally};

/// See the head of this module.
pub(super) struct Books<T> {
    pub tally: T,
    /// Numbers of tags and groups.
    pub names: Rc<js::Worker>,
    /// What the wall clock showed at 0 of the driver's, ns since 1970.
    pub wall_base_ns: u64,
}

/// Who does something.
#[derive(Debug, Clone, Default)]
pub(super) struct Actor {
    pub scenario: Option<u32>,
    pub vu: u64,
    pub iteration: u64,
    pub group: Option<u32>,
    pub tags: Option<u32>,
    pub metadata: Option<js::Metadata>,
}

impl<T: Tally> Books<T> {
    /// A time on the driver's clock as ns since 1970.
    pub(super) fn wall_ns(&self, at_ns: u64) -> u64 {
        self.wall_base_ns.saturating_add(at_ns)
    }

    /// The tally, and where something happens that is to be told to it.
    pub(super) fn at(&mut self, actor: Actor, at_ns: u64) -> (&mut T, Place<'_>) {
        let wall_ns = self.wall_ns(at_ns);
        let Actor { scenario, vu, iteration, group, tags, metadata } = actor;
        let names = &self.names;
        let place = Place { scenario, vu, iteration, group, tags, metadata, wall_ns, at_ns, names };
        (&mut self.tally, place)
    }
}

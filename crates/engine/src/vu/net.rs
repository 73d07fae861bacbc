//! Requests of virtual users.

use std::cell::Ref;
use std::collections::VecDeque;

use plimsoll_io::{Driver, Event};
use plimsoll_script::js::{Answer, Request};

use super::books::{Actor, Books};
use super::scene::NEVER_NS;
use super::tally::Tally;

pub(super) struct Net<D> {
    pub driver: D,
    finished: VecDeque<(u32, u32)>,
    calls: Vec<u32>,
}

impl<D: Driver> Net<D> {
    pub(super) fn new(driver: D) -> Self {
        Self { driver, finished: VecDeque::new(), calls: Vec::new() }
    }
    pub(super) fn add_user(&mut self, _number: u64, _id: Option<u64>) {}
    pub(super) fn ask<T: Tally>(
        &mut self,
        user: u32,
        _actor: Actor,
        (number, _request): (u32, Ref<'_, Request>),
        _now_ns: u64,
        _books: &mut Books<T>,
    ) {
        self.calls.push(number);
        self.finished.push_back((user, self.calls.len() as u32 - 1));
    }
    pub(super) fn handle<T: Tally>(&mut self, _at_ns: u64, event: Event, _: &mut Books<T>) {
        if let Event::Received(received) = event {
            self.driver.release(received);
        }
    }
    pub(super) fn look<T: Tally>(&mut self, _now_ns: u64, _: &mut Books<T>) {}
    pub(super) fn flush(&mut self) {}
    pub(super) fn next_ns(&self) -> u64 {
        NEVER_NS
    }
    pub(super) fn take_finished(&mut self) -> Option<(u32, u32)> {
        self.finished.pop_front()
    }
    pub(super) fn answer(&self, call: u32) -> Answer<'_> {
        Answer { request: self.calls[call as usize], error: "no network", error_code: 1000, ..Answer::default() }
    }
    pub(super) fn forget(&mut self, _call: u32) {}
    pub(super) fn cut_off(&mut self, _user: u32) -> u64 {
        0
    }
    pub(super) fn close_all(&mut self, _user: u32) {}
    pub(super) fn take_bytes(&mut self, _user: u32) -> (u64, u64) {
        (0, 0)
    }
}

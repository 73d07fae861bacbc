//! What users are doing, where a source says step by step what that is.
//!
//! Absent on purpose: their requests. Those are exchanges like any other.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use crate::admission::Due;
use crate::deadlines::Deadlines;
use crate::labels::Group;

/// What the users of a worker are doing.
#[derive(Debug)]
pub(crate) struct Activities {
    activities: Vec<Activity>,
    /// How many users are in an iteration.
    busy: usize,
    /// When users wake up.
    pub naps: Deadlines,
    /// Users who are done with what they did, and since when.
    pub done: VecDeque<(u32, u64)>,
}

/// What a user is doing.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// Whether the source has said what it does before its next iteration.
    pub has_rested: bool,
    /// Whether it is doing what the source said, and takes up no iteration meanwhile.
    pub is_busy: bool,
    /// The iteration that it is in.
    pub iteration: Option<Iteration>,
    /// How many of its requests are under way or waiting.
    pub open: u32,
    /// Whether it is done but for those.
    pub is_done: bool,
    /// The groups that it is in, the innermost last.
    pub groups: Vec<Entered>,
}

/// A group that a user has entered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entered {
    pub group: Group,
    pub at_ns: u64,
}

/// An iteration under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Iteration {
    pub due: Due,
    pub started_ns: u64,
}

impl Activities {
    pub(crate) fn new(users: u32) -> Self {
        Self {
            activities: (0..users).map(|_| Activity::default()).collect(),
            busy: 0,
            naps: Deadlines::new(users as usize),
            done: VecDeque::new(),
        }
    }

    /// How many users are in an iteration.
    #[inline]
    pub(crate) fn busy(&self) -> usize {
        self.busy
    }

    /// A user takes up an iteration.
    pub(crate) fn take_up(&mut self, user: u32, iteration: Iteration) {
        self.busy += 1;
        self[user].is_busy = true;
        self[user].has_rested = false;
        self[user].iteration = Some(iteration);
    }

    /// A user is free; gives the iteration that it was in.
    pub(crate) fn put_down(&mut self, user: u32) -> Option<Iteration> {
        let activity = &mut self[user];
        activity.is_busy = false;
        activity.is_done = false;
        activity.groups.clear();
        let iteration = activity.iteration.take();
        self.busy -= usize::from(iteration.is_some());
        iteration
    }

    /// The iterations that are under way, which end here.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Iteration> {
        self.busy = 0;
        self.activities.iter_mut().filter_map(|activity| activity.iteration.take())
    }
}

impl Index<u32> for Activities {
    type Output = Activity;

    #[inline]
    fn index(&self, user: u32) -> &Activity {
        &self.activities[user as usize]
    }
}

impl IndexMut<u32> for Activities {
    #[inline]
    fn index_mut(&mut self, user: u32) -> &mut Activity {
        &mut self.activities[user as usize]
    }
}

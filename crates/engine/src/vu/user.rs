//! A virtual user on its worker: what it does, what it waits for, and where it belongs.

use std::collections::VecDeque;
use std::rc::Rc;

use plimsoll_script::js::{ScenarioFacts, Task, Vu};

use super::net::News;
use super::scene::NEVER_NS;

/// What a virtual user does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// Nothing: it is in the pool, or waits for an iteration to be due.
    Nothing,
    /// It evaluates its modules, for a scenario if one is named.
    Initializing(Option<u32>),
    /// It is in an iteration.
    Iterating,
    /// It does the one thing that it was made for.
    Alone,
    /// It has ended an iteration earlier than the least that one may take, and waits till then.
    Resting(u64),
}

/// What the script waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// Its turn.
    Turn,
    /// A time. Answers stay where they are.
    Until(u64),
    /// An answer, or a time.
    Answer(u64),
    /// An answer, news of a WebSocket, or a time.
    News {
        /// The socket by the script's number; `None` for any.
        of: Option<u32>,
        until_ns: u64,
    },
    /// Its turn, to be told how many bytes wait to be sent on a socket.
    Queued(u64),
}

/// Where a virtual user belongs.
#[derive(Debug, Clone)]
pub(super) struct Engaged {
    pub role: u32,
    /// Its place there.
    pub slot: u32,
    /// Iterations that it has begun there.
    pub begun: u64,
    /// When the iteration that it is in is cut off, because a ramp has taken it back.
    pub leaves_by_ns: Option<u64>,
    /// What scripts are told of the scenario.
    pub facts: Rc<ScenarioFacts>,
}

/// See the head of this module.
pub(super) struct User {
    /// Its number in this process, from 1; 0 for a throw-away one.
    pub number: u64,
    pub vu: Vu,
    pub doing: Doing,
    pub waits: Waits,
    /// The task that it begins when its turn comes.
    pub task: Option<Task>,
    pub engaged: Option<Engaged>,
    /// Whether it is in the queue of those that go on.
    pub is_queued: bool,
    /// Whether it stands in its scenario's list of those that are free.
    pub is_free: bool,
    /// Iterations that it has begun.
    pub iterations: u64,
    /// When its iteration was due, and when it started.
    pub due_ns: u64,
    pub started_ns: u64,
    /// The groups that it is in, each with when it was entered.
    pub groups: Vec<(u32, u64)>,
    /// Calls whose answers it has yet to be told.
    pub answered: VecDeque<u32>,
    /// What it has yet to be told of its channels and calls of gRPC.
    pub news: VecDeque<News>,
}

impl User {
    pub(super) fn new(number: u64, vu: Vu) -> Self {
        Self {
            number,
            vu,
            doing: Doing::Nothing,
            waits: Waits::Turn,
            task: None,
            engaged: None,
            is_queued: false,
            is_free: false,
            iterations: 0,
            due_ns: 0,
            started_ns: 0,
            groups: Vec::new(),
            answered: VecDeque::new(),
            news: VecDeque::new(),
        }
    }

    /// When the script is to be looked at, whatever happens.
    pub(super) fn wake_ns(&self) -> u64 {
        match (self.doing, self.waits) {
            (Doing::Resting(until_ns), _) => until_ns,
            (Doing::Nothing, _) | (_, Waits::Turn | Waits::Queued(_)) => NEVER_NS,
            (_, Waits::Until(at_ns) | Waits::Answer(at_ns)) => at_ns,
            (_, Waits::News { until_ns, .. }) => until_ns,
        }
    }
}

//! The seam between the engine and what decides what users do: a source is asked, and answers with
//! a step.
//!
//! A user takes up an iteration when the schedule has a slot for it, and does step after step until
//! the source says that it is done. In a plain run an iteration is one request.
//!
//! Absent on purpose: redirects and cookies. They are a matter of a request, whatever asked for it.

use std::sync::Arc;

use plimsoll_core::metric::{MetricId, Tags};
use plimsoll_core::outcome::Outcome;

use super::choice::Choice;

/// What a user does next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Sends a request, and waits for its answer.
    Send(Request),
    /// Sends a request, and goes on at once.
    Begin(Request),
    /// Sends what the source has [`written`](Source::written), and waits for the answers. Each
    /// request takes a slot of its own; those that the plan has no slot for are not sent.
    Write,
    /// Waits for the answer to a request that is under way.
    Wait,
    /// Does nothing for this long, ns.
    Sleep(u64),
    /// Records a value of a custom metric, and goes on at once.
    Record(Sample),
    /// Enters a [`group`](Source::group) within the one that it is in, and goes on at once. The
    /// requests that it asks for from now on belong to it.
    Enter(u32),
    /// Leaves the group that it entered last, and goes on at once. How long it was in there is
    /// recorded. Done leaves all.
    Leave,
    /// Has done what it was to do.
    Done,
}

/// A request of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Which of the run's origins it goes to.
    pub origin: u16,
    /// Which of the run's targets it is.
    pub target: u32,
    /// By what the source knows it: an answer names it.
    pub tag: u32,
}

/// A value of a custom metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Which metric, of those that the run has declared.
    pub metric: MetricId,
    /// The number by which the source knows the value's [`tags`](Source::tags); `None` without
    /// any.
    pub tags: Option<u32>,
    /// The value, in the metric's own unit.
    pub value: f64,
}

/// What a user learns.
#[derive(Debug, Clone, Copy)]
pub enum Reply<'a> {
    /// The step is taken, and took no time.
    Taken,
    /// It has slept.
    Woken,
    /// A request has ended.
    Ended(Answer<'a>),
}

/// What came of a request.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The [`tag`](Request::tag) of the request.
    pub tag: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// The lines of the response's head, where the source has an
    /// [`interest`](Source::interest) in it.
    pub head: &'a [u8],
    /// Its body, or as much of it as is kept, where the source has an interest in it.
    pub body: &'a [u8],
    /// How many of the user's requests are still under way.
    pub open: u32,
}

/// What a source wants to know of responses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interest {
    /// That they came.
    pub response: bool,
    /// Their heads.
    pub head: bool,
    /// Their bodies.
    pub body: bool,
}

/// One of the requests that a source has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Whether it is a HEAD request, whose response has no body.
    pub is_head: bool,
    /// Where its bytes end.
    pub end: usize,
}

/// Decides what users do. There is one for each worker; it numbers its users from 0.
pub trait Source {
    /// Whether users are asked after each request what they do next. Where they are not, an
    /// iteration is one request, and a connection with room for several requests has as many
    /// iterations at a time.
    const RESUMES: bool;

    /// Whether iterations are counted apart from requests.
    const COUNTS_ITERATIONS: bool;

    /// A user is free: what it does before it takes up its next iteration.
    fn rest(&mut self, user: u32) -> Step;

    /// A user takes up iteration `number` of the run.
    fn begin(&mut self, user: u32, number: u64) -> Step;

    /// A user goes on with what it was doing.
    fn resume(&mut self, user: u32, reply: Reply<'_>) -> Step;

    /// What it wants to know of responses. That may change.
    fn interest(&self) -> Interest;

    /// The requests of [`Step::Write`], as HTTP/1 has them: the bytes of all, and where each ends.
    fn written(&self) -> (&[u8], &[Written]);

    /// The tags with a number that a [`Sample`] named. Asked once for each number, so they never
    /// change. Numbers count from 0.
    fn tags(&self, _number: u32) -> Tags {
        Tags::default()
    }

    /// The name of a group that a user has entered, with those of the groups around it. Asked once
    /// for each number, so it never changes. Numbers count from 0.
    fn group(&self, _number: u32) -> String {
        String::new()
    }

    /// Whether it starts nothing more.
    fn is_over(&self) -> bool;
}

/// What a plain run sends: an iteration is one request, of the target that its number chooses.
#[derive(Debug, Clone)]
pub struct Targets(Arc<Choice>);

impl Targets {
    pub(super) fn new(choice: Arc<Choice>) -> Self {
        Self(choice)
    }
}

impl Source for Targets {
    const RESUMES: bool = false;
    const COUNTS_ITERATIONS: bool = false;

    fn rest(&mut self, _user: u32) -> Step {
        Step::Done
    }

    #[inline]
    fn begin(&mut self, _user: u32, number: u64) -> Step {
        Step::Send(Request { origin: 0, target: self.0.choose(number), tag: 0 })
    }

    fn resume(&mut self, _user: u32, _reply: Reply<'_>) -> Step {
        Step::Done
    }

    fn interest(&self) -> Interest {
        Interest::default()
    }

    fn written(&self) -> (&[u8], &[Written]) {
        (&[], &[])
    }

    #[inline]
    fn is_over(&self) -> bool {
        false
    }
}

//! Who is lent to which scenario, and until when: what is decided for all workers together.
//!
//! It acts when a scenario starts, when a ramp steps, and when a VU comes back: not on the path of
//! an iteration.
//!
//! ```text
//!            lend                 the ramp falls
//!   pool ───────────▶ in a scenario ◀────────────▶ leaving
//!     ▲                     │        it rises         │
//!     └──────── returned ───┴─────────────────────────┘
//! ```

use std::collections::VecDeque;
use std::sync::Arc;

use plimsoll_core::executor::Executor;
use plimsoll_core::schedule::UserStep;

use super::scene::{NEVER_NS, Scene};

/// What a worker is to do with one of its VUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Initialise it, for a scenario if one is named.
    Initialize { vu: u32, role: Option<u32> },
    /// It belongs to a scenario from now on. `slot` is its place there.
    Join { vu: u32, role: u32, slot: u32 },
    /// It starts no iteration any more, and the one it is in ends by then.
    Lower { vu: u32, by_ns: u64 },
    /// It goes on.
    Raise { vu: u32 },
}

impl Order {
    /// Whose order it is.
    pub(super) fn vu(self) -> u32 {
        match self {
            Self::Initialize { vu, .. }
            | Self::Join { vu, .. }
            | Self::Lower { vu, .. }
            | Self::Raise { vu } => vu,
        }
    }
}

/// What has become of scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// It starts.
    Started(u32),
    /// It is over; this many iterations of its count were never started.
    Over(u32, u64),
    /// It has all the VUs that it may have, and they do not suffice.
    Exhausted(u32),
}

/// What it has decided.
#[derive(Debug, Default)]
pub(super) struct Decided {
    pub orders: Vec<Order>,
    pub news: Vec<News>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Playing,
    Over,
}

/// A place of a VU in a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Empty,
    /// It waits for a VU to be free.
    Wanted,
    Filled(u32),
    /// A ramp has taken it back, and its VU may still be in an iteration.
    Leaving(u32),
}

struct Play {
    stage: Stage,
    slots: Vec<Slot>,
    /// How many slots have a VU.
    filled: u64,
    /// The steps of a ramp that are still to come.
    steps: VecDeque<UserStep>,
    /// Whether a VU is being initialised for it.
    is_growing: bool,
}

/// See the head of this module.
pub(super) struct Director {
    scenes: Arc<[Scene]>,
    plays: Vec<Play>,
    pool: VecDeque<u32>,
    /// Scenarios and their slots that wait for a VU.
    wanting: VecDeque<(u32, u32)>,
    begin_ns: u64,
    /// When everything is stopped.
    pub stop_ns: u64,
    /// VUs that have a number.
    numbered: u64,
    vus_max: u64,
    /// VUs that are being initialised before the start.
    pub initializing: u64,
}

impl Director {
    pub(super) fn new(scenes: Arc<[Scene]>, vus_planned: u64, vus_max: u64) -> Self {
        let play = |_: &Scene| Play {
            stage: Stage::Waiting,
            slots: Vec::new(),
            filled: 0,
            steps: VecDeque::new(),
            is_growing: false,
        };
        Self {
            plays: scenes.iter().map(play).collect(),
            scenes,
            pool: VecDeque::new(),
            wanting: VecDeque::new(),
            begin_ns: NEVER_NS,
            stop_ns: NEVER_NS,
            numbered: vus_planned,
            vus_max: vus_max.max(vus_planned),
            initializing: vus_planned,
        }
    }

    /// The scenarios start at `at_ns`, each as long after that as it says.
    pub(super) fn begin(&mut self, at_ns: u64) {
        self.begin_ns = at_ns;
        // Those that were initialised first are lent first.
        self.pool.make_contiguous().sort_unstable();
    }

    /// Whether every scenario is over.
    pub(super) fn is_over(&self) -> bool {
        self.begin_ns != NEVER_NS && self.plays.iter().all(|play| play.stage == Stage::Over)
    }

    /// When it has something to do.
    pub(super) fn next_ns(&self) -> u64 {
        if self.begin_ns == NEVER_NS {
            return NEVER_NS;
        }
        let next = |(play, scene): (&Play, &Scene)| match play.stage {
            Stage::Waiting => self.start_ns(scene).min(self.stop_ns),
            Stage::Playing => {
                let end_ns = scene.end_ns(self.stop_ns);
                let step_ns = play
                    .steps
                    .front()
                    .map_or(NEVER_NS, |step| scene.begin_ns().saturating_add(step.at_ns));
                let look_ns = if play.filled == 0 { end_ns } else { NEVER_NS };
                step_ns.min(look_ns)
            }
            Stage::Over => NEVER_NS,
        };
        self.plays.iter().zip(self.scenes.iter()).map(next).min().unwrap_or(NEVER_NS)
    }

    fn start_ns(&self, scene: &Scene) -> u64 {
        self.begin_ns.saturating_add(scene.role.start_ns)
    }

    /// Does what is due.
    pub(super) fn act(&mut self, now_ns: u64, decided: &mut Decided) {
        for role in 0..self.plays.len() {
            if self.plays[role].stage == Stage::Waiting {
                let start_ns = self.start_ns(&self.scenes[role]);
                // One that was to start before the stop starts, however late that is noticed: what
                // was due of it until then is started or dropped.
                if now_ns >= self.stop_ns && self.stop_ns <= start_ns {
                    self.plays[role].stage = Stage::Over;
                    decided.news.push(News::Over(role as u32, 0));
                } else if now_ns >= start_ns {
                    self.start(role, start_ns, decided);
                }
            }
            if self.plays[role].stage == Stage::Playing {
                self.step(role, now_ns, decided);
                self.end(role, now_ns, decided);
            }
        }
    }

    fn start(&mut self, role: usize, start_ns: u64, decided: &mut Decided) {
        let scenes = Arc::clone(&self.scenes);
        let scene = &scenes[role];
        self.plays[role].stage = Stage::Playing;
        if let Executor::RampingVus { ramp, .. } = &scene.role.executor {
            self.plays[role].steps = ramp.steps(&scene.role.users).collect();
        }
        for slot in 0..scene.vus() as usize {
            self.fill(role, slot, decided);
        }
        scene.begin(start_ns);
        decided.news.push(News::Started(role as u32));
    }

    /// Carries out the steps of a ramp that are due.
    fn step(&mut self, role: usize, now_ns: u64, decided: &mut Decided) {
        let scenes = Arc::clone(&self.scenes);
        let scene = &scenes[role];
        let Executor::RampingVus { graceful_ramp_down_ns, .. } = &scene.role.executor else {
            return;
        };
        let end_ns = scene.end_ns(self.stop_ns);
        while let Some(step) = self.plays[role].steps.front().copied() {
            let at_ns = scene.begin_ns().saturating_add(step.at_ns);
            if at_ns > now_ns && end_ns > now_ns {
                return;
            }
            self.plays[role].steps.pop_front();
            // What a stop cuts off of the ramp never comes. At the ramp's own end its graceful
            // stop begins, but users that its last step takes back have what every step gives.
            let is_last =
                at_ns == end_ns && step.at_ns == scene.role.executor.regular_duration_ns();
            if at_ns >= end_ns && !is_last {
                continue;
            }
            let users = step.users as usize;
            let by_ns = at_ns.saturating_add(*graceful_ramp_down_ns);
            for slot in (users..self.plays[role].slots.len()).rev() {
                self.lower(role, slot, by_ns, decided);
            }
            for slot in 0..users {
                if is_last {
                    self.raise(role, slot, decided);
                } else {
                    self.fill(role, slot, decided);
                }
            }
        }
    }

    /// Has a VU that is on its way out stay.
    fn raise(&mut self, role: usize, slot: usize, decided: &mut Decided) {
        if let Some(Slot::Leaving(vu)) = self.plays[role].slots.get(slot).copied() {
            self.plays[role].slots[slot] = Slot::Filled(vu);
            decided.orders.push(Order::Raise { vu });
        }
    }

    /// Gives a slot a VU, unless it has one.
    fn fill(&mut self, role: usize, slot: usize, decided: &mut Decided) {
        let play = &mut self.plays[role];
        if play.slots.len() <= slot {
            play.slots.resize(slot + 1, Slot::Empty);
        }
        match play.slots[slot] {
            Slot::Filled(_) | Slot::Wanted => {}
            Slot::Leaving(_) => self.raise(role, slot, decided),
            Slot::Empty => match self.pool.pop_front() {
                Some(vu) => self.join(role, slot, vu, decided),
                None => {
                    play.slots[slot] = Slot::Wanted;
                    self.wanting.push_back((role as u32, slot as u32));
                }
            },
        }
    }

    fn join(&mut self, role: usize, slot: usize, vu: u32, decided: &mut Decided) {
        let play = &mut self.plays[role];
        play.slots[slot] = Slot::Filled(vu);
        play.filled += 1;
        if self.scenes[role].is_of_arrivals() {
            // It counts as free from now on, so that nothing is dropped before its worker knows.
            self.scenes[role].add_free();
        }
        decided.orders.push(Order::Join { vu, role: role as u32, slot: slot as u32 });
    }

    fn lower(&mut self, role: usize, slot: usize, by_ns: u64, decided: &mut Decided) {
        let play = &mut self.plays[role];
        match play.slots[slot] {
            Slot::Filled(vu) => {
                play.slots[slot] = Slot::Leaving(vu);
                decided.orders.push(Order::Lower { vu, by_ns });
            }
            Slot::Wanted => {
                play.slots[slot] = Slot::Empty;
                self.wanting.retain(|wanting| *wanting != (role as u32, slot as u32));
            }
            Slot::Empty | Slot::Leaving(_) => {}
        }
    }

    /// A VU has left a scenario.
    pub(super) fn returned(
        &mut self,
        vu: u32,
        role: u32,
        slot: u32,
        now_ns: u64,
        decided: &mut Decided,
    ) {
        let (at, slot) = (role as usize, slot as usize);
        let end_ns = self.scenes[at].end_ns(self.stop_ns);
        let play = &mut self.plays[at];
        // A ramp may have risen while it was on its way out.
        let is_wanted = matches!(play.slots[slot], Slot::Filled(_))
            && matches!(self.scenes[at].role.executor, Executor::RampingVus { .. })
            && now_ns < end_ns;
        play.slots[slot] = Slot::Empty;
        play.filled -= 1;
        if is_wanted {
            self.join(at, slot, vu, decided);
            return;
        }
        self.take_in(vu, now_ns, decided);
        self.end(at, now_ns, decided);
    }

    /// A VU is free for any scenario.
    fn take_in(&mut self, vu: u32, now_ns: u64, decided: &mut Decided) {
        while let Some((role, slot)) = self.wanting.pop_front() {
            let at = role as usize;
            if now_ns < self.scenes[at].end_ns(self.stop_ns) {
                self.join(at, slot as usize, vu, decided);
                return;
            }
            self.plays[at].slots[slot as usize] = Slot::Empty;
        }
        self.pool.push_back(vu);
    }

    /// A VU is initialised, or cannot be.
    pub(super) fn initialized(
        &mut self,
        vu: u32,
        role: Option<u32>,
        is_usable: bool,
        now_ns: u64,
        decided: &mut Decided,
    ) {
        let Some(role) = role else {
            self.initializing = self.initializing.saturating_sub(1);
            if is_usable {
                self.take_in(vu, now_ns, decided);
            }
            return;
        };
        let at = role as usize;
        self.plays[at].is_growing = false;
        self.scenes[at].forget_want();
        if !is_usable {
            return;
        }
        if self.plays[at].stage == Stage::Playing && now_ns < self.scenes[at].end_ns(self.stop_ns) {
            self.add_slot(at, vu, decided);
        } else {
            self.take_in(vu, now_ns, decided);
        }
    }

    fn add_slot(&mut self, role: usize, vu: u32, decided: &mut Decided) {
        let slot = self.plays[role].slots.len();
        self.plays[role].slots.push(Slot::Empty);
        self.join(role, slot, vu, decided);
    }

    /// A scenario has dropped iterations: it gets another VU, if it may have one.
    pub(super) fn grow(&mut self, role: u32, now_ns: u64, decided: &mut Decided) {
        let at = role as usize;
        let scene = &self.scenes[at];
        let play = &mut self.plays[at];
        let is_playing = play.stage == Stage::Playing && now_ns < scene.end_ns(self.stop_ns);
        if !is_playing || play.is_growing {
            return;
        }
        if play.slots.len() as u64 >= scene.vus_max() {
            decided.news.push(News::Exhausted(role));
        } else if self.numbered < self.vus_max {
            self.numbered += 1;
            play.is_growing = true;
            decided.orders.push(Order::Initialize { vu: self.numbered as u32, role: Some(role) });
        } else if let Some(vu) = self.pool.pop_front() {
            scene.forget_want();
            self.add_slot(at, vu, decided);
        } else {
            decided.news.push(News::Exhausted(role));
        }
    }

    /// Ends a scenario of which nothing is left.
    fn end(&mut self, role: usize, now_ns: u64, decided: &mut Decided) {
        let scene = &self.scenes[role];
        let play = &mut self.plays[role];
        if play.stage != Stage::Playing || play.filled > 0 {
            return;
        }
        let is_time = now_ns >= scene.end_ns(self.stop_ns);
        let is_done = match &scene.role.executor {
            Executor::RampingVus { .. } | Executor::ConstantArrivalRate { .. } => is_time,
            Executor::RampingArrivalRate { .. } => is_time || scene.due_ns(self.stop_ns).is_none(),
            _ => is_time || !play.slots.contains(&Slot::Wanted),
        };
        if is_done {
            play.stage = Stage::Over;
            play.slots = Vec::new();
            play.steps = VecDeque::new();
            self.wanting.retain(|(wanting, _)| *wanting as usize != role);
            let dropped = self.scenes[role].take_rest(self.stop_ns);
            decided.news.push(News::Over(role as u32, dropped));
        }
    }
}

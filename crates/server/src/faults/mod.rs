//! Deliberate faults, to test testers with: stalls, latency, errors, closes and resets.
//!
//! [`Faults`] lists them. A `Fates` draws one per request from a seed and from the time it is
//! given, so the same seed gives the same faults. Stalls depend only on the time since the server's
//! start, so a test knows the truth to compare with.

mod spec;

use std::num::NonZeroU32;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use plimsoll_proto::grpc::Code;
use plimsoll_proto::http2::ErrorCode;

pub use spec::{
    ErrorMix, FaultSpecError, GoawaySpec, GrpcStatusMix, LatencyMix, ResetMix, Share, Stall,
};

/// The faults a server commits; none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    /// When the server answers nothing. A request that arrives then, or would be answered then, is
    /// answered when the stall ends.
    pub stall: Option<Stall>,
    /// How long answers are held back.
    pub latency: LatencyMix,
    /// Which answers are replaced by an error.
    pub errors: ErrorMix,
    /// The share of requests at which the connection is reset.
    pub reset: Share,
    /// A connection is closed after this many answers, the last of which says so.
    pub close_every: Option<NonZeroU32>,
    /// Which calls of gRPC end with a status instead of their answer.
    pub grpc_status: GrpcStatusMix,
    /// Faults that only HTTP/2 has.
    pub http2: StreamFaults,
    /// What the random choices are drawn from.
    pub seed: u64,
}

/// The faults that only HTTP/2 has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamFaults {
    /// How many streams a client may have open, instead of the server's own limit.
    pub streams: Option<u32>,
    /// How late a connection's first SETTINGS are. Before them, nothing else is sent, and no
    /// request is read.
    pub settings_delay_ns: u64,
    /// Which requests get RST_STREAM, with which code.
    pub resets: ResetMix,
    /// The share of requests that get RST_STREAM with REFUSED_STREAM.
    pub refused: Share,
    /// After how many requests a connection says GOAWAY, and how.
    pub goaway: Option<GoawaySpec>,
    /// Bytes of the window of each stream, instead of the server's own.
    pub window_bytes: Option<u32>,
    /// How late the client gets new room in a stream's window.
    pub window_delay_ns: u64,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goaway {
    /// In two steps (RFC 9113 6.8): the first takes nothing back, the second names the last request
    /// that was taken.
    Graceful,
    /// With a last stream below the current one: it, and those above, are given up.
    Abrupt,
}

impl Faults {
    /// Whether the server commits no fault, so that nothing need be checked at each request.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self { seed: self.seed, ..Self::default() }
    }
}

/// What becomes of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fate {
    /// When it is answered, on the server's clock.
    pub(crate) due_ns: u64,
    /// How.
    pub(crate) outcome: Outcome,
}

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As its route says.
    Answer,
    /// With this status.
    Error(u16),
    /// Not at all: the connection is reset.
    Reset,
}

/// What becomes of one request over HTTP/2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamFate {
    /// When it is answered, on the server's clock.
    pub(crate) due_ns: u64,
    /// How.
    pub(crate) outcome: StreamOutcome,
}

/// How a request over HTTP/2 is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamOutcome {
    /// As its route says.
    Answer,
    /// With this status.
    Error(u16),
    /// With this status of gRPC.
    Status(Code),
    /// Not at all: its stream is reset.
    Reset(ErrorCode),
}

/// The faults of one worker, drawn one request after the other.
#[derive(Debug)]
pub(crate) struct Fates {
    faults: Faults,
    active: bool,
    start_ns: u64,
    random: Xoshiro256PlusPlus,
    /// For what only calls of gRPC draw, so that they do not shift what other requests draw.
    call_random: Xoshiro256PlusPlus,
}

impl Fates {
    /// The faults of the worker with this number. Stalls count from `start_ns`, when the server
    /// started.
    pub(crate) fn new(faults: Faults, worker: usize, start_ns: u64) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(faults.seed.wrapping_add(worker as u64));
        let mut call_random = random.clone();
        call_random.jump();
        Self { active: !faults.is_none(), faults, start_ns, random, call_random }
    }

    /// Whether any request can have a fault.
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }

    /// Whether a connection is to be closed with its `answers`-th answer.
    pub(crate) fn closes_after(&self, answers: u32) -> bool {
        self.faults.close_every.is_some_and(|every| answers >= every.get())
    }

    /// The fate of the next request, whose answer is ready at `ready_ns`. Draws the same number of
    /// times whatever comes out, so that one fault does not shift the others.
    pub(crate) fn draw(&mut self, ready_ns: u64) -> Fate {
        let (reset, error, latency) =
            (self.random.next_u64(), self.random.next_u64(), self.random.next_u64());
        let outcome = match self.faults.errors.draw(error) {
            _ if self.faults.reset.draw(reset) => Outcome::Reset,
            Some(status) => Outcome::Error(status),
            None => Outcome::Answer,
        };
        let late_ns = self.faults.latency.draw(latency);
        Fate { due_ns: self.stalled_until_ns(ready_ns.saturating_add(late_ns)), outcome }
    }

    /// The fate of the next request over HTTP/2. Where HTTP/1 resets the connection, the stream is.
    pub(crate) fn draw_stream(&mut self, ready_ns: u64) -> StreamFate {
        if !self.active {
            return StreamFate { due_ns: ready_ns, outcome: StreamOutcome::Answer };
        }
        let Fate { due_ns, outcome } = self.draw(ready_ns);
        let (refused, reset) = (self.random.next_u64(), self.random.next_u64());
        let faults = &self.faults.http2;
        let outcome = match (faults.resets.draw(reset), outcome) {
            _ if faults.refused.draw(refused) => StreamOutcome::Reset(ErrorCode::REFUSED_STREAM),
            (Some(code), _) => StreamOutcome::Reset(code),
            (None, Outcome::Reset) => StreamOutcome::Reset(ErrorCode::INTERNAL_ERROR),
            (None, Outcome::Error(status)) => StreamOutcome::Error(status),
            (None, Outcome::Answer) => StreamOutcome::Answer,
        };
        StreamFate { due_ns, outcome }
    }

    /// The fate of the next call of gRPC.
    pub(crate) fn draw_call(&mut self, ready_ns: u64) -> StreamFate {
        let fate = self.draw_stream(ready_ns);
        if !self.active {
            return fate;
        }
        let drawn = self.faults.grpc_status.draw(self.call_random.next_u64());
        match (fate.outcome, drawn) {
            (StreamOutcome::Answer, Some(code)) => {
                StreamFate { outcome: StreamOutcome::Status(code), ..fate }
            }
            _ => fate,
        }
    }

    /// Whether a connection says GOAWAY at its `requests`-th request, and how.
    #[inline]
    pub(crate) fn goaway_after(&self, requests: u32) -> Option<Goaway> {
        let goaway = self.faults.http2.goaway.filter(|goaway| requests == goaway.every.get())?;
        Some(goaway.how)
    }

    /// How late connections' first SETTINGS are.
    pub(crate) fn settings_delay_ns(&self) -> u64 {
        self.faults.http2.settings_delay_ns
    }

    /// How late new room in a stream's window is.
    pub(crate) fn window_delay_ns(&self) -> u64 {
        self.faults.http2.window_delay_ns
    }

    /// When something ready at `ready_ns` may go out: at once, or at the end of a stall.
    pub(crate) fn stalled_until_ns(&self, ready_ns: u64) -> u64 {
        let elapsed_ns = ready_ns.saturating_sub(self.start_ns);
        match self.faults.stall {
            Some(stall) => ready_ns.saturating_add(stall.remaining_ns(elapsed_ns)),
            None => ready_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(latency: &str, errors: &str, reset: &str) -> Faults {
        Faults {
            latency: latency.parse().expect("latency"),
            errors: errors.parse().expect("errors"),
            reset: reset.parse().expect("reset"),
            seed: 7,
            ..Faults::default()
        }
    }

    #[test]
    fn none_is_none_whatever_the_seed() {
        assert!(Faults { seed: 3, ..Faults::default() }.is_none());
        assert!(!Fates::new(Faults::default(), 0, 0).is_active());
        assert!(!faults("1%:1ms", "0%:500", "0%").is_none());
        assert!(!Faults { close_every: NonZeroU32::new(1), ..Faults::default() }.is_none());
        assert!(!Faults { stall: "1s@2s".parse().ok(), ..Faults::default() }.is_none());
        let grpc_status = "1%:ABORTED".parse().expect("a mix");
        assert!(!Faults { grpc_status, ..Faults::default() }.is_none());
    }

    #[test]
    fn shares_are_drawn_as_asked_and_the_same_for_the_same_seed() {
        let draw = |worker| {
            let mut fates = Fates::new(faults("9%:10ms,1%:1s", "2%:503,1%:500", "0.5%"), worker, 0);
            (0..100_000).map(|_| fates.draw(0)).collect::<Vec<_>>()
        };
        let first = draw(0);
        assert_eq!(first, draw(0));
        assert_ne!(first, draw(1), "workers have streams of their own");
        let count = |is: &dyn Fn(&Fate) -> bool| first.iter().filter(|fate| is(fate)).count();
        // Exact for this seed; the expectations are 500, 1990, 995, 9000 and 1000.
        assert_eq!(
            [
                count(&|fate| fate.outcome == Outcome::Reset),
                count(&|fate| fate.outcome == Outcome::Error(503)),
                count(&|fate| fate.outcome == Outcome::Error(500)),
                count(&|fate| fate.due_ns == 10_000_000),
                count(&|fate| fate.due_ns == 1_000_000_000),
            ],
            [511, 2002, 953, 8963, 1034],
        );
    }

    #[test]
    fn one_fault_does_not_shift_the_others() {
        let mut plain = Fates::new(faults("50%:1ms", "0%:500", "0%"), 0, 0);
        let mut erring = Fates::new(faults("50%:1ms", "50%:500", "50%"), 0, 0);
        for _ in 0..1000 {
            assert_eq!(plain.draw(5).due_ns, erring.draw(5).due_ns);
        }
    }

    #[test]
    fn calls_draw_a_status_beside_what_all_requests_draw() {
        let with = |grpc_status: &str| Faults {
            grpc_status: grpc_status.parse().expect("a mix"),
            ..faults("50%:1ms", "10%:503", "0%")
        };
        let mut plain = Fates::new(with("0%:1"), 0, 0);
        let mut erring = Fates::new(with("20%:UNAVAILABLE,5%:8"), 0, 0);
        let mut counts = [0; 4];
        for _ in 0..10_000 {
            let (other, fate) = (plain.draw_stream(5), erring.draw_call(5));
            assert_eq!(other.due_ns, fate.due_ns);
            match fate.outcome {
                StreamOutcome::Status(Code::UNAVAILABLE) => counts[0] += 1,
                StreamOutcome::Status(Code::RESOURCE_EXHAUSTED) => counts[1] += 1,
                outcome => {
                    assert_eq!(outcome, other.outcome);
                    counts[2 + usize::from(outcome == StreamOutcome::Answer)] += 1;
                }
            }
        }
        // Exact for this seed; the expectations are 1800, 450, 1000 and 6750.
        assert_eq!(counts, [1828, 438, 984, 6750]);
    }

    #[test]
    fn certain_and_impossible_shares() {
        let mut always = Fates::new(faults("100%:1ms", "100%:503", "0%"), 0, 0);
        for _ in 0..1000 {
            let fate = always.draw(0);
            assert_eq!(fate, Fate { due_ns: 1_000_000, outcome: Outcome::Error(503) });
        }
    }

    #[test]
    fn latency_that_ends_in_a_stall_waits_for_its_end() {
        let stalling =
            Faults { stall: "300ms@1s".parse().ok(), ..faults("100%:50ms", "0%:500", "0%") };
        let start_ns = 5_000_000_000;
        let mut fates = Fates::new(stalling, 0, start_ns);
        for (ready_ms, due_ms) in [(0, 50), (949, 999), (950, 1300), (1299, 1349), (2000, 2050)] {
            let fate = fates.draw(start_ns + ready_ms * 1_000_000);
            assert_eq!(fate.due_ns, start_ns + due_ms * 1_000_000, "{ready_ms}");
        }
    }

    #[test]
    fn closing_counts_answers() {
        let every =
            |n| Fates::new(Faults { close_every: NonZeroU32::new(n), ..Faults::default() }, 0, 0);
        assert!(every(1).closes_after(1));
        assert!(!every(3).closes_after(2));
        assert!(every(3).closes_after(3));
        assert!(!every(0).closes_after(u32::MAX));
    }
}

//! What all connections of an oracle share: its mode, its log, and what is due when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::clock_ns;
use super::log::{Entry, Log, Side, StreamReset};
use super::mode::{Act, Answer, Mode};
use super::session::Timer;

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// Taking connections again.
    Accept,
    /// The oracle's part of a connection's handshake leaves: its slot and its number.
    Handshake(usize, usize),
    /// Going on with a connection.
    Peer(usize, usize),
    /// Going on with something on a connection that has a session.
    Session(usize, usize, Timer),
}

/// What all connections share.
pub(super) struct Shared {
    pub mode: Mode,
    pub log: Log,
    pub due: BinaryHeap<Reverse<(u64, Due)>>,
    /// When the first request came.
    pub first_ns: Option<u64>,
    busy_until_ns: u64,
    slowed: u32,
}

impl Shared {
    pub(super) fn new(mode: Mode) -> Self {
        Self {
            mode,
            log: Log::with_room(),
            due: BinaryHeap::new(),
            first_ns: None,
            busy_until_ns: 0,
            slowed: 0,
        }
    }

    /// Logs a request that came on a connection after this many answers: its number in the log and
    /// what becomes of it. `None`: the log is full.
    pub(super) fn request(&mut self, entry: Entry, answers: u32) -> Option<(usize, Answer)> {
        self.first_ns.get_or_insert(entry.opened_ns);
        let sequence = self.log.entries.len() as u64;
        let connection = entry.connection as usize;
        self.log.connections[connection].requests += 1;
        let number = self.log.push(entry)?;
        let mut answer = self.mode.answer(sequence);
        answer.delay_ns += self.mode.slow_connections_ns * (connection as u64 % 2);
        if self.mode.hang_after > 0 && answers >= self.mode.hang_after {
            answer.act = Act::Hang;
        }
        Some((number, answer))
    }

    /// When an answer to a request that is there now is due.
    pub(super) fn due_ns(&mut self, answer: Answer, now_ns: u64) -> u64 {
        let first_ns = self.first_ns.unwrap_or(now_ns);
        due(&self.mode, answer, now_ns, first_ns, &mut self.busy_until_ns, &mut self.slowed)
    }

    pub(super) fn remind(&mut self, at_ns: u64, due: Due) {
        self.due.push(Reverse((at_ns, due)));
    }

    /// Logs that the stream of a request was reset.
    pub(super) fn reset(&mut self, entry: usize, by: Side, code: u32) {
        self.log.entries[entry].reset = Some(StreamReset { by, code, at_ns: clock_ns() });
    }
}

/// When an answer is due. `busy_until_ns`: when the answer before it is given; `slowed`: how many
/// got the delay of a stretch of time.
pub(crate) fn due(
    mode: &Mode,
    answer: Answer,
    now_ns: u64,
    first_ns: u64,
    busy_until_ns: &mut u64,
    slowed: &mut u32,
) -> u64 {
    let since_ns = now_ns - first_ns;
    let may_slow = mode.slow_most == 0 || *slowed < mode.slow_most;
    let delay_ns = match mode.slow {
        Some((span, delay_ns)) if span.holds(since_ns) && may_slow => {
            *slowed += 1;
            delay_ns
        }
        _ => answer.delay_ns,
    };
    let mut due_ns = now_ns + delay_ns;
    if mode.service_ns > 0 {
        due_ns = due_ns.max(*busy_until_ns) + mode.service_ns;
        *busy_until_ns = due_ns;
    }
    match mode.stall {
        Some(stall) if stall.holds(due_ns - first_ns) => first_ns + stall.end_ns(),
        _ => due_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::TimeSpan;

    #[test]
    fn answers_are_due_when_the_mode_says() {
        let plain = Answer { count: 1, delay_ns: 10, act: Act::Status(200) };
        let span = TimeSpan { from_ns: 100, for_ns: 50 };
        let stall = Mode { stall: Some(span), ..Mode::default() };
        let slow = Mode { slow: Some((span, 30)), ..Mode::default() };
        for (mode, now_ns, want_ns) in [
            (Mode::default(), 1000, 1010),
            (stall.clone(), 1080, 1090),
            (stall.clone(), 1090, 1150),
            (stall.clone(), 1149, 1159),
            (slow.clone(), 1100, 1130),
            (slow, 1150, 1160),
        ] {
            let due_ns = due(&mode, plain, now_ns, 1000, &mut 0, &mut 0);
            assert_eq!(due_ns, want_ns, "{mode:?} {now_ns}");
        }
        let two_slow = Mode { slow: Some((span, 30)), slow_most: 2, ..Mode::default() };
        let mut slowed = 0;
        let times = [1100, 1101, 1102];
        let dues = times.map(|now_ns| due(&two_slow, plain, now_ns, 1000, &mut 0, &mut slowed));
        assert_eq!(dues, [1130, 1131, 1112]);
        let one_at_a_time = Mode { service_ns: 7, ..Mode::default() };
        let mut busy_until_ns = 0;
        let mut next = |now_ns| due(&one_at_a_time, plain, now_ns, 0, &mut busy_until_ns, &mut 0);
        assert_eq!([next(0), next(0), next(100)], [17, 24, 117]);
    }
}

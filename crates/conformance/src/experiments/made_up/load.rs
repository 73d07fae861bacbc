//! The load of a setup, as a good tester carries it, in a simulation of the oracle.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::harness::{Action, Setup};
use crate::oracle::{Act, Connection, Entry, Log, Side, StreamReset, code, due, hash};
use crate::tool::{Ask, Further, Need};

mod messages;
mod streams;

use self::messages::Messages;
use self::streams::Http2;

const MS: u64 = 1_000_000;
/// When the first request is sent.
pub(super) const START_NS: u64 = 1_000 * MS;
/// One way between tester and oracle.
const WAY_NS: u64 = 20_000;
/// How long a closed loop takes to go on where answers take no time.
const THINK_NS: u64 = MS;
/// Before a connection that was refused is tried again.
const RETRY_NS: u64 = 100 * MS;

/// What becomes of requests in a setup.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) log: Log,
    /// Latencies of the measured part, seconds: of all, and of good answers.
    pub(super) all_s: Vec<f64>,
    pub(super) good_s: Vec<f64>,
    /// Those of answers from the time of sending.
    pub(super) service_s: Vec<f64>,
    pub(super) further: Further,
    pub(super) waited_for_streams: bool,
    pub(super) completed: u64,
    /// Those of them that were not good.
    pub(super) failed: u64,
    /// Those within the time asked for, or at a rate.
    pub(super) within: u64,
    pub(super) timed_out: u64,
    pub(super) errors: u64,
    pub(super) waited_for_connections: bool,
}

/// Stretches of time between two kinds of action, ns.
fn stretches(setup: &Setup, from: Action, to: Action) -> Vec<(u64, u64)> {
    let times = |action| {
        let these = setup.actions.iter().filter(move |(_, other)| *other == action);
        these.map(|(at_s, _)| START_NS + (at_s * 1e9) as u64)
    };
    times(from).zip(times(to)).collect()
}

/// A time, or the end of the stretch that it lies in.
fn after(stretches: &[(u64, u64)], at_ns: u64) -> u64 {
    let inside = stretches.iter().find(|(from, to)| (*from..*to).contains(&at_ns));
    inside.map_or(at_ns, |(_, to)| *to)
}

/// When requests are due, ns from the start; `None`: a closed loop.
pub(super) fn schedule(ask: &Ask) -> Option<Vec<u64>> {
    let duration_s = ask.duration_s.unwrap_or(0.0);
    let ramp = ask.extra.iter().find_map(|need| match need {
        Need::Ramp { from_rps, to_rps } => Some((*from_rps, (to_rps - from_rps) / duration_s)),
        _ => None,
    });
    if let Some((from_rps, more)) = ramp {
        let count = (from_rps * duration_s + more * duration_s * duration_s / 2.0) as u32;
        let at = |i: u32| {
            ((from_rps.powi(2) + 2.0 * more * f64::from(i)).sqrt() - from_rps) / more * 1e9
        };
        return Some((0..count).map(|i| at(i) as u64).collect());
    }
    let rate_rps = ask.rate_rps?;
    let for_time = ((duration_s + ask.warmup_s) * rate_rps).round() as u64;
    let count = ask.requests.unwrap_or(for_time);
    if !ask.poisson {
        return Some((0..count).map(|i| (i as f64 / rate_rps * 1e9) as u64).collect());
    }
    let mut state = ask.seed.unwrap_or(1);
    let mut at_s = 0.0;
    let gaps = (0..count).map(|_| {
        let share = (random(&mut state) as f64 + 1.0) / 2.0_f64.powi(64);
        at_s -= share.ln() / rate_rps;
        (at_s * 1e9) as u64
    });
    Some(gaps.collect())
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// How many requests may be open at a time.
fn open_max(setup: &Setup) -> u32 {
    setup.ask.extra.iter().fold(setup.ask.connections, |connections, need| match need {
        Need::Growth { .. } => 60,
        Need::Pipeline(depth) => connections * depth,
        Need::Http2 { streams } => connections * streams.min(&setup.mode.http2.streams_max),
        Need::WebSocket { in_flight, .. } => connections * in_flight,
        _ => connections,
    })
}

/// What became of a request.
struct Exchange {
    sent_ns: u64,
    done_ns: u64,
    is_late: bool,
    is_broken: bool,
    is_good: bool,
    /// How long its connection rests afterwards.
    rest_ns: u64,
}

/// A load that goes on.
struct Load<'a> {
    setup: &'a Setup,
    /// When the tester is stopped, and the oracle; when there is no oracle.
    asleep: Vec<(u64, u64)>,
    frozen: Vec<(u64, u64)>,
    gone: Vec<(u64, u64)>,
    /// What the streams of its connections meet, where they have any.
    http2: Option<Http2>,
    /// What its calls and the messages of its WebSockets meet, where it has any.
    messages: Option<Messages>,
    /// The log's number of each connection, where it is open.
    open: Vec<Option<usize>>,
    seen: Seen,
    busy_until_ns: u64,
    slowed: u32,
    path_state: u64,
}

/// Carries the load of a setup as a good tester does.
pub(super) fn carry(setup: &Setup) -> Seen {
    let ask = &setup.ask;
    let slots = schedule(ask);
    let end_ns = START_NS + ((ask.duration_s.unwrap_or(1e6) + ask.warmup_s) * 1e9) as u64;
    let warm_ns = START_NS + (ask.warmup_s * 1e9) as u64;
    let shed_ns = ask.extra.iter().find_map(|need| match need {
        Need::Shed { after_s } => Some((after_s * 1e9) as u64),
        _ => None,
    });
    let mut load = Load::new(setup);
    let mut free: BinaryHeap<Reverse<(u64, usize)>> =
        (0..load.open.len()).map(|slot| Reverse((START_NS, slot))).collect();
    let closed = ask.requests.unwrap_or(u64::MAX);
    let count = slots.as_ref().map_or(closed, |all| all.len() as u64);
    let mut sent = 0;
    while sent < count {
        let Some(Reverse((free_ns, slot))) = free.pop() else { break };
        let due_ns = slots.as_ref().map_or(free_ns, |all| START_NS + all[sent as usize]);
        let at_ns = after(&load.asleep, free_ns.max(due_ns));
        if slots.is_none() && at_ns >= end_ns {
            break;
        }
        load.seen.waited_for_connections |= free_ns > due_ns + 10 * MS;
        let is_refused = after(&load.gone, at_ns) > at_ns;
        if is_refused || shed_ns.is_some_and(|shed_ns| at_ns > due_ns + shed_ns) {
            load.seen.errors += 1;
            sent += u64::from(slots.is_some());
            let again_ns = if slots.is_some() { free_ns } else { at_ns + RETRY_NS };
            free.push(Reverse((again_ns, slot)));
            continue;
        }
        sent += 1;
        let exchange = load.exchange(slot, at_ns);
        free.push(Reverse((exchange.done_ns + exchange.rest_ns, slot)));
        if due_ns >= warm_ns {
            let since_ns = if slots.is_some() { due_ns } else { at_ns };
            let is_within = exchange.done_ns <= end_ns || slots.is_some();
            load.seen.count(&exchange, (exchange.done_ns - since_ns) as f64 / 1e9, is_within);
        }
    }
    load.end()
}

impl<'a> Load<'a> {
    fn new(setup: &'a Setup) -> Self {
        Self {
            setup,
            asleep: stretches(setup, Action::StopTester, Action::ContinueTester),
            frozen: stretches(setup, Action::StopOracle, Action::ContinueOracle),
            gone: stretches(setup, Action::KillOracle, Action::StartOracle),
            http2: Http2::new(setup),
            messages: Messages::new(setup),
            open: vec![None; open_max(setup) as usize],
            seen: Seen::default(),
            busy_until_ns: 0,
            slowed: 0,
            path_state: setup.ask.seed.unwrap_or(1),
        }
    }

    /// A request on a connection, sent at this time.
    fn exchange(&mut self, slot: usize, at_ns: u64) -> Exchange {
        let Setup { ask, mode, .. } = self.setup;
        let log = &mut self.seen.log;
        let in_flight = self.messages.as_ref().and_then(Messages::in_flight);
        let streams = self.http2.as_ref().map(|http2| http2.streams);
        let place = slot / streams.or(in_flight).unwrap_or(1);
        let handshake_ns = match (self.open[place], &mode.tls) {
            (None, Some(tls)) => tls.handshake_delay_ns,
            _ => 0,
        };
        let connection = *self.open[place].get_or_insert_with(|| {
            log.connections.push(Connection {
                accepted_ns: at_ns,
                handshake_ns: if mode.tls.is_some() { at_ns + handshake_ns } else { 0 },
                is_http2: self.http2.is_some() && !mode.http2.is_refused,
                ..Connection::default()
            });
            log.connections.len() - 1
        });
        log.connections[connection].requests += 1;
        let number = log.connections[connection].requests;
        if let Some(messages) = &self.messages {
            messages.count(&mut log.connections[connection]);
        }
        let opened_ns = after(&self.frozen, at_ns + handshake_ns + WAY_NS);
        let received_ns = opened_ns + self.http2.as_ref().map_or(0, |http2| http2.sending_ns);
        let mut answer = mode.answer(log.entries.len() as u64);
        answer.delay_ns += mode.slow_connections_ns * (connection as u64 % 2);
        answer.delay_ns += mode.split_ns.unwrap_or(0);
        let is_pipelined = ask.extra.iter().any(|need| matches!(need, Need::Pipeline(_)));
        if is_pipelined && slot % 2 == 1 {
            answer.act = Act::Hang;
        }
        let (busy_until_ns, slowed) = (&mut self.busy_until_ns, &mut self.slowed);
        let first_ns = START_NS + WAY_NS;
        let answered_ns = due(mode, answer, received_ns, first_ns, busy_until_ns, slowed);
        let began_ns = after(&self.frozen, answered_ns);
        let answered_ns = began_ns + self.messages.as_ref().map_or(0, |it| it.spread_ns);
        let is_lost = self.messages.as_ref().is_some_and(|it| it.is_cut(number));
        let path = match ask.extra.iter().any(|need| matches!(need, Need::Targets(_))) {
            true => (random(&mut self.path_state) % 3) as u32,
            false => hash(ask.url.as_bytes()),
        };
        let deadline_ns = at_ns + (ask.timeout_s.unwrap_or(30.0) * 1e9) as u64;
        let reset = self.http2.as_ref().and_then(|http2| http2.reset_of(answer.act, number));
        let reset = reset.map(|(by, code)| {
            let at_ns = if by == Side::Tester { deadline_ns } else { answered_ns };
            StreamReset { by, code, at_ns }
        });
        let is_reset = reset.is_some_and(|reset| reset.code != code::NO_ERROR);
        log.entries.push(Entry {
            opened_ns,
            received_ns,
            sent_ns: if answer.act == Act::Hang || is_reset || is_lost { 0 } else { answered_ns },
            reset,
            call: self.messages.as_ref().and_then(|it| it.call(answer.act, began_ns)),
            stream: u32::from(self.http2.is_some()),
            header_bytes_out: u32::from(self.http2.is_some()) * 6,
            connection: connection as u32,
            bytes_in: 300,
            bytes_out: 60,
            path,
            reads: 1,
            status: 200,
            ..Entry::default()
        });
        let is_cut =
            self.gone.iter().any(|(from_ns, _)| at_ns < *from_ns && answered_ns >= *from_ns);
        let is_late = answer.act == Act::Hang || answered_ns + WAY_NS > deadline_ns;
        let is_broken = is_cut
            || is_lost
            || ask.url.contains("truncated")
            || (is_reset && answer.act != Act::Hang);
        let is_over = match (&self.http2, &self.messages) {
            (Some(http2), _) => http2.goaway_every == number,
            (None, Some(messages)) => messages.close_at == number,
            (None, None) => is_late || is_broken || !ask.keep_alive,
        };
        if is_over {
            self.open[place] = None;
        }
        let done_ns = if is_late { deadline_ns } else { answered_ns + WAY_NS };
        Exchange {
            sent_ns: at_ns,
            done_ns: after(&self.asleep, done_ns),
            is_late,
            is_broken,
            is_good: matches!(answer.act, Act::Status(200) | Act::Early | Act::Trailers(0)),
            rest_ns: if answered_ns == received_ns { THINK_NS } else { 0 },
        }
    }

    fn end(self) -> Seen {
        let mut seen = self.seen;
        if let Some((_, back_ns)) = self.gone.last() {
            seen.log.entries.retain(|entry| entry.received_ns >= *back_ns);
        }
        seen.all_s.sort_by(f64::total_cmp);
        seen.good_s.sort_by(f64::total_cmp);
        seen.service_s.sort_by(f64::total_cmp);
        if let Some(http2) = &self.http2 {
            http2.complete(&mut seen);
        }
        if let Some(messages) = &self.messages {
            messages.complete(&mut seen);
        }
        seen
    }
}

impl Seen {
    fn count(&mut self, exchange: &Exchange, took_s: f64, is_within: bool) {
        if exchange.is_broken {
            self.errors += 1;
            return;
        }
        self.all_s.push(took_s);
        if exchange.is_late {
            self.timed_out += 1;
            return;
        }
        self.service_s.push((exchange.done_ns - exchange.sent_ns) as f64 / 1e9);
        self.completed += 1;
        self.failed += u64::from(!exchange.is_good);
        self.within += u64::from(is_within);
        if exchange.is_good {
            self.good_s.push(took_s);
        }
    }
}

//! What one worker records of one scenario: its requests and iterations, with the seconds that they
//! fall into. It is kept as a plain worker's is, so that results are made of both alike.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_core::Phase;
use plimsoll_core::beside::Beside;
use plimsoll_core::iterations::Iterations;
use plimsoll_core::metric::{MetricId, TagsId};
use plimsoll_core::outcome::Outcome as RequestOutcome;
use plimsoll_core::part::{Part, Place as Parts};
use plimsoll_core::recorder::{Interval, Moments};
use plimsoll_core::result::Connections;
use plimsoll_core::secret::Masks;
use plimsoll_io::Address;
use plimsoll_script::js::Sample;

use super::Shared;
use super::fault::outcome;
use crate::admission::Timetable;
use crate::labels::Labels;
use crate::observer::{CpuUse, Observer};
use crate::told_apart::Names;
use crate::vu::tally::{
    CallEvent, IterationEnded, Outcome, Place, RequestBegun, RequestEnded, Shortage, SocketEvent,
    SocketTold,
};

/// What all endpoints are called that are not told apart.
const OTHERS: &str = "others";

/// Requests that a worker knows the endpoint of. URLs that keep changing are more; each of
/// those is looked up again.
const KNOWN_MAX: usize = 10_000;

/// When a request was due that is not under way.
const NOT_OPEN: u64 = u64::MAX;

/// The status of the answer that opens a WebSocket.
const SWITCHED: u16 = 101;

/// What a scenario does, as far as its record needs it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoleTerms {
    /// When it starts, ns after the run's start.
    pub start_ns: u64,
    /// For how long its rate is counted; `None`: to its end.
    pub window_ns: Option<u64>,
    /// Whether its iterations are due at a rate.
    pub is_of_arrivals: bool,
    /// Whether its seconds tell of the requests that wait when they end.
    pub notes_waiting: bool,
}

/// See the head of this module.
pub(super) struct RoleBook {
    pub terms: RoleTerms,
    pub observer: Observer,
    pub iterations: Iterations,
    labels: Labels,
    endpoints: Endpoints,
    timetable: Timetable,
    has_begun: bool,
    /// When the CPU use that is reported as the load's began and ended, on the driver's clock.
    pub cpu_from_ns: u64,
    pub cpu_to_ns: Option<u64>,
    /// When the last response was complete, and when the last iteration ended.
    pub answered_ns: u64,
    pub ended_ns: u64,
    /// Whether connections were begun to another host than this.
    pub dials_elsewhere: bool,
    /// Requests that became due after its window, redirects left out.
    pub due_after: u64,
    /// When each request under way was due, by its number.
    open: Vec<u64>,
    /// Calls of gRPC and WebSockets, which no other figure has.
    pub beside: Beside,
    pub connections: Connections,
}

impl RoleBook {
    pub(super) fn new(shared: &Shared, terms: RoleTerms) -> Self {
        let cpu = CpuUse::of_thread;
        Self {
            terms,
            observer: Observer::new(false, cpu, &shared.metrics, terms.start_ns),
            iterations: Iterations::default(),
            labels: Labels::new(&shared.metrics, &shared.masks).sharing(&shared.told_apart),
            endpoints: Endpoints::of(&shared.endpoints),
            timetable: Timetable { start_ns: 0, measured_ns: u64::MAX, stop_ns: u64::MAX },
            has_begun: false,
            cpu_from_ns: 0,
            cpu_to_ns: None,
            answered_ns: 0,
            ended_ns: 0,
            dials_elsewhere: false,
            due_after: 0,
            open: Vec::new(),
            beside: Beside::default(),
            connections: Connections::default(),
        }
    }

    /// The scenarios have started.
    pub(super) fn begin(&mut self, run_ns: u64) {
        let start_ns = run_ns.saturating_add(self.terms.start_ns);
        let stop_ns = self.terms.window_ns.map_or(u64::MAX, |ns| start_ns.saturating_add(ns));
        self.timetable = Timetable { start_ns, measured_ns: start_ns, stop_ns };
        self.observer.start(self.timetable, None);
        (self.answered_ns, self.ended_ns) = (start_ns, start_ns);
        self.has_begun = true;
    }

    /// Time has passed: hands on the intervals that are over.
    pub(super) fn pass(
        &mut self,
        at_ns: u64,
        is_end: bool,
        mut hand_on: impl FnMut(Box<Interval>),
    ) {
        if !self.has_begun || at_ns < self.timetable.measured_ns {
            return;
        }
        self.meter(at_ns, is_end);
        loop {
            let end_ns = self.observer.interval_end_ns();
            if at_ns < end_ns && !is_end {
                return;
            }
            // The last one ends with the load.
            let is_last = is_end && at_ns < end_ns;
            let Some(mut interval) = self.observer.take_interval(at_ns, 0, is_last) else { return };
            if self.terms.notes_waiting && !is_last {
                let open = self.open.iter().filter(|intended_ns| **intended_ns < end_ns);
                open.for_each(|intended_ns| interval.note_waiting(end_ns - intended_ns, 1));
            }
            if !(is_last && interval.is_empty()) {
                hand_on(interval);
            }
            if is_last {
                return;
            }
        }
    }

    /// Counts the CPU time of its window.
    fn meter(&mut self, at_ns: u64, is_end: bool) {
        if self.cpu_from_ns == 0 {
            self.cpu_from_ns = at_ns;
            self.observer.begin_measuring(at_ns, 0);
        }
        if self.cpu_to_ns.is_none() && (is_end || at_ns >= self.timetable.stop_ns) {
            self.cpu_to_ns = Some(at_ns);
            self.observer.end_window(0, self.timetable.stop_ns.min(at_ns));
        }
    }

    pub(super) fn request(&mut self, place: &Place<'_>, ended: &RequestEnded<'_>, masks: &Masks) {
        let (outcome, fault) = outcome(ended);
        let is_open =
            fault.is_none_or(|it| ![Phase::Dns, Phase::Connect, Phase::Tls].contains(&it.phase));
        let moments = if is_open { moments(ended) } else { of_attempt(ended) };
        let parts = self.started(place, ended, &moments, masks);
        let recorder = self.observer.recorder(true);
        if let Some(fault) = fault {
            recorder.error(fault.phase, fault.kind, 1, || ended.error.to_owned());
        }
        recorder.ended(&moments, ended.ended_ns, outcome, parts);
        if let RequestOutcome::Completed { ok, .. } = outcome {
            recorder.delays.receive.record(ended.unread_ns);
            self.observer.answered(ended.ended_ns, ok, parts);
            self.answered_ns = self.answered_ns.max(ended.ended_ns);
        }
    }

    /// A request begins.
    pub(super) fn began(&mut self, begun: &RequestBegun) {
        let number = begun.number as usize;
        if self.open.len() <= number {
            self.open.resize(number + 1, NOT_OPEN);
        }
        self.open[number] = begun.intended_ns;
        self.counted(begun.intended_ns, begun.is_redirected);
        self.observer.recorder(true).began();
    }

    /// A request is one of those scheduled.
    fn counted(&mut self, intended_ns: u64, is_redirected: bool) {
        self.observer.recorder(true).ledger.redirects += u64::from(is_redirected);
        let is_after = intended_ns >= self.timetable.stop_ns;
        self.due_after += u64::from(is_after && !is_redirected);
    }

    /// A connection is begun.
    pub(super) fn dialled(&mut self, to: &Address) {
        let is_elsewhere = |to: &SocketAddr| !to.ip().to_canonical().is_loopback();
        self.dials_elsewhere |= matches!(to, Address::Tcp(to) if is_elsewhere(to));
    }

    pub(super) fn cut_off(&mut self, place: &Place<'_>, cut: &RequestEnded<'_>, masks: &Masks) {
        let moments = if cut.remote_ip.is_empty() { of_attempt(cut) } else { moments(cut) };
        let parts = self.started(place, cut, &moments, masks);
        self.observer.recorder(true).ended(
            &moments,
            cut.ended_ns,
            RequestOutcome::Unfinished,
            parts,
        );
    }

    pub(super) fn unsent(&mut self, place: &Place<'_>, asked: &RequestEnded<'_>, masks: &Masks) {
        let parts = Parts { endpoint: self.endpoint(place, asked, masks), ..self.parts(place) };
        self.counted(asked.intended_ns, false);
        let recorder = self.observer.recorder(true);
        let waited_ns = recorder.gap_ns(asked.intended_ns, asked.ended_ns);
        recorder.unsent(1, waited_ns, parts);
    }

    /// Records how a request came to be sent, and says which parts of a result it belongs to.
    fn started(
        &mut self,
        place: &Place<'_>,
        ended: &RequestEnded<'_>,
        moments: &Moments,
        masks: &Masks,
    ) -> Parts {
        let parts = Parts { endpoint: self.endpoint(place, ended, masks), ..self.parts(place) };
        match ended.begun {
            Some(number) => self.open[number as usize] = NOT_OPEN,
            None => {
                self.counted(ended.intended_ns, ended.is_redirected);
                self.observer.recorder(true).began();
            }
        }
        let recorder = self.observer.recorder(true);
        recorder.belongs(parts);
        if ended.is_resent {
            recorder.resent(parts);
        }
        let blocked_ns = recorder.gap_ns(moments.intended_ns, moments.started_ns);
        recorder.phases[Phase::Blocked].record(blocked_ns);
        recorder.delays.lag.record(blocked_ns);
        // What the script asks for is done at once; its own lateness is its iteration's.
        recorder.delays.lateness.record(0);
        let timings = &ended.timings;
        if timings.connecting_ns > 0 {
            recorder.phases[Phase::Connect].record(timings.connecting_ns);
        }
        if timings.tls_handshaking_ns > 0 {
            recorder.phases[Phase::Tls].record(timings.tls_handshaking_ns);
        }
        parts
    }

    pub(super) fn iteration(&mut self, place: &Place<'_>, ended: &IterationEnded) {
        let recorder = self.observer.recorder(true);
        let late_ns = ended.started_ns.saturating_sub(ended.due_ns);
        recorder.late(late_ns);
        self.iterations.lateness.record(late_ns);
        recorder.sent_bytes += ended.sent_bytes;
        self.ended_ns = self.ended_ns.max(place.at_ns);
        self.iterations.started();
        match ended.outcome {
            Outcome::Interrupted => self.iterations.unfinished += 1,
            how => {
                self.iterations.completed(ended.due_ns, ended.started_ns, ended.ended_ns);
                self.iterations.failed += u64::from(how == Outcome::Failed);
            }
        }
    }

    pub(super) fn connections(&mut self, all: &Connections, reconnects: u64) {
        self.connections = all.clone();
        self.observer.recorder(true).ledger.reconnects += reconnects;
    }

    pub(super) fn call(&mut self, event: CallEvent) {
        if let CallEvent::Ended { is_resent: true, .. } = event {
            self.observer.recorder(true).resent(Parts::NOWHERE);
        }
        let calls = &mut self.beside.calls;
        match event {
            CallEvent::Opened => {}
            CallEvent::Sent => calls.sent += 1,
            CallEvent::Received(_) => calls.received += 1,
            CallEvent::Ended { code: 0, .. } => calls.ok += 1,
            CallEvent::Ended { .. } => calls.failed += 1,
        }
    }

    /// A call or a WebSocket could not be connected, for want of something of this host's.
    pub(super) fn short(&mut self, shortage: Shortage) {
        let recorder = self.observer.recorder(true);
        let text = || "no call or WebSocket could be connected".to_owned();
        recorder.error(Phase::Connect, shortage.kind(), 1, text);
    }

    pub(super) fn socket(&mut self, told: &SocketTold<'_>) {
        let sockets = &mut self.beside.websockets;
        match told.what {
            SocketEvent::Session { .. } if told.status == SWITCHED => sockets.opened += 1,
            SocketEvent::Session { .. } => sockets.failed += 1,
            SocketEvent::Sent => sockets.sent += 1,
            SocketEvent::Received => sockets.received += 1,
            SocketEvent::Pong { .. } | SocketEvent::Ended { .. } => {}
        }
    }

    pub(super) fn dropped(&mut self, count: u64) {
        match self.terms.is_of_arrivals {
            true => self.iterations.shed(count),
            false => self.iterations.unsent(count),
        }
    }

    pub(super) fn sample(&mut self, place: &Place<'_>, sample: &Sample) {
        let since_ns = self.observer.since_measured_ns(place.at_ns);
        let metrics = &mut self.observer.measured.metrics;
        let tags = sample
            .tags
            .map(|number| self.labels.tags(number, metrics, |number| place.names.tags(number)));
        let tags = tags.unwrap_or(TagsId::NONE);
        metrics.record(sample.metric, tags, sample.value, since_ns);
    }

    pub(super) fn group(&mut self, place: &Place<'_>, duration_ns: u64, metric: Option<MetricId>) {
        let Some(metric) = metric else { return };
        let since_ns = self.observer.since_measured_ns(place.at_ns);
        let recorder = &mut self.observer.measured;
        let Some(number) = place.group else { return };
        let (groups, metrics) = (&mut recorder.parts.groups, &mut recorder.metrics);
        let group = self.labels.group(number, groups, metrics, |number| name_of(place, number));
        metrics.record(metric, group.tags, duration_ns as f64, since_ns);
    }

    /// Which parts of a result a request in this place belongs to, but for its endpoint.
    fn parts(&mut self, place: &Place<'_>) -> Parts {
        let Some(number) = place.group else { return Parts::NOWHERE };
        let recorder = &mut self.observer.measured;
        let (groups, metrics) = (&mut recorder.parts.groups, &mut recorder.metrics);
        let group = self.labels.group(number, groups, metrics, |number| name_of(place, number));
        Parts { group: group.part, ..Parts::NOWHERE }
    }

    fn endpoint(&mut self, place: &Place<'_>, ended: &RequestEnded<'_>, masks: &Masks) -> u16 {
        let parts = &mut self.observer.measured.parts.endpoints;
        self.endpoints.number(place, ended, masks, parts)
    }
}

/// The name of a group, without the colons before the outermost.
fn name_of(place: &Place<'_>, number: u32) -> String {
    let name = place.names.group(number);
    name.strip_prefix("::").unwrap_or(&name).to_owned()
}

/// The moments of a request, each at or after the one before. The connect lies before its start:
/// it is the wait for a connection where there was none.
fn moments(ended: &RequestEnded<'_>) -> Moments {
    let timings = &ended.timings;
    let sent_ns = ended.started_ns.saturating_add(timings.blocked_ns);
    let opening_ns = timings.connecting_ns.saturating_add(timings.tls_handshaking_ns);
    let started_ns = sent_ns.saturating_sub(opening_ns).max(ended.intended_ns).min(sent_ns);
    let written_ns = sent_ns + timings.sending_ns;
    Moments {
        intended_ns: ended.intended_ns,
        available_ns: started_ns,
        started_ns,
        sent_ns,
        written_ns,
        first_byte_ns: written_ns + timings.waiting_ns,
    }
}

/// The moments of a request without a connection: its service time is that of the attempt to open
/// one.
fn of_attempt(ended: &RequestEnded<'_>) -> Moments {
    let intended_ns = ended.intended_ns;
    let started_ns = ended.started_ns.max(intended_ns);
    Moments {
        intended_ns,
        available_ns: started_ns,
        started_ns,
        sent_ns: started_ns,
        written_ns: started_ns,
        first_byte_ns: started_ns,
    }
}

/// The endpoints of a scenario's requests: the names that the script gives them, else method and
/// URL.
#[derive(Debug)]
struct Endpoints {
    /// The names that are told apart.
    names: Arc<Names>,
    /// By method, name and number of the tags.
    known: HashMap<Box<[u8]>, u16>,
    key: Vec<u8>,
}

impl Endpoints {
    fn of(names: &Arc<Names>) -> Self {
        Self { names: Arc::clone(names), known: HashMap::new(), key: Vec::new() }
    }

    fn number(
        &mut self,
        place: &Place<'_>,
        ended: &RequestEnded<'_>,
        masks: &Masks,
        parts: &mut Vec<Part>,
    ) -> u16 {
        self.key.clear();
        self.key.extend(ended.tags.map_or(0, |number| u64::from(number) + 1).to_le_bytes());
        self.key.extend(ended.method.as_bytes());
        self.key.push(0);
        self.key.extend(ended.name.as_bytes());
        if let Some(known) = self.known.get(self.key.as_slice()) {
            return *known;
        }
        let part = part_of(&name(place, ended, masks), &self.names, parts);
        if self.known.len() < KNOWN_MAX {
            self.known.insert(self.key.as_slice().into(), part);
        }
        part
    }
}

/// What an endpoint is called: the method and the URL, or the name alone if the script gave one.
#[cold]
fn name(place: &Place<'_>, ended: &RequestEnded<'_>, masks: &Masks) -> String {
    let tags = ended.tags.map(|number| place.names.tags(number)).unwrap_or_default();
    let tagged = tags.pairs().find(|(tag, _)| *tag == "name").map(|(_, value)| value);
    let name = tagged.unwrap_or(ended.name);
    match name.contains("://") {
        true => format!("{} {}", ended.method, masks.url(name)),
        false => masks.label(name),
    }
}

#[cold]
fn part_of(name: &str, names: &Names, parts: &mut Vec<Part>) -> u16 {
    let name = if names.admits(name) { name } else { OTHERS };
    let known = parts.iter().position(|part| part.name == name);
    let at = known.unwrap_or_else(|| {
        parts.push(Part::new(name));
        parts.len() - 1
    });
    at as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_have_an_end_and_the_rest_is_one() {
        let names = Names::new(crate::told_apart::Most::PARTS, 8, 4);
        let [mut parts, mut of_another] = [const { Vec::new() }; 2];
        for number in 0..55 {
            part_of(&number.to_string(), &names, &mut parts);
        }
        assert_eq!(parts.len(), 50 + 1);
        assert_eq!(usize::from(part_of("7", &names, &mut parts)), 7);
        let others = part_of("new", &names, &mut parts);
        assert_eq!(parts[usize::from(others)].name, OTHERS);
        // Another worker tells the same names apart.
        for (name, want) in [("new", OTHERS), ("54", OTHERS), ("49", "49")] {
            let at = part_of(name, &names, &mut of_another);
            assert_eq!(of_another[usize::from(at)].name, want);
        }
    }
}

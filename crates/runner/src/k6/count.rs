//! What a worker counts: each event of the engine becomes samples of k6's metrics, with their tags.
//!
//! It runs on the worker's thread. Samples go into the worker's own book, which is handed over each
//! second if there are thresholds, and into batches if there are outputs. It waits only where lines
//! or samples would be left out otherwise.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};

use plimsoll_dialect::k6::defaults::VUS_PERIOD;
use plimsoll_dialect::k6::metrics::{Book, MetricId, SystemTag, TagSet};
use plimsoll_dialect::k6::output::Level;
use plimsoll_engine::vu::{
    CallEvent, CallTold, IterationEnded, Outcome, Place, RequestEnded, Shortage, SocketEvent,
    SocketTold, Tally, TaskEnded,
};
use plimsoll_script::js::{self, Failure, Sample};

use super::account::Account;
use super::common::{Common, said};
use super::given_up::given_up;
use super::news::{BATCH_POINTS, LogLine, Point};
use super::sets::{Key, Set, Sets};

/// Codes of gRPC with which calls end that no server has answered.
const CANCELLED: u32 = 1;
const DEADLINE_EXCEEDED: u32 = 4;
const UNAVAILABLE: u32 = 14;

/// The count of a worker, or of a task outside of scenarios.
#[derive(Debug)]
pub struct Count {
    common: Arc<Common>,
    /// The group of all that happens: that of `setup` and `teardown`.
    root: &'static str,
    /// When the numbers of VUs were last counted, on the one worker that counts what all say alike.
    vus_ns: Option<u64>,
    book: Book,
    parts: Option<SyncSender<Book>>,
    batch: Vec<Point>,
    sets: Sets,
    key: Key,
    /// Which of the values that are counted next are lower bounds, by bits.
    bounds: u16,
    account: Account,
}

impl Count {
    pub(super) fn new(
        common: &Arc<Common>,
        root: &'static str,
        vus_ns: Option<u64>,
        parts: Option<SyncSender<Book>>,
    ) -> Self {
        Self {
            common: Arc::clone(common),
            root,
            vus_ns,
            book: Book::new(common.registry.clone(), common.is_full),
            parts,
            batch: Vec::new(),
            sets: Sets::default(),
            key: Key::default(),
            bounds: 0,
            account: Account::ready(),
        }
    }

    /// Hands on what is left, at the end.
    pub(super) fn finish(mut self) -> (Book, Account) {
        self.flush();
        (self.book, self.account)
    }

    fn flush(&mut self) {
        if let Some(points) = &self.common.points
            && !self.batch.is_empty()
        {
            let next = Vec::with_capacity(BATCH_POINTS);
            points.put(std::mem::replace(&mut self.batch, next));
        }
    }

    /// Counts values of the metrics of a set, which `make` makes when the key is new.
    fn count(
        &mut self,
        place: &Place<'_>,
        wall_ns: u64,
        values: &[f64],
        make: impl FnOnce(&Common, &mut Book) -> Set,
    ) {
        let is_of_vu = place.vu > 0 || !self.root.is_empty();
        let bounds = std::mem::take(&mut self.bounds);
        let Self { common, book, sets, key, batch, .. } = self;
        let set = sets.find(key, || make(common, book));
        for (at, value) in values.iter().enumerate() {
            let metric = match bounds >> at & 1 {
                0 => set.count(book, at, *value),
                _ => set.count_bound(book, at, *value),
            };
            if common.points.is_some() {
                batch.push(Point {
                    metric,
                    wall_ns,
                    value: *value,
                    tags: set.tags.clone(),
                    metadata: place.metadata.clone(),
                    vu: (place.vu > 0).then_some(place.vu),
                    iteration: is_of_vu.then_some(place.iteration),
                });
            }
        }
        if batch.len() >= BATCH_POINTS {
            self.flush();
        }
    }

    /// A key with all that tags of a place depend on.
    fn begin(&mut self, kind: u8, place: &Place<'_>, tags: Option<u32>) -> &mut Key {
        self.key.begin(kind).optional(place.scenario).optional(place.group).optional(tags)
    }

    /// Counts values with the tags of a place and of its VU, and nothing else.
    fn count_plain(&mut self, kind: u8, place: &Place<'_>, metrics: &[MetricId], values: &[f64]) {
        self.begin(kind, place, place.tags);
        let root = self.root;
        self.count(place, place.wall_ns, values, |common, book| {
            Set::new(common.tags(place, Some(root), place.tags, &[]), metrics, book)
        });
    }

    /// Counts bytes of a VU.
    fn data(&mut self, place: &Place<'_>, sent_bytes: u64, received_bytes: u64) {
        let metrics = self.common.ids.data;
        self.count_plain(b'b', place, &metrics, &[sent_bytes as f64, received_bytes as f64]);
    }

    fn say(&self, place: &Place<'_>, level: Level, message: String, origin: Origin) {
        if level == Level::Debug && !self.common.is_verbose {
            return;
        }
        let role = place.scenario.and_then(|at| self.common.roles.get(at as usize));
        let mut fields = Vec::new();
        if let Some(role) = role.filter(|_| origin == Origin::Exception) {
            fields.push(("executor", role.executor.to_owned()));
            fields.push(("scenario", role.name.clone()));
        }
        let source = match origin {
            Origin::Console => Some("console"),
            Origin::Exception => Some("stacktrace"),
            Origin::Api => None,
        };
        fields.extend(source.map(|source| ("source", source.to_owned())));
        let wall_ns = place.wall_ns;
        let is_console = origin == Origin::Console;
        self.common.lines.put(LogLine { wall_ns, level, message, fields, is_console });
    }
}

/// Where a line of the log comes from.
#[derive(Clone, Copy, PartialEq)]
enum Origin {
    /// The script's `console`.
    Console,
    /// An exception that has ended an iteration.
    Exception,
    /// What the API tells of, such as a request without a response.
    Api,
}

/// The parts of a call's path, `/package.Service/Method`: its service and its method.
fn parts(path: &str) -> (&str, &str) {
    path.trim_start_matches('/').split_once('/').unwrap_or_default()
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

impl Tally for Count {
    fn request(&mut self, place: &Place<'_>, ended: &RequestEnded<'_>) {
        let expected = ended.is_expected.map_or(2, u64::from);
        let has_ip = self.common.system_tags.has(SystemTag::Ip);
        self.begin(b'h', place, ended.tags)
            .number(u64::from(ended.status))
            .number(u64::from(ended.error_code))
            .number(expected)
            .text(ended.method)
            .text(ended.url)
            .text(ended.name)
            .text(ended.proto)
            .text(ended.tls_version)
            .text(ended.error)
            .text(if has_ip { ended.remote_ip } else { "" });
        let timings = &ended.timings;
        let values = [
            1.0,
            ms(timings.duration_ns()),
            ms(timings.blocked_ns),
            ms(timings.connecting_ns),
            ms(timings.tls_handshaking_ns),
            ms(timings.sending_ns),
            ms(timings.waiting_ns),
            ms(timings.receiving_ns),
            f64::from(u8::from(ended.is_expected == Some(false))),
        ];
        // Without a judge there is no failure to count.
        let counted = if ended.is_expected.is_some() { values.len() } else { values.len() - 1 };
        let wall_ns = place.wall_ns.saturating_sub(place.at_ns.saturating_sub(ended.ended_ns));
        let root = self.root;
        self.bounds = given_up(ended);
        self.count(place, wall_ns, &values[..counted], |common, book| {
            let tags = common.request_tags(place, root, ended);
            Set::new(tags, &common.ids.request[..counted], book)
        });
        self.account.requests.record(ended.ended_ns.saturating_sub(ended.intended_ns));
        let is_answered = ended.status > 0;
        self.account.responses += u64::from(is_answered);
        self.account.errors += u64::from(!is_answered);
        if let Some(shortage) = Shortage::of(ended.errno) {
            self.account.short(shortage);
        }
    }

    fn short(&mut self, _: &Place<'_>, shortage: Shortage) {
        self.account.short(shortage);
    }

    fn call(&mut self, place: &Place<'_>, told: &CallTold<'_>) {
        let ids = &self.common.ids.call;
        let (metric, value, code) = match told.event {
            CallEvent::Opened => (ids.streams, 1.0, None),
            CallEvent::Sent => (ids.sent, 1.0, None),
            CallEvent::Received(code) => (ids.received, 1.0, code),
            CallEvent::Ended { code, started_ns, ended_ns, .. } => {
                let duration_ns = ended_ns.saturating_sub(started_ns);
                self.account.requests.record(duration_ns);
                let is_answered = ![CANCELLED, DEADLINE_EXCEEDED, UNAVAILABLE].contains(&code);
                self.account.responses += u64::from(is_answered);
                self.account.errors += u64::from(!is_answered);
                self.bounds = u16::from(!is_answered);
                (ids.duration, ms(duration_ns), Some(code))
            }
        };
        let status = code.map(|code| code.to_string());
        self.begin(b'c', place, told.tags)
            .number(u64::from(metric.index()))
            .optional(code)
            .text(told.url)
            .text(told.path);
        let root = self.root;
        self.count(place, place.wall_ns, &[value], |common, book| {
            let (service, method) = parts(told.path);
            // What the script calls it goes before what it is.
            let own = told.tags.map(|number| place.names.tags(number)).unwrap_or_default();
            let named = own.pairs().find(|(tag, _)| *tag == "name").map(|(_, value)| value);
            let last = [
                (SystemTag::Method, said(method)),
                (SystemTag::Service, said(service)),
                (SystemTag::Status, status.as_deref()),
                (SystemTag::Url, said(told.url)),
                (SystemTag::Name, said(named.unwrap_or(told.path))),
            ];
            Set::new(common.tags(place, Some(root), told.tags, &last), &[metric], book)
        });
    }

    fn exchange(&mut self, place: &Place<'_>, texts: &[String; 2]) {
        let role = place.scenario.and_then(|at| self.common.roles.get(at as usize));
        let group = place.group.map(|number| place.names.group(number)).unwrap_or_default();
        let id = request_id();
        for message in texts {
            let fields = vec![
                ("group", format!("{}{group}", self.root)),
                ("iter", place.iteration.to_string()),
                ("request_id", id.clone()),
                ("scenario", role.map(|role| role.name.clone()).unwrap_or_default()),
                ("source", "http-debug".to_owned()),
                ("vu", place.vu.to_string()),
            ];
            let (wall_ns, level, is_console) = (place.wall_ns, Level::Info, false);
            let message = message.clone();
            self.common.lines.put(LogLine { wall_ns, level, message, fields, is_console });
        }
    }

    fn socket(&mut self, place: &Place<'_>, told: &SocketTold<'_>) {
        let has_ip = self.common.system_tags.has(SystemTag::Ip);
        let (kind, value) = match told.what {
            SocketEvent::Session { connecting_ns } => (0, ms(connecting_ns)),
            SocketEvent::Sent => (1, 1.0),
            SocketEvent::Received => (2, 1.0),
            SocketEvent::Pong { round_trip_ns } => (3, ms(round_trip_ns)),
            SocketEvent::Ended { session_ns } => (4, ms(session_ns)),
        };
        self.begin(b'w', place, told.tags)
            .number(kind)
            .number(u64::from(told.status))
            .text(told.url)
            .text(told.name)
            .text(told.subprotocol)
            .text(if has_ip { told.remote_ip } else { "" });
        let is_session = kind == 0;
        // How long an opening took that failed is in the second value.
        self.bounds = u16::from(is_session && told.status == 0) << 1;
        let values: &[f64] = if is_session { &[1.0, value] } else { &[value] };
        let root = self.root;
        self.count(place, place.wall_ns, values, |common, book| {
            let ids = &common.ids;
            let single = [ids.sent, ids.received, ids.ping, ids.session_duration];
            let tags = common.socket_tags(place, root, told);
            match kind {
                0 => Set::new(tags, &ids.session, book),
                kind => Set::new(tags, &[single[kind as usize - 1]], book),
            }
        });
    }

    fn sample(&mut self, place: &Place<'_>, sample: &Sample) {
        let Some((metric, divisor)) = self.common.metrics.get(&sample.metric).copied() else {
            return;
        };
        self.begin(b's', place, sample.tags).number(u64::from(metric.index()));
        let root = self.root;
        self.count(place, place.wall_ns, &[sample.value / divisor], |common, book| {
            Set::new(common.tags(place, Some(root), sample.tags, &[]), &[metric], book)
        });
    }

    fn group(&mut self, place: &Place<'_>, duration_ns: u64) {
        let metrics = [self.common.ids.group];
        self.count_plain(b'g', place, &metrics, &[ms(duration_ns)]);
    }

    fn iteration(&mut self, place: &Place<'_>, ended: &IterationEnded) {
        self.data(place, ended.sent_bytes, ended.received_bytes);
        self.account.cut_off += ended.requests_cut_off;
        self.account.lateness.record(ended.started_ns.saturating_sub(ended.due_ns));
        match ended.outcome {
            Outcome::Completed => self.account.completed += 1,
            Outcome::Failed => self.account.failed += 1,
            Outcome::Interrupted => {
                self.account.interrupted += 1;
                return;
            }
        }
        self.account.iterations.record(ended.ended_ns.saturating_sub(ended.due_ns));
        let metrics = self.common.ids.iteration;
        let duration_ms = ms(ended.ended_ns.saturating_sub(ended.started_ns));
        self.count_plain(b'i', place, &metrics, &[duration_ms, 1.0]);
    }

    fn task(&mut self, place: &Place<'_>, ended: &TaskEnded) {
        self.data(place, ended.sent_bytes, ended.received_bytes);
        self.account.cut_off += ended.requests_cut_off;
    }

    fn dropped(&mut self, place: &Place<'_>, count: u64) {
        self.account.dropped += count;
        let metrics = [self.common.ids.dropped];
        self.begin(b'd', place, None);
        self.count(place, place.wall_ns, &[count as f64], |common, book| {
            Set::new(common.tags(place, None, None, &[]), &metrics, book)
        });
    }

    fn log(&mut self, place: &Place<'_>, level: js::Level, line: &str) {
        self.say(place, level_of(level), line.to_owned(), Origin::Console);
    }

    fn note(&mut self, place: &Place<'_>, level: js::Level, line: &str) {
        self.say(place, level_of(level), line.to_owned(), Origin::Api);
    }

    fn failure(&mut self, place: &Place<'_>, failure: &Failure) {
        self.say(place, Level::Error, text_of(failure), Origin::Exception);
    }

    fn tick(&mut self, place: &Place<'_>, vus: Option<[u64; 2]>) {
        if let (Some(last_ns), Some(vus)) = (self.vus_ns, vus)
            && place.at_ns.saturating_sub(last_ns) >= VUS_PERIOD.unsigned() / 10 * 9
        {
            self.vus_ns = Some(place.at_ns);
            let metrics = self.common.ids.vus;
            self.key.begin(b'v');
            let values = vus.map(|count| count as f64);
            self.count(place, place.wall_ns, &values, |common, book| {
                let tags = common.tags.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                Set::new(TagSet::of(tags), &metrics, book)
            });
        }
        self.flush();
        if let Some(parts) = &self.parts
            && let Err(TrySendError::Full(part) | TrySendError::Disconnected(part)) =
                parts.try_send(self.book.take())
        {
            self.book.merge(&part);
        }
    }
}

/// A random number in the form of a UUID, by which lines of a request and its response go together.
fn request_id() -> String {
    let random = || RandomState::new().build_hasher().finish();
    let (high, low) = (random(), random());
    let (time, middle, version) = (high >> 32, (high >> 16) & 0xffff, high & 0x0fff);
    let (variant, node) = (0x8000 | ((low >> 48) & 0x3fff), low & 0xffff_ffff_ffff);
    format!("{time:08x}-{middle:04x}-4{version:03x}-{variant:04x}-{node:012x}")
}

/// How urgent a line of a script is.
pub(super) fn level_of(level: js::Level) -> Level {
    match level {
        js::Level::Debug => Level::Debug,
        js::Level::Info => Level::Info,
        js::Level::Warn => Level::Warning,
        js::Level::Error => Level::Error,
    }
}

/// An exception with its stack, as a line of the log has it.
pub(super) fn text_of(failure: &Failure) -> String {
    let mut text = failure.text.clone();
    for line in failure.stack.lines() {
        text.push_str("\n\t");
        text.push_str(line);
    }
    if !failure.stack.is_empty() {
        text.push('\n');
    }
    text
}

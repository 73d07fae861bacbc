//! fortio's result of a run of ours, and what its report has beside that.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use plimsoll_core::RunResult;
use plimsoll_core::details::{Buckets, Calls, CallsPlan, Tally};
use plimsoll_core::secret::Masks;

use super::buckets::{Form, approximated, counted, export};
use super::command::{Call, Command, Payload, version};
use super::echo::socket;
use super::pace::Deal;
use super::plan::user_agent;
use super::result::{Exported, FortioResult, Grpc, Http, Own, Protocol};
use super::text::Connection;
use crate::WallTime;
use crate::duration;
use crate::numbers::go_general;

/// The most bytes of a result's name.
const ID_BYTES_MAX: usize = 96;

/// Buckets of the sizes of heads and of responses, bytes.
const HEAD_RESOLUTION: f64 = 5.0;
const SIZE_RESOLUTION: f64 = 100.0;

/// Sleeps are shown from here on, s, in buckets of a millisecond.
const SLEEP_OFFSET_S: f64 = -0.001;

/// Where a run was carried out.
#[derive(Debug, Clone, Copy)]
pub struct Host<'a> {
    /// Its name.
    pub name: &'a str,
    /// When the run started.
    pub started: WallTime,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// fortio's result.
    pub result: FortioResult,
    /// How long connections idled between calls, s; of a run at a rate.
    pub sleeps: Option<Exported>,
    /// How many of those calls had been due before.
    pub behind: u64,
    /// The connections of the run, in order.
    pub connections: Vec<Connection>,
}

impl Command {
    /// The buckets in which a run counts its calls.
    pub(super) fn calls_plan(&self) -> CallsPlan {
        CallsPlan {
            time_ends_ns: self.times().ends(),
            connect_ends_ns: Form { offset: 0.0, ..self.times() }.ends(),
            idle_ends_ns: SLEEPS.ends(),
            head_ends: sizes_form(HEAD_RESOLUTION).ends(),
            size_ends: sizes_form(SIZE_RESOLUTION).ends(),
            keeps_calls: self.access_log.is_some(),
        }
    }

    /// How times of calls are exported.
    fn times(&self) -> Form<'_> {
        Form {
            unit: 1e9,
            resolution: self.resolution_s,
            offset: self.offset_ns as f64 / 1e9,
            percentiles: &self.percentiles,
        }
    }
}

/// How sleeps are exported.
const SLEEPS: Form<'static> =
    Form { unit: 1e9, resolution: 0.001, offset: SLEEP_OFFSET_S, percentiles: &[50.0] };

/// How sizes are exported.
fn sizes_form(resolution: f64) -> Form<'static> {
    Form { unit: 1.0, resolution, offset: 0.0, percentiles: &[] }
}

/// What a run of a command came to; `payload` is what `-payload-file` held.
#[must_use]
pub fn outcome(
    command: &Command,
    deal: &Deal,
    run: &RunResult,
    host: Host<'_>,
    payload: &[u8],
) -> Outcome {
    let nothing = Calls::default();
    let calls = run.details.calls.as_deref().unwrap_or(&nothing);
    let times = command.times();
    let labels = labels(command, host.name);
    let duration_histogram = export(&calls.taken, times);
    let seconds = run.elapsed_ns as f64 / 1e9;
    let actual_qps = match seconds > 0.0 {
        true => duration_histogram.count as f64 / seconds,
        false => 0.0,
    };
    let protocol = match (&command.call, command.carrier()) {
        (Some(call), _) => Protocol::Grpc(Box::new(grpc(command, call, run))),
        (None, Some(carrier)) => Protocol::Socket(Box::new(socket(command, carrier, run, calls))),
        (None, None) => Protocol::Http(Box::new(http(command, run, calls, times, payload))),
    };
    let result = FortioResult {
        run_type: run_type(command),
        id: id(host.started, command.run_id, &labels),
        labels,
        start_time: host.started.rfc3339_nano(),
        requested_qps: match command.has_rate() {
            true => go_general(command.qps, 9),
            false => "max".to_owned(),
        },
        requested_duration: requested_duration(command, run),
        actual_qps,
        actual_duration: i64::try_from(run.elapsed_ns).unwrap_or(i64::MAX),
        num_threads: deal.threads,
        version: version(),
        duration_histogram,
        errors_duration_histogram: export(&calls.failed, times),
        exactly: command.exactly,
        jitter: command.jitter,
        uniform: command.uniform,
        no_catch_up: command.no_catch_up,
        run_id: command.run_id,
        access_logger_info: command
            .access_log
            .as_ref()
            .map_or_else(String::new, |log| format!("mode {} to {}", log.format(), log.path)),
        protocol,
        own: (!command.as_original).then(|| Box::new(own(run, times))),
    };
    let sleeps = command.has_rate().then(|| export(&calls.idle, SLEEPS));
    let connections = connections(calls, deal.threads);
    Outcome { result, sleeps, behind: calls.behind, connections }
}

fn own(run: &RunResult, times: Form<'_>) -> Own {
    Own {
        corrected_duration_histogram: approximated(&run.latency.response, times),
        ledger: run.ledger,
        verdict: run.loader.verdict.name().to_owned(),
        verdict_causes: run.loader.causes.iter().map(|cause| cause.code.clone()).collect(),
    }
}

/// The labels that were given, or what was loaded and from where.
fn labels(command: &Command, host: &str) -> String {
    command.labels.clone().unwrap_or_else(|| {
        let target = &command.target;
        let schemes = ["https://", "http://"];
        let short = schemes.iter().find_map(|scheme| target.strip_prefix(scheme));
        let host = host.split('.').next().unwrap_or_default();
        format!("{} , {host}", short.unwrap_or(target))
    })
}

pub(super) fn run_type(command: &Command) -> String {
    let of_call = match &command.call {
        None => match command.carrier() {
            Some(carrier) => return carrier.name().to_ascii_uppercase(),
            None => return "HTTP".to_owned(),
        },
        Some(Call::Health(service)) => format!("GRPC Health for '{service}'"),
        Some(Call::Ping { delay_ns: 0 }) => "GRPC Ping".to_owned(),
        Some(Call::Ping { delay_ns }) => {
            format!("GRPC Ping Delay={}", duration::print(*delay_ns))
        }
        Some(Call::Method(method)) => {
            let payload = match &command.payload {
                Payload::Text(text) => text.as_str(),
                _ => "",
            };
            format!("Custom GRPC Method {method} and Payload {payload}")
        }
    };
    match &command.payload {
        Payload::Text(text) => format!("{of_call} PayloadLength={}", text.len()),
        Payload::Random(bytes) => format!("{of_call} PayloadLength={bytes}"),
        _ => of_call,
    }
}

fn requested_duration(command: &Command, run: &RunResult) -> String {
    match (command.exactly, command.duration_ns) {
        (0, 0) if command.has_rate() => "until stop".to_owned(),
        (0, 0) => String::new(),
        (0, ns) => duration::print(ns),
        (calls, _) if run.interrupted => {
            format!("exactly {calls} calls, interrupted after {}", run.ledger.sent)
        }
        (calls, _) => format!("exactly {calls} calls"),
    }
}

/// Names a result: when it began, its number, and its labels with `_` for what is no letter or
/// digit.
#[must_use]
pub fn id(started: WallTime, run_id: i64, labels: &str) -> String {
    let digits: String = started.rfc3339().chars().take(19).collect();
    let mut id = digits.replace('T', "-").replace(':', "");
    if run_id != 0 {
        id.push_str(&format!("_{run_id}"));
    }
    let words = labels.split(|c: char| !c.is_ascii_alphanumeric()).filter(|it| !it.is_empty());
    for word in words {
        id.push('_');
        id.push_str(word);
    }
    id.truncate(ID_BYTES_MAX);
    id.trim_end_matches('_').to_owned()
}

fn grpc(command: &Command, call: &Call, run: &RunResult) -> Grpc {
    let ledger = &run.ledger;
    // Without a response, or with a status other than OK.
    let answered = run.grpc_status.get("OK").copied().unwrap_or(0);
    let counts = [
        ("SERVING", ledger.ok),
        ("NOT_SERVING", answered.saturating_sub(ledger.ok)),
        ("ERROR", ledger.sent.saturating_sub(answered.max(ledger.ok))),
    ];
    let given = |(name, value): &(String, Option<String>)| {
        let value = value.as_deref().unwrap_or_default();
        (name.to_ascii_lowercase(), vec![Masks::default().header(name, value)])
    };
    let mut metadata = BTreeMap::from([("user-agent".to_owned(), vec![user_agent()])]);
    metadata.extend(command.headers.iter().map(given));
    Grpc {
        ret_codes: named(counts),
        destination: command.target.clone(),
        streams: command.streams.into(),
        ping: matches!(call, Call::Ping { .. }),
        metadata,
    }
}

/// Counts that are not 0.
pub(super) fn named<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, i64> {
    let there = counts.into_iter().filter(|(_, count)| *count > 0);
    there.map(|(name, count)| (name.to_owned(), count as i64)).collect()
}

fn http(
    command: &Command,
    run: &RunResult,
    calls: &Calls,
    times: Form<'_>,
    payload: &[u8],
) -> Http {
    let ledger = &run.ledger;
    let lost = ledger.refused + ledger.timed_out + ledger.broken + ledger.unfinished;
    let mut ret_codes = named([("-1", lost)]);
    ret_codes.extend(run.status.iter().map(|(code, count)| (code.to_string(), *count as i64)));
    let sockets = sockets(calls);
    let mut no_heads = Buckets::new(&sizes_form(HEAD_RESOLUTION).ends());
    no_heads.record_n(0, calls.head_bytes.count());
    // Go's client does not tell the sizes of heads.
    let (heads, sizes) = match command.is_std_client() {
        true => (&no_heads, &calls.body_bytes),
        false => (&calls.head_bytes, &calls.response_bytes),
    };
    let payload = match &command.payload {
        Payload::Text(text) => text.as_bytes(),
        _ => payload,
    };
    let [reuse_min, reuse_max] = command.connection_reuse.unwrap_or_default();
    Http {
        ret_codes,
        ip_count_map: addresses(calls),
        insecure: command.insecure,
        mtls: command.mtls,
        ca_cert: command.ca_cert.clone(),
        cert: command.cert.clone(),
        key: command.key.clone(),
        unix_domain_socket: command.unix_socket.clone(),
        url: command.url(),
        num_connections: 1,
        compression: command.compression,
        disable_fast_client: command.is_std_client(),
        http10: command.http10,
        h2: command.h2,
        disable_keep_alive: !command.keep_alive,
        allow_half_close: command.half_close,
        follow_redirects: command.follows_redirects,
        resolve: command.resolve.clone(),
        http_req_time_out: command.timeout_ns,
        user_credentials: Masks::default().whole(command.credentials.reveal()),
        content_type: command.content_type.clone().unwrap_or_default(),
        payload: Some(BASE64.encode(payload)),
        method_override: command.method.clone().unwrap_or_default(),
        log_errors: command.log_errors,
        sequential_warmup: command.sequential_warmup,
        conn_reuse_range: [reuse_min.into(), reuse_max.into()],
        no_resolve_each_conn: command.no_reresolve,
        offset: command.offset_ns,
        resolution: command.resolution_s,
        sizes: export(sizes, sizes_form(SIZE_RESOLUTION)),
        header_sizes: export(heads, sizes_form(HEAD_RESOLUTION)),
        socket_count: sockets.values().sum(),
        sockets: sockets.into_values().collect(),
        connection_stats: export(&calls.connects, Form { offset: 0.0, ..times }),
        abort_on: command.abort_on,
    }
}

/// How many sockets each connection of the run used.
pub(super) fn sockets(calls: &Calls) -> BTreeMap<u32, i64> {
    let mut sockets = BTreeMap::new();
    for ((connection, _), tally) in &calls.opens {
        *sockets.entry(*connection).or_default() += tally.count as i64;
    }
    sockets
}

pub(super) fn address(calls: &Calls, number: u16) -> &str {
    calls.addresses.get(usize::from(number)).map_or("", String::as_str)
}

fn addresses(calls: &Calls) -> BTreeMap<String, i64> {
    let mut addresses = BTreeMap::new();
    for ((_, number), tally) in &calls.opens {
        *addresses.entry(address(calls, *number).to_owned()).or_default() += tally.count as i64;
    }
    addresses
}

fn connections(calls: &Calls, threads: u32) -> Vec<Connection> {
    let of = |connection: u32| {
        let opens: Vec<_> = calls.opens.range((connection, 0)..=(connection, u16::MAX)).collect();
        let sockets: u64 = opens.iter().map(|(_, tally)| tally.count).sum();
        let resolved = match &opens[..] {
            [((_, number), _)] => address(calls, *number).to_owned(),
            several => {
                let name = |((_, number), tally): &(&(u32, u16), &Tally)| {
                    format!("{} ({})", address(calls, *number), tally.count)
                };
                format!("[{}]", several.iter().map(name).collect::<Vec<_>>().join(", "))
            }
        };
        let mut all = Tally::default();
        for (_, tally) in opens {
            all.merge(tally);
        }
        Connection { sockets: sockets as i64, resolved, times: counted(&all) }
    };
    (0..threads).map(of).collect()
}

//! The load: connections, threads, times and rates.

use super::zero;
use crate::plan::error::{Message, PlanError, given, name};
use crate::plan::{Draft, Field, HttpVersion, Request, Timestamps};
use crate::schedule::{Profile, RATE_LIMIT_UHZ};
use crate::units::{counted, format_count, format_duration, format_rate};

/// The most requests that all connections may have open at once: there is room for each from the
/// start.
const OPEN_REQUESTS_MAX: u64 = 10_000_000;

/// The most stages: each is measured by itself, in about a MiB for each worker.
const STAGES_MAX: usize = 500;

pub(super) fn check(draft: &Draft, errors: &mut Vec<PlanError>) {
    errors.extend(zeros(draft));
    errors.extend(open_requests(draft));
    errors.extend(threads(draft));
    errors.extend(unscheduled(draft));
    errors.extend(unpipelined(draft));
    errors.extend(connections(draft));
    errors.extend(schedules(draft));
    errors.extend(draft.rate.as_ref().and_then(|profile| rate(draft, profile)));
    if draft.duration_ns.is_none() && draft.requests.is_none() && draft.trace.is_none() {
        let advice =
            Message::from("give ") + name(Field::Duration) + " or " + name(Field::Requests);
        let problem = "neither a duration nor a number of requests";
        errors.push(PlanError::new(Field::Duration, problem, advice));
    }
}

/// Gives each request a connection of its own, where each says that its connection ends with the
/// response. What differs from request to request is decided when it is sent.
pub(super) fn part_connections(draft: &mut Draft) {
    let is_plain = matches!(draft.endpoint.scheme.as_str(), "http" | "https");
    let stays = draft.transport.outlives_close || draft.script.is_some() || draft.vus.is_some();
    if is_plain && !stays && draft.requests().all(Request::ends_connection) {
        draft.requests_per_connection = Some(1);
        draft.requests_per_connection_min = None;
    }
}

/// Numbers that must not be 0.
fn zeros(draft: &Draft) -> impl Iterator<Item = PlanError> {
    const MORE: &str = "give 1 or more";
    const LONGER: &str = "give a duration above 0";
    let is_zero = [
        (draft.pipeline == 0, Field::Pipeline, "cannot send anything", MORE),
        (draft.http2.streams == 0, Field::Streams, "cannot send anything", MORE),
        (draft.requests == Some(0), Field::Requests, "asks for no request", MORE),
        (draft.duration_ns == Some(0), Field::Duration, "leaves no time", LONGER),
        (draft.timeout_ns == 0, Field::Timeout, "fails every request", LONGER),
        (
            draft.requests_per_connection == Some(0),
            Field::RequestsPerConn,
            "cannot send anything",
            MORE,
        ),
        (
            draft.requests_per_connection_min.is_some_and(|least| {
                !(1..=draft.requests_per_connection.unwrap_or(0)).contains(&least)
            }),
            Field::RequestsPerConn,
            "has a least number that is 0 or above its greatest",
            "give MIN:MAX",
        ),
        (draft.shed_after_ns == Some(0), Field::ShedAfter, "drops every request", LONGER),
        (draft.connection_lifetime_ns == Some(0), Field::ConnLifetime, "leaves no time", LONGER),
    ];
    let zeros = is_zero
        .into_iter()
        .filter(|(is_zero, ..)| *is_zero)
        .map(|(_, field, means, advice)| zero(field, means, advice));
    let none = (draft.connections == 0).then(|| {
        let advice = Message::from("give ") + given(Field::Connections, 1) + " or more";
        PlanError::new(Field::Connections, "0 connections cannot send anything", advice)
    });
    none.into_iter().chain(zeros)
}

fn open_requests(draft: &Draft) -> Option<PlanError> {
    let in_flight = draft.in_flight_per_connection();
    let most = u64::from(draft.connections_limit()) * u64::from(in_flight);
    let problem = || {
        format!(
            "{} on each of {} are too many: there may be {} at once",
            counted(in_flight.into(), "request"),
            counted(draft.connections_limit().into(), "connection"),
            format_count(OPEN_REQUESTS_MAX),
        )
    };
    let of_each = match draft.http_version {
        HttpVersion::Http1 if draft.endpoint.is_websocket() => Field::Streams,
        HttpVersion::Http1 => Field::Pipeline,
        HttpVersion::Http2 | HttpVersion::Auto => Field::Streams,
    };
    let (field, lower) = match in_flight {
        0 | 1 => (Field::Connections, Message::from("lower ")),
        _ => (of_each, Message::from("lower ") + name(of_each) + " or "),
    };
    let lower = lower + name(Field::Connections);
    (most > OPEN_REQUESTS_MAX).then(|| PlanError::new(field, problem(), lower))
}

fn threads(draft: &Draft) -> Option<PlanError> {
    (draft.workers > draft.connections).then(|| {
        let problem = format!(
            "{} for {} leaves threads without work",
            counted(draft.workers.into(), "thread"),
            counted(draft.connections.into(), "connection"),
        );
        let fewer = Message::from("give ") + given(Field::Threads, draft.connections) + " or fewer";
        PlanError::new(Field::Threads, problem, fewer)
    })
}

/// What means nothing in a closed loop.
fn unscheduled(draft: &Draft) -> Option<PlanError> {
    if draft.is_open_loop() {
        return None;
    }
    // Under control the number of connections is changed from outside.
    let grows = draft.connections_max.is_some() && draft.control.is_none();
    let given = [
        (draft.shed_after_ns.is_some(), Field::ShedAfter, name(Field::ShedAfter)),
        (grows, Field::Connections, given(Field::Connections, "MIN..MAX")),
    ];
    let (_, field, mention) = given.into_iter().find(|(is_given, ..)| *is_given)?;
    let advice = Message::from("give ")
        + name(Field::Rate)
        + ", "
        + name(Field::Stages)
        + " or "
        + name(Field::RateFile);
    Some(PlanError::new(field, mention + " needs a schedule", advice))
}

/// What needs one request at a time on a connection.
fn unpipelined(draft: &Draft) -> Option<PlanError> {
    if draft.pipeline <= 1 {
        return None;
    }
    let continues = draft.requests().any(|request| request.expect_continue);
    if draft.requests().any(Request::ends_connection) && !draft.transport.outlives_close {
        let problem = Message::from("a request that says Connection: close and ")
            + name(Field::Pipeline)
            + " do not go together";
        return Some(PlanError::new(Field::Pipeline, problem, "leave one of them out"));
    }
    let given = [
        (draft.redirects > 0, Field::Redirects),
        (draft.cookies, Field::Cookies),
        (continues, Field::ExpectContinue),
        (draft.connects_per_request(), Field::NoKeepalive),
    ];
    let (_, field) = given.into_iter().find(|(is_given, _)| *is_given)?;
    let problem = name(field) + " and " + name(Field::Pipeline) + " do not go together";
    Some(PlanError::new(field, problem, "leave one of them out"))
}

fn connections(draft: &Draft) -> impl Iterator<Item = PlanError> {
    let backwards = draft.connections_max.is_some_and(|max| max < draft.connections).then(|| {
        let problem = given(Field::Connections, "MIN..MAX") + " has its ends the wrong way round";
        PlanError::new(Field::Connections, problem, "give the smaller first")
    });
    let has_lifetime = draft.connection_lifetime_ns.is_some();
    let ageless = (draft.connects_per_request() && has_lifetime).then(|| {
        let problem = name(Field::ConnLifetime)
            + " means nothing where each request has a connection of its own";
        PlanError::new(Field::ConnLifetime, problem, "leave it out")
    });
    let stamps = draft.timestamps == Timestamps::Kernel && draft.transport.unix_socket.is_some();
    let unstamped = stamps.then(|| {
        let problem =
            given(Field::Timestamps, "kernel") + ": the kernel stamps nothing on a Unix socket";
        PlanError::new(Field::Timestamps, problem, "leave it out")
    });
    backwards.into_iter().chain(ageless).chain(unstamped)
}

/// A list of times is a schedule by itself.
fn schedules(draft: &Draft) -> impl Iterator<Item = PlanError> {
    let has_trace = draft.trace.is_some();
    let twice = (has_trace && draft.rate.is_some()).then(|| {
        let problem = name(Field::RateFile) + " is a schedule by itself";
        let out = Message::from("leave ") + name(Field::Rate) + " and " + name(Field::Stages);
        PlanError::new(Field::RateFile, problem, out + " out")
    });
    let warm = (has_trace && draft.warmup_ns > 0).then(|| {
        let problem = name(Field::RateFile) + " has no rate to warm up at";
        let out = Message::from("leave ") + name(Field::Warmup) + " out";
        PlanError::new(Field::RateFile, problem, out)
    });
    let offsets = draft.trace.as_ref().map_or(&[][..], |trace| &trace.offsets_ns);
    let disordered = (has_trace && (offsets.is_empty() || !offsets.is_sorted())).then(|| {
        let problem = name(Field::RateFile) + " has no times, or not in order";
        PlanError::new(Field::RateFile, problem, "give at least one, the earliest first")
    });
    twice.into_iter().chain(warm).chain(disordered)
}

fn rate(draft: &Draft, profile: &Profile) -> Option<PlanError> {
    let stages = profile.stages.len();
    let (field, other) = match stages {
        0 | 1 => (Field::Rate, Field::Stages),
        _ => (Field::Stages, Field::Rate),
    };
    let problem =
        |problem: &str, advice: &str| Some(PlanError::new(field, problem, advice).or(other));
    if stages > STAGES_MAX {
        let many = format!("{} stages are too many", format_count(stages as u64));
        let fewer = Message::from(format!("give {STAGES_MAX} or fewer, or a list of times ("));
        return Some(PlanError::new(field, many, fewer + name(Field::RateFile) + ")"));
    }
    let peak_uhz = profile.peak_uhz();
    if !lasts(profile) {
        let advice = "give each a duration above 0";
        return problem("a stage lasts no time, or all of them too long", advice);
    }
    if peak_uhz == 0 {
        return problem("a rate of 0 sends nothing", "give a rate above 0");
    }
    if peak_uhz > RATE_LIMIT_UHZ {
        return problem("a rate above 1G/s cannot be kept", "give a lower one");
    }
    let (Some(requests), Some(duration_ns)) = (draft.requests, draft.duration_ns) else {
        return None;
    };
    let possible = profile.total()?;
    (requests > possible).then(|| {
        let problem = format!(
            "{} requests do not fit into {} at up to {}/s, which is {}",
            format_count(requests),
            format_duration(duration_ns),
            format_rate(peak_uhz as f64 / 1e6),
            format_count(possible),
        );
        let change = Message::from("change ")
            + name(Field::Requests)
            + ", "
            + name(Field::Duration)
            + " or "
            + name(Field::Rate);
        PlanError::new(Field::Requests, problem, change)
    })
}

/// Whether every stage lasts some time and all of them together no longer than a clock counts; the
/// last may go on without an end, at a constant rate.
fn lasts(profile: &Profile) -> bool {
    let Some((last, others)) = profile.stages.split_last() else { return true };
    let is_endless = last.duration_ns.is_none();
    let timed = if is_endless { others } else { &profile.stages[..] };
    let sum = timed.iter().try_fold(0_u64, |sum, stage| {
        sum.checked_add(stage.duration_ns.filter(|duration_ns| *duration_ns > 0)?)
    });
    sum.is_some() && (!is_endless || last.from_uhz == last.to_uhz)
}

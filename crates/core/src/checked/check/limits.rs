//! Limits of lengths. Those of flags are far below them; drafts also come from elsewhere.

use crate::plan::error::{PlanError, name};
use crate::plan::{Draft, Field};
use crate::units::{DURATION_LIMIT_NS, format_count};

/// More threads than any machine has CPUs would only be in each other's way.
pub(in crate::checked) const THREADS_MAX: u32 = 4096;

/// Entries of a list that a person writes.
const ENTRIES_MAX: usize = 10_000;

/// Characters of a name.
const NAME_CHARS_MAX: usize = 4096;

pub(super) fn check(draft: &Draft, errors: &mut Vec<PlanError>) {
    let transport = &draft.transport;
    let arguments = draft.script.as_ref().map_or(0, |script| script.arguments.len());
    let addresses = transport.resolve.iter().map(|rule| rule.addresses.len()).max().unwrap_or(0);
    let headers = draft.requests().map(|request| request.headers.len()).max().unwrap_or(0);
    let columns = draft.tables.iter().map(|table| table.columns.len()).max().unwrap_or(0);
    let expected = draft.targets.iter().map(|target| target.expect.len()).max().unwrap_or(0);
    let lists = [
        (Field::Header, headers),
        (Field::Body, draft.tables.len().max(columns)),
        (Field::Expect, draft.expect.len().max(expected)),
        (Field::Resolve, transport.resolve.len().max(addresses)),
        (Field::ConnectTo, transport.connect_to.len()),
        (Field::Bind, transport.bind.len()),
        (Field::Alpn, draft.tls.alpn.len()),
        (Field::ScriptArguments, arguments),
        (Field::Gate, draft.gates.len()),
        (Field::AbortWhen, draft.abort_when.len()),
        (Field::Pin, draft.pin.len()),
        (Field::Redact, draft.masks.names.len()),
    ];
    for (field, entries) in lists {
        if entries > ENTRIES_MAX {
            let problem = name(field) + format!(" has {} entries", format_count(entries as u64));
            let advice = format!("give {} or fewer", format_count(ENTRIES_MAX as u64));
            errors.push(PlanError::new(field, problem, advice));
        }
    }
    if draft.workers > THREADS_MAX {
        let threads = format!("{} threads are too many", draft.workers);
        let advice = format!("give {THREADS_MAX} or fewer");
        errors.push(PlanError::new(Field::Threads, threads, advice));
    }
    if draft.endpoint.host.len() > NAME_CHARS_MAX {
        let problem = "the host's name is too long";
        errors.push(PlanError::new(Field::Url, problem, "write http://HOST:PORT/PATH"));
    }
    times(draft, errors);
}

fn times(draft: &Draft, errors: &mut Vec<PlanError>) {
    let trace = draft.trace.as_ref().and_then(|trace| trace.offsets_ns.last().copied());
    let times = [
        (Field::Duration, draft.duration_ns.unwrap_or(0)),
        (Field::Warmup, draft.warmup_ns),
        (Field::Drain, draft.drain_ns),
        (Field::Timeout, draft.timeout_ns),
        (Field::ShedAfter, draft.shed_after_ns.unwrap_or(0)),
        (Field::ConnLifetime, draft.connection_lifetime_ns.unwrap_or(0)),
        (Field::RateFile, trace.unwrap_or(0)),
    ];
    for (field, _) in times.into_iter().filter(|(_, time_ns)| *time_ns > DURATION_LIMIT_NS) {
        errors.push(PlanError::new(field, name(field) + " is too long", "give 8784h at most"));
    }
}

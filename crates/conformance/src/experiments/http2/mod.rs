//! Whether a tester of HTTP/2 measures what its streams meet: limits, goodbyes, resets, windows.
//!
//! The oracle speaks HTTP/2 by prior knowledge. For a tester that needs TLS for it, the bench puts
//! TLS before it.
//!
//! Absent on purpose: statuses in trailers and deadlines that travel with a call, which are of gRPC
//! and in `messages`.

mod ends;
mod load;
mod streams;
mod windows;

pub(super) use self::ends::is_cancelled;
use super::Experiment;
use crate::harness::Run;
use crate::judge::{Checks, Judgement, said};
use crate::oracle::{Connection, Log};
use crate::tool::{Ask, Need, Reading};

/// All of them.
pub(super) fn all() -> Vec<Experiment> {
    [&streams::ALL[..], &ends::ALL, &windows::ALL, &load::ALL].concat()
}

const MS: u64 = 1_000_000;

/// Connections of HTTP/2 with this many streams each, in a closed loop of unknown length.
pub(super) fn over_streams(connections: u32, streams: u32) -> Ask {
    Ask { connections, extra: vec![Need::Http2 { streams }], ..Ask::to("/") }
}

/// The connections that carried requests. Others are judged by `connections-asked` alone.
fn used(log: &Log) -> impl Iterator<Item = &Connection> {
    log.connections.iter().filter(|connection| connection.requests > 0)
}

/// All requests came over HTTP/2, and the tester kept to it.
pub(super) fn keeps_to_http2(checks: &mut Checks, log: &Log) {
    let others = used(log).filter(|connection| !connection.is_http2).count();
    if others > 0 {
        checks.holds(false, format!("{others} connections of HTTP/1"), "none of HTTP/1");
    }
    if let Some(broke) = used(log).map(|connection| connection.broke).find(|code| *code != 0) {
        checks.holds(false, format!("broke the protocol (code {broke})"), "the protocol kept");
    }
}

/// No request is reported as completed, and an exit code or errors show that none was.
pub(super) fn gives_no_figures(checks: &mut Checks, run: &Run) {
    checks.exactly("completed", run.reading.completed.unwrap_or(0), 0);
    let lost: u64 = [run.reading.errors, run.reading.timed_out].into_iter().flatten().sum();
    let exit = match run.finished.code {
        Some(code) => format!("exit {code}"),
        None => "ended by a signal".to_owned(),
    };
    let is_shown = lost > 0 || run.finished.code != Some(0);
    checks.holds(is_shown, format!("errors {lost}, {exit}"), "errors or an exit code");
}

/// How many requests completed, and how many did not, as the tester has it.
pub(super) fn counted(reading: &Reading) -> Result<[u64; 2], Judgement> {
    let completed = said(reading.completed, "how many completed")?;
    let lost = [reading.errors, reading.timed_out].into_iter().flatten().sum();
    Ok([completed, lost])
}

#[cfg(test)]
mod tests;

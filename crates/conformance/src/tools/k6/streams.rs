//! HTTP/2 with several streams on each connection, for k6.
//!
//! A virtual user has one connection and one iteration, in which as many loops as streams each send
//! one request after the other. `http.batch` would wait for the slowest request of a batch before
//! the next begins, so that fewer streams were open.
//!
//! Absent on purpose: rates over several streams. k6 gives a virtual user one iteration at a time,
//! so a request that is due cannot go to a stream of a connection that is busy.

use serde_json::{Value, json};

use crate::tool::{Ask, Call};
use crate::tools::abilities::{ramp, streams, targets};

/// How many streams are asked for on each connection, if more than one.
fn several(ask: &Ask) -> Option<u32> {
    streams(ask).filter(|streams| *streams > 1)
}

/// The call that says why the ask of several streams goes beyond k6, if it does.
pub(super) fn refuse(ask: &Ask) -> Option<Call> {
    several(ask)?;
    let is_uneven = |requests: u64| !requests.is_multiple_of(u64::from(ask.connections.max(1)));
    let why = if ask.rate_rps.is_some() || ramp(ask).is_some() {
        "at a rate, one stream on each connection"
    } else if ask.warmup_s > 0.0 || !targets(ask).is_empty() {
        "over several streams, neither a warm-up nor weighted paths"
    } else if ask.requests.is_some_and(is_uneven) {
        "over several streams, as many requests on each connection"
    } else {
        return None;
    };
    Some(Call::CannotExpress(why.to_owned()))
}

/// The executor of several streams.
pub(super) fn scenario(ask: &Ask) -> Option<Value> {
    several(ask)?;
    Some(json!({
        "executor": "per-vu-iterations", "vus": ask.connections, "iterations": 1,
        "maxDuration": "1h",
    }))
}

/// The function of several streams, each request of which has these arguments.
pub(super) fn function(ask: &Ask, request: &str) -> Option<String> {
    let streams = several(ask)?;
    let until = ask.duration_s.map(|duration_s| (duration_s * 1e3).round() as u64);
    let until = until.map(|until_ms| format!("exec.scenario.startTime + {until_ms}"));
    let left = ask.requests.map(|requests| (requests / u64::from(ask.connections)).to_string());
    let [until, left] = [until, left].map(|limit| limit.unwrap_or_else(|| "Infinity".to_owned()));
    Some(format!(
        r"export default async function () {{
  const until = {until};
  let left = {left};
  const stream = async () => {{
    while (Date.now() < until && left-- > 0) note(await http.asyncRequest({request}));
  }};
  await Promise.all(Array.from({{ length: {streams} }}, stream));
}}
"
    ))
}

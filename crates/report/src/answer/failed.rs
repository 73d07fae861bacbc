//! What failed of a run, counted as the gate `errors` counts it, and why.

use plimsoll_core::RunResult;
use plimsoll_core::expect::Expectation;
use plimsoll_core::units::format_count;

use super::Look;
use crate::facts::incomplete_words;

/// A share of failures above this is never green.
const TOLERATED: f64 = 0.01;

/// Reasons that are named; of more, their number is.
const REASONS_SHOWN: usize = 4;

/// How many of how many requests failed, and why; `None` if none did.
pub(crate) fn failed(result: &RunResult) -> Option<(Look, String)> {
    let (failed, all) = result.failures();
    if failed == 0 {
        return None;
    }
    // Who interrupts a run leaves requests open, and that is no news of the server.
    let is_cut = result.interrupted && result.aborted.is_none();
    let cut = if is_cut { result.ledger.unfinished + result.ledger.unsent } else { 0 };
    let is_much = failed.saturating_sub(cut) as f64 > TOLERATED * all as f64;
    let look = if is_much { Look::Bad } else { Look::Good };
    let mut reasons = reasons(result);
    let more = reasons.len().saturating_sub(REASONS_SHOWN);
    if more > 0 {
        reasons.truncate(REASONS_SHOWN);
        reasons.push(format!("{more} more reasons"));
    }
    let why = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join(", ")) };
    Some((look, format!("{} of {} failed{why}", format_count(failed), format_count(all))))
}

/// The reasons, each with its count, those of responses first.
fn reasons(result: &RunResult) -> Vec<String> {
    let mut counts: Vec<(String, u64)> = result
        .status
        .iter()
        .filter(|(status, _)| is_failure(result, **status))
        .map(|(status, count)| (status.to_string(), *count))
        .collect();
    let calls = result.grpc_status.iter().filter(|(name, _)| *name != "OK");
    counts.extend(calls.map(|(name, count)| (name.clone(), *count)));
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let known: u64 = counts.iter().map(|(_, count)| count).sum();
    let mut reasons: Vec<String> =
        counts.iter().map(|(name, count)| format!("{name} x {}", format_count(*count))).collect();
    if let unlike @ 1.. = result.ledger.failed.saturating_sub(known) {
        reasons.push(format!("{} not as expected", format_count(unlike)));
    }
    reasons.extend(incomplete_words(result));
    let unsent = result.failures().0.saturating_sub(result.ledger.scheduled - result.ledger.ok);
    if unsent > 0 {
        reasons.push(format!("{} could not be sent", format_count(unsent)));
    }
    reasons
}

/// Whether responses of a status fail by it.
fn is_failure(result: &RunResult, status: u16) -> bool {
    let mut ranges = result.plan.expect.iter().filter_map(|expected| match expected {
        Expectation::Status(ranges) => Some(ranges),
        _ => None,
    });
    let Some(first) = ranges.next() else { return status >= 400 };
    let is_in = |ranges: &Vec<(u16, u16)>| ranges.iter().any(|(a, b)| (*a..=*b).contains(&status));
    !(is_in(first) && ranges.all(is_in))
}

//! Finds an outage: users could not reach the server for a part of the run. In a closed loop the
//! figures describe the rest of it.

use super::{Cause, Evidence, Verdict, cause, percent};
use crate::units::format_ns;

/// From one thousandth of the users' time on, the requests that they did not send would be seen in
/// the quantiles.
const SHARE_SUSPECT: f64 = 0.001;
/// An outage that long is one, however long the run.
const LONGEST_SUSPECT_NS: u64 = 1_000_000_000;

pub(super) fn unreachable(e: &Evidence) -> Option<Cause> {
    let outage = e.outage;
    if outage.share < SHARE_SUSPECT && outage.longest_ns < LONGEST_SUSPECT_NS {
        return None;
    }
    let figures = if e.open_loop {
        "response times include that wait, and requests that were never sent count as unsent"
    } else {
        "a closed loop sends nothing meanwhile, so rate and quantiles describe the rest"
    };
    let text = format!(
        "users could not reach the server, or got no answer from it, in {} of their time, for {} \
         at the longest: {figures}; see the errors",
        percent(outage.share),
        format_ns(outage.longest_ns),
    );
    cause(Verdict::Suspect, "outage", text)
}

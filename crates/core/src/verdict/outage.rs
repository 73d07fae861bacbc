//! Finds an outage: users could not reach the server for a part of the run, so the figures describe
//! the rest.

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
    let text = format!(
        "no connection could be had, or none that answers, in {} of the users' time, for {} at the \
         longest: they sent next to nothing meanwhile, so rate and quantiles are of the rest; see \
         the errors",
        percent(outage.share),
        format_ns(outage.longest_ns),
    );
    cause(Verdict::Suspect, "outage", text)
}

//! Finds what kept the tester from its work: too little CPU, being stopped, or a clock that moved.

use super::{Cause, Evidence, Pause, Verdict, cause, note, share};
use crate::units::{counted, format_duration, format_ns};

const BUSY_SUSPECT: f64 = 0.95;
const RUN_DELAY_SUSPECT: f64 = 0.05;
const STEAL_SUSPECT: f64 = 0.01;
const PAUSED_INVALID: f64 = 0.05;
/// From here on a quantile of 99 % is of the requests that waited meanwhile.
const PAUSED_SUSPECT: f64 = 0.01;
/// One pause of this length is the maximum of most runs, however long they are.
const PAUSE_SUSPECT_NS: u64 = 50_000_000;
/// Clocks that are kept right are slewed by less than this in any run.
const CLOCK_STEP_NS: u64 = 1_000_000_000;

/// Moments that were not in order, so that a duration would have been negative.
pub(super) fn time_order(e: &Evidence) -> Option<Cause> {
    if e.disordered == 0 {
        return None;
    }
    let text = format!(
        "{} would have been negative, and counted as nothing: that is a bug of this program, \
         please report it",
        counted(e.disordered, "duration")
    );
    cause(Verdict::Invalid, "time_order", text)
}

/// A script that would have gone on forever, which kept its thread from sending and reading.
pub(super) fn script(e: &Evidence) -> Option<Cause> {
    if !e.script_stopped {
        return None;
    }
    let text = "the script did not end by itself and was stopped after the run: requests that it \
                kept from being sent are missing; look for a loop in it";
    cause(Verdict::Invalid, "script", text.to_owned())
}

pub(super) fn busy(e: &Evidence) -> Option<Cause> {
    let worst = e.worker_busy.iter().copied().fold(0.0, f64::max);
    if worst < BUSY_SUSPECT {
        return None;
    }
    let text = format!(
        "a worker used {:.0} % of its CPU, so the tester may have been the limit: give it more \
         threads (-t) or a lower rate",
        worst * 100.0
    );
    cause(Verdict::Suspect, "cpu", text)
}

pub(super) fn run_delay(e: &Evidence) -> Option<Cause> {
    let worst = e.worker_run_delay.iter().copied().fold(0.0, f64::max);
    if worst < RUN_DELAY_SUSPECT {
        return None;
    }
    let text = format!(
        "a worker was ready to run and had no CPU for {:.0} % of the time: give it one that the \
         server and others do not use",
        worst * 100.0
    );
    cause(Verdict::Suspect, "cpu_shared", text)
}

/// Pauses that matter whatever the figures are.
pub(super) fn long_paused(e: &Evidence) -> Option<Cause> {
    let total_ns = e.paused_ns.max(covered_ns(&e.pauses));
    let is_one_long = e.pauses.iter().any(|pause| pause.for_ns >= PAUSE_SUSPECT_NS);
    let is_long = is_one_long || share(total_ns, e.elapsed_ns) >= PAUSED_SUSPECT;
    paused(e).filter(|_| is_long)
}

/// Pauses of any length: what they touch says whether they matter.
pub(super) fn paused(e: &Evidence) -> Option<Cause> {
    let longest = e.pauses.iter().max_by_key(|pause| pause.for_ns)?;
    let total_ns = e.paused_ns.max(covered_ns(&e.pauses));
    let worse = share(total_ns, e.elapsed_ns) > PAUSED_INVALID;
    let text = format!(
        "the tester did not run for {} from {} on ({} in all): what waited then looks slower than \
         the server was",
        format_ns(longest.for_ns),
        format_ns(longest.at_ns),
        format_ns(total_ns),
    );
    cause(if worse { Verdict::Invalid } else { Verdict::Suspect }, "paused", text)
}

/// Time covered by pauses, ns; workers that stood still together count once.
#[must_use]
pub fn covered_ns(pauses: &[Pause]) -> u64 {
    let mut sorted = pauses.to_vec();
    sorted.sort_unstable();
    let (mut covered_ns, mut end_ns) = (0, 0);
    for pause in sorted {
        let pause_end_ns = pause.at_ns.saturating_add(pause.for_ns);
        covered_ns += pause_end_ns.saturating_sub(end_ns.max(pause.at_ns));
        end_ns = end_ns.max(pause_end_ns);
    }
    covered_ns
}

pub(super) fn throttled(e: &Evidence) -> Option<Cause> {
    if e.throttled_ns == 0 {
        return None;
    }
    let worse = share(e.throttled_ns, e.elapsed_ns) > PAUSED_INVALID;
    let text = format!(
        "the tester's control group was throttled for {}: raise its CPU limit",
        format_ns(e.throttled_ns)
    );
    cause(if worse { Verdict::Invalid } else { Verdict::Suspect }, "throttled", text)
}

pub(super) fn steal(e: &Evidence) -> Option<Cause> {
    if e.steal_share < STEAL_SUSPECT {
        return None;
    }
    let text = format!(
        "the hypervisor took {:.1} % of the CPU time: tails may be its doing",
        e.steal_share * 100.0
    );
    cause(Verdict::Suspect, "steal", text)
}

/// The wall clock was set. Nothing is measured with it.
pub(super) fn clock_step(e: &Evidence) -> Option<Cause> {
    if e.clock_step_ns.unsigned_abs() <= CLOCK_STEP_NS {
        return None;
    }
    let direction = if e.clock_step_ns < 0 { "back" } else { "forward" };
    note(
        "clock_step",
        format!(
            "the wall clock was set {direction} by {} during the run: `started_at` may be off, \
             nothing else is",
            format_duration(e.clock_step_ns.unsigned_abs())
        ),
    )
}

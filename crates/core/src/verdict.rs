//! Whether a result can be believed: a pure function from evidence about the tester to a verdict
//! with causes.
//!
//! The verdict is about the tester, never about the server: errors and slow responses do not make
//! a result suspect, a tester that sent late, ran out of CPU or was stopped does.

use serde::{Deserialize, Serialize};

use crate::units::{format_count, format_ns, format_rate};

/// Can the result be believed?
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing was found that distorts the figures.
    #[default]
    Valid,
    /// Something happened that may have distorted some of them; the causes say what.
    Suspect,
    /// The figures say more about the tester than about the server.
    Invalid,
}

impl Verdict {
    /// The name used in results and on command lines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Suspect => "suspect",
            Self::Invalid => "invalid",
        }
    }
}

/// One reason not to believe a result.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cause {
    /// How bad it is.
    pub verdict: Verdict,
    /// A stable name, for programs.
    pub code: String,
    /// What was seen and what to do, for people: one line.
    pub text: String,
}

/// A stretch in which the tester did not run: stopped, throttled, or its CPU taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pause {
    /// When it began, from the start of the measured part.
    #[serde(rename = "at_s", with = "crate::seconds::from_ns")]
    pub at_ns: u64,
    /// How long it lasted.
    #[serde(rename = "for_s", with = "crate::seconds::from_ns")]
    pub for_ns: u64,
}

/// What was seen of the tester during the measured part of a run.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// Whether there is a schedule to keep.
    pub open_loop: bool,
    /// How long the measured part took, ns.
    pub elapsed_ns: u64,
    /// For each worker, the share of one CPU it worked (0 to 1, spinning left out).
    pub worker_busy: Vec<f64>,
    /// For each worker, the share of the time it was ready to run and had no CPU (0 to 1).
    pub worker_run_delay: Vec<f64>,
    /// Median of the tester's own lateness, ns.
    pub lateness_p50_ns: u64,
    /// 99th percentile of it, ns.
    pub lateness_p99_ns: u64,
    /// 99.9th percentile of it, ns.
    pub lateness_p999_ns: u64,
    /// 99.9th percentile of the response time, ns.
    pub response_p999_ns: u64,
    /// Median service time, ns.
    pub service_p50_ns: u64,
    /// Stretches in which a worker did not run.
    pub pauses: Vec<Pause>,
    /// How long the control group was throttled, ns.
    pub throttled_ns: u64,
    /// Share of CPU time the hypervisor took (0 to 1).
    pub steal_share: f64,
    /// Requests the plan wants exactly, if it does, and was not interrupted before.
    pub requests: Option<u64>,
    /// Requests started.
    pub sent: u64,
    /// Slots that came due.
    pub scheduled: u64,
    /// Of those, never sent for want of a connection.
    pub unsent: u64,
    /// Requests completed.
    pub completed: u64,
    /// Connections the plan gives.
    pub connections: u32,
    /// Connections that the schedule would have needed at the service time seen (Little's law).
    pub connections_needed: u64,
    /// Connects that failed because the tester's host had no free port.
    pub no_ports: u64,
    /// Connects that failed because the tester's host had no free file descriptor.
    pub no_files: u64,
    /// Durations beyond an hour.
    pub beyond_hour: u64,
}

/// Below this, lateness is noise whatever the server's speed.
const LATENESS_FLOOR_NS: u64 = 100_000;
/// Enough samples for a quantile of 99 %.
const P99_SAMPLES: u64 = 1_000;
/// Enough samples for a quantile of 99.9 %.
const TAIL_SAMPLES: u64 = 10_000;
const BUSY_SUSPECT: f64 = 0.95;
const RUN_DELAY_SUSPECT: f64 = 0.05;
const STEAL_SUSPECT: f64 = 0.01;
const UNSENT_SUSPECT: f64 = 0.01;
const PAUSED_INVALID: f64 = 0.05;

/// The verdict on the evidence, worst cause first.
#[must_use]
pub fn judge(evidence: &Evidence) -> (Verdict, Vec<Cause>) {
    let checks: [fn(&Evidence) -> Option<Cause>; 12] = [
        nothing,
        lateness,
        late_tail,
        busy,
        run_delay,
        paused,
        throttled,
        steal,
        short,
        connections,
        resources,
        beyond_hour,
    ];
    let mut causes: Vec<Cause> = checks.iter().filter_map(|check| check(evidence)).collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.verdict));
    (causes.first().map_or(Verdict::Valid, |cause| cause.verdict), causes)
}

fn cause(verdict: Verdict, code: &str, text: String) -> Option<Cause> {
    Some(Cause { verdict, code: code.to_owned(), text })
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn nothing(e: &Evidence) -> Option<Cause> {
    if e.completed > 0 {
        return None;
    }
    cause(Verdict::Invalid, "no_responses", "not one response arrived".to_owned())
}

/// Lateness by the 99th percentile. By the median after a pause, which makes many requests late and
/// has a cause of its own, and where the 99th percentile is but a handful of requests.
fn lateness(e: &Evidence) -> Option<Cause> {
    let by_tail = e.pauses.is_empty() && e.sent >= P99_SAMPLES;
    let (late_ns, share) =
        if by_tail { (e.lateness_p99_ns, "1 %") } else { (e.lateness_p50_ns, "half") };
    if !e.open_loop || late_ns <= LATENESS_FLOOR_NS.max(e.service_p50_ns / 10) {
        return None;
    }
    let worse = late_ns > (10 * LATENESS_FLOOR_NS).max(e.service_p50_ns);
    let text = format!(
        "the tester itself sent {share} of the requests {} late or more: give it a CPU of its own",
        format_ns(late_ns)
    );
    cause(if worse { Verdict::Invalid } else { Verdict::Suspect }, "late", text)
}

/// The tail is the tester's when its own lateness makes up most of it.
fn late_tail(e: &Evidence) -> Option<Cause> {
    let late = e.lateness_p999_ns > (10 * LATENESS_FLOOR_NS).max(e.response_p999_ns / 2);
    if !e.open_loop
        || e.sent < TAIL_SAMPLES
        || !late
        || !e.pauses.is_empty()
        || lateness(e).is_some()
    {
        return None;
    }
    let text = format!(
        "one request in a thousand was sent {} late or more: the tail beyond p99 is the tester's \
         host as much as the server",
        format_ns(e.lateness_p999_ns)
    );
    cause(Verdict::Suspect, "late_tail", text)
}

fn run_delay(e: &Evidence) -> Option<Cause> {
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

fn busy(e: &Evidence) -> Option<Cause> {
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

fn paused(e: &Evidence) -> Option<Cause> {
    let longest = e.pauses.iter().max_by_key(|pause| pause.for_ns)?;
    let total_ns = covered_ns(&e.pauses);
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

/// Time covered by the pauses; workers that stood still together count once.
fn covered_ns(pauses: &[Pause]) -> u64 {
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

fn throttled(e: &Evidence) -> Option<Cause> {
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

fn steal(e: &Evidence) -> Option<Cause> {
    if e.steal_share < STEAL_SUSPECT {
        return None;
    }
    let text = format!(
        "the hypervisor took {:.1} % of the CPU time: tails may be its doing",
        e.steal_share * 100.0
    );
    cause(Verdict::Suspect, "steal", text)
}

fn short(e: &Evidence) -> Option<Cause> {
    let requests = e.requests.filter(|requests| e.sent < *requests)?;
    let text = format!(
        "{} of {} requests were sent before the run had to end",
        format_count(e.sent),
        format_count(requests)
    );
    cause(Verdict::Suspect, "short", text)
}

fn connections(e: &Evidence) -> Option<Cause> {
    if !e.open_loop || share(e.unsent, e.scheduled) < UNSENT_SUSPECT {
        return None;
    }
    let text = format!(
        "{} of {} requests found no free connection before the end: {} connections, about {} \
         needed at the service time seen",
        format_count(e.unsent),
        format_count(e.scheduled),
        e.connections,
        format_count(e.connections_needed.max(u64::from(e.connections) + 1)),
    );
    cause(Verdict::Suspect, "connections", text)
}

fn resources(e: &Evidence) -> Option<Cause> {
    let (code, count, what, hint) = if e.no_ports > 0 {
        ("ports", e.no_ports, "free local port", "net.ipv4.ip_local_port_range")
    } else if e.no_files > 0 {
        ("files", e.no_files, "free file descriptor", "ulimit -n")
    } else {
        return None;
    };
    let text = format!(
        "{} connects failed because this host had no {what}: raise {hint}",
        format_count(count)
    );
    cause(Verdict::Invalid, code, text)
}

fn beyond_hour(e: &Evidence) -> Option<Cause> {
    if e.beyond_hour == 0 {
        return None;
    }
    let text = format!(
        "{} requests took more than an hour: quantiles show them as an hour",
        format_count(e.beyond_hour)
    );
    cause(Verdict::Suspect, "beyond_hour", text)
}

/// How many connections a rate needs at a service time (Little's law), rounded up.
#[must_use]
pub fn connections_needed(rate_uhz: u64, service_mean_ns: f64) -> u64 {
    (rate_uhz as f64 / 1e6 * service_mean_ns / 1e9).ceil() as u64
}

/// What the sentence a person reads first depends on.
#[derive(Debug, Clone, Copy)]
pub struct Headline {
    /// The verdict.
    pub verdict: Verdict,
    /// Whether there was a schedule.
    pub open_loop: bool,
    /// Responses per second.
    pub achieved_rps: f64,
    /// 99th percentile of the wait for a connection, ns.
    pub blocked_p99_ns: u64,
}

/// The sentence a person reads first.
#[must_use]
pub fn headline(facts: Headline) -> String {
    let rate = format_rate(facts.achieved_rps);
    match (facts.verdict, facts.open_loop) {
        (Verdict::Valid, true) if facts.blocked_p99_ns > LATENESS_FLOOR_NS => {
            format!("requests had to wait for a free connection, {rate} responses/s")
        }
        (Verdict::Valid, true) => format!("the schedule was kept, {rate} responses/s"),
        (Verdict::Valid, false) => format!("the tester had room to spare, {rate} responses/s"),
        (Verdict::Suspect, _) => format!("read the causes before the figures, {rate} responses/s"),
        (Verdict::Invalid, _) => "these figures are not the server's".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Evidence {
        Evidence {
            open_loop: true,
            elapsed_ns: 10_000_000_000,
            worker_busy: vec![0.4, 0.5],
            lateness_p50_ns: 200,
            lateness_p99_ns: 9_000,
            service_p50_ns: 40_000,
            requests: Some(10_000),
            sent: 10_000,
            scheduled: 10_000,
            completed: 10_000,
            connections: 50,
            ..Evidence::default()
        }
    }

    #[test]
    fn each_cause_is_provoked_alone() {
        assert_eq!(judge(&good()), (Verdict::Valid, vec![]));
        let pause = Pause { at_ns: 1_000_000_000, for_ns: 400_000_000 };
        let later = Pause { at_ns: 2_000_000_000, ..pause };
        let late_tail = Evidence {
            sent: 20_000,
            lateness_p999_ns: 3_000_000,
            response_p999_ns: 4_000_000,
            ..good()
        };
        let cases = [
            (Evidence { completed: 0, ..good() }, Verdict::Invalid, "no_responses"),
            (Evidence { lateness_p99_ns: 150_000, ..good() }, Verdict::Suspect, "late"),
            (Evidence { lateness_p99_ns: 2_000_000, ..good() }, Verdict::Invalid, "late"),
            (
                Evidence { sent: 14, requests: None, lateness_p50_ns: 200_000, ..good() },
                Verdict::Suspect,
                "late",
            ),
            (Evidence { worker_busy: vec![0.2, 0.99], ..good() }, Verdict::Suspect, "cpu"),
            (Evidence { pauses: vec![pause], ..good() }, Verdict::Suspect, "paused"),
            (Evidence { pauses: vec![pause, pause], ..good() }, Verdict::Suspect, "paused"),
            (Evidence { pauses: vec![pause, later], ..good() }, Verdict::Invalid, "paused"),
            (
                Evidence { pauses: vec![pause], lateness_p99_ns: 300_000_000, ..good() },
                Verdict::Suspect,
                "paused",
            ),
            (Evidence { worker_run_delay: vec![0.3], ..good() }, Verdict::Suspect, "cpu_shared"),
            (Evidence { sent: 9_999, ..good() }, Verdict::Suspect, "short"),
            (late_tail, Verdict::Suspect, "late_tail"),
            (Evidence { throttled_ns: 1_000_000, ..good() }, Verdict::Suspect, "throttled"),
            (Evidence { steal_share: 0.02, ..good() }, Verdict::Suspect, "steal"),
            (Evidence { unsent: 500, ..good() }, Verdict::Suspect, "connections"),
            (Evidence { no_ports: 1, ..good() }, Verdict::Invalid, "ports"),
            (Evidence { no_files: 1, ..good() }, Verdict::Invalid, "files"),
            (Evidence { beyond_hour: 1, ..good() }, Verdict::Suspect, "beyond_hour"),
        ];
        for (evidence, verdict, code) in cases {
            let (found, causes) = judge(&evidence);
            assert_eq!((found, causes.len(), causes[0].code.as_str()), (verdict, 1, code));
            assert!(!causes[0].text.contains('\n'));
        }
    }

    #[test]
    fn lateness_is_measured_against_the_server_and_only_at_a_rate() {
        let slow = Evidence { lateness_p99_ns: 150_000, service_p50_ns: 50_000_000, ..good() };
        assert_eq!(judge(&slow).0, Verdict::Valid);
        let few = Evidence { sent: 14, requests: None, lateness_p99_ns: 200_000, ..good() };
        assert_eq!(judge(&few).0, Verdict::Valid, "one late request of 14 is no p99");
        let closed = Evidence { open_loop: false, lateness_p99_ns: 5_000_000, ..good() };
        assert_eq!(judge(&closed).0, Verdict::Valid);
    }

    #[test]
    fn littles_law() {
        assert_eq!(connections_needed(100_000_000, 500_000_000.0), 50);
    }
}

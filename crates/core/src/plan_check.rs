//! Refuses plans that cannot be carried out: numbers that contradict each other, flags that mean
//! nothing together, conditions that cannot be measured. The engine runs only plans that passed.

use crate::gate;
use crate::plan::{Plan, PlanError, Timestamps};
use crate::schedule::{Profile, RATE_LIMIT_UHZ};
use crate::units::{counted, format_count, format_duration, format_rate};

/// The most requests that all connections may have open at once: there is room for each from the
/// start.
const OPEN_REQUESTS_MAX: u64 = 10_000_000;

/// The most stages: each is measured by itself, in about a MiB for each worker.
const STAGES_MAX: usize = 500;

/// Refuses impossible plans.
///
/// # Errors
/// The first thing that cannot be done, in one line.
pub fn check(plan: &Plan) -> Result<(), PlanError> {
    let problem = if plan.connections == 0 {
        Some("0 connections cannot send anything: give -c 1 or more".to_owned())
    } else if plan.pipeline == 0 {
        Some("--pipeline 0 cannot send anything: give 1 or more".to_owned())
    } else if open_requests_limit(plan) > OPEN_REQUESTS_MAX {
        Some(format!(
            "{} on each of {} are too many: there may be {} at once: lower --pipeline or -c",
            counted(plan.pipeline.into(), "request"),
            counted(plan.connections_limit().into(), "connection"),
            format_count(OPEN_REQUESTS_MAX),
        ))
    } else if plan.requests == Some(0) {
        Some("-n 0 asks for no request: give 1 or more".to_owned())
    } else if plan.duration_ns == Some(0) {
        Some("-d 0 leaves no time: give a duration above 0".to_owned())
    } else if plan.timeout_ns == 0 {
        Some("--timeout 0 fails every request: give a duration above 0".to_owned())
    } else if plan.requests_per_connection == Some(0) {
        Some("--requests-per-conn 0 cannot send anything: give 1 or more".to_owned())
    } else if plan.workers > plan.connections {
        Some(format!(
            "{} for {} leaves threads without work: give -t {} or fewer",
            counted(plan.workers.into(), "thread"),
            counted(plan.connections.into(), "connection"),
            plan.connections
        ))
    } else if plan.connections_max.is_some_and(|max| max < plan.connections) {
        Some("-c MIN..MAX has its ends the wrong way round: give the smaller first".to_owned())
    } else if let Some(flag) = open_loop_flag(plan) {
        Some(format!("{flag} needs a schedule: give -r, --stages or --rate-file"))
    } else if plan.shed_after_ns == Some(0) {
        Some("--shed-after 0 drops every request: give a duration above 0".to_owned())
    } else if plan.connection_lifetime_ns == Some(0) {
        Some("--conn-lifetime 0 leaves no time: give a duration above 0".to_owned())
    } else if let Some(flag) = unpipelined_flag(plan) {
        Some(format!("{flag} and --pipeline do not go together: leave one of them out"))
    } else if plan.connects_per_request() && plan.connection_lifetime_ns.is_some() {
        let text = "--conn-lifetime means nothing where each request has a connection of its \
                    own: leave it out";
        Some(text.to_owned())
    } else if plan.timestamps == Timestamps::Kernel && plan.transport.unix_socket.is_some() {
        let text = "--timestamps kernel: the kernel stamps nothing on a Unix socket: leave it out";
        Some(text.to_owned())
    } else if plan.trace.is_some() && plan.rate.is_some() {
        Some("--rate-file is a schedule by itself: leave -r and --stages out".to_owned())
    } else if plan.trace.is_some() && plan.warmup_ns > 0 {
        Some("--rate-file has no rate to warm up at: leave --warmup out".to_owned())
    } else if plan.tls.resume_percent > 100 {
        Some("--tls-resume is per cent of the handshakes: give 0 to 100".to_owned())
    } else if let Some(name) = plan.tls.alpn.iter().find(|name| !is_spoken(name)) {
        // A server may choose any protocol that it was offered.
        Some(format!(
            "--alpn '{name}' is not spoken here: offer http/1.1 or http/1.0, \
             or '' to offer none"
        ))
    } else if plan.duration_ns.is_none() && plan.requests.is_none() && plan.trace.is_none() {
        Some("neither a duration nor a number of requests: give -d or -n".to_owned())
    } else {
        let rate_problem = plan.rate.as_ref().and_then(|profile| rate_problem(plan, profile));
        rate_problem.or_else(|| gate::check(plan).err().map(|error| error.to_string()))
    };
    problem.map_or(Ok(()), |text| Err(PlanError(text)))
}

/// A flag that means nothing in a closed loop, if one is given.
fn open_loop_flag(plan: &Plan) -> Option<&'static str> {
    if plan.is_open_loop() {
        return None;
    }
    // Under control the number of connections is changed from outside.
    let grows = plan.connections_max.is_some() && plan.control.is_none();
    let given = [("--shed-after", plan.shed_after_ns.is_some()), ("-c MIN..MAX", grows)];
    given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
}

/// A flag that needs one request at a time on a connection, if one is given with more.
fn unpipelined_flag(plan: &Plan) -> Option<&'static str> {
    if plan.pipeline == 1 {
        return None;
    }
    let continues = plan.requests().any(|request| request.expect_continue);
    let given = [
        ("--redirects", plan.redirects > 0),
        ("--cookies", plan.cookies),
        ("--expect-continue", continues),
        ("--no-keepalive", plan.connects_per_request()),
    ];
    given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
}

fn rate_problem(plan: &Plan, profile: &Profile) -> Option<String> {
    let stages = profile.stages.len();
    if stages > STAGES_MAX {
        let stages = format_count(stages as u64);
        return Some(format!(
            "{stages} stages are too many: give {STAGES_MAX} or fewer, or a list of times \
             (--rate-file)"
        ));
    }
    let peak_uhz = profile.peak_uhz();
    if peak_uhz == 0 {
        return Some("a rate of 0 sends nothing: give a rate above 0".to_owned());
    }
    if peak_uhz > RATE_LIMIT_UHZ {
        return Some("a rate above 1G/s cannot be kept: give a lower one".to_owned());
    }
    let (Some(requests), Some(duration_ns)) = (plan.requests, plan.duration_ns) else {
        return None;
    };
    let possible = profile.total()?;
    (requests > possible).then(|| {
        format!(
            "{} requests do not fit into {} at up to {}/s, which is {}: change -n, -d or -r",
            format_count(requests),
            format_duration(duration_ns),
            format_rate(peak_uhz as f64 / 1e6),
            format_count(possible),
        )
    })
}

/// The most requests there can be under way at once.
fn open_requests_limit(plan: &Plan) -> u64 {
    u64::from(plan.connections_limit()) * u64::from(plan.pipeline)
}

/// Whether a protocol that TLS can agree on is one that is spoken.
fn is_spoken(protocol: &str) -> bool {
    ["http/1.1", "http/1.0"].contains(&protocol)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Endpoint, TlsPlan};
    use crate::schedule::Arrival;

    fn plan() -> Plan {
        Plan::new(Endpoint::http("::1", 8080, "/"))
    }

    #[test]
    fn impossible_plans_are_refused_with_the_flag_to_change() {
        assert_eq!(check(&plan()), Ok(()));
        let rate = |uhz| Some(Profile::constant(uhz, Some(10_000_000_000), Arrival::Uniform));
        let stages = crate::schedule::parse_stages(&["1s@5"; STAGES_MAX + 1].join(","));
        let many_stages = Profile { stages: stages.expect("stages"), arrival: Arrival::Uniform };
        let cases = [
            (Plan { connections: 0, ..plan() }, "-c"),
            (Plan { pipeline: 0, ..plan() }, "--pipeline"),
            (Plan { pipeline: u32::MAX, ..plan() }, "on each of 50 connections are too many"),
            (Plan { requests: Some(0), ..plan() }, "-n"),
            (Plan { duration_ns: Some(0), ..plan() }, "-d"),
            (Plan { timeout_ns: 0, ..plan() }, "--timeout"),
            (Plan { workers: 51, ..plan() }, "-t"),
            (Plan { duration_ns: None, ..plan() }, "-d or -n"),
            (Plan { requests_per_connection: Some(0), ..plan() }, "--requests-per-conn"),
            (Plan { rate: rate(0), ..plan() }, "rate"),
            (Plan { rate: Some(many_stages), ..plan() }, "501 stages are too many"),
            (Plan { connections_max: Some(9), ..plan() }, "-c MIN..MAX"),
            (Plan { connections_max: Some(99), ..plan() }, "needs a schedule"),
            (Plan { shed_after_ns: Some(1), ..plan() }, "--shed-after"),
            (Plan { pipeline: 2, cookies: true, ..plan() }, "--cookies"),
            (Plan { pipeline: 2, requests_per_connection: Some(1), ..plan() }, "--no-keepalive"),
            (
                Plan {
                    requests_per_connection: Some(1),
                    connection_lifetime_ns: Some(1),
                    ..plan()
                },
                "--conn-lifetime",
            ),
            (
                Plan { tls: TlsPlan { resume_percent: 101, ..TlsPlan::default() }, ..plan() },
                "--tls-resume",
            ),
            (
                Plan {
                    tls: TlsPlan { alpn: vec!["h2".to_owned()], ..TlsPlan::default() },
                    ..plan()
                },
                "--alpn 'h2'",
            ),
            (Plan { gates: vec!["p99".to_owned()], ..plan() }, "p99<250ms"),
            (Plan { abort_when: vec!["ok.p99<1s".to_owned()], ..plan() }, "'ok.p99<1s'"),
            (Plan { rate: rate(1_000_000), requests: Some(11), ..plan() }, "-n, -d or -r"),
        ];
        for (plan, flag) in cases {
            let error = check(&plan).unwrap_err().to_string();
            assert!(error.contains(flag), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}

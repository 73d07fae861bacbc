//! Checks before a run: how many workers to start, whether to spin, and whether the plan fits the
//! host's limits. A plan that does not fit is refused before anything is sent.

use plimsoll_core::Plan;
use plimsoll_core::plan::Spin;
use plimsoll_core::schedule::Profile;
use plimsoll_core::units::{counted, format_count};
use plimsoll_io::Address;
use plimsoll_io::host::{HostLimits, raise_open_files};

use crate::error::RunError;

/// A rate that one worker keeps with ease, µHz.
const WORKER_RATE_UHZ: u64 = 50_000_000_000;

/// With fewer connections than this for each worker, more workers only cost.
const WORKER_CONNECTIONS: u32 = 8;

/// Of a control group's quota, left for the threads that are no workers, CPUs.
const QUOTA_SPARE_CPUS: f64 = 0.25;

/// File descriptors the program needs besides its connections: standard streams, outputs, and
/// each driver's own.
const FILES_BESIDES: u64 = 32;
const FILES_PER_WORKER: u64 = 4;

/// The largest request, so that a payload's length fits its type.
const REQUEST_BYTES_MAX: usize = 1 << 30;

/// How many workers to start on `cpus` CPUs. A server on the same host is left half of them.
#[must_use]
pub fn workers(plan: &Plan, addresses: &[Address], cpus: u32) -> u32 {
    if plan.workers > 0 {
        return plan.workers;
    }
    let is_local = addresses.iter().all(|address| match address {
        Address::Tcp(address) | Address::Udp(address) => address.ip().is_loopback(),
        Address::Unix(_) => true,
    });
    let available = if is_local { cpus / 2 } else { cpus };
    let by_connections = plan.connections / WORKER_CONNECTIONS;
    let useful = peak_uhz(plan).map_or(by_connections, |peak_uhz| {
        let by_rate = peak_uhz.div_ceil(WORKER_RATE_UHZ);
        u32::try_from(by_rate).unwrap_or(u32::MAX).min(by_connections)
    });
    available.min(useful).max(1)
}

/// The highest rate of a schedule, µHz; the mean of a list of times. `None` in a closed loop.
fn peak_uhz(plan: &Plan) -> Option<u64> {
    if let Some(trace) = &plan.trace {
        let last_ns = trace.offsets_ns.last().copied().unwrap_or(0).max(1);
        return Some((trace.offsets_ns.len() as f64 * 1e15 / last_ns as f64) as u64);
    }
    plan.rate.as_ref().map(Profile::peak_uhz)
}

/// Whether to spin: of itself only at a rate, and where the workers leave the host a CPU and stay
/// below the control group's quota (`limit_cpus`), which would stop them all when it is used up.
pub(crate) fn spin(
    plan: &Plan,
    workers: u32,
    cpus_allowed: u32,
    cpus_online: u32,
    limit_cpus: Option<f64>,
) -> Spin {
    let room = workers < cpus_allowed || (workers == cpus_allowed && cpus_allowed < cpus_online);
    let fits = limit_cpus.is_none_or(|limit| f64::from(workers) + QUOTA_SPARE_CPUS <= limit);
    match plan.spin {
        Spin::Auto if !room || !fits || !plan.is_open_loop() => Spin::Off,
        wanted => wanted,
    }
}

/// How many file descriptors a run of a plan needs with this number of workers.
#[must_use]
pub fn files_needed(plan: &Plan, workers: u32) -> u64 {
    u64::from(plan.connections_limit()) + FILES_BESIDES + FILES_PER_WORKER * u64::from(workers)
}

/// Refuses what this host does not allow, after raising what can be raised. `beside` are the file
/// descriptors that other runs of this process need.
///
/// # Errors
/// The limit, what the plan needs, and what to do.
pub(crate) fn check_limits(
    plan: &Plan,
    workers: u32,
    routes: usize,
    beside: u64,
) -> Result<(), RunError> {
    let bodies = plan.requests().filter_map(|request| request.body.as_ref());
    let body_bytes = bodies.map(|body| body.as_bytes().len()).max().unwrap_or(0);
    let connections = u64::from(plan.connections_limit());
    if body_bytes > REQUEST_BYTES_MAX {
        let text = format!("a body of {} bytes is above 1 GiB", format_count(body_bytes as u64));
        return Err(RunError::Limit(text));
    }
    let limits = HostLimits::read();
    let files = files_needed(plan, workers).saturating_add(beside);
    let allowed = if files > limits.open_files_soft {
        raise_open_files().unwrap_or(limits.open_files_soft)
    } else {
        limits.open_files_soft
    };
    if files > allowed {
        return Err(RunError::Limit(format!(
            "{}{} would take {} file descriptors and this process may have {}: raise ulimit -n or \
             lower -c",
            counted(connections, "connection"),
            if beside > 0 { " and those of the other scenarios" } else { "" },
            format_count(files),
            format_count(allowed),
        )));
    }
    if plan.transport.unix_socket.is_some() {
        return Ok(());
    }
    let ports = u64::from(limits.local_ports_count()) * routes as u64;
    if connections > ports {
        return Err(RunError::Limit(format!(
            "{} would take as many local ports and this host gives {} for its addresses and the \
             server's: widen net.ipv4.ip_local_port_range, give more with --bind, or lower -c",
            counted(connections, "connection"),
            format_count(ports),
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use plimsoll_core::plan::Draft;
    use plimsoll_core::schedule::Arrival;

    use super::*;
    use crate::tests::{checked, plan};

    #[test]
    fn workers_follow_the_cpus_the_rate_and_the_connections() {
        let address = |text: &str| [Address::Tcp(text.parse().unwrap())];
        let (local, remote) = (address("127.0.0.1:80"), address("192.0.2.1:80"));
        let at = |rps: u64| Some(Profile::constant(rps * 1_000_000, None, Arrival::Uniform));
        let wide = Draft { connections: 1000, workers: 0, ..plan() };
        let cases = [
            (wide.clone(), &local, 8, 4),
            (wide.clone(), &local, 1, 1),
            (wide.clone(), &remote, 8, 8),
            (Draft { connections: 10, ..wide.clone() }, &remote, 8, 1),
            (Draft { rate: at(10_000), ..wide.clone() }, &remote, 8, 1),
            (Draft { rate: at(120_000), ..wide.clone() }, &remote, 8, 3),
            (Draft { rate: at(120_000), connections: 3, ..wide.clone() }, &remote, 8, 1),
            (Draft { rate: at(120_000), connections: 16, ..wide.clone() }, &remote, 8, 2),
            (Draft { workers: 5, ..wide }, &local, 2, 5),
        ];
        for (plan, addresses, cpus, want) in cases {
            let plan = checked(&plan);
            assert_eq!(workers(&plan, addresses, cpus), want, "{plan:?}");
        }
    }

    #[test]
    fn more_connections_than_files_or_ports_are_refused() {
        assert!(check_limits(&checked(&plan()), 1, 1, 0).is_ok());
        let many = checked(&Draft { connections: 10_000_000, ..plan() });
        let error = check_limits(&many, 1, 1, 0).unwrap_err().to_string();
        assert!(error.contains("lower -c"), "{error}");
        let error = check_limits(&checked(&plan()), 1, 1, 10_000_000).unwrap_err().to_string();
        assert!(error.contains("and those of the other scenarios would take 10 000 "), "{error}");
    }

    #[test]
    fn spinning_of_itself_needs_a_schedule_and_a_free_cpu() {
        let rate = Some(Profile::constant(1_000_000, None, Arrival::Uniform));
        let open = Draft { rate, ..plan() };
        let with = |draft: Draft, spin| checked(&Draft { spin, ..draft });
        assert_eq!(spin(&with(plan(), Spin::Auto), 1, 8, 8, None), Spin::Off);
        assert_eq!(spin(&with(plan(), Spin::On), 1, 8, 8, None), Spin::On);
        assert_eq!(spin(&with(open.clone(), Spin::Auto), 1, 2, 2, None), Spin::Auto);
        assert_eq!(spin(&with(open.clone(), Spin::Auto), 1, 1, 2, None), Spin::Auto);
        assert_eq!(spin(&with(open.clone(), Spin::Auto), 2, 2, 2, None), Spin::Off);
        assert_eq!(spin(&with(open.clone(), Spin::On), 2, 2, 2, None), Spin::On);
        assert_eq!(
            spin(&with(open.clone(), Spin::Auto), 1, 4, 8, Some(1.0)),
            Spin::Off,
            "the quota would run out"
        );
        assert_eq!(spin(&with(open.clone(), Spin::Auto), 1, 4, 8, Some(1.5)), Spin::Auto);
        assert_eq!(spin(&with(open, Spin::Off), 1, 2, 2, None), Spin::Off);
    }
}

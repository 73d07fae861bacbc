//! What a planned run needs of this host, and whether the host has it. Nothing is sent.

use std::net::SocketAddr;

use plimsoll_io::Address;

use plimsoll_core::Plan;
use plimsoll_core::plan::HttpVersion;
use plimsoll_core::units::{counted, format_count, format_ns, format_rate};
use plimsoll_core::verdict::connections_needed;
use plimsoll_engine::{files_needed, workers};

use super::finding::{Finding, Level};
use super::host::{TIME_WAIT_S, files};
use super::readings::Readings;

/// A plan and where it goes.
pub(crate) struct Planning<'a> {
    pub plan: &'a Plan,
    /// Where the server is, or why that is not known.
    pub addresses: Result<Vec<SocketAddr>, String>,
}

/// The service time for which a plan's connections should suffice, as nobody knows the server's.
const SERVICE_GUESS_NS: f64 = 100e6;
/// With a server slower than this, connections that suffice for no more are surely too few.
const SERVICE_LEAST_NS: f64 = 5e6;

/// What a request costs the tester that opens and closes a connection, in requests of one that is
/// kept. The floor is measured with the latter: a closed connection holds a port, and the run that
/// is planned may need it.
const CONNECT_COST: f64 = 8.0;

/// What the plan means for this host.
pub(crate) fn judge(planning: &Planning<'_>, r: &Readings) -> Vec<Finding> {
    let plan = planning.plan;
    let mut findings = Vec::new();
    let addresses = match &planning.addresses {
        Ok(addresses) => &addresses[..],
        Err(error) => {
            let advice = "check the name, or give an address";
            findings.push(Finding::new("plan", "server", Level::Bad, error, advice));
            &[]
        }
    };
    let cpus = r.environment.cpus_allowed.len() as u32;
    let to: Vec<Address> = addresses.iter().copied().map(Address::Tcp).collect();
    let workers = workers(plan, &to, cpus);
    findings.push(threads(workers, cpus));
    findings.push(open_files(plan, workers, r));
    findings.extend(ports(plan, addresses, r));
    findings.push(connections(plan));
    findings.push(tester_cpu(plan, workers, r));
    if !addresses.is_empty() || plan.transport.unix_socket.is_some() {
        findings.push(placement(plan, workers, addresses, cpus));
    }
    findings
}

fn threads(workers: u32, cpus: u32) -> Finding {
    Finding::new(
        "plan",
        "threads",
        if workers <= cpus { Level::Good } else { Level::Bad },
        format!("{workers} on {}", counted(cpus.into(), "CPU")),
        format!("threads that share a CPU make each other late: -t {cpus} or fewer"),
    )
}

fn open_files(plan: &Plan, workers: u32, r: &Readings) -> Finding {
    let (needed, allowed) = (files_needed(plan, workers), r.limits.open_files_hard);
    Finding::new(
        "plan",
        "files",
        if needed <= allowed { Level::Good } else { Level::Bad },
        format!("{} file descriptors needed, {} allowed", format_count(needed), files(allowed)),
        format!("the run would be refused: raise ulimit -n to {needed}, or lower -c"),
    )
}

/// Ports are counted for each pair of a source address and an address of the server.
fn ports(plan: &Plan, addresses: &[SocketAddr], r: &Readings) -> Option<Finding> {
    if plan.transport.unix_socket.is_some() {
        return None;
    }
    let pairs = plan.transport.bind.len().max(1) as u64 * addresses.len().max(1) as u64;
    let ports = pairs * u64::from(r.limits.local_ports_count());
    let open = u64::from(plan.connections_limit());
    let hold_s = port_held_s(addresses, r.settings.tcp_tw_reuse);
    let (needed, seen) = match (plan.requests_per_connection, plan.rate.as_ref()) {
        (Some(requests), Some(rate)) => {
            let closed_hz = rate.peak_uhz() as f64 / 1e6 / requests.max(1) as f64;
            let held = (closed_hz * hold_s as f64).ceil() as u64;
            let closed = format_rate(closed_hz);
            (open + held, format!(" (connections closed: {closed}/s, {hold_s} s each)"))
        }
        (Some(_), None) => {
            let sustained = format_rate(ports as f64 / hold_s as f64);
            (open, format!(" (closed ones are held {hold_s} s: {sustained} connections/s at most)"))
        }
        (None, _) => (open, String::new()),
    };
    // How many a closed loop closes is the server's to say.
    let unknown = plan.requests_per_connection.is_some() && plan.rate.is_none() && hold_s > 1;
    let level = Level::up_to(needed as f64, 0.8 * ports as f64, ports as f64);
    Some(Finding::new(
        "plan",
        "ports",
        if unknown { level.max(Level::Warn) } else { level },
        format!("{} local ports needed, {} there{seen}", format_count(needed), format_count(ports)),
        "connects will fail here, not at the server: keep-alive, a wider \
         net.ipv4.ip_local_port_range, net.ipv4.tcp_tw_reuse=1, or more source addresses (--bind)",
    ))
}

/// How long a closed connection holds its port, if this side closed it: a minute, or a second where
/// it may be used again for the same address (tcp_tw_reuse).
fn port_held_s(addresses: &[SocketAddr], tcp_tw_reuse: Option<u32>) -> u64 {
    let is_loopback = !addresses.is_empty() && addresses.iter().all(|to| to.ip().is_loopback());
    match tcp_tw_reuse {
        Some(1) => 1,
        Some(2) if is_loopback => 1,
        _ => TIME_WAIT_S,
    }
}

fn connections(plan: &Plan) -> Finding {
    let in_flight = u64::from(plan.in_flight_per_connection());
    let given = u64::from(plan.connections_limit()) * in_flight;
    let Some(rate) = &plan.rate else {
        let value = format!("{} in flight at a time", counted(given, "request"));
        return Finding::good("plan", "connections", value);
    };
    let peak_uhz = rate.peak_uhz();
    let enough_ns = given as f64 / (peak_uhz as f64 / 1e6) * 1e9;
    let needed = connections_needed(peak_uhz, SERVICE_GUESS_NS)
        .div_ceil(plan.in_flight_per_connection().into());
    let each = match in_flight {
        1 => String::new(),
        _ => format!(" with {in_flight} in flight on each"),
    };
    Finding::new(
        "plan",
        "connections",
        Level::from(enough_ns, SERVICE_GUESS_NS, SERVICE_LEAST_NS),
        format!(
            "{}{each} are enough for {}/s while the server takes up to {}",
            format_count(plan.connections_limit().into()),
            format_rate(peak_uhz as f64 / 1e6),
            format_ns(enough_ns as u64),
        ),
        format!(
            "a slower server makes requests wait for a connection: -c {needed} is enough up to {}",
            format_ns(SERVICE_GUESS_NS as u64)
        ),
    )
}

fn tester_cpu(plan: &Plan, workers: u32, r: &Readings) -> Finding {
    let Some(Ok(floor)) = &r.floor else {
        return Finding::new(
            "plan",
            "tester_cpu",
            Level::Warn,
            "not known without the floor",
            "leave --quick out",
        );
    };
    let is_other = plan.http_version != HttpVersion::Http1 || plan.endpoint.is_websocket();
    let (cost, how) = if plan.connects_per_request() {
        (CONNECT_COST, ", a connection for each")
    } else if is_other {
        (1.0, ", by what a request over HTTP/1 costs")
    } else {
        (1.0, "")
    };
    let best_rps = floor.closed_rps * f64::from(workers) / cost;
    let Some(rate) = &plan.rate else {
        return Finding::good(
            "plan",
            "tester_cpu",
            format!(
                "as much as there is: about {} responses/s at most{how}, if the server can",
                format_rate(best_rps)
            ),
        );
    };
    let peak_rps = rate.peak_uhz() as f64 / 1e6;
    let share = peak_rps * floor.cpu_ns * cost / 1e9 / f64::from(workers.max(1));
    Finding::new(
        "plan",
        "tester_cpu",
        Level::up_to(share, 0.6, 0.9),
        format!(
            "{:.0} % of a CPU for each thread at {}/s{how}, spinning left out",
            share * 100.0,
            format_rate(peak_rps)
        ),
        "the tester would be late or the limit: more threads (-t), more machines, or a lower rate",
    )
}

fn placement(plan: &Plan, workers: u32, addresses: &[SocketAddr], cpus: u32) -> Finding {
    let is_local = addresses.iter().all(|address| address.ip().is_loopback())
        || plan.transport.unix_socket.is_some();
    if !is_local {
        return Finding::good("plan", "placement", "the server is on another host, or said to be");
    }
    let advice = "keep them apart: --pin for the tester, taskset for the server";
    let shared = counted(cpus.into(), "CPU");
    let (level, value) = if workers >= cpus {
        (Level::Bad, format!("the server shares all {shared} with the tester"))
    } else {
        (Level::Warn, format!("the server shares this host's {shared} with the tester"))
    };
    if level == Level::Warn && !plan.pin.is_empty() {
        return Finding::good("plan", "placement", format!("{value}, which is pinned"));
    }
    Finding::new("plan", "placement", level, value, advice)
}

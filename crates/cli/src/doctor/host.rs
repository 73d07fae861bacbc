//! Judges the readings: what they mean for measuring on this host, whatever the load.

use plimsoll_core::units::{format_bytes, format_count, format_ns, format_rate};
use plimsoll_io::host::{Conntrack, HostLimits};

use super::finding::{Finding, Level};
use super::measure::{Floor, LATENESS_RPS, Quantiles, SERVICE_RPS, Timers};
use super::readings::Readings;

/// How long Linux keeps a closed connection's port in TIME-WAIT, s; not a setting.
pub(crate) const TIME_WAIT_S: u64 = 60;

const GIB: f64 = (1_u64 << 30) as f64;

/// All findings, in the order in which they are shown.
pub(crate) fn judge(r: &Readings) -> Vec<Finding> {
    let mut findings = limits(r);
    findings.extend(cpus(r));
    findings.extend(time(r));
    findings.extend(drivers(r));
    match &r.floor {
        Some(Ok(measured)) => findings.extend(floor(measured)),
        Some(Err(error)) => {
            let advice = "the built-in server could not be loaded: try plimsoll demo";
            findings.push(Finding::new("floor", "closed_loop", Level::Bad, error, advice));
        }
        None => {}
    }
    findings
}

/// A number of files, where there may be no limit.
pub(crate) fn files(count: u64) -> String {
    if count == u64::MAX { "no limit".to_owned() } else { format_count(count) }
}

fn limits(r: &Readings) -> Vec<Finding> {
    let mut findings = vec![open_files(&r.limits), local_ports(&r.limits)];
    findings.push(match r.settings.tcp_tw_reuse {
        Some(0) => Finding::new(
            "limits",
            "time_wait_reuse",
            Level::Warn,
            "0: a closed connection holds its port for a minute",
            "for loads without keep-alive: sysctl net.ipv4.tcp_tw_reuse=1",
        ),
        Some(1) => Finding::good("limits", "time_wait_reuse", "1: after a second"),
        Some(_) => Finding::good("limits", "time_wait_reuse", "2: after a second, on loopback"),
        None => Finding::good("limits", "time_wait_reuse", "not told"),
    });
    findings.push(Finding::new(
        "limits",
        "listen_queue",
        Level::from(r.limits.somaxconn.into(), 1024.0, 128.0),
        format!("{} connections (somaxconn)", format_count(r.limits.somaxconn.into())),
        "for servers on this host: sysctl net.core.somaxconn=4096",
    ));
    if let Some(backlog) = r.settings.tcp_max_syn_backlog {
        findings.push(Finding::new(
            "limits",
            "syn_backlog",
            Level::from(backlog as f64, 1024.0, 128.0),
            format!("{} half open connections", format_count(backlog)),
            "for servers on this host: sysctl net.ipv4.tcp_max_syn_backlog=4096",
        ));
    }
    findings.push(conntrack(r.settings.conntrack));
    if let Some(bytes) = r.memory_available_bytes {
        findings.push(Finding::new(
            "limits",
            "memory",
            Level::from(bytes as f64, GIB, GIB / 4.0),
            format!("{} available", format_bytes(bytes)),
            "swapping pauses the tester: close what else runs, or raise the container's limit",
        ));
    }
    findings
}

fn open_files(limits: &HostLimits) -> Finding {
    let (soft, hard) = (limits.open_files_soft, limits.open_files_hard);
    Finding::new(
        "limits",
        "open_files",
        Level::from(hard as f64, 10_000.0, 1_000.0),
        if soft < hard {
            format!("{}, which runs raise to {} if need be", files(soft), files(hard))
        } else {
            files(hard)
        },
        "each connection takes one: raise ulimit -n (hard)",
    )
}

fn local_ports(limits: &HostLimits) -> Finding {
    let (first, last) = limits.local_ports;
    let count = limits.local_ports_count();
    Finding::new(
        "limits",
        "local_ports",
        Level::from(count.into(), 20_000.0, 1_000.0),
        format!("{} ({first} to {last})", format_count(count.into())),
        "connections to one address need one each: sysctl net.ipv4.ip_local_port_range='1024 \
         65535'",
    )
}

fn conntrack(conntrack: Option<Conntrack>) -> Finding {
    let Some(Conntrack { count, max }) = conntrack else {
        return Finding::good("limits", "conntrack", "connections are not tracked");
    };
    let left = max.saturating_sub(count);
    Finding::new(
        "limits",
        "conntrack",
        Level::from(left as f64, 100_000.0, 10_000.0),
        format!("{} of {} entries taken", format_count(count), format_count(max)),
        "when it is full, new connections are dropped: sysctl \
         net.netfilter.nf_conntrack_max=1048576",
    )
}

fn cpus(r: &Readings) -> Vec<Finding> {
    let environment = &r.environment;
    let (online, allowed) = (environment.cores_online, environment.cpus_allowed.len());
    let mut findings = vec![Finding::new(
        "cpu",
        "cpus",
        if allowed > 1 { Level::Good } else { Level::Warn },
        format!("{allowed} of {online} may be used: {}", environment.cpu_model),
        "a server on this host shares the one CPU with the tester: put it elsewhere",
    )];
    findings.push(cpu_quota(r.cpu_limit));
    findings.push(match environment.governor.as_deref() {
        None => Finding::good("cpu", "governor", "none is visible"),
        Some("performance") => Finding::good("cpu", "governor", "performance"),
        Some(name) => Finding::new(
            "cpu",
            "governor",
            Level::Warn,
            name,
            "the clock rate follows the load, and latencies with it: cpupower frequency-set -g \
             performance",
        ),
    });
    findings.push(match &r.shared_cores[..] {
        [] => Finding::good("cpu", "smt", "each CPU is a core of its own"),
        cores => {
            let list =
                |core: &Vec<u32>| core.iter().map(u32::to_string).collect::<Vec<_>>().join("+");
            let shown: Vec<String> = cores.iter().take(8).map(list).collect();
            let more = if cores.len() > shown.len() { " ..." } else { "" };
            Finding::new(
                "cpu",
                "smt",
                Level::Warn,
                format!("CPUs share cores: {}{more}", shown.join(" ")),
                "keep tester and server on different cores with --pin and taskset",
            )
        }
    });
    findings.push(match &environment.hypervisor {
        None => Finding::good("cpu", "hypervisor", "none"),
        Some(name) => Finding::new(
            "cpu",
            "hypervisor",
            Level::Warn,
            name,
            "tails beyond p99.9 may be the hypervisor's: compare A and B in turns, quote ratios",
        ),
    });
    findings.extend(stolen(r));
    findings.extend(interrupts(&r.interrupts));
    findings
}

fn cpu_quota(limit: Option<f64>) -> Finding {
    let Some(cpus) = limit else {
        return Finding::good("cpu", "cpu_quota", "none");
    };
    Finding::new(
        "cpu",
        "cpu_quota",
        Level::from(cpus, f64::INFINITY, 1.0),
        format!("{cpus:.2} CPUs' worth of time for this control group"),
        "when it runs out the tester stands still until the next period: raise or remove the limit",
    )
}

fn stolen(r: &Readings) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(share) = r.steal_share {
        findings.push(Finding::new(
            "cpu",
            "steal",
            Level::up_to(share, 0.002, 0.01),
            format!("{:.1} % of the CPU time in a second", share * 100.0),
            "the hypervisor gives this machine's time to others: another host or instance type",
        ));
    }
    if let Some(cpus) = r.others_cpus {
        let online = f64::from(r.environment.cores_online);
        findings.push(Finding::new(
            "cpu",
            "other_load",
            Level::up_to(cpus / online, 0.05, 0.25),
            format!("{cpus:.2} of {online} CPUs are busy with other processes{}", named(r)),
            "what else runs delays tester and server: stop it, or keep a CPU free with taskset",
        ));
    }
    findings
}

/// Below this share of a CPU other processes are not worth a word.
const SEEN_CPUS_MIN: f64 = 0.05;

/// The busiest of the other processes: `: rustc (process 4711) 0.98, make (process 4700) 0.05`.
fn named(r: &Readings) -> String {
    let words = r.busiest.iter().map(|(it, cpus)| {
        // A name is the process's own choice.
        let name: String = it.name.chars().filter(|c| !c.is_control()).collect();
        format!("{name} (process {}) {cpus:.2}", it.pid)
    });
    let words: Vec<String> = words.collect();
    let is_much = r.others_cpus.is_some_and(|cpus| cpus >= SEEN_CPUS_MIN);
    match (words.is_empty(), is_much) {
        (false, _) => format!(": {}", words.join(", ")),
        (true, true) => ", none of which can be seen from here".to_owned(),
        (true, false) => String::new(),
    }
}

/// A machine this young has had no interrupts to speak of.
const INTERRUPTS_MIN: u64 = 100_000;

fn interrupts(by_cpu: &[u64]) -> Option<Finding> {
    let total: u64 = by_cpu.iter().fold(0, |sum, count| sum.saturating_add(*count));
    let (cpu, most) = by_cpu.iter().enumerate().max_by_key(|(_, count)| **count)?;
    if by_cpu.len() < 2 || total < INTERRUPTS_MIN {
        return Some(Finding::good("cpu", "interrupts", "few, or one CPU"));
    }
    let share = *most as f64 / total as f64;
    let even = 1.0 / by_cpu.len() as f64;
    Some(Finding::new(
        "cpu",
        "interrupts",
        // There is no harm in it that pinning does not cure.
        if share <= (3.0 * even).min(0.8) { Level::Good } else { Level::Warn },
        format!("CPU {cpu} takes {:.0} % of the devices'", share * 100.0),
        format!("over a real network, keep the tester off CPU {cpu} (--pin), or spread them"),
    ))
}

fn time(r: &Readings) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(name) = r.settings.clocksource.as_deref() {
        let level = match name {
            "tsc" | "kvm-clock" | "arch_sys_counter" | "timebase" | "tod" => Level::Good,
            name if name.starts_with("hyperv_clocksource") => Level::Good,
            "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies" => Level::Bad,
            _ => Level::Warn,
        };
        let advice =
            "reading it is slow or coarse: see available_clocksource in /sys/devices/system";
        findings.push(Finding::new("time", "clocksource", level, name, advice));
    }
    match &r.timers {
        Ok(timers) => findings.extend(timer_findings(timers)),
        Err(error) => {
            let advice = "no driver works here, so nothing can be measured";
            findings.push(Finding::new("time", "timers", Level::Bad, error, advice));
        }
    }
    findings
}

const US: f64 = 1_000.0;

fn timer_findings(timers: &Timers) -> [Finding; 3] {
    let p99 = |late: Quantiles, good_us: f64, warn_us: f64| {
        Level::up_to(late.p99_ns as f64, good_us * US, warn_us * US)
    };
    let coarse = Level::up_to(timers.sleep.p50_ns as f64, 30.0 * US, 200.0 * US);
    [
        Finding::new(
            "time",
            "clock_read",
            Level::up_to(timers.read_ns, 100.0, 500.0),
            format!("{:.0} ns for each reading", timers.read_ns),
            "a request reads it a few times: another clocksource",
        ),
        Finding::new(
            "time",
            "timer_sleep",
            p99(timers.sleep, 200.0, 1_000.0).max(coarse),
            late(timers.sleep),
            "sleeping until a request is due is inexact: leave --spin at auto, with a CPU free",
        ),
        Finding::new(
            "time",
            "timer_spin",
            p99(timers.spin, 50.0, 500.0),
            late(timers.spin),
            "even awake the tester loses its CPU: other processes or the hypervisor have it",
        ),
    ]
}

fn late(quantiles: Quantiles) -> String {
    format!("{} late, p99 {}", format_ns(quantiles.p50_ns), format_ns(quantiles.p99_ns))
}

fn drivers(r: &Readings) -> [Finding; 2] {
    let uring = match &r.uring {
        Ok(()) => Finding::good("drivers", "io_uring", "works"),
        Err(error) => {
            let advice = match r.settings.io_uring_disabled {
                Some(1 | 2) => "runs use epoll: sysctl kernel.io_uring_disabled=0",
                _ => {
                    "runs use epoll: the kernel is too old, or a container's seccomp profile \
                     forbids it"
                }
            };
            Finding::new("drivers", "io_uring", Level::Warn, error, advice)
        }
    };
    let epoll = match &r.epoll {
        Ok(()) => Finding::good("drivers", "epoll", "works"),
        Err(error) => {
            Finding::new("drivers", "epoll", Level::Bad, error, "nothing to fall back on")
        }
    };
    [uring, epoll]
}

fn floor(floor: &Floor) -> Vec<Finding> {
    let late_level = |quantiles: Quantiles, good_us: f64, warn_us: f64| {
        Level::up_to(quantiles.p99_ns as f64, good_us * US, warn_us * US)
    };
    let share_advice = "the tester shares its CPU: with the server, other processes, or other \
        machines; this host cannot do better";
    let mut findings = vec![
        Finding::new(
            "floor",
            "closed_loop",
            Level::from(floor.closed_rps, 50_000.0, 10_000.0),
            format!(
                "{} responses/s to one thread, {} of its CPU each",
                format_rate(floor.closed_rps),
                format_ns(floor.cpu_ns as u64)
            ),
            "faster servers than that need more threads, or a faster machine",
        ),
        Finding::new(
            "floor",
            "lateness_spinning",
            late_level(floor.late_spin, 100.0, 1_000.0),
            format!("{} at {}/s", late(floor.late_spin), format_count(LATENESS_RPS)),
            share_advice,
        ),
        Finding::new(
            "floor",
            "lateness_sleeping",
            late_level(floor.late_sleep, 200.0, 1_000.0),
            format!("{} at {}/s", late(floor.late_sleep), format_count(LATENESS_RPS)),
            share_advice,
        ),
        Finding::new(
            "floor",
            "service_time",
            late_level(floor.service, 1_000.0, 10_000.0),
            format!(
                "{}, p99 {} at {}/s",
                format_ns(floor.service.p50_ns),
                format_ns(floor.service.p99_ns),
                format_count(SERVICE_RPS)
            ),
            "the smallest service time this host can measure; smaller differences mean nothing",
        ),
    ];
    let verdict = if floor.causes.is_empty() {
        Finding::good("floor", "verdict", "valid")
    } else {
        Finding::new(
            "floor",
            "verdict",
            Level::Warn,
            format!("not valid: {}", floor.causes.join(", ")),
            format!(
                "runs here will have these causes too: plimsoll explain {}",
                floor.causes.join(" ")
            ),
        )
    };
    findings.push(verdict);
    findings
}

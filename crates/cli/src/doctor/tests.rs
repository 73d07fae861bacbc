//! Findings from made-up readings.

use std::net::SocketAddr;

use plimsoll_core::environment::{Processor, SystemSettings};
use plimsoll_core::plan::{Draft, Endpoint, HttpVersion};
use plimsoll_core::schedule::{Arrival, Profile};
use plimsoll_io::host::{Conntrack, HostEnvironment, HostLimits, KernelSettings};
use plimsoll_lab::sample::Busy;

use super::finding::{Finding, Level};
use super::measure::{Floor, Quantiles, Timers};
use super::planned::Planning;
use super::readings::Readings;
use super::{host, planned, show};

const FLOOR: Floor = Floor {
    closed_rps: 180_000.0,
    cpu_ns: 5_000.0,
    late_spin: Quantiles { p50_ns: 100, p99_ns: 9_000 },
    late_sleep: Quantiles { p50_ns: 4_000, p99_ns: 20_000 },
    service: Quantiles { p50_ns: 30_000, p99_ns: 80_000 },
    causes: Vec::new(),
};

/// A host that nothing can be said against.
fn fit() -> Readings {
    Readings {
        environment: HostEnvironment {
            os: "Linux".to_owned(),
            kernel: "6.18".to_owned(),
            cpu_model: "a CPU".to_owned(),
            cores_online: 8,
            cpus_allowed: (0..8).collect(),
            memory_bytes: 16 << 30,
            governor: Some("performance".to_owned()),
            smt: Some(false),
            hypervisor: None,
            processor: Processor::default(),
            system: SystemSettings::default(),
        },
        limits: HostLimits {
            open_files_soft: 1024,
            open_files_hard: 1_048_576,
            local_ports: (32_768, 60_999),
            somaxconn: 4096,
        },
        settings: KernelSettings {
            tcp_tw_reuse: Some(2),
            tcp_max_syn_backlog: Some(2048),
            conntrack: None,
            clocksource: Some("tsc".to_owned()),
            io_uring_disabled: Some(0),
        },
        cpu_limit: None,
        memory_available_bytes: Some(8 << 30),
        shared_cores: Vec::new(),
        interrupts: vec![100_000; 8],
        steal_share: Some(0.0),
        others_cpus: Some(0.1),
        busiest: Vec::new(),
        uring: Ok(()),
        epoll: Ok(()),
        timers: Ok(Timers {
            sleep: Quantiles { p50_ns: 4_000, p99_ns: 20_000 },
            spin: Quantiles { p50_ns: 50, p99_ns: 1_000 },
            read_ns: 25.0,
        }),
        floor: Some(Ok(FLOOR)),
    }
}

/// Changes something about the host or the plan.
type Change<T> = fn(&mut T);

fn changed<T>(mut whole: T, change: Change<T>) -> T {
    change(&mut whole);
    whole
}

/// What is not good: name and level, in order.
fn complaints(findings: &[Finding]) -> Vec<(&'static str, Level)> {
    for finding in findings {
        assert_eq!(finding.advice.is_some(), finding.level != Level::Good, "{finding:?}");
        assert!(!finding.value.is_empty() && !finding.value.contains('\n'), "{finding:?}");
    }
    let bad = findings.iter().filter(|finding| finding.level != Level::Good);
    bad.map(|finding| (finding.name, finding.level)).collect()
}

#[test]
fn each_complaint_about_a_host_is_provoked_alone() {
    assert_eq!(complaints(&host::judge(&fit())), []);
    let cases: [(Change<Readings>, &str, Level); 34] = [
        (|r| r.limits.open_files_hard = 4096, "open_files", Level::Warn),
        (|r| r.limits.open_files_hard = 256, "open_files", Level::Bad),
        (|r| r.limits.local_ports = (50_000, 60_000), "local_ports", Level::Warn),
        (|r| r.limits.local_ports = (40_000, 40_100), "local_ports", Level::Bad),
        (|r| r.settings.tcp_tw_reuse = Some(0), "time_wait_reuse", Level::Warn),
        (|r| r.limits.somaxconn = 128, "listen_queue", Level::Warn),
        (|r| r.settings.tcp_max_syn_backlog = Some(64), "syn_backlog", Level::Bad),
        (
            |r| r.settings.conntrack = Some(Conntrack { count: 200_000, max: 262_144 }),
            "conntrack",
            Level::Warn,
        ),
        (|r| r.settings.conntrack = Some(Conntrack { count: 9, max: 8 }), "conntrack", Level::Bad),
        (|r| r.memory_available_bytes = Some(512 << 20), "memory", Level::Warn),
        (|r| r.environment.cpus_allowed = vec![3], "cpus", Level::Warn),
        (|r| r.cpu_limit = Some(4.0), "cpu_quota", Level::Warn),
        (|r| r.cpu_limit = Some(0.2), "cpu_quota", Level::Bad),
        (|r| r.environment.governor = Some("powersave".to_owned()), "governor", Level::Warn),
        (|r| r.shared_cores = vec![vec![0, 4], vec![1, 5]], "smt", Level::Warn),
        (|r| r.environment.hypervisor = Some("KVM".to_owned()), "hypervisor", Level::Warn),
        (|r| r.steal_share = Some(0.005), "steal", Level::Warn),
        (|r| r.steal_share = Some(0.05), "steal", Level::Bad),
        (|r| r.others_cpus = Some(1.0), "other_load", Level::Warn),
        (|r| r.others_cpus = Some(6.0), "other_load", Level::Bad),
        (|r| r.interrupts = vec![900_000, 1, 2, 3, 4, 5, 6, 7], "interrupts", Level::Warn),
        (|r| r.settings.clocksource = Some("xen".to_owned()), "clocksource", Level::Warn),
        (|r| r.settings.clocksource = Some("hpet".to_owned()), "clocksource", Level::Bad),
        (|r| r.timers = Err("no".to_owned()), "timers", Level::Bad),
        (|r| r.timers.as_mut().unwrap().read_ns = 900.0, "clock_read", Level::Bad),
        (|r| r.timers.as_mut().unwrap().sleep.p50_ns = 53_000, "timer_sleep", Level::Warn),
        (|r| r.timers.as_mut().unwrap().spin.p99_ns = 5_000_000, "timer_spin", Level::Bad),
        (|r| r.uring = Err("io_uring_setup: refused".to_owned()), "io_uring", Level::Warn),
        (|r| r.epoll = Err("no".to_owned()), "epoll", Level::Bad),
        (|r| r.floor = Some(Err("no".to_owned())), "closed_loop", Level::Bad),
        (|r| floor_of(r).closed_rps = 20_000.0, "closed_loop", Level::Warn),
        (|r| floor_of(r).late_spin.p99_ns = 300_000, "lateness_spinning", Level::Warn),
        (|r| floor_of(r).service.p99_ns = 20_000_000, "service_time", Level::Bad),
        (|r| floor_of(r).causes = vec!["cpu_shared".to_owned()], "verdict", Level::Warn),
    ];
    for (change, name, level) in cases {
        let findings = host::judge(&changed(fit(), change));
        assert_eq!(complaints(&findings), [(name, level)]);
    }
}

fn floor_of(r: &mut Readings) -> &mut Floor {
    r.floor.as_mut().unwrap().as_mut().unwrap()
}

#[test]
fn what_a_host_does_not_tell_is_no_complaint() {
    let silent = changed(fit(), |r| {
        r.settings = KernelSettings::default();
        r.environment.governor = None;
        r.environment.smt = None;
        (r.memory_available_bytes, r.steal_share, r.others_cpus) = (None, None, None);
        r.interrupts = Vec::new();
        r.floor = None;
    });
    assert_eq!(complaints(&host::judge(&silent)), []);
}

#[test]
fn an_io_uring_that_is_switched_off_is_said_to_be() {
    let off = changed(fit(), |r| {
        r.uring = Err("refused".to_owned());
        r.settings.io_uring_disabled = Some(2);
    });
    let findings = host::judge(&off);
    let uring = findings.iter().find(|finding| finding.name == "io_uring").unwrap();
    assert!(uring.advice.as_ref().unwrap().contains("kernel.io_uring_disabled=0"));
}

/// 1000/s over 100 connections to another host.
fn easy() -> Draft {
    Draft {
        connections: 100,
        rate: Some(Profile::constant(1_000_000_000, None, Arrival::Uniform)),
        ..Draft::new(Endpoint::http("192.0.2.1", 80, "/"))
    }
}

fn at(rps: u64) -> Option<Profile> {
    Some(Profile::constant(rps * 1_000_000, None, Arrival::Uniform))
}

fn judged(draft: &Draft, r: &Readings, address: &str) -> Vec<Finding> {
    let address: SocketAddr = address.parse().unwrap();
    let plan = &draft.clone().check().unwrap();
    planned::judge(&Planning { plan, addresses: Ok(vec![address]) }, r)
}

/// Name, change of the plan, change of the host, address of the server, complaint.
type Case = (&'static str, Change<Draft>, Change<Readings>, &'static str, &'static str, Level);

#[test]
fn each_complaint_about_a_plan_is_provoked_alone() {
    const FAR: &str = "192.0.2.1:80";
    const HERE: &str = "127.0.0.1:80";
    assert_eq!(complaints(&judged(&easy(), &fit(), FAR)), []);
    let cases: [Case; 14] = [
        ("threads", |p| p.workers = 9, |_| {}, FAR, "threads", Level::Bad),
        ("files", |_| {}, |r| r.limits.open_files_hard = 64, FAR, "files", Level::Bad),
        ("ports", |p| p.connections = 30_000, |_| {}, FAR, "ports", Level::Bad),
        ("closing", |p| p.requests_per_connection = Some(1), |_| {}, FAR, "ports", Level::Bad),
        (
            "closing every fourth",
            |p| p.requests_per_connection = Some(2),
            |r| r.limits.local_ports = (20_000, 55_000),
            FAR,
            "ports",
            Level::Warn,
        ),
        (
            "closing, at the server's pace",
            |p| (p.requests_per_connection, p.rate) = (Some(1), None),
            |_| {},
            FAR,
            "ports",
            Level::Warn,
        ),
        ("connections", |p| p.connections = 50, |_| {}, FAR, "connections", Level::Warn),
        ("hardly any", |p| p.connections = 4, |_| {}, FAR, "connections", Level::Bad),
        (
            "rate",
            |p| (p.rate, p.workers, p.connections) = (at(150_000), 1, 20_000),
            |_| {},
            FAR,
            "tester_cpu",
            Level::Warn,
        ),
        (
            "too high a rate",
            |p| (p.rate, p.workers, p.connections) = (at(200_000), 1, 20_000),
            |_| {},
            FAR,
            "tester_cpu",
            Level::Bad,
        ),
        ("no floor", |_| {}, |r| r.floor = None, FAR, "tester_cpu", Level::Warn),
        ("same host", |_| {}, |_| {}, HERE, "placement", Level::Warn),
        ("same CPUs", |p| p.workers = 8, |_| {}, HERE, "placement", Level::Bad),
        (
            "same CPU",
            |p| p.workers = 1,
            |r| r.environment.cpus_allowed = vec![0],
            HERE,
            "placement",
            Level::Bad,
        ),
    ];
    for (name, plan, readings, address, complaint, level) in cases {
        let findings = judged(&changed(easy(), plan), &changed(fit(), readings), address);
        assert_eq!(complaints(&findings), [(complaint, level)], "{name}");
    }
}

#[test]
fn what_a_plan_does_not_need_is_no_complaint() {
    let closing = changed(easy(), |plan| plan.requests_per_connection = Some(1));
    let reusing = changed(fit(), |r| r.settings.tcp_tw_reuse = Some(1));
    assert_eq!(complaints(&judged(&closing, &reusing, "192.0.2.1:80")), []);
    // On loopback the kernel's default reuses ports too.
    let pinned = changed(closing, |plan| plan.pin = vec![1]);
    assert_eq!(complaints(&judged(&pinned, &fit(), "127.0.0.1:80")), []);
    let closed_loop = changed(easy(), |plan| plan.rate = None);
    assert_eq!(complaints(&judged(&closed_loop, &fit(), "192.0.2.1:80")), []);
    let socket = changed(easy(), |plan| {
        plan.transport.unix_socket = Some("/run/a.sock".to_owned());
        plan.connections = 100_000;
        plan.pin = vec![1];
    });
    let findings =
        planned::judge(&Planning { plan: &socket.check().unwrap(), addresses: Ok(vec![]) }, &fit());
    assert_eq!(complaints(&findings), []);
}

/// Streams are not connections, and the floor is that of HTTP/1.
#[test]
fn what_multiplexes_is_told_as_it_is() {
    let plain = easy();
    let streams = changed(easy(), |plan| {
        (plan.http_version, plan.http2.streams) = (HttpVersion::Http2, 20);
        plan.connections = 5;
    });
    for (draft, connections, cost) in [
        (plain, "100 are enough for 1 000/s", "at 1 000/s, spinning"),
        (streams, "5 with 20 in flight on each are enough for 1 000/s", "over HTTP/1 costs"),
    ] {
        let findings = judged(&draft, &fit(), "192.0.2.1:80");
        let value = |name: &str| {
            findings.iter().find(|it| it.name == name).map(|it| it.value.clone()).expect(name)
        };
        assert!(value("connections").starts_with(connections), "{}", value("connections"));
        assert!(value("tester_cpu").contains(cost), "{}", value("tester_cpu"));
    }
}

#[test]
fn a_second_source_address_doubles_the_ports() {
    let two = changed(easy(), |plan| {
        plan.connections = 30_000;
        plan.transport.bind = ["192.0.2.7", "192.0.2.8"].map(|ip| ip.parse().unwrap()).to_vec();
    });
    assert_eq!(complaints(&judged(&two, &fit(), "192.0.2.1:80")), []);
}

#[test]
fn a_name_that_cannot_be_resolved_is_a_complaint() {
    let planning =
        Planning { plan: &easy().check().unwrap(), addresses: Err("no such host".to_owned()) };
    assert_eq!(complaints(&planned::judge(&planning, &fit())), [("server", Level::Bad)]);
}

/// Doctor names the processes that are in the way, if it can see them.
#[test]
fn other_processes_are_named() {
    let busy = |name: &str, pid, cpus| (Busy { pid, name: name.to_owned(), cpu_ns: 0 }, cpus);
    let rustc = || vec![busy("rustc", 4711, 0.982), busy("ma\nke", 4700, 0.05)];
    for (cpus, busiest, want) in [
        (
            6.0,
            rustc(),
            "6.00 of 8 CPUs are busy with other processes: rustc (process 4711) 0.98, make \
             (process 4700) 0.05",
        ),
        (
            6.0,
            vec![],
            "6.00 of 8 CPUs are busy with other processes, none of which can be seen from here",
        ),
        (0.0, vec![], "0.00 of 8 CPUs are busy with other processes"),
    ] {
        let readings = Readings { others_cpus: Some(cpus), busiest, ..fit() };
        let findings = host::judge(&readings);
        let found = findings.iter().find(|it| it.name == "other_load").expect("it is read");
        assert_eq!(found.value, want);
    }
}

#[test]
fn lines_are_as_long_as_the_terminals() {
    let loaded = changed(fit(), |r| {
        r.others_cpus = Some(6.0);
        r.interrupts = vec![900_000, 1, 2, 3, 4, 5, 6, 7];
        r.environment.hypervisor = Some("KVM".to_owned());
    });
    let findings = host::judge(&loaded);
    for columns in [60, 80, 200] {
        let text = show::text(&findings, false, columns);
        assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}: {text}");
        let colored = show::text(&findings, true, columns);
        let plain = ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[0m"]
            .iter()
            .fold(colored, |text, escape| text.replace(escape, ""));
        assert_eq!(plain, text, "colours change nothing else");
    }
}

#[test]
fn findings_are_shown_as_text_and_json() {
    let findings = [
        Finding::good("limits", "open_files", "many"),
        Finding::new("cpu", "governor", Level::Warn, "powersave\u{1b}[2J", "change it"),
    ];
    let text = show::text(&findings, false, 80);
    let want = "limits\n  good  open files  many\n\ncpu\n  warn  governor    powersave?[2J\n                    \
        -> change it\n\n0 bad, 1 to look at, of 2\n";
    assert_eq!(text, want);
    assert!(show::text(&findings, true, 80).contains("\u{1b}[33mwarn\u{1b}[0m"));
    let json: serde_json::Value = serde_json::from_str(&show::json(&findings)).unwrap();
    assert_eq!(json["worst"], "warn");
    assert_eq!(json["checks"][0]["advice"], serde_json::Value::Null);
    assert_eq!(json["checks"][1]["name"], "governor");
}

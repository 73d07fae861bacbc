//! A run whose server was watched, on a host that reveals everything.

use std::collections::BTreeMap;

use plimsoll_core::RunResult;
use plimsoll_core::environment::{Processor, SystemSettings};
use plimsoll_core::usage::{CgroupUsage, NetworkUsage, Usage, UsageSample, Watched};

use super::{MS, SECOND, steady};

/// A run beside which the server was watched, on a host that tells all.
pub(crate) fn watched() -> RunResult {
    let mut result = steady();
    let text = |text: &str| Some(text.to_owned());
    result.environment.processor = Processor {
        architecture: "x86_64".to_owned(),
        vendor: text("AuthenticAMD"),
        family: text("25"),
        model: text("17"),
        microcode: text("0x1000065"),
        mhz_lowest: Some(2600.0),
        mhz_highest: Some(3100.0),
        mhz_limit: Some(3700.0),
        caches: vec!["L1d 32K".to_owned(), "L2 1024K".to_owned()],
        sockets: Some(1),
        cores: Some(4),
        flags: ["fpu", "sse2", "avx2"].map(str::to_owned).to_vec(),
        bugs: vec!["srso".to_owned()],
        ..Processor::default()
    };
    let pair = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
    result.environment.system = SystemSettings {
        swap_bytes: Some(0),
        clocksource: text("tsc"),
        transparent_hugepages: text("madvise"),
        open_files: Some(1 << 20),
        kernel_parameters: vec!["mitigations=off".to_owned()],
        mitigations: pair("spec_rstack_overflow", "Vulnerable"),
        sysctl: pair("net.core.somaxconn", "4096"),
    };
    result.target = Some(usage());
    result
}

/// A master and four workers that end after nine seconds.
pub(super) fn usage() -> Usage {
    let sample = |second: u64| UsageSample {
        t_ns: second * SECOND,
        cpu_user_ns: second.min(9) * 33 * SECOND / 100,
        cpu_system_ns: second.min(9) * 75 * SECOND / 100,
        rss_bytes: if second < 10 { (4 << 20) + second * (100 << 10) } else { 0 },
        processes: if second < 10 { 5 } else { 0 },
        threads: if second < 10 { 5 } else { 0 },
        ..UsageSample::default()
    };
    let mut usage = Usage {
        watched: vec![Watched { name: "nginx".to_owned(), pids: vec![1234] }],
        window_ns: 10 * SECOND,
        cpu_user_ns: 9 * 33 * SECOND / 100,
        cpu_system_ns: 9 * 75 * SECOND / 100,
        cpu_upercent_peak: 108_000_000,
        rss_peak_bytes: 13 << 19,
        pss_peak_bytes: Some(5 << 20),
        processes_max: 5,
        threads_max: 5,
        open_files_max: Some(71),
        voluntary_switches: Some(81_234),
        involuntary_switches: Some(12),
        network: Some(NetworkUsage { sent_bytes: 7 << 20, received_bytes: 3 << 20 }),
        cgroups: vec![CgroupUsage {
            path: "/system.slice/nginx.service".to_owned(),
            cpu_ns: Some(9_800 * MS),
            memory_peak_bytes: Some(9 << 20),
            throttled_periods: Some(3),
            throttled_ns: Some(41 * MS),
        }],
        ended_ns: Some(9 * SECOND),
        notes: vec!["a note".to_owned()],
        sampling_cpu_ns: 7 * MS,
        samples: (0..=10).map(sample).collect(),
        ..Usage::default()
    };
    usage.refresh();
    usage
}

//! The kernel's settings that make figures differ between machines: sysctl values, what it was
//! started with, and what it does against faults of the CPU.

use std::collections::BTreeMap;
use std::fs;

use plimsoll_core::environment::SystemSettings;

use super::environment::memory_bytes;
use super::{HostLimits, KernelSettings, read};

/// Values of sysctl(8) that a load test meets.
const SYSCTL: [&str; 15] = [
    "kernel.io_uring_disabled",
    "kernel.numa_balancing",
    "kernel.sched_autogroup_enabled",
    "net.core.busy_poll",
    "net.core.default_qdisc",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
];

/// Parameters of the kernel that change how fast it is. Others may say more of a machine than its
/// owner would publish.
const PARAMETERS: [&str; 23] = [
    "amd_pstate",
    "clocksource",
    "cpufreq.default_governor",
    "hugepages",
    "hugepagesz",
    "idle",
    "intel_idle.max_cstate",
    "intel_pstate",
    "isolcpus",
    "maxcpus",
    "mitigations",
    "noht",
    "nohz",
    "nohz_full",
    "nosmt",
    "nospectre_v1",
    "nospectre_v2",
    "preempt",
    "processor.max_cstate",
    "pti",
    "rcu_nocbs",
    "spectre_v2",
    "transparent_hugepage",
];

const VULNERABILITIES: &str = "/sys/devices/system/cpu/vulnerabilities";

/// Reads it.
pub(super) fn system() -> SystemSettings {
    let limit = HostLimits::read().open_files_soft;
    SystemSettings {
        swap_bytes: read("/proc/meminfo").and_then(|text| memory_bytes(&text, "SwapTotal")),
        clocksource: KernelSettings::read().clocksource,
        transparent_hugepages: read("/sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(|text| chosen(&text)),
        open_files: (limit < u64::MAX).then_some(limit),
        kernel_parameters: read("/proc/cmdline").map(|text| parameters(&text)).unwrap_or_default(),
        mitigations: mitigations(),
        sysctl: SYSCTL
            .iter()
            .filter_map(|name| {
                let value = read(&format!("/proc/sys/{}", name.replace('.', "/")))?;
                Some(((*name).to_owned(), value.split_whitespace().collect::<Vec<_>>().join(" ")))
            })
            .collect(),
    }
}

/// The word in brackets of `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(word, _)| word.to_owned())
}

fn parameters(command_line: &str) -> Vec<String> {
    let is_known = |word: &&str| {
        let name = word.split('=').next().unwrap_or_default();
        PARAMETERS.contains(&name)
    };
    command_line.split_whitespace().filter(is_known).map(str::to_owned).collect()
}

/// By the faults' names; those that the CPU does not have are left out.
fn mitigations() -> BTreeMap<String, String> {
    let Ok(files) = fs::read_dir(VULNERABILITIES) else { return BTreeMap::new() };
    let names = files.flatten().filter_map(|file| file.file_name().into_string().ok());
    names
        .filter_map(|name| {
            let state = read(&format!("{VULNERABILITIES}/{name}"))?;
            (state != "Not affected").then_some((name, state))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_and_parameters() {
        for (text, want) in [
            ("always [madvise] never", Some("madvise")),
            ("[never]", Some("never")),
            ("never", None),
        ] {
            assert_eq!(chosen(text).as_deref(), want, "{text}");
        }
        let line = "BOOT_IMAGE=/vmlinuz root=UUID=1 mitigations=off isolcpus=2,3 quiet nosmt \
            secret=1 mitigations_of_mine=2";
        assert_eq!(parameters(line), ["mitigations=off", "isolcpus=2,3", "nosmt"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_system() {
        let system = system();
        let range = system.sysctl.get("net.ipv4.ip_local_port_range").expect("every Linux has it");
        assert_eq!(range.split(' ').count(), 2, "{range}");
        assert!(system.mitigations.values().all(|state| state != "Not affected"));
        assert!(system.open_files.is_none_or(|files| files > 0));
    }
}

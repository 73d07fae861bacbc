//! The host in full: the CPU and the kernel's settings, as names and values for views with room for
//! them.

use plimsoll_core::environment::Environment;
use plimsoll_core::units::format_bytes;

/// What is known beyond the name of the CPU and the version of the kernel; nothing of a result that
/// does not have it.
pub(crate) fn rows(host: &Environment) -> Vec<(String, String)> {
    let mut rows = processor(host);
    rows.extend(system(host));
    rows.retain(|(_, value)| !value.is_empty());
    rows
}

/// All that is known of the host.
pub(crate) fn whole(host: &Environment) -> Vec<(String, String)> {
    let text = |name: &str, value: String| (name.to_owned(), value);
    let cpus = format!("{} of {} may be used", host.cores_allowed, host.cores);
    let mut whole = vec![
        text("system", host.os.clone()),
        text("kernel", host.kernel.clone()),
        text("CPU", host.cpu.clone()),
        text("CPUs", cpus),
        text("memory", format_bytes(host.memory_bytes)),
        text("governor", host.governor.clone().unwrap_or_default()),
        text("hypervisor", host.hypervisor.clone().unwrap_or_default()),
    ];
    whole.extend(rows(host));
    whole.retain(|(_, value)| !value.is_empty());
    whole
}

/// The host in a line.
pub(crate) fn line(host: &Environment) -> String {
    let mut words = vec![format!("{} {}", host.os, host.kernel), host.cpu.clone()];
    words.push(format!("{} of {} CPUs", host.cores_allowed, host.cores));
    words.push(format_bytes(host.memory_bytes));
    words.extend(host.hypervisor.as_ref().map(|name| format!("hypervisor {name}")));
    words.extend(host.governor.as_ref().map(|name| format!("governor {name}")));
    words.retain(|word| !word.trim().is_empty());
    words.join(" · ")
}

fn row(name: &str, value: Option<impl ToString>) -> (String, String) {
    (name.to_owned(), value.map(|value| value.to_string()).unwrap_or_default())
}

fn processor(host: &Environment) -> Vec<(String, String)> {
    let cpu = &host.processor;
    let identity = [
        ("family", &cpu.family),
        ("model", &cpu.model),
        ("stepping", &cpu.stepping),
        ("microcode", &cpu.microcode),
    ];
    let identity =
        identity.iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
    let identity: Vec<String> = cpu.vendor.iter().cloned().chain(identity).collect();
    let counts = [(cpu.sockets, "socket"), (cpu.cores, "core"), (cpu.numa_nodes, "NUMA node")];
    let counts: Vec<String> = counts
        .iter()
        .filter_map(|(count, noun)| Some(crate::facts::counted((*count)?.into(), noun)))
        .collect();
    let mut counts = counts.join(", ");
    if let (Some(smt), false) = (host.smt, counts.is_empty()) {
        counts += if smt { ", threads share cores" } else { ", one thread on each core" };
    }
    vec![
        ("architecture".to_owned(), cpu.architecture.clone()),
        ("processor".to_owned(), identity.join(", ")),
        ("topology".to_owned(), counts),
        ("frequency".to_owned(), frequency(host)),
        ("caches".to_owned(), cpu.caches.join(", ")),
        row("address sizes", cpu.address_sizes.as_ref()),
        ("CPU flags".to_owned(), cpu.flags.join(" ")),
        ("CPU bugs".to_owned(), cpu.bugs.join(" ")),
    ]
}

fn frequency(host: &Environment) -> String {
    let cpu = &host.processor;
    let now = match (cpu.mhz_lowest, cpu.mhz_highest) {
        (Some(low), Some(high)) if high - low >= 1.0 => Some(format!("{low:.0} to {high:.0} MHz")),
        (_, high) => high.map(|high| format!("{high:.0} MHz")),
    };
    let limit = cpu.mhz_limit.map(|limit| format!("at most {limit:.0} MHz"));
    now.into_iter().chain(limit).collect::<Vec<_>>().join(", ")
}

fn system(host: &Environment) -> Vec<(String, String)> {
    let system = &host.system;
    let mut rows = vec![
        row("swap", system.swap_bytes.map(format_bytes)),
        row("clock source", system.clocksource.as_ref()),
        row("transparent huge pages", system.transparent_hugepages.as_ref()),
        row("open files allowed", system.open_files),
        ("kernel parameters".to_owned(), system.kernel_parameters.join(" ")),
    ];
    let mitigations: Vec<String> =
        system.mitigations.iter().map(|(name, state)| format!("{name}: {state}")).collect();
    rows.push(("mitigations".to_owned(), mitigations.join("; ")));
    rows.extend(system.sysctl.iter().map(|(name, value)| (name.clone(), value.clone())));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn a_host_in_full_and_in_a_line() {
        let result = samples::watched();
        let text: Vec<String> = rows(&result.environment)
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        insta::assert_snapshot!(text.join("\n"), @"
        architecture: x86_64
        processor: AuthenticAMD, family 25, model 17, microcode 0x1000065
        topology: 1 socket, 4 cores, one thread on each core
        frequency: 2600 to 3100 MHz, at most 3700 MHz
        caches: L1d 32K, L2 1024K
        CPU flags: fpu sse2 avx2
        CPU bugs: srso
        swap: 0 B
        clock source: tsc
        transparent huge pages: madvise
        open files allowed: 1048576
        kernel parameters: mitigations=off
        mitigations: spec_rstack_overflow: Vulnerable
        net.core.somaxconn: 4096
        ");
        assert_eq!(
            line(&result.environment),
            "linux 6.18.5 · Intel Xeon Gold 6338 @ 2.50 GHz · 4 of 4 CPUs · 16.0 GiB · hypervisor kvm"
        );
        assert_eq!(rows(&samples::steady().environment), []);
    }
}

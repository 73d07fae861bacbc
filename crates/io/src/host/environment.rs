//! The machine, its kernel and its CPUs. This part of a result tells a later reader where it was
//! measured, and which settings of the host make measurements vary.

use plimsoll_core::environment::{Processor, SystemSettings};

use super::processor::processor;
use super::system::system;
use super::{field, read};

/// The host as this process sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct HostEnvironment {
    /// The distribution's own name ("Debian GNU/Linux 12 (bookworm)"), or the system's ("Linux").
    pub os: String,
    /// The kernel's release, as `uname -r` prints it.
    pub kernel: String,
    /// The CPU's name. Where the kernel does not give one, its codes or the architecture.
    pub cpu_model: String,
    /// CPUs that are switched on, at least 1.
    pub cores_online: u32,
    /// The numbers of the CPUs the calling thread may run on, ascending, never empty.
    pub cpus_allowed: Vec<u32>,
    /// Physical memory; 0 where it cannot be read.
    pub memory_bytes: u64,
    /// How the allowed CPUs choose their frequency (`performance`, `powersave`); several, with
    /// commas between, where they differ. `None` without frequency scaling, as in most virtual
    /// machines.
    pub governor: Option<String>,
    /// Whether two hardware threads share a core. `None` where the kernel does not tell.
    pub smt: Option<bool>,
    /// What virtualizes this machine, `unnamed` where only the fact is known. `None` on bare metal.
    pub hypervisor: Option<String>,
    /// The CPU in full.
    pub processor: Processor,
    /// The kernel's settings.
    pub system: SystemSettings,
}

impl HostEnvironment {
    /// Reads it. Takes some milliseconds on a machine with many CPUs; not for the path of a
    /// request.
    #[must_use]
    pub fn read() -> Self {
        let uname = rustix::system::uname();
        let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
        let online = cpus_online();
        let cpus_allowed = cpus_allowed().unwrap_or_else(|| online.clone());
        Self {
            os: read("/etc/os-release")
                .and_then(|text| os_name(&text))
                .unwrap_or_else(|| uname.sysname().to_string_lossy().into_owned()),
            kernel: uname.release().to_string_lossy().into_owned(),
            cpu_model: cpu_model(&cpuinfo).unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores_online: online.len() as u32,
            memory_bytes: read("/proc/meminfo")
                .and_then(|text| memory_bytes(&text, "MemTotal"))
                .unwrap_or(0),
            governor: governor(&cpus_allowed),
            smt: read("/sys/devices/system/cpu/smt/active").and_then(|text| switch(&text)),
            hypervisor: hypervisor(&cpuinfo, read),
            processor: processor(&cpuinfo),
            system: system(),
            cpus_allowed,
        }
    }
}

impl HostEnvironment {
    /// As a document tells it.
    #[must_use]
    pub fn document(&self) -> plimsoll_core::environment::Environment {
        plimsoll_core::environment::Environment {
            os: self.os.clone(),
            kernel: self.kernel.clone(),
            cpu: self.cpu_model.clone(),
            cores: self.cores_online,
            cores_allowed: self.cpus_allowed.len() as u32,
            memory_bytes: self.memory_bytes,
            governor: self.governor.clone(),
            smt: self.smt,
            hypervisor: self.hypervisor.clone(),
            processor: self.processor.clone(),
            system: self.system.clone(),
        }
    }
}

/// The CPUs that are switched on; where the kernel does not list them, as many as the standard
/// library counts.
fn cpus_online() -> Vec<u32> {
    read("/sys/devices/system/cpu/online").and_then(|text| cpu_list(&text)).unwrap_or_else(|| {
        let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        (0..count as u32).collect()
    })
}

/// The CPUs the calling thread may run on.
fn cpus_allowed() -> Option<Vec<u32>> {
    let status = read("/proc/thread-self/status")?;
    cpu_list(field(&status, "Cpus_allowed_list", ':')?)
}

/// The most CPU numbers a list may spell out: far above any machine, so that a list that makes no
/// sense costs no memory.
const CPUS_MAX: u32 = 65_536;

/// A list as the kernel writes them: `0-3,8,10-11`. `None` when empty or malformed.
pub(super) fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= CPUS_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// `PRETTY_NAME` of os-release(5).
fn os_name(os_release: &str) -> Option<String> {
    let name = field(os_release, "PRETTY_NAME", '=')?.trim_matches(['"', '\'']);
    if name.is_empty() { None } else { Some(name.to_owned()) }
}

/// The CPU's name in `/proc/cpuinfo`: x86, MIPS and POWER spell it, ARM gives codes.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let named = ["model name", "cpu model", "cpu"];
    if let Some(name) = named.iter().find_map(|key| field(cpuinfo, key, ':')) {
        return Some(name.to_owned());
    }
    let implementer = field(cpuinfo, "CPU implementer", ':')?;
    let part = field(cpuinfo, "CPU part", ':')?;
    Some(format!("{} implementer {implementer} part {part}", std::env::consts::ARCH))
}

/// Memory that programs could still get without swapping; `None` where it cannot be read.
#[must_use]
pub fn memory_available_bytes() -> Option<u64> {
    memory_bytes(&read("/proc/meminfo")?, "MemAvailable")
}

/// A line of `/proc/meminfo`, which counts in KiB.
pub(super) fn memory_bytes(meminfo: &str, name: &str) -> Option<u64> {
    let kib = field(meminfo, name, ':')?.strip_suffix("kB")?.trim();
    kib.parse::<u64>().ok()?.checked_mul(1024)
}

/// The distinct governors of these CPUs, in order of first use.
fn governor(cpus: &[u32]) -> Option<String> {
    let mut governors: Vec<String> = Vec::new();
    for cpu in cpus {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        let Some(name) = read(&path) else { continue };
        if !governors.contains(&name) {
            governors.push(name);
        }
    }
    if governors.is_empty() { None } else { Some(governors.join(",")) }
}

/// A kernel's `0` or `1`.
fn switch(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// Names in the firmware's tables that only virtual machines carry.
const VIRTUAL_PRODUCTS: [&str; 9] = [
    "QEMU",
    "KVM",
    "VMware",
    "VirtualBox",
    "Xen",
    "Virtual Machine",
    "Bochs",
    "Google Compute Engine",
    "Parallels",
];

/// What virtualizes the machine. x86 kernels say in the CPU's flags whether anything does, and
/// that is believed (a cloud's bare-metal machine carries the cloud's name in its firmware too);
/// elsewhere the firmware's names decide.
fn hypervisor(cpuinfo: &str, read: impl Fn(&str) -> Option<String>) -> Option<String> {
    let flags = field(cpuinfo, "flags", ':');
    if flags.is_some_and(|flags| !flags.split_whitespace().any(|flag| flag == "hypervisor")) {
        return None;
    }
    let firmware = || {
        let vendor = read("/sys/class/dmi/id/sys_vendor");
        let product = read("/sys/class/dmi/id/product_name");
        let names: Vec<String> = vendor.into_iter().chain(product).collect();
        if names.is_empty() { None } else { Some(names.join(" ")) }
    };
    let name = read("/sys/hypervisor/type").or_else(firmware);
    if flags.is_some() {
        return Some(name.unwrap_or_else(|| "unnamed".to_owned()));
    }
    name.filter(|name| {
        name == "xen" || VIRTUAL_PRODUCTS.iter().any(|product| name.contains(product))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists() {
        for (text, want) in [
            ("0", Some(vec![0])),
            ("0-3", Some(vec![0, 1, 2, 3])),
            ("0-1,4,6-7\n", Some(vec![0, 1, 4, 6, 7])),
            ("3,1", Some(vec![1, 3])),
            ("", None),
            ("a", None),
            ("3-1", None),
            ("0-4294967295", None),
            ("0-1,", None),
        ] {
            assert_eq!(cpu_list(text), want, "{text:?}");
        }
    }

    #[test]
    fn names_of_systems() {
        let debian = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"";
        assert_eq!(os_name(debian).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(os_name("PRETTY_NAME=Alpine").as_deref(), Some("Alpine"));
        assert_eq!(os_name("PRETTY_NAME=\"\""), None);
        assert_eq!(os_name("NAME=x"), None);
    }

    #[test]
    fn names_of_cpus() {
        let x86 = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC\ncpu MHz\t\t: 2596.146";
        assert_eq!(cpu_model(x86).as_deref(), Some("AMD EPYC"));
        let power = "processor\t: 0\ncpu\t\t: POWER9";
        assert_eq!(cpu_model(power).as_deref(), Some("POWER9"));
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c";
        let want = format!("{} implementer 0x41 part 0xd0c", std::env::consts::ARCH);
        assert_eq!(cpu_model(arm), Some(want));
        assert_eq!(cpu_model("processor : 0"), None);
    }

    #[test]
    fn memory() {
        for (text, want) in [
            ("MemTotal:       16384 kB\nMemFree: 1 kB", Some(16_777_216)),
            ("MemTotal: 16384", None),
            ("MemTotal: 99999999999999999999 kB", None),
            ("MemTotal: 18446744073709551615 kB", None),
            ("", None),
        ] {
            assert_eq!(memory_bytes(text, "MemTotal"), want, "{text:?}");
        }
    }

    #[test]
    fn hypervisors() {
        let virtual_x86 = "flags\t\t: fpu vme hypervisor";
        let metal_x86 = "flags\t\t: fpu vme";
        let arm = "CPU implementer\t: 0x41";
        let none: &[(&str, &str)] = &[];
        let kvm = &[
            ("/sys/class/dmi/id/sys_vendor", "QEMU"),
            ("/sys/class/dmi/id/product_name", "Standard PC"),
        ];
        let cloud = &[("/sys/class/dmi/id/sys_vendor", "Amazon EC2")];
        let xen = &[("/sys/hypervisor/type", "xen")];
        for (cpuinfo, files, want) in [
            (virtual_x86, none, Some("unnamed")),
            (virtual_x86, kvm, Some("QEMU Standard PC")),
            (virtual_x86, xen, Some("xen")),
            (metal_x86, cloud, None),
            (arm, kvm, Some("QEMU Standard PC")),
            (arm, xen, Some("xen")),
            (arm, cloud, None),
            (arm, none, None),
        ] {
            let read = |path: &str| {
                files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
            };
            assert_eq!(hypervisor(cpuinfo, read).as_deref(), want, "{cpuinfo} {files:?}");
        }
    }

    #[test]
    fn switches() {
        assert_eq!([switch("0"), switch("1"), switch("on")], [Some(false), Some(true), None]);
    }

    #[test]
    fn this_host() {
        let environment = HostEnvironment::read();
        assert!(!environment.os.is_empty() && !environment.kernel.is_empty());
        assert!(!environment.cpu_model.is_empty());
        assert!(environment.cores_online >= 1);
        assert!(!environment.cpus_allowed.is_empty());
    }
}

//! The host of a run, as a later reader needs it: what the machine is, and the kernel settings that
//! make figures differ between machines.
//!
//! A fact that the host does not reveal is null or empty. Absent on purpose: names, addresses and
//! serial numbers of the machine, because no figure depends on them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The host the tester ran on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Operating system.
    pub os: String,
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu: String,
    /// CPUs online.
    pub cores: u32,
    /// CPUs this process may use.
    pub cores_allowed: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Frequency governor, where one is visible.
    pub governor: Option<String>,
    /// Whether siblings share cores.
    pub smt: Option<bool>,
    /// The hypervisor, when in a virtual machine.
    pub hypervisor: Option<String>,
    /// The CPU in full.
    #[serde(default)]
    pub processor: Processor,
    /// The kernel's settings.
    #[serde(default)]
    pub system: SystemSettings,
}

/// A CPU in full, as its first core tells it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Processor {
    /// The instruction set: `x86_64`, `aarch64`.
    pub architecture: String,
    /// Who made it; on ARM the implementer's code.
    pub vendor: Option<String>,
    /// Its family; on ARM the architecture's version.
    pub family: Option<String>,
    /// Its model within the family; on ARM the part's code.
    pub model: Option<String>,
    /// Its stepping; on ARM variant and revision.
    pub stepping: Option<String>,
    /// The revision of its microcode.
    pub microcode: Option<String>,
    /// The lowest frequency of a core when this was read.
    pub mhz_lowest: Option<f64>,
    /// The highest frequency of a core when this was read.
    pub mhz_highest: Option<f64>,
    /// The highest frequency that it may reach.
    pub mhz_limit: Option<f64>,
    /// Its caches: `L1d 32K`.
    pub caches: Vec<String>,
    /// How many bits an address has.
    pub address_sizes: Option<String>,
    /// Sockets.
    pub sockets: Option<u32>,
    /// Cores of all sockets; each may have several threads, which are the CPUs of the kernel.
    pub cores: Option<u32>,
    /// NUMA nodes.
    pub numa_nodes: Option<u32>,
    /// What it can do, in the kernel's words.
    pub flags: Vec<String>,
    /// Its known faults, in the kernel's words.
    pub bugs: Vec<String>,
}

/// Settings of the kernel, and limits of the tester's process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SystemSettings {
    /// Swap space.
    pub swap_bytes: Option<u64>,
    /// What the kernel reads its clock from.
    pub clocksource: Option<String>,
    /// Whether memory is given in huge pages: `always`, `madvise` or `never`.
    pub transparent_hugepages: Option<String>,
    /// Files that the tester may have open at once; null without a limit.
    pub open_files: Option<u64>,
    /// What the kernel was started with, those parameters only that change how fast it is.
    pub kernel_parameters: Vec<String>,
    /// What is done against faults of the CPU that it has.
    pub mitigations: BTreeMap<String, String>,
    /// Values of sysctl(8) that a load test meets.
    pub sysctl: BTreeMap<String, String>,
}

//! The facts that the doctor judges, as plain data, and how it gathers them.

use plimsoll_io::host::{
    CpuTicks, HostEnvironment, HostLimits, KernelSettings, Rusage, cpu_limit, interrupts,
    memory_available_bytes, memory_limit_bytes, shared_cores,
};
use plimsoll_io::{DriverChoice, clock};
use plimsoll_lab::sample::{Busy, Processes};

use super::measure::{self, Floor, Timers};

/// What was read and measured.
#[derive(Debug, Clone)]
pub(crate) struct Readings {
    pub environment: HostEnvironment,
    pub limits: HostLimits,
    pub settings: KernelSettings,
    /// CPUs' worth of time that a quota allows.
    pub cpu_limit: Option<f64>,
    /// Memory that could still be had, quotas regarded.
    pub memory_available_bytes: Option<u64>,
    /// Hardware threads that share a core.
    pub shared_cores: Vec<Vec<u32>>,
    /// Interrupts of devices by CPU.
    pub interrupts: Vec<u64>,
    /// Share of the CPUs' time that a hypervisor took while one of them worked.
    pub steal_share: Option<f64>,
    /// CPUs that other processes kept busy meanwhile.
    pub others_cpus: Option<f64>,
    /// Which of them can be seen and used a share of a CPU worth naming, with that share; the
    /// busiest first.
    pub busiest: Vec<(Busy, f64)>,
    /// Why a driver cannot be had.
    pub uring: Result<(), String>,
    pub epoll: Result<(), String>,
    pub timers: Result<Timers, String>,
    /// `None`: not measured.
    pub floor: Option<Result<Floor, String>>,
}

/// How long the CPUs are watched for steal and for the work of others.
const WATCH_NS: u64 = 1_000_000_000;
/// The least share of a CPU that is worth naming, and the most processes that are named.
const NAMED_CPUS_MIN: f64 = 0.01;
const NAMED_MAX: usize = 3;

impl Readings {
    /// Gathers them in less than two seconds; with the floor, in some ten.
    pub(crate) fn take(quick: bool) -> Self {
        let environment = HostEnvironment::read();
        let (ticks, used_us, start_ns) =
            (CpuTicks::read(), Rusage::of_process().cpu_us(), clock::now_ns());
        let processes = Processes::read();
        let timers = measure::timers();
        // Only a CPU with work to do can have it taken away.
        while clock::now_ns() < start_ns + WATCH_NS {
            std::hint::spin_loop();
        }
        let ticks = ticks.zip(CpuTicks::read());
        let elapsed_ns = clock::now_ns() - start_ns;
        let busy = Processes::read().busy_since(&processes);
        let ours_cpus = (Rusage::of_process().cpu_us() - used_us) as f64 * 1e3 / elapsed_ns as f64;
        let busy_cpus = ticks.map(|(before, after)| {
            after.busy_share_since(&before) * f64::from(environment.cores_online)
        });
        let busiest = busy.into_iter().map(|it| {
            let cpus = it.cpu_ns as f64 / elapsed_ns as f64;
            (it, cpus)
        });
        let busiest = busiest.filter(|(_, cpus)| *cpus >= NAMED_CPUS_MIN).take(NAMED_MAX);
        let memory = memory_available_bytes().into_iter().chain(memory_limit_bytes()).min();
        Self {
            limits: HostLimits::read(),
            settings: KernelSettings::read(),
            cpu_limit: cpu_limit(),
            memory_available_bytes: memory,
            shared_cores: shared_cores(&environment.cpus_allowed),
            interrupts: interrupts(),
            steal_share: ticks.map(|(before, after)| after.steal_share_since(&before)),
            busiest: busiest.collect(),
            others_cpus: busy_cpus.map(|busy_cpus| (busy_cpus - ours_cpus).max(0.0)),
            uring: measure::driver(DriverChoice::Uring),
            epoll: measure::driver(DriverChoice::Epoll),
            timers,
            floor: (!quick).then(measure::floor),
            environment,
        }
    }
}

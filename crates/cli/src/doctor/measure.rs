//! Measures what only a trial can show: how exactly a thread wakes up, what reading the clock
//! costs, which drivers work, and the best this host's tester can do.

use std::thread;

use plimsoll_core::plan::{Draft, Endpoint};
use plimsoll_core::schedule::{Arrival, Profile};
use plimsoll_core::verdict::Verdict;
use plimsoll_core::{Histogram, RunResult};
use plimsoll_engine::Control;
use plimsoll_io::select::{Opened, open};
use plimsoll_io::{Driver, DriverChoice, DriverOptions, SocketOptions, Spin, clock};
use plimsoll_server::{Role, ServeOptions, start};

/// The middle of a distribution and its tail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Quantiles {
    pub p50_ns: u64,
    pub p99_ns: u64,
}

impl Quantiles {
    fn of(histogram: &Histogram) -> Self {
        let quantile_ns = |q| histogram.quantile_ns(q).unwrap_or(0);
        Self { p50_ns: quantile_ns(0.5), p99_ns: quantile_ns(0.99) }
    }
}

/// How exact time is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Timers {
    /// How late a thread wakes that slept until a time.
    pub sleep: Quantiles,
    /// The same with spinning just before it.
    pub spin: Quantiles,
    /// One reading of the clock, ns.
    pub read_ns: f64,
}

/// What a run finds at best here: against the built-in server on this host.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Floor {
    /// Responses per second to one worker in a closed loop.
    pub closed_rps: f64,
    /// CPU time of the worker for each, ns.
    pub cpu_ns: f64,
    /// Lateness at [`LATENESS_RPS`] with spinning as a run chooses it.
    pub late_spin: Quantiles,
    /// Lateness at that rate without spinning.
    pub late_sleep: Quantiles,
    /// Service time at [`SERVICE_RPS`].
    pub service: Quantiles,
    /// Codes of the causes that made these runs suspect or invalid.
    pub causes: Vec<String>,
}

/// The rate at which lateness is measured.
pub(crate) const LATENESS_RPS: u64 = 5_000;
/// The rate at which the service time is measured.
pub(crate) const SERVICE_RPS: u64 = 1_000;

const RUN_NS: u64 = 2_000_000_000;
const WARMUP_NS: u64 = 200_000_000;
const CONNECTIONS: u32 = 50;

const WAKES: u64 = 1_200;
const WAKE_EVERY_NS: u64 = 250_000;
/// A wake that comes after the next is due leaves the next one this long.
const AHEAD_NS: u64 = 50_000;
const READS: u32 = 200_000;

const OPTIONS: DriverOptions = DriverOptions {
    sockets: 1,
    reserved: 1,
    receivers: 1,
    receive_buffer_bytes: 4096,
    long_lived: true,
    spin: Spin::Off,
    receive_timestamps: false,
    socket: SocketOptions { reuse_port: false, listen_backlog: 0 },
};

/// Whether a driver is available; if not, why.
pub(crate) fn driver(choice: DriverChoice) -> Result<(), String> {
    on_a_thread(move || open(choice, &OPTIONS).map(drop).map_err(|error| error.to_string()))
}

/// Measures clocks and timers on a thread set up as a worker's is, with the driver that a run gets.
pub(crate) fn timers() -> Result<Timers, String> {
    on_a_thread(|| {
        // Without it timers are later, which is then what is measured.
        let _ = clock::set_timer_slack_ns(1);
        let (opened, _) = open(DriverChoice::Auto, &OPTIONS).map_err(|error| error.to_string())?;
        match opened {
            Opened::Uring(driver) => measure_timers(driver),
            Opened::Epoll(driver) => measure_timers(driver),
        }
        .map_err(|error| error.to_string())
    })
}

fn on_a_thread<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let thread = thread::Builder::new().spawn(act).map_err(|error| error.to_string())?;
    thread.join().unwrap_or_else(|_| Err("the measuring thread panicked".to_owned()))
}

fn measure_timers<D: Driver>(mut driver: D) -> std::io::Result<Timers> {
    let sleep = wakes(&mut driver, Spin::Off)?;
    let spin = wakes(&mut driver, Spin::Auto)?;
    let start_ns = clock::now_ns();
    for _ in 0..READS {
        std::hint::black_box(clock::now_ns());
    }
    let read_ns = (clock::now_ns() - start_ns) as f64 / f64::from(READS);
    Ok(Timers { sleep: Quantiles::of(&sleep), spin: Quantiles::of(&spin), read_ns })
}

/// How late the driver returns from waiting until set times.
fn wakes<D: Driver>(driver: &mut D, spin: Spin) -> std::io::Result<Histogram> {
    driver.set_spin(spin);
    let mut late = Histogram::new();
    let mut now_ns = driver.clock_ns();
    let start_ns = now_ns;
    for wake in 1..=WAKES {
        // A wake that came after the next was due must not make all that follow late.
        let until_ns = (start_ns + wake * WAKE_EVERY_NS).max(now_ns + AHEAD_NS);
        while now_ns < until_ns {
            now_ns = driver.wait(until_ns)?;
        }
        late.record(now_ns - until_ns);
    }
    Ok(late)
}

/// Loads the built-in server on this host.
pub(crate) fn floor() -> Result<Floor, String> {
    let running = start(ServeOptions::default()).map_err(|error| error.to_string())?;
    let all = running.addresses().iter().find(|(role, _)| *role == Role::All);
    let port = all.map_or(0, |(_, address)| address.port());
    let floor = measure_floor(&Draft {
        connections: CONNECTIONS,
        workers: 1,
        duration_ns: Some(RUN_NS),
        warmup_ns: WARMUP_NS,
        ..Draft::new(Endpoint::http("127.0.0.1", port, "/"))
    });
    drop(running.stop());
    floor
}

fn measure_floor(closed: &Draft) -> Result<Floor, String> {
    let at = |rps: u64, spin| {
        let rate = Profile::constant(rps * 1_000_000, closed.duration_ns, Arrival::Uniform);
        run(&Draft { rate: Some(rate), spin, ..closed.clone() })
    };
    let closed = run(closed)?;
    let spinning = at(LATENESS_RPS, Spin::Auto)?;
    let sleeping = at(LATENESS_RPS, Spin::Off)?;
    let slow = at(SERVICE_RPS, Spin::Auto)?;
    let loader = &closed.loader;
    let cpu_ns = loader.cpu_user_ns + loader.cpu_system_ns;
    let mut causes: Vec<String> = [&closed, &spinning, &sleeping, &slow]
        .iter()
        .flat_map(|result| &result.loader.causes)
        // To keep one worker busy is what the closed loop is for.
        .filter(|cause| cause.verdict > Verdict::Valid && cause.code != "cpu")
        .map(|cause| cause.code.clone())
        .collect();
    causes.sort_unstable();
    causes.dedup();
    Ok(Floor {
        closed_rps: closed.rate.achieved_rps,
        cpu_ns: cpu_ns as f64 / closed.ledger.completed.max(1) as f64,
        late_spin: Quantiles::of(&spinning.loader.lateness),
        late_sleep: Quantiles::of(&sleeping.loader.lateness),
        service: Quantiles::of(&slow.latency.service),
        causes,
    })
}

fn run(draft: &Draft) -> Result<RunResult, String> {
    let plan = draft.clone().check().map_err(|errors| errors.to_string())?;
    plimsoll_engine::run(&plan, &Control::default(), &mut |_| {}).map_err(|error| error.to_string())
}

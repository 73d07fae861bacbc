//! One run: an oracle with a mode, a tester with an ask, and what disturbs them meanwhile.

use std::cell::Cell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;

use super::bench::{Disturbance, Runs, Subject};
use super::oracle::OracleProcess;
use super::process::{Machine, Sample, usage};
use super::reference;
use super::tester::{Start, Tester};
use crate::judge::Judgement;
use crate::options::SuiteOptions;
use crate::oracle::{Log, Mode, clock_ns};
use crate::tool::{Ask, Call, Finished, Further, Reading};

/// The share of CPU time stolen from the machine above which a run is disturbed.
const STEAL_MAX: f64 = 0.005;
/// The share of it that others used above which a run is disturbed.
const OTHERS_MAX: f64 = 0.03;
/// How often a run is made, when the machine's CPUs were taken away each time, and how long is
/// waited in between: neighbours that take them do so for a while.
const ATTEMPTS: u32 = 8;
const PAUSE: Duration = Duration::from_secs(3);
/// How long a tester may take beyond the load it was asked for.
const GRACE: Duration = Duration::from_secs(25);
/// Between looks at the processes before the first request, from which actions are timed.
const LOOK_FIRST_NS: u64 = 1_000_000;
/// Between looks at them later. Each look takes a CPU from the tester or the oracle for a moment.
const LOOK_NS: u64 = 20_000_000;
/// Between samples of the tester's usage.
const SAMPLE_NS: u64 = 50_000_000;

/// What in a run's directory is not the tester's own.
const OURS: [&str; 4] = ["stdout", "stderr", "log", "report"];

/// Which CPUs tester and oracle have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pin {
    /// One each.
    #[default]
    Apart,
    /// The same one.
    Together,
    /// Whichever the kernel gives them.
    Free,
}

/// Something done during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The oracle is stopped, as by SIGSTOP.
    StopOracle,
    /// It goes on.
    ContinueOracle,
    /// It is killed.
    KillOracle,
    /// Another is started where it was.
    StartOracle,
    /// The tester is stopped.
    StopTester,
    /// It goes on.
    ContinueTester,
    /// The machine's wall clock is set forward by this many seconds, or back.
    StepClock(i64),
}

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Setup {
    /// What the tester is asked; its address is a path, to which the oracle's is added.
    pub ask: Ask,
    /// How the oracle behaves.
    pub mode: Mode,
    /// What is done when, in seconds from the first request, ascending.
    pub actions: Vec<(f64, Action)>,
    /// Which CPUs they have.
    pub pin: Pin,
    /// What stands before the tester's command line.
    pub wrapper: Vec<String>,
    /// What stands before the oracle's.
    pub oracle_wrapper: Vec<String>,
    /// The name of the oracle's host in the address; `None`: its IP address.
    pub host: Option<String>,
    /// The address the oracle listens at.
    pub listen: Ipv4Addr,
    /// Whether nobody reads the tester's output until the load is over.
    pub unread: bool,
    /// How long the load is beyond what the ask says, for the limit of time, seconds.
    pub extra_s: f64,
    /// The fewest requests that the oracle has to see, or there is nothing to judge.
    pub least: u64,
}

/// The share of the load asked for that has to arrive. Less than that is another load, whatever the
/// tester reports.
const LEAST_SHARE: f64 = 0.5;

impl Setup {
    /// An ask of an oracle, with nothing done meanwhile.
    #[must_use]
    pub fn new(ask: Ask, mode: Mode) -> Self {
        Self {
            least: least(&ask),
            ask,
            mode,
            actions: Vec::new(),
            pin: Pin::Apart,
            wrapper: Vec::new(),
            oracle_wrapper: Vec::new(),
            host: None,
            listen: Ipv4Addr::LOCALHOST,
            unread: false,
            extra_s: 0.0,
        }
    }

    pub(super) fn load_s(&self) -> f64 {
        self.ask.duration_s.unwrap_or(0.0) + self.ask.warmup_s + self.extra_s
    }
}

/// The fewest requests of a load: a share of those that are due; in a closed loop, where the server
/// sets the pace, one on each connection.
fn least(ask: &Ask) -> u64 {
    let due = match (ask.requests, ask.rate_rps) {
        (Some(requests), _) => requests as f64,
        (None, Some(rate_rps)) => rate_rps * (ask.duration_s.unwrap_or(0.0) + ask.warmup_s),
        (None, None) => return u64::from(ask.connections),
    };
    (due * LEAST_SHARE).ceil() as u64
}

/// When something was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acted {
    /// What.
    pub action: Action,
    /// When, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
}

/// What came of a run.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// What the tester said.
    pub reading: Reading,
    /// What few testers say.
    pub further: Further,
    /// The files it wrote, one after the other, as far as they are text.
    pub documents: String,
    /// How it ended and what it printed.
    pub finished: Finished,
    /// What the oracle saw; where one was killed, the last one.
    pub log: Log,
    /// What was done when.
    pub acted: Vec<Acted>,
    /// What the tester used over time.
    pub samples: Vec<Sample>,
}

impl Run {
    /// The time between two things done, seconds.
    #[must_use]
    pub fn between_s(&self, from: Action, to: Action) -> Option<f64> {
        let at_ns = |action| self.acted.iter().find(|a| a.action == action).map(|a| a.at_ns);
        Some(at_ns(to)?.saturating_sub(at_ns(from)?) as f64 / 1e9)
    }

    /// Whether the oracle was killed and no other was started.
    fn has_killed_the_oracle(&self) -> bool {
        let is_either =
            |acted: &&Acted| matches!(acted.action, Action::KillOracle | Action::StartOracle);
        let last = self.acted.iter().rfind(is_either);
        last.is_some_and(|acted| acted.action == Action::KillOracle)
    }

    /// How long the tester was stopped, all stops together, seconds.
    #[must_use]
    pub fn stopped_s(&self) -> f64 {
        let mut since_ns = None;
        let mut sum_ns = 0;
        for Acted { action, at_ns } in &self.acted {
            match action {
                Action::StopTester => since_ns = Some(*at_ns),
                Action::ContinueTester => sum_ns += at_ns - since_ns.take().unwrap_or(*at_ns),
                _ => {}
            }
        }
        sum_ns as f64 / 1e9
    }
}

/// What the bare loop did, see [`Bench::reference`](super::bench::Bench::reference).
#[derive(Debug, Clone, Default)]
pub struct Reference {
    /// What the oracle saw of it.
    pub log: Log,
    /// How long each answer took, seconds, ascending.
    pub latency_s: Vec<f64>,
}

/// Runs on this machine.
#[derive(Debug)]
pub(super) struct Runner {
    /// This program, to start oracles with.
    executable: PathBuf,
    /// A directory for everything that is written.
    scratch: PathBuf,
    /// CPUs for tester and oracle, where there are two.
    cpus: Option<(usize, usize)>,
    /// Set from outside to end it all early.
    stop: Arc<AtomicBool>,
    runs: Cell<u32>,
    disturbance: Cell<Disturbance>,
}

impl Runner {
    pub(super) fn new(order: &SuiteOptions) -> Self {
        let cpus = plimsoll_io::clock::allowed_cpus();
        let cpus = match cpus[..] {
            [first, second, ..] => Some((first, second)),
            _ => None,
        };
        Self {
            executable: order.executable.clone(),
            scratch: order.scratch.clone(),
            cpus,
            stop: Arc::clone(&order.stop),
            runs: Cell::new(0),
            disturbance: Cell::default(),
        }
    }

    fn attempt(
        &self,
        subject: &Subject,
        setup: &Setup,
        ours_ns: &Cell<u64>,
    ) -> Result<Run, Judgement> {
        let Subject { tool, program, .. } = subject;
        let number = self.runs.get();
        self.runs.set(number + 1);
        let scratch = self.scratch.join(format!("run-{number}"));
        std::fs::create_dir_all(&scratch).map_err(Judgement::broken)?;
        // What cannot be asked for is known without an oracle.
        if let Call::CannotExpress(why) = tool.call(&self.ask(setup, 0)) {
            return Err(Judgement::CannotExpress { why });
        }
        let at = SocketAddr::new(setup.listen.into(), 0);
        let oracle = self.oracle(setup, at, &scratch).map_err(Judgement::broken)?;
        let (arguments, files) = match tool.call(&self.ask(setup, oracle.address().port())) {
            Call::Command { arguments, files } => (arguments, files),
            Call::CannotExpress(why) => return Err(Judgement::CannotExpress { why }),
        };
        let mut ours: Vec<String> = OURS.map(str::to_owned).into();
        for (name, content) in files {
            std::fs::write(scratch.join(&name), content).map_err(Judgement::broken)?;
            ours.push(name);
        }
        let directory = scratch.to_string_lossy().into_owned();
        let arguments: Vec<String> =
            arguments.iter().map(|argument| argument.replace("{dir}", &directory)).collect();
        let start = Start {
            program,
            arguments: &arguments,
            wrapper: &setup.wrapper,
            scratch: &scratch,
            cpu: self.cpu_of(setup.pin, false),
            unread: setup.unread,
        };
        let tester = Tester::start(&start).map_err(|error| {
            Judgement::skipped(format!("{} cannot be started: {error}", program.display()))
        })?;
        let mut going =
            Going { runner: self, setup, scratch: &scratch, oracle, tester, first_ns: None };
        let mut run = Run::default();
        let in_time = going.watch(&mut run).map_err(Judgement::broken)?;
        let oracle_cpu_ns = usage(going.oracle.process()).map_or(0, |sample| sample.cpu_ns);
        ours_ns.set(run.samples.last().map_or(0, |sample| sample.cpu_ns) + oracle_cpu_ns);
        let finished =
            if in_time { going.tester.finish(GRACE).map_err(Judgement::broken)? } else { None };
        let Some(finished) = finished else {
            let after = format!("did not end {} s after its load should have", GRACE.as_secs());
            return Err(Judgement::fail(after, "an end"));
        };
        run.finished = finished;
        // One that was killed, and not started again, left none.
        if !run.has_killed_the_oracle() {
            run.log = going.oracle.stop().map_err(Judgement::broken)?;
        }
        for arguments in tool.reports() {
            let said = super::tester::report(program, arguments, &scratch);
            run.finished.stdout.push('\n');
            run.finished.stdout.push_str(&said.map_err(Judgement::broken)?);
        }
        run.documents = super::tester::documents(&scratch, &ours).map_err(Judgement::broken)?;
        Ok(run)
    }

    /// Notes what disturbed a run, if it is the worst yet.
    fn disturb(&self, stolen: f64, others: f64) {
        let worst = |known: Option<f64>, share: f64, most: f64| {
            known.into_iter().chain((share > most).then_some(share)).reduce(f64::max)
        };
        let known = self.disturbance.get();
        self.disturbance.set(Disturbance {
            stolen_share: worst(known.stolen_share, stolen, STEAL_MAX),
            others_share: worst(known.others_share, others, OTHERS_MAX),
        });
    }

    /// The address testers reach the oracle at.
    fn reach(&self, setup: &Setup) -> Ipv4Addr {
        if setup.listen.is_unspecified() { Ipv4Addr::LOCALHOST } else { setup.listen }
    }

    /// The ask, with an oracle at this port in its address.
    fn ask(&self, setup: &Setup, port: u16) -> Ask {
        let mut ask = setup.ask.clone();
        let scheme = if setup.mode.tls.is_some() { "https" } else { "http" };
        let host = setup.host.clone().unwrap_or_else(|| self.reach(setup).to_string());
        ask.url = format!("{scheme}://{host}:{port}{}", ask.url);
        // No authority signs the oracle's certificate.
        ask.insecure |= setup.mode.tls.is_some();
        if let Some(resolve) = &mut ask.resolve {
            resolve.port = port;
        }
        ask
    }

    fn oracle(&self, setup: &Setup, at: SocketAddr, scratch: &Path) -> io::Result<OracleProcess> {
        let log = scratch.join("log");
        let cpu = self.cpu_of(setup.pin, true);
        let mut mode = setup.mode.clone();
        // One that spins on the tester's CPU would be what is measured.
        mode.spin &= self.cpus.is_some() && setup.pin == Pin::Apart;
        OracleProcess::start(&self.executable, &setup.oracle_wrapper, at, &mode, log, cpu)
    }

    fn cpu_of(&self, pin: Pin, is_oracle: bool) -> Option<usize> {
        let (tester, oracle) = self.cpus?;
        match pin {
            Pin::Apart if is_oracle => Some(oracle),
            Pin::Apart => Some(tester),
            Pin::Together => Some(oracle),
            Pin::Free => None,
        }
    }
}

impl Runs for Runner {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn take_disturbance(&self) -> Disturbance {
        self.disturbance.take()
    }

    fn run(&self, subject: &Subject, setup: &Setup, needs_quiet: bool) -> Result<Run, Judgement> {
        let mut stolen = 0.0;
        for attempt in 0..ATTEMPTS {
            if attempt > 0 && !self.is_stopped() {
                std::thread::sleep(PAUSE);
            }
            let before = Machine::read();
            let ours_ns = Cell::new(0);
            let run = self.attempt(subject, setup, &ours_ns)?;
            let after = Machine::read();
            let (Some(before), Some(after)) = (before, after) else { return Ok(run) };
            let (steal, others) = after.shares_since(&before, ours_ns.get());
            if steal <= STEAL_MAX || !needs_quiet {
                self.disturb(steal, others);
                return Ok(run);
            }
            stolen = steal;
        }
        Err(Judgement::unmeasured(format!(
            "the hypervisor took {:.1} % of the CPUs' time in each of {ATTEMPTS} runs",
            stolen * 100.0
        )))
    }

    fn reference(&self, ask: &Ask, mode: &Mode) -> Result<Reference, Judgement> {
        let setup = Setup::new(ask.clone(), mode.clone());
        let scratch = self.scratch.join("reference");
        std::fs::create_dir_all(&scratch).map_err(Judgement::broken)?;
        let at = SocketAddr::new(setup.listen.into(), 0);
        let oracle = self.oracle(&setup, at, &scratch).map_err(Judgement::broken)?;
        let (address, cpu) = (oracle.address(), self.cpu_of(Pin::Apart, false));
        let load = reference::Load {
            rate_rps: ask.rate_rps.unwrap_or(1.0),
            connections: ask.connections as usize,
            duration_s: ask.duration_s.unwrap_or(1.0),
        };
        let latency_s = std::thread::spawn(move || {
            if let Some(cpu) = cpu {
                plimsoll_io::clock::pin_to_cpu(cpu)?;
            }
            reference::run(address, load)
        });
        let latency_s =
            latency_s.join().map_err(|_| Judgement::broken("the bare loop panicked"))?;
        let mut latency_s = latency_s.map_err(Judgement::broken)?;
        latency_s.sort_by(f64::total_cmp);
        Ok(Reference { log: oracle.stop().map_err(Judgement::broken)?, latency_s })
    }
}

/// A run that goes on.
struct Going<'a> {
    runner: &'a Runner,
    setup: &'a Setup,
    scratch: &'a Path,
    oracle: OracleProcess,
    tester: Tester,
    first_ns: Option<u64>,
}

impl Going<'_> {
    /// Watches until the tester has ended or its time is up. Whether it has ended. Clocks that were
    /// to be set back are, whatever happened.
    fn watch(&mut self, run: &mut Run) -> io::Result<bool> {
        let watched = self.watch_and_act(run);
        for (_, action) in self.setup.actions.iter().skip(run.acted.len()) {
            let has_stepped = run.acted.iter().any(|a| matches!(a.action, Action::StepClock(_)));
            if matches!(action, Action::StepClock(_)) && has_stepped {
                self.act(*action)?;
            }
        }
        watched
    }

    fn watch_and_act(&mut self, run: &mut Run) -> io::Result<bool> {
        let start_ns = clock_ns();
        let load_ns = (self.setup.load_s() * 1e9) as u64;
        let mut actions = self.setup.actions.iter().peekable();
        loop {
            let now_ns = clock_ns();
            if self.oracle.first_request() {
                self.first_ns = Some(now_ns);
            }
            let since_ns = now_ns - self.first_ns.unwrap_or(now_ns);
            while let Some((_, action)) = actions
                .next_if(|(at_s, _)| self.first_ns.is_some() && at_s * 1e9 <= since_ns as f64)
            {
                self.act(*action)?;
                run.acted.push(Acted { action: *action, at_ns: clock_ns() });
            }
            let last_ns = run.samples.last().map_or(0, |sample| sample.at_ns);
            let has_ended = self.tester.process.has_ended()?;
            if has_ended || now_ns >= last_ns + SAMPLE_NS {
                run.samples.extend(usage(&self.tester.process));
            }
            if since_ns > load_ns + 1_000_000_000 {
                self.tester.read_on();
            }
            if has_ended {
                return Ok(true);
            }
            if self.runner.is_stopped() {
                return Err(io::Error::other("stopped from outside"));
            }
            if now_ns > start_ns + load_ns + GRACE.as_nanos() as u64 {
                return Ok(false);
            }
            let look_ns = match (self.first_ns, actions.peek()) {
                (None, _) => LOOK_FIRST_NS,
                (Some(_), None) => LOOK_NS,
                (Some(_), Some((at_s, _))) => {
                    LOOK_NS.min(((at_s * 1e9) as u64).saturating_sub(since_ns))
                }
            };
            std::thread::sleep(Duration::from_nanos(look_ns));
        }
    }

    fn act(&mut self, action: Action) -> io::Result<()> {
        match action {
            Action::StopOracle => self.oracle.signal(Signal::STOP),
            Action::ContinueOracle => self.oracle.signal(Signal::CONT),
            Action::StopTester => self.tester.process.signal(Signal::STOP),
            Action::ContinueTester => self.tester.process.signal(Signal::CONT),
            Action::KillOracle => self.oracle.signal(Signal::KILL),
            Action::StartOracle => {
                let at = self.oracle.address();
                self.oracle = self.runner.oracle(self.setup, at, self.scratch)?;
            }
            Action::StepClock(seconds) => step_clock(seconds)?,
        }
        Ok(())
    }
}

fn step_clock(seconds: i64) -> io::Result<()> {
    use rustix::time::{ClockId, clock_gettime, clock_settime};
    let mut now = clock_gettime(ClockId::Realtime);
    now.tv_sec += seconds;
    Ok(clock_settime(ClockId::Realtime, now)?)
}

//! What a worker records besides single requests: the measured part apart from the warm-up, the
//! seconds, the pauses, and its own CPU time.

use std::sync::Arc;

use plimsoll_core::metric::{Metrics, Registry};
use plimsoll_core::part::{Part, Place};
use plimsoll_core::recorder::{Interval, Recorder, Span};
use plimsoll_core::schedule::Stage;
use plimsoll_core::throughput::Answers;
use plimsoll_core::verdict::Pause;
use plimsoll_io::Standstill;
use plimsoll_io::host::{Rusage, run_delay_ns};

use crate::admission::Timetable;

/// How many pauses are kept one by one. Those after them are in the sum.
const PAUSES_KEPT: usize = 1000;

/// What the thread has used of the CPU. Under a simulated clock it is all zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuUse {
    /// In user mode, ns.
    pub user_ns: u64,
    /// In the kernel, ns.
    pub system_ns: u64,
    /// Times the scheduler took the CPU away.
    pub involuntary_switches: u64,
    /// Time spent ready to run and without a CPU, ns.
    pub run_delay_ns: u64,
}

impl CpuUse {
    /// Of the calling thread.
    #[must_use]
    pub fn of_thread() -> Self {
        let usage = Rusage::of_thread().unwrap_or_else(Rusage::of_process);
        Self {
            user_ns: usage.cpu_user_us * 1000,
            system_ns: usage.cpu_system_us * 1000,
            involuntary_switches: usage.involuntary_switches,
            run_delay_ns: run_delay_ns().unwrap_or(0),
        }
    }

    /// What was used since an earlier look. A process without a file left cannot read all of it,
    /// and sees 0 instead.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let since = u64::saturating_sub;
        Self {
            user_ns: since(self.user_ns, earlier.user_ns),
            system_ns: since(self.system_ns, earlier.system_ns),
            involuntary_switches: since(self.involuntary_switches, earlier.involuntary_switches),
            run_delay_ns: since(self.run_delay_ns, earlier.run_delay_ns),
        }
    }

    pub(crate) fn total_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }
}

/// What the worker's thread uses of the CPU, over the run and its parts.
#[derive(Debug)]
struct CpuMeter {
    read: fn() -> CpuUse,
    /// When the measured part began: what was used, and spun, by then.
    started: Option<(CpuUse, u64)>,
    /// The same for the running interval.
    interval: (CpuUse, u64),
    /// What was used while requests were started.
    in_window: Option<(CpuUse, u64)>,
}

impl CpuMeter {
    /// CPU use and spinning since the measured part began; nothing before.
    fn used(&self, spun_ns: u64) -> (CpuUse, u64) {
        self.started.map_or_else(Default::default, |(cpu, before_ns)| {
            ((self.read)().since(&cpu), spun_ns - before_ns)
        })
    }

    /// How long the CPU was used in the interval that ends here, without spinning, ns.
    fn take_interval(&mut self, spun_ns: u64) -> u64 {
        let cpu = (self.read)();
        let (before, spun_before_ns) = std::mem::replace(&mut self.interval, (cpu, spun_ns));
        cpu.since(&before).total_ns().saturating_sub(spun_ns - spun_before_ns)
    }
}

/// What a worker records.
#[derive(Debug)]
pub(crate) struct Observer {
    pub measured: Recorder,
    pub warmup: Option<Box<Recorder>>,
    pub pauses: Vec<Pause>,
    pub answers: Answers,
    /// When the window ends, as far as is known, ns on the driver's clock.
    window_end_ns: u64,
    /// All pauses together, ns.
    pub paused_ns: u64,
    cpu: CpuMeter,
    timetable: Timetable,
    /// When the measured part begins, from the start of the intervals, ns.
    offset_ns: u64,
    interval: u64,
    /// An empty interval to go on with.
    spare: Option<Box<Interval>>,
}

impl Observer {
    /// Nothing yet, of a source that has declared `metrics`. The measured part begins `offset_ns`
    /// after the intervals do.
    pub(crate) fn new(
        has_warmup: bool,
        cpu: fn() -> CpuUse,
        metrics: &Arc<Registry>,
        offset_ns: u64,
    ) -> Self {
        let mut measured = Recorder::new();
        measured.metrics = Metrics::new(metrics);
        Self {
            measured,
            warmup: has_warmup.then(Box::default),
            pauses: Vec::new(),
            answers: Answers::closed(),
            window_end_ns: u64::MAX,
            paused_ns: 0,
            cpu: CpuMeter {
                read: cpu,
                started: None,
                interval: Default::default(),
                in_window: None,
            },
            timetable: Timetable { start_ns: 0, measured_ns: u64::MAX, stop_ns: u64::MAX },
            offset_ns,
            interval: 0,
            spare: Some(Box::default()),
        }
    }

    /// Begins the run, with the planned window of its schedule.
    pub(crate) fn start(&mut self, timetable: Timetable, planned_ns: Option<u64>) {
        self.timetable = timetable;
        self.window_end_ns = timetable.stop_ns;
        if let Some(planned_ns) = planned_ns {
            self.window_end_ns = timetable.measured_ns.saturating_add(planned_ns);
            self.answers = Answers::scheduled(planned_ns);
        }
    }

    /// Prepares the parts of the endpoints, and of the stages if there are several.
    pub(crate) fn add_parts(&mut self, endpoints: &[String], stages: &[Stage]) {
        self.measured.parts.endpoints = endpoints.iter().map(|name| Part::new(name)).collect();
        if stages.len() > 1 {
            let parts = stages.iter().map(|stage| Part::new(&stage.to_string()));
            self.measured.parts.stages = parts.collect();
        }
    }

    /// Prepares the parts of addresses that have none yet.
    pub(crate) fn add_address_parts(&mut self, names: &[String]) {
        let parts = &mut self.measured.parts.addresses;
        let missing = names.iter().skip(parts.len());
        parts.extend(missing.map(|name| Part::new(name)));
    }

    /// The schedule was changed: its window ends when requests are no longer started.
    pub(crate) fn forget_planned_window(&mut self) {
        if self.cpu.in_window.is_none() {
            self.window_end_ns = self.timetable.stop_ns;
        }
    }

    /// A measured response was complete.
    #[inline]
    pub(crate) fn answered(&mut self, at_ns: u64, ok: bool, place: Place) {
        let measured_ns = self.timetable.measured_ns;
        let window_ns = self.window_end_ns.saturating_sub(measured_ns);
        let at_ns = at_ns.saturating_sub(measured_ns);
        let in_window = self.answers.answered(at_ns, window_ns, ok);
        self.measured.parts.each(place, |part| part.answered(in_window));
    }

    /// Starts to count the worker's own CPU time once the measured part has begun.
    #[inline]
    pub(crate) fn begin_measuring(&mut self, now_ns: u64, spun_ns: u64) {
        if self.cpu.started.is_some() || now_ns < self.timetable.measured_ns {
            return;
        }
        let used = ((self.cpu.read)(), spun_ns);
        self.cpu.started = Some(used);
        self.cpu.interval = used;
    }

    /// The recorder for a request.
    #[inline]
    pub(crate) fn recorder(&mut self, measured: bool) -> &mut Recorder {
        match &mut self.warmup {
            Some(warmup) if !measured => warmup,
            _ => &mut self.measured,
        }
    }

    /// The recorder for what belongs to no request.
    pub(crate) fn recorder_at(&mut self, now_ns: u64) -> &mut Recorder {
        let measured = now_ns >= self.timetable.measured_ns;
        self.recorder(measured)
    }

    /// A time from the start of the measured part, ns.
    #[inline]
    pub(crate) fn since_measured_ns(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.timetable.measured_ns)
    }

    /// When the running interval ends.
    #[inline]
    pub(crate) fn interval_end_ns(&self) -> u64 {
        self.timetable.measured_ns.saturating_add(self.span().end_ns())
    }

    /// Where the running interval lies.
    #[inline]
    fn span(&self) -> Span {
        Span::nth(self.interval, self.offset_ns)
    }

    /// Notes that the worker did not run for a stretch: what of it is in the measured part.
    #[cold]
    pub(crate) fn note_pause(&mut self, standstill: Standstill) {
        let measured_ns = self.timetable.measured_ns;
        let end_ns = (standstill.at_ns + standstill.for_ns).saturating_sub(measured_ns);
        let at_ns = standstill.at_ns.saturating_sub(measured_ns);
        let for_ns = end_ns - at_ns;
        self.paused_ns += for_ns;
        if for_ns > 0 && self.pauses.len() < PAUSES_KEPT {
            self.pauses.push(Pause { at_ns, for_ns });
        }
    }

    /// Ends the running interval if it is over, or if the run is.
    pub(crate) fn take_interval(
        &mut self,
        now_ns: u64,
        spun_ns: u64,
        finished: bool,
    ) -> Option<Box<Interval>> {
        if now_ns < self.interval_end_ns() && !finished {
            return None;
        }
        let busy_ns = self.cpu.take_interval(spun_ns);
        let spare = self.spare.take().unwrap_or_default();
        let interval = self.measured.take_interval(self.span(), busy_ns, spare);
        self.interval += 1;
        Some(interval)
    }

    /// Keeps an emptied interval for the next change.
    pub(crate) fn keep_spare(&mut self, spare: Option<Box<Interval>>) {
        self.spare = spare;
    }

    /// Requests are no longer started: what was used up to here counts as the load's. The window
    /// ends then or, where the plan says so, at `end_ns`.
    pub(crate) fn end_window(&mut self, spun_ns: u64, end_ns: u64) {
        self.cpu.in_window = Some(self.used(spun_ns));
        self.window_end_ns = end_ns;
    }

    /// CPU use and spinning while requests were started.
    pub(crate) fn used_in_window(&self) -> (CpuUse, u64) {
        self.cpu.in_window.unwrap_or_default()
    }

    /// In a closed loop nothing waits for the schedule: all lags are nothing.
    pub(crate) fn settle_closed_loop(&mut self) {
        self.measured.settle_closed_loop();
        if let Some(warmup) = &mut self.warmup {
            warmup.settle_closed_loop();
        }
    }

    /// CPU use and spinning since the start.
    pub(crate) fn used(&self, spun_ns: u64) -> (CpuUse, u64) {
        self.cpu.used(spun_ns)
    }
}

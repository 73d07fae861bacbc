//! Probes in virtual time: what a driver does, on a server of `servers`.

use rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::servers::{Server, exponential};
use crate::find::{Answer, Figures, Next, Objective, Probe, ProbePlan, Report, Search, Settings};

/// How long requests that are out are waited for, without and with a budget.
const DRAIN_S: (f64, f64) = (30.0, 1.0);

/// How requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrivals {
    Poisson,
    Even,
}

/// A server, the time there, and the load that the tester can offer.
pub(super) struct Simulation {
    pub(super) server: Box<dyn Server>,
    pub(super) arrivals: Arrivals,
    pub(super) now_s: f64,
    pub(super) random: Xoshiro256PlusPlus,
    /// Above this rate the tester has no CPU left.
    pub(super) tester_rps: f64,
    /// How long a cool-down takes.
    pub(super) cool_down_s: f64,
}

/// What of the requests of a stretch of time is kept.
struct Window<'a> {
    from_s: f64,
    objectives: &'a [Objective],
    figures: Figures,
    /// Whether these figures are enough, so that the load ends.
    is_enough: &'a dyn Fn(&Figures) -> bool,
    /// How many seconds were measured.
    measured: usize,
}

/// What takes in the requests of a load.
trait Sink {
    fn ended(&mut self, due_s: f64, end_s: f64, is_ok: bool);

    /// A second of the load is over. Whether the load is.
    fn passed(&mut self, now_s: f64) -> bool;
}

/// Nothing of a load is kept.
struct Nothing;

impl Sink for Nothing {
    fn ended(&mut self, _: f64, _: f64, _: bool) {}

    fn passed(&mut self, _: f64) -> bool {
        false
    }
}

impl Sink for Window<'_> {
    fn ended(&mut self, due_s: f64, end_s: f64, is_ok: bool) {
        if let Some(due) = self.place(due_s).and_then(|at| self.figures.due.get_mut(at)) {
            *due += 1;
        }
        let Some(at) = self.place(end_s).filter(|at| *at < self.figures.due.len()) else { return };
        self.figures.answered[at] += 1;
        self.figures.ended[at] += 1;
        let time_ns = ((end_s - due_s) * 1e9) as u64;
        for (sums, objective) in self.figures.objectives.iter_mut().zip(self.objectives) {
            sums.among[at] += 1;
            match (objective.time_limit_ns(), objective.far_ns()) {
                (Some(limit_ns), Some(far_ns)) => {
                    sums.against[at] += u64::from(time_ns > limit_ns);
                    sums.near[at] += u64::from(time_ns > limit_ns / 2);
                    sums.far[at] += u64::from(time_ns > far_ns);
                }
                (Some(_), None) => sums.against[at] += time_ns,
                _ => sums.against[at] += u64::from(!is_ok),
            }
        }
    }

    fn passed(&mut self, now_s: f64) -> bool {
        self.measured =
            ((now_s - self.from_s + 1e-6).max(0.0) as usize).min(self.figures.due.len());
        self.measured > 0 && (self.is_enough)(&self.figures.first(self.measured))
    }
}

impl Window<'_> {
    fn place(&self, at_s: f64) -> Option<usize> {
        (at_s >= self.from_s).then_some((at_s - self.from_s) as usize)
    }
}

impl Simulation {
    pub(super) fn new(server: Box<dyn Server>, arrivals: Arrivals, seed: u64) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5eed);
        Self { server, arrivals, now_s: 0.0, random, tester_rps: f64::INFINITY, cool_down_s: 5.0 }
    }

    /// Offers a rate for a time, or until the sink has enough.
    fn load(&mut self, rate_rps: f64, long_s: f64, sink: &mut dyn Sink) {
        let began_s = self.now_s;
        let until_s = began_s + long_s;
        let (mut due_s, mut second) = (began_s, 0.0);
        loop {
            due_s += match self.arrivals {
                Arrivals::Poisson => exponential(1.0 / rate_rps, &mut self.random),
                Arrivals::Even => 1.0 / rate_rps,
            };
            while second + 1.0 <= long_s && due_s >= began_s + second + 1.0 {
                second += 1.0;
                if sink.passed(began_s + second) {
                    self.now_s = began_s + second;
                    return;
                }
            }
            if due_s >= until_s {
                break;
            }
            let (end_s, is_ok) = self.server.serve(due_s, &mut self.random);
            sink.ended(due_s, end_s, is_ok);
        }
        self.now_s = until_s;
    }

    /// Carries out a probe. As a driver does, it ends a cool-down and waits less at the end where
    /// the budget leaves no time.
    pub(super) fn probe(&mut self, search: &Search, plan: &ProbePlan) -> Report {
        let began_s = self.now_s;
        let left_ns = search.left_ns();
        if let Some(rate_rps) = plan.cool_down_rps {
            let most_ns = left_ns.map(|left_ns| left_ns.saturating_sub(plan.needs_ns()));
            let most_s = most_ns.map_or(f64::INFINITY, |most_ns| most_ns as f64 / 1e9);
            self.load(rate_rps, self.cool_down_s.min(most_s), &mut Nothing);
        }
        let (settle_s, measure_s) = (plan.settle_ns as f64 / 1e9, plan.measure_ns as f64 / 1e9);
        let is_enough = |figures: &Figures| search.is_settled(figures);
        let seconds = measure_s as usize;
        let objectives = search.objectives();
        let figures = self.measure_until(plan.rate_rps, settle_s, seconds, objectives, &is_enough);
        // Requests that are out are waited for, within reason.
        let drain_s = if left_ns.is_some() { DRAIN_S.1 } else { DRAIN_S.0 };
        self.now_s = self.now_s.max(self.server.idle_s().min(self.now_s + drain_s));
        let is_offered = plan.rate_rps <= self.tester_rps;
        Report {
            figures: is_offered.then_some(figures),
            tester: (!is_offered).then(|| "the tester is out of CPU".to_owned()),
            late: None,
            connections: None,
            server_cpus: None,
            recovered: true,
            elapsed_ns: ((self.now_s - began_s) * 1e9) as u64,
        }
    }

    /// The figures of a rate, with `seconds` intervals of a second.
    pub(super) fn measure(
        &mut self,
        rate_rps: f64,
        settle_s: f64,
        seconds: usize,
        objectives: &[Objective],
    ) -> Figures {
        self.measure_until(rate_rps, settle_s, seconds, objectives, &|_| false)
    }

    fn measure_until(
        &mut self,
        rate_rps: f64,
        settle_s: f64,
        seconds: usize,
        objectives: &[Objective],
        is_enough: &dyn Fn(&Figures) -> bool,
    ) -> Figures {
        let mut figures = Figures::empty(1_000_000_000, objectives.len());
        for column in [&mut figures.due, &mut figures.answered, &mut figures.ended] {
            column.resize(seconds, 0);
        }
        for sums in &mut figures.objectives {
            for column in [&mut sums.among, &mut sums.against, &mut sums.near, &mut sums.far] {
                column.resize(seconds, 0);
            }
        }
        let from_s = self.now_s + settle_s;
        let mut window = Window { from_s, objectives, figures, is_enough, measured: 0 };
        self.load(rate_rps, settle_s + seconds as f64, &mut window);
        window.figures.first(window.measured)
    }

    /// Carries out a whole search.
    pub(super) fn search(&mut self, settings: Settings, objectives: &[&str]) -> Found {
        let objectives: Vec<Objective> =
            objectives.iter().map(|text| Objective::parse(text).unwrap()).collect();
        let mut search = Search::new(settings, objectives).unwrap();
        loop {
            match search.next() {
                Next::Probe(plan) => {
                    let report = self.probe(&search, &plan);
                    search.told(report);
                }
                Next::Answer(answer) => {
                    return Found { answer: *answer, probes: search.probes().to_vec(), search };
                }
            }
        }
    }
}

/// What a search found.
pub(super) struct Found {
    pub(super) answer: Answer,
    pub(super) probes: Vec<Probe>,
    pub(super) search: Search,
}

impl Found {
    /// Its probes, a line each, for messages of failed tests.
    pub(super) fn story(&self) -> String {
        let line = |probe: &Probe| {
            let first = probe.judgement.findings.first();
            let bounds = first.map(|it| (it.low, it.value, it.high, it.high_with_stalls));
            let (plan, outcome) = (&probe.plan, probe.judgement.outcome);
            let measured_s = probe.report.figures.as_ref().map_or(0.0, Figures::measured_s);
            let (purpose, rate_rps) = (plan.purpose, plan.rate_rps);
            let took_s = probe.report.elapsed_ns as f64 / 1e9;
            format!(
                "{purpose:?} {rate_rps} {measured_s} s of {took_s:.0} {outcome:?} {bounds:.4?}\n"
            )
        };
        let probes: String = self.probes.iter().map(line).collect();
        format!("{probes}{:?}", self.answer)
    }
}

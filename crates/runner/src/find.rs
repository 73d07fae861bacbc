//! A search for the load line, carried out: each probe is a run at a rate.
//!
//! [`Search`] says which probe comes next and what it means. Here is what a probe is: a cool-down
//! until the server is as it was, the load that is not measured, the load that is, and what of the
//! result counts.
//!
//! Each probe opens connections of its own, so that it is the run that anyone can repeat at that
//! rate with the same flags, whatever came before it. They are opened before the load, so no figure
//! contains that. A probe that the tester has spoilt is measured again before the search hears of
//! it.

mod closed;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use plimsoll_core::find::{
    Connected, Document, Figures, Next, Origin, Outcome, Probe, ProbePlan, Report, Search, Turn,
    doubt, due_in,
};
use plimsoll_core::plan::Draft;
use plimsoll_core::scenario::Scenarios;
use plimsoll_core::schedule::{Arrival, Profile};
use plimsoll_core::series::{INTERVAL_NS, Point};
use plimsoll_core::{Phase, Plan, RunResult};
use plimsoll_io::clock;

use crate::error::RunnerError;
use crate::handle::Handle;
use crate::news::News;
use crate::run::{Beside, Runner, not_carried_out};

pub use closed::{ClosedNews, FoundClosed};

/// How often a probe is measured that the tester spoils. A host that is busy throughout spoils more
/// of them, and each takes as long as a probe that shows something.
const ATTEMPTS_MAX: u32 = 2;

/// How long the last responses are waited for in a search with a budget.
const DRAIN_NS_BUDGETED: u64 = 1_000_000_000;

/// How long a cool-down may take.
const COOL_DOWN_NS_MAX: u64 = 30_000_000_000;

/// How long a cool-down takes while no probe has shown how the server usually is.
const COOL_DOWN_NS_UNKNOWN: u64 = 5_000_000_000;

/// A server has cooled down when the median of an interval is at most this multiple of what it was
/// at that rate, or more than that by no more than this time.
const COOL: (u64, u64) = (2, 1_000_000);

/// A search that is carried out.
#[derive(Debug)]
pub struct Finder<'a> {
    plan: &'a Plan,
    beside: Beside<'a>,
    handle: FindHandle,
}

/// A hand on a search from any thread, also before it begins.
#[derive(Clone, Default)]
pub struct FindHandle(Arc<Held>);

#[derive(Default)]
struct Held {
    is_stopped: AtomicBool,
    /// The run that goes on.
    run: Mutex<Option<Handle>>,
}

/// What a search tells while it goes on.
#[derive(Debug)]
pub enum FindNews<'a> {
    /// A probe begins: which of the search, and how often it was tried before.
    Probe {
        /// The search so far.
        search: &'a Search,
        /// What is carried out.
        plan: &'a ProbePlan,
        /// Attempts that the tester has spoilt.
        spoilt: u32,
    },
    /// Its cool-down is over, or there was none: what follows is of the probe itself.
    Loading,
    /// The run of a cool-down or a probe goes on.
    Run(News<'a>),
    /// The probe has been judged.
    Judged {
        /// What it showed.
        probe: &'a Probe,
        /// The turns that the search takes after it.
        turns: &'a [Turn],
    },
}

/// A search that has ended.
#[derive(Debug)]
pub struct Found {
    /// What is known.
    pub document: Document,
    /// Why the next probe could not be carried out.
    pub failure: Option<RunnerError>,
}

impl fmt::Debug for FindHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FindHandle").field("is_stopped", &self.is_stopped()).finish()
    }
}

impl FindHandle {
    /// Ends the search soon, with what is known. The probe that goes on counts for nothing.
    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::SeqCst);
        if let Some(run) = &*self.run() {
            run.stop();
        }
    }

    fn is_stopped(&self) -> bool {
        self.0.is_stopped.load(Ordering::SeqCst)
    }

    /// Takes hold of a run before it begins.
    fn hold(&self, run: Handle) {
        *self.run() = Some(run.clone());
        // What was stopped before it was held has to be stopped here.
        if self.is_stopped() {
            run.stop();
        }
    }

    fn run(&self) -> MutexGuard<'_, Option<Handle>> {
        self.0.run.lock().expect("no panic under the lock")
    }
}

/// The origin of a search that begins now.
///
/// # Errors
/// A gate of the plan that cannot be read.
pub fn origin(plan: &Plan) -> Result<Origin, RunnerError> {
    let blank = not_carried_out(&Scenarios::from(plan.clone()), "the search has not begun")?;
    let RunResult { tool, plan, started_at, environment, .. } = blank;
    Ok(Origin { tool, plan, started_at, environment })
}

/// How many intervals a probe takes to settle. They are left out of its figures and are no warm-up
/// of its run: requests that begin in them and end later count, so that a server is not taken to
/// fall behind by what was open when the measuring began.
fn settling(probe: &ProbePlan) -> usize {
    usize::try_from(probe.settle_ns.div_ceil(INTERVAL_NS)).unwrap_or(usize::MAX)
}

/// The draft of a plan with a constant rate for a time, from a seed.
fn at_rate(plan: &Draft, rate_rps: f64, duration_ns: u64, seed: u64) -> Draft {
    let arrival = plan.rate.as_ref().map_or(Arrival::Poisson, |profile| profile.arrival);
    let rate_uhz = (rate_rps * 1e6).round() as u64;
    Draft {
        rate: Some(Profile::constant(rate_uhz, Some(duration_ns), arrival)),
        duration_ns: Some(duration_ns),
        requests: None,
        warmup_ns: 0,
        seed,
        ..plan.clone()
    }
}

impl<'a> Finder<'a> {
    /// A search with what this plan sends. Its schedule is that of the probes; only its kind of
    /// arrivals counts.
    #[must_use]
    pub fn new(plan: &'a Plan, beside: Beside<'a>) -> Self {
        Self { plan, beside, handle: FindHandle::default() }
    }

    /// A hand on the search, for other threads.
    #[must_use]
    pub fn handle(&self) -> FindHandle {
        self.handle.clone()
    }

    /// Carries out the probes that a search asks for, until it has an answer or is stopped.
    pub fn run(
        mut self,
        mut search: Search,
        origin: Origin,
        on_news: &mut dyn FnMut(FindNews<'_>),
    ) -> Found {
        let mut failure = None;
        while let Next::Probe(plan) = search.next()
            && !self.handle.is_stopped()
        {
            let turned = search.turns().len();
            match self.probe(&search, &plan, on_news) {
                Ok(Some(report)) => search.told(report),
                Ok(None) => break,
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
            let turns = search.turns();
            let turns = turns.get(turned..).unwrap_or_default();
            let judged = search.probes().last().into_iter();
            judged.for_each(|probe| on_news(FindNews::Judged { probe, turns }));
        }
        Found { document: Document::of(&search, origin), failure }
    }

    /// Carries out a probe; `None` when it was stopped.
    fn probe(
        &mut self,
        search: &Search,
        plan: &ProbePlan,
        on_news: &mut dyn FnMut(FindNews<'_>),
    ) -> Result<Option<Report>, RunnerError> {
        let began_ns = clock::now_ns();
        let mut spoilt = 0;
        loop {
            on_news(FindNews::Probe { search, plan, spoilt });
            let spent_ns = clock::now_ns().saturating_sub(began_ns);
            let left_ns = search.left_ns().map(|left_ns| left_ns.saturating_sub(spent_ns));
            // What came before a further attempt may have been an overload.
            let cool_down_rps = plan.cool_down_rps.or_else(|| {
                (spoilt > 0 && !plan.purpose.follows_overload())
                    .then(|| search.lowest_passed_rps().min(plan.rate_rps))
            });
            let recovered = match cool_down_rps {
                Some(rate_rps) => {
                    let most_ns =
                        left_ns.map_or(u64::MAX, |left_ns| left_ns.saturating_sub(plan.needs_ns()));
                    self.cool_down(search, rate_rps, most_ns, on_news)?
                }
                None => true,
            };
            on_news(FindNews::Loading);
            let seed = self.seed(search.probes().len(), spoilt);
            let Some(report) = self.attempt(search, plan, seed, on_news)? else { return Ok(None) };
            let elapsed_ns = clock::now_ns().saturating_sub(began_ns);
            let report = Report { recovered, elapsed_ns, ..report };
            let judgement = search.preview(&report);
            spoilt += 1;
            let is_spoilt = judgement.is_some_and(|it| it.outcome == Outcome::NotMeasured);
            let again_ns = elapsed_ns.saturating_add(plan.again_ns());
            let fits = search.left_ns().is_none_or(|left_ns| again_ns <= left_ns);
            if !is_spoilt || spoilt == ATTEMPTS_MAX || !fits {
                return Ok(Some(report));
            }
        }
    }

    /// Carries out the load of a probe, until it has shown enough. `None` when it was stopped.
    fn attempt(
        &mut self,
        search: &Search,
        plan: &ProbePlan,
        seed: u64,
        on_news: &mut dyn FnMut(FindNews<'_>),
    ) -> Result<Option<Report>, RunnerError> {
        let settled = settling(plan);
        let duration_ns = (settled as u64 * INTERVAL_NS).saturating_add(plan.measure_ns);
        let draft = at_rate(self.plan, plan.rate_rps, duration_ns, seed);
        let draft = match search.settings().budget_ns {
            Some(_) => Draft { drain_ns: draft.drain_ns.min(DRAIN_NS_BUDGETED), ..draft },
            None => draft,
        };
        let objectives = search.objectives();
        let count = settled + plan.measure_ns.div_ceil(INTERVAL_NS) as usize;
        let due = draft.rate.as_ref().map(|rate| due_in(rate, seed, INTERVAL_NS, count));
        let due = due.unwrap_or_default();
        let mut figures = Figures::empty(INTERVAL_NS, objectives.len());
        let (mut intervals, mut ended_after) = (0, None);
        let mut watch = |point: &Point| {
            intervals += 1;
            // A longer series has longer intervals, and is measured to its end.
            if point.interval_ns != INTERVAL_NS || intervals <= settled {
                return false;
            }
            figures.add(objectives, point, due.get(intervals - 1).copied().unwrap_or(0));
            let is_enough = ended_after.is_none() && search.is_settled(&figures);
            if is_enough {
                ended_after = Some(figures.due.len());
            }
            is_enough
        };
        let mut on_run = |news: News<'_>| on_news(FindNews::Run(news));
        let Some(result) = self.load(draft, Some(&mut watch), &mut on_run)? else {
            return Ok(None);
        };
        Ok(Some(report(search, plan, seed, ended_after, &result)))
    }

    /// Each attempt has arrivals of its own.
    fn seed(&self, probe: usize, spoilt: u32) -> u64 {
        let attempts = probe as u64 * u64::from(ATTEMPTS_MAX) + u64::from(spoilt);
        self.plan.seed.wrapping_add(attempts)
    }

    /// Loads the server at a rate that it stands until it is as it was at that rate. Whether it
    /// came to that.
    fn cool_down(
        &mut self,
        search: &Search,
        rate_rps: f64,
        most_ns: u64,
        on_news: &mut dyn FnMut(FindNews<'_>),
    ) -> Result<bool, RunnerError> {
        let usual_ns = usual_p50_ns(search, rate_rps);
        let limit_ns = usual_ns.map_or(COOL_DOWN_NS_UNKNOWN, |_| COOL_DOWN_NS_MAX).min(most_ns);
        if limit_ns < INTERVAL_NS {
            return Ok(usual_ns.is_none());
        }
        let draft = at_rate(self.plan, rate_rps, limit_ns, self.plan.seed);
        let mut is_cool = usual_ns.is_none();
        let mut watch = |point: &Point| {
            let Some(usual_ns) = usual_ns else { return false };
            let p50_ns = point.response.unpack().quantile_ns(0.5);
            let most_ns = (COOL.0 * usual_ns).max(usual_ns + COOL.1);
            is_cool |= p50_ns.is_some_and(|p50_ns| p50_ns <= most_ns);
            is_cool
        };
        self.load(draft, Some(&mut watch), &mut |news| on_news(FindNews::Run(news)))?;
        Ok(is_cool)
    }

    /// Carries out a run; `None` when the search was stopped. `is_enough` ends it early.
    fn load(
        &mut self,
        draft: Draft,
        mut is_enough: Option<&mut dyn FnMut(&Point) -> bool>,
        on_run: &mut dyn FnMut(News<'_>),
    ) -> Result<Option<RunResult>, RunnerError> {
        let scenarios = Scenarios::from(draft.check()?);
        let runner = Runner::new(&scenarios, self.beside);
        // A server that was there once need not be waited for.
        self.beside.wait_ns = None;
        let run = runner.handle();
        self.handle.hold(run.clone());
        let ran = runner.run(&mut |news| {
            if let News::Interval(_, point) = &news
                && let Some(is_enough) = &mut is_enough
                && is_enough(point)
            {
                run.stop();
            }
            on_run(news);
        })?;
        Ok((!self.handle.is_stopped()).then_some(ran.result))
    }
}

/// The median at a rate, of the probe at it that passed.
fn usual_p50_ns(search: &Search, rate_rps: f64) -> Option<u64> {
    let is_it = |probe: &&Probe| {
        probe.judgement.outcome == Outcome::Pass
            && (probe.plan.rate_rps / rate_rps - 1.0).abs() < 1e-3
    };
    search.probes().iter().find(is_it)?.report.figures.as_ref()?.p50_ns
}

/// What of a result the search is told. The load ended after a number of measured intervals, or as
/// planned.
fn report(
    search: &Search,
    plan: &ProbePlan,
    seed: u64,
    ended_after: Option<usize>,
    result: &RunResult,
) -> Report {
    let objectives = search.objectives();
    let points = result.series.points();
    // A longer series has longer intervals.
    let interval_ns = points.first().map_or(INTERVAL_NS, |point| point.interval_ns).max(1);
    let settled = (settling(plan) as u64 * INTERVAL_NS).div_ceil(interval_ns) as usize;
    let planned = plan.measure_ns.div_ceil(interval_ns) as usize;
    let count = settled + ended_after.unwrap_or(planned).min(planned);
    let due = result.plan.rate.as_ref().map(|rate| due_in(rate, seed, interval_ns, count));
    let due = due.unwrap_or_default();
    let measured = (points.get(settled..), due.get(settled..));
    let (points, due) = (measured.0.unwrap_or_default(), measured.1.unwrap_or_default());
    let figures = Figures::of_points(objectives, points, due);
    let loader = &result.loader;
    let doubt = doubt(&loader.causes, &loader.lateness, objectives, &figures);
    let (tester, late) = doubt.map_or((None, None), |it| (Some(it.text), it.late));
    Report {
        figures: Some(figures),
        tester,
        late,
        connections: Some(connected(result)),
        server_cpus: result.target.as_ref().map(|usage| usage.cpu_percent_mean / 100.0),
        recovered: true,
        elapsed_ns: 0,
    }
}

/// How the requests of a run fared with its connections.
fn connected(result: &RunResult) -> Connected {
    Connected {
        limit: result.plan.connections_limit(),
        open_max: result.connections.open_max,
        blocked_p99_ns: result.phases[Phase::Blocked].quantile_ns(0.99),
        service_p50_ns: result.latency.service.quantile_ns(0.5),
    }
}

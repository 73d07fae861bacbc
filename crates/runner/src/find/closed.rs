//! A closed search, carried out: each probe is a closed loop with a number of connections.

use plimsoll_core::RunResult;
use plimsoll_core::find::{
    ClosedDocument, ClosedNext, ClosedPlan, ClosedProbe, ClosedSearch, ClosedTurn, Figures, Origin,
    Outcome, Report, doubt,
};
use plimsoll_core::plan::Draft;
use plimsoll_core::series::{INTERVAL_NS, Point};
use plimsoll_io::clock;

use super::{ATTEMPTS_MAX, Finder, connected};
use crate::error::RunnerError;
use crate::news::News;

/// What a closed search tells while it goes on.
#[derive(Debug)]
pub enum ClosedNews<'a> {
    /// A probe begins: which of the search, and how often it was tried before.
    Probe {
        /// The search so far.
        search: &'a ClosedSearch,
        /// What is carried out.
        plan: &'a ClosedPlan,
        /// Attempts that the tester has spoilt.
        spoilt: u32,
    },
    /// The run of a probe goes on.
    Run(News<'a>),
    /// The probe has been judged.
    Judged {
        /// What it showed.
        probe: &'a ClosedProbe,
        /// The turns that the search takes after it.
        turns: &'a [ClosedTurn],
    },
}

/// A closed search that has ended.
#[derive(Debug)]
pub struct FoundClosed {
    /// What is known.
    pub document: ClosedDocument,
    /// Why the next probe could not be carried out.
    pub failure: Option<RunnerError>,
}

impl Finder<'_> {
    /// Carries out the probes that a closed search asks for, until it has an answer or is stopped.
    pub fn run_closed(
        mut self,
        mut search: ClosedSearch,
        origin: Origin,
        on_news: &mut dyn FnMut(ClosedNews<'_>),
    ) -> FoundClosed {
        let mut failure = None;
        while let ClosedNext::Probe(plan) = search.next()
            && !self.handle.is_stopped()
        {
            let turned = search.turns().len();
            match self.closed_probe(&search, &plan, on_news) {
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
            judged.for_each(|probe| on_news(ClosedNews::Judged { probe, turns }));
        }
        FoundClosed { document: ClosedDocument::of(&search, origin), failure }
    }

    /// Carries out a probe; `None` when it was stopped.
    fn closed_probe(
        &mut self,
        search: &ClosedSearch,
        plan: &ClosedPlan,
        on_news: &mut dyn FnMut(ClosedNews<'_>),
    ) -> Result<Option<Report>, RunnerError> {
        let began_ns = clock::now_ns();
        let mut spoilt = 0;
        loop {
            on_news(ClosedNews::Probe { search, plan, spoilt });
            let seed = self.seed(search.probes().len(), spoilt);
            let draft = with_connections(self.plan, plan, seed);
            let draft = match search.settings().budget_ns {
                Some(_) => Draft { drain_ns: draft.drain_ns.min(search.drain_ns()), ..draft },
                None => draft,
            };
            let mut on_run = |news: News<'_>| on_news(ClosedNews::Run(news));
            let Some(result) = self.load(draft, None, &mut on_run)? else { return Ok(None) };
            let elapsed_ns = clock::now_ns().saturating_sub(began_ns);
            let report = Report { elapsed_ns, ..report(search, plan, &result) };
            let judgement = search.preview(&report);
            spoilt += 1;
            let is_spoilt = judgement.is_some_and(|it| it.outcome == Outcome::NotMeasured);
            let again_ns = elapsed_ns.saturating_add(plan.needs_ns());
            let fits = search.left_ns().is_none_or(|left_ns| again_ns <= left_ns);
            if !is_spoilt || spoilt == ATTEMPTS_MAX || !fits {
                return Ok(Some(report));
            }
        }
    }
}

/// How many intervals a probe takes to settle.
fn settling(probe: &ClosedPlan) -> u64 {
    probe.settle_ns.div_ceil(INTERVAL_NS)
}

/// The draft of a plan as a closed loop with a number of connections.
fn with_connections(plan: &Draft, probe: &ClosedPlan, seed: u64) -> Draft {
    let settle_ns = settling(probe).saturating_mul(INTERVAL_NS);
    Draft {
        rate: None,
        connections: probe.connections,
        connections_max: None,
        workers: plan.workers.min(probe.connections),
        duration_ns: Some(settle_ns.saturating_add(probe.measure_ns)),
        requests: None,
        warmup_ns: 0,
        seed,
        ..plan.clone()
    }
}

/// What of a result the search is told.
fn report(search: &ClosedSearch, plan: &ClosedPlan, result: &RunResult) -> Report {
    let objectives = search.objectives();
    let points = result.series.points();
    // A longer series has longer intervals.
    let interval_ns = points.first().map_or(INTERVAL_NS, |point| point.interval_ns).max(1);
    let settled = (settling(plan) * INTERVAL_NS).div_ceil(interval_ns) as usize;
    let count = plan.measure_ns.div_ceil(interval_ns) as usize;
    // What was asked for in the measured part may have come after it.
    let measured = points.get(settled..).unwrap_or_default();
    let ended = |point: &Point| {
        point.completed + point.refused + point.timed_out + point.broken + point.shed
    };
    // A closed loop asks for as much as it gets.
    let due: Vec<u64> = measured.iter().map(ended).collect();
    let mut figures = Figures::of_points(objectives, measured, &due);
    figures.end_after(count);
    // A closed loop also asked for what it never got.
    if let Some(last) = figures.due.last_mut() {
        *last += result.ledger.unfinished;
    }
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

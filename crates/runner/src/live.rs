//! Computes the live figures of a run, from what the engine tells once a second and from the orders
//! that were given meanwhile. All who show the run get them from here.

use plimsoll_core::live::{LiveFigures, RunPart};
use plimsoll_core::plan::Draft;
use plimsoll_core::scenario::{Scenario, Scenarios};
use plimsoll_core::schedule::Profile;
use plimsoll_engine::Progress;

/// The schedule of a scenario.
#[derive(Debug)]
struct Pace {
    /// When it begins, ns from the start of the measured part.
    start_ns: u64,
    /// For how long it lasts, where its plan says so.
    duration_ns: Option<u64>,
    profile: Profile,
}

/// What is known of a run that goes on.
#[derive(Debug)]
pub(crate) struct Live {
    /// The schedule of each scenario; `None` where one has no rate.
    paces: Option<Vec<Pace>>,
    /// When the load began.
    started_ns: Option<u64>,
    /// The rate set while it ran, in place of the plan's.
    rate_uhz: Option<u64>,
    /// Every scenario has started its last request.
    is_over: bool,
    /// As the last news left them.
    known: LiveFigures,
}

impl Live {
    pub(crate) fn new(scenarios: &Scenarios) -> Self {
        let paces = scenarios.list().iter().map(Pace::of).collect();
        Self { paces, ..Self::of(scenarios.run()) }
    }

    /// Of a run that has no rate of requests to aim at.
    pub(crate) fn of(run: &Draft) -> Self {
        let known = LiveFigures::new(run);
        Self { paces: None, started_ns: None, rate_uhz: None, is_over: false, known }
    }

    /// Takes news of the run.
    pub(crate) fn note(&mut self, progress: &Progress<'_>, now_ns: u64) {
        match progress {
            Progress::Started { open } => {
                self.started_ns = Some(now_ns);
                self.known.opened = Some(*open);
            }
            // A script has no connections before it sends.
            Progress::Measuring => {
                self.started_ns.get_or_insert(now_ns);
            }
            Progress::Interval(point) => self.known.add(point),
            Progress::Over => self.is_over = true,
        }
    }

    pub(crate) fn set_rate(&mut self, rate_uhz: u64) {
        self.rate_uhz = Some(rate_uhz);
    }

    pub(crate) fn set_connections(&mut self, connections: u32) {
        self.known.connections = connections;
    }

    /// The run at this moment.
    pub(crate) fn figures(&self, now_ns: u64) -> LiveFigures {
        let elapsed_ns = self.started_ns.map_or(0, |start_ns| now_ns.saturating_sub(start_ns));
        let part = self.part(elapsed_ns);
        let target_rps = self.target_rps(part, elapsed_ns);
        LiveFigures { part, elapsed_ns, target_rps, ..self.known.clone() }
    }

    fn part(&self, elapsed_ns: u64) -> RunPart {
        let planned = &self.known.planned;
        let measured_ns = elapsed_ns.saturating_sub(planned.warmup_ns);
        if self.started_ns.is_none() {
            RunPart::Opening
        } else if elapsed_ns < planned.warmup_ns {
            RunPart::WarmUp
        } else if self.is_over
            || planned.duration_ns.is_some_and(|duration_ns| measured_ns >= duration_ns)
            || planned.requests.is_some_and(|requests| self.known.ledger.sent >= requests)
        {
            RunPart::Draining
        } else {
            RunPart::Measuring
        }
    }

    /// The rate that is aimed at now; `None` in a closed loop and for lists of times.
    fn target_rps(&self, part: RunPart, elapsed_ns: u64) -> Option<f64> {
        let paces = self.paces.as_ref()?;
        let rate_uhz = match (part, self.rate_uhz) {
            (RunPart::Draining, _) => 0.0,
            (_, Some(rate_uhz)) => rate_uhz as f64,
            (_, None) => {
                let measured_ns = elapsed_ns.saturating_sub(self.known.planned.warmup_ns);
                paces.iter().map(|pace| pace.rate_uhz(measured_ns)).sum()
            }
        };
        Some(rate_uhz / 1e6)
    }
}

impl Pace {
    fn of(scenario: &Scenario) -> Option<Self> {
        let Scenario { start_ns, ref plan, .. } = *scenario;
        Some(Self { start_ns, duration_ns: plan.duration_ns, profile: plan.rate.clone()? })
    }

    /// The rate at a time of the run's measured part, µHz; 0 before the scenario and after it.
    fn rate_uhz(&self, time_ns: u64) -> f64 {
        let is_over = |own_ns: u64| self.duration_ns.is_some_and(|length_ns| own_ns >= length_ns);
        match time_ns.checked_sub(self.start_ns) {
            Some(own_ns) if !is_over(own_ns) => rate_at(&self.profile, own_ns),
            _ => 0.0,
        }
    }
}

/// The rate of a profile at a time after its start, µHz.
fn rate_at(profile: &Profile, time_ns: u64) -> f64 {
    let mut left_ns = time_ns;
    for stage in &profile.stages {
        let (from, to) = (stage.from_uhz as f64, stage.to_uhz as f64);
        match stage.duration_ns {
            Some(duration_ns) if left_ns >= duration_ns => left_ns -= duration_ns,
            Some(duration_ns) => return from + (to - from) * left_ns as f64 / duration_ns as f64,
            None => return from,
        }
    }
    profile.stages.last().map_or(0.0, |stage| stage.to_uhz as f64)
}

#[cfg(test)]
mod tests {
    use plimsoll_core::Histogram;
    use plimsoll_core::plan::Endpoint;
    use plimsoll_core::scenario::RunTerms;
    use plimsoll_core::schedule::{Arrival, Stage};
    use plimsoll_core::series::Point;

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn staged() -> Scenarios {
        let stage = |seconds, from_uhz, to_uhz| Stage {
            duration_ns: Some(seconds * SECOND_NS),
            from_uhz,
            to_uhz,
        };
        let stages = vec![stage(10, 100_000_000, 200_000_000), stage(10, 50_000_000, 50_000_000)];
        let plan = Draft {
            warmup_ns: 5 * SECOND_NS,
            duration_ns: Some(20 * SECOND_NS),
            rate: Some(Profile { stages, arrival: Arrival::Uniform }),
            ..Draft::new(Endpoint::http("::1", 80, "/"))
        };
        plan.check().unwrap().into()
    }

    fn point(t_s: u64) -> Point {
        let mut times = Histogram::new();
        times.record_n(1_000_000, 10);
        Point {
            t_ns: t_s * SECOND_NS,
            interval_ns: SECOND_NS,
            sent: 10,
            completed: 10,
            ok: 10,
            response: times.pack(),
            ..Point::default()
        }
    }

    #[test]
    fn figures_follow_the_run() {
        let mut live = Live::new(&staged());
        let before = live.figures(3 * SECOND_NS);
        assert_eq!((before.part, before.elapsed_ns, before.opened), (RunPart::Opening, 0, None));
        live.note(&Progress::Started { open: 49 }, 7 * SECOND_NS);
        for t_s in 0..2 {
            live.note(&Progress::Interval(&point(t_s)), 14 * SECOND_NS);
        }
        for (time_s, part, target_rps) in [
            (8, RunPart::WarmUp, 100.0),
            (12, RunPart::Measuring, 100.0),
            (17, RunPart::Measuring, 150.0),
            (22, RunPart::Measuring, 50.0),
            (33, RunPart::Draining, 0.0),
        ] {
            let figures = live.figures(time_s * SECOND_NS);
            assert_eq!((figures.part, figures.target_rps), (part, Some(target_rps)), "{time_s} s");
            assert_eq!(figures.elapsed_ns, (time_s - 7) * SECOND_NS);
        }
        let figures = live.figures(18 * SECOND_NS);
        assert_eq!((figures.opened, figures.ledger.completed), (Some(49), 20));
        assert_eq!(figures.last, Some(point(1)));
    }

    #[test]
    fn orders_change_what_is_aimed_at() {
        let mut live = Live::new(&staged());
        live.note(&Progress::Started { open: 50 }, 0);
        live.set_rate(7_000_000);
        live.set_connections(9);
        let figures = live.figures(6 * SECOND_NS);
        assert_eq!((figures.target_rps, figures.connections), (Some(7.0), 9));
        assert_eq!(live.figures(60 * SECOND_NS).target_rps, Some(0.0), "nothing is sent then");
    }

    #[test]
    fn a_run_of_a_number_of_requests_drains_once_all_were_sent() {
        let plan = Draft {
            requests: Some(20),
            duration_ns: None,
            ..Draft::new(Endpoint::http("::1", 80, "/"))
        };
        let mut live = Live::new(&plan.check().unwrap().into());
        live.note(&Progress::Started { open: 50 }, 0);
        for (t_s, part) in [(0, RunPart::Measuring), (1, RunPart::Draining)] {
            live.note(&Progress::Interval(&point(t_s)), SECOND_NS);
            let figures = live.figures(SECOND_NS);
            assert_eq!((figures.part, figures.target_rps), (part, None));
        }
    }

    #[test]
    fn rates_of_scenarios_add_up_while_they_last() {
        let of = |name: &str, start_s: u64, rps: u64, seconds: u64| {
            let duration_ns = Some(seconds * SECOND_NS);
            let rate = Profile::constant(rps * 1_000_000, duration_ns, Arrival::Uniform);
            let draft = Draft {
                duration_ns,
                rate: Some(rate),
                ..Draft::new(Endpoint::http("::1", 80, "/"))
            };
            let plan = draft.check().unwrap();
            Scenario { name: name.to_owned(), start_ns: start_s * SECOND_NS, plan }
        };
        let list = vec![of("a", 0, 50, 4), of("b", 2, 100, 4)];
        let scenarios = Scenarios::check(RunTerms::default(), list).unwrap();
        let mut live = Live::new(&scenarios);
        assert_eq!(live.figures(0).planned.duration_ns, Some(6 * SECOND_NS));
        live.note(&Progress::Started { open: 100 }, 0);
        for (time_s, part, target_rps) in [
            (1, RunPart::Measuring, 50.0),
            (3, RunPart::Measuring, 150.0),
            (5, RunPart::Measuring, 100.0),
            (6, RunPart::Draining, 0.0),
        ] {
            let figures = live.figures(time_s * SECOND_NS);
            assert_eq!((figures.part, figures.target_rps), (part, Some(target_rps)), "{time_s} s");
        }
    }
}

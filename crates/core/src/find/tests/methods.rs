//! Other methods of finding a rate, on the same servers, for the table in [`super::coverage`].

use super::simulation::Simulation;
use crate::find::Objective;

/// Nighthawk's adaptive stage: from 50/s upward by 2 while a probe of 10 s meets the threshold,
/// then bisection, until two loads differ by less than 1 %. The answer is the last load.
pub(super) fn nighthawk(simulation: &mut Simulation, objective: &Objective) -> f64 {
    let mut is_met = |rate_rps: f64| {
        let figures = simulation.measure(rate_rps, 0.0, 10, std::slice::from_ref(objective));
        let sums = &figures.objectives[0];
        let (among, against): (u64, u64) = (sums.among.iter().sum(), sums.against.iter().sum());
        simulation.now_s = simulation.now_s.max(simulation.server.idle_s());
        (against as f64) < objective.limit() * among as f64
    };
    let mut low_rps = 50.0;
    while is_met(low_rps * 2.0) && low_rps < 1e5 {
        low_rps *= 2.0;
    }
    let mut high_rps = low_rps * 2.0;
    while high_rps / low_rps > 1.01 {
        let middle_rps = (low_rps + high_rps) / 2.0;
        if is_met(middle_rps) { low_rps = middle_rps } else { high_rps = middle_rps }
    }
    (low_rps + high_rps) / 2.0
}

/// k6's breakpoint test: one ramp from 50/s to 2000/s in ten minutes, with a threshold over all
/// requests since the start that is evaluated every two seconds and ends the test. The answer is
/// the rate at that moment.
pub(super) fn breakpoint(simulation: &mut Simulation, objective: &Objective) -> f64 {
    let (mut among, mut against) = (0u64, 0u64);
    for step in 0..300 {
        let rate_rps = 50.0 + 1950.0 * f64::from(step) / 300.0;
        let figures = simulation.measure(rate_rps, 0.0, 2, std::slice::from_ref(objective));
        among += figures.objectives[0].among.iter().sum::<u64>();
        against += figures.objectives[0].against.iter().sum::<u64>();
        if step >= 5 && against as f64 >= objective.limit() * among as f64 {
            return rate_rps;
        }
    }
    2000.0
}

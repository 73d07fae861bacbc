//! The line that says what a scenario does, as k6 prints it before a run.

use plimsoll_core::schedule::ArrivalStage;

use super::{Executor, Scenario, VuPool};
use crate::duration;
use crate::k6::segment::Part;

fn print(ns: u64) -> String {
    duration::print(i64::try_from(ns).unwrap_or(i64::MAX))
}

/// Iterations per second, of a part of the run.
pub(in crate::k6) fn rate_hz(rate: f64, time_unit_ns: u64, part: &Part) -> f64 {
    rate * 1e9 / time_unit_ns as f64 * part.share
}

impl Scenario {
    /// What it does in a part of the run: `2 looping VUs for 10s (gracefulStop: 30s)`.
    #[must_use]
    pub fn describe(&self, part: &Part) -> String {
        let duration = print(self.regular_duration_ns());
        match &self.executor {
            Executor::SharedIterations { vus, iterations, .. } => format!(
                "{} iterations shared among {} VUs{}",
                part.weighted(*vus).scale(*iterations),
                part.scale(*vus),
                self.facts(&[format!("maxDuration: {duration}")])
            ),
            Executor::PerVuIterations { vus, iterations, .. } => format!(
                "{iterations} iterations for each of {} VUs{}",
                part.scale(*vus),
                self.facts(&[format!("maxDuration: {duration}")])
            ),
            Executor::ConstantVus { vus, .. } => {
                format!("{} looping VUs for {duration}{}", part.scale(*vus), self.facts(&[]))
            }
            Executor::RampingVus { ramp, graceful_ramp_down_ns } => {
                let targets = ramp.stages.iter().map(|stage| stage.target);
                let most = targets.fold(ramp.start, u64::max);
                format!(
                    "Up to {} looping VUs for {duration} over {} stages{}",
                    part.scale(most),
                    ramp.stages.len(),
                    self.facts(&[format!("gracefulRampDown: {}", print(*graceful_ramp_down_ns))])
                )
            }
            Executor::ConstantArrivalRate { rate, time_unit_ns, pool, .. } => format!(
                "{:.2} iterations/s for {duration}{}",
                rate_hz(*rate as f64, *time_unit_ns, part),
                self.facts(&[described(pool, part)])
            ),
            Executor::RampingArrivalRate { start_rate, stages, time_unit_ns, pool, .. } => format!(
                "Up to {:.2} iterations/s for {duration} over {} stages{}",
                rate_hz(peak(*start_rate, stages) as f64, *time_unit_ns, part),
                stages.len(),
                self.facts(&[described(pool, part)])
            ),
        }
    }

    /// What stands in brackets behind: own facts, then those that all scenarios may have.
    fn facts(&self, own: &[String]) -> String {
        let mut facts = own.to_vec();
        if let Some(exec) = &self.exec {
            facts.push(format!("exec: {exec}"));
        }
        if self.start_ns > 0 {
            facts.push(format!("startTime: {}", print(self.start_ns)));
        }
        if self.graceful_stop_ns > 0 {
            facts.push(format!("gracefulStop: {}", print(self.graceful_stop_ns)));
        }
        if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) }
    }
}

/// The highest rate, per unit of time.
pub(in crate::k6) fn peak(start: u64, stages: &[ArrivalStage]) -> u64 {
    stages.iter().map(|stage| stage.target).fold(start, u64::max)
}

fn described(pool: &VuPool, part: &Part) -> String {
    let VuPool { pre_allocated_vus, max_vus } = *pool;
    let more = if max_vus > pre_allocated_vus {
        format!("-{}", part.scale(max_vus))
    } else {
        String::new()
    };
    format!("maxVUs: {}{more}", part.scale(pre_allocated_vus))
}

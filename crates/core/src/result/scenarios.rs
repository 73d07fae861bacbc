//! A run of several scenarios: the whole result of each, and the run's result made of them. What
//! has times is shifted by when its scenario started.

use serde::{Deserialize, Serialize};

use super::{Cause, RunResult, Verdict};
use crate::plan::Draft;
use crate::throughput::Count;
use crate::verdict::NO_RESPONSES;

/// What happened in a scenario of a run. Its times are its own: 0 is when it started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Document")]
pub struct ScenarioResult {
    /// Its name.
    pub name: String,
    /// When its measured part began, from the start of the run's.
    #[serde(rename = "start_s", with = "crate::serde_units::from_ns")]
    pub start_ns: u64,
    /// Its result, as if it had been a run by itself.
    pub result: RunResult,
}

/// As it stands in a document: the series does not say there when its scenario started.
#[derive(Deserialize)]
struct Document {
    name: String,
    #[serde(rename = "start_s", with = "crate::serde_units::from_ns")]
    start_ns: u64,
    result: RunResult,
}

impl From<Document> for ScenarioResult {
    fn from(document: Document) -> Self {
        let Document { name, start_ns, mut result } = document;
        result.series = result.series.read_at(start_ns);
        Self { name, start_ns, result }
    }
}

impl ScenarioResult {
    /// Its result as a part of the run's: on the run's clock, without what is about its own server
    /// and schedule.
    fn of_run(&self) -> RunResult {
        let mut result = self.result.clone();
        let start_ns = self.start_ns;
        let later = |time_ns: &mut u64| *time_ns = time_ns.saturating_add(start_ns);
        // A scenario that did not begin before the run was stopped does not make the run longer.
        let moments =
            [&mut result.elapsed_ns, &mut result.rate.window_ns, &mut result.rate.answered_ns];
        moments.into_iter().filter(|time_ns| **time_ns > 0).for_each(later);
        result.rate.changes.iter_mut().for_each(|change| later(&mut change.at_ns));
        result.connections.changes.iter_mut().for_each(|change| later(&mut change.at_ns));
        result.loader.pauses.iter_mut().for_each(|pause| later(&mut pause.at_ns));
        result.details.first.iter_mut().for_each(|first| later(&mut first.at_ns));
        result.details.requests.iter_mut().for_each(|request| later(&mut request.start_ns));
        result.metrics.shift(start_ns);
        if result.was_carried_out() {
            result.loader.causes.iter_mut().for_each(|cause| self.name_cause(cause));
        } else {
            // That a scenario has no responses because the run ended first is no reason to doubt
            // the others.
            result.loader.verdict = Verdict::Valid;
            result.loader.causes = vec![Cause {
                verdict: Verdict::Valid,
                code: NO_RESPONSES.to_owned(),
                text: format!("note: scenario {}: the run ended before it began", self.name),
                touches: Vec::new(),
            }];
        }
        // Names of one scenario may mean another server's in the next.
        result.endpoints.clear();
        result.stages.clear();
        result.addresses.clear();
        result.series = Default::default();
        result
    }

    fn name_cause(&self, cause: &mut Cause) {
        cause.text = match cause.text.strip_prefix("note: ") {
            Some(text) => format!("note: scenario {}: {text}", self.name),
            None => format!("scenario {}: {}", self.name, cause.text),
        };
    }

    /// How many of something its schedule asked for, while its window lasted; `None` in a closed
    /// loop and for a list of times.
    fn asked(&self) -> Option<f64> {
        let profile = self.result.plan.rate.as_ref()?;
        Some(profile.expected_before(self.result.rate.window_ns))
    }
}

impl RunResult {
    /// The result of a run of several scenarios: counts, times and series of all of them, on the
    /// run's clock. `empty` says what belongs to no scenario: tool, plan, host, and when the run
    /// started.
    #[must_use]
    pub fn of_scenarios(empty: Self, scenarios: Vec<ScenarioResult>) -> Self {
        let mut run = empty;
        let started_at = run.started_at.clone();
        let mut rss_peak_bytes = run.loader.rss_peak_bytes;
        run.loader.workers = 0;
        for scenario in &scenarios {
            rss_peak_bytes = rss_peak_bytes.max(scenario.result.loader.rss_peak_bytes);
            run.merge(&scenario.of_run());
            run.series.merge_shifted(&scenario.result.series, scenario.start_ns);
        }
        if let Some(first) = scenarios.first() {
            run.loader.driver.clone_from(&first.result.loader.driver);
        }
        run.started_at = started_at;
        // One process has done it all.
        run.loader.rss_peak_bytes = rss_peak_bytes;
        run.count_responses(&scenarios);
        run.set_targets(&scenarios);
        run.scenarios = scenarios;
        run.refresh_rates();
        run
    }

    /// How many responses the rate is made of, and how many requests were due after its window. A
    /// scenario whose last response came within the run's window has all of its responses there,
    /// though some may have come after its own, and so have its requests.
    fn count_responses(&mut self, scenarios: &[ScenarioResult]) {
        let window_ns = self.rate.window_ns;
        let mut sum = Some(Count::default());
        self.rate.due_after = 0;
        for ScenarioResult { start_ns, result, .. } in scenarios {
            let (rate, ledger) = (&result.rate, &result.ledger);
            let is_within = start_ns.saturating_add(rate.answered_ns) <= window_ns;
            let ends_within = start_ns.saturating_add(result.elapsed_ns) <= window_ns;
            self.rate.due_after += if ends_within { 0 } else { rate.due_after };
            let own = rate.responses.zip(rate.good).map(|(all, ok)| Count { all, ok });
            let whole = Count { all: ledger.completed, ok: ledger.ok };
            let counted = if is_within { Some(whole) } else { own };
            sum = sum.zip(counted).map(|(mut sum, more)| {
                sum.merge(more);
                sum
            });
        }
        self.rate.responses = sum.map(|sum| sum.all);
        self.rate.good = sum.map(|sum| sum.ok);
    }

    /// What all schedules asked for over the run's window, if each has a target.
    fn set_targets(&mut self, scenarios: &[ScenarioResult]) {
        let window_ns = self.rate.window_ns;
        let sum = |scenarios: &mut dyn Iterator<Item = &ScenarioResult>| {
            let asked = scenarios.map(ScenarioResult::asked).sum::<Option<f64>>();
            asked.filter(|_| window_ns > 0).map(|asked| asked * 1e9 / window_ns as f64)
        };
        let has_target = |it: &ScenarioResult| it.result.rate.target_rps.is_some();
        self.rate.target_rps =
            sum(&mut scenarios.iter()).filter(|_| scenarios.iter().all(has_target));
        if let Some(iterations) = &mut self.iterations {
            let mut counted = scenarios.iter().filter(|it| it.result.iterations.is_some());
            iterations.target_per_second = sum(&mut counted);
        }
    }

    /// The first scenario that began and got no response, though nobody told it to stop before.
    #[must_use]
    pub fn unanswered_scenario(&self) -> Option<&ScenarioResult> {
        let is_silent = |result: &Self| result.was_carried_out() && result.is_unanswered();
        self.scenarios.iter().find(|scenario| is_silent(&scenario.result))
    }

    /// The result of a scenario, by its name.
    #[must_use]
    pub fn scenario(&self, name: &str) -> Option<&ScenarioResult> {
        self.scenarios.iter().find(|scenario| scenario.name == name)
    }

    /// Whether requests were due at times set in advance: those of every scenario, where there are
    /// several.
    #[must_use]
    pub fn is_open_loop(&self) -> bool {
        let is_open = |plan: &Draft| plan.is_open_loop();
        match self.scenarios.as_slice() {
            [] => is_open(&self.plan),
            scenarios => scenarios.iter().all(|scenario| is_open(&scenario.result.plan)),
        }
    }

    /// How many requests failed, of how many: all that were due and are not ok, and in a closed
    /// loop the times that a user could send none. This is what `errors` means in gates, in outputs
    /// and in reports.
    #[must_use]
    pub fn failures(&self) -> (u64, u64) {
        let due = self.ledger.scheduled + self.failed_attempts();
        (due.saturating_sub(self.ledger.ok), due)
    }

    /// Times that a user of a closed loop could not reach the server. At a rate the request that
    /// was due is itself in the ledger.
    pub(crate) fn failed_attempts(&self) -> u64 {
        match self.scenarios.as_slice() {
            [] if self.plan.is_open_loop() => 0,
            [] => self.outage.unwrap_or_default().failed_attempts,
            scenarios => scenarios.iter().map(|it| it.result.failed_attempts()).sum(),
        }
    }
}

/// Adds scenarios of the same names; those that are new come behind.
pub(super) fn merge(scenarios: &mut Vec<ScenarioResult>, more: &[ScenarioResult]) {
    for scenario in more {
        match scenarios.iter_mut().find(|known| known.name == scenario.name) {
            Some(known) => known.result.merge(&scenario.result),
            None => scenarios.push(scenario.clone()),
        }
    }
}

#[cfg(test)]
mod tests;

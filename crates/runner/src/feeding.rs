//! What a run tells its outputs, and when on the wall clock it happened.
//!
//! Times are those of the run's own intervals from the start of the measured part, so that figures
//! of an interval have the time of its end whenever they were told. An interval that the end of the
//! run cut short has ended by now: receivers do not show what lies in the future.

use std::time::SystemTime;

use plimsoll_core::RunResult;
use plimsoll_core::live::LiveFigures;
use plimsoll_core::scenario::{Scenario, Scenarios};
use plimsoll_core::schedule::Stage;
use plimsoll_core::units::format_duration;
use plimsoll_io::clock;
use plimsoll_outputs::{Feed, Timetable};

/// A run's end of a feed.
#[derive(Debug)]
pub(crate) struct Feeding<'a> {
    feed: Option<&'a Feed>,
    timetable: Timetable,
    /// When the measured part began, ns since 1970.
    began_ns: u64,
}

impl<'a> Feeding<'a> {
    /// The timetable is what the plan says.
    pub(crate) fn new(feed: Option<&'a Feed>, timetable: Timetable) -> Self {
        Self { feed, timetable, began_ns: 0 }
    }

    /// The measured part begins.
    pub(crate) fn began(&mut self) {
        self.began_ns = wall_ns();
        if let Some(feed) = self.feed {
            feed.began(self.began_ns, &self.timetable);
        }
    }

    /// An interval is over, the last of these figures.
    pub(crate) fn interval(&self, figures: &LiveFigures) {
        if let (Some(feed), Some(point)) = (self.feed, &figures.last) {
            let end_ns = self.began_ns + point.t_ns + point.interval_ns;
            feed.interval(end_ns.min(wall_ns()), figures);
        }
    }

    /// The run has ended, if it began.
    pub(crate) fn ended(&self, result: &RunResult) {
        if let Some(feed) = self.feed.filter(|_| self.began_ns > 0) {
            feed.ended(self.began_ns + result.elapsed_ns, result);
        }
    }
}

/// What begins when in a run: its warm-up, its scenarios and the stages of their rates.
pub(crate) fn timetable(scenarios: &Scenarios) -> Timetable {
    let stages = scenarios.list().iter().flat_map(stages);
    Timetable::new(scenarios.run().warmup_ns, stages.collect::<Vec<_>>())
}

/// The stages of a scenario, in words, by when they begin. In a closed loop it has one, and only if
/// it has a name there is something to say of it.
fn stages(scenario: &Scenario) -> Vec<(u64, String)> {
    let Scenario { name, start_ns, plan } = scenario;
    let Some(profile) = &plan.rate else {
        return if name.is_empty() { Vec::new() } else { vec![(*start_ns, name.clone())] };
    };
    let prefix = if name.is_empty() { String::new() } else { format!("{name}: ") };
    let mut at_ns = *start_ns;
    let words = |stage: &Stage| {
        let length_ns = stage.duration_ns.or(plan.duration_ns);
        let length = length_ns.map(|ns| format!(" for {}", format_duration(ns)));
        let words = format!("{prefix}{}{}", stage.words(), length.unwrap_or_default());
        let begins_ns = at_ns;
        at_ns = at_ns.saturating_add(stage.duration_ns.unwrap_or(0));
        (begins_ns, words)
    };
    profile.stages.iter().map(words).collect()
}

/// The wall clock, ns since 1970.
fn wall_ns() -> u64 {
    let since = clock::wall_time().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use plimsoll_core::plan::{Draft, Endpoint};
    use plimsoll_core::scenario::RunTerms;
    use plimsoll_core::schedule::{Arrival, Profile, parse_stages};

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn scenario(name: &str, start_s: u64, stages: Option<&str>) -> Scenario {
        let rate = stages
            .map(|text| Profile { stages: parse_stages(text).unwrap(), arrival: Arrival::Uniform });
        let duration_ns = rate.as_ref().map_or(Some(SECOND_NS), Profile::duration_ns);
        let draft = Draft { duration_ns, rate, ..Draft::new(Endpoint::http("a", 80, "/")) };
        Scenario {
            name: name.to_owned(),
            start_ns: start_s * SECOND_NS,
            plan: draft.check().unwrap(),
        }
    }

    #[test]
    fn the_stages_of_a_plan_begin_one_after_another() {
        let of = |stages| timetable(&scenario("", 0, stages).plan.into());
        let text = |at_s: u64, words: &str| (at_s * SECOND_NS, words.to_owned());
        assert_eq!(of(None), Timetable::new(0, []));
        assert_eq!(of(Some("5s@10")), Timetable::new(0, [text(0, "10.0/s for 5s")]));
        let want = [text(0, "100/s for 2s"), text(2, "100 to 500/s for 3s")];
        assert_eq!(of(Some("2s@100,3s@100..500")), Timetable::new(0, want));
    }

    #[test]
    fn scenarios_begin_with_their_names() {
        let list = vec![scenario("slow", 0, Some("4s@100")), scenario("loop", 2, None)];
        let scenarios = Scenarios::check(RunTerms::default(), list).unwrap();
        let text = |at_s: u64, words: &str| (at_s * SECOND_NS, words.to_owned());
        let want = [text(0, "slow: 100/s for 4s"), text(2, "loop")];
        assert_eq!(timetable(&scenarios), Timetable::new(0, want));
    }
}

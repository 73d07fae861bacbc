//! Two searches side by side: is the load line higher, lower, or is it too close to tell?
//!
//! A search leaves two claims: a rate that meets the objectives, and a higher one that does not. So
//! the line lies between them. One line is above another if the rate that meets the objectives on
//! the one side does not meet them on the other, or is higher still than one that does not. Both
//! claims it takes may be wrong with a chance of α each, so the decision may be with a chance of
//! 2α.

use serde::{Deserialize, Serialize};

use super::answer::{Doubt, Ending};
use super::document::Document;
use crate::comparison::{differences, of_load};

/// The schema's name and version.
pub const CONTRAST_SCHEMA: &str = "plimsoll/find-comparison/1";

/// What two searches show about the new load line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It is higher.
    Higher,
    /// It is lower.
    Lower,
    /// The two may be the same.
    Unclear,
}

/// One of the two searches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContrastSide {
    /// Where it was read from.
    pub name: String,
    /// How it ended.
    pub ending: Ending,
    /// The rate shown to meet the objectives.
    pub rate_rps: Option<f64>,
    /// The lowest rate shown not to meet them.
    pub fails_rps: Option<f64>,
    /// Why it shows nothing, in a few words; null where it does.
    pub weakness: Option<String>,
}

/// The comparison of two searches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchContrast {
    /// [`CONTRAST_SCHEMA`].
    pub schema: String,
    /// What is compared with.
    pub base: ContrastSide,
    /// What may be higher or lower.
    pub new: ContrastSide,
    /// What is shown.
    pub direction: Direction,
    /// How far the rates that were shown differ: 0.1 is a tenth more. Null where one is missing.
    pub change: Option<f64>,
    /// The chance, at most, of a direction that is wrong.
    pub alpha: f64,
    /// In what the searches differ beside the server.
    pub differences: Vec<String>,
}

impl SearchContrast {
    /// Compares two searches, named by where they were read from.
    #[must_use]
    pub fn of((base_name, base): (&str, &Document), (new_name, new): (&str, &Document)) -> Self {
        let (base_side, new_side) = (side(base_name, base), side(new_name, new));
        let is_weak = base_side.weakness.is_some() || new_side.weakness.is_some();
        let is_above = |one: &ContrastSide, other: &ContrastSide| {
            let ends = one.rate_rps.zip(other.fails_rps);
            !is_weak && ends.is_some_and(|(rate_rps, fails_rps)| rate_rps >= fails_rps)
        };
        let direction = if is_above(&new_side, &base_side) {
            Direction::Higher
        } else if is_above(&base_side, &new_side) {
            Direction::Lower
        } else {
            Direction::Unclear
        };
        let rates = new_side.rate_rps.zip(base_side.rate_rps);
        Self {
            schema: CONTRAST_SCHEMA.to_owned(),
            direction,
            change: rates.map(|(new_rps, base_rps)| new_rps / base_rps - 1.0),
            alpha: base.settings.alpha() + new.settings.alpha(),
            differences: unlike(base, new),
            base: base_side,
            new: new_side,
        }
    }

    /// Whether the rate that is shown has fallen by more than this part, 0 to 1. If a side has no
    /// rate, it counts as fallen.
    #[must_use]
    pub fn has_fallen_by(&self, part: f64) -> bool {
        match (self.direction, self.change) {
            (Direction::Lower, Some(change)) => change < -part,
            (_, Some(_)) => false,
            (_, None) => true,
        }
    }
}

fn side(name: &str, found: &Document) -> ContrastSide {
    let answer = &found.answer;
    let weakness = if answer.doubts.contains(&Doubt::ChangedWhileMeasured) {
        Some("the server changed while it was measured")
    } else if answer.doubts.contains(&Doubt::NotConfirmed) {
        Some("the rate was measured again, and that hold did not show it")
    } else if answer.doubts.contains(&Doubt::StallsUndecided) {
        Some("the rate is not shown with the stalls of the server")
    } else if answer.ending == Ending::Guessed {
        Some("quick probes show nothing")
    } else if answer.rate_rps.is_none() && answer.fails_rps.is_none() {
        Some("no rate was shown to meet the objectives or to miss them")
    } else {
        None
    };
    ContrastSide {
        name: name.to_owned(),
        ending: answer.ending,
        rate_rps: answer.rate_rps,
        fails_rps: answer.fails_rps,
        weakness: weakness.map(str::to_owned),
    }
}

/// In what two searches differ beside the server.
fn unlike(base: &Document, new: &Document) -> Vec<String> {
    let facts = |it: &Document| {
        let mut facts = of_load(&it.plan, &it.environment, &it.tool);
        let settings = &it.settings;
        // The first rate and the bounds of a search lead to the same line.
        let own = [
            ("objectives", it.objectives.join(", ")),
            ("confidence", settings.confidence.to_string()),
            ("hold", format!("{} s", settings.hold_ns / 1_000_000_000)),
            ("sustain", format!("{} s", settings.sustain_ns / 1_000_000_000)),
        ];
        facts.extend(own.map(|(name, text)| (name.to_owned(), text)));
        let arrival = it.plan.rate.as_ref().map(|rate| format!("{:?}", rate.arrival));
        facts.insert("arrivals".to_owned(), arrival.unwrap_or_default().to_lowercase());
        facts
    };
    differences(&facts(base), &facts(new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::find::{Objective, Origin, Search, Settings};
    use crate::plan::{Draft, Endpoint};
    use crate::result::Tool;

    fn document(rate_rps: Option<f64>, fails_rps: Option<f64>, host: &str) -> Document {
        let objectives = vec![Objective::parse("p99<10ms").unwrap()];
        let search = Search::new(Settings::default(), objectives).unwrap();
        let tool = Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() };
        let plan = Draft::new(Endpoint::http(host, 80, "/")).record();
        let (started_at, environment) = (String::new(), Environment::default());
        let mut found = Document::of(&search, Origin { tool, plan, started_at, environment });
        (found.answer.ending, found.answer.rate_rps) = (Ending::Found, rate_rps);
        found.answer.fails_rps = fails_rps;
        found
    }

    #[test]
    fn lines_that_do_not_overlap_differ() {
        use Direction::{Higher, Lower, Unclear};
        let (some, none) = (Some::<f64>, None);
        for (base, new, want) in [
            ((some(100.0), some(110.0)), (some(120.0), some(130.0)), Higher),
            ((some(100.0), some(110.0)), (some(110.0), none), Higher),
            ((some(100.0), some(110.0)), (some(109.0), some(120.0)), Unclear),
            ((some(120.0), some(130.0)), (some(100.0), some(110.0)), Lower),
            ((some(120.0), none), (none, some(10.0)), Lower),
            ((some(120.0), none), (some(150.0), none), Unclear),
            ((none, none), (some(100.0), some(110.0)), Unclear),
        ] {
            let (base, new) = (document(base.0, base.1, "a"), document(new.0, new.1, "b"));
            let found = SearchContrast::of(("a", &base), ("b", &new));
            assert_eq!(found.direction, want, "{found:?}");
            let back = SearchContrast::of(("b", &new), ("a", &base)).direction;
            let turned = match want {
                Higher => Lower,
                Lower => Higher,
                Unclear => Unclear,
            };
            assert_eq!(back, turned);
            assert!((found.alpha - 0.1).abs() < 1e-9 && found.differences.is_empty(), "{found:?}");
        }
    }

    #[test]
    fn what_shows_nothing_decides_nothing() {
        let base = document(Some(100.0), Some(110.0), "a");
        let mut guessed = document(Some(200.0), None, "a");
        guessed.answer.ending = Ending::Guessed;
        let mut changed = document(Some(200.0), Some(210.0), "a");
        changed.answer.doubts.push(Doubt::ChangedWhileMeasured);
        for new in [guessed, changed, document(None, None, "a")] {
            let found = SearchContrast::of(("a", &base), ("b", &new));
            assert_eq!(found.direction, Direction::Unclear);
            assert!(found.new.weakness.is_some() && found.base.weakness.is_none(), "{found:?}");
        }
    }

    #[test]
    fn a_fall_is_one_that_was_shown() {
        let base = document(Some(100.0), Some(110.0), "a");
        for (rate_rps, fails_rps, want) in [
            (Some(80.0), Some(90.0), true),
            (Some(96.0), Some(99.0), false),
            (Some(80.0), Some(105.0), false),
            (Some(120.0), Some(130.0), false),
            (None, Some(10.0), true),
        ] {
            let new = document(rate_rps, fails_rps, "b");
            let found = SearchContrast::of(("a", &base), ("b", &new));
            assert_eq!(found.has_fallen_by(0.05), want, "{found:?}");
        }
    }

    #[test]
    fn searches_for_something_else_are_not_alike() {
        let base = document(Some(100.0), None, "a");
        let mut new = document(Some(100.0), None, "b");
        new.objectives = vec!["p99<20ms".to_owned()];
        new.settings.hold_ns *= 2;
        new.plan.connections = 7;
        let found = SearchContrast::of(("a", &base), ("b", &new));
        let all = found.differences.join("; ");
        for part in
            ["objectives p99<10ms and p99<20ms", "hold 60 s and 120 s", "connections 50 and 7"]
        {
            assert!(all.contains(part), "{all}");
        }
        assert_eq!(found.differences.len(), 3, "{all}");
    }
}

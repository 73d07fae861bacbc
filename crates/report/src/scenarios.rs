//! The scenarios of a run, a row each: what every view shows of them. The whole result of each is
//! in the result document.

use plimsoll_core::RunResult;
use plimsoll_core::doubt::Figure;
use plimsoll_core::result::ScenarioResult;
use plimsoll_core::units::{format_count, format_duration};

use crate::Clock;
use crate::answer::without_rate;
use crate::facts::Tail;
use crate::tail;

/// What stands above the columns behind the name.
pub(crate) const HEAD: [&str; 7] =
    ["start", "scheduled", "responses/s", "not ok", "p50", "p99", "confidence"];

/// A row of cells for each scenario, its name first; none in a plain run.
pub(crate) fn rows(result: &RunResult) -> Vec<Vec<String>> {
    result.scenarios.iter().map(row).collect()
}

fn row(scenario: &ScenarioResult) -> Vec<String> {
    let ScenarioResult { name, start_ns, result } = scenario;
    vec![
        name.clone(),
        format_duration(*start_ns),
        format_count(result.ledger.scheduled),
        rate_cell(result),
        format_count(result.ledger.scheduled.saturating_sub(result.ledger.ok)),
        Tail::of_run(Clock::HEADLINE, result, 5000).words(),
        Tail::of_run(Clock::HEADLINE, result, 9900).words(),
        result.loader.verdict.name().to_owned(),
    ]
}

fn rate_cell(result: &RunResult) -> String {
    match without_rate(result) {
        Some(_) => "n/a".to_owned(),
        None => tail::rate(Figure::Achieved, result, result.rate.achieved_rps),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::plan::{Draft, Endpoint};

    use super::*;
    use crate::samples;

    /// A run of a sample and of one that starts later.
    fn run() -> RunResult {
        let scenario = |name: &str, start_ns, result| ScenarioResult {
            name: name.to_owned(),
            start_ns,
            result,
        };
        let (first, second) = (samples::stall(), samples::steady());
        let plan = Draft::new(Endpoint { scheme: String::new(), ..Endpoint::http("", 0, "") });
        let empty = RunResult::empty(first.tool.clone(), &plan);
        let list = vec![scenario("api", 0, first), scenario("batch", 2_500_000_000, second)];
        RunResult::of_scenarios(empty, list)
    }

    #[test]
    fn every_view_has_the_scenarios_and_calls_no_plan_the_run_s() {
        type View = fn(&RunResult, &mut dyn std::io::Write) -> std::io::Result<()>;
        let text: View =
            |result, out| crate::text::write(result, out, crate::text::Style::default());
        let run = run();
        let rows = rows(&run);
        assert_eq!((rows[0][0].as_str(), rows[1][0].as_str()), ("api", "batch"));
        assert_eq!((rows[1][1].as_str(), rows[1].len()), ("2500ms", HEAD.len() + 1));
        for view in
            [text, crate::markdown::write, crate::markdown::write_summary, crate::html::write]
        {
            let mut bytes = Vec::new();
            view(&run, &mut bytes).expect("memory takes it");
            let shown = String::from_utf8(bytes).expect("text");
            assert!(shown.contains("2 scenarios: api, batch"), "{shown}");
            assert!(rows.iter().flatten().all(|cell| shown.contains(cell.as_str())), "{shown}");
            for lie in ["127.0.0.1", "closed loop", "://"] {
                // A page has script and style of its own.
                let is_ours = shown.contains("<script") && lie == "://";
                assert!(is_ours || !shown.contains(lie), "{lie}: {shown}");
            }
        }
    }

    #[test]
    fn a_plain_run_has_no_such_table() {
        assert_eq!(rows(&samples::stall()), Vec::<Vec<String>>::new());
    }
}

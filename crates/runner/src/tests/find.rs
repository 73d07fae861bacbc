//! Searches against a server of their own: what a probe is, what it leaves, and what ends a search.

use plimsoll_core::Plan;
use plimsoll_core::find::{Doubt, Ending, Objective, Outcome, Search, Settings};
use plimsoll_core::plan::Draft;
use plimsoll_core::schedule::{Arrival, Profile};

use super::{SECOND_NS, server};
use crate::find::{FindNews, Finder, origin};
use crate::{Beside, RunnerError};

/// A search by quick probes of a second, up to a rate that any server stands.
fn search() -> Search {
    let settings = Settings {
        from_rps: 100.0,
        max_rps: 200.0,
        settle_ns: SECOND_NS,
        quick_ns: SECOND_NS,
        is_quick_only: true,
        ..Settings::default()
    };
    let objectives = ["p99<5s", "errors<1%"].map(|text| Objective::parse(text).unwrap());
    Search::new(settings, objectives.to_vec()).unwrap()
}

fn plan(draft: Draft) -> Plan {
    let rate = Some(Profile::constant(100_000_000, Some(SECOND_NS), Arrival::Uniform));
    Draft { rate, connections: 4, workers: 1, ..draft }.check().unwrap()
}

#[test]
fn a_probe_is_a_run_whose_first_intervals_do_not_count() {
    let (_server, endpoint) = server();
    let plan = plan(Draft::new(endpoint));
    let mut words = Vec::new();
    let origin = origin(&plan).unwrap();
    let found = Finder::new(&plan, Beside::default()).run(search(), origin, &mut |news| {
        words.push(match news {
            FindNews::Probe { spoilt: 0, .. } => "probe",
            FindNews::Probe { .. } => "again",
            FindNews::Loading => "loading",
            FindNews::Judged { .. } => "judged",
            FindNews::Run(_) => return,
        });
    });
    assert!(found.failure.is_none(), "{:?}", found.failure);
    let document = found.document;
    assert_eq!((document.answer.ending, document.answer.rate_rps), (Ending::Guessed, Some(200.0)));
    assert_eq!(document.answer.doubts, [Doubt::QuickProbesOnly]);
    let rates: Vec<f64> = document.probes.iter().map(|probe| probe.plan.rate_rps).collect();
    assert_eq!(rates, [100.0, 200.0]);
    for probe in &document.probes {
        assert_eq!(probe.judgement.outcome, Outcome::Pass, "{probe:?}");
        let figures = probe.report.figures.as_ref().expect("it was measured");
        // A second of even arrivals, and not the second before it.
        assert_eq!(figures.due, [probe.plan.rate_rps as u64]);
        assert!(figures.are_whole(2) && figures.p50_ns.is_some(), "{figures:?}");
    }
    words.retain(|word| *word != "again");
    let once = ["probe", "loading", "judged"];
    words.dedup();
    assert!(words.starts_with(&once) && words.ends_with(&once), "{words:?}");
}

#[test]
fn a_search_that_was_stopped_before_has_no_probe() {
    let (_server, endpoint) = server();
    let plan = plan(Draft::new(endpoint));
    let finder = Finder::new(&plan, Beside::default());
    finder.handle().stop();
    let found = finder.run(search(), origin(&plan).unwrap(), &mut |_| {});
    assert!(found.failure.is_none() && found.document.probes.is_empty());
    assert_eq!(found.document.answer.ending, Ending::Stopped);
}

#[test]
fn a_search_ends_with_its_server() {
    let (server, endpoint) = server();
    let plan = plan(Draft::new(endpoint));
    let mut server = Some(server);
    let finder = Finder::new(&plan, Beside::default());
    let found = finder.run(search(), origin(&plan).unwrap(), &mut |news| {
        if let FindNews::Judged { .. } = news {
            drop(server.take());
        }
    });
    assert!(matches!(found.failure, Some(RunnerError::Run(_))), "{:?}", found.failure);
    assert_eq!(found.document.probes.len(), 1, "what was measured stays");
    assert_eq!(found.document.answer.ending, Ending::Stopped);
}

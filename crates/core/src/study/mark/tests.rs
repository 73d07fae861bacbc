//! Which figures of a run are in doubt, and what that does to a case.

use super::*;
use crate::confidence::conclude;
use crate::doubt::{Off, Reach, Touch};
use crate::plan::{Draft, Endpoint};
use crate::study::tests::case;
use crate::study::*;

const MS: u64 = 1_000_000;

/// 10 000 requests of 10 ms, of which 1.1 % took 50 ms, with a cause that touches figures.
fn disturbed(touches: Vec<Touch>) -> CaseRun {
    let tool = Tool { name: "plimsoll".to_owned(), version: "0".to_owned() };
    let mut run = RunResult::empty(tool, &Draft::new(Endpoint::http("a", 80, "/")));
    let times = [(10 * MS, 9_890), (50 * MS, 110)];
    run.ledger.scheduled = 10_000;
    run.ledger.sent = 10_000;
    run.ledger.completed = 10_000;
    run.ledger.ok = 10_000;
    times.iter().for_each(|(ns, count)| run.latency.response.record_n(*ns, *count));
    run.latency.service = run.latency.response.clone();
    run.rate.achieved_rps = 1000.0;
    let mut usage = Usage { window_ns: 1_000_000_000, cpu_user_ns: 500, ..Usage::default() };
    usage.refresh();
    run.target = Some(usage);
    let cause = Cause { touches, ..Cause::new(Verdict::Invalid, "late", String::new()) };
    (run.loader.verdict, run.loader.causes) = conclude(vec![cause], &run);
    CaseRun::of(&run, 1)
}

#[test]
fn doubt_takes_the_figures_that_it_touches_and_no_others() {
    use Figure::{Achieved, Counts, Response, Server, Service};
    use Mark::{About, AtLeast, AtMost};
    let names =
        ["rate", "p50", "p99", "service.p99", "max", "errors", "cpu", "p99/p50", "rate/p99"];
    let none = [None; 9];
    for (touches, want) in [
        (vec![], none),
        // As many requests took as long as the slowest one.
        (vec![Touch::below(Response, Reach::requests(0.0005))], none),
        (vec![Touch::below(Response, Reach::requests(0.002))], {
            let mut want = none;
            want[2] = Some(AtMost);
            (want[7], want[8]) = (Some(AtMost), Some(AtLeast));
            want
        }),
        (vec![Touch::below(Response, Reach::requests(0.02))], {
            let mut want = none;
            (want[2], want[4]) = (Some(AtMost), Some(AtMost));
            (want[7], want[8]) = (Some(AtMost), Some(AtLeast));
            want
        }),
        (vec![Touch::either(Service, Reach::Any)], {
            let mut want = none;
            want[3] = Some(About);
            want
        }),
        (vec![Touch::above(Achieved, Reach::share(0.2))], {
            let mut want = none;
            (want[0], want[8]) = (Some(AtLeast), Some(AtLeast));
            want
        }),
        (vec![Touch::above(Achieved, Reach::share(0.04))], none),
        (vec![Touch::below(Counts, Reach::share(0.1)), Touch::either(Server, Reach::Any)], {
            let mut want = none;
            (want[5], want[6]) = (Some(AtMost), Some(About));
            want
        }),
        // 100 µs and a tenth of the value do not matter.
        (vec![Touch::below(Response, Reach::Requests(vec![Off::new(MS / 2, 0.0)]))], none),
    ] {
        let run = disturbed(touches.clone());
        for (name, want) in names.iter().zip(want) {
            let column: Column = name.parse().unwrap();
            assert!(column.of(&run).is_some() || *name == "cpu", "{name}");
            assert_eq!(column.mark(&run), want, "{name}: {touches:?}");
            assert_eq!(column.counts(&run), want.is_none(), "{name}: {touches:?}");
        }
        let json = serde_json::to_string(&run).unwrap();
        assert_eq!(serde_json::from_str::<CaseRun>(&json).unwrap(), run, "{touches:?}");
    }
}

#[test]
fn causes_of_earlier_versions_take_all_but_the_counts_or_nothing() {
    for (verdict, counts, held) in [
        (Verdict::Invalid, false, true),
        (Verdict::Suspect, true, true),
        (Verdict::Valid, true, true),
    ] {
        let mut case = case("a", &[5.0]);
        let run = &mut case.runs[0];
        run.verdict = Some(verdict);
        run.causes = vec![Cause::new(verdict, "cpu", String::new())];
        for (name, want) in [
            ("rate", counts),
            ("p50", counts),
            ("rss", counts),
            ("errors", held),
            ("tester_cpu", held),
        ] {
            let column: Column = name.parse().unwrap();
            assert_eq!(column.counts(run), want, "{name} {verdict:?}");
        }
        assert_eq!(run.is_whole(), counts, "{verdict:?}");
        assert_eq!(run.why_left_out().is_none(), counts, "{verdict:?}");
    }
}

/// Where a figure counts in some repeats, these make the cell; else the doubtful ones, marked.
#[test]
fn a_cell_is_of_the_repeats_in_which_it_counts() {
    let rate: Column = "rate".parse().unwrap();
    let doubtful = |rates: &[f64], doubtful: &[usize]| {
        let mut case = case("a", rates);
        for at in doubtful {
            let touches = vec![Touch::above(Figure::Achieved, Reach::Any)];
            let cause = Cause { touches, ..Cause::new(Verdict::Suspect, "cpu", String::new()) };
            case.runs[*at].causes = vec![cause];
            case.runs[*at].verdict = Some(Verdict::Suspect);
        }
        case
    };
    for (places, median, mark) in
        [(&[][..], 2.0, None), (&[2], 1.5, None), (&[0, 1, 2], 2.0, Some(Mark::AtLeast))]
    {
        let case = doubtful(&[1.0, 2.0, 3.0], places);
        let shown = case.shown(&rate).unwrap();
        assert_eq!((shown.middle.median, shown.mark), (median, mark), "{places:?}");
        assert_eq!(shown.counts, mark.is_none());
        assert_eq!(case.middle(&rate).is_some(), mark.is_none(), "{places:?}");
        assert_eq!(case.is_in_doubt(Measure::Rate), mark.is_some(), "{places:?}");
        assert_eq!(case.values(Measure::Latency(0.5)).len(), 3, "times are not touched");
        assert_eq!(case.runs.iter().filter(|run| run.has_leading_figure()).count(), 3);
    }
}

/// A lower bound is shown with its mark, and counts.
#[test]
fn lower_bounds_have_the_mark_of_what_may_be_higher() {
    let mut case = case("a", &[4.0]);
    case.runs[0].figures.latency[0].is_lower_bound = true;
    let shown = case.shown(&"p50".parse().unwrap()).unwrap();
    assert_eq!((shown.mark, shown.counts), (Some(Mark::AtLeast), true));
    assert_eq!(Mark::AtMost.and(Mark::AtLeast), Mark::About);
}

/// Of another tester only some percentiles are known.
#[test]
fn percentiles_alone_bound_what_doubt_can_have_done() {
    let latency = [(0.5, 0.010), (0.9, 0.011), (0.99, 0.2)];
    for (below, above, want) in [
        (0.0, 0.0, [None; 3]),
        (0.1, 0.0, [Some(Mark::AtMost), None, Some(Mark::AtMost)]),
        (0.5, 0.0, [Some(Mark::AtMost); 3]),
        (0.0, 0.0001, [None, None, Some(Mark::AtLeast)]),
        (0.0, 0.02, [None, Some(Mark::AtLeast), Some(Mark::AtLeast)]),
    ] {
        let latency = latency.iter().map(|(q, s)| Quantile::known(*q, *s)).collect();
        let mut figures = Figures { latency, ..Figures::default() };
        let touches = vec![
            Touch::below(Figure::Response, Reach::requests(below)),
            Touch::above(Figure::Response, Reach::requests(above)),
        ];
        figures.mark(&[Cause { touches, ..Cause::new(Verdict::Suspect, "steal", String::new()) }]);
        let found: Vec<Option<Mark>> = figures.latency.iter().map(|it| it.doubt).collect();
        assert_eq!(found, want, "{below} {above}");
    }
}

/// Runs with too few samples for a percentile in the first lines are valid, and studies show it.
#[test]
fn doubt_has_a_reason_where_only_a_note_touches_a_figure() {
    let mut run = disturbed(vec![Touch::below(Figure::Service, Reach::requests(0.02))]);
    run.verdict = Some(Verdict::Valid);
    run.causes[0].verdict = Verdict::Valid;
    let why = run.why_not_counted(Measure::Service(0.99)).expect("it is in doubt");
    assert_eq!(why, format!("in doubt: {}", reason("late").expect("a known cause")));
    assert_eq!(run.why_not_counted(Measure::Latency(0.99)), None);
}

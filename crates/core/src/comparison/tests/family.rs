//! Measures that are decided together: which they are, that equal sides are called different in one
//! case of twenty at most, that their intervals hold together, and what is found.

use rand_core::{Rng, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::comparison::noise::{Noise, Shape};
use crate::comparison::*;
use crate::doubt::{Figure, Reach, Touch};
use crate::study::{Better, Case, CaseRun, Figures, Mark, Measure, Quantile, Study};
use crate::usage::Usage;
use crate::verdict::{Cause, Verdict};

const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// How far apart the runs of a family lie.
#[derive(Clone, Copy)]
struct Spread {
    shape: Shape,
    /// Of the rate, the four percentiles and CPU per request.
    deviations: [f64; 6],
    /// Whether one run is slow in everything, as a busy host makes it, or each figure by itself.
    is_shared: bool,
}

const QUIET: [f64; 6] = [0.01, 0.002, 0.005, 0.05, 0.2, 0.01];

impl Spread {
    /// The factors of each figure of a number of runs.
    fn runs(self, n: usize, random: &mut impl Rng) -> Vec<[f64; 6]> {
        let shared = Noise::new(self.shape, 1.0).values(n, random);
        let own: Vec<Vec<f64>> =
            (0..6).map(|_| Noise::new(self.shape, 1.0).values(n, random)).collect();
        (0..n)
            .map(|run| {
                std::array::from_fn(|figure| {
                    let z = if self.is_shared { shared[run] } else { own[figure][run] };
                    (z * self.deviations[figure]).exp()
                })
            })
            .collect()
    }
}

/// A run at 50/s of a server that takes `service_s`; the tail is ten times as long.
fn run(service_s: f64, [rate, p50, p90, p99, p999, cpu]: [f64; 6]) -> CaseRun {
    let latency = QUANTILES.into_iter().zip([p50, p90 * 1.02, p99 * 1.2, p999 * 10.0]);
    CaseRun {
        figures: Figures {
            rate_rps: Some(50.0 * rate),
            completed: Some(100_000),
            failed: Some(0),
            latency: latency.map(|(q, by)| Quantile::known(q, service_s * by)).collect(),
            ..Figures::default()
        },
        server: Some(Usage { cpu_ns: (1e12 * cpu) as u64, ..Usage::default() }),
        verdict: Some(Verdict::Valid),
        ..CaseRun::default()
    }
}

fn case(service_s: f64, runs: &[[f64; 6]]) -> Case {
    let runs = runs.iter().map(|factors| run(service_s, *factors)).collect();
    Case { runs, ..Case::default() }
}

fn compared(base: &Case, new: &Case) -> CaseContrast {
    let study = |case: &Case| Study { cases: vec![case.clone()], ..Study::empty("x") };
    let [base, new] = [base, new].map(|case| {
        let mut side = Side::of_study("side", &study(case));
        side.cases[0].is_paced = true;
        side
    });
    super::documents::contrast(&base, &new).cases.remove(0)
}

fn names(measures: &[&MeasureContrast]) -> Vec<String> {
    measures.iter().map(|it| it.measure.to_string()).collect()
}

/// The share of equal pairs in which any measure of the family is called, and that of those in
/// which every interval holds the truth.
fn of_equal_sides(spread: Spread, [n, m]: [usize; 2], pairs: u32) -> (f64, f64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(n as u64);
    let (mut called, mut held) = (0, 0);
    for _ in 0..pairs {
        let [base, new] = [n, m].map(|n| case(0.02, &spread.runs(n, &mut random)));
        let found = compared(&base, &new);
        let family = found.family();
        assert_eq!(family.len(), 6);
        let is_called = |it: &&&MeasureContrast| it.comparison.decision != Decision::CannotTell;
        called += u32::from(family.iter().any(|it| is_called(&it)));
        let holds = |it: &&MeasureContrast| {
            let interval = it.comparison.interval.expect("enough repeats");
            interval.low <= 1.0 && 1.0 <= interval.high
        };
        held += u32::from(family.iter().all(holds));
        for it in family {
            let found = &it.comparison;
            let (p, together) = (found.p.unwrap(), found.p_together.unwrap());
            assert!(p <= together && (found.decision == Decision::CannotTell || together <= 0.051));
        }
    }
    (f64::from(called) / f64::from(pairs), f64::from(held) / f64::from(pairs))
}

/// Six measures, and one case of twenty in which any is called. Six by themselves would be called
/// in one of four.
#[test]
fn equal_sides_are_called_different_in_one_case_of_twenty_over_the_whole_family() {
    const PAIRS: u32 = 400;
    let error = (0.05 * 0.95 / f64::from(PAIRS)).sqrt();
    let shapes = [Shape::Normal, Shape::HeavyTails, Shape::Skewed, Shape::Outliers, Shape::Tied];
    for shape in shapes {
        for (is_shared, deviations) in [(false, QUIET), (true, QUIET), (false, [0.05; 6])] {
            for repeats in [[4, 4], [5, 5], [8, 8], [10, 5]] {
                let spread = Spread { shape, deviations, is_shared };
                let (called, held) = of_equal_sides(spread, repeats, PAIRS);
                let cell = format!("{shape:?} {repeats:?} shared {is_shared} {deviations:?}");
                assert!(called <= 0.05 + 3.0 * error, "{cell}: called {called}");
                assert!(held >= 0.95 - 3.0 * error, "{cell}: held {held}");
            }
        }
    }
}

/// The case of a server of 20 ms and one of 21 ms: five repeats each tell it for the p50, however
/// little they tell of the tail.
#[test]
fn a_server_of_21_ms_is_slower_than_one_of_20_ms() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut found_in = 0;
    for _ in 0..200 {
        let spread = Spread { shape: Shape::HeavyTails, deviations: QUIET, is_shared: false };
        let [base, new] = [0.02, 0.021].map(|s| case(s, &spread.runs(5, &mut random)));
        let found = compared(&base, &new);
        let p50 = found.of_measure(Measure::Latency(0.5)).expect("it was measured");
        let is_found = p50.comparison.decision == Decision::Worse;
        found_in += u32::from(is_found);
        if is_found {
            assert!(matches!(found.decision, CaseDecision::Worse | CaseDecision::Mixed));
            let interval = p50.comparison.interval.expect("five repeats");
            assert!(interval.low >= 1.0 && interval.confidence > 0.99, "{interval:?}");
        }
    }
    assert!(found_in >= 198, "{found_in} of 200");
}

#[test]
fn the_family_is_what_both_sides_report_in_its_order() {
    let ones = [[1.0; 6]; 5];
    let full = case(0.02, &ones);
    let without = |change: fn(&mut CaseRun)| {
        let mut case = full.clone();
        case.runs.iter_mut().for_each(change);
        case
    };
    let no_cpu = without(|run| run.server = None);
    let few_quantiles = without(|run| run.figures.latency.truncate(2));
    let means = without(|run| {
        run.figures.latency.clear();
        run.figures.mean_s = Some(0.02);
    });
    let all = ["rate", "p50", "p90", "p99", "p99.9", "cpu_per_request"];
    for (base, new, want) in [
        (&full, &full, &all[..]),
        (&no_cpu, &full, &all[..5]),
        (&full, &few_quantiles, &["rate", "p50", "p90", "cpu_per_request"]),
        (&means, &means, &["rate", "mean", "cpu_per_request"]),
    ] {
        let found = compared(base, new);
        assert_eq!(names(&found.family()), want);
        assert_eq!(found.decision, CaseDecision::Alike, "{found:?}");
        let all: Vec<String> = names(&found.measures());
        assert_eq!(all[want.len()], "errors", "failures follow: {all:?}");
        assert_eq!(all.len(), found.others.len() + 1);
    }
}

/// Runs in doubt lose the measures that the doubt reaches, and the others still tell.
#[test]
fn runs_whose_tails_are_in_doubt_count_for_the_other_measures() {
    let late = |case: &mut Case| {
        for run in &mut case.runs[1..] {
            run.verdict = Some(Verdict::Invalid);
            let touches = vec![Touch::below(Figure::Response, Reach::Any)];
            let cause = Cause::new(Verdict::Invalid, "late", String::new());
            run.causes = vec![Cause { touches, ..cause }];
            run.figures.latency.iter_mut().for_each(|it| it.doubt = Some(Mark::AtMost));
        }
    };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let spread = Spread { shape: Shape::Normal, deviations: [0.002; 6], is_shared: false };
    let base = case(0.02, &spread.runs(5, &mut random));
    let mut slower: Vec<[f64; 6]> = spread.runs(5, &mut random);
    slower.iter_mut().for_each(|factors| factors[0] *= 0.9);
    let mut new = case(0.02, &slower);
    late(&mut new);
    let found = compared(&base, &new);
    let rate = found.of_measure(Measure::Rate).expect("it was measured");
    assert_eq!(rate.comparison.decision, Decision::Worse, "{rate:?}");
    let p99 = found.of_measure(Measure::Latency(0.99)).expect("it was measured");
    assert_eq!(p99.comparison.reason, Some(Reason::TooFewRepeats));
    assert_eq!(found.decision, CaseDecision::Worse);
    let want =
        "new: 4 of 5 runs do not count for p50, p90, p99, p99.9: in doubt: this host was busy";
    assert_eq!(found.notes, [want]);
}

#[test]
fn measures_that_go_both_ways_are_mixed() {
    let base = case(0.02, &[[1.0; 6], [1.001; 6], [0.999; 6], [1.002; 6], [0.998; 6]]);
    let with = |by: [f64; 6]| {
        let mut case = base.clone();
        for (run, noise) in case.runs.iter_mut().zip([1.0, 1.001, 0.999, 1.002, 0.998]) {
            *run = self::run(0.02, by.map(|by| by * noise));
        }
        case
    };
    for (by, want) in [
        ([1.0; 6], CaseDecision::Alike),
        ([1.0, 1.1, 1.0, 1.0, 1.0, 1.0], CaseDecision::Worse),
        ([1.1, 0.9, 1.0, 1.0, 1.0, 0.8], CaseDecision::Better),
        ([1.0, 0.9, 1.0, 1.2, 1.0, 1.0], CaseDecision::Mixed),
        ([1.0, 1.0, 1.0, 1.0, 1.0, 0.9], CaseDecision::Better),
    ] {
        let found = compared(&base, &with(by));
        assert_eq!(found.decision, want, "{by:?}: {found:?}");
        assert_eq!(found.headline.measure.to_string(), "p99", "at a rate");
        let text = serde_json::to_string(&found).expect("a document");
        let read: CaseContrast = serde_json::from_str(&text).expect("what was written");
        assert_eq!((read.decision, names(&read.family())), (want, names(&found.family())));
    }
}

/// A difference below the least change is the same, and one that noise may hide is not.
#[test]
fn alike_is_more_than_not_told_apart() {
    let options = DecisionOptions::ratio(Better::Lower);
    let values = |by: f64, noise: f64| -> Vec<f64> {
        [0.0, 1.0, -1.0, 0.5, -0.5].map(|z| by * (1.0 + noise * z)).to_vec()
    };
    for (by, noise, is_alike) in [
        (1.0, 0.001, true),
        (1.004, 0.001, true),
        (1.0095, 0.001, false),
        (1.0, 0.02, false),
        (1.05, 0.001, false),
    ] {
        let found = compare(&values(1.0, noise), &values(by, noise), &options);
        assert_eq!(found.is_alike, is_alike, "{by} {noise}: {found:?}");
        assert!(!(found.is_alike && found.decision != Decision::CannotTell));
    }
}

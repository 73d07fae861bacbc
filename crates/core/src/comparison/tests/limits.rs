//! Limits on the change: how they are read, and what they make of two sides.

use rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::documents::{failing, side};
use super::studies::study;
use crate::comparison::noise::{Noise, Shape};
use crate::comparison::*;
use crate::result::Tool;
use crate::study::{Case, CaseRun, Figures, Quantile};

#[test]
fn limits_are_read_or_refused_with_what_to_write() {
    for text in ["p99>+10%", " rate < -5 % ", "errors>+1%", "service.p50>+0.5%", "rss>+0%"] {
        assert!(Limit::parse(text).is_ok(), "{text}");
    }
    for (text, says) in [
        ("", "p99>+10%"),
        ("p99", "p99>+10%"),
        ("p99>10%", "p99>+10%"),
        ("p99>+10", "p99>+10%"),
        ("p99>-10%", "p99>+10%"),
        ("p99<+10%", "p99>+10%"),
        ("p99>+1e3%", "p99>+10%"),
        ("p99>+inf%", "p99>+10%"),
        ("p99>+%", "p99>+10%"),
        ("p99>+1%<-1%", "p99>+10%"),
        ("speed>+1%", "'speed' is not a measure: there are rate"),
        ("rps>+1%", "'rps' is not a measure: did you mean 'rate'?"),
        ("pp99>+1%", "'pp99' is not a measure: did you mean 'p99'?"),
        ("rate<-100%", "100 %"),
        ("p99>+99999999999%", "100 %"),
    ] {
        let error = Limit::parse(text).unwrap_err().to_string();
        assert!(error.contains(says) && !error.contains('\n'), "{text}: {error}");
    }
}

#[test]
fn limits_are_kept_broken_or_undecided_by_where_the_true_change_lies() {
    use Outcome::{Failed, Passed, Undecided};
    let steady = [1000, 1010, 990, 1005, 995];
    let rough = [1000, 1500, 700, 1200, 900];
    let by = |services_us: &[u64], percent: u64| -> Vec<u64> {
        services_us.iter().map(|us| us * percent / 100).collect()
    };
    let hides = Some("the noise hides on which side");
    for (limit, base, new, outcome, note) in [
        ("p99>+10%", &steady[..], by(&steady, 120), Failed, None),
        ("p99>+10%", &steady, by(&steady, 105), Passed, None),
        ("p99>+10%", &steady, by(&steady, 80), Passed, None),
        // Beyond the limit as measured, and perhaps within it; and the other way.
        ("p99>+5%", &steady, by(&steady, 106), Undecided, hides),
        ("p99>+5%", &steady, by(&steady, 104), Undecided, hides),
        ("rate<-10%", &steady, by(&steady, 120), Failed, None),
        ("rate<-10%", &steady, by(&steady, 105), Passed, None),
        ("rate>+10%", &steady, by(&steady, 80), Failed, None),
        // A rise of a fifth that the noise hides is no reason to pass.
        ("p99>+10%", &rough, by(&rough, 120), Undecided, hides),
        ("p99>+200%", &rough, by(&rough, 120), Passed, None),
        ("p99>+10%", &steady[..1], by(&steady[..1], 200), Undecided, Some("it takes 4 repeats")),
        ("rss>+10%", &steady, by(&steady, 100), Undecided, Some("rss was not measured")),
        ("errors>+1%", &steady, by(&steady, 120), Passed, None),
        // Below the least change of the others, because the limit says so.
        ("p50>+0.2%", &[100_000; 5], vec![100_500; 5], Failed, None),
        ("p50>+2%", &[100_000; 5], vec![100_500; 5], Passed, None),
    ] {
        let read = Limit::parse(limit).unwrap();
        let tool = Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() };
        let (base, new) = (side("base", 0, base), side("new", 1, &new));
        let found = Contrast::of(&base, &new, Settings::default(), &[read], tool);
        let judged = &found.limits[0];
        assert_eq!((judged.outcome, found.outcome()), (outcome, outcome), "{limit}: {judged:?}");
        assert_eq!((judged.pass, judged.expr.as_str()), (outcome == Passed, limit));
        match (note, &judged.note) {
            (Some(want), Some(got)) => assert!(got.contains(want), "{limit}: {got}"),
            (want, got) => assert_eq!(got.as_deref(), want, "{limit}"),
        }
    }
}

#[test]
fn a_broken_limit_outweighs_one_that_cannot_be_decided() {
    let (base, new) = (side("base", 0, &[1000; 5]), side("new", 1, &[1200; 5]));
    let outcome = |limits: &[&str]| {
        let limits: Vec<Limit> = limits.iter().map(|it| Limit::parse(it).unwrap()).collect();
        let tool = Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() };
        Contrast::of(&base, &new, Settings::default(), &limits, tool).outcome()
    };
    for (limits, want) in [
        (&[][..], Outcome::Passed),
        (&["p99>+50%"], Outcome::Passed),
        (&["p99>+50%", "rss>+1%"], Outcome::Undecided),
        (&["rss>+1%", "p99>+10%", "p99>+50%"], Outcome::Failed),
    ] {
        assert_eq!(outcome(limits), want, "{limits:?}");
    }
}

/// Where the true change lies just beyond a limit, or just within it, one limit of twenty at most
/// is answered wrongly, whatever the shape of the noise.
#[test]
fn limits_are_answered_wrongly_in_one_case_of_twenty_at_most() {
    const PAIRS: u32 = 1000;
    let at_most = 0.05 + 3.0 * (0.05 * 0.95 / f64::from(PAIRS)).sqrt();
    let limit = Limit::parse("p50>+5%").unwrap();
    for (repeats, shape) in [
        (4, Shape::Normal),
        (5, Shape::Normal),
        (5, Shape::Skewed),
        (5, Shape::Outliers),
        (10, Shape::HeavyTails),
    ] {
        let noise = Noise::new(shape, 0.02);
        for (by, wrong) in [(1.0501, Outcome::Passed), (1.0499, Outcome::Failed)] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(repeats as u64);
            let mut answered = 0;
            for _ in 0..PAIRS {
                let (base, new) = noise.interleaved(repeats, &mut random);
                let [base, new] = [(base, 1.0), (new, by)].map(|(noise, by)| {
                    let run = |noise: &f64| CaseRun {
                        figures: Figures {
                            latency: vec![Quantile::known(0.5, 0.02 * by * noise.exp())],
                            ..Figures::default()
                        },
                        ..CaseRun::default()
                    };
                    let runs = noise.iter().map(run).collect();
                    SideCase { is_paced: true, case: Case { runs, ..Case::default() } }
                });
                let judged = limit.judge(&base, &new, &Settings::default());
                answered += u32::from(judged.outcome == wrong);
            }
            let share = f64::from(answered) / f64::from(PAIRS);
            assert!(share <= at_most, "{repeats} {shape:?} {by}: {share}");
        }
    }
}

/// A limit looks at every case of the base: one that is gone has not kept it.
#[test]
fn a_case_that_the_new_side_does_not_have_keeps_no_limit() {
    let base = Side::of_study("base", &study("wrk", "wrk {url}", &["few", "many"], 1.0));
    let new = Side::of_study("new", &study("wrk", "wrk {url}", &["many"], 1.0));
    let tool = Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() };
    let limit = Limit::parse("p99>+10%").unwrap();
    let found = Contrast::of(&base, &new, Settings::default(), &[limit], tool);
    let judged: Vec<_> = found.limits.iter().map(|it| (it.load.as_str(), it.outcome)).collect();
    assert_eq!(judged, [("few", Outcome::Undecided), ("many", Outcome::Passed)]);
    assert_eq!(found.limits[0].note.as_deref(), Some("the new side does not have this case"));
}

/// Runs that are left out are no secret.
#[test]
fn a_limit_says_how_many_runs_had_no_say() {
    let mut broken = study("wrk", "wrk {url}", &["few"], 1.0);
    broken.cases[0].runs[0].failure = Some("the server ended".to_owned());
    let runs = broken.cases[0].runs.len();
    let base = Side::of_study("base", &study("wrk", "wrk {url}", &["few"], 1.0));
    let new = Side::of_study("new", &broken);
    let judged = Limit::parse("p99>+10%").unwrap().judge(
        &base.cases[0],
        &new.cases[0],
        &Settings::default(),
    );
    let want = format!("new: 1 of {runs} runs have no p99 that counts");
    assert!(judged.note.as_ref().is_some_and(|note| note.contains(&want)), "{judged:?}");
}

/// Success comes first: a failed answer is not a fast one.
#[test]
fn limits_on_speed_are_broken_by_failures() {
    let good = || failing("base", 0, 1000, [0; 5]);
    for (limit, base, new, pass, said) in [
        ("rate<-5%", good(), failing("new", 1, 15, [1000; 5]), false, true),
        ("p99>+10%", good(), failing("new", 1, 15, [1000; 5]), false, true),
        ("p99>+10%", good(), failing("new", 1, 500, [0, 0, 30, 0, 20]), false, true),
        ("p99>+10%", good(), failing("new", 1, 1000, [0, 0, 1, 0, 0]), true, false),
        ("p99>+10%", failing("base", 0, 1000, [1000; 5]), good(), true, true),
        ("errors>+1%", good(), failing("new", 1, 15, [1000; 5]), false, false),
    ] {
        let judged =
            Limit::parse(limit).unwrap().judge(&base.cases[0], &new.cases[0], &Settings::default());
        assert_eq!(judged.pass, pass, "{limit}: {judged:?}");
        let is_said = judged.note.is_some_and(|note| note.contains("success comes first"));
        assert_eq!(is_said, said, "{limit}");
    }
}

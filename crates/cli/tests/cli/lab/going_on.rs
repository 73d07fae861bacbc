//! Continuing a study.

use std::fs;

use super::{FLAKY, Suite, serve};

#[test]
fn a_study_goes_on_where_it_was() {
    let suite = Suite::of("repeats = 2", &[("a", &serve(""))]);
    assert_eq!(suite.run(&["--only", "a/few"]).code, Some(0));
    assert_eq!(suite.runs("a", "few").len(), 2);
    let before = suite.runs("a", "few");
    let again = suite.run(&[]);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("--continue"), "{again:?}");
    let finished = suite.run(&["--continue"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(!finished.stderr.contains("a few"), "made again: {}", finished.stderr);
    assert_eq!(finished.stderr.matches("a more").count(), 2, "{}", finished.stderr);
    assert_eq!((suite.runs("a", "few"), suite.runs("a", "more").len()), (before, 2));
    // Asking for less takes nothing away.
    assert_eq!(suite.run(&["--continue", "--only", "a/more", "--repeats", "1"]).code, Some(0));
    assert_eq!((suite.runs("a", "few").len(), suite.runs("a", "more").len()), (2, 2));
    let positions: std::collections::BTreeSet<u64> =
        [suite.runs("a", "few"), suite.runs("a", "more")]
            .concat()
            .iter()
            .map(|run| run["position"].as_u64().expect("a place"))
            .collect();
    assert_eq!(positions.len(), 4, "each run has a place of its own");
}

/// A repeat of which a part was measured earlier is not in turns, and the study says so.
#[test]
fn what_was_not_measured_in_turns_is_said() {
    let suite = Suite::of("repeats = 2", &[("a", &serve("")), ("b", &serve(""))]);
    let first = suite.run(&["--only", "a"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let second = suite.run(&["--continue"]);
    assert_eq!(second.code, Some(0), "{second:?}");
    for (server, resumed) in [("a", 0), ("b", 1)] {
        for run in [suite.runs(server, "few"), suite.runs(server, "more")].concat() {
            assert_eq!(run["resumed"], resumed, "{server}");
        }
    }
    let before = "4 of 8 runs are there\nwarning: in repeats 1, 2 the cases no longer take turns, \
                  because a part of them was";
    assert!(second.stderr.contains(before), "{}", second.stderr);
    let note =
        "- all: measured in 2 goes (--continue): in repeats 1–2 the cases did not take turns";
    assert!(second.stdout.contains(note), "{}", second.stdout);
    assert!(!first.stdout.contains("take turns"), "{}", first.stdout);
    // More repeats are each measured as a whole.
    let third = suite.run(&["--continue", "--repeats", "3"]);
    assert_eq!(third.code, Some(0), "{third:?}");
    assert!(third.stderr.contains("8 of 12 runs are there\n"), "{}", third.stderr);
    assert!(!third.stderr.contains("take turns"), "{}", third.stderr);
    let note =
        "- all: measured in 3 goes (--continue): in repeats 1–2 the cases did not take turns";
    assert!(third.stdout.contains(note), "{}", third.stdout);
    let nothing = suite.run(&["--continue"]);
    assert_eq!(nothing.code, Some(0), "{nothing:?}");
    assert!(!nothing.stderr.contains("check "), "nothing is to be tried: {}", nothing.stderr);
}

/// What is not asked for again stays in the study: its versions, and what failed.
#[test]
fn going_on_with_a_part_leaves_the_rest_as_it_was() {
    let good = serve("version = 'echo a-1'");
    let broken = format!("{FLAKY}\nversion = 'echo b-1'");
    let suite = Suite::of("repeats = 1", &[("a", &good), ("b", &broken)]);
    assert_eq!(suite.run(&["--seed", "7"]).code, Some(1));
    let finished = suite.run(&["--continue", "--only", "a"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let study = suite.study();
    assert_eq!((&study["seed"], &study["servers"][1]["version"]), (&7.into(), &"b-1".into()));
    assert!(suite.runs("b", "few")[0]["failure"].is_string(), "{study}");
    let finished = suite.run(&["--continue"]);
    assert_eq!(finished.code, Some(1), "what failed is tried again, and fails: {finished:?}");
    assert!(finished.stderr.contains("check b: FAILED: the server ended"), "{finished:?}");
    assert_eq!((suite.runs("b", "few").len(), suite.study()), (1, study));
    fs::remove_file(suite.path().join(".work/b/was")).expect("the reason");
    let finished = suite.run(&["--continue"]);
    assert_eq!(finished.code, Some(1), "it is made again, and fails: {finished:?}");
    assert_eq!(suite.runs("b", "few").len(), 1);
    let finished = suite.run(&["--continue", "--seed", "8"]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("was drawn from 7"), "{finished:?}");
}

//! A file of the wrong kind: the message says of what kind it is, and which command takes it.

use std::fs;

use tempfile::TempDir;

use crate::support::{plimsoll, run};

const SUITE: &str =
    "name = 's'\n\n[[servers]]\nname = 'a'\ncommand = 'x'\n\n[[loads]]\nname = 'l'\n";
const TARGETS: &str = "[[target]]\npath = '/'\nweigth = 2\n";

/// The message of a call in a folder with one file of each kind.
fn said(arguments: &[&str]) -> String {
    let folder = TempDir::new().expect("a directory");
    for (name, text) in [
        ("plan.toml", "url = 'http://127.0.0.1:1/'\n"),
        ("runs.toml", "[[run]]\nurl = 'http://127.0.0.1:1/'\n"),
        ("suite.toml", SUITE),
        ("targets.toml", TARGETS),
        ("misspelt.toml", &SUITE.replace("[[servers]]", "repeat = 3\n[[servers]]")),
        ("tester.toml", &format!("{SUITE}testr = 'wrk'\n")),
        ("beside.toml", &format!("{SUITE}args = '{{url}}'\ntestr = 'wrk'\n")),
        ("duration.toml", &format!("{SUITE}rate = 5\nduration = 10\n")),
        ("stop.toml", &SUITE.replace("command", "path = '/'\nstop_timeout = '5'\ncommand")),
    ] {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    fs::create_dir_all(folder.path().join("results/s")).expect("a folder");
    fs::write(folder.path().join("results/s/study.json"), "{}").expect("a file");
    let finished = run(plimsoll(arguments).current_dir(folder.path()));
    assert_ne!(finished.code, Some(0), "{finished:?}");
    assert_eq!(finished.stdout, "", "{finished:?}");
    finished.stderr
}

fn assert_said(cases: &[(&[&str], &str)]) {
    for (arguments, want) in cases {
        assert_eq!(said(arguments), format!("plimsoll: {want}\n"), "{arguments:?}");
    }
}

#[test]
fn a_plan_is_no_suite_and_a_suite_no_plan() {
    assert_said(&[
        (
            &["lab", "plan.toml"],
            "'plan.toml' is a plan file and not a suite: carry it out with plimsoll run plan.toml",
        ),
        (
            &["lab", "runs.toml"],
            "'runs.toml' is a plan file and not a suite: carry it out with plimsoll run runs.toml",
        ),
        (
            &["run", "suite.toml"],
            "'suite.toml' is a suite and not a plan file: carry it out with plimsoll lab \
             suite.toml",
        ),
    ]);
}

#[test]
fn the_folder_of_a_study_is_shown_by_its_document() {
    assert_said(&[
        (&["report", "results/s"], "'results/s' is a folder: give 'results/s/study.json'"),
        (&["report", "results"], "'results' is a folder: give a result document"),
    ]);
}

#[test]
fn a_misspelt_key_is_told_with_the_nearest_and_its_line() {
    assert_said(&[
        (
            &["lab", "misspelt.toml"],
            "misspelt.toml:3: 'repeat' is not a key here: did you mean 'repeats'?",
        ),
        (
            &["lab", "tester.toml"],
            "tester.toml:9: load 'l': 'testr' is not a key of a load: did you mean 'tester'?",
        ),
        (&["lab", "beside.toml"], "beside.toml:10: testr: did you mean 'tester'?"),
        (
            &["--targets", "targets.toml", "http://127.0.0.1:1/"],
            "targets.toml, line 3: 'weigth' is not a key here: did you mean 'weight'?",
        ),
    ]);
}

#[test]
fn a_mistake_in_a_value_names_the_line_of_the_value() {
    assert_said(&[
        (
            &["lab", "duration.toml"],
            "duration.toml:10: load 'l': invalid value '10' for '--duration <T>': '10' is not a \
             duration, it has no unit: write 500us, 1.5s, 2m or 1h (8784h at most) (see --help)",
        ),
        (
            &["lab", "stop.toml"],
            "stop.toml:6: stop_timeout: '5' is not a duration, it has no unit: write 500us, \
             1.5s, 2m or 1h (8784h at most)",
        ),
    ]);
}

//! Help and messages of the argument parser fit a terminal of 80 columns.

use clap::Command;

use crate::args::{definition, definition_within};
use crate::exit::Exit;
use crate::manual::examples::EXAMPLES;
use crate::manual::markdown::refusal as refused;
use crate::message::broken;
use crate::refusal::refusal;

const COLUMNS: usize = 80;

/// The words that lead to each command: `doctor run`, say.
fn paths(command: &Command, path: &[String], paths_found: &mut Vec<Vec<String>>) {
    paths_found.push(path.to_vec());
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        let mut path = path.to_vec();
        path.push(inner.get_name().to_owned());
        paths(inner, &path, paths_found);
    }
}

fn help(path: &[String], flag: &str) -> String {
    help_within(path, flag, COLUMNS)
}

fn help_within(path: &[String], flag: &str, columns: usize) -> String {
    let words = ["plimsoll"].into_iter().chain(path.iter().map(String::as_str)).chain([flag]);
    let words: Vec<&str> = words.collect();
    let error = definition_within(columns).try_get_matches_from(&words).expect_err("help");
    match refusal(&error, &words) {
        Exit::Text(text) => text,
        other => panic!("{path:?}: {other:?}"),
    }
}

#[test]
fn every_line_of_help_fits() {
    let mut all = Vec::new();
    paths(&definition(), &[], &mut all);
    assert!(all.len() > 10, "{all:?}");
    all.retain(|path| !is_foreign(path));
    let mut wide = Vec::new();
    for path in &all {
        for flag in ["-h", "--help"] {
            let text = help(path, flag);
            let lines = text.lines().filter(|line| line.chars().count() > COLUMNS);
            wide.extend(lines.map(|line| format!("{path:?} {flag}: {line}")));
        }
    }
    assert!(wide.is_empty(), "{} lines:\n{}", wide.len(), wide.join("\n"));
}

/// Two screens of a terminal.
const SHORT_LINES_MAX: usize = 2 * 50;

#[test]
fn short_help_fits_two_screens_and_points_to_all_flags() {
    let mut all = Vec::new();
    paths(&definition(), &[], &mut all);
    all.retain(|path| !is_foreign(path));
    for path in &all {
        let [short, long] = ["-h", "--help"].map(|flag| help_within(path, flag, 100));
        let lines = short.lines().count();
        assert!(lines <= SHORT_LINES_MAX, "{path:?} -h: {lines} lines:\n{short}");
        if long.lines().count() > SHORT_LINES_MAX {
            assert!(short.contains("--help"), "{path:?} -h does not point to --help");
        }
    }
    let long = help_within(&["run".to_owned()], "--help", 100);
    for text in ["--tls-resume", "--header-table-size", "Exit codes:"] {
        assert!(long.contains(text), "--help leaves out {text}");
    }
}

/// Only `run` carries out k6 scripts, so that no other command's help offers them.
#[test]
fn k6_scripts_are_offered_by_run_alone() {
    let mut all = Vec::new();
    paths(&definition(), &[], &mut all);
    all.retain(|path| !is_foreign(path) && !path.is_empty());
    for path in &all {
        let text = help(path, "--help");
        let is_offered = text.contains("k6 script") || text.contains("__ENV");
        assert_eq!(is_offered, *path == ["run"], "{path:?}: {text}");
    }
}

/// Whether it is another tester's command line, which has help of its own.
fn is_foreign(path: &[String]) -> bool {
    let first = path.first().map(String::as_str);
    matches!(first, Some("wrk" | "wrk2" | "ab" | "k6" | "fortio"))
}

#[test]
fn every_message_about_a_wrong_value_fits() {
    for example in EXAMPLES {
        let text = refused(example.wrong);
        for line in broken(&format!("plimsoll: {text}"), Some(COLUMNS)).lines() {
            assert!(line.chars().count() <= COLUMNS, "{line}");
        }
    }
}

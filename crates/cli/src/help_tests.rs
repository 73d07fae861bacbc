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
    let words = ["plimsoll"].into_iter().chain(path.iter().map(String::as_str)).chain([flag]);
    let words: Vec<&str> = words.collect();
    let error = definition_within(COLUMNS).try_get_matches_from(&words).expect_err("help");
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
    // Other testers' command lines have help of their own.
    all.retain(|path| {
        !matches!(path.first().map(String::as_str), Some("wrk" | "wrk2" | "ab" | "k6"))
    });
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

#[test]
fn every_message_about_a_wrong_value_fits() {
    for example in EXAMPLES {
        let text = refused(example.wrong);
        for line in broken(&format!("plimsoll: {text}"), Some(COLUMNS)).lines() {
            assert!(line.chars().count() <= COLUMNS, "{line}");
        }
    }
}

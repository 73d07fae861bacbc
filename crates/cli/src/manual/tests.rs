//! The definition of the flags, checked against the examples and the written page.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::examples::EXAMPLES;
use super::{man, markdown};
use crate::args::{definition, run_definition};

#[test]
fn every_flag_has_an_example_and_every_example_a_flag() {
    let definition = run_definition();
    let flags = definition.get_arguments().map(|arg| arg.get_id().as_str());
    let flags: BTreeSet<&str> = flags.filter(|id| *id != "help").collect();
    let examples: BTreeSet<&str> = EXAMPLES.iter().map(|example| example.flag).collect();
    let missing: Vec<_> = flags.difference(&examples).collect();
    let stale: Vec<_> = examples.difference(&flags).collect();
    assert!(
        missing.is_empty() && stale.is_empty(),
        "examples of crates/cli/src/manual/examples.rs: missing {missing:?}, of no flag {stale:?}"
    );
    assert_eq!(examples.len(), EXAMPLES.len(), "a flag has two examples");
}

#[test]
fn examples_use_their_flag() {
    let definition = run_definition();
    for example in EXAMPLES {
        let arg = definition.get_arguments().find(|arg| arg.get_id() == example.flag);
        let arg = arg.expect("the other test says which has none");
        let long = arg.get_long().map(|long| format!("--{long}"));
        let short = arg.get_short().map(|short| format!("-{short}"));
        let names: Vec<String> = [long, short].into_iter().flatten().collect();
        for arguments in [example.arguments, example.wrong] {
            let is_used = names.is_empty()
                || arguments.iter().any(|word| {
                    names.iter().any(|name| name == word.split('=').next().unwrap_or_default())
                });
            assert!(is_used, "{arguments:?} does not use {names:?}");
        }
    }
}

#[test]
fn every_wrong_value_is_refused_in_one_line_that_helps() {
    for example in EXAMPLES {
        let text = markdown::refusal(example.wrong);
        assert!(text.contains(example.says), "{:?} says '{text}'", example.wrong);
        assert!(!text.contains('\n'), "{text}");
    }
}

#[test]
fn every_flag_stands_under_a_heading() {
    for arg in run_definition().get_arguments() {
        let is_grouped = arg.is_positional() || arg.get_help_heading().is_some();
        assert!(is_grouped || arg.get_id() == "help", "{} has no help_heading", arg.get_id());
        assert!(arg.get_help().is_some(), "{} has no help", arg.get_id());
    }
}

#[test]
fn the_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/run.md");
    let written = fs::read_to_string(path).unwrap_or_default();
    // Not `assert_eq`: it would print two whole pages.
    assert!(
        written == markdown::page(),
        "docs/run.md is not what the flags say: cargo run -q -- manual --markdown > docs/run.md"
    );
}

#[test]
fn every_command_has_a_man_page() {
    let definition = definition();
    let commands = definition.get_subcommands().map(clap::Command::get_name);
    for name in commands.chain(["plimsoll"]) {
        let mut page = Vec::new();
        man(name, &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains(".TH") && page.contains(".SH"), "{name}: {page}");
    }
    assert!(man("nothing", &mut Vec::new()).is_err());
}

/// Flags of `run` that another command refuses are hidden from its help, and from shells too.
#[test]
fn completions_leave_out_what_the_help_hides() {
    let script = super::completions::script(clap_complete::Shell::Fish);
    let has = |command: &str, flag: &str| {
        let is_it = |line: &&str| line.contains(command) && line.contains(flag);
        script.lines().any(|line| is_it(&line))
    };
    for (command, flag, want) in [
        ("subcommand find", " -l slo ", true),
        ("subcommand find", " -l connections ", true),
        ("subcommand find", " -l env ", false),
        ("subcommand find", " -l duration ", false),
        ("subcommand doctor; and __fish_seen_subcommand_from run", " -l duration ", true),
        ("subcommand doctor; and __fish_seen_subcommand_from run", " -l env ", false),
        ("subcommand run", " -l env ", true),
    ] {
        assert_eq!(has(command, flag), want, "{command} {flag}");
    }
}

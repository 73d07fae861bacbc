//! Checks that the program understands every command in the pages. `tests/cli/docs.rs` also runs
//! the commands of every block that is not marked as a sketch.

use super::blocks::{Block, blocks, calls, pages};
use crate::args::definition;

fn block(info: &'static str, text: &str) -> Block<'static> {
    Block { line: 1, info, text: text.to_owned() }
}

#[test]
fn commands_of_a_block() {
    for (info, text, want) in [
        ("sh", "# a comment\nplimsoll demo   # why\n\n", &["plimsoll demo   # why"][..]),
        ("sh", "a \\\nb\\\nc\nd\n", &["a  b c", "d"]),
        ("console", "$ a\\\nb\nsays\n$ c\n", &["a b", "c"]),
        ("console sketch", "$ a\nsays a\n", &["a"]),
        ("yaml", "- run: a\n", &[]),
    ] {
        assert_eq!(block(info, text).commands(), want, "{text:?}");
    }
}

#[test]
fn calls_of_a_command() {
    for (command, want) in [
        ("plimsoll run -H 'A: b' \"c d\" # why", &[&["run", "-H", "A: b", "c d"][..]][..]),
        ("plimsoll serve & plimsoll demo > page", &[&["serve"], &["demo"]]),
        ("for c in 1 2; do plimsoll run -c $c u; done", &[&["run", "-c", "1", "u"]]),
        ("cargo test -p plimsoll-core", &[]),
        ("plimsoll run -b '' u", &[&["run", "-b", "", "u"]]),
    ] {
        assert_eq!(calls(command), want, "{command}");
    }
}

#[test]
fn blocks_of_a_page() {
    let page = "a\n```sh sketch\nb\n```\n- c\n\n  ```console\n  $ d\n    e\n  ```\n    f\n";
    let found = blocks(page);
    let shown: Vec<_> =
        found.iter().map(|block| (block.line, block.info, block.text.as_str())).collect();
    assert_eq!(shown, [(2, "sh sketch", "b\n"), (7, "console", "$ d\n  e\n")]);
    assert_eq!((found[0].is_sketch(), found[1].is_sketch()), (true, false));
}

#[test]
fn every_command_of_the_pages_is_understood() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        for block in blocks(&page.text) {
            for call in block.commands().iter().flat_map(|command| calls(command)) {
                count += 1;
                let words = std::iter::once("plimsoll").chain(call.iter().map(String::as_str));
                if let Err(error) = definition().try_get_matches_from(words) {
                    wrong.push(format!("{}:{}: {call:?}: {error}", page.name, block.line));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "only {count} commands were found");
}

#[test]
fn every_command_of_the_pages_stands_where_a_test_looks() {
    let infos = ["sh", "sh sketch", "console", "console sketch"];
    for page in pages() {
        for block in blocks(&page.text) {
            let mut lines = block.text.lines().map(|line| line.trim_start_matches("$ "));
            let has_call = lines.any(|line| line.starts_with("plimsoll "));
            let is_marked = infos.contains(&block.info);
            assert!(
                !has_call || is_marked,
                "{}:{}: mark it as one of {infos:?}",
                page.name,
                block.line
            );
        }
        let mut is_outside = true;
        for line in page.text.lines() {
            let text = line.trim_start();
            is_outside ^= text.starts_with("```");
            let is_code = is_outside && line.starts_with("    ");
            assert!(!is_code || !text.starts_with("plimsoll "), "{}: fence '{text}'", page.name);
        }
    }
}

//! Text that the program prints names no file of the repository: an installed binary has none of
//! them. Hints name a command instead, such as `plimsoll explain late_tail`.

use super::Finding;
use super::source::Source;

/// The folders of the repository that a text for users might name.
const FOLDERS: [&str; 4] = ["docs/", "examples/", "labs/", "bench/"];

/// Crates whose strings are not for users of an installed program: the suite writes a page of the
/// documentation.
const NOT_FOR_USERS: [&str; 1] = ["conformance"];

/// Files in which everything is test code, though their names do not tell.
const TESTS: [&str; 2] = ["crates/cli/src/manual/blocks.rs", "crates/report/src/heads.rs"];

/// Every string of the program that names such a file.
pub(super) fn check(source: &Source<'_>) -> Vec<Finding> {
    let is_of_program = source.path.starts_with("crates/") && source.path.contains("/src/");
    if !is_of_program
        || TESTS.contains(&source.path)
        || NOT_FOR_USERS.contains(&source.crate_name())
    {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in source.lines.iter().enumerate() {
        let names = FOLDERS.iter().flat_map(|folder| line.match_indices(folder));
        for (at, folder) in names {
            let is_path = line[..at]
                .ends_with(|before: char| before.is_alphanumeric() || "/.".contains(before));
            if is_path
                || source.is_test[index]
                || is_included(source, index)
                || !in_string(source, index, at)
            {
                continue;
            }
            let message = format!("a hint names '{folder}': name `plimsoll explain CODE` instead");
            findings.push(Finding::new(source.path, index + 1, &*message));
        }
    }
    findings
}

/// Whether the file is taken into the program, on this line or from the one above.
fn is_included(source: &Source<'_>, index: usize) -> bool {
    let lines = &source.code[index.saturating_sub(1)..=index];
    lines.iter().any(|line| line.contains("include_str!") || line.contains("include_bytes!"))
}

/// Whether what stands there is within a string and not in a comment.
fn in_string(source: &Source<'_>, index: usize, at: usize) -> bool {
    let before = &source.lines[index][..at];
    let escaped = before.matches("\\\"").count();
    let quotes = before.matches('"').count() - escaped;
    source.in_string[index] != (quotes % 2 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        let findings = check(&Source::new(path, text));
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn files_of_the_repository_are_found_in_strings_alone() {
        for (path, text, want) in [
            ("crates/cli/src/a.rs", "f(\"see docs/verdict.md\");\n", &[1][..]),
            ("crates/report/src/a.rs", "f(\"so \\\n   (docs/a.md)\");\n", &[2]),
            ("crates/cli/src/a.rs", "f(\"as in examples/a.js\");\n", &[1]),
            ("crates/cli/src/a.rs", "//! `docs/a.md` has it.\nf(\"x\"); // docs/a.md\n", &[]),
            ("crates/cli/src/a.rs", "f(include_str!(\"../../docs/a.md\"));\n", &[]),
            ("crates/cli/src/a.rs", "f(\"http://a/docs/a\");\n", &[]),
            ("crates/cli/src/tests.rs", "f(\"docs/a.md\");\n", &[]),
            ("crates/cli/src/a.rs", "#[cfg(test)]\nmod tests {\n    f(\"docs/a.md\");\n}\n", &[]),
            ("crates/conformance/src/a.rs", "f(\"docs/a.md\");\n", &[]),
            ("xtask/src/a.rs", "f(\"docs/a.md\");\n", &[]),
        ] {
            assert_eq!(found(path, text), want, "{text:?}");
        }
    }
}

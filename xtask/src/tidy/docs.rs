//! Checks that links in the documents, and the paths they name, lead somewhere, and that no file
//! contains a path of the machine it was written on.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use super::Finding;
use super::files::File;

/// Links and paths in Markdown files that lead nowhere.
pub(super) fn links(files: &[File]) -> Vec<Finding> {
    let places = places(files);
    let headings: HashMap<&str, BTreeSet<String>> = files
        .iter()
        .filter(|file| file.path.ends_with(".md"))
        .map(|file| (file.path.as_str(), anchors(&file.text)))
        .collect();
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".md")) {
        for (line, text) in prose(&file.text) {
            for target in targets(&without_code_spans(text)) {
                let problem = broken_link(&file.path, &target, &places, &headings);
                findings.extend(problem.map(|text| Finding::new(&file.path, line, text)));
            }
            for path in code_spans(text).filter(|path| is_path_of_ours(path)) {
                // A changelog also names what was there once.
                if !places.contains(path.trim_end_matches('/')) && file.path != "CHANGELOG.md" {
                    let message = format!("`{path}` is not in the repository");
                    findings.push(Finding::new(&file.path, line, message));
                }
            }
        }
    }
    findings
}

/// All files and directories.
fn places(files: &[File]) -> BTreeSet<&str> {
    let mut places = BTreeSet::from([""]);
    for file in files {
        let ends = file.path.match_indices('/').map(|(end, _)| end);
        places.extend(ends.map(|end| &file.path[..end]));
        places.insert(&file.path);
    }
    places
}

/// The lines outside of code blocks, with their numbers.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut in_block = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            lines.push((index + 1, line));
        }
    }
    lines
}

/// What stands between backticks on a line.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn without_code_spans(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

/// Whether a code span is meant as a path in this repository. Patterns and examples with spaces,
/// braces or capitals for a part to fill in are not.
fn is_path_of_ours(span: &str) -> bool {
    let roots = ["crates/", "xtask/", "docs/", "bench/", "examples/", ".ci/"];
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let filled_in = |part: &str| part.len() < 2 || part.chars().any(|c| !c.is_ascii_uppercase());
    roots.iter().any(|root| span.starts_with(root))
        && span.chars().all(plain)
        && span.split('/').all(filled_in)
}

/// Where the links of a line lead: `[text](target)` and `[name]: target`.
fn targets(line: &str) -> Vec<String> {
    let inline = line.match_indices("](").filter_map(|(at, _)| {
        let rest = &line[at + 2..];
        Some(rest[..rest.find(')')?].to_owned())
    });
    let reference = line.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
    let all = inline.chain(reference.map(|(_, target)| target.trim().to_owned()));
    all.map(|target| target.split_whitespace().next().unwrap_or_default().to_owned()).collect()
}

/// What is wrong with a link of `from`; links to elsewhere are not followed.
fn broken_link(
    from: &str,
    target: &str,
    places: &BTreeSet<&str>,
    headings: &HashMap<&str, BTreeSet<String>>,
) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match path {
        "" => Some(from.to_owned()),
        path => resolve(from, path),
    };
    let Some(path) = path.filter(|path| places.contains(path.as_str())) else {
        return Some(format!("the link to {target} leads nowhere"));
    };
    let known = headings.get(path.as_str()).is_none_or(|headings| headings.contains(anchor));
    (!anchor.is_empty() && !known).then(|| format!("{path} has no heading #{anchor}"))
}

/// The path a relative link means; `None` when it leaves the repository.
fn resolve(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The names under which the headings of a Markdown file can be linked to, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).into_iter().filter_map(|(_, line)| {
        let title = line.trim_start_matches('#').strip_prefix(' ')?;
        line.starts_with('#').then_some(title)
    });
    let slug = |title: &str| {
        title
            .trim()
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    headings.map(slug).collect()
}

/// Paths that mean something only here: where the checkout is, the home directory, and where home
/// directories usually are.
pub(super) fn machine_paths(root: &Path) -> Vec<String> {
    let home = std::env::var("HOME").unwrap_or_default();
    let own = [root.to_string_lossy().into_owned(), home];
    // A single name, such as a container's root directory, is too likely to be a word.
    let telling = own.into_iter().filter(|path| path.matches('/').count() >= 2);
    let usual = [concat!("/home", "/"), concat!("/Users", "/"), concat!("/root", "/")];
    telling.chain(usual.map(str::to_owned)).collect()
}

/// Lines that name a path of the machine.
pub(super) fn this_machine(file: &File, machine_paths: &[String]) -> Vec<Finding> {
    let names_one = |line: &str| machine_paths.iter().find(|path| line.contains(*path)).cloned();
    let lines = file.text.lines().enumerate();
    lines
        .filter_map(|(index, line)| {
            let message = format!("{} is a path of one machine", names_one(line)?);
            Some(Finding::new(&file.path, index + 1, message))
        })
        .collect()
}

/// Packages in the lock file that come from elsewhere than crates.io, and Cargo settings that name
/// another registry: a fresh clone must build anywhere.
pub(super) fn lock(file: &File) -> Vec<Finding> {
    let name = file.path.rsplit('/').next().unwrap_or(&file.path);
    let wrong: fn(&str) -> bool = match name {
        "Cargo.lock" => |line| {
            let crates_io = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
            line.starts_with("source = ") && line != crates_io
        },
        "config.toml" => |line| ["[source", "[registr"].iter().any(|s| line.starts_with(s)),
        _ => return Vec::new(),
    };
    let lines = file.text.lines().enumerate().filter(|(_, line)| wrong(line.trim()));
    lines
        .map(|(index, _)| {
            Finding::new(&file.path, index + 1, "crates come from crates.io, by its own name")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> Vec<File> {
        files.iter().map(|(path, text)| File::example(path, text)).collect()
    }

    fn drift(text: &str) -> Vec<String> {
        let files = files(&[
            ("README.md", "# Top\n\n## Both clocks, always\n"),
            ("docs/a.md", text),
            ("docs/b.md", "# Ledger\n"),
            ("crates/core/src/lib.rs", ""),
        ]);
        links(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_that_lead_somewhere() {
        for text in [
            "see [b](b.md), [top](../README.md) and [code](../crates/core/)",
            "[clocks](../README.md#both-clocks-always) [ledger](b.md#ledger) [own](#own)\n# Own",
            "[web](https://example.org/x.md) <https://example.org>",
            "[b]: b.md\n[web]: https://example.org",
            "```\n[x](nowhere.md)\n```\nand `[x](nowhere.md)`",
            "`crates/core/src/lib.rs`, `crates/core/`, `crates/NAME`, `crates/<name>`, `a/b.rs`",
        ] {
            assert_eq!(drift(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn links_that_lead_nowhere() {
        for (text, want) in [
            ("\n[x](c.md)", "docs/a.md:2: the link to c.md leads nowhere"),
            ("[x](../../b.md)", "docs/a.md:1: the link to ../../b.md leads nowhere"),
            ("[x](README.md \"t\")", "docs/a.md:1: the link to README.md leads nowhere"),
            ("[x](b.md#scales)", "docs/a.md:1: docs/b.md has no heading #scales"),
            ("[x](#own)", "docs/a.md:1: docs/a.md has no heading #own"),
            ("[x]: c.md", "docs/a.md:1: the link to c.md leads nowhere"),
            (
                "`crates/core/src/x.rs`",
                "docs/a.md:1: `crates/core/src/x.rs` is not in the repository",
            ),
        ] {
            assert_eq!(drift(text), [want], "{text}");
        }
    }

    #[test]
    fn paths_of_the_machine() {
        let paths = ["/builds/me".to_owned()];
        let found = |text: &str| this_machine(&File::example("a.rs", text), &paths).len();
        assert_eq!(found("x\n// see /builds/me/plimsoll\n"), 1);
        assert_eq!(found("// see builds/me\n"), 0);
        let usual = machine_paths(Path::new("/app"));
        assert!(!usual.contains(&"/app".to_owned()), "one name could be anything");
        assert_eq!(machine_paths(Path::new("/app/x"))[0], "/app/x");
    }

    #[test]
    fn crates_come_from_crates_io() {
        let found = |path: &str, text: &str| lock(&File::example(path, text)).len();
        let good = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
        assert_eq!(found("Cargo.lock", good), 0);
        let git = "source = \"git+https://example.org/x\"";
        assert_eq!([found("Cargo.lock", git), found("bench/Cargo.lock", git)], [1, 1]);
        assert_eq!(found(".cargo/config.toml", "[alias]\nxtask = \"run\""), 0);
        assert_eq!(found(".cargo/config.toml", "[source.crates-io]\n"), 1);
        assert_eq!(found(".cargo/config.toml", "[registries.x]\n"), 1);
    }
}

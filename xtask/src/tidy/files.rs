//! The files of the project: everything under the root except what `.gitignore` names and `.git`.
//!
//! It does not ask Git, so that a tarball or another user's checkout is checked in the same way.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

/// A file of the project.
pub(super) struct File {
    /// Relative to the root, with `/` between parts.
    pub(super) path: String,
    pub(super) bytes: u64,
    /// Empty when the file is not UTF-8.
    pub(super) text: String,
}

/// All files, sorted by path.
pub(super) fn walk(root: &Path) -> anyhow::Result<Vec<File>> {
    let ignore = fs::read_to_string(root.join(".gitignore")).context("reading .gitignore")?;
    let ignored = Ignored::parse(&ignore)?;
    let mut files = Vec::new();
    visit(root, "", &ignored, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn visit(dir: &Path, prefix: &str, ignored: &Ignored, out: &mut Vec<File>) -> anyhow::Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("reading {}", dir.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if name == ".git" || ignored.holds(&path, &name) {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_dir() {
            visit(&entry.path(), &format!("{path}/"), ignored, out)?;
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).with_context(|| format!("reading {path}"))?;
            let len = bytes.len() as u64;
            out.push(File { path, bytes: len, text: String::from_utf8(bytes).unwrap_or_default() });
        }
    }
    Ok(())
}

/// What a `.gitignore` at the root names.
#[derive(Debug, Default, PartialEq)]
struct Ignored {
    /// Whole paths from the root.
    paths: Vec<String>,
    /// Names that are ignored in every directory.
    names: Vec<String>,
}

impl Ignored {
    /// Patterns are refused: understanding half of them would hide files from every check.
    fn parse(gitignore: &str) -> anyhow::Result<Self> {
        let mut ignored = Self::default();
        for line in gitignore.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line.contains(['*', '?', '!', '[', '\\']) {
                bail!(".gitignore: tidy reads plain names and paths only, and '{line}' is neither");
            }
            // gitignore(5): a slash that is not the last character ties the line to the root.
            let name = line.trim_end_matches('/');
            if name.contains('/') {
                ignored.paths.push(name.trim_start_matches('/').to_owned());
            } else {
                ignored.names.push(name.to_owned());
            }
        }
        Ok(ignored)
    }

    fn holds(&self, path: &str, name: &str) -> bool {
        self.paths.iter().any(|ignored| ignored == path)
            || self.names.iter().any(|ignored| ignored == name)
    }
}

#[cfg(test)]
impl File {
    /// A file for a test.
    pub(super) fn example(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), bytes: text.len() as u64, text: text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored() {
        let ignored =
            Ignored::parse("# built\n/target/\nbench/target\n\npage.html\n").expect("plain");
        for (path, want) in [
            ("target", true),
            ("crates/target", false),
            ("bench/target", true),
            ("page.html", true),
            ("docs/page.html", true),
            ("page.htm", false),
        ] {
            let name = path.rsplit('/').next().expect("a path has a last part");
            assert_eq!(ignored.holds(path, name), want, "{path}");
        }
        for pattern in ["*.html", "!kept", "[ab]", "a?"] {
            assert!(Ignored::parse(pattern).is_err(), "{pattern}");
        }
    }
}

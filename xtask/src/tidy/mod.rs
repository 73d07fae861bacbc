//! The rules of STYLE.md that a machine can check, as `cargo xtask tidy` and as a test.
//!
//! Each check is a function from a file (or the list of crate edges) to findings, with a table of
//! examples that it must catch and must leave alone. Checks with false alarms are left out.

mod banned;
mod book;
mod docs;
mod files;
mod floors;
mod hints;
mod layout;
mod paths;
mod rooms;
mod sizes;
mod source;
mod words;

use std::fmt;

use anyhow::{Context, bail};
use cargo_metadata::MetadataCommand;

use files::File;
use source::Source;

/// One thing that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// Counted from 1; 0 when the finding is about the whole file.
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Checks the workspace around the current directory and prints what is found.
pub(crate) fn run() -> anyhow::Result<()> {
    let report = inspect()?;
    for question in &report.questions {
        println!("question: {question}");
    }
    for finding in &report.findings {
        println!("{finding}");
    }
    if !report.findings.is_empty() {
        bail!("tidy: {} findings in {} files", report.findings.len(), report.files);
    }
    println!("tidy: {} files, no findings", report.files);
    Ok(())
}

/// What one look at the workspace gave.
struct Report {
    files: usize,
    /// What breaks a rule.
    findings: Vec<Finding>,
    /// What breaks none yet and should be looked at.
    questions: Vec<Finding>,
}

fn inspect() -> anyhow::Result<Report> {
    let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
    let root = metadata.workspace_root.as_std_path();
    let files = files::walk(root)?;
    let mut findings = floors::check(&metadata.packages);
    let mut questions = Vec::new();
    let machine_paths = docs::machine_paths(root);
    let manifests = metadata.packages.iter().map(|package| &package.manifest_path);
    let manifests: Vec<String> = manifests
        .filter_map(|path| path.strip_prefix(&metadata.workspace_root).ok())
        .map(ToString::to_string)
        .collect();
    findings.extend(layout::hidden_crates(&manifests, &files));
    findings.extend(layout::dead_files(&files));
    findings.extend(rooms::check(&files));
    findings.extend(docs::links(&files));
    findings.extend(book::check(&files));
    for file in &files {
        check_file(file, &mut findings, &mut questions);
        findings.extend(docs::this_machine(file, &machine_paths));
    }
    findings.sort();
    Ok(Report { files: files.len(), findings, questions })
}

/// The checks that need only one file.
fn check_file(file: &File, findings: &mut Vec<Finding>, questions: &mut Vec<Finding>) {
    findings.extend(layout::blob(file));
    findings.extend(docs::lock(file));
    findings.extend(words::check(file));
    if !file.path.ends_with(".rs") {
        return;
    }
    let source = Source::new(&file.path, &file.text);
    findings.extend(layout::head(&source));
    findings.extend(layout::forbids_unsafe(&source));
    findings.extend(sizes::functions(&source));
    findings.extend(sizes::width(&source));
    findings.extend(banned::check(&source));
    findings.extend(hints::check(&source));
    match sizes::file(&source) {
        sizes::Size::Fine => {}
        sizes::Size::Question(question) => questions.push(question),
        sizes::Size::TooLong(finding) => findings.push(finding),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_workspace_is_tidy() {
        let report = super::inspect().expect("the workspace can be read");
        assert!(report.files > 20, "only {} files were seen", report.files);
        let findings: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
    }
}

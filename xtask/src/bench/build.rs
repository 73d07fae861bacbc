//! Finds the contenders' programs: builds ours, looks for the others on the PATH.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::Options;

/// A program that is there.
#[derive(Debug, Clone)]
pub(super) struct Program {
    /// Where.
    pub(super) path: PathBuf,
    /// What it says its version is; empty for the bare loops.
    pub(super) version: String,
}

/// Programs by name.
pub(super) type Programs = BTreeMap<&'static str, Program>;

/// The peers, and how each tells its version.
const PEERS: [(&str, &str); 11] = [
    ("ab", "-V"),
    ("fortio", "version"),
    ("ghz", "--version"),
    ("h2load", "--version"),
    ("haproxy", "-v"),
    ("nghttpd", "--version"),
    ("nginx", "-v"),
    ("oha", "--version"),
    ("wrk", "-v"),
    ("wrk2", "-v"),
    ("zrk", "--version"),
];

/// All programs that are available, with a line on stderr for each that is not. The bare loops are
/// servers in most tables, so they are always built.
pub(super) fn programs(options: &Options) -> Result<Programs> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut programs = Programs::new();
    let bare = build(&root.join("bench"))?;
    for name in ["bare-uring", "bare-epoll", "tungstenite"] {
        let path = bare.get(name).with_context(|| format!("bench/ builds no {name}"))?.clone();
        programs.insert(name, Program { path, version: String::new() });
    }
    if options.wants("plimsoll") {
        let path = build(&root)?.remove("plimsoll").context("the workspace builds no plimsoll")?;
        let version = version(&path, "--version");
        programs.insert("plimsoll", Program { path, version });
    }
    for (name, flag) in PEERS {
        match find(name) {
            Some(path) => {
                let version = version(&path, flag);
                programs.insert(name, Program { path, version });
            }
            None => eprintln!("{name} is not on the PATH: left out"),
        }
    }
    Ok(programs)
}

/// Builds a workspace's default members for release, and returns the executables by name.
fn build(workspace: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--release", "--message-format", "json-render-diagnostics"])
        .current_dir(workspace)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!("{} does not build", workspace.display());
    }
    Ok(executables(&String::from_utf8_lossy(&output.stdout)))
}

/// The executables among Cargo's messages.
fn executables(messages: &str) -> BTreeMap<String, PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|message| {
            let name = message["target"]["name"].as_str()?.to_owned();
            Some((name, PathBuf::from(message["executable"].as_str()?)))
        })
        .collect()
}

/// Looks for a program on the PATH, and where systems keep their daemons.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/usr/local/sbin".into()])
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// The first word with a digit and a dot in what a program says of itself.
fn version(program: &Path, flag: &str) -> String {
    let said = Command::new(program).arg(flag).stdin(Stdio::null()).output();
    said.map_or_else(
        |_| String::new(),
        |said| {
            let text = [said.stdout, said.stderr].concat();
            version_in(&String::from_utf8_lossy(&text)).to_owned()
        },
    )
}

fn version_in(text: &str) -> &str {
    let is_version =
        |word: &&str| word.contains('.') && word.contains(|c: char| c.is_ascii_digit());
    text.split_whitespace().find(is_version).unwrap_or_default().trim_end_matches(',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (text, version) in [
            ("wrk debian/4.1.0-3 [epoll] Copyright (C) 2012", "debian/4.1.0-3"),
            ("nginx version: nginx/1.22.1", "nginx/1.22.1"),
            ("1.66.5", "1.66.5"),
            ("none", ""),
        ] {
            assert_eq!(version_in(text), version);
        }
    }

    #[test]
    fn executables_are_named_in_the_messages() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"bare"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"bare-uring"},"executable":"/t/bare-uring"}
{"reason":"build-finished","success":true}"#;
        let found = executables(messages);
        assert_eq!(found.len(), 1);
        assert_eq!(found["bare-uring"], Path::new("/t/bare-uring"));
    }
}

//! Builds Plimsoll and tests its lowest crates with each compiler that it promises to work with:
//! the least version that `Cargo.toml` names, and Rust's three channels.
//!
//! Each has a build folder of its own, so that one does not throw away what another built.
//! Compilers are never installed here; those that are missing are named.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::MetadataCommand;

const CHANNELS: [&str; 3] = ["stable", "beta", "nightly"];
/// What is tested: the crate that builds C, which knows most of Cargo, and the one below all.
const TESTED: [&str; 4] = ["-p", "plimsoll-script", "-p", "plimsoll-core"];

/// Builds and tests with every compiler that is installed.
///
/// # Errors
/// No compiler of these is installed, or the build or a test fails with one.
pub(crate) fn run() -> Result<()> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let folder = metadata.target_directory.join("toolchains");
    let least = least_version(&metadata)?;
    let listed = Command::new("rustup").args(["toolchain", "list"]).output();
    let listed = listed.context("rustup is needed to have several compilers")?;
    let installed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let wanted: Vec<&str> = [least.as_str()].into_iter().chain(CHANNELS).collect();
    let mut there = Vec::new();
    for name in wanted {
        match find(&installed, name) {
            Some(found) => there.push(found),
            None => println!("{name}: not installed (rustup toolchain install {name})"),
        }
    }
    if there.is_empty() {
        bail!("no compiler of these is installed");
    }
    let works = |name: &&str| works_with(name, folder.join(name).as_std_path());
    let failed: Vec<&str> = there.into_iter().filter(|name| !works(name)).collect();
    if !failed.is_empty() {
        bail!("failed with {}", failed.join(", "));
    }
    Ok(())
}

/// The least version that the workspace's members promise.
fn least_version(metadata: &cargo_metadata::Metadata) -> Result<String> {
    let mut versions = metadata.packages.iter().filter_map(|package| package.rust_version.as_ref());
    let least = versions.next().context("Cargo.toml has no rust-version")?;
    // Cargo gives three numbers where `Cargo.toml` has two.
    Ok(format!("{}.{}", least.major, least.minor))
}

/// The compiler of this name or version in what `rustup toolchain list` prints: of `1.95` it may be
/// `1.95.0-x86_64-unknown-linux-gnu`.
fn find<'a>(installed: &'a str, name: &str) -> Option<&'a str> {
    let is_it = |found: &&str| {
        found.strip_prefix(name).is_some_and(|rest| rest.starts_with(['-', '.']) || rest.is_empty())
    };
    installed.lines().filter_map(|line| line.split_whitespace().next()).find(is_it)
}

/// Builds the program and runs the tests; says how each ended.
fn works_with(name: &str, folder: &Path) -> bool {
    let runs = |args: &[&str]| {
        // The name before cargo's own arguments chooses the compiler.
        let mut cargo = Command::new("rustup");
        cargo.args(["run", name, "cargo"]).args(args).env("CARGO_TARGET_DIR", folder);
        // Cargo sets this for its children, and rustup would take it for a choice.
        cargo.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
        cargo.status().is_ok_and(|status| status.success())
    };
    let is_built = runs(&["build", "-p", "plimsoll", "--locked"]);
    let is_tested = is_built && runs(&[&["test", "--locked"][..], &TESTED].concat());
    println!("{name}: {}", if is_tested { "builds and passes" } else { "FAILED" });
    is_tested
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_found_by_name_or_version() {
        let installed = "stable-x86_64-unknown-linux-gnu (active, default)\n\
                         1.95.0-x86_64-unknown-linux-gnu\n1.9-x86_64-unknown-linux-gnu\n";
        for (name, found) in [
            ("stable", Some("stable-x86_64-unknown-linux-gnu")),
            ("1.95", Some("1.95.0-x86_64-unknown-linux-gnu")),
            ("1.95.0", Some("1.95.0-x86_64-unknown-linux-gnu")),
            ("1.9", Some("1.9-x86_64-unknown-linux-gnu")),
            ("1.95.1", None),
            ("beta", None),
        ] {
            assert_eq!(find(installed, name), found, "{name}");
        }
    }

    #[test]
    fn readers_learn_the_least_version() {
        let metadata = MetadataCommand::new().no_deps().exec().unwrap();
        let readme = std::fs::read_to_string(metadata.workspace_root.join("README.md")).unwrap();
        let words = format!("Rust {} or newer", least_version(&metadata).unwrap());
        assert!(readme.contains(&words), "README.md does not say '{words}'");
    }
}

//! Checks of whole files: each opens by saying what it owns, each is part of a crate, none is a
//! blob, and crates that need no `unsafe` forbid it.

use std::collections::HashSet;

use super::Finding;
use super::files::File;
use super::source::{Source, find_word};

/// Bytes above which a file does not belong in the repository.
const BLOB_BYTES_MAX: u64 = 256 * 1024;

/// Crates that may hold `unsafe`. The rest say `forbid`, which no `allow` can lift.
pub(super) const UNSAFE_CRATES: [&str; 2] = ["io", "script"];

/// Names of files that start a crate.
const ROOTS: [&str; 3] = ["lib.rs", "main.rs", "build.rs"];

/// Whether the file is source of a crate of the workspace.
fn is_crate_source(path: &str) -> bool {
    path.starts_with("xtask/src/") || (path.starts_with("crates/") && path.contains("/src/"))
}

/// Crates whose manifest is not among the files: `.gitignore` hides them, so no clone has them.
pub(super) fn hidden_crates(manifests: &[String], files: &[File]) -> Vec<Finding> {
    let hidden = manifests.iter().filter(|path| !files.iter().any(|file| file.path == **path));
    hidden.map(|path| Finding::new(path, 0, "hidden by .gitignore")).collect()
}

/// A file too large for the repository.
pub(super) fn blob(file: &File) -> Option<Finding> {
    let message = format!("{} bytes; the most is {BLOB_BYTES_MAX}", file.bytes);
    (file.bytes > BLOB_BYTES_MAX).then(|| Finding::new(&file.path, 0, message))
}

/// A source file that does not open with `//!`.
pub(super) fn head(source: &Source<'_>) -> Option<Finding> {
    let opens = source.lines.first().is_some_and(|line| line.starts_with("//! "));
    let message = "must open with `//!`: what this file owns, why, and what is absent on purpose";
    (is_crate_source(source.path) && !opens).then(|| Finding::new(source.path, 1, message))
}

/// The root of a crate that needs no `unsafe` and does not forbid it.
pub(super) fn forbids_unsafe(source: &Source<'_>) -> Option<Finding> {
    let is_root = source.path.ends_with("/src/lib.rs") || source.path.ends_with("/src/main.rs");
    if !is_root || !is_crate_source(source.path) || UNSAFE_CRATES.contains(&source.crate_name()) {
        return None;
    }
    let forbids = source.code.iter().any(|line| line.contains("#![forbid(unsafe_code)]"));
    (!forbids).then(|| Finding::new(source.path, 1, "must say `#![forbid(unsafe_code)]`"))
}

/// Rust files that no `mod` names and Cargo does not find by itself: they compile nowhere.
pub(super) fn dead_files(files: &[File]) -> Vec<Finding> {
    let modules: HashSet<(String, String)> = files
        .iter()
        .filter(|file| file.path.ends_with(".rs"))
        .flat_map(|file| modules_of(&Source::new(&file.path, &file.text)))
        .map(|declared| (declared.dir, declared.name))
        .collect();
    files
        .iter()
        .filter_map(|file| {
            let (dir, name) = module_of(&file.path)?;
            let message = format!("dead: no `mod {name};` in the module above it");
            (!modules.contains(&(dir, name))).then(|| Finding::new(&file.path, 0, message))
        })
        .collect()
}

/// The directory a module of this name is looked up in, and its name. `None` for what is no
/// module: crate roots, and files outside crates.
fn module_of(path: &str) -> Option<(String, String)> {
    let in_crate = path.starts_with("crates/") || path.starts_with("xtask/");
    let (dir, file) = path.strip_suffix(".rs").filter(|_| in_crate)?.rsplit_once('/')?;
    let is_target = ["tests", "bin", "examples", "benches"].iter().any(|name| {
        dir.ends_with(&format!("/{name}")) && !(*name == "tests" && dir.contains("/src/"))
    });
    if is_target || ROOTS.contains(&format!("{file}.rs").as_str()) {
        return None;
    }
    let whole = if file == "mod" { dir } else { &path[..path.len() - 3] };
    let (dir, name) = whole.rsplit_once('/')?;
    Some((dir.to_owned(), name.to_owned()))
}

/// A module that a file names with `mod NAME;`.
pub(super) struct Declared {
    /// The directory it is looked up in.
    pub(super) dir: String,
    pub(super) name: String,
    /// The index of the line.
    pub(super) line: usize,
}

/// The modules a file names with `mod NAME;`.
pub(super) fn modules_of(source: &Source<'_>) -> Vec<Declared> {
    let path = source.path;
    let (dir, file) = path.rsplit_once('/').unwrap_or(("", path));
    let dir = match file {
        "mod.rs" => dir.to_owned(),
        _ if ROOTS.contains(&file) || module_of(path).is_none() => dir.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    };
    let declared = source.code.iter().enumerate().filter_map(|(line, code)| {
        let rest = &code[find_word(code, "mod")? + 3..];
        let name = rest.trim().strip_suffix(';')?.trim().to_owned();
        Some(Declared { dir: dir.clone(), name, line })
    });
    declared.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_not_hidden() {
        let files = [File::example("crates/core/Cargo.toml", "")];
        let hidden = |path: &str| hidden_crates(&[path.to_owned()], &files).len();
        assert_eq!(hidden("crates/core/Cargo.toml"), 0);
        assert_eq!(hidden("crates/server/Cargo.toml"), 1);
    }

    #[test]
    fn blobs() {
        let of = |len: usize| blob(&File::example("a.bin", &"x".repeat(len))).is_some();
        assert_eq!([of(256 * 1024), of(256 * 1024 + 1)], [false, true]);
    }

    #[test]
    fn heads() {
        for (path, text, found) in [
            ("crates/core/src/a.rs", "//! Owns a.\n", false),
            ("crates/core/src/a.rs", "/// Owns a.\n", true),
            ("crates/core/src/a.rs", "//!\n", true),
            ("crates/core/src/a.rs", "", true),
            ("xtask/src/a.rs", "use x;\n", true),
            ("crates/core/tests/a.rs", "use x;\n", false),
        ] {
            assert_eq!(head(&Source::new(path, text)).is_some(), found, "{path} {text:?}");
        }
    }

    #[test]
    fn crates_forbid_unsafe() {
        for (path, text, found) in [
            ("crates/core/src/lib.rs", "//! a\n#![forbid(unsafe_code)]\n", false),
            ("crates/core/src/lib.rs", "//! a\n// #![forbid(unsafe_code)]\n", true),
            ("crates/cli/src/main.rs", "//! a\n", true),
            ("crates/core/src/a.rs", "//! a\n", false),
            ("crates/io/src/lib.rs", "//! a\n", false),
        ] {
            assert_eq!(forbids_unsafe(&Source::new(path, text)).is_some(), found, "{path}");
        }
    }

    #[test]
    fn dead_files_are_found() {
        let dead = |files: &[(&str, &str)]| {
            let files: Vec<File> = files.iter().map(|(p, t)| File::example(p, t)).collect();
            dead_files(&files).into_iter().map(|finding| finding.path).collect::<Vec<_>>()
        };
        let alive = [
            ("crates/a/src/lib.rs", "pub mod b;\nmod c;\n#[cfg(test)] mod tests;"),
            ("crates/a/src/b.rs", "pub(crate) mod inner;"),
            ("crates/a/src/b/inner.rs", ""),
            ("crates/a/src/c/mod.rs", "mod deep;"),
            ("crates/a/src/c/deep.rs", ""),
            ("crates/a/src/tests.rs", ""),
            ("crates/a/src/bin/tool.rs", ""),
            ("crates/a/tests/it/main.rs", "mod util;"),
            ("crates/a/tests/it/util.rs", ""),
            ("crates/a/tests/plain.rs", ""),
            ("bench/loose.rs", ""),
        ];
        assert_eq!(dead(&alive), [""; 0]);
        assert_eq!(
            dead(&[
                ("crates/a/src/lib.rs", "// mod b;\nmod c {}\nuse mod_d;"),
                ("crates/a/src/b.rs", "mod e;"),
                ("crates/a/src/c.rs", ""),
                ("crates/a/src/e.rs", ""),
                ("crates/a/src/b/tests/x.rs", ""),
                ("crates/a/tests/it/main.rs", ""),
                ("crates/a/tests/it/util.rs", ""),
            ]),
            [
                "crates/a/src/b.rs",
                "crates/a/src/c.rs",
                "crates/a/src/e.rs",
                "crates/a/src/b/tests/x.rs",
                "crates/a/tests/it/util.rs"
            ]
        );
    }
}

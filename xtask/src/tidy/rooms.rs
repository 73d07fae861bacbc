//! Rooms: the top-level modules of a crate, each with its children. If rooms use each other in a
//! circle, none of them can be read, tested or moved without all the others.
//!
//! The check reads the paths in code outside of tests: `crate::x`, and `super::x` where that leads
//! out of the room. A name that the crate's root re-exports counts as the room it comes from. The
//! check does not see what needs no path, such as a method of a type that another room hands out,
//! nor paths in strings.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::files::File;
use super::layout::modules_of;
use super::paths::{Reached, exports, reached};
use super::source::Source;

/// Circles of rooms, in every crate.
pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let sources: Vec<Source<'_>> = files
        .iter()
        .filter(|file| file.path.ends_with(".rs") && file.path.contains("/src/"))
        .map(|file| Source::new(&file.path, &file.text))
        .collect();
    let tests: Vec<String> = sources.iter().flat_map(test_modules).collect();
    let mut crates: BTreeMap<&str, Vec<&Source<'_>>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !is_in(source.path, &tests)) {
        let Some((name, _)) = source.path.split_once("/src/") else { continue };
        crates.entry(name).or_default().push(source);
    }
    let mut findings = Vec::new();
    for (name, sources) in crates {
        let edges = edges(&sources);
        let circles = circles(&edges);
        let words = circles.iter().map(|circle| circle_words(circle, &edges));
        findings.extend(words.map(|words| Finding::new(name, 0, words)));
    }
    findings
}

/// The modules that a file declares for tests only, as paths without `.rs`.
fn test_modules(source: &Source<'_>) -> Vec<String> {
    let declared = modules_of(source).into_iter().filter(|it| source.is_test[it.line]);
    declared.map(|it| format!("{}/{}", it.dir, it.name)).collect()
}

/// Whether a file is one of these modules, or below one.
fn is_in(path: &str, modules: &[String]) -> bool {
    let behind = |module: &String| path.strip_prefix(module.as_str());
    modules.iter().filter_map(behind).any(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// The room of a file, and how many modules lie between it and the crate's root.
fn room(path: &str) -> (&str, usize) {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside);
    let module = inside.trim_end_matches(".rs").trim_end_matches("/mod");
    let room = module.split('/').next().unwrap_or(module);
    match module {
        "lib" | "main" => (room, 0),
        _ => (room, module.split('/').count()),
    }
}

/// Which room uses which, each with the first place that says so: file and line.
type Edges<'a> = BTreeMap<(&'a str, &'a str), (&'a str, usize)>;

fn edges<'a>(sources: &[&'a Source<'_>]) -> Edges<'a> {
    let rooms: BTreeSet<&str> = sources.iter().map(|source| room(source.path).0).collect();
    let root = sources.iter().find(|source| room(source.path).1 == 0);
    let exports = root.map(|root| exports(root)).unwrap_or_default();
    let mut edges = Edges::new();
    for source in sources {
        let (user, depth) = room(source.path);
        for Reached { name, line } in reached(source, depth, &rooms) {
            let used = match (rooms.get(name), exports.get(name)) {
                (Some(room), _) => Some(*room),
                // From another crate, if it is none of the rooms.
                (None, Some(origin)) => rooms.get(origin).copied(),
                (None, None) => root.map(|root| room(root.path).0),
            };
            if let Some(used) = used.filter(|used| *used != user) {
                edges.entry((user, used)).or_insert((source.path, line));
            }
        }
    }
    edges
}

/// The rooms that a room uses, themselves or through others.
fn used_by<'a>(edges: &Edges<'a>, user: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![user];
    while let Some(next) = open.pop() {
        let direct = edges.keys().filter(|(user, _)| *user == next).map(|(_, used)| *used);
        open.extend(direct.filter(|used| found.insert(*used)));
    }
    found
}

/// The circles: rooms that each use all the others of their circle.
fn circles<'a>(edges: &Edges<'a>) -> BTreeSet<BTreeSet<&'a str>> {
    let users: BTreeSet<&str> = edges.keys().map(|(user, _)| *user).collect();
    let circle = |user: &&'a str| {
        let used = used_by(edges, user);
        used.into_iter().filter(|used| used_by(edges, used).contains(user)).collect()
    };
    users.iter().map(circle).filter(|circle: &BTreeSet<_>| !circle.is_empty()).collect()
}

fn circle_words(circle: &BTreeSet<&str>, edges: &Edges<'_>) -> String {
    let inside =
        edges.iter().filter(|((user, used), _)| circle.contains(user) && circle.contains(used));
    let uses: Vec<String> = inside
        .map(|((user, used), (path, line))| {
            let file = path.split_once("/src/").map_or(*path, |(_, file)| file);
            format!("{user} uses {used} ({file}:{line})")
        })
        .collect();
    let rooms: Vec<&str> = circle.iter().copied().collect();
    format!("modules in a circle: {}: {}", rooms.join(", "), uses.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<File> = files.iter().map(|(path, text)| File::example(path, text)).collect();
        check(&files).iter().map(ToString::to_string).collect()
    }

    const ROOT: (&str, &str) = ("crates/a/src/lib.rs", "mod x;\nmod y;\nmod z;\n");

    #[test]
    fn circles_are_found() {
        let circle = "crates/a: modules in a circle: x, y: x uses y (x.rs:1), y uses x (y.rs:1)";
        for (x, y, want) in [
            ("use crate::y::Y;", "use std::fmt;", None),
            ("use crate::y::Y;", "use crate::x::X;", Some(circle)),
            ("use crate::y::Y;", "fn f() -> crate::x::X {}", Some(circle)),
            ("use crate::{y::{Y, Z}, z};", "use super::x::X;", Some(circle)),
            ("use crate::{z, y};", "use super::{z, x::{self}};", Some(circle)),
            ("use crate::y::Y;", "pub(crate) mod inner { use super::super::x::X; }", Some(circle)),
            ("use crate::y::Y;", "mod inner { use super::x::X; }", None),
            ("use crate::y::Y;", "// crate::x\nconst C: &str = \"crate::x\";", None),
            ("use crate::y::Y;", "#[cfg(test)]\nuse crate::x::X;", None),
            ("use crate::y::Y;", "#[cfg(test)]\nmod tests { use crate::x::X; }", None),
            ("use crate::y::Y;", "use other::x::X; use crate::y::x;", None),
            ("use crate::y::Y;", "pub(in crate::y) fn f() {}", None),
        ] {
            let files = [ROOT, ("crates/a/src/x.rs", x), ("crates/a/src/y.rs", y)];
            assert_eq!(found(&files), Vec::from_iter(want), "{x} | {y}");
        }
    }

    #[test]
    fn a_module_and_its_children_are_one_room() {
        let files = [
            ROOT,
            ("crates/a/src/x/mod.rs", "mod deep;\nuse self::deep::D;"),
            ("crates/a/src/x/deep.rs", "use super::super::y::Y;\nuse super::X;"),
            ("crates/a/src/x/tests.rs", "use crate::z::Z;"),
            ("crates/a/src/y.rs", "mod child;\nuse crate::z::Z;"),
            ("crates/a/src/y/child.rs", "use super::Y;\nuse super::super::z::Z;"),
            ("crates/a/src/z.rs", "\nuse crate::x::deep::D;"),
            ("crates/b/src/lib.rs", "mod x;\nmod y;"),
            ("crates/b/src/x.rs", "use crate::y::Y;"),
            ("crates/b/src/y.rs", ""),
        ];
        let want = "crates/a: modules in a circle: x, y, z: x uses y (x/deep.rs:1), \
                    y uses z (y.rs:2), z uses x (z.rs:2)";
        assert_eq!(found(&files), [want]);
    }

    #[test]
    fn what_the_root_hands_out_counts_as_its_room() {
        for (root, y, want) in [
            ("mod x;\nmod y;\npub use x::{X, W};", "use crate::W;", true),
            ("mod x;\nmod y;\npub use crate::x::X as Other;", "use crate::Other;", true),
            ("mod x;\nmod y;\npub use x::{self as door, X};", "use crate::door::Y;", true),
            ("mod x;\nmod y;\npub use std::fmt::Debug;", "use crate::Debug;", false),
            ("mod x;\nmod y;\npub fn f() {}", "use crate::f;", false),
            ("mod x;\nmod y;\npub fn f() { x::g() }", "use crate::f;", true),
        ] {
            let files = [
                ("crates/a/src/lib.rs", root),
                ("crates/a/src/x.rs", "use crate::y::Y;"),
                ("crates/a/src/y.rs", y),
            ];
            assert_eq!(!found(&files).is_empty(), want, "{root} | {y}");
        }
    }

    #[test]
    fn modules_of_tests_do_not_count() {
        let files = [
            ("crates/a/src/lib.rs", "mod x;\nmod y;\n#[cfg(test)]\nmod fixtures;"),
            ("crates/a/src/x.rs", "use crate::y::Y;\n#[cfg(test)]\nmod made_up;"),
            ("crates/a/src/x/made_up.rs", "use crate::z::Z;"),
            ("crates/a/src/y.rs", "#[cfg(test)]\npub(crate) mod noise;"),
            ("crates/a/src/y/noise.rs", "use crate::x::X;"),
            ("crates/a/src/fixtures.rs", "use crate::x::X;"),
            ("crates/a/tests/it/main.rs", "use crate::x::X;"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }

    #[test]
    fn two_circles_are_two_findings() {
        let files = [
            ROOT,
            ("crates/a/src/x.rs", "use crate::y::Y;"),
            ("crates/a/src/y.rs", "use crate::x::X;\nuse crate::z::Z;"),
            ("crates/a/src/z.rs", "use crate::w::W;"),
            ("crates/a/src/w.rs", "use crate::z::Z;"),
        ];
        let found = found(&files);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("crates/a: modules in a circle: w, z:"), "{found:?}");
        assert!(found[1].starts_with("crates/a: modules in a circle: x, y:"), "{found:?}");
    }
}

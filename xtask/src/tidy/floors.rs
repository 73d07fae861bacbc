//! The floors: which of our crates each crate may use, and which outside crates only one of ours
//! may use. ARCHITECTURE.md says why; a new line here is a change of architecture.

use cargo_metadata::{DependencyKind, Package};

use super::Finding;

/// The floor of each crate. A crate may use those on lower floors, never one beside it.
const FLOORS: [(&str, u8); 16] = [
    ("plimsoll-core", 0),
    ("plimsoll-io", 1),
    ("plimsoll-proto", 1),
    ("plimsoll-grpc", 1),
    ("plimsoll-script", 1),
    ("plimsoll-dialect", 1),
    ("plimsoll-report", 1),
    ("plimsoll-outputs", 1),
    ("plimsoll-conn", 2),
    ("plimsoll-lab", 2),
    ("plimsoll-engine", 3),
    ("plimsoll-server", 3),
    ("plimsoll-conformance", 3),
    ("plimsoll-runner", 4),
    ("plimsoll", 5),
    // On the ground so that it can use none of them: automation runs the program, it is no part.
    ("xtask", 0),
];

/// Outside crates that may be used, outside tests, by the crates named only; by none where none is.
const FENCES: [(&str, &[&str]); 37] = [
    ("anyhow", &["plimsoll", "xtask"]),
    ("aws-lc-rs", &["plimsoll-proto", "plimsoll-script"]),
    ("axum", &[]),
    ("brotli", &["plimsoll-script"]),
    ("cargo_metadata", &["xtask"]),
    ("clap", &["plimsoll"]),
    ("clap_complete", &["plimsoll"]),
    ("clap_mangen", &["plimsoll"]),
    ("corosensei", &["plimsoll-script"]),
    ("dom_query", &["plimsoll-script"]),
    (
        "flate2",
        &[
            "plimsoll-core",
            "plimsoll-dialect",
            "plimsoll-proto",
            "plimsoll-script",
            "plimsoll-server",
        ],
    ),
    ("hdrhistogram", &["plimsoll-core"]),
    ("html5ever", &["plimsoll-script"]),
    ("httparse", &["plimsoll-proto"]),
    ("io-uring", &["plimsoll-io"]),
    ("libc", &["plimsoll-io"]),
    ("luajit-src", &["plimsoll-script"]),
    ("md-5", &["plimsoll-dialect", "plimsoll-script"]),
    ("mio", &["plimsoll-io"]),
    ("mlua", &["plimsoll-script"]),
    ("mlua-sys", &["plimsoll-script"]),
    ("oxc_parser", &["plimsoll-script"]),
    ("prost", &["plimsoll-outputs"]),
    ("prost-reflect", &["plimsoll-grpc"]),
    ("protox", &["plimsoll-grpc"]),
    ("rcgen", &["plimsoll-conformance", "plimsoll-server"]),
    ("regex", &["plimsoll-conn", "plimsoll-engine"]),
    ("rquickjs-sys", &["plimsoll-script"]),
    ("rustls", &["plimsoll-conformance", "plimsoll-outputs", "plimsoll-proto"]),
    ("ruzstd", &["plimsoll-script"]),
    ("snap", &["plimsoll-outputs"]),
    ("socket2", &["plimsoll-io"]),
    ("statrs", &["plimsoll-core"]),
    ("tokio", &[]),
    ("ureq", &["plimsoll-outputs"]),
    ("webpki-roots", &["plimsoll-proto"]),
    ("toml", &["plimsoll", "plimsoll-dialect", "plimsoll-lab"]),
];

/// One of our crates using another crate.
struct Edge<'a> {
    user: &'a str,
    used: &'a str,
    /// Whether the crate used is ours too.
    is_ours: bool,
    /// Whether only the user's tests use it.
    in_tests: bool,
}

/// The packages of the workspace and what they depend on.
pub(super) fn check(packages: &[Package]) -> Vec<Finding> {
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let edges = packages.iter().flat_map(|package| {
        package.dependencies.iter().map(|dependency| Edge {
            user: &package.name,
            used: &dependency.name,
            is_ours: dependency.path.is_some(),
            in_tests: dependency.kind == DependencyKind::Development,
        })
    });
    judge(&names, &edges.collect::<Vec<_>>())
}

fn judge(names: &[&str], edges: &[Edge<'_>]) -> Vec<Finding> {
    let unknown = names.iter().filter(|name| floor(name).is_none()).map(|name| {
        let message = format!("{name} has no floor: give it one in FLOORS of xtask");
        Finding::new(&manifest(name), 0, message)
    });
    let wrong = edges.iter().filter_map(|edge| {
        let problem = match edge {
            Edge { is_ours: true, .. } => upward(edge.user, edge.used),
            Edge { in_tests: true, .. } => None,
            _ => fenced(edge.user, edge.used),
        };
        Some(Finding::new(&manifest(edge.user), 0, problem?))
    });
    unknown.chain(wrong).collect()
}

fn manifest(package: &str) -> String {
    match package {
        "plimsoll" => "crates/cli/Cargo.toml".to_owned(),
        "xtask" => "xtask/Cargo.toml".to_owned(),
        name => format!("crates/{}/Cargo.toml", name.trim_start_matches("plimsoll-")),
    }
}

fn floor(name: &str) -> Option<u8> {
    FLOORS.iter().find(|(known, _)| *known == name).map(|(_, floor)| *floor)
}

/// What is wrong with one of our crates using another, for the program or for its tests.
fn upward(user: &str, used: &str) -> Option<String> {
    // A crate without a floor is a finding of its own.
    let (above, below) = (floor(user)?, floor(used)?);
    let message =
        format!("{user} (floor {above}) uses {used} (floor {below}): arrows only go down");
    (below >= above).then_some(message)
}

/// What is wrong with one of our crates using an outside crate.
fn fenced(user: &str, used: &str) -> Option<String> {
    let (_, users) = FENCES.iter().find(|(name, _)| *name == used)?;
    let message = match users {
        [] => format!("{user} uses {used}, which no crate may"),
        users => format!("{user} uses {used}, which only {} may", users.join(", ")),
    };
    (!users.contains(&user)).then_some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_go_down() {
        for (user, used, refused) in [
            ("plimsoll-engine", "plimsoll-conn", false),
            ("plimsoll-engine", "plimsoll-core", false),
            ("plimsoll", "plimsoll-engine", false),
            ("plimsoll", "plimsoll-runner", false),
            ("plimsoll-runner", "plimsoll-engine", false),
            ("plimsoll-engine", "plimsoll-runner", true),
            ("plimsoll-runner", "plimsoll", true),
            ("plimsoll-io", "plimsoll-core", false),
            ("plimsoll-io", "plimsoll-proto", true),
            ("plimsoll-engine", "plimsoll-server", true),
            ("plimsoll-core", "plimsoll-io", true),
            ("plimsoll-report", "plimsoll-engine", true),
            ("xtask", "plimsoll-core", true),
        ] {
            assert_eq!(upward(user, used).is_some(), refused, "{user} uses {used}");
        }
    }

    #[test]
    fn fences_hold() {
        for (user, used, refused) in [
            ("plimsoll-io", "io-uring", false),
            ("plimsoll-engine", "io-uring", true),
            ("plimsoll", "anyhow", false),
            ("plimsoll-core", "anyhow", true),
            ("plimsoll-core", "serde", false),
            ("plimsoll-io", "tokio", true),
        ] {
            assert_eq!(fenced(user, used).is_some(), refused, "{user} uses {used}");
        }
    }

    #[test]
    fn packages_are_judged_whole() {
        let messages = |names: &[&str], edges: &[(&'static str, &'static str, bool, bool)]| {
            let edges: Vec<Edge<'_>> = edges
                .iter()
                .map(|&(user, used, is_ours, in_tests)| Edge { user, used, is_ours, in_tests })
                .collect();
            judge(names, &edges).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let good = [
            ("plimsoll-report", "plimsoll-core", true, false),
            ("plimsoll-report", "libc", false, true),
            ("plimsoll-report", "serde", false, false),
        ];
        assert_eq!(messages(&["plimsoll-report", "plimsoll-core"], &good), [""; 0]);
        let bad = [
            ("plimsoll-report", "plimsoll-engine", true, true),
            ("plimsoll", "libc", false, false),
        ];
        assert_eq!(
            messages(&["plimsoll-novel"], &bad),
            [
                "crates/novel/Cargo.toml: plimsoll-novel has no floor: give it one in FLOORS of \
                    xtask",
                "crates/report/Cargo.toml: plimsoll-report (floor 1) uses plimsoll-engine \
                    (floor 3): arrows only go down",
                "crates/cli/Cargo.toml: plimsoll uses libc, which only plimsoll-io may",
            ]
        );
    }
}

//! Calls that are banned in some places, each with what to use instead.
//!
//! The check reads only code, not comments and strings, and a name counts only as a whole word. A
//! renaming `use` can hide a call from it; reviews have to find those.

use super::Finding;
use super::layout::UNSAFE_CRATES;
use super::source::{Source, find_word};

/// Where a rule holds.
#[derive(Clone, Copy)]
enum Scope {
    /// Every Rust file.
    Everywhere,
    /// The crates that get time, randomness and bytes as arguments, tests included.
    Pure,
    /// The same without their tests, which may reach a real server from outside.
    PureOutsideTests,
    /// The crates of the program, outside tests.
    ProgramOutsideTests,
    /// The crates of the program but the one that owns the terminal, outside tests.
    LibrariesOutsideTests,
    /// The crates of the program that may not hold `unsafe`.
    SafeCrates,
}

/// The crates that neither read a clock nor take entropy nor open a socket.
const PURE_CRATES: [&str; 8] =
    ["core", "proto", "script", "dialect", "report", "conn", "engine", "server"];

/// Directories of Rust code that is no part of the program: automation and benchmarks. And what
/// Cargo runs to build a crate.
const NOT_THE_PROGRAM: [&str; 3] = ["xtask", "bench", BUILD_SCRIPT];

const BUILD_SCRIPT: &str = "build.rs";

impl Scope {
    fn holds(self, name: &str, is_test: bool) -> bool {
        let in_program = !NOT_THE_PROGRAM.contains(&name);
        match self {
            Self::Everywhere => true,
            Self::Pure => PURE_CRATES.contains(&name),
            Self::PureOutsideTests => PURE_CRATES.contains(&name) && !is_test,
            Self::ProgramOutsideTests => in_program && !is_test,
            Self::LibrariesOutsideTests => in_program && name != "cli" && !is_test,
            Self::SafeCrates => in_program && !UNSAFE_CRATES.contains(&name),
        }
    }
}

const CLOCK: &str = "the time is an argument; only crate io reads a clock (`Driver::clock_ns`)";
const SOCKET: &str = "only crate io opens sockets (`Driver`)";
const RANDOM: &str = "randomness is an argument: take a seeded generator";
const PRINT: &str = "write to an argument; only cli prints";
const UNFINISHED: &str = "finish it or leave it out";

/// What is banned, where, and what to use instead.
const RULES: [(&str, Scope, &str); 29] = [
    ("Instant::now", Scope::PureOutsideTests, CLOCK),
    ("SystemTime::now", Scope::PureOutsideTests, CLOCK),
    ("UNIX_EPOCH.elapsed", Scope::PureOutsideTests, CLOCK),
    ("thread::sleep", Scope::Pure, "wait for what you wait for; deadlines belong to the driver"),
    ("TcpStream", Scope::PureOutsideTests, SOCKET),
    ("TcpListener", Scope::PureOutsideTests, SOCKET),
    ("UdpSocket", Scope::PureOutsideTests, SOCKET),
    ("UnixStream", Scope::PureOutsideTests, SOCKET),
    ("UnixListener", Scope::PureOutsideTests, SOCKET),
    ("to_socket_addrs", Scope::PureOutsideTests, "use plimsoll_io::host::resolve from cli"),
    ("env::var", Scope::PureOutsideTests, "cli reads the environment into the plan"),
    ("env::args", Scope::PureOutsideTests, "cli reads the arguments into the plan"),
    ("process::exit", Scope::ProgramOutsideTests, "return an error or an exit code to main"),
    ("thread_rng", Scope::Pure, RANDOM),
    ("rand::rng", Scope::Pure, RANDOM),
    ("from_os_rng", Scope::Pure, RANDOM),
    ("getrandom", Scope::Pure, RANDOM),
    ("RandomState::new", Scope::Pure, RANDOM),
    ("println!", Scope::LibrariesOutsideTests, PRINT),
    ("eprintln!", Scope::LibrariesOutsideTests, PRINT),
    ("print!", Scope::LibrariesOutsideTests, PRINT),
    ("eprint!", Scope::LibrariesOutsideTests, PRINT),
    (".unwrap()", Scope::ProgramOutsideTests, "use `?`, a match, or expect(\"why it holds\")"),
    ("unsafe", Scope::SafeCrates, "move it to crate io, behind a safe function"),
    ("todo!", Scope::Everywhere, UNFINISHED),
    ("unimplemented!", Scope::Everywhere, UNFINISHED),
    ("dbg!", Scope::Everywhere, "remove it"),
    ("#[ignore", Scope::Everywhere, "make the test fit to run or remove it"),
    ("[allow(", Scope::Everywhere, "use #[expect(.., reason = \"..\")]"),
];

/// Words in comments that promise work instead of doing it. In two parts so that this file does
/// not break its own rule.
const PROMISES: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// Every banned call and every promise in a file.
pub(super) fn check(source: &Source<'_>) -> Vec<Finding> {
    let is_build_script = source.path.ends_with("/build.rs");
    let name = if is_build_script { BUILD_SCRIPT } else { source.crate_name() };
    let mut findings = Vec::new();
    for (index, (code, line)) in source.code.iter().zip(&source.lines).enumerate() {
        for (needle, scope, instead) in RULES {
            if scope.holds(name, source.is_test[index]) && find_word(code, needle).is_some() {
                let message = format!("`{needle}` is banned here: {instead}");
                findings.push(Finding::new(source.path, index + 1, message));
            }
        }
        for promise in PROMISES {
            if find_word(line, promise).is_some() {
                let message = format!("{promise}: open an issue or do it");
                findings.push(Finding::new(source.path, index + 1, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn banned(path: &str, text: &str) -> Vec<(usize, String)> {
        let findings = check(&Source::new(path, text)).into_iter();
        findings.map(|finding| (finding.line, finding.message)).collect()
    }

    #[test]
    fn what_is_banned_where() {
        let core = "crates/core/src/a.rs";
        let io = "crates/io/src/a.rs";
        let cli = "crates/cli/src/a.rs";
        let xtask = "xtask/src/a.rs";
        let bench = "bench/bare/src/main.rs";
        let build = "crates/core/build.rs";
        let test = "crates/engine/tests/a.rs";
        for (text, bad, good) in [
            ("let t = Instant::now();", vec![core], vec![io, cli, test]),
            ("let t = std::time::SystemTime::now();", vec![core], vec![io]),
            ("std::thread::sleep(d);", vec![core, test], vec![io, cli]),
            ("use std::net::TcpStream;", vec![core], vec![io, test]),
            ("use std::net::{SocketAddr, UdpSocket};", vec![core], vec![io]),
            ("std::env::var(\"X\")", vec![core], vec![cli, xtask, build]),
            ("std::process::exit(1)", vec![core, cli], vec![xtask]),
            ("let r = rand::rng();", vec![core, test], vec![io]),
            ("println!(\"x\")", vec![core, io], vec![cli, xtask, test, build]),
            ("x.unwrap()", vec![core, io, cli], vec![xtask, test]),
            ("unsafe { f() }", vec![core, cli, test], vec![io, bench]),
            ("todo!()", vec![core, io, cli, xtask, bench, test, build], vec![]),
            ("dbg!(x)", vec![core, test], vec![]),
            ("#[ignore]", vec![core, test], vec![]),
            ("#[ignore = \"slow\"]", vec![core, test], vec![]),
            ("#[allow(dead_code)]", vec![core, test], vec![]),
            ("#![allow(dead_code)]", vec![core, test], vec![]),
        ] {
            for path in bad {
                assert_eq!(banned(path, text).len(), 1, "{text} in {path}");
            }
            for path in good {
                assert_eq!(banned(path, text), [], "{text} in {path}");
            }
        }
    }

    #[test]
    fn what_only_looks_banned() {
        for text in [
            "// Instant::now() is not called here",
            "let text = \"unsafe { todo!() }\";",
            "let my_unsafe = x.unwrap_or(1);",
            "#[cfg(test)]\nmod tests {\n    fn f() { x.unwrap(); println!() }\n}",
            "fn now(clock: MyInstant) { MyInstant::now() }",
            "#[expect(dead_code, reason = \"r\")]",
            "disallow(x)",
        ] {
            assert_eq!(banned("crates/core/src/a.rs", text), [], "{text}");
        }
    }

    #[test]
    fn promises_are_found_in_comments() {
        let text = format!("// {}: later\nlet x = \"xTO{}\";", PROMISES[0], "DOx");
        let want = format!("{}: open an issue or do it", PROMISES[0]);
        assert_eq!(banned("crates/core/src/a.rs", &text), [(1, want)]);
    }

    #[test]
    fn a_finding_names_the_line_and_the_replacement() {
        assert_eq!(
            banned("crates/proto/src/a.rs", "\n\nx.unwrap();"),
            [(
                3,
                "`.unwrap()` is banned here: use `?`, a match, or expect(\"why it holds\")"
                    .to_owned()
            )]
        );
    }
}

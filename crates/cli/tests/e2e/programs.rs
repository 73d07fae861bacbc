//! Other people's programs, and packages of their interpreters.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Tests that judge times or CPU use write-lock the machine, because two loads at once would
/// measure each other. Tests that count, or only wait, share it.
static MACHINE: RwLock<()> = RwLock::new(());

/// The right to use the machine while other tests that share it do.
pub(crate) struct Share(
    #[expect(dead_code, reason = "held, not read")] RwLockReadGuard<'static, ()>,
);

/// The right to use the machine alone.
pub(crate) struct Turn(
    #[expect(dead_code, reason = "held, not read")] RwLockWriteGuard<'static, ()>,
);

// A test that failed holding the lock has left nothing behind it: poison is no reason to stop.

/// Waits until no test has the machine to itself; `None` when a program is missing and may be.
///
/// # Panics
/// When a program is missing, `PLIMSOLL_E2E=require` is set, and `PLIMSOLL_E2E_OPTIONAL` does not
/// name it.
pub(crate) fn share_with(names: &[&str]) -> Option<Share> {
    is_here(names).then(|| Share(MACHINE.read().unwrap_or_else(PoisonError::into_inner)))
}

/// Waits until this test has the machine to itself; `None` when a program is missing and may be.
///
/// # Panics
/// When a program is missing, `PLIMSOLL_E2E=require` is set, and `PLIMSOLL_E2E_OPTIONAL` does not
/// name it.
pub(crate) fn turn_with(names: &[&str]) -> Option<Turn> {
    is_here(names).then(|| Turn(MACHINE.write().unwrap_or_else(PoisonError::into_inner)))
}

fn is_here(names: &[&str]) -> bool {
    for name in names {
        let (is_there, text) = match name.split_once(':') {
            Some((program, package)) => {
                let is_there = is_on_path(program) && has_package(program, package);
                (is_there, format!("skipped: {program} has no package {package}"))
            }
            None => (is_on_path(name), format!("skipped: no {name} on the PATH")),
        };
        if !is_there {
            let is_required = std::env::var("PLIMSOLL_E2E").as_deref() == Ok("require");
            assert!(!is_required || is_optional(name), "{text}");
            writeln!(std::io::stderr(), "{text}").expect("stderr");
            return false;
        }
    }
    true
}

/// Whether a program may still be missing, because no package manager has it.
fn is_optional(name: &str) -> bool {
    let optional = std::env::var("PLIMSOLL_E2E_OPTIONAL").unwrap_or_default();
    optional.split(',').any(|it| it == name)
}

/// Whether a program is there.
pub(crate) fn is_on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|directory: PathBuf| directory.join(name)).any(|p| p.is_file())
}

/// Whether an interpreter finds a package.
fn has_package(program: &str, package: &str) -> bool {
    let code = match program {
        "node" => ["-e".to_owned(), format!("require({package:?})")],
        _ => ["-c".to_owned(), format!("import {package}")],
    };
    let mut command = Command::new(program);
    command.args(code).stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A process and those it has started.
pub(crate) fn processes(root: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{root}/task")).expect("a running server");
    let mut all = vec![root];
    for thread in threads {
        let path = thread.expect("a thread").path().join("children");
        let children = fs::read_to_string(path).expect("a list of children");
        all.extend(children.split_whitespace().map(|pid| pid.parse::<u32>().expect("a number")));
    }
    all
}

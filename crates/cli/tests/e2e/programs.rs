//! Other people's programs.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

/// Two loads at once would measure each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The right to run these programs, alone.
pub(crate) struct Turn(#[expect(dead_code, reason = "held, not read")] MutexGuard<'static, ()>);

/// Waits for this test's turn; `None` when a program is missing and may be.
///
/// # Panics
/// When a program is missing and `PLIMSOLL_E2E=require` is set.
pub(crate) fn turn_with(names: &[&str]) -> Option<Turn> {
    for name in names {
        if !is_on_path(name) {
            let text = format!("skipped: no {name} on the PATH");
            assert!(std::env::var("PLIMSOLL_E2E").as_deref() != Ok("require"), "{text}");
            writeln!(std::io::stderr(), "{text}").expect("stderr");
            return None;
        }
    }
    // A test that failed holding the lock has left nothing behind it.
    Some(Turn(ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner)))
}

/// Whether a program is there.
pub(crate) fn is_on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|directory: PathBuf| directory.join(name)).any(|p| p.is_file())
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

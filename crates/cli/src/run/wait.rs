//! `--wait`: waits for a server that is still starting. It tries to open a connection, in the way
//! that the load will open its own, again and again. A request would show more, but it may change
//! something on the server.

use std::thread;
use std::time::{Duration, Instant};

use plimsoll_core::Plan;
use plimsoll_core::units::{format_duration, format_ns};
use plimsoll_engine::{Control, RunError};

use super::explain;
use crate::ending::say;
use crate::exit::Exit;

/// From the end of an attempt to the next.
const PAUSE: Duration = Duration::from_millis(100);

/// How long an attempt may take. TCP sends a lost SYN again after one second and after three.
const ATTEMPT_NS_MAX: u64 = 5_000_000_000;

/// How long the last attempt may take, even if less time is left.
const ATTEMPT_NS_MIN: u64 = 100_000_000;

/// Waits until a connection of the plan opens, the run is stopped, or `limit_ns` is over. Reports
/// the wait on stderr unless `is_quiet`.
///
/// # Errors
/// Why no connection opened, and a plan that cannot be carried out.
pub(super) fn for_server(
    plan: &Plan,
    limit_ns: u64,
    control: &Control,
    is_quiet: bool,
) -> Result<(), Exit> {
    let tell = |line: String| {
        if !is_quiet {
            say(&[line]);
        }
    };
    let began = Instant::now();
    let mut has_failed = false;
    loop {
        let waited_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let left_ns = limit_ns.saturating_sub(waited_ns);
        let attempt_ns = left_ns.clamp(ATTEMPT_NS_MIN, ATTEMPT_NS_MAX);
        let error = match plimsoll_engine::probe(plan, attempt_ns, control) {
            Ok(()) if has_failed => {
                tell(format!("waited {} for the server", format_ns(waited_ns)));
                return Ok(());
            }
            Ok(()) => return Ok(()),
            Err(_) if control.is_stopped() => return Ok(()),
            Err(error) => error,
        };
        let is_over = began.elapsed() + PAUSE > Duration::from_nanos(limit_ns);
        if is_over || !is_absent(&error) {
            return Err(given_up(error, limit_ns));
        }
        if !has_failed {
            tell(format!("waiting up to {} for the server: {error}", format_duration(limit_ns)));
        }
        has_failed = true;
        thread::sleep(PAUSE);
    }
}

/// Whether the server may still come. Its name may not be known before it starts.
fn is_absent(error: &RunError) -> bool {
    matches!(error, RunError::Unreachable { .. } | RunError::Resolve(_))
}

fn given_up(error: RunError, limit_ns: u64) -> Exit {
    let limit = format_duration(limit_ns);
    match error {
        RunError::Unreachable { address, reason } => Exit::CouldNotRun(format!(
            "no connection to {address} could be opened in {limit} (--wait): {reason}"
        )),
        RunError::Resolve(reason) => {
            Exit::CouldNotRun(format!("{reason} (tried for {limit}, --wait)"))
        }
        other => explain(other),
    }
}

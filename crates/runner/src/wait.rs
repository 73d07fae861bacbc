//! Waits for a server that is still starting. It tries to open a connection, in the way
//! that the load will open its own, again and again. A request would show more, but it may change
//! something on the server.

use std::thread;
use std::time::{Duration, Instant};

use plimsoll_core::Plan;
use plimsoll_core::scenario::Scenarios;
use plimsoll_engine::{Control, RunError};

use crate::error::RunnerError;
use crate::news::News;

/// From the end of an attempt to the next.
const PAUSE: Duration = Duration::from_millis(100);

/// How long an attempt may take. TCP sends a lost SYN again after one second and after three.
const ATTEMPT_NS_MAX: u64 = 5_000_000_000;

/// How long the last attempt may take, even if less time is left.
const ATTEMPT_NS_MIN: u64 = 100_000_000;

/// Waits until a connection of each plan opens, one after the other, the run is stopped, or
/// `limit_ns` is over. Tells of the wait if the first attempt fails.
///
/// # Errors
/// Why no connection opened, and a plan that cannot be carried out.
pub(crate) fn for_servers(
    scenarios: &Scenarios,
    limit_ns: u64,
    control: &Control,
    on_news: &mut dyn FnMut(News<'_>),
) -> Result<(), RunnerError> {
    let began = Instant::now();
    let mut has_failed = false;
    for scenario in scenarios.list() {
        let wait = Wait { began, limit_ns, control };
        wait.for_server(&scenario.plan, &mut has_failed, on_news)?;
    }
    if has_failed && !control.is_stopped() {
        let waited_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        on_news(News::Waited { waited_ns });
    }
    Ok(())
}

/// A wait under way.
struct Wait<'a> {
    began: Instant,
    limit_ns: u64,
    control: &'a Control,
}

impl Wait<'_> {
    /// Waits for one server. `has_failed` says whether any attempt of the wait has.
    fn for_server(
        &self,
        plan: &Plan,
        has_failed: &mut bool,
        on_news: &mut dyn FnMut(News<'_>),
    ) -> Result<(), RunnerError> {
        let Self { began, limit_ns, control } = *self;
        loop {
            let waited_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let left_ns = limit_ns.saturating_sub(waited_ns);
            let attempt_ns = left_ns.clamp(ATTEMPT_NS_MIN, ATTEMPT_NS_MAX);
            let error = match plimsoll_engine::probe(plan, attempt_ns, control) {
                Ok(()) => return Ok(()),
                Err(_) if control.is_stopped() => return Ok(()),
                Err(error) => error,
            };
            if !is_absent(&error) {
                return Err(error.into());
            }
            if began.elapsed() + PAUSE > Duration::from_nanos(limit_ns) {
                return Err(RunnerError::NoServer { limit_ns, error });
            }
            if !*has_failed {
                on_news(News::Waiting { limit_ns, reason: &error });
            }
            *has_failed = true;
            thread::sleep(PAUSE);
        }
    }
}

/// Whether the server may still come. Its name may not be known before it starts.
fn is_absent(error: &RunError) -> bool {
    matches!(error, RunError::Unreachable { .. } | RunError::Resolve(_))
}

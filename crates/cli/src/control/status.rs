//! The state of a run, for clients of the control socket: updated from what the engine reports once
//! a second.

use std::sync::{Mutex, MutexGuard};

use plimsoll_core::Plan;
use plimsoll_core::histogram::Packed;
use plimsoll_core::schedule::Profile;
use plimsoll_core::series::Point;
use plimsoll_engine::Progress;
use serde_json::{Value, json};

/// What is known of a run that goes on.
#[derive(Debug)]
pub(super) struct Status {
    warmup_ns: u64,
    duration_ns: Option<u64>,
    requests: Option<u64>,
    profile: Option<Profile>,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Default)]
struct State {
    /// When the load began.
    started_ns: Option<u64>,
    /// Connections asked for last.
    connections: u32,
    opened: Option<u32>,
    /// The rate set while it ran, in place of the plan's.
    rate_uhz: Option<u64>,
    /// Counts of all whole seconds.
    sum: Point,
    last: Option<Point>,
}

impl Status {
    pub(super) fn new(plan: &Plan) -> Self {
        let state = State { connections: plan.connections, ..State::default() };
        Self {
            warmup_ns: plan.warmup_ns,
            duration_ns: plan.duration_ns,
            requests: plan.requests,
            profile: plan.rate.clone(),
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic under the lock")
    }

    /// Takes news of the run.
    pub(super) fn note(&self, progress: &Progress<'_>, now_ns: u64) {
        let mut state = self.state();
        match progress {
            Progress::Started { open } => {
                state.started_ns = Some(now_ns);
                state.opened = Some(*open);
            }
            Progress::Measuring => {}
            Progress::Interval(point) => {
                let (response, service) = Default::default();
                // Times of all seconds together would have to be unpacked, and nobody asks.
                state.sum.merge(&Point { response, service, ..(*point).clone() });
                state.last = Some((*point).clone());
            }
        }
    }

    pub(super) fn set_rate(&self, rate_uhz: u64) {
        self.state().rate_uhz = Some(rate_uhz);
    }

    pub(super) fn set_connections(&self, count: u32) {
        self.state().connections = count;
    }

    /// The answer to `status`.
    pub(super) fn report(&self, now_ns: u64) -> Value {
        let state = self.state().clone();
        let elapsed_ns = state.started_ns.map_or(0, |start_ns| now_ns.saturating_sub(start_ns));
        let phase = self.phase(&state, elapsed_ns);
        let sum = &state.sum;
        json!({
            "phase": phase,
            "elapsed_s": elapsed_ns as f64 / 1e9,
            "target_rps": self.target_rps(&state, phase, elapsed_ns),
            "connections": state.connections,
            "opened": state.opened,
            "ledger": {
                "sent": sum.sent,
                "shed": sum.shed,
                "completed": sum.completed,
                "ok": sum.ok,
                "failed": sum.failed,
                "refused": sum.refused,
                "timed_out": sum.timed_out,
                "broken": sum.broken,
            },
            "errors": sum.errors,
            "last_second": state.last.as_ref().map(last_second),
        })
    }

    fn phase(&self, state: &State, elapsed_ns: u64) -> &'static str {
        let measured_ns = elapsed_ns.saturating_sub(self.warmup_ns);
        if state.started_ns.is_none() {
            "opening"
        } else if elapsed_ns < self.warmup_ns {
            "warm_up"
        } else if self.duration_ns.is_some_and(|duration_ns| measured_ns >= duration_ns)
            || self.requests.is_some_and(|requests| state.sum.sent >= requests)
        {
            "draining"
        } else {
            "measuring"
        }
    }

    /// The rate that is aimed at now; `None` in a closed loop and for lists of times.
    fn target_rps(&self, state: &State, phase: &str, elapsed_ns: u64) -> Option<f64> {
        let profile = self.profile.as_ref()?;
        let rate_uhz = match phase {
            "draining" => 0.0,
            _ => match state.rate_uhz {
                Some(rate_uhz) => rate_uhz as f64,
                None => rate_at(profile, elapsed_ns.saturating_sub(self.warmup_ns)),
            },
        };
        Some(rate_uhz / 1e6)
    }
}

/// The rate of a profile at a time after its start, µHz.
fn rate_at(profile: &Profile, time_ns: u64) -> f64 {
    let mut left_ns = time_ns;
    for stage in &profile.stages {
        let (from, to) = (stage.from_uhz as f64, stage.to_uhz as f64);
        match stage.duration_ns {
            Some(duration_ns) if left_ns >= duration_ns => left_ns -= duration_ns,
            Some(duration_ns) => return from + (to - from) * left_ns as f64 / duration_ns as f64,
            None => return from,
        }
    }
    profile.stages.last().map_or(0.0, |stage| stage.to_uhz as f64)
}

fn last_second(point: &Point) -> Value {
    json!({
        "t_s": point.t_ns as f64 / 1e9,
        "sent": point.sent,
        "completed": point.completed,
        "failed": point.failed,
        "refused": point.refused,
        "timed_out": point.timed_out,
        "broken": point.broken,
        "response": times(&point.response),
        "service": times(&point.service),
    })
}

fn times(packed: &Packed) -> Value {
    let histogram = packed.unpack();
    let quantile = |q| histogram.quantile_ns(q).map(|ns| ns as f64 / 1e3);
    json!({
        "count": histogram.count(),
        "p50_us": quantile(0.5),
        "p90_us": quantile(0.9),
        "p99_us": quantile(0.99),
        "p999_us": quantile(0.999),
        "max_us": histogram.max_ns().map(|ns| ns as f64 / 1e3),
    })
}

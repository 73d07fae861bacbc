//! How fortio deals calls to threads, and when each of them is due: pure arithmetic.
//!
//! fortio gives each thread the same number of calls and stretches the time between two of them, so
//! that the last call of a thread falls at the end of the run and not one period before it. By
//! default all threads call at the same moments. Here, calls are spread evenly over the run
//! instead, first and last where fortio has them; `--as-original` keeps fortio's moments.

use plimsoll_core::random::{JITTER, Stream};

use super::command::Command;

/// The most calls whose times are kept one by one, 8 bytes each.
const TIMES_MAX: u64 = 10_000_000;

/// How calls are dealt to threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deal {
    /// Threads, each with a connection, or with a stream of one.
    pub threads: u32,
    /// Calls of each thread; 0: as many as the time takes.
    pub calls: i64,
    /// How many more the first thread makes; -1 where fortio says so of a single call.
    pub more: i64,
    /// What was changed for it.
    pub change: Change,
}

/// What was changed so that each thread makes two calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    None,
    /// There is one thread with two calls.
    Raised,
    /// There are fewer threads.
    Lowered {
        /// All calls.
        calls: i64,
        /// Threads before.
        from: u32,
    },
}

impl Deal {
    /// Of a command.
    #[must_use]
    pub fn of(command: &Command) -> Self {
        let Command { qps, threads, duration_ns, exactly, .. } = *command;
        let nothing = Self { threads, calls: 0, more: 0, change: Change::None };
        if qps <= 0.0 {
            let each = i64::from(threads);
            return Self { calls: exactly / each, more: exactly % each, ..nothing };
        }
        if exactly == 0 && duration_ns == 0 {
            return nothing;
        }
        let asked = match exactly {
            0 => (qps * (duration_ns as f64 / 1e9)) as i64,
            exactly => exactly,
        };
        let (calls, threads, mut change) = match asked {
            ..2 => (2, 1, Change::Raised),
            asked => (asked, threads, Change::None),
        };
        let most = u32::try_from(calls / 2).unwrap_or(u32::MAX);
        let lowered = threads.min(most);
        if lowered < threads {
            change = Change::Lowered { calls, from: threads };
        }
        let each = calls / i64::from(lowered);
        let all = each * i64::from(lowered);
        let more = if exactly > 0 { exactly - all } else { 0 };
        Self { threads: lowered, calls: each, more, change }
    }

    /// Calls of all threads; `None`: as many as the time takes.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        let all = self.calls.saturating_mul(i64::from(self.threads)).saturating_add(self.more);
        u64::try_from(all).ok().filter(|all| *all > 0)
    }
}

/// When calls are due.
#[derive(Debug, Clone, PartialEq)]
pub enum Schedule {
    /// When a connection is free.
    Closed,
    /// Evenly, at this rate, the first at 0.
    Even {
        /// Calls per second, millionths.
        rate_uhz: u64,
        /// Time between two of them, ns.
        gap_ns: u64,
    },
    /// At these times, ns, in order.
    Times(Vec<u64>),
}

/// More calls than can be kept one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany;

/// When the calls of a command are due.
///
/// # Errors
/// Times have to be kept one by one, and there are too many or no end of them.
pub fn schedule(command: &Command, deal: &Deal) -> Result<Schedule, TooMany> {
    if !command.has_rate() {
        return Ok(Schedule::Closed);
    }
    if !command.jitter && !command.as_original {
        return Ok(even(command, deal));
    }
    let total = deal.total().filter(|total| *total <= TIMES_MAX).ok_or(TooMany)?;
    let mut times = Vec::with_capacity(total as usize);
    let random = Stream::new(command.run_id as u64, JITTER);
    let within = |place: usize, limit_ns: f64| {
        let unit = random.word(place as u64) as f64 / u64::MAX as f64;
        limit_ns * (2.0 * unit - 1.0)
    };
    for thread in 0..deal.threads {
        let more = if thread == 0 { deal.more } else { 0 };
        let pace = Pace::of(command, deal, thread);
        let calls = deal.calls + more;
        for call in 0..calls {
            let due_ns = pace.due_ns(call, calls);
            // A first call has no sleep before it that could vary.
            let varies = command.jitter && call > 0;
            let limit_ns = if varies { pace.gap_ns(calls) / 10.0 } else { 0.0 };
            times.push((due_ns + within(times.len(), limit_ns)).max(0.0) as u64);
        }
    }
    times.sort_unstable();
    Ok(Schedule::Times(times))
}

/// As many calls one after the other, each thread's rate added up. Where the first thread makes
/// more calls than the others, fortio's last ones are its alone, and later than here.
fn even(command: &Command, deal: &Deal) -> Schedule {
    let qps = command.qps;
    // The calls of a thread take as long as its rate says, the stretched gaps included.
    let rate = match deal.total() {
        Some(total) if total > 1 => (total - 1) as f64 * qps / total as f64,
        _ => qps,
    };
    Schedule::Even {
        rate_uhz: (rate * 1e6).round().max(1.0) as u64,
        gap_ns: (1e9 / rate).ceil() as u64,
    }
}

/// The pace of a thread.
#[derive(Debug, Clone, Copy)]
struct Pace {
    /// Calls per second.
    qps: f64,
    /// When its first call is due, ns.
    shift_ns: f64,
}

impl Pace {
    fn of(command: &Command, deal: &Deal, thread: u32) -> Self {
        let shift_ns = match command.uniform {
            true => f64::from(thread) * 1e9 / command.qps,
            false => 0.0,
        };
        Self { qps: command.qps / f64::from(deal.threads), shift_ns }
    }

    /// When call `index` of `calls` is due, ns.
    fn due_ns(self, index: i64, calls: i64) -> f64 {
        self.shift_ns + index as f64 * self.gap_ns(calls)
    }

    /// From one call to the next: stretched by one gap over all of them.
    fn gap_ns(self, calls: i64) -> f64 {
        let stretch = if calls > 1 { 1.0 + 1.0 / (calls - 1) as f64 } else { 1.0 };
        1e9 * stretch / self.qps
    }
}

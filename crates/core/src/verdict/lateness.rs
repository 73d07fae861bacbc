//! Finds a late tester: which of the quantiles in a report contain its delay.
//!
//! A response time counts from when its request was due, so it contains the tester's own lateness
//! and is at no quantile less than that. Lateness of a tenth of the response time at the same
//! quantile distorts that figure. The same lateness beside slower responses distorts nothing.

use super::{Cause, Evidence, Verdict, cause, note};
use crate::Histogram;
use crate::units::format_ns;

/// Below this, lateness is noise whatever the server's speed.
pub(crate) const LATENESS_FLOOR_NS: u64 = 100_000;
/// From here on lateness may be most of a figure.
const LATENESS_WORSE_NS: u64 = 10 * LATENESS_FLOOR_NS;
/// Where the quantile of `late_tail` stands in [`QUOTED`].
const TAIL: usize = QUOTED.len() - 1;

/// A quantile that reports quote, and what is needed to judge it.
#[derive(Debug, Clone, Copy)]
pub struct QuotedQuantile {
    /// The quantile, 0 to 1.
    pub q: f64,
    pub(super) name: &'static str,
    /// The requests beyond it, as people say it.
    pub(super) beyond: &'static str,
    /// Fewer requests than this say nothing of it.
    pub(super) samples: u64,
}

/// The quantiles at which the tester's lateness is compared with the response time.
pub const QUOTED: [QuotedQuantile; 6] = [
    QuotedQuantile { q: 0.5, name: "p50", beyond: "half", samples: 1 },
    QuotedQuantile { q: 0.75, name: "p75", beyond: "25 %", samples: 40 },
    QuotedQuantile { q: 0.9, name: "p90", beyond: "10 %", samples: 100 },
    QuotedQuantile { q: 0.95, name: "p95", beyond: "5 %", samples: 200 },
    QuotedQuantile { q: 0.99, name: "p99", beyond: "1 %", samples: 1_000 },
    QuotedQuantile { q: 0.999, name: "p99.9", beyond: "0.1 %", samples: 10_000 },
];

impl QuotedQuantile {
    /// As people write it: `p99`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Fewer requests than this say nothing of it.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples
    }
}

/// The tester's lateness and the response time at one quantile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quoted {
    /// How late the tester itself sent, ns.
    pub lateness_ns: u64,
    /// The response time, ns.
    pub response_ns: u64,
}

impl Quoted {
    /// Both histograms at each of the quantiles [`QUOTED`]; empty ones have zeros.
    #[must_use]
    pub fn of(lateness: &Histogram, response: &Histogram) -> [Self; QUOTED.len()] {
        QUOTED.map(|QuotedQuantile { q, .. }| Self {
            lateness_ns: lateness.quantile_ns(q).unwrap_or(0),
            response_ns: response.quantile_ns(q).unwrap_or(0),
        })
    }

    /// A tenth of the figure or more is the tester's.
    pub(super) fn is_distorted(self) -> bool {
        self.lateness_ns > LATENESS_FLOOR_NS.max(self.response_ns / 10)
    }

    /// Half of the figure or more is the tester's.
    pub(super) fn is_lost(self) -> bool {
        self.lateness_ns > LATENESS_WORSE_NS.max(self.response_ns / 2)
    }
}

/// Any of the quantiles up to p99 that has samples enough is distorted.
pub(super) fn late(e: &Evidence) -> Option<Cause> {
    if !e.open_loop {
        return None;
    }
    let quoted = QUOTED.iter().zip(e.quoted).take(TAIL);
    let known: Vec<_> = quoted.filter(|(at, _)| e.sent >= at.samples).collect();
    let distorted: Vec<_> = known.iter().filter(|(_, quoted)| quoted.is_distorted()).collect();
    let (last, worst) = distorted.last()?;
    let names: Vec<&str> = distorted.iter().map(|(at, _)| at.name).collect();
    // A quantile with too few samples to be judged is no better than those below it.
    let is_last_known = known.last().is_some_and(|(at, _)| at.name == last.name);
    let more = if is_last_known && known.len() < TAIL { " and everything above" } else { "" };
    // A script's run has neither flag, and a plan that spins already does not need that one.
    let (did, what, how) = match (e.vus.are_there(), e.spins_always) {
        (true, _) => ("started", "iterations", ""),
        (false, true) => ("sent", "requests", " (--pin)"),
        (false, false) => ("sent", "requests", " (--pin, --spin on)"),
    };
    let text = format!(
        "the tester itself {did} {} of the {what} {} late or more: doubt {}{}; give it a CPU of \
         its own{how}, and ask `plimsoll doctor` what is in its way",
        last.beyond,
        format_ns(worst.lateness_ns),
        names.join(", "),
        more,
    );
    let is_lost = distorted.iter().any(|(_, quoted)| quoted.is_lost());
    cause(if is_lost { Verdict::Invalid } else { Verdict::Suspect }, "late", text)
}

/// The tail beyond p99 is the tester's when its own lateness makes up most of it.
pub(super) fn late_tail(e: &Evidence) -> Option<Cause> {
    let quoted = e.quoted[TAIL];
    if !e.open_loop || e.sent < QUOTED[TAIL].samples || !quoted.is_lost() || late(e).is_some() {
        return None;
    }
    let did = match e.vus.are_there() {
        true => "iteration in a thousand was started",
        false => "request in a thousand was sent",
    };
    let text = format!(
        "one {did} {} late or more: the tail beyond p99 is the tester's host as much as the server",
        format_ns(quoted.lateness_ns)
    );
    cause(Verdict::Suspect, "late_tail", text)
}

/// The workers stopped spinning on the way, so that the figures are of two kinds.
pub(super) fn gave_way(e: &Evidence) -> Option<Cause> {
    let text = format!(
        "others needed the CPUs, so the tester stopped spinning after {}: from then on each \
         request is late by a wake-up. Give the server CPUs of its own, or set --spin on or off",
        format_ns(e.gave_way_ns?)
    );
    note("gave_way", text)
}

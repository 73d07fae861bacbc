//! Where the time of requests went, phase by phase: the rows that the text, Markdown and HTML views
//! show, each in its own words and layout.

use plimsoll_core::doubt::Figure;
use plimsoll_core::{Histogram, Phase, RunResult};

use crate::tail::Times;

/// One row: a phase, or the lag that comes before the first of them.
pub(crate) struct PhaseRow<'a> {
    /// One word, for the narrow table of the text view. `None` for the lag: that view shows only
    /// its two parts.
    pub(crate) short: Option<&'static str>,
    /// The term.
    pub(crate) name: &'static str,
    /// What happens, for readers who don't know the term. Parts of the lag are indented.
    pub(crate) words: &'static str,
    pub(crate) histogram: &'a Histogram,
}

impl<'a> PhaseRow<'a> {
    /// Its times. Those of the tester's lateness are true: they are what causes doubt elsewhere.
    pub(crate) fn times(&self, result: &'a RunResult) -> Times<'a> {
        match self.name {
            "lateness" => Times::sure(self.histogram),
            "dns" | "connect" | "tls" | "greeting" => {
                Times::of_some(Figure::Connections, self.histogram, result)
            }
            _ => Times::of_some(Figure::Phases, self.histogram, result),
        }
    }
}

/// The rows that took any time, in the order in which a request goes through them. The lag is the
/// sum of the two rows after it: the wait for a connection and the tester's own lateness.
pub(crate) fn phases(result: &RunResult) -> impl Iterator<Item = PhaseRow<'_>> {
    let of = |phase: Phase| &result.phases[phase];
    let late = &result.loader.lateness;
    let rows = [
        (None, "lag", "lag: due, not yet sent", &result.lag),
        (Some("blocked"), "blocked", "\u{2003}waiting for a connection", of(Phase::Blocked)),
        (Some("lateness"), "lateness", "\u{2003}the tester's own delay in sending", late),
        (Some("dns"), "dns", "looking the name up", of(Phase::Dns)),
        (Some("connect"), "connect", "opening a connection", of(Phase::Connect)),
        (Some("tls"), "tls", "TLS handshake", of(Phase::Tls)),
        (Some("greeting"), "greeting", "greeting of the protocol", of(Phase::Greeting)),
        (Some("sending"), "sending", "sending", of(Phase::Sending)),
        (Some("stalled"), "stalled", "\u{2003}held back by flow control", of(Phase::Stalled)),
        (Some("waiting"), "waiting", "waiting for the first byte", of(Phase::Waiting)),
        (Some("receiving"), "receiving", "receiving", of(Phase::Receiving)),
    ];
    rows.into_iter()
        .map(|(short, name, words, histogram)| PhaseRow { short, name, words, histogram })
        .filter(|row| row.histogram.max_ns().is_some_and(|max_ns| max_ns > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn phases_that_took_no_time_are_not_shown() {
        let mut result = samples::steady();
        let names = |result: &RunResult| phases(result).map(|row| row.name).collect::<Vec<_>>();
        let before = names(&result);
        assert!(before.contains(&"sending") && !before.contains(&"stalled"), "{before:?}");
        result.phases[Phase::Stalled].record(1_000);
        let after = names(&result);
        let at = after.iter().position(|name| *name == "stalled").unwrap();
        assert_eq!((after.len(), after[at - 1]), (before.len() + 1, "sending"));
    }
}

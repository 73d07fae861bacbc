//! Which figures of a run are in doubt, one by one: the marks of a study's cells.
//!
//! Doubt about one figure takes nothing from the others of its run. A figure in doubt is shown with
//! its mark, and neither ranked nor compared. Doubt comes from the touches of the run's causes; the
//! arithmetic is that of [`doubt`](crate::doubt). Percentiles of Plimsoll's own runs have their
//! marks from the whole histogram, when the study is written. Those of other testers are marked
//! with what the lab saw of the host ([`Figures::mark`]).
//!
//! Causes in documents of earlier versions have no touches. There, a run that was called invalid is
//! in doubt in everything but its counts, and a suspect one in nothing.

use serde::{Deserialize, Serialize};

use super::{CaseRun, Column, Figures, Measure, Quantile, quantile};
use crate::confidence::reason;
use crate::doubt::{Bounds, Doubts, Figure, Interval};
use crate::histogram::Histogram;
use crate::verdict::{Cause, Verdict};

/// Doubt of times below this is noise, s.
const TIME_FLOOR_S: f64 = 0.0001;
/// And below this share of the value.
const TIME_SHARE: f64 = 0.1;
/// Doubt of rates, counts and usage below this share of the value does not matter.
const VALUE_SHARE: f64 = 0.05;
/// Requests of the distribution that is made of another tester's percentiles.
const MODEL_REQUESTS: u32 = 10_000;

/// On which side of a figure the true value may lie, far enough to matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Below: the figure is the most that it may be.
    AtMost,
    /// Above: the figure is the least that it may be.
    AtLeast,
    /// On either side.
    About,
}

impl Mark {
    /// That of a value whose true value lies in an interval; none if no end of it is further away
    /// than the tolerance.
    #[must_use]
    pub fn of(interval: Interval, value: f64, tolerance: f64) -> Option<Self> {
        match (interval.low < value - tolerance, interval.high > value + tolerance) {
            (true, true) => Some(Self::About),
            (true, false) => Some(Self::AtMost),
            (false, true) => Some(Self::AtLeast),
            (false, false) => None,
        }
    }

    /// Its sign in front of a figure.
    #[must_use]
    pub fn sign(self) -> char {
        match self {
            Self::AtMost => '≤',
            Self::AtLeast => '≥',
            Self::About => '≈',
        }
    }

    /// Its name in documents.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::AtMost => "at_most",
            Self::AtLeast => "at_least",
            Self::About => "about",
        }
    }

    /// What its sign means.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::AtMost => "the true value may be lower",
            Self::AtLeast => "the true value may be higher",
            Self::About => "the true value may be lower or higher",
        }
    }

    /// That of a value with both marks.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        if self == other { self } else { Self::About }
    }

    /// That of one divided by the value.
    fn inverted(self) -> Self {
        match self {
            Self::AtMost => Self::AtLeast,
            Self::AtLeast => Self::AtMost,
            Self::About => Self::About,
        }
    }
}

/// Both, where there are two.
fn both(one: Option<Mark>, other: Option<Mark>) -> Option<Mark> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.and(other)),
        (one, other) => one.or(other),
    }
}

impl Quantile {
    /// The quantile `q` of times, with its marks; none without times.
    pub(super) fn of(
        doubts: &Doubts<'_>,
        figure: Figure,
        times: &Bounds<'_>,
        q: f64,
    ) -> Option<Self> {
        let ns = times.all().quantile_ns(q)? as f64;
        // What requests without a response can do is the business of the other mark.
        let alone = Bounds::new(times.all(), 0, 0);
        let interval = doubts.quantile_ns(figure, &alone, q);
        let is_lower_bound = times.is_lower_bound(q);
        Some(Self { q, s: ns / 1e9, is_lower_bound, doubt: time_mark(interval, ns / 1e9) })
    }

    /// Where the true value may lie, because of doubt or because requests had no whole response.
    #[must_use]
    pub fn mark(&self) -> Option<Mark> {
        both(self.doubt, self.is_lower_bound.then_some(Mark::AtLeast))
    }
}

/// The mark of a time in seconds whose interval is in ns.
pub(super) fn time_mark(interval_ns: Interval, s: f64) -> Option<Mark> {
    Mark::of(interval_ns.times(1e-9), s, TIME_FLOOR_S.max(s * TIME_SHARE))
}

impl Figures {
    /// Marks the times of a tester that does not judge itself with what causes can have done to
    /// them. All that is known of the distribution is the percentiles that the tester gave; between
    /// two of them times are taken to be spread evenly.
    pub fn mark(&mut self, causes: &[Cause]) {
        let doubts = doubts_said(causes);
        for (quantiles, figure) in
            [(&mut self.latency, Figure::Response), (&mut self.service, Figure::Service)]
        {
            let times = distribution(quantiles);
            for quantile in quantiles {
                let bounds = Bounds::new(&times, 0, 0);
                let interval = doubts.quantile_ns(figure, &bounds, quantile.q);
                quantile.doubt = time_mark(interval, quantile.s);
            }
        }
        let of = |s: f64| time_mark(doubts.of_times(Figure::Response, s * 1e9), s);
        self.mean_doubt = self.mean_s.and_then(of);
        self.max_doubt = self.max_s.and_then(of);
    }

    /// Takes the marks of the same run, and the tester's own delay, from figures that were made of
    /// its whole result.
    pub fn take_marks(&mut self, of_result: &Self) {
        for (ours, theirs) in
            [(&mut self.latency, &of_result.latency), (&mut self.service, &of_result.service)]
        {
            for it in ours {
                let known = quantile(theirs, it.q);
                it.doubt = known.and_then(|known| known.doubt);
                it.is_lower_bound = known.is_some_and(|known| known.is_lower_bound);
            }
        }
        (self.mean_doubt, self.max_doubt) = (of_result.mean_doubt, of_result.max_doubt);
        self.take_delay(of_result);
    }
}

/// Times with given percentiles, spread evenly between two of them. Beyond the last nothing is
/// known, so that these have no limit.
fn distribution(quantiles: &[Quantile]) -> Histogram {
    let mut times = Histogram::new();
    for rank in 1..=MODEL_REQUESTS {
        let q = f64::from(rank) / f64::from(MODEL_REQUESTS);
        let below = quantiles.iter().rfind(|it| it.q <= q).map_or((0.0, 0.0), |it| (it.q, it.s));
        let above = quantiles.iter().find(|it| it.q >= q).map(|it| (it.q, it.s));
        times.record(above.map_or(u64::MAX, |above| between(q, below, above)));
    }
    times
}

/// What lies at `q` on the line between two percentiles, ns.
fn between(q: f64, below: (f64, f64), above: (f64, f64)) -> u64 {
    let length = above.0 - below.0;
    let way = if length > 0.0 { (q - below.0) / length } else { 1.0 };
    ((below.1 + way * (above.1 - below.1)) * 1e9) as u64
}

/// What causes say of figures. A cause that says nothing touches nothing here.
fn doubts_said(causes: &[Cause]) -> Doubts<'_> {
    Doubts::of(causes.iter().flat_map(|cause| &cause.touches))
}

/// The figures that a measure depends on, which doubt touches as a whole.
fn figures_of(measure: Measure) -> &'static [Figure] {
    match measure {
        Measure::Rate | Measure::Responses => &[Figure::Achieved],
        Measure::Errors => &[Figure::Counts],
        Measure::CpuPerRequest => &[Figure::Server, Figure::Counts],
        Measure::Cpu | Measure::Rss | Measure::Pss | Measure::Processes | Measure::Threads => {
            &[Figure::Server]
        }
        Measure::Connections => &[Figure::Connections],
        // Times have marks of their own, searches say how they ended, and the lab sees what the
        // tester uses.
        _ => &[],
    }
}

impl CaseRun {
    /// Whether the run was called invalid by a version whose causes do not say which figures they
    /// touch.
    pub(super) fn is_invalid_as_a_whole(&self) -> bool {
        let is_unsaid = self.causes.iter().all(|cause| cause.touches.is_empty());
        self.verdict == Some(Verdict::Invalid) && is_unsaid
    }

    /// The doubt of a measure: on which side of it the true value may lie. `None`: the measure
    /// counts, unless the run failed.
    #[must_use]
    pub fn doubt(&self, measure: Measure) -> Option<Mark> {
        if self.is_invalid_as_a_whole() {
            let is_held =
                matches!(measure, Measure::Errors | Measure::TesterCpu | Measure::TesterRss);
            return (!is_held).then_some(Mark::About);
        }
        let figures = &self.figures;
        match measure {
            Measure::Latency(q) => quantile(&figures.latency, q)?.doubt,
            Measure::Service(q) => quantile(&figures.service, q)?.doubt,
            Measure::Message(time, q) => figures.message(time, q)?.doubt,
            Measure::Mean => figures.mean_doubt,
            Measure::Max => figures.max_doubt,
            _ => {
                let doubts = doubts_said(&self.causes);
                let of = |figure: &Figure| Mark::of(doubts.value(*figure, 1.0), 1.0, VALUE_SHARE);
                figures_of(measure).iter().map(of).fold(None, both)
            }
        }
    }

    /// Where the true value of a measure may lie: its doubt, and whether it is a lower bound.
    #[must_use]
    pub fn mark(&self, measure: Measure) -> Option<Mark> {
        let bound = measure.is_lower_bound(self).then_some(Mark::AtLeast);
        both(self.doubt(measure), bound)
    }

    /// Whether times that lead a report count; of testers without percentiles, the rate; of
    /// searches, the load line.
    #[must_use]
    pub fn has_leading_figure(&self) -> bool {
        let leading = [Measure::LoadLine, Measure::Latency(0.5), Measure::Latency(0.99)];
        let mut known = leading.into_iter().filter(|it| it.of(self).is_some()).peekable();
        match known.peek() {
            Some(_) => known.any(|measure| self.counts_for(measure)),
            None => Measure::Rate.of(self).is_some() && self.counts_for(Measure::Rate),
        }
    }

    /// Why figures of the run are in doubt, in a few words each, worst first.
    #[must_use]
    pub fn reasons(&self) -> Vec<&str> {
        let is_worse = |cause: &&Cause| cause.verdict > Verdict::Valid;
        let touches = |cause: &&Cause| !cause.touches.is_empty();
        let mut causes: Vec<&Cause> = self.causes.iter().filter(is_worse).collect();
        // Notes touch figures that a report does not lead with, and studies compare those too.
        if causes.is_empty() || self.verdict.is_none() {
            causes = self.causes.iter().filter(|it| is_worse(it) || touches(it)).collect();
        }
        let mut reasons: Vec<&str> = Vec::new();
        for cause in causes {
            let words = reason(&cause.code).unwrap_or(&cause.text);
            if !reasons.contains(&words) {
                reasons.push(words);
            }
        }
        reasons
    }
}

impl Column {
    /// Whether it counts in a run: both of its measures do.
    #[must_use]
    pub fn counts(&self, run: &CaseRun) -> bool {
        self.measures().all(|measure| run.counts_for(measure))
    }

    /// Where its true value in a run may lie.
    #[must_use]
    pub fn mark(&self, run: &CaseRun) -> Option<Mark> {
        let over = self.over.and_then(|over| run.mark(over)).map(Mark::inverted);
        both(run.mark(self.measure), over)
    }

    /// The measure, and what it is divided by.
    pub fn measures(&self) -> impl Iterator<Item = Measure> + use<> {
        [Some(self.measure), self.over].into_iter().flatten()
    }
}

#[cfg(test)]
mod tests;

//! Conditions as objectives of a search for the highest rate that meets them: `p99<10ms`,
//! `errors<0.1%`, `mean<5ms`, `ok>99.9%`.
//!
//! A search has to know how far a probe's figure may be from the truth, so an objective is a mean
//! over requests: `p99<10ms` is "the share of requests over 10 ms is less than 1 %". Such sums add
//! up over seconds, workers and machines, and the seconds say how far they vary. A maximum has no
//! such form, and a rate is what the search looks for.

use super::custom::Subject;
use super::metric::{Metric, Source, Statistic, Tally, Timing};
use super::scope::Scope;
use super::value::Operator;
use super::{Condition, GateError, fault};
use crate::clock::Clock;
use crate::result::Unit;
use crate::series::Point;

/// At the limit's rate of exceeding, a response time is this many times rarer beyond the time that
/// [`Objective`] calls far, if the tail of the times is exponential.
const FAR_SHARE: f64 = 1e-6;

/// Times up to this multiple of the limit are never far: queues alone reach them.
const FAR_LEAST: f64 = 3.0;

/// What the search promises of the answer: on average over requests, less than a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    text: String,
    measure: Measure,
    limit: f64,
}

/// What of each request is averaged.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Measure {
    /// 1 for a request that took longer than the limit, or had no whole response. Far is a time
    /// that only a stall of the server explains, and not a queue.
    Over { clock: Clock, limit_ns: u64, far_ns: u64 },
    /// Its time, in ns.
    Time(Clock),
    /// 1 for a request that became this.
    Became(Tally),
    /// 1 for a request that did not become this.
    DidNotBecome(Tally),
}

/// An objective's sums over the requests of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tallied {
    /// Requests that count.
    pub among: u64,
    /// What the objective averages, summed up: requests that speak against it, or ns.
    pub against: u64,
    /// Requests that took more than half the limit, or had no whole response. What they show about
    /// clumps of slow requests holds for the fewer that took more than the limit too. 0 where the
    /// objective has no limit on single times.
    pub near: u64,
    /// Of the requests that speak against it, those so far over the limit that only a stall of the
    /// server explains them. 0 where the objective has no time to be over.
    pub far: u64,
}

impl Objective {
    /// Reads an objective, in the grammar of conditions.
    ///
    /// # Errors
    /// What cannot be read or cannot be searched for, and what is possible.
    pub fn parse(text: &str) -> Result<Self, GateError> {
        let condition = Condition::parse(text, &[])?;
        if condition.scope != Scope::Run {
            return Err(fault(text, "an objective is of all requests: leave out the part after @"));
        }
        let Subject::BuiltIn(metric) = &condition.subject else {
            return Err(fault(text, POSSIBLE));
        };
        let (measure, limit) = measure(*metric, &condition).map_err(|it| fault(text, it))?;
        condition.with_source(Source::Stretch)?;
        Ok(Self { text: condition.text, measure, limit })
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the average must stay below: a share from 0 to 1, or ns.
    #[must_use]
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// The limit on each request's time, ns, where there is one.
    #[must_use]
    pub fn time_limit_ns(&self) -> Option<u64> {
        match self.measure {
            Measure::Over { limit_ns, .. } => Some(limit_ns),
            Measure::Time(_) => Some(self.limit as u64),
            Measure::Became(_) | Measure::DidNotBecome(_) => None,
        }
    }

    /// How many requests a probe needs before it can show the objective met: ten that may speak
    /// against it.
    #[must_use]
    pub fn requests_least(&self) -> u64 {
        match self.measure {
            Measure::Time(_) => 30,
            _ => (10.0 / self.limit).ceil() as u64,
        }
    }

    /// Whether the average is a share of requests.
    #[must_use]
    pub fn is_share(&self) -> bool {
        !matches!(self.measure, Measure::Time(_))
    }

    /// The response time beyond which only a stall of the server explains it, and not a queue, ns;
    /// `None` where the objective has no limit on single times.
    #[must_use]
    pub fn far_ns(&self) -> Option<u64> {
        match self.measure {
            Measure::Over { far_ns, .. } => Some(far_ns),
            _ => None,
        }
    }

    /// The sums over an interval of a series.
    #[must_use]
    pub fn tally(&self, point: &Point) -> Tallied {
        match self.measure {
            Measure::Over { clock, limit_ns, far_ns } => {
                let times = clock.of_point(point).unpack();
                let incomplete = clock.of_incomplete(point).unpack();
                let over = |limit_ns: u64| times.count() - times.count_at_most(limit_ns);
                // A request without a whole response may have taken any time beyond its wait, so it
                // speaks against the objective however short that was.
                let against = |limit_ns| over(limit_ns) + incomplete.count_at_most(limit_ns);
                // A request that was dropped unsent had waited too long, and has no time.
                let shed = if clock == Clock::Response { point.shed } else { 0 };
                let among = times.count() + shed;
                Tallied {
                    among,
                    against: against(limit_ns) + shed,
                    near: against(limit_ns / 2) + shed,
                    far: over(far_ns),
                }
            }
            Measure::Time(clock) => {
                let times = clock.of_point(point).unpack();
                Tallied { among: times.count(), against: times.sum_ns(), near: 0, far: 0 }
            }
            Measure::Became(tally) => {
                let (against, among) = became(tally, point);
                Tallied { among, against, ..Tallied::default() }
            }
            Measure::DidNotBecome(tally) => {
                let (for_it, among) = became(tally, point);
                Tallied { among, against: among.saturating_sub(for_it), ..Tallied::default() }
            }
        }
    }
}

const POSSIBLE: &str = "an objective is a percentile or the mean of response or service times, or \
                        a share of the requests: p99<10ms, mean<5ms, errors<0.1%, ok>99.9%";

fn measure(metric: Metric, condition: &Condition) -> Result<(Measure, f64), &'static str> {
    let is_below = matches!(condition.operator, Operator::Less | Operator::AtMost);
    let is_above = matches!(condition.operator, Operator::More | Operator::AtLeast);
    let limit = condition.limit.value;
    let limit_ns = (limit * 1e3) as u64;
    let clock = |timing: Timing| match timing {
        Timing::Response => Ok(Clock::Response),
        Timing::Service => Ok(Clock::Service),
        _ => Err(POSSIBLE),
    };
    match metric {
        Metric::Time(_, Statistic::Max) => {
            Err("no number of requests shows a maximum: give a high percentile, such as p99.9")
        }
        Metric::Achieved | Metric::Offered => {
            Err("the search itself requires 99 % of the rate of each probe: leave this one out")
        }
        Metric::Time(..) | Metric::Requests(Tally::Errors) if !is_below => {
            Err("more load never lowers this: write < or <=")
        }
        Metric::Time(..) if limit_ns == 0 => Err("nothing takes less than no time: give a limit"),
        Metric::Time(timing, Statistic::Quantile(q)) => {
            let far = (FAR_SHARE.ln() / (1.0 - q).ln()).max(FAR_LEAST);
            let far_ns = (limit_ns as f64 * far) as u64;
            Ok((Measure::Over { clock: clock(timing)?, limit_ns, far_ns }, 1.0 - q))
        }
        Metric::Time(timing, Statistic::Mean) => {
            Ok((Measure::Time(clock(timing)?), limit_ns as f64))
        }
        Metric::Requests(tally) if condition.limit.unit == Unit::Share => {
            let is_good = matches!(tally, Tally::Ok | Tally::Completed);
            let share = if is_good { 1.0 - limit } else { limit };
            match (is_good, is_below, is_above) {
                (true, _, true) | (false, true, _) if share <= 0.0 => {
                    Err("no number of requests shows that none fails: give a share, such as 0.1%")
                }
                (true, _, true) => Ok((Measure::DidNotBecome(tally), share)),
                (false, true, _) => Ok((Measure::Became(tally), share)),
                (true, ..) => Err("more load never raises this: write > or >="),
                (false, ..) => Err("more load never lowers this: write < or <="),
            }
        }
        Metric::Requests(_) => Err("a count grows with the rate and the time: give a share, as 1%"),
        _ => Err(POSSIBLE),
    }
}

/// Requests that became this, and those among which they count.
fn became(tally: Tally, point: &Point) -> (u64, u64) {
    let ended = point.completed + point.refused + point.timed_out + point.broken + point.shed;
    let count = match tally {
        Tally::Shed => point.shed,
        Tally::TimedOut => point.timed_out,
        Tally::Refused => point.refused,
        Tally::Broken => point.broken,
        Tally::Failed => point.failed,
        Tally::Completed => point.completed,
        Tally::Ok => point.ok,
        _ => ended.saturating_sub(point.ok),
    };
    (count, ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;

    #[test]
    fn objectives_are_conditions_that_average_over_requests() {
        for (text, limit, requests_least, time_ns) in [
            ("p99<10ms", 0.01, 1000, Some(10_000_000)),
            ("service.p99.9 <= 20ms", 0.001, 10_000, Some(20_000_000)),
            ("p50<1s", 0.5, 20, Some(1_000_000_000)),
            ("mean<5ms", 5e6, 30, Some(5_000_000)),
            ("errors<0.1%", 0.001, 10_000, None),
            ("timed_out<1%", 0.01, 1000, None),
            ("ok>99%", 0.01, 1000, None),
        ] {
            let objective = Objective::parse(text).unwrap();
            assert_eq!(objective.text(), text);
            assert!((objective.limit() / limit - 1.0).abs() < 1e-9, "{objective:?}");
            assert!(objective.requests_least().abs_diff(requests_least) <= 1, "{objective:?}");
            assert_eq!(objective.time_limit_ns(), time_ns, "{text}");
        }
    }

    #[test]
    fn what_a_search_cannot_show_is_refused() {
        for (text, problem) in [
            ("max<1s", "shows a maximum"),
            ("rate>=99%", "99 % of the rate"),
            ("p99>10ms", "write <"),
            ("p99<0s", "less than no time"),
            ("errors>1%", "write < or <="),
            ("ok<99%", "write > or >="),
            ("errors<0%", "none fails"),
            ("errors<10", "give a share"),
            ("p99@10s..20s<10ms", "after @"),
            ("cpu<80%", "an objective is"),
            ("connect.p99<10ms", "an objective is"),
            ("stdev<1ms", "an objective is"),
            ("verdict==valid", "an objective is"),
            ("p9q<1ms", "percentile"),
            ("status.5xx<1%", "an objective is"),
        ] {
            let error = Objective::parse(text).unwrap_err().to_string();
            assert!(error.contains(problem) && !error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn a_request_without_an_answer_meets_no_limit_on_its_time() {
        let packed = |times_ms: &[u64]| {
            let mut times = Histogram::new();
            times_ms.iter().for_each(|ms| times.record(ms * 1_000_000));
            times.pack()
        };
        // Of seven requests four had no answer: after 1, 8, 30 and 300 ms.
        let point = Point {
            completed: 3,
            ok: 3,
            broken: 2,
            refused: 1,
            timed_out: 1,
            response: packed(&[1, 1, 2, 8, 15, 30, 300]),
            incomplete_response: packed(&[1, 8, 30, 300]),
            service: packed(&[1, 1, 2, 7, 9, 29, 300]),
            incomplete_service: packed(&[1, 7, 29, 300]),
            ..Point::default()
        };
        for (text, against, near, far) in [
            ("p99<10ms", 5, 5, 1),
            ("p99<20ms", 4, 5, 1),
            ("p99<1s", 4, 4, 0),
            ("p50<1ms", 6, 7, 2),
            ("service.p99<10ms", 4, 5, 1),
            ("errors<1%", 4, 0, 0),
        ] {
            let tallied = Objective::parse(text).unwrap().tally(&point);
            assert_eq!(tallied, Tallied { among: 7, against, near, far }, "{text}");
        }
    }

    #[test]
    fn sums_are_those_of_the_interval() {
        let mut response = Histogram::new();
        for ms in [1, 5, 11, 15, 29, 31, 200] {
            response.record(ms * 1_000_000);
        }
        let point = Point {
            completed: 6,
            ok: 4,
            failed: 2,
            timed_out: 1,
            shed: 2,
            response: response.pack(),
            ..Point::default()
        };
        for (text, among, against, near, far) in [
            ("p99<10ms", 9, 7, 7, 2),
            ("p99<12ms", 9, 6, 7, 1),
            ("service.p99<10ms", 0, 0, 0, 0),
            ("mean<10ms", 7, 292_000_000, 0, 0),
            ("errors<1%", 9, 5, 0, 0),
            ("failed<1%", 9, 2, 0, 0),
            ("ok>=99%", 9, 5, 0, 0),
            ("completed>99%", 9, 3, 0, 0),
        ] {
            let tallied = Objective::parse(text).unwrap().tally(&point);
            assert_eq!(tallied, Tallied { among, against, near, far }, "{text}");
        }
    }
}

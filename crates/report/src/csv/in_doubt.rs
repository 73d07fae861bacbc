//! The columns of a row whose figures are not the whole truth, each behind the mark that it has in
//! other views: `≤response_p99_us`. A cell of a number cannot hold the mark itself.

use plimsoll_core::doubt::{Figure, Lean};
use plimsoll_core::histogram::QUANTILES;
use plimsoll_core::{RunResult, confidence};

use super::quantile_name;
use crate::Clock;
use crate::streams;
use crate::tail::Times;

/// The marked names, in the order of the columns.
pub(super) fn columns(result: &RunResult) -> Vec<String> {
    let doubts = confidence::doubts(&result.loader.causes);
    let rates = [("offered_rps", Figure::Offered), ("achieved_rps", Figure::Achieved)];
    let rates = rates.map(|(name, figure)| (name.to_owned(), doubts.value_lean(figure)));
    let clocks = [Clock::Response, Clock::Service].into_iter();
    let times = clocks.flat_map(|clock| of_clock(clock, result));
    let marked = |(name, lean): (String, Option<Lean>)| Some(format!("{}{name}", lean?.sign()));
    rates.into_iter().chain(times).chain(of_messages(result)).filter_map(marked).collect()
}

fn of_clock(clock: Clock, result: &RunResult) -> Vec<(String, Option<Lean>)> {
    let times = Times::of_run(clock, result);
    if times.is_empty() {
        return Vec::new();
    }
    let named = |name: &str| format!("{}_{name}_us", clock.word());
    let quantiles = QUANTILES.into_iter().map(|q| (named(&quantile_name(q)), times.lean(q)));
    let moments = [(named("mean"), times.mean_lean()), (named("stdev"), times.stdev_lean())];
    let max = (named("max"), times.lean(1.0));
    moments.into_iter().chain(quantiles).chain([max]).collect()
}

fn of_messages(result: &RunResult) -> impl Iterator<Item = (String, Option<Lean>)> {
    streams::rows(result).flat_map(|streams::Row { column, times, .. }| {
        [("p50", 0.5), ("p99", 0.99)].map(|(q, at)| (format!("{column}_{q}_us"), times.lean(at)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn what_is_marked_elsewhere_is_named() {
        assert_eq!(columns(&samples::steady()), [""; 0]);
        let found = columns(&samples::ramp());
        for (name, is_in) in [
            ("≤response_p95_us", true),
            ("≈response_p99_us", true),
            ("≈response_mean_us", true),
            ("≤response_p50_us", false),
            ("≈achieved_rps", false),
        ] {
            assert_eq!(found.iter().any(|it| it == name), is_in, "{name}: {found:?}");
        }
    }
}

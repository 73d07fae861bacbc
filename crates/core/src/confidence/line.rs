//! The line of confidence: which figures are in doubt, why, and which hold.

use super::doubts;
use crate::clock::Clock;
use crate::doubt::{Bounds, Doubts, Figure};
use crate::phase::Phase;
use crate::result::RunResult;
use crate::verdict::{Cause, LATENESS_FLOOR_NS, QUOTED, Verdict};

/// How sure a result is, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confidence {
    /// The verdict that the line stands for.
    pub verdict: Verdict,
    /// One line without a full stop: `p99 and beyond in doubt (may be lower): this host was busy;
    /// p50, rate and counts hold`.
    pub text: String,
}

/// The line of confidence of a result.
#[must_use]
pub fn confidence(result: &RunResult) -> Confidence {
    let verdict = result.loader.verdict;
    let causes: Vec<&Cause> = result.loader.causes.iter().collect();
    let doubtful: Vec<&Cause> =
        causes.into_iter().filter(|cause| cause.verdict > Verdict::Valid).collect();
    if verdict == Verdict::Valid {
        return Confidence { verdict, text: sure(result) };
    }
    if result.ledger.completed == 0 {
        let text = "no response arrived, so no time and no rate was measured".to_owned();
        return Confidence { verdict, text };
    }
    let doubts = doubts(&result.loader.causes);
    let found = Found::of(&doubts, result);
    let why = why(&doubtful);
    Confidence { verdict, text: found.line(&why) }
}

/// What makes a valid result sure.
fn sure(result: &RunResult) -> String {
    let blocked_p99_ns = result.phases[Phase::Blocked].quantile_ns(0.99).unwrap_or(0);
    let why = if result.is_open_loop() && blocked_p99_ns > LATENESS_FLOOR_NS {
        "requests waited for a free connection, and response times include that wait"
    } else if result.is_open_loop() && result.ledger.unsent + result.ledger.shed == 0 {
        "the schedule was kept"
    } else {
        "the tester did not disturb them"
    };
    format!("all figures hold: {why}")
}

/// The leading figures, in doubt and not.
struct Found {
    doubtful: Vec<String>,
    holding: Vec<&'static str>,
    /// Whether another load than that of the plan is what the figures are of.
    is_another_load: bool,
}

impl Found {
    fn of(doubts: &Doubts<'_>, result: &RunResult) -> Self {
        let mut found = Self {
            doubtful: Vec::new(),
            holding: Vec::new(),
            is_another_load: doubts.touch(Figure::Load),
        };
        found.add_times(doubts, result);
        for (figure, name, verb) in
            [(Figure::Achieved, "rate", "the rate"), (Figure::Counts, "counts", "counts")]
        {
            if doubts.is_value_in_doubt(figure) {
                let interval = doubts.value(figure, 1.0);
                found.doubtful.push(with_side(verb, (interval.low < 1.0, interval.high > 1.0)));
            } else {
                found.holding.push(name);
            }
        }
        found
    }

    fn add_times(&mut self, doubts: &Doubts<'_>, result: &RunResult) {
        let is_in_doubt = |clock: Clock, q: f64| {
            doubts.is_quantile_in_doubt(clock.figure(), clock.histogram(result), q)
        };
        let clocks = [Clock::Response, Clock::Service];
        let count = result.latency.response.count();
        let known = QUOTED.iter().filter(|at| count >= at.samples());
        let lowest = { known }.find(|at| clocks.iter().any(|clock| is_in_doubt(*clock, at.q)));
        let Some(lowest) = lowest else {
            self.holding.push("times");
            return;
        };
        let clock = clocks.into_iter().find(|clock| is_in_doubt(*clock, lowest.q));
        let clock = clock.unwrap_or(Clock::HEADLINE);
        let beyond = QUOTED.iter().filter(|at| at.q >= lowest.q && count >= at.samples());
        let sides = beyond.map(|at| sides_of_quantile(doubts, clock, result, at.q));
        let sides = sides.fold((false, false), |all, it| (all.0 || it.0, all.1 || it.1));
        let what = match lowest.q {
            0.5 => "times".to_owned(),
            _ => format!("{} and beyond", lowest.name()),
        };
        self.doubtful.push(with_side(&what, sides));
        if lowest.q > 0.5 {
            self.holding.push("p50");
        }
    }

    fn line(&self, why: &str) -> String {
        let another = "the load was not the one asked for";
        let doubtful = self.doubtful.join(", ");
        let first = match (self.doubtful.is_empty(), self.is_another_load) {
            (true, _) => format!("{another}: {why}"),
            (false, true) => format!("{doubtful} in doubt, and {another}: {why}"),
            (false, false) => format!("{doubtful} in doubt: {why}"),
        };
        match self.holding.as_slice() {
            [] => first,
            [only] => format!("{first}; {only} {}", if *only == "rate" { "holds" } else { "hold" }),
            [rest @ .., last] => format!("{first}; {} and {last} hold", rest.join(", ")),
        }
    }
}

/// Whether a quantile may be lower, and whether it may be higher, as the marks of cells have it.
fn sides_of_quantile(
    doubts: &Doubts<'_>,
    clock: Clock,
    result: &RunResult,
    q: f64,
) -> (bool, bool) {
    let times = clock.histogram(result);
    let interval = doubts.quantile_ns(clock.figure(), &Bounds::new(times, 0, 0), q);
    let value_ns = times.quantile_ns(q).unwrap_or(0) as f64;
    let is_lower_bound = clock.bounds(result).is_lower_bound(q);
    (interval.low < value_ns, interval.high > value_ns || is_lower_bound)
}

/// Figures with the side on which the true values lie, if all lie on one.
fn with_side(what: &str, (lower, higher): (bool, bool)) -> String {
    match (lower, higher) {
        (true, false) => format!("{what} (may be lower)"),
        (false, true) => format!("{what} (may be higher)"),
        _ => what.to_owned(),
    }
}

/// The reasons, each once, worst first; two at most.
fn why(causes: &[&Cause]) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for cause in causes {
        let reason = reason(&cause.code).unwrap_or("see the causes");
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons.truncate(2);
    reasons.join(", and ")
}

/// A cause in a few words, by its code; none for a code that is not known.
#[must_use]
pub fn reason(code: &str) -> Option<&'static str> {
    Some(match code {
        "late" | "late_tail" | "cpu_shared" | "gave_way" => "this host was busy",
        "steal" => "the hypervisor gave this host too little CPU",
        "throttled" => "the tester hit its CPU quota",
        "paused" => "the tester stood still for a time",
        "cpu" => "the tester's CPU was the limit",
        "read_late" => "the script kept responses waiting",
        "time_order" => "the tester has a bug",
        "script" => "the script did not end",
        "no_responses" => "no response arrived",
        "none_ok" => "every response was a failure",
        "short" => "the run ended before all requests were sent",
        "connections" => "too few connections for the rate",
        "vus" => "too few virtual users for the rate",
        "cut_off" => "the script cut requests off",
        "left_out" => "these figures leave out a part of the script",
        "draining" => "streams idled on closing connections",
        "lowered_limit" => "the server lowered its limit of streams",
        "outage" => "the server could not be reached for a time",
        "ports" => "this host ran out of ports",
        "files" => "this host ran out of file descriptors",
        "retransmits" => "packets were lost",
        "connect_retries" | "listen_drops" => "the server's queue of connections was full",
        "nonstationary" => "the start was unlike the rest",
        "skew_connections" => "connections were served unequally",
        "skew_addresses" => "addresses were served unequally",
        "address_left_out" => "an address that took no connection was left out",
        "beyond_hour" => "some requests took over an hour",
        "unconfirmed" => "messages may have been lost unnoticed",
        "pushed_replies" | "extra_answers" => "replies may belong to other messages",
        _ => return None,
    })
}

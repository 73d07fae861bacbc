//! The story of the tour on its page: what was loaded, what happened when, and where to look. Every
//! figure in it is one that was asked for or measured.

use plimsoll_core::RunResult;
use plimsoll_core::series::Point;
use plimsoll_core::units::{format_count, format_duration, format_ns, format_rate};
use plimsoll_report::html::{Place, Story};

/// What the tour asked for.
pub(crate) struct Asked {
    /// Requests per second.
    pub(crate) rate_uhz: u64,
    /// How long the load lasts.
    pub(crate) duration_ns: u64,
    /// Connections of the load.
    pub(crate) connections: u32,
    /// When the server stands still, from its start.
    pub(crate) stall_at_ns: u64,
    /// For how long.
    pub(crate) stall_ns: u64,
}

/// The story of the load at a rate, beside that of a closed loop.
pub(crate) fn story(asked: &Asked, open: &RunResult, closed: &RunResult) -> Story {
    let slowest = open.series.points().iter().max_by_key(|point| slowest_ns(point));
    let slowest = slowest.filter(|point| slowest_ns(point) > 0);
    let mut places = Vec::new();
    places.extend(slowest.map(|point| (Place::Latency, peak(point))));
    places.push((
        Place::Percentiles,
        "response time leaves service time where the requests that had to wait begin.".to_owned(),
    ));
    places.push((
        Place::Rate,
        "the load goes on while the server stands still, as users do.".to_owned(),
    ));
    Story {
        title: "What happened here".to_owned(),
        paragraphs: vec![loaded(asked), waited(asked, open), in_closed_loop(closed)],
        places,
    }
}

fn loaded(asked: &Asked) -> String {
    format!(
        "This is the tour of Plimsoll. It started a server of its own and sent it {} requests per \
         second for {}, over {} connections. The server answers at once, but {} after its start \
         it stood still for {}.",
        format_rate(asked.rate_uhz as f64 / 1e6),
        length(asked.duration_ns),
        asked.connections,
        length(asked.stall_at_ns),
        length(asked.stall_ns),
    )
}

/// What users felt, and what a clock shows that starts when a request is sent.
fn waited(asked: &Asked, open: &RunResult) -> String {
    let due = u128::from(asked.rate_uhz) * u128::from(asked.stall_ns) / 1_000_000_000_000_000;
    let latency = &open.latency;
    // A server that answers at once takes no such time unless it stands still.
    let long_ns = asked.stall_ns / 10;
    let slow = |times: &plimsoll_core::Histogram| {
        format_count(times.count().saturating_sub(times.count_at_most(long_ns)))
    };
    format!(
        "Meanwhile about {due} requests came due. Response time counts from when a request was \
         due: {} of {} took longer than {}, and p99 is {}. Service time counts from when a request \
         was sent, and only {} could be sent before all connections waited: {} took longer than \
         {}, and p99 is {}.",
        slow(&latency.response),
        format_count(latency.response.count()),
        length(long_ns),
        p99(&latency.response),
        asked.connections,
        slow(&latency.service),
        length(long_ns),
        p99(&latency.service),
    )
}

fn in_closed_loop(closed: &RunResult) -> String {
    format!(
        "A closed loop sends its next request when the last one is answered, so it stands still \
         with the server. The same stall in a closed loop of {} requests: p99 {}.",
        format_count(closed.latency.response.count()),
        p99(&closed.latency.response),
    )
}

fn peak(point: &Point) -> String {
    let seconds = |ns: u64| (ns as f64 / 1e7).round() / 100.0;
    format!(
        "the peak from {} to {} s, up to {}.",
        seconds(point.t_ns),
        seconds(point.t_ns + point.interval_ns),
        format_ns(slowest_ns(point)),
    )
}

fn slowest_ns(point: &Point) -> u64 {
    point.response.unpack().max_ns().unwrap_or(0)
}

/// A length of time as prose has it: `300 ms`.
fn length(ns: u64) -> String {
    let text = format_duration(ns);
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    format!("{} {}", &text[..unit], &text[unit..])
}

fn p99(times: &plimsoll_core::Histogram) -> String {
    times.quantile_ns(0.99).map_or_else(|| "unknown".to_owned(), format_ns)
}

#[cfg(test)]
mod tests {
    use plimsoll_core::plan::{Draft, Endpoint};
    use plimsoll_core::result::Tool;

    use super::*;

    fn result() -> RunResult {
        let tool = Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() };
        RunResult::empty(tool, &Draft::new(Endpoint::http("127.0.0.1", 8080, "/")))
    }

    /// The words follow what was asked for and measured, whatever it is.
    #[test]
    fn figures_are_those_of_the_runs() {
        let asked = Asked {
            rate_uhz: 200_000_000,
            duration_ns: 4_000_000_000,
            connections: 3,
            stall_at_ns: 1_500_000_000,
            stall_ns: 500_000_000,
        };
        let (mut open, mut closed) = (result(), result());
        for (times, slow) in [(&mut open.latency.response, 100), (&mut open.latency.service, 3)] {
            times.record_n(1_000_000, 800 - slow);
            times.record_n(300_000_000, slow);
        }
        closed.latency.response.record_n(2_000_000, 1_234);
        let mut response = plimsoll_core::Histogram::new();
        response.record(480_000_000);
        for (t_ns, response) in [(0, Default::default()), (1_000_000_000, response.pack())] {
            let interval_ns = 1_000_000_000;
            open.series.add(&Point { t_ns, interval_ns, response, ..Point::default() });
        }
        let told = story(&asked, &open, &closed);
        let text = told.paragraphs.join("\n");
        for part in [
            "200 requests per second for 4 s, over 3 connections",
            "1500 ms after its start it stood still for 500 ms",
            "about 100 requests came due",
            "100 of 800 took longer than 50 ms, and p99 is 300 ms",
            "3 took longer than 50 ms, and p99 is 1.00 ms",
            "closed loop of 1 234 requests: p99 2.00 ms",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(
            told.places[0],
            (Place::Latency, "the peak from 1 to 2 s, up to 480 ms.".into())
        );
        // A run in which nothing was measured has no peak.
        assert!(story(&asked, &result(), &result()).places.iter().all(|it| it.0 != Place::Latency));
    }
}

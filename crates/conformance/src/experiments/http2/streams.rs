//! How many streams there are, and what becomes of requests that wait for one.

use super::{Experiment, MS, counted, gives_no_figures, keeps_to_http2, over_streams, used};
use crate::doubts::{self, Told, Topic};
use crate::experiments::latency::open_at_a_time;
use crate::harness::{Bench, Run, Setup, Subject};
use crate::judge::{Checks, Judgement, Unit, printed, quantile, quantile_of, said};
use crate::oracle::{Http2Mode, Log, Mode, Side, code};
use crate::tool::{Ask, Reading};

pub(super) const ALL: [Experiment; 6] = [
    Experiment {
        name: "stream-limit",
        row: 43,
        title: "The wait for a stream is in no figure",
        method: "HTTP/2, one connection with 50 streams, closed loop, 2 s; the oracle allows one \
                 stream, in the control 1000; each is answered in 10 ms",
        truth: "one request is open at a time and 49 wait: the rate times the mean latency is 50, \
                or 1 where the tester reports that the server's limit of streams left it one",
        tolerance: "45 to 55, or words about the limit, and not in the control",
        needs_quiet: false,
        run: stream_limit,
    },
    Experiment {
        name: "stream-limit-rate",
        row: 43,
        title: "The wait for a stream is taken for the server's time",
        method: "HTTP/2, 300 requests at 150/s over one connection with 50 streams; the oracle \
                 allows one stream, in the control 1000; each is answered in 10 ms",
        truth: "the server takes 10 ms for each, and users wait for the stream: half a second in \
                the median, by the oracle's log",
        tolerance: "p50 10 % and 10 ms; beside it a median of the service time of 10 ms, 10 % and \
                    10 ms, or words about the limit, and not in the control",
        needs_quiet: false,
        run: stream_limit_rate,
    },
    Experiment {
        name: "late-settings",
        row: 44,
        title: "Streams are opened before the server has said how many it allows",
        method: "HTTP/2, 1000 requests over one connection with 100 streams; the oracle allows 10, \
                 and says so 50 ms after the preface",
        truth: "all 1000 are answered, and none had to be refused",
        tolerance: "none",
        needs_quiet: false,
        run: late_settings,
    },
    Experiment {
        name: "no-http2",
        row: 49,
        title: "A server without HTTP/2 is measured over something else",
        method: "HTTP/2, 100 requests over one connection; the oracle speaks HTTP/1.1 alone",
        truth: "no request can be answered over HTTP/2",
        tolerance: "none is sent over HTTP/1, none is reported as completed, and an exit code or \
                    errors show it",
        needs_quiet: false,
        run: no_http2,
    },
    Experiment {
        name: "multiplexing",
        row: 50,
        title: "Streams are asked for and not used",
        method: "HTTP/2, 4 connections with 25 streams each, closed loop, 1.5 s; each is answered \
                 in 20 ms",
        truth: "25 requests are open on each connection",
        tolerance: "24 on each connection, in the median of looks each 10 ms, and never more \
                    than 25",
        needs_quiet: false,
        run: multiplexing,
    },
    Experiment {
        name: "connections-asked",
        row: 51,
        title: "More connections are opened than were asked for",
        method: "HTTP/2, one connection with 50 streams, closed loop, 1 s; the oracle allows 10; \
                 each is answered in 10 ms",
        truth: "one connection, with 10 requests open",
        tolerance: "none",
        needs_quiet: false,
        run: connections_asked,
    },
];

/// A mode that allows this many streams and answers after this time.
fn allowing(streams_max: u32, delay_ns: u64) -> Mode {
    let http2 = Http2Mode { streams_max, ..Http2Mode::default() };
    Mode { http2, ..Mode::delay_ns(delay_ns) }
}

const LIMIT: Topic = Topic {
    expected: "a word of the server's limit of streams",
    tells: &[
        "limit of streams",
        "stream limit",
        "streams at a time",
        "stream at a time",
        "one stream",
        "1 stream ",
        "waited for a stream",
        "wait for a stream",
        "max_concurrent_streams",
        "fewer streams",
    ],
    names: &["stream"],
    figures: &[],
};

const STREAMS: u32 = 50;

fn stream_limit(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let run = |streams_max, load_s| {
        let ask = Ask { duration_s: Some(load_s), ..over_streams(1, STREAMS) };
        bench.hear(subject, &Setup::new(ask, allowing(streams_max, 10 * MS)))
    };
    let (limited, control) = (run(1, bench.pick(2.0, 1.0))?, run(1000, 1.0)?);
    judge_limit(&limited, &control.reading)
}

fn judge_limit(run: &Run, control: &Reading) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    keeps_to_http2(&mut checks, &run.log);
    if let Told::Rightly(word) = doubts::told(&LIMIT, &run.reading, control) {
        checks.note(format!("it says so ('{word}')"));
        return Ok(checks.outcome());
    }
    let rate_rps = said(run.reading.rate_rps, "its rate")?;
    let mean_s = said(run.reading.mean_s, "its mean latency")?;
    checks.note(format!("{} x {}", Unit::Rate.show(rate_rps), Unit::Time.show(mean_s)));
    let open = f64::from(STREAMS);
    checks.between("open", Unit::Count, rate_rps * mean_s, open * 0.9, open * 1.1);
    Ok(checks.outcome())
}

fn stream_limit_rate(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let run = |streams_max| {
        let ask = Ask {
            rate_rps: Some(LIMITED_RPS),
            requests: Some(bench.pick(300, 150)),
            ..over_streams(1, STREAMS)
        };
        let setup = Setup { extra_s: 5.0, ..Setup::new(ask, allowing(streams_max, 10 * MS)) };
        bench.hear(subject, &setup)
    };
    let (limited, control) = (run(1)?, run(1000)?);
    judge_limit_rate(&limited, &control.reading)
}

/// Half as much again as one stream can take.
const LIMITED_RPS: f64 = 150.0;

fn judge_limit_rate(run: &Run, control: &Reading) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    keeps_to_http2(&mut checks, &run.log);
    let p50_s = quantile(&run.reading, 0.5)?;
    checks.near("p50", Unit::Time, p50_s, user_median_s(&run.log), 0.1, 0.01);
    let service_s = printed(&run.reading.service_quantiles, 0.5);
    let own_s = quantile_of(&run.log.service_s(), 0.5).unwrap_or(0.0);
    match (service_s, doubts::told(&LIMIT, &run.reading, control)) {
        (Some(service_s), _) => {
            checks.near("service p50", Unit::Time, service_s, own_s, 0.1, 0.01);
        }
        (None, Told::Rightly(word)) => checks.note(format!("it says so ('{word}')")),
        (None, _) => checks.holds(false, "no service time, no word of streams", LIMIT.expected),
    }
    Ok(checks.outcome())
}

/// How long a user waited in the median of all that were answered, seconds. They came at even times
/// from the first one on, and were answered in order.
fn user_median_s(log: &Log) -> f64 {
    let first_ns = log.entries.iter().map(|entry| entry.received_ns).min().unwrap_or(0);
    let answered = log.entries.iter().filter(|entry| entry.sent_ns > 0).enumerate();
    let mut waits_s: Vec<f64> = answered
        .map(|(i, entry)| (entry.sent_ns - first_ns) as f64 / 1e9 - i as f64 / LIMITED_RPS)
        .collect();
    waits_s.sort_by(f64::total_cmp);
    quantile_of(&waits_s, 0.5).unwrap_or(f64::NAN)
}

fn late_settings(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let requests = bench.pick(1000, 500);
    let ask = Ask { requests: Some(requests), ..over_streams(1, 100) };
    let mut mode = allowing(10, MS);
    mode.http2.settings_delay_ns = 50 * MS;
    let run = bench.measure(subject, &Setup { least: 100, ..Setup::new(ask, mode) })?;
    judge_late_settings(&run, requests)
}

fn judge_late_settings(run: &Run, requests: u64) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    keeps_to_http2(&mut checks, &run.log);
    let [completed, lost] = counted(&run.reading)?;
    checks.exactly("refused by the oracle", run.log.resets(Side::Oracle, code::REFUSED_STREAM), 0);
    checks.exactly("completed", completed, requests);
    checks.exactly("errors", lost, 0);
    Ok(checks.outcome())
}

fn no_http2(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask { requests: Some(100), ..over_streams(1, 10) };
    let http2 = Http2Mode { is_refused: true, ..Http2Mode::default() };
    let mode = Mode { http2, ..Mode::default() };
    let run = bench.hear(subject, &Setup { least: 0, ..Setup::new(ask, mode) })?;
    Ok(judge_no_http2(&run))
}

fn judge_no_http2(run: &Run) -> Judgement {
    let mut checks = Checks::default();
    checks.exactly("sent", run.log.entries.len() as u64, 0);
    gives_no_figures(&mut checks, run);
    checks.outcome()
}

fn multiplexing(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let load_s = bench.pick(1.5, 1.0);
    let ask = Ask { duration_s: Some(load_s), ..over_streams(4, 25) };
    let run = bench.load(subject, &Setup::new(ask, Mode::delay_ns(20 * MS)))?;
    Ok(judge_multiplexing(&run.log, load_s))
}

fn judge_multiplexing(log: &Log, load_s: f64) -> Judgement {
    let mut checks = Checks::default();
    keeps_to_http2(&mut checks, log);
    checks.exactly("connections", used(log).count() as u64, 4);
    let numbered = (0..).zip(&log.connections);
    for (number, connection) in numbered.filter(|(_, connection)| connection.requests > 0) {
        let of_it = log.entries.iter().filter(|entry| entry.connection == number);
        let of_it = Log { entries: of_it.copied().collect(), ..Log::default() };
        let open = open_at_a_time(&of_it, 0.2, load_s - 0.1);
        checks.between(&format!("open on {}", number + 1), Unit::Count, open, 24.0, 25.0);
        let most = f64::from(connection.open_max);
        checks.between("at most", Unit::Count, most, 24.0, 25.0);
    }
    checks.outcome()
}

fn connections_asked(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask { duration_s: Some(1.0), ..over_streams(1, STREAMS) };
    let run = bench.load(subject, &Setup::new(ask, allowing(10, 10 * MS)))?;
    Ok(judge_connections(&run.log))
}

fn judge_connections(log: &Log) -> Judgement {
    let mut checks = Checks::default();
    keeps_to_http2(&mut checks, log);
    checks.exactly("connections", log.connections.len() as u64, 1);
    let most = log.connections.iter().map(|connection| connection.open_max).max().unwrap_or(0);
    checks.exactly("open at most", u64::from(most), 10);
    checks.outcome()
}

#[cfg(test)]
mod tests;

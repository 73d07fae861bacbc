//! Whether connections are what they should be: lost connects, a server that dies, overload,
//! several addresses, connections that differ.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::Experiment;
use super::place::Namespace;
use crate::doubts::{self, Told, Topic};
use crate::harness::{Acted, Action, Bench, Link, Pin, Run, Sample, Setup, Subject};
use crate::judge::{Checks, Judgement, Unit, quantile};
use crate::oracle::{Log, Mode};
use crate::tool::{Ask, Need, Reading, Resolve};
use plimsoll_core::Phase;
use plimsoll_core::doubt::Figure;
use plimsoll_lab::testers::text::{number, seconds};

pub(super) const ALL: [Experiment; 8] = [
    Experiment {
        name: "connect-time",
        row: 17,
        title: "The time to connect is hidden",
        method: "4 connections, closed loop, 3 s, a connection for each request, over a network \
                 that takes 50 ms each way",
        truth: "a round trip to connect and one to answer: 200 ms",
        tolerance: "p50 5 % and 5 ms; Plimsoll's phases have to sum to it",
        needs_quiet: false,
        run: connect_time,
    },
    Experiment {
        name: "lost-connects",
        row: 18,
        title: "Connects that the kernel dropped look like slow requests",
        method: "256 connections, closed loop, 4 s; the oracle's queue holds 4 and it takes none \
                 in its first 300 ms",
        truth: "connects take 1 s and more; requests do not, but those on a connection that looks \
                open to the tester and was dropped by the oracle's kernel",
        tolerance: "the greatest latency below 900 ms, or words about what was dropped or sent \
                    again, and not in a control of 8 connections that are taken at once; a tester \
                    that opens its connections slowly meets no loss, which is as good",
        needs_quiet: true,
        run: lost_connects,
    },
    Experiment {
        name: "server-death",
        row: 21,
        title: "The tester spins or hangs when the server dies",
        method: "500 requests/s for 5 s over 20 connections; the oracle is killed after 1.5 s and \
                 another is there from 3.5 s on; in the control, of 1 s, it lives",
        truth: "nothing can be done for 2 s; after that the load goes on",
        tolerance: "less than 10 % of a CPU meanwhile; at least 80 % of the rate in the last \
                    second; errors or dropped requests said, and none in the control",
        needs_quiet: false,
        run: server_death,
    },
    Experiment {
        name: "overload",
        row: 22,
        title: "Overload becomes a storm of reconnects",
        method: "1500 requests/s for 3 s over 50 connections to an oracle that can do 500; what \
                 could not be sent within 100 ms is to be dropped",
        truth: "no connection has to be opened again, and 4500 requests are sent or dropped",
        tolerance: "60 connections in all; 1 request",
        needs_quiet: false,
        run: overload,
    },
    Experiment {
        name: "all-addresses",
        row: 24,
        title: "Of several addresses of a name only one is used",
        method: "40 connections, closed loop, 1 s, to a name that has two addresses",
        truth: "half of the connections for each",
        tolerance: "45 % to 55 % of at least 36 connections",
        needs_quiet: false,
        run: all_addresses,
    },
    Experiment {
        name: "connection-share",
        row: 25,
        title: "Some connections do the work of others",
        method: "2000 requests/s for 2 s over 8 connections",
        truth: "each connection carries an eighth",
        tolerance: "10 % of an eighth",
        needs_quiet: true,
        run: connection_share,
    },
    Experiment {
        name: "shared-connections",
        row: 40,
        title: "Work is split over threads, connections are not",
        method: "240 requests/s for 3 s over 3 connections, with two threads where the tester has \
                 a choice; each is answered in 10 ms",
        truth: "three connections carry 300 requests/s: none waits, whatever the threads",
        tolerance: "720 requests, 2 %; the mean 10 ms to 12.5 ms, p99 30 ms at most",
        needs_quiet: true,
        run: shared_connections,
    },
    Experiment {
        name: "connection-skew",
        row: 25,
        title: "Slow connections hide behind fast ones in a closed loop",
        method: "8 connections, closed loop, 2 s; every second one is answered in 20 ms, the \
                 others, and in the control all, in 1 ms",
        truth: "half of the users get a twentieth of the answers; in the control all get as many",
        tolerance: "the report has to say that connections differ, in words or by figures of each \
                    that do, and not in the control",
        needs_quiet: false,
        run: connection_skew,
    },
];

const MS: u64 = 1_000_000;

fn connect_time(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let tester = Namespace::new(None).map_err(Judgement::skipped)?;
    let oracle = Namespace::new(None).map_err(Judgement::skipped)?;
    let link = Link::new(Duration::from_millis(50))
        .map_err(|error| Judgement::skipped(format!("needs /dev/net/tun: {error}")))?;
    let [near, far] = link.interfaces();
    tester.take(near, "10.93.0.1/30").map_err(Judgement::skipped)?;
    oracle.take(far, "10.93.0.2/30").map_err(Judgement::skipped)?;
    let ask = Ask {
        connections: 4,
        duration_s: Some(bench.pick(3.0, 2.0)),
        keep_alive: false,
        ..Ask::to("/")
    };
    let setup = Setup {
        wrapper: tester.wrapper(),
        oracle_wrapper: oracle.wrapper(),
        listen: Ipv4Addr::new(10, 93, 0, 2),
        ..Setup::new(ask, Mode::default())
    };
    judge_connect_time(&bench.measure(subject, &setup)?.reading, 0.2)
}

fn judge_connect_time(reading: &Reading, truth_s: f64) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    checks.near("p50", Unit::Time, quantile(reading, 0.5)?, truth_s, 0.05, 0.005);
    if let Some(result) = &reading.result {
        let phases = &result.phases;
        let parts = [Phase::Connect, Phase::Sending, Phase::Waiting, Phase::Receiving];
        let sum_ns: u64 = parts.iter().filter_map(|part| phases[*part].quantile_ns(0.5)).sum();
        checks.near("phases", Unit::Time, sum_ns as f64 / 1e9, truth_s, 0.05, 0.005);
    }
    Ok(checks.outcome())
}

fn lost_connects(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask { connections: 256, duration_s: Some(4.0), ..Ask::to("/") };
    let mode = Mode { backlog: 4, accept_pause_ns: 300 * MS, ..Mode::default() };
    let quiet = Ask { connections: 8, duration_s: Some(1.0), ..ask.clone() };
    let run = bench.measure(subject, &Setup::new(ask, mode))?;
    let outcome = judge_connects(&run.reading, &run.log)?;
    if !matches!(outcome, Judgement::Fail { .. }) {
        return Ok(outcome);
    }
    let control = bench.measure(subject, &Setup::new(quiet, Mode::default()))?;
    Ok(or_told(outcome, &run.reading, &control.reading))
}

/// A tester cannot keep a connection from being dropped that looks open to it. It can tell.
fn or_told(outcome: Judgement, reading: &Reading, control: &Reading) -> Judgement {
    match doubts::told(&LOST, reading, control) {
        Told::Rightly(_) => doubts::judge(&LOST, reading, control),
        Told::CriedWolf(_) | Told::Nothing => outcome,
    }
}

const LOST: Topic = Topic {
    expected: "a word about connections that were lost",
    tells: &["queue was full", "queue of new", "sent again", "retransmi", "dropped connection"],
    names: &[],
    figures: &[Figure::Response, Figure::Connections],
};

fn judge_connects(reading: &Reading, log: &Log) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    let times = || log.connections.iter().map(|connection| connection.accepted_ns);
    let spread_s =
        times().max().unwrap_or(0).saturating_sub(times().min().unwrap_or(0)) as f64 / 1e9;
    checks.note(format!("connects over {}", Unit::Time.show(spread_s)));
    let max_s = match reading.max_s {
        Some(max_s) => max_s,
        None => quantile(reading, 0.99)?,
    };
    checks.between("max", Unit::Time, max_s, 0.0, 0.9);
    if let Some(result) = &reading.result {
        let connect_s = result.phases[Phase::Connect].max_ns().unwrap_or(0) as f64 / 1e9;
        // A loss costs a second, and is seen as connections accepted that much apart.
        let least_s = if spread_s > 0.9 { 0.9 } else { 0.0 };
        checks.between("connect", Unit::Time, connect_s, least_s, 60.0);
    }
    Ok(checks.outcome())
}

fn server_death(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask {
        connections: 20,
        rate_rps: Some(500.0),
        duration_s: Some(5.0),
        timeout_s: Some(10.0),
        ..Ask::to("/")
    };
    let actions = vec![(1.5, Action::KillOracle), (3.5, Action::StartOracle)];
    let quiet = Ask { duration_s: Some(1.0), ..ask.clone() };
    let control = bench.measure(subject, &Setup::new(quiet, Mode::default()))?;
    // The log is of the second oracle alone.
    let setup = Setup { actions, least: 0, ..Setup::new(ask, Mode::default()) };
    judge_death(&bench.measure(subject, &setup)?, &control.reading)
}

/// All that went wrong.
fn went_wrong(reading: &Reading) -> u64 {
    [reading.errors, reading.failed, reading.timed_out].into_iter().flatten().sum()
}

fn judge_death(run: &Run, control: &Reading) -> Result<Judgement, Judgement> {
    let at_ns = |action| run.acted.iter().find(|acted: &&Acted| acted.action == action);
    let (Some(killed), Some(started)) = (at_ns(Action::KillOracle), at_ns(Action::StartOracle))
    else {
        return Ok(Judgement::fail("it ended when the server died", "it goes on"));
    };
    let mut checks = Checks::default();
    // From a little after the death to a little before the return.
    let (from_ns, to_ns) = (killed.at_ns + 200 * MS, started.at_ns.saturating_sub(100 * MS));
    if let Some(share) = cpu_share(&run.samples, from_ns, to_ns) {
        checks.between("CPU while it was down", Unit::Share, share, 0.0, 0.1);
    }
    // The new oracle's last second but the very end.
    let last_ns = killed.at_ns + 3_400 * MS;
    let span = last_ns - 900 * MS..last_ns;
    let seen = run.log.entries.iter().filter(|entry| span.contains(&entry.received_ns)).count();
    let rate_rps = seen as f64 / 0.9;
    checks.between("rate after", Unit::Rate, rate_rps, 400.0, f64::INFINITY);
    let bad = went_wrong(&run.reading) as f64;
    checks.between("errors", Unit::Count, bad, 1.0, f64::INFINITY);
    checks.exactly("without a death", went_wrong(control), 0);
    Ok(checks.outcome())
}

/// The share of a CPU used between two times.
fn cpu_share(samples: &[Sample], from_ns: u64, to_ns: u64) -> Option<f64> {
    let inside: Vec<&Sample> =
        samples.iter().filter(|sample| (from_ns..=to_ns).contains(&sample.at_ns)).collect();
    let (first, last) = (inside.first()?, inside.last()?);
    let over_ns = last.at_ns.checked_sub(first.at_ns).filter(|over_ns| *over_ns > 0)?;
    Some(last.cpu_ns.saturating_sub(first.cpu_ns) as f64 / over_ns as f64)
}

fn overload(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask {
        connections: 50,
        rate_rps: Some(1500.0),
        duration_s: Some(3.0),
        extra: vec![Need::Shed { after_s: 0.1 }],
        ..Ask::to("/")
    };
    let mode = Mode { service_ns: 2 * MS, ..Mode::default() };
    let run = bench.measure(subject, &Setup { least: 1000, ..Setup::new(ask, mode) })?;
    let log = &run.log;
    Ok(judge_overload(&run.reading, log.entries.len() as u64, log.connections.len() as u64))
}

fn judge_overload(reading: &Reading, seen: u64, opened: u64) -> Judgement {
    let mut checks = Checks::default();
    checks.between("connections", Unit::Count, opened as f64, 1.0, 60.0);
    let (shed, unsent) = match &reading.result {
        Some(result) => (result.ledger.shed, result.ledger.unsent),
        None => (reading.errors.unwrap_or(0), 0),
    };
    checks.between("shed", Unit::Count, shed as f64, 1.0, f64::INFINITY);
    // What was still waiting at the end is neither, and has to be said too.
    let all = (seen + shed + unsent) as f64;
    checks.between("sent, shed or left at the end", Unit::Count, all, 4499.0, 4501.0);
    checks.outcome()
}

const HOST: &str = "oracle.test";

fn all_addresses(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask { connections: 40, duration_s: Some(1.0), ..Ask::to("/") };
    let mut setup = Setup {
        host: Some(HOST.to_owned()),
        listen: Ipv4Addr::UNSPECIFIED,
        ..Setup::new(ask, Mode::default())
    };
    let hosts = format!("127.0.0.1 localhost\n127.0.0.1 {HOST}\n127.0.0.2 {HOST}\n");
    let namespace = Namespace::new(Some(&hosts));
    match &namespace {
        Ok(namespace) => {
            setup.wrapper = namespace.wrapper();
            setup.oracle_wrapper = namespace.wrapper();
        }
        // The tester's own way to give a name addresses needs no privilege.
        Err(_) => {
            let addresses = ["127.0.0.1", "127.0.0.2"];
            setup.ask.resolve = Some(Resolve {
                host: HOST.to_owned(),
                port: 0,
                addresses: addresses.iter().filter_map(|text| text.parse().ok()).collect(),
            });
        }
    }
    let run = bench.load(subject, &setup)?;
    Ok(judge_addresses(&run.log))
}

fn judge_addresses(log: &Log) -> Judgement {
    let mut checks = Checks::default();
    let used = || log.connections.iter().filter(|connection| connection.requests > 0);
    let second = used().filter(|connection| connection.address == 2).count();
    let share = second as f64 / used().count() as f64;
    checks.between("at the second", Unit::Share, share, 0.45, 0.55);
    checks.between("connections", Unit::Count, used().count() as f64, 36.0, f64::INFINITY);
    checks.outcome()
}

fn connection_share(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask { connections: 8, rate_rps: Some(2000.0), duration_s: Some(2.0), ..Ask::to("/") };
    let run = bench.load(subject, &Setup::new(ask, Mode::default()))?;
    Ok(judge_share(&run.log))
}

fn judge_share(log: &Log) -> Judgement {
    let mut checks = Checks::default();
    let requests = || log.connections.iter().map(|c| f64::from(c.requests)).filter(|n| *n > 0.0);
    let eighth = log.entries.len() as f64 / 8.0;
    let least = requests().fold(f64::INFINITY, f64::min) / eighth;
    let most = requests().fold(0.0, f64::max) / eighth;
    checks.between("connections", Unit::Count, requests().count() as f64, 8.0, 8.0);
    checks.between("least", Unit::Share, least, 0.9, 1.0);
    checks.between("most", Unit::Share, most, 1.0, 1.1);
    checks.outcome()
}

fn shared_connections(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask { connections: 3, rate_rps: Some(240.0), duration_s: Some(3.0), ..Ask::to("/") };
    let with = |extra: &[Need]| {
        let ask = Ask { extra: extra.to_vec(), ..ask.clone() };
        bench
            .measure(subject, &Setup { pin: Pin::Free, ..Setup::new(ask, Mode::delay_ns(10 * MS)) })
    };
    let run = match with(&[Need::Threads(2)]) {
        Err(Judgement::CannotExpress { .. }) => with(&[])?,
        other => other?,
    };
    judge_sharing(&run.reading, run.log.entries.len() as u64)
}

fn judge_sharing(reading: &Reading, seen: u64) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    checks.between("sent", Unit::Count, seen as f64, 706.0, 734.0);
    checks.between("p99", Unit::Time, quantile(reading, 0.99)?, 0.01, 0.03);
    if let Some(mean_s) = reading.mean_s {
        checks.between("mean", Unit::Time, mean_s, 0.01, 0.0125);
    }
    Ok(checks.outcome())
}

fn connection_skew(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask { connections: 8, duration_s: Some(2.0), ..Ask::to("/") };
    let even = Setup { least: 500, ..Setup::new(ask, Mode::delay_ns(MS)) };
    let mode = Mode { slow_connections_ns: 19 * MS, ..Mode::delay_ns(MS) };
    let skewed = Setup { mode, ..even.clone() };
    let (run, control) = (bench.hear(subject, &skewed)?, bench.hear(subject, &even)?);
    Ok(judge_skew(&run.reading, &control.reading))
}

const SKEW: Topic = Topic {
    expected: "a word of connections that differ",
    tells: &["connections differ", "skew", "uneven", "imbalance", "unfair"],
    names: &["per connection", "each connection", "between connections"],
    // It is the server's doing.
    figures: &[],
};

fn judge_skew(reading: &Reading, control: &Reading) -> Judgement {
    // Figures of each connection tell by themselves, in both runs what is so.
    match (figures_differ(reading), figures_differ(control), doubts::word_of(&SKEW, control)) {
        (Some(true), Some(false), None) => Judgement::pass("figures of each connection differ"),
        _ => doubts::judge(&SKEW, reading, control),
    }
}

/// Whether a line about each connection has figures that differ three times or more. `None`: there
/// is no such line.
fn figures_differ(reading: &Reading) -> Option<bool> {
    let text = reading.text.to_lowercase();
    let about = |line: &&str| SKEW.names.iter().any(|name| line.contains(name));
    let ratios = text.lines().filter(about).filter_map(|line| {
        let words = line.split_whitespace();
        let figures: Vec<f64> = words.filter_map(|w| seconds(w).or_else(|| number(w))).collect();
        let positive = || figures.iter().copied().filter(|figure| *figure > 0.0);
        let (least, most) = (positive().reduce(f64::min)?, positive().reduce(f64::max)?);
        (figures.len() > 1).then_some(most / least)
    });
    ratios.reduce(f64::max).map(|ratio| ratio > 3.0)
}

#[cfg(test)]
mod tests;

//! A server that stands still, and one that dies: what users would have seen is in the report.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::nginx::Nginx;
use crate::programs::turn_with;
use crate::support::{Report, Running, Stream, plimsoll};

const STOP: Duration = Duration::from_secs(1);
const HALF_STOP_NS: u64 = 500_000_000;
const RUN_NS: f64 = 10e9;
const RATE: f64 = 1000.0;
const MS: f64 = 1e6;

/// A load in the background that says on stdout when a second is over.
struct Load {
    running: Running,
    directory: TempDir,
}

impl Load {
    fn start(nginx: &Nginx, flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command: Command = plimsoll(&[&nginx.url("/"), "-q"]);
        command.args(["--timeseries", "/dev/stdout", "--json"]);
        command.arg(directory.path().join("json")).args(flags);
        Self { running: Running::start(&mut command), directory }
    }

    fn seconds(&mut self, count: usize) {
        for _ in 0..count {
            self.running.next_line(Stream::Out);
        }
    }

    fn finish(self) -> Report {
        let finished = self.running.finish();
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
        let text = std::fs::read_to_string(self.directory.path().join("json"));
        Report::read(&text.expect("a report"))
    }
}

/// Stops nginx for a second within a run of ten; gives the report and how long it really was.
fn stopped_for_a_second(nginx: &Nginx, flags: &[&str]) -> (Report, f64) {
    let mut load = Load::start(nginx, &[&["-d", "10s", "-c", "100"], flags].concat());
    load.seconds(4);
    let began = Instant::now();
    nginx.signal(Signal::STOP);
    thread::sleep(STOP);
    nginx.signal(Signal::CONT);
    let stopped_ns = began.elapsed().as_nanos() as f64;
    (load.finish(), stopped_ns)
}

/// In a run of `T` at a rate, a stop of `S` leaves P(response > x) = (S - x) / T: the quantile q is
/// S - (1 - q) T. To it comes the time in which nginx, back again, works off what is ahead.
#[test]
fn a_stop_of_a_second_is_in_the_response_time_at_a_rate_and_hardly_in_a_closed_loop() {
    let Some(_turn) = turn_with(&["nginx"]) else { return };
    let nginx = Nginx::start();
    let (closed, stopped_ns) = stopped_for_a_second(&nginx, &[]);
    let capacity = closed_loop_rate(&closed, stopped_ns);

    let (report, stopped_ns) = stopped_for_a_second(&nginx, &["-r", "1000"]);
    assert_eq!(report.ledger(["scheduled", "completed"]), [10_000, 10_000]);
    let response = report.histogram("/latency/response");
    for q in [0.95, 0.99, 1.0] {
        let beyond_ns = (1.0 - q) * RUN_NS;
        let truth_ns = stopped_ns - beyond_ns;
        let catching_up_ns = RATE * beyond_ns / capacity;
        let seen_ns = response.value_at_quantile(q) as f64;
        let fits = truth_ns * 0.97..=(truth_ns + catching_up_ns) * 1.03;
        let bounds = (fits.start() / MS, fits.end() / MS);
        assert!(fits.contains(&seen_ns), "quantile {q}: {} ms, not {bounds:?}", seen_ns / MS);
    }
    // A hundred of ten thousand requests were with nginx then.
    let service = report.histogram("/latency/service");
    assert!((90..=100).contains(&slower(&service, HALF_STOP_NS)), "{service:?}");
    let service_ns = service.value_at_quantile(0.98) as f64;
    assert!(service_ns < 0.1 * stopped_ns, "service time, quantile 0.98: {} ms", service_ns / MS);
}

/// What the closed loop saw of the stop; gives requests per second of the time without it.
fn closed_loop_rate(report: &Report, stopped_ns: f64) -> f64 {
    let [completed, unsent] = report.ledger(["completed", "unsent"]);
    assert_eq!(unsent, 0);
    for clock in ["/latency/response", "/latency/service"] {
        let histogram = report.histogram(clock);
        let slow = slower(&histogram, HALF_STOP_NS);
        assert!((1..=100).contains(&slow), "{slow}: at most one for each connection");
        assert!(histogram.max() as f64 >= stopped_ns * 0.97, "{clock}: {}", histogram.max());
        let p98_ns = histogram.value_at_quantile(0.98) as f64;
        assert!(p98_ns < 0.1 * stopped_ns, "{clock}: {} ms", p98_ns / MS);
    }
    completed as f64 * 1e9 / (RUN_NS - stopped_ns)
}

fn slower(histogram: &Histogram<u64>, than_ns: u64) -> u64 {
    histogram.count_between(than_ns, histogram.high())
}

/// Killed for a second in the middle of a run, then back on the same port.
#[test]
fn a_run_goes_on_when_nginx_is_killed_and_comes_back() {
    let Some(_turn) = turn_with(&["nginx"]) else { return };
    let loads = [&["-r", "1000"][..], &["-r", "1000", "--driver", "epoll"], &["--no-keepalive"]];
    // Counts are judged, and no times: the runs may take place at once.
    thread::scope(|scope| {
        for flags in loads {
            scope.spawn(move || killed_for_a_second(flags));
        }
    });
}

fn killed_for_a_second(flags: &[&str]) {
    let mut nginx = Nginx::start();
    let mut load = Load::start(&nginx, &[&["-d", "5s", "-c", "20"], flags].concat());
    load.seconds(1);
    nginx.kill();
    load.seconds(1);
    nginx.restart();
    assert_resumed(&load.finish(), flags);
}

fn assert_resumed(report: &Report, flags: &[&str]) {
    let errors = report.errors();
    let refused = errors.iter().find(|(phase, kind, _)| (*phase, *kind) == ("connect", "refused"));
    let refused = refused.map_or(0, |(_, _, count)| *count);
    // Each of 20 connections tries again after 10, 20, 40 ms ... up to a second.
    assert!((1..=200).contains(&refused), "{flags:?}: {errors:?}");
    let points = report.at("/series").as_array().expect("a list");
    let after = points.iter().filter(|point| point["t_s"].as_f64() >= Some(4.0));
    let completed: u64 = after.filter_map(|point| point["completed"].as_u64()).sum();
    assert!(completed >= 500, "{flags:?}: {completed} in the last second");
    if flags.contains(&"-r") {
        // What was due meanwhile is sent late; only what nginx had when it died is lost.
        let [scheduled, completed, broken] = report.ledger(["scheduled", "completed", "broken"]);
        assert_eq!(scheduled, 5000, "{flags:?}");
        assert!(broken <= 20 && completed + broken >= 4980, "{}", report.at("/ledger"));
    }
}

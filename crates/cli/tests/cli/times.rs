//! Times when the tester itself is in the way: on a real socket, and stopped by a signal.

use std::io::{Read, Write};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::peer::{Answer, OK, Peer};
use crate::support::{Report, Running, measure, plimsoll};

/// The first of two pipelined requests is answered 3 ms before both run out of time, so that a
/// third is begun in the turn that gives them up.
#[test]
fn no_request_takes_centuries() {
    let peer = Peer::accepting(|mut stream| {
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            if stream.read(&mut bytes).is_ok_and(|len| len > 0) {
                thread::sleep(Duration::from_millis(97));
                // A client that has given up does not listen.
                let _ = stream.write_all(OK.as_bytes());
                while stream.read(&mut bytes).is_ok_and(|len| len > 0) {}
            }
        });
    });
    for driver in ["auto", "epoll"] {
        let url = peer.url("/");
        let flags = ["--pipeline", "2", "-c", "200", "--timeout", "100ms", "-d", "1s"];
        let report = measure(&[&[&url, "--driver", driver], &flags[..]].concat());
        assert!(report.count("/ledger/timed_out") > 0, "{driver}");
        assert_eq!(report.count("/loader/disordered"), 0, "{driver}");
        let max_us = report.number("/latency/response/max_us");
        assert!(max_us < 90e6, "{driver}: {max_us} µs");
    }
}

/// When each of some stops began and ended, as far as can be told: the process was stopped for no
/// longer than the first, and for no less than the second.
pub(crate) struct Stops {
    most: Duration,
    pub least: Duration,
}

impl Stops {
    /// Stops a process repeatedly, each time for a while.
    pub(crate) fn inflict(running: &Running, count: usize, length: Duration) -> Self {
        let mut stops = Self { most: Duration::ZERO, least: Duration::ZERO };
        for _ in 0..count {
            let sent = Instant::now();
            running.signal(Signal::STOP);
            while state(running.id()) != "T" {
                thread::yield_now();
            }
            let stopped = Instant::now();
            thread::sleep(length);
            stops.least += stopped.elapsed();
            running.signal(Signal::CONT);
            while state(running.id()) == "T" {
                thread::yield_now();
            }
            stops.most += sent.elapsed();
            thread::sleep(length);
        }
        stops
    }
}

/// The third field of `/proc/PID/stat` (proc(5)).
fn state(process: u32) -> String {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    let (_, fields) = text.rsplit_once(") ").expect("a name in parentheses");
    fields[..1].to_owned()
}

/// How long the threads that a process has now have been ready without a CPU.
fn run_delay(process: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.expect("a process that is not waited for yet");
    let delays = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').nth(1)?.parse::<u64>().ok()
    });
    Duration::from_nanos(delays.sum())
}

/// A machine that is busy keeps the tester from running too, which counts as well, so the time it
/// waited for a CPU is allowed for. One stop of eight that is not seen is more than the tolerance.
#[test]
fn every_stop_is_seen_and_their_sum_is_right() {
    let seen = |driver: &str, rate: &[&str]| {
        let peer = Peer::answering(|_| Answer::Say(OK));
        let url = peer.url("/");
        let flags =
            [&url, "--driver", driver, "-c", "2", "-d", "60s", "-t", "1", "--format", "json"];
        let command: &mut Command = &mut plimsoll(&[&flags[..], rate].concat());
        let running = Running::start(command);
        peer.wait_for_requests(10);
        let stops = Stops::inflict(&running, 8, Duration::from_millis(45));
        running.signal(Signal::INT);
        let mut waited = Duration::ZERO;
        while state(running.id()) != "Z" {
            waited = waited.max(run_delay(running.id()));
        }
        (stops, waited, running.finish())
    };
    for driver in ["auto", "epoll"] {
        for rate in [&[][..], &["-r", "50"][..]] {
            let (stops, waited, finished) = seen(driver, rate);
            let report = Report::read(&finished.stdout);
            let paused = Duration::from_secs_f64(report.number("/loader/paused_s"));
            let context = format!("{driver} {rate:?}: {} {paused:?}", report.at("/loader/pauses"));
            assert!(paused >= stops.least.mul_f64(0.9), "{:?} at least, {context}", stops.least);
            let most = stops.most.mul_f64(1.1) + waited;
            assert!(paused <= most, "{most:?} at most, {context}");
            assert_eq!(report.text("/loader/verdict"), "invalid", "{context}");
            let causes = report.at("/loader/causes").as_array().expect("a list");
            assert!(causes.iter().any(|cause| cause["code"] == "paused"), "{context}");
        }
    }
}

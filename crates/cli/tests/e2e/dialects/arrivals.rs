//! `ramping-arrival-rate` as a server sees it: how many requests a ramp is, and that none comes
//! before the integral of the rate allows it; by one process, and by three with a third each.
//!
//! No bound is on how late a request comes, because that is the machine's business: the simulated
//! runs of the engine hold each firing to the ns.

use std::process::Command;
use std::time::Duration;

use super::recorder::Recorder;
use crate::programs::share_with;
use crate::support::plimsoll;

/// Stages of a rate: how long each takes, seconds, and iterations per second at its end.
const START_RPS: f64 = 10.0;
const STAGES: [(f64, f64); 3] = [(2.0, 300.0), (0.5, 300.0), (1.0, 20.0)];
/// Of 10 to 300 in 2 s, of 300 for half a second, and of 300 to 20 in a second.
const TOTAL: u64 = 310 + 150 + 160;

/// A script whose requests say which iteration of the whole test they are of, and when the
/// scenario started, ms since 1970.
fn script() -> String {
    let stages: Vec<String> = STAGES
        .iter()
        .map(|(s, rps)| format!("{{ duration: '{}ms', target: {rps} }}", s * 1e3))
        .collect();
    format!(
        "import http from 'k6/http'; import exec from 'k6/execution';
         export const options = {{ scenarios: {{ ramp: {{ executor: 'ramping-arrival-rate',
           startRate: {START_RPS}, preAllocatedVUs: 60, stages: [{}] }} }} }};
         export default () => {{
           const {{ iterationInTest, startTime }} = exec.scenario;
           http.get(`${{__ENV.URL}}?${{iterationInTest}}&${{startTime}}`);
         }}",
        stages.join(", ")
    )
}

/// The integral of the rate up to this time: how many iterations are due by then.
fn integral(at_s: f64) -> f64 {
    let (mut area, mut from_rps, mut left_s) = (0.0, START_RPS, at_s);
    for (length_s, to_rps) in STAGES {
        let within_s = left_s.clamp(0.0, length_s);
        let slope = (to_rps - from_rps) / length_s;
        area += from_rps * within_s + slope * within_s * within_s / 2.0;
        (from_rps, left_s) = (to_rps, left_s - length_s);
    }
    area
}

/// Runs the script with each of these flags at the same time, and gives how many iterations were
/// dropped.
fn load(url: &str, segments: &[&str]) -> u64 {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("script.js"), script()).expect("a script");
    let start = |(index, segment): (usize, &&str)| {
        let mut command: Command = plimsoll(&["k6", "run", "--quiet"]);
        command.args(["--summary-export", &format!("{index}.json")]);
        if !segment.is_empty() {
            command.args(["--execution-segment", segment]);
            command.args(["--execution-segment-sequence", "0,1/3,2/3,1"]);
        }
        command.arg("script.js").current_dir(folder.path()).env("URL", url);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        command.spawn().expect("it starts")
    };
    let started: Vec<_> = segments.iter().enumerate().map(start).collect();
    for mut process in started {
        assert!(process.wait().expect("it ends").success());
    }
    let dropped = |index: usize| {
        let text = std::fs::read_to_string(folder.path().join(format!("{index}.json")));
        let summary: serde_json::Value =
            serde_json::from_str(&text.expect("a summary")).expect("JSON");
        summary["metrics"]["dropped_iterations"]["count"].as_u64().unwrap_or(0)
    };
    (0..segments.len()).map(dropped).sum()
}

#[test]
fn a_ramp_is_the_integral_of_its_rate() {
    let Some(_share) = share_with(&[]) else { return };
    assert!((integral(3.5) - TOTAL as f64).abs() < 1e-6);
    for segments in [&[""][..], &["0:1/3", "1/3:2/3", "2/3:1"]] {
        let recorder = Recorder::start();
        let dropped = load(&recorder.url("/"), segments);
        let mut seen: Vec<(u64, Duration)> = Vec::new();
        for (at, request) in recorder.take_timed() {
            let query = request.split([' ', '?']).nth(2).expect("a query");
            let (iteration, start_ms) = query.split_once('&').expect("two numbers");
            let start = Duration::from_millis(start_ms.parse().expect("a time"));
            seen.push((iteration.parse().expect("a number"), at.saturating_sub(start)));
        }
        assert_eq!(seen.len() as u64 + dropped, TOTAL, "{segments:?}");
        let mut numbers: Vec<u64> = seen.iter().map(|(iteration, _)| *iteration).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), seen.len(), "{segments:?}: an iteration ran twice");
        assert!(numbers.last().is_none_or(|last| *last < TOTAL), "{segments:?}: {numbers:?}");
        seen.sort_unstable_by_key(|(_, since)| *since);
        for (before, (_, since)) in (0..).zip(&seen) {
            // Clocks of two processes may be read a little apart.
            let allowed = integral(since.as_secs_f64() + 0.002);
            let count = f64::from(before) + 1.0;
            assert!(count <= allowed + 1e-6, "{segments:?}: {count} by {since:?}: {allowed}");
        }
    }
}

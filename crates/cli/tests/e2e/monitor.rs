//! What `--monitor` says of a server is what `/proc` and pidstat say of it: for a server of several
//! processes, and for one of several threads.
//!
//! The servers are idle before and after each run, so CPU time read by hand on either side of it is
//! the run's, and so is the sum of pidstat's seconds.

use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Signal;

use crate::nginx::Nginx;
use crate::programs::{processes, turn_with};
use crate::support::{Report, Running, Server, Stream, measure};

/// How far figures may be apart.
const TOLERANCE: f64 = 0.05;

/// What one witness says of a server.
#[derive(Debug, Clone, Copy)]
struct Seen {
    cpu_s: f64,
    rss_bytes: f64,
}

/// CPU time since the start and resident memory now, as `/proc` has them.
fn by_hand(pids: &[u32]) -> Seen {
    let mut seen = Seen { cpu_s: 0.0, rss_bytes: 0.0 };
    let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
    for pid in pids {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a running server");
        let (_, fields) = stat.rsplit_once(") ").expect("a name in parentheses");
        // The third field is the first here; user and system time are 14 and 15.
        let ticks = fields.split(' ').skip(11).take(2).map(|t| t.parse::<f64>().expect("ticks"));
        seen.cpu_s += ticks.sum::<f64>() / ticks_per_s;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a running server");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("memory");
        let kib = line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number");
        seen.rss_bytes += kib * 1024.0;
    }
    seen
}

/// pidstat, once a second.
struct Pidstat {
    running: Running,
    processes: usize,
    text: String,
}

impl Pidstat {
    fn start(pids: &[u32]) -> Self {
        let list = pids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let mut command = Command::new("pidstat");
        // Epoch seconds in the first column, a point for decimals.
        command.args(["-u", "-r", "-h", "-H", "-p", &list, "1"]).env("LC_ALL", "C");
        Self { running: Running::start(&mut command), processes: pids.len(), text: String::new() }
    }

    /// Takes the rows of a second; returns when it ended, in seconds since 1970.
    fn second(&mut self) -> u64 {
        let (mut rows, mut ended_s) = (0, 0);
        while rows < self.processes {
            let line = self.running.next_line(Stream::Out);
            if let Some(time_s) = line.split(' ').next().and_then(|word| word.parse().ok()) {
                (rows, ended_s) = (rows + 1, time_s);
            }
            self.text += &line;
        }
        ended_s
    }

    /// Adds up the seconds until one that is idle whole; memory is that of the last.
    fn finish(mut self) -> Seen {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        // Whole seconds are told, so the second that ended two later began after now.
        while self.second() < now_s + 2 {}
        drop(self.running.finish_by(Signal::INT));
        let head = self.text.lines().find(|line| line.starts_with('#')).expect("a heading");
        let names: Vec<&str> = head.trim_start_matches('#').split_whitespace().collect();
        let rows = self.text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        let rows: Vec<Vec<&str>> = rows.map(|row| row.split_whitespace().collect()).collect();
        let column = |rows: &[Vec<&str>], name: &str| -> f64 {
            let at = names.iter().position(|known| *known == name).expect(name);
            rows.iter().map(|row| row[at].parse::<f64>().expect(name)).sum()
        };
        let last = &rows[rows.len() - self.processes..];
        Seen { cpu_s: column(&rows, "%CPU") / 100.0, rss_bytes: column(last, "RSS") * 1024.0 }
    }
}

/// Loads a server while all three look at it.
fn witnessed(root: u32, url: &str, monitor: &str) {
    let pids = processes(root);
    let mut pidstat = Pidstat::start(&pids);
    pidstat.second();
    let before = by_hand(&pids);
    let report = measure(&[url, "-c", "16", "-d", "4s", "--monitor", monitor]);
    let after = by_hand(&pids);
    let pidstat = pidstat.finish();
    let hand = Seen { cpu_s: after.cpu_s - before.cpu_s, ..after };
    let ours = Seen {
        cpu_s: report.number("/target/cpu_s"),
        rss_bytes: last_sample(&report)["rss_bytes"].as_f64().expect("a number"),
    };
    let case = format!("{ours:?}, by hand {hand:?}, pidstat {pidstat:?}");
    let agree = |a: f64, b: f64, slack: f64| (a - b).abs() <= TOLERANCE * b + slack;
    assert!(hand.cpu_s > 0.5, "the load was a load: {case}");
    assert!(agree(ours.cpu_s, hand.cpu_s, 0.0), "CPU: {case}");
    assert!(agree(ours.cpu_s, pidstat.cpu_s, 0.0), "CPU: {case}");
    assert!(agree(ours.rss_bytes, hand.rss_bytes, 0.0), "memory: {case}");
    assert!(agree(ours.rss_bytes, pidstat.rss_bytes, estimate_bytes(pids.len())), "memory: {case}");
    assert_eq!(report.at("/target/watched/0/pids"), &serde_json::json!([root]));
    assert_eq!(report.count("/target/processes_max"), pids.len() as u64);
    assert_eq!(report.at("/target/ended_at_s"), &serde_json::Value::Null);
}

fn last_sample(report: &Report) -> &serde_json::Value {
    report.at("/target/samples").as_array().expect("a list").last().expect("samples")
}

/// pidstat reads `/proc/PID/stat`, where Linux since 6.2 tells an estimate: each CPU may hold back
/// up to 32 pages, or two for each CPU if that is more, of each of three kinds.
fn estimate_bytes(processes: usize) -> f64 {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let pages = 3 * cpus * (2 * cpus).max(32);
    (processes * pages * rustix::param::page_size()) as f64
}

#[test]
fn a_server_of_several_processes() {
    let Some(_turn) = turn_with(&["nginx", "pidstat"]) else { return };
    let nginx = Nginx::start_with_workers(4);
    let url = nginx.url("/");
    let port = url.trim_end_matches('/').rsplit_once(':').expect("a port").1;
    assert_eq!(processes(nginx.id()).len(), 5, "a master and its workers");
    witnessed(nginx.id(), &url, &format!(":{port}"));
}

#[test]
fn a_server_of_several_threads() {
    let Some(_turn) = turn_with(&["pidstat"]) else { return };
    let server = Server::start(&["-t", "4"]);
    witnessed(server.id(), &server.url("/"), &server.id().to_string());
}

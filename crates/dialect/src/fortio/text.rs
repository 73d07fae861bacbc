//! The report that fortio prints to stderr, line by line in its order and number formats.
//!
//! Scripts look for `# target 99%`, `All done`, `qps=` and `Code 200 :`, so names, spaces and
//! digits are fortio's. [`banner`] and [`starting`] come before a run, [`Summary`] after it.
//! Absent: log lines, which fortio mixes in.

use std::fmt;

use super::command::{Command, LogLevel};
use super::pace::{Change, Deal};
use super::result::{Exported, Http, Protocol, Row};
use crate::duration;
use crate::numbers::{go_general, go_shortest};

/// How long a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// ns.
    Duration(i64),
    /// Calls.
    Calls(i64),
    /// Until Ctrl-C.
    UntilStopped,
}

/// A load as it was asked for, and how it is dealt to threads.
#[derive(Debug, Clone, PartialEq)]
pub struct Load<'a> {
    /// Of the program.
    pub version: &'a str,
    /// Calls per second as they were given; 0 and less is as fast as possible.
    pub qps: f64,
    /// When it ends.
    pub limit: Limit,
    /// What is loaded.
    pub target: &'a str,
    /// Threads.
    pub threads: u32,
    /// Processors before and after the flag for them.
    pub processors: [u32; 2],
    /// Calls of each thread, and how many more the first one makes.
    pub calls: [i64; 2],
    /// How calls are logged; empty: they are not.
    pub access_log: &'a str,
}

impl<'a> Load<'a> {
    /// Of a command that is dealt to threads like this, without a log of its calls.
    #[must_use]
    pub fn of(command: &'a Command, deal: &Deal, version: &'a str, processors: [u32; 2]) -> Self {
        let limit = match (command.exactly, command.duration_ns) {
            (0, 0) => Limit::UntilStopped,
            (0, ns) => Limit::Duration(ns),
            (calls, _) => Limit::Calls(calls),
        };
        Self {
            version,
            qps: command.qps,
            limit,
            target: &command.target,
            threads: deal.threads,
            processors,
            calls: [deal.calls, deal.more],
            access_log: "",
        }
    }
}

/// What is logged where threads or calls are not as they were asked for.
#[must_use]
pub fn changed(deal: &Deal) -> Option<String> {
    match deal.change {
        Change::None => None,
        Change::Raised => Some(
            "Increasing the number of calls to the minimum of 2 with 1 thread. total duration \
             will increase"
                .to_owned(),
        ),
        Change::Lowered { calls, from } => Some(format!(
            "Lowering number of threads - total call {calls} -> lowering from {from} to {} threads",
            deal.threads
        )),
    }
}

/// The first line.
#[must_use]
pub fn banner(load: &Load<'_>) -> String {
    let (version, target) = (load.version, load.target);
    let [before, after] = load.processors;
    let qps = go_shortest(load.qps);
    let limit = match load.limit {
        Limit::Duration(ns) => format!("for {}", duration::print(ns)),
        Limit::Calls(calls) => format!("for {calls} calls"),
        Limit::UntilStopped => "until interrupted".to_owned(),
    };
    format!(
        "Fortio {version} running at {qps} queries per second, {before}->{after} procs, {limit}: \
         {target}\n"
    )
}

/// The line that says how the load is dealt to threads.
#[must_use]
pub fn starting(load: &Load<'_>) -> String {
    let ([calls, more], log) = (load.calls, load.access_log);
    let all = calls * i64::from(load.threads);
    let who = format!("{} thread(s) [gomax {}]", load.threads, load.processors[1]);
    let (qps, limit) = match (Some(load.qps).filter(|qps| *qps > 0.0), load.limit) {
        (None, Limit::Duration(ns)) => ("max".to_owned(), format!(" for {}", duration::print(ns))),
        (None, Limit::Calls(total)) => {
            ("max".to_owned(), format!(" for exactly {total} calls ({calls} per thread + {more})"))
        }
        (None, Limit::UntilStopped) => ("max".to_owned(), " until interrupted".to_owned()),
        (Some(qps), limit) => {
            let limit = match limit {
                Limit::Duration(ns) => {
                    format!(" for {} : {calls} calls each (total {all})", duration::print(ns))
                }
                Limit::Calls(total) => {
                    format!(" : exactly {total}, {calls} calls each (total {all} + {more})")
                }
                Limit::UntilStopped => " until interrupted".to_owned(),
            };
            (go_shortest(qps), limit)
        }
    };
    format!("Starting at {qps} qps with {who}{limit}{log}\n")
}

/// The line after the last call.
#[must_use]
pub fn ended(elapsed_ns: i64, calls: i64, qps: f64) -> String {
    let qps = go_general(qps, 5);
    format!("Ended after {} : {calls} calls. qps={qps}\n", duration::print(elapsed_ns))
}

/// The line of figures of a histogram.
#[must_use]
pub fn counter(name: &str, histogram: &Exported) -> String {
    let Exported { count, min, max, sum, avg, std_dev, .. } = histogram;
    let (min, max) = (go_shortest(*min), go_shortest(*max));
    let (avg, std_dev, sum) = (go_general(*avg, 8), go_general(*std_dev, 4), go_general(*sum, 9));
    format!("{name} : count {count} avg {avg} +/- {std_dev} min {min} max {max} sum {sum}\n")
}

/// A histogram with its buckets and percentiles.
#[must_use]
pub fn histogram(name: &str, histogram: &Exported) -> String {
    let Some(rows) = histogram.data.as_deref().filter(|_| histogram.count > 0) else {
        return format!("{name} : no data\n");
    };
    let mut text = counter(name, histogram);
    text.push_str("# range, mid point, percentile, count\n");
    for (index, row) in rows.iter().enumerate() {
        let Row { start, end, percent, count } = row;
        let mark = if index == 0 { ">=" } else { ">" };
        let [from, to, mid] = [*start, *end, (start + end) / 2.0].map(|it| go_general(it, 6));
        text.push_str(&format!("{mark} {from} <= {to} , {mid} , {percent:.2}, {count}\n"));
    }
    text.push_str(&targets("target", histogram));
    text
}

/// A histogram as `-quiet` leaves it: its figures and percentiles.
fn short(name: &str, histogram: &Exported) -> String {
    counter(name, histogram) + &targets("target", histogram)
}

fn targets(word: &str, histogram: &Exported) -> String {
    let of = |it: &super::result::Percentile| {
        let (percent, value) = (go_shortest(it.percentile), go_general(it.value, 6));
        format!("# {word} {percent}% {value}\n")
    };
    histogram.percentiles.iter().map(of).collect()
}

/// What fortio does not say: the times from when calls were due, and where every call went. Empty
/// for a result that has no such fields.
#[must_use]
pub fn corrected(result: &super::result::FortioResult) -> String {
    let Some(own) = &result.own else { return String::new() };
    let times = &own.corrected_duration_histogram;
    let ledger = &own.ledger;
    counter("Corrected Function Time", times)
        + &targets("corrected", times)
        + &format!(
            "Calls due {} : sent {}, answered {}, refused {}, timed out {}, broken {}, unfinished \
             {}, never sent {}, left out {}\n",
            ledger.scheduled,
            ledger.sent,
            ledger.completed,
            ledger.refused,
            ledger.timed_out,
            ledger.broken,
            ledger.unfinished,
            ledger.unsent,
            ledger.shed
        )
}

/// A thread's connections.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    /// How many sockets it used.
    pub sockets: i64,
    /// Where they went.
    pub resolved: String,
    /// How long connects took, s.
    pub times: Exported,
}

/// What a run over HTTP prints when it has ended, apart from what is in its JSON.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary<'a> {
    /// The result.
    pub result: &'a super::result::FortioResult,
    /// Times that threads slept between calls, s; of a load at a rate.
    pub sleeps: Option<&'a Exported>,
    /// How many of them were negative: calls that had been due before.
    pub behind: u64,
    /// Of each thread.
    pub connections: &'a [Connection],
    /// Calls before the run.
    pub warmup: u64,
    /// What is logged: less than warnings shortens the report, as `-quiet` does.
    pub level: LogLevel,
}

impl fmt::Display for Summary<'_> {
    /// From the sleep times to `All done`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = self.result;
        self.sleeps(out)?;
        let times = &result.duration_histogram;
        let print = if self.is_quiet() { short } else { histogram };
        out.write_str(&print("Aggregated Function Time", times))?;
        out.write_str(&print("Error cases", &result.errors_duration_histogram))?;
        match &result.protocol {
            Protocol::Http(http) => self.http(http, out)?,
            Protocol::Socket(socket) => {
                let (used, calls) = (socket.socket_count, result.num_threads);
                writeln!(out, "Sockets used: {used} (for perfect no error run, would be {calls})")?;
                let (sent, received) = (socket.bytes_sent, socket.bytes_received);
                writeln!(out, "Total Bytes sent: {sent}, received: {received}")?;
                let name = result.run_type.to_lowercase();
                for (code, count) in &socket.ret_codes {
                    let percent = share(*count, times.count);
                    writeln!(out, "{name} {code} : {count} ({percent:.1} %)")?;
                }
            }
            Protocol::Grpc(grpc) => {
                writeln!(out, "Jitter: {}", result.jitter)?;
                let name = match (grpc.ping, result.run_type.starts_with("Custom")) {
                    (_, true) => "Custom gRPC Method",
                    (true, _) => "Ping",
                    (false, _) => "Health",
                };
                for (code, count) in &grpc.ret_codes {
                    writeln!(out, "{name} {code} : {count}")?;
                }
            }
        }
        let (mean_ms, qps) = (1000.0 * times.avg, result.actual_qps);
        let (calls, warmup) = (times.count, self.warmup);
        writeln!(
            out,
            "All done {calls} calls (plus {warmup} warmup) {mean_ms:.3} ms avg, {qps:.1} qps"
        )
    }
}

impl Summary<'_> {
    fn is_quiet(&self) -> bool {
        self.level > LogLevel::Warning
    }

    /// In full if more than a twentieth of the calls had been due before.
    fn sleeps(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(sleeps) = self.sleeps.filter(|_| !self.is_quiet()) else { return Ok(()) };
        let behind = share(self.behind as i64, sleeps.count.max(1));
        if behind <= 5.0 {
            return out.write_str(&counter("Sleep times", sleeps));
        }
        out.write_str(&histogram("Aggregated Sleep Time", sleeps))?;
        writeln!(out, "WARNING {behind:.2}% of sleep were falling behind")
    }

    fn http(&self, http: &Http, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = self.result;
        out.write_str("# Socket and IP used for each connection:\n")?;
        for (index, connection) in self.connections.iter().enumerate() {
            let Connection { sockets, resolved, times } = connection;
            let name = format!(
                "[{index}] {sockets:3} socket used, resolved to {resolved}, connection timing"
            );
            out.write_str(&counter(&name, times))?;
        }
        match self.level {
            LogLevel::Debug | LogLevel::Verbose | LogLevel::Info => {
                let name = "Connection time histogram (s)";
                out.write_str(&histogram(name, &http.connection_stats))?;
            }
            LogLevel::Warning => {
                out.write_str(&counter("Connection time (s)", &http.connection_stats))?;
            }
            _ => {}
        }
        let (used, threads) = (http.socket_count, result.num_threads);
        writeln!(out, "Sockets used: {used} (for perfect keepalive, would be {threads})")?;
        let (uniform, jitter, catch_up) = (result.uniform, result.jitter, !result.no_catch_up);
        writeln!(out, "Uniform: {uniform}, Jitter: {jitter}, Catchup allowed: {catch_up}")?;
        out.write_str("IP addresses distribution:\n")?;
        let mut addresses: Vec<_> = http.ip_count_map.iter().collect();
        addresses.sort_by(|a, b| b.1.cmp(a.1));
        for (address, count) in addresses {
            writeln!(out, "{address}: {count}")?;
        }
        let number = |code: &str| code.parse::<i64>().unwrap_or(i64::MAX);
        let mut codes: Vec<_> = http.ret_codes.iter().collect();
        codes.sort_by_key(|(code, _)| number(code));
        for (code, count) in codes {
            let percent = share(*count, result.duration_histogram.count);
            writeln!(out, "Code {code:>3} : {count} ({percent:.1} %)")?;
        }
        if self.is_quiet() {
            return Ok(());
        }
        out.write_str(&counter("Response Header Sizes", &http.header_sizes))?;
        out.write_str(&counter("Response Body/Total Sizes", &http.sizes))
    }
}

fn share(count: i64, all: i64) -> f64 {
    100.0 * count as f64 / all as f64
}

/// The last line, of a result that went to a file; `path` is `stdout` for `-`.
#[must_use]
pub fn written(bytes: usize, path: &str) -> String {
    format!("Successfully wrote {bytes} bytes of Json data to {path}\n")
}

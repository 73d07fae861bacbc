//! One run of one case: start the server, see that it answers, warm it up, load it, watch it, see
//! that it still answers, stop it.

use plimsoll_core::doubt::{Figure, Reach, Touch};
use plimsoll_core::result::RunResult;
use plimsoll_core::study::{CaseRun, Figures};
use plimsoll_core::units::format_ns;
use plimsoll_core::usage::Usage;
use plimsoll_core::verdict::{Cause, Verdict};
use plimsoll_io::clock;
use plimsoll_io::host::CpuTicks;

use crate::cast::{Cast, Failure, Setting, place};
use crate::loading::{self, CallContext, Called};
use crate::order::PlannedRun;
use crate::programs::Ports;
use crate::sample;
use crate::serving::Serving;
use crate::suite::Cpus;
use crate::testers::{RESULT, Tester};

/// Carries a run out. Every failure is reported in it.
pub(crate) fn carry_out(
    slot: &PlannedRun<'_>,
    setting: &Setting<'_>,
    ports: &mut Ports,
) -> CaseRun {
    let mut run = CaseRun {
        repeat: slot.repeat,
        position: slot.position,
        started_at: now(),
        ..CaseRun::default()
    };
    if let Err(failure) = attempt(slot, setting, ports, &mut run) {
        run.failure = Some(failure.reason);
        run.log = failure.log.filter(|log| !log.is_empty());
    }
    run
}

/// RFC 3339, UTC.
fn now() -> String {
    humantime::format_rfc3339_millis(clock::wall_time()).to_string()
}

fn attempt(
    slot: &PlannedRun<'_>,
    setting: &Setting<'_>,
    ports: &mut Ports,
    run: &mut CaseRun,
) -> Result<(), Failure> {
    let Cast { serving, services, url, names } = Cast::start(slot.server, setting, ports)?;
    let outcome = load(slot, setting, &place(&names, &url, setting), serving, run);
    // Those that had to be killed are reported, but spoil nothing.
    run.causes.extend(services.stop().into_iter().map(|what| note("not_stopped", what)));
    outcome
}

/// Warms up, loads and stops a server that is ready.
fn load(
    slot: &PlannedRun<'_>,
    setting: &Setting<'_>,
    place: &CallContext<'_>,
    mut serving: Serving<'_>,
    run: &mut CaseRun,
) -> Result<(), Failure> {
    let scratch = setting.scratch;
    let cpus = slot.load.cpus.as_ref();
    let (warmup_ns, limit_ns) = (setting.suite.warmup_ns, slot.load.limit_ns);
    if let Some(line) = loading::warmup(slot.load, warmup_ns, place)? {
        let called = loading::call(&line, scratch, cpus, limit_ns, setting.stopped);
        called.and_then(|called| called.reading).map_err(|error| Failure {
            reason: format!("the warm-up: {error}"),
            log: Some(serving.last_lines()),
        })?;
    }
    let mut line = loading::line(slot.load, warmup_ns, place)?;
    line.variables = (setting.variables)(Some(slot));
    run.command = loading::shown(slot.load, place.url);
    let (roots, options) = serving.watched()?;
    let sampler = sample::Sampler::start(roots, options).map_err(|error| error.to_string())?;
    let cpus_watched = numbers(cpus);
    let ticks = CpuTicks::of(&cpus_watched);
    let origin = Moment::now();
    run.started_at = now();
    sampler.begin();
    let limit_ns = limit_ns.saturating_add(warmup_ns);
    let called = loading::call(&line, scratch, cpus, limit_ns, setting.stopped);
    let used = sampler.finish_record();
    let ticks = CpuTicks::of(&cpus_watched).zip(ticks);
    let host = ticks.map(|(now, then)| Host::between(&then, &now, cpus_watched.len()));
    let still = serving.check();
    let log = serving.last_lines();
    run.causes.extend(serving.left().map(|what| note("left_its_launcher", what)));
    let (hidden, homeless) =
        (serving.hidden().map(str::to_owned), serving.homeless().map(str::to_owned));
    let stopped = serving.stop();
    let failed = |reason: String| Failure { reason, log: Some(log.clone()) };
    let called = called.map_err(&failed)?;
    let result = called.reading.as_ref().ok().and_then(|reading| reading.result.as_deref());
    let warmed = result.filter(|result| result.warmup.is_some());
    let measured = warmed.map(|result| origin.measured(result));
    run.server = used.map(|record| of_measured(record, measured));
    run.tester = called.usage.clone().map(|record| of_measured(record, measured));
    if let Some(server) = &mut run.server {
        if let Some(why) = &hidden {
            server.forget_cpu(why);
        }
        if let (Some(lost), Some(why)) = (&mut server.cpu_unknown, homeless) {
            *lost += &format!("; no control group of its own could be made: {why}");
        }
    }
    keep(slot, setting, called, run);
    still.map_err(|wrong| failed(format!("after the load: {wrong}")))?;
    if let Err(what) = stopped {
        run.causes.push(note("not_stopped", what));
    }
    judge(slot, host.unwrap_or_default(), run);
    match run.failure.take() {
        Some(reason) => Err(failed(reason)),
        None => Ok(()),
    }
}

/// One moment by both clocks.
#[derive(Debug, Clone, Copy)]
struct Moment {
    wall: std::time::SystemTime,
    now_ns: u64,
}

impl Moment {
    fn now() -> Self {
        Self { wall: clock::wall_time(), now_ns: clock::now_ns() }
    }

    /// From when to when a result was measured, by the monotonic clock: without its warm-up, with
    /// its drain. An empty stretch where the document does not say, or the wall clock was set.
    fn measured(&self, result: &RunResult) -> (u64, u64) {
        let started = humantime::parse_rfc3339(&result.started_at).ok();
        let since = started.and_then(|started| started.duration_since(self.wall).ok());
        let Some(since) = since else { return (0, 0) };
        let from_ns = self.now_ns.saturating_add(since.as_nanos() as u64);
        (from_ns, from_ns.saturating_add(result.elapsed_ns))
    }
}

/// What was used in the measured part; in all where nothing was asked before it, or the tester does
/// not say when that was.
fn of_measured(record: sample::UsageRecord, measured: Option<(u64, u64)>) -> Usage {
    match measured {
        Some((from_ns, to_ns)) => record.within(from_ns, to_ns),
        None => record.whole(),
    }
}

/// Takes over what the tester said.
fn keep(slot: &PlannedRun<'_>, setting: &Setting<'_>, called: Called, run: &mut CaseRun) {
    run.output = shortened(&called.output);
    let lost = called.output.lines().filter_map(|line| line.strip_prefix(OUTPUT_LOST));
    run.causes.extend(lost.map(|what| note("output_lost", format!("output {what}"))));
    let reading = match called.reading {
        Ok(reading) => reading,
        Err(error) => {
            run.failure = Some(format!("{}: {error}", slot.load.tester));
            return;
        }
    };
    run.figures = Figures::from(&reading);
    let left_out = reading.left_out.iter();
    run.causes.extend(left_out.map(|what| note("figure_left_out", what.clone())));
    if let Some(result) = reading.result {
        if let Some((code, why)) = cut_short(&result) {
            run.causes.push(Cause::new(Verdict::Invalid, code, why.clone()));
            run.failure = Some(why);
        }
        run.verdict = Some(result.loader.verdict);
        run.gates = result.gates;
        run.causes.extend(result.loader.causes);
        run.result = Some(result_file(setting));
    } else if let Some(search) = reading.search {
        let causes = search.line_causes();
        run.verdict = Some(causes.iter().map(|it| it.verdict).max().unwrap_or(Verdict::Valid));
        run.causes.extend(causes);
        run.failure = search.why_no_line();
        run.result = Some(result_file(setting));
    } else {
        let said = |text: &String| note("tester_says", text.clone());
        run.causes.extend(reading.causes.iter().map(said));
    }
    if run.figures.completed == Some(0) {
        run.failure = Some("no request had an answer".to_owned());
    }
}

/// How a line of our own tester begins that says what an output did not get.
const OUTPUT_LOST: &str = "plimsoll: output ";

/// Where our own document is.
fn result_file(setting: &Setting<'_>) -> String {
    setting.scratch.join(RESULT).display().to_string()
}

/// Why a run is not a full repeat of its load; `None` if it is one.
fn cut_short(result: &RunResult) -> Option<(&'static str, String)> {
    let after = format_ns(result.elapsed_ns);
    if let Some(condition) = &result.aborted {
        let why = format!("{condition} ended it after {after}: no full repeat");
        return Some(("aborted", why));
    }
    if result.interrupted {
        return Some(("interrupted", format!("it was stopped after {after}: no full repeat")));
    }
    let changes = [
        ("its rate was", result.rate.changes.len()),
        ("its connections were", result.connections.changes.len()),
    ];
    let (what, count) = changes.into_iter().find(|(_, count)| *count > 0)?;
    Some(("changed", format!("{what} changed {count} times from outside: no repeat of the load")))
}

/// Most of a tester's output that is kept, in two halves.
const OUTPUT_MAX: usize = 32 << 10;

/// Long outputs without their middle.
fn shortened(output: &str) -> String {
    if output.len() <= OUTPUT_MAX {
        return output.to_owned();
    }
    let half = OUTPUT_MAX / 2;
    let end = (0..=half).rev().find(|at| output.is_char_boundary(*at)).unwrap_or(0);
    let start = output.len() - half;
    let start = (start..output.len()).find(|at| output.is_char_boundary(*at)).unwrap_or(start);
    format!("{}\n[… {} bytes …]\n{}", &output[..end], start - end, &output[start..])
}

fn note(code: &str, text: String) -> Cause {
    Cause::new(Verdict::Valid, code, text)
}

/// The share of its CPUs from which on a process is taken to want more.
const FULL: f64 = 0.95;
/// The share of a core from which on a thread is: it wakes up and goes to sleep in the rest.
const THREAD_FULL: f64 = 0.9;
/// The share that leaves the server something to spare.
const SPARE: f64 = 0.9;
/// Share of the machine's CPU time that may be stolen before it is reported.
const STEAL_MAX: f64 = 0.01;
/// The part of a core that other programs may use before it is reported.
const OTHERS_MAX: f64 = 0.1;
/// Time that a request in flight loses at least when its tester is kept from its CPU, s.
const TURN_S: f64 = 0.0005;

/// What the tester's CPUs did during a load.
#[derive(Debug, Clone, Copy, Default)]
struct Host {
    /// The share of their time that the hypervisor took, 0 to 1.
    steal_share: f64,
    /// How many of them were busy, with whatever work.
    busy_cores: f64,
}

impl Host {
    fn between(then: &CpuTicks, now: &CpuTicks, cpus: usize) -> Self {
        let busy_cores = now.busy_share_since(then) * cpus as f64;
        Self { steal_share: now.steal_share_since(then), busy_cores }
    }
}

/// The CPUs that something tied to these runs on; without, all that this process may use.
fn numbers(cpus: Option<&Cpus>) -> Vec<u32> {
    let numbers = cpus.map_or_else(clock::allowed_cpus, |cpus| cpus.numbers().to_vec());
    numbers.into_iter().filter_map(|cpu| u32::try_from(cpu).ok()).collect()
}

/// What the lab itself saw that makes figures doubtful. Plimsoll judges itself; other testers do
/// not, so they are taken to have been kept waiting whenever others used their CPUs.
fn judge(slot: &PlannedRun<'_>, host: Host, run: &mut CaseRun) {
    if slot.load.tester == Tester::Plimsoll {
        return;
    }
    let mut causes = Vec::new();
    let of_tester = numbers(slot.load.cpus.as_ref());
    let of_server = numbers(slot.server.cpus.as_ref());
    if let Some((tester, server)) = run.tester.as_ref().zip(run.server.as_ref()) {
        let cpus = |numbers: &[u32]| numbers.len().max(1) as f64;
        let text = limited(tester, cpus(&of_tester), server, cpus(&of_server));
        causes.extend(text.map(|text| Cause {
            touches: slowed(Reach::Any, &Reach::Any),
            ..Cause::new(Verdict::Suspect, "tester_limit", format!("{} {text}", slot.load.tester))
        }));
        if let Some((of_its_own, of_servers)) = tester.known_cores().zip(server.known_cores()) {
            let is_beside = of_server.iter().any(|cpu| of_tester.contains(cpu));
            let servers = if is_beside { of_servers } else { 0.0 };
            let others = host.busy_cores - of_its_own - servers;
            causes.extend((others > OTHERS_MAX).then(|| others_cause(others, run)));
        }
    }
    if host.steal_share > STEAL_MAX {
        let text =
            format!("the hypervisor took {:.1} % of the CPUs' time", host.steal_share * 100.0);
        let touches = kept_waiting(host.steal_share, run);
        causes.push(Cause { touches, ..Cause::new(Verdict::Suspect, "steal", text) });
    }
    run.figures.mark(&causes);
    run.verdict = causes.iter().map(|cause| cause.verdict).max();
    run.causes.extend(causes);
}

/// Other programs used this many cores while the tester worked.
fn others_cause(cores: f64, run: &CaseRun) -> Cause {
    let text = format!(
        "other programs used {:.0} % of a core of the tester's CPUs, and the tester does not say \
         how long it was kept waiting",
        cores * 100.0
    );
    let touches = kept_waiting(cores.min(1.0), run);
    Cause { touches, ..Cause::new(Verdict::Suspect, "cpu_shared", text) }
}

/// A tester that was kept from its CPU for the share `lost` of the time at most: what it measured
/// is too slow for the requests that were in flight then. Whether it has a schedule nobody knows,
/// so it may have sent less as well.
fn kept_waiting(lost: f64, run: &CaseRun) -> Vec<Touch> {
    let cycle_s = run.figures.mean_s.or_else(|| run.figures.latency_s(0.5)).unwrap_or(0.0);
    let late = Reach::requests(lost * (1.0 + cycle_s / TURN_S));
    let more = if lost < 1.0 { lost / (1.0 - lost) } else { f64::INFINITY };
    slowed(late, &Reach::share(more))
}

/// Times may be lower by `late`, the rate higher by `more`.
fn slowed(late: Reach, more: &Reach) -> Vec<Touch> {
    let times = [Figure::Response, Figure::Service, Figure::Phases];
    let times = times.into_iter().map(|figure| Touch::below(figure, late.clone()));
    times.chain([Touch::above(Figure::Achieved, more.clone())]).collect()
}

/// Whether the tester was at its limit while the server was not, each with its number of
/// CPUs. The limit is all of its CPUs, or a single thread, which cannot use two.
fn limited(tester: &Usage, tester_cpus: f64, server: &Usage, server_cpus: f64) -> Option<String> {
    let (used, of_server) = (tester.known_cores()?, server.known_cores()? / server_cpus);
    let of_tester = used / tester_cpus;
    let thread = |usage: &Usage| usage.thread_percent_max.unwrap_or(0.0) / 100.0;
    if of_server >= SPARE || thread(server) >= THREAD_FULL {
        return None;
    }
    let what = match (of_tester >= FULL, thread(tester) >= THREAD_FULL) {
        (true, _) => format!("used {:.0} % of its CPUs", of_tester * 100.0),
        (_, true) => format!("had a thread that used {:.0} % of a core", thread(tester) * 100.0),
        _ => return None,
    };
    Some(format!(
        "{what} and the server {:.0} % of its own: the tester was the limit; give it more threads \
         and CPUs or use a cheaper one",
        of_server * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use plimsoll_core::plan::{Draft, Endpoint};
    use plimsoll_core::result::{ConnectionsChange, RateChange, Tool};
    use plimsoll_core::study::{Mark, Measure, Quantile};

    use super::*;

    fn usage(cores: f64, thread: Option<f64>) -> Usage {
        let cpu_user_ns = (cores * 1e9) as u64;
        let thread_percent_max = thread.map(|share| share * 100.0);
        let mut usage =
            Usage { window_ns: 1_000_000_000, cpu_user_ns, thread_percent_max, ..Usage::default() };
        usage.refresh();
        usage
    }

    #[test]
    fn testers_at_their_limit_are_told_by_their_threads() {
        // Cores used, busiest thread, CPUs; first of the tester.
        for (name, tester, server, want) in [
            ("wrk -t1 with two CPUs", (0.98, Some(0.98), 2.0), (0.5, Some(0.5), 1.0), true),
            ("ab with two", (1.0, Some(0.99), 2.0), (0.3, Some(0.3), 2.0), true),
            ("threads that share the load", (1.96, Some(0.5), 2.0), (0.5, None, 1.0), true),
            ("one of many", (1.2, Some(0.91), 4.0), (0.5, Some(0.4), 4.0), true),
            ("nobody", (0.7, Some(0.7), 1.0), (0.5, Some(0.5), 1.0), false),
            ("many threads, none of them busy", (1.5, Some(0.2), 2.0), (0.5, None, 1.0), false),
            ("both", (0.98, Some(0.98), 1.0), (0.95, Some(0.6), 1.0), false),
            ("a server of one thread", (0.98, Some(0.98), 1.0), (1.0, Some(0.99), 2.0), false),
        ] {
            let said =
                limited(&usage(tester.0, tester.1), tester.2, &usage(server.0, server.1), server.2);
            assert_eq!(said.is_some(), want, "{name}: {said:?}");
        }
        let mut lost = usage(0.1, None);
        lost.forget_cpu("lost");
        assert_eq!(limited(&usage(1.0, Some(1.0)), 1.0, &lost, 1.0), None, "who knows");
    }

    /// A loop that may have stood still for a fifth of the time: it can have been faster.
    #[test]
    fn testers_that_were_kept_waiting_have_their_own_figures_in_doubt() {
        let figures = Figures {
            rate_rps: Some(1000.0),
            completed: Some(1000),
            failed: Some(0),
            errors: Some(0),
            mean_s: Some(0.001),
            latency: [(0.2, 0.0005), (0.5, 0.001), (0.9, 0.002), (0.99, 0.1)]
                .map(|(q, s)| Quantile::known(q, s))
                .into(),
            ..Figures::default()
        };
        for (lost, rate, p50, p99) in [
            (0.0, None, None, None),
            (0.01, None, None, Some(Mark::AtMost)),
            (0.2, Some(Mark::AtLeast), Some(Mark::AtMost), Some(Mark::AtMost)),
        ] {
            let mut run = CaseRun { figures: figures.clone(), ..CaseRun::default() };
            let touches = kept_waiting(lost, &run);
            run.causes = vec![Cause { touches, ..note("steal", String::new()) }];
            run.figures.mark(&run.causes);
            let of = |measure| run.doubt(measure);
            assert_eq!(of(Measure::Rate), rate, "{lost}");
            assert_eq!(of(Measure::Latency(0.5)), p50, "{lost}");
            assert_eq!(of(Measure::Latency(0.99)), p99, "{lost}");
            assert_eq!((of(Measure::Errors), of(Measure::Rss)), (None, None), "{lost}");
        }
    }

    #[test]
    fn a_run_that_ended_early_or_was_changed_is_no_repeat() {
        let plan = Draft::new(Endpoint::http("127.0.0.1", 80, "/"));
        let tool = Tool { name: "plimsoll".to_owned(), version: String::new() };
        let rate = RateChange { at_ns: 5, rps: 7.0 };
        let connections = ConnectionsChange { at_ns: 5, connections: 7 };
        let whole = RunResult { elapsed_ns: 1_000_000_000, ..RunResult::empty(tool, &plan) };
        let mut cases = [None; 5].map(|none| (whole.clone(), none));
        cases[1].0.interrupted = true;
        cases[1].1 = Some(("interrupted", "it was stopped after 1.00 s: no full repeat"));
        (cases[2].0.interrupted, cases[2].0.aborted) = (true, Some("p99>1s".to_owned()));
        cases[2].1 = Some(("aborted", "p99>1s ended it after 1.00 s: no full repeat"));
        cases[3].0.rate.changes = vec![rate; 2];
        cases[3].1 =
            Some(("changed", "its rate was changed 2 times from outside: no repeat of the load"));
        cases[4].0.connections.changes = vec![connections; 3];
        cases[4].1 = Some((
            "changed",
            "its connections were changed 3 times from outside: no repeat of the load",
        ));
        for (result, want) in cases {
            let found = cut_short(&result);
            let found = found.as_ref().map(|(code, why)| (*code, why.as_str()));
            assert_eq!(found, want);
        }
    }

    #[test]
    fn long_outputs_keep_their_ends() {
        assert_eq!(shortened("short"), "short");
        let long = format!("begin{}end", "é".repeat(OUTPUT_MAX));
        let kept = shortened(&long);
        assert!(kept.len() < OUTPUT_MAX + 100);
        assert!(kept.starts_with("begin") && kept.ends_with("end"));
        assert!(kept.contains("bytes …]"));
    }
}

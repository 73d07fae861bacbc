//! One run of one case: start the server, see that it answers, warm it up, load it, watch it, see
//! that it still answers, stop it.

use std::fs;
use std::path::Path;

use plimsoll_core::study::{CaseRun, Figures};
use plimsoll_core::usage::Usage;
use plimsoll_core::verdict::{Cause, Verdict};
use plimsoll_io::clock;
use plimsoll_io::host::CpuTicks;

use crate::loading::{self, Called, Place};
use crate::order::Slot;
use crate::prepare::Places;
use crate::programs::Ports;
use crate::sample;
use crate::serving::{Serving, Start};
use crate::suite::{Names, Server, Suite};
use crate::testers::Tester;

/// What a run needs beside its slot.
pub(crate) struct Setting<'a> {
    pub(crate) suite: &'a Suite,
    pub(crate) places: &'a Places,
    /// A folder of this run's own, empty.
    pub(crate) scratch: &'a Path,
    pub(crate) stopped: &'a dyn Fn() -> bool,
}

/// Why a run does not count, with the last lines of the log of who was to blame.
struct Failure {
    reason: String,
    log: Option<String>,
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self { reason, log: None }
    }
}

/// Carries a run out. Whatever goes wrong is said in it.
pub(crate) fn carry_out(slot: &Slot<'_>, setting: &Setting<'_>, ports: &mut Ports) -> CaseRun {
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
    slot: &Slot<'_>,
    setting: &Setting<'_>,
    ports: &mut Ports,
    run: &mut CaseRun,
) -> Result<(), Failure> {
    let server = slot.server;
    let mut services = Vec::new();
    let mut names = setting.places.names(server);
    for name in &server.with {
        let service =
            setting.suite.server(name).ok_or_else(|| format!("there is no service '{name}'"))?;
        let port = give_ports(&mut setting.places.names(service), ports)?;
        names.set(&format!("{name}.port"), port.to_string());
        services.push((service, port));
    }
    let port = give_ports(&mut names, ports)?;
    let mut running = Vec::new();
    for (service, port) in services {
        let mut own = setting.places.names(service);
        give_more_ports(&mut own, port, ports)?;
        running.push(start(service, own, port, setting)?);
    }
    let serving = start(server, names.clone(), port, setting)?;
    let outcome = load(slot, setting, names, serving, run);
    // In the reverse order; those that had to be killed are said, but spoil nothing.
    while let Some(service) = running.pop() {
        if let Err(what) = service.stop() {
            run.causes.push(note("not_stopped", what));
        }
    }
    outcome
}

/// Sets `{port}` and some more.
fn give_ports(names: &mut Names, ports: &mut Ports) -> Result<u16, String> {
    let port = ports.free().ok_or("no port is free on 127.0.0.1")?;
    give_more_ports(names, port, ports)?;
    Ok(port)
}

/// Sets `{port}` to one that is known, and `{port2}` to `{port4}` to others.
fn give_more_ports(names: &mut Names, port: u16, ports: &mut Ports) -> Result<(), String> {
    names.set("port", port.to_string());
    for name in ["port2", "port3", "port4"] {
        let port = ports.free().ok_or("no port is free on 127.0.0.1")?;
        names.set(name, port.to_string());
    }
    Ok(())
}

fn start<'a>(
    server: &'a Server,
    names: Names,
    port: u16,
    setting: &Setting<'a>,
) -> Result<Serving<'a>, Failure> {
    let log = setting.scratch.join(format!("{}.log", server.name));
    let plimsoll = &setting.places.plimsoll;
    Serving::start(Start { server, names, port, log, plimsoll }, setting.stopped)
        .map_err(|(reason, log)| Failure { reason, log: Some(log) })
}

/// Warms up, loads and stops a server that is ready.
fn load(
    slot: &Slot<'_>,
    setting: &Setting<'_>,
    mut names: Names,
    mut serving: Serving<'_>,
    run: &mut CaseRun,
) -> Result<(), Failure> {
    let url = serving.url();
    names.set("url", url.clone());
    names.set("scratch", setting.scratch.display().to_string());
    names.set("server", slot.server.name.clone());
    names.set("suite", setting.suite.directory.display().to_string());
    let (scratch, plimsoll) = (setting.scratch, setting.places.plimsoll.as_path());
    let place = Place { names: &names, scratch, plimsoll, url: &url };
    let cpus = slot.load.cpus.as_ref();
    if setting.suite.warmup_ns > 0 {
        let line = loading::warmup(slot.load, setting.suite.warmup_ns, &place)?;
        let called = loading::call(&line, scratch, cpus, slot.load.limit_ns, setting.stopped);
        called.and_then(|called| called.reading).map_err(|error| Failure {
            reason: format!("the warm-up: {error}"),
            log: Some(serving.last_lines()),
        })?;
    }
    let line = loading::line(slot.load, &place)?;
    run.command = loading::shown(slot.load, &url);
    let root = sample::Root::of(serving.id()).map_err(|error| error.to_string())?;
    let options = sample::Options::default();
    let sampler = sample::Sampler::start(vec![root], options).map_err(|error| error.to_string())?;
    let ticks = CpuTicks::read();
    run.started_at = now();
    sampler.begin();
    let called = loading::call(&line, scratch, cpus, slot.load.limit_ns, setting.stopped);
    run.server = sampler.finish();
    let steal = CpuTicks::read().zip(ticks).map(|(now, then)| now.steal_share_since(&then));
    let still = serving.check();
    let log = serving.last_lines();
    let stopped = serving.stop();
    let failed = |reason: String| Failure { reason, log: Some(log.clone()) };
    let called = called.map_err(&failed)?;
    keep(slot, setting, called, run);
    still.map_err(|wrong| failed(format!("after the load: {wrong}")))?;
    if let Err(what) = stopped {
        run.causes.push(note("not_stopped", what));
    }
    judge(slot, steal.unwrap_or(0.0), run);
    match run.failure.take() {
        Some(reason) => Err(failed(reason)),
        None => Ok(()),
    }
}

/// Takes over what the tester said.
fn keep(slot: &Slot<'_>, setting: &Setting<'_>, called: Called, run: &mut CaseRun) {
    run.output = shortened(&called.output);
    run.tester = called.usage;
    let reading = match called.reading {
        Ok(reading) => reading,
        Err(error) => {
            run.failure = Some(format!("{}: {error}", slot.load.tester));
            return;
        }
    };
    run.figures = Figures::from(&reading);
    if let Some(result) = reading.result {
        run.verdict = Some(result.loader.verdict);
        run.causes.extend(result.loader.causes);
        let path = setting.scratch.join("result.json");
        run.result = Some(path.display().to_string());
    } else {
        let said = |text: &String| note("tester_says", text.clone());
        run.causes.extend(reading.causes.iter().map(said));
    }
    if run.figures.completed == Some(0) {
        run.failure = Some("no request had an answer".to_owned());
    }
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
    Cause { verdict: Verdict::Valid, code: code.to_owned(), text }
}

/// The share of its CPUs from which on a process is taken to want more.
const FULL: f64 = 0.95;
/// The share that leaves the server something to spare.
const SPARE: f64 = 0.9;
/// Share of the machine's CPU time that may be stolen before it is said.
const STEAL_MAX: f64 = 0.01;

/// What the lab itself saw that makes figures doubtful. Plimsoll judges itself.
fn judge(slot: &Slot<'_>, steal_share: f64, run: &mut CaseRun) {
    if slot.load.tester == Tester::Plimsoll {
        return;
    }
    let mut causes = Vec::new();
    let share = |usage: &Option<Usage>| usage.as_ref().map(|it| it.cpu_percent_mean / 100.0);
    let cpus = |cpus: Option<&crate::suite::Cpus>| {
        let all = || clock::allowed_cpus().len();
        cpus.map_or_else(all, |cpus| cpus.numbers().len()).max(1) as f64
    };
    if let Some((tester, server)) = share(&run.tester).zip(share(&run.server)) {
        // ab has one thread, however many CPUs it may use.
        let is_single = slot.load.tester == Tester::Ab;
        let of_tester = if is_single { tester } else { tester / cpus(slot.load.cpus.as_ref()) };
        let of_server = server / cpus(slot.server.cpus.as_ref());
        if of_tester >= FULL && of_server < SPARE {
            causes.push(Cause {
                verdict: Verdict::Suspect,
                code: "tester_limit".to_owned(),
                text: format!(
                    "{} used {:.0} % of its CPUs and the server {:.0} % of its own: the tester was \
                     the limit; give it more CPUs or use a cheaper one",
                    slot.load.tester,
                    of_tester * 100.0,
                    of_server * 100.0
                ),
            });
        }
    }
    if steal_share > STEAL_MAX {
        causes.push(Cause {
            verdict: Verdict::Suspect,
            code: "steal".to_owned(),
            text: format!("the hypervisor took {:.1} % of the CPUs' time", steal_share * 100.0),
        });
    }
    run.verdict = causes.iter().map(|cause| cause.verdict).max();
    run.causes.extend(causes);
}

/// Removes and makes anew the folder of a run.
pub(crate) fn fresh(scratch: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(scratch) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir_all(scratch)
}

#[cfg(test)]
mod tests {
    use super::*;

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

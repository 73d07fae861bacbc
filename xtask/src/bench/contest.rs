//! A contest: contenders take turns, each with a fresh server. All figures are kept by round.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::build::{Program, Programs};
use super::parse::Measured;
use super::process::{Folder, Process, Start};
use super::server::{Kind, Server};
use super::tool::{Load, Tool};
use super::{Options, host, parse};

/// What every contest is held with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stage<'a> {
    pub(super) options: &'a Options,
    pub(super) programs: &'a Programs,
    pub(super) folder: &'a Folder,
}

impl Stage<'_> {
    /// A program that is known to be there.
    pub(super) fn program(&self, name: &str) -> Result<&Program> {
        self.programs.get(name).with_context(|| format!("{name} is not there"))
    }
}

/// One client under one load against one server.
#[derive(Debug, Clone)]
pub(super) struct Contender {
    /// Its name in the table.
    pub(super) label: String,
    /// The contender its ratios are to: plimsoll under the same load.
    pub(super) base: String,
    pub(super) tool: &'static Tool,
    pub(super) load: Load,
    pub(super) server: Kind,
}

/// A figure of a run that gets a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) value: fn(&Run) -> Option<f64>,
    /// Digits behind the point.
    pub(super) digits: usize,
    /// Whether it gets a second column with the ratio of the base's figure to it.
    pub(super) ratio: bool,
}

/// Contenders and what to tell of them.
#[derive(Debug, Clone)]
pub(super) struct Contest {
    pub(super) title: String,
    pub(super) explanation: String,
    pub(super) columns: Vec<Column>,
    pub(super) contenders: Vec<Contender>,
    /// How many times everyone has a turn.
    pub(super) rounds: usize,
    /// Whether memory is sampled while a client runs.
    pub(super) sample_memory: bool,
}

/// What was measured of one contender in one round.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    pub(super) connections: u32,
    pub(super) measured: Measured,
    pub(super) client_cpu: Duration,
    pub(super) client_rss_peak_bytes: u64,
    /// The client's resident memory over time, if sampled.
    pub(super) resident: Vec<(Duration, u64)>,
    pub(super) server_cpu: Duration,
    /// Variance/mean of the requests in each millisecond, if the server counts them.
    pub(super) dispersion: Option<f64>,
}

/// The runs of a contest.
#[derive(Debug)]
pub(super) struct Outcome {
    /// By contender, then by round; none where a run failed.
    pub(super) runs: Vec<Vec<Option<Run>>>,
    /// The load average when it began.
    pub(super) load_average: String,
    /// The share of all CPU time that went to other virtual machines.
    pub(super) stolen: f64,
    /// The share of all CPU time that went to other processes on this machine.
    pub(super) others: f64,
}

/// Holds a contest. A run that fails is told on stderr and missing in the outcome.
pub(super) fn hold(stage: &Stage<'_>, contest: &Contest) -> Result<Outcome> {
    let load_average = host::load_average();
    let before = host::Cpus::now();
    let mut runs = vec![Vec::new(); contest.contenders.len()];
    for round in 1..=contest.rounds {
        for (contender, runs) in contest.contenders.iter().zip(&mut runs) {
            eprint!("{}, round {round}/{}: {}: ", contest.title, contest.rounds, contender.label);
            let run = turn(stage, contest, contender);
            match &run {
                Ok(run) => eprintln!("{:.0} requests/s", run.measured.requests_per_s),
                Err(error) => eprintln!("failed: {error:#}"),
            }
            runs.push(run.ok());
        }
    }
    let own = runs.iter().flatten().flatten().map(|run| run.client_cpu + run.server_cpu).sum();
    let (stolen, others) = host::Cpus::now().lost_since(before, own);
    Ok(Outcome { runs, load_average, stolen, others })
}

fn turn(stage: &Stage<'_>, contest: &Contest, contender: &Contender) -> Result<Run> {
    let Contender { tool, load, .. } = contender;
    let server = Server::start(contender.server, stage)?;
    let mut arguments = (tool.arguments)(load, &server.address).context("cannot do this load")?;
    let folder = stage.folder.path().display().to_string();
    // Behind a subcommand, if there is one, and before the URL.
    let place = usize::from(arguments.first().is_some_and(|first| !first.starts_with('-')));
    arguments.splice(place..place, tool.extra.iter().map(|&argument| argument.to_owned()));
    for argument in &mut arguments {
        *argument = argument.replace("FOLDER", &folder);
    }
    if let Some((file, bytes)) = load.body.file() {
        fs::write(stage.folder.path().join(file), vec![b'x'; bytes])?;
    }
    let start = Start {
        program: &stage.program(tool.program)?.path,
        arguments: &arguments,
        cpu: stage.options.client_cpu,
        terminal: tool.terminal,
    };
    let server_cpu = server.cpu_time();
    let client = Process::start(&start, "client", stage.folder)?;
    let ended = client.wait(Duration::from_secs(load.seconds), contest.sample_memory)?;
    let server_cpu = server.cpu_time().saturating_sub(server_cpu);
    let measured = (tool.parse)(&ended.stdout)?;
    ensure!(measured.requests > 0, "no request got a response");
    if measured.failed > 0 {
        eprint!("({} of {} failed) ", measured.failed, measured.requests);
    }
    let account = server.stop()?.stdout;
    let account = parse::json(&account).unwrap_or_default();
    Ok(Run {
        connections: load.connections,
        measured,
        client_cpu: ended.cpu,
        client_rss_peak_bytes: ended.rss_peak_bytes,
        resident: ended.resident,
        server_cpu,
        dispersion: account["arrivals_per_ms_variance_to_mean"].as_f64(),
    })
}

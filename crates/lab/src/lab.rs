//! Carries out the runs of a suite and assembles the study.

mod getting_ready;

use std::path::Path;
use std::{fs, io};

use plimsoll_core::result::{Environment, Tool};
use plimsoll_core::secret::Masks;
use plimsoll_core::study::{Case, CaseRun, LoadFacts, SCHEMA, ServerFacts, Study};
use plimsoll_io::clock;

use crate::case::carry_out;
use crate::cast::Setting;
use crate::fitness::unfit;
use crate::loading::Variables;
use crate::order::{PlannedRun, order};
use crate::prepare::{Installed, Places};
use crate::programs::Ports;
use crate::progress::Progress;
use crate::ready::{Ready, Unfit};
use crate::store::{Store, StoreError};
use crate::suite::{Load, Server, Suite};

/// What is carried out, and with what.
pub struct Lab<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// Where this program and the servers' folders are.
    pub places: Places,
    /// Cases that are wanted, as `SERVER`, `SERVER/LOAD` or `/LOAD`; empty: all.
    pub only: Vec<String>,
    /// Whether to build the servers; without, they are taken as they are.
    pub builds: bool,
    /// The machine.
    pub environment: Environment,
    /// Which program writes the study.
    pub tool: Tool,
    /// Variables of the environment that testers get.
    pub variables: Variables<'a>,
    /// Asked now and then whether to stop.
    pub stopped: &'a dyn Fn() -> bool,
    /// Told, line by line, what is going on.
    pub say: &'a mut dyn FnMut(&str),
    /// Asked whether to go on with a host that is unfit, once, with the reason.
    pub goes_on: &'a dyn Fn(&str) -> bool,
}

/// What came of the runs.
#[derive(Debug)]
pub struct Carried {
    /// All that was measured.
    pub study: Study,
    /// Why the lab stopped after the first round, if it did.
    pub unfit: Option<String>,
}

/// The first round of a go.
#[derive(Debug, Clone, Copy)]
enum Round {
    /// It is being measured: which repeat.
    Going(u32),
    /// It has been looked at.
    Over,
}

/// Names that stand for no server or load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--only {0}: there is no such {1}; --list shows what there is")]
pub struct Unknown(String, &'static str);

impl<'a> Lab<'a> {
    /// The runs that are wanted, in their order.
    ///
    /// # Errors
    /// A name that stands for nothing.
    pub fn slots(&self) -> Result<Vec<PlannedRun<'a>>, Unknown> {
        let suite = self.suite;
        for only in &self.only {
            let (server, load) = split(only);
            if server.is_some_and(|name| !suite.servers.iter().any(|it| it.name == name)) {
                return Err(Unknown(only.clone(), "server"));
            }
            if load.is_some_and(|name| !suite.loads.iter().any(|it| it.name == name)) {
                return Err(Unknown(only.clone(), "load"));
            }
        }
        let mut slots = order(suite);
        slots.retain(|slot| self.wants(slot.server, slot.load));
        Ok(slots)
    }

    fn wants(&self, server: &Server, load: &Load) -> bool {
        self.only.is_empty()
            || self.only.iter().any(|only| {
                let (of_server, of_load) = split(only);
                of_server.is_none_or(|name| name == server.name)
                    && of_load.is_none_or(|name| name == load.name)
            })
    }

    /// Carries out the runs that are possible and that the store does not have yet, and gives the
    /// study of all that it then has. A failure is reported in its case, and the rest goes on. It
    /// ends after the first round of this go if the host is unfit.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn run(&mut self, ready: &Ready<'a>, store: &Store) -> Result<Carried, LabError> {
        let before = store.study().unwrap_or_default();
        let mut study = self.outline(ready, store, &before);
        let unfit = self.carry_out_all(&ready.possible(), store, &mut study)?;
        store.save_study(&study)?;
        Ok(Carried { study, unfit })
    }

    fn carry_out_all(
        &mut self,
        slots: &[PlannedRun<'a>],
        store: &Store,
        study: &mut Study,
    ) -> Result<Option<String>, LabError> {
        let mut round = None;
        let mut ports = Ports::new(std::process::id().wrapping_mul(7919));
        let mut progress = Progress::new(slots.len());
        let runs = study.cases.iter().flat_map(|case| &case.runs);
        let resumed = runs.map(|run| run.resumed + 1).max().unwrap_or(0);
        for (slot, place) in slots.iter().zip(1..) {
            let names = (&slot.server.name, &slot.load.name);
            let Some(case) = study.case(names.0, names.1) else { continue };
            let is_it = |run: &CaseRun| run.repeat == slot.repeat;
            if case.runs.iter().any(|run| is_it(run) && run.failure.is_none()) {
                continue;
            }
            if (self.stopped)() {
                break;
            }
            if let Some(why) = self.unfit_after(&mut round, slot.repeat, study) {
                return Ok(Some(why));
            }
            let mut cases = study.cases.iter_mut();
            let Some(case) = cases.find(|case| (&case.server, &case.load) == names) else {
                continue;
            };
            let mut run = CaseRun { resumed, ..self.one(slot, store, &mut ports)? };
            if (self.stopped)() && run.failure.is_some() {
                // Cut short from outside: nothing can be said of it.
                break;
            }
            store.save(slot, &mut run)?;
            (self.say)(&progress.line(slot, place, &run));
            case.runs.retain(|run| !is_it(run));
            case.runs.push(run);
            case.runs.sort_by_key(|run| run.repeat);
            store.save_study(study)?;
            self.pause();
        }
        Ok(None)
    }

    /// Why to stop before a run of a repeat: the first round of this go, which is over, shows that
    /// the host is unfit, and nobody wants to go on. `round` is that round until it has been looked
    /// at.
    fn unfit_after(&self, round: &mut Option<Round>, repeat: u32, study: &Study) -> Option<String> {
        match *round.get_or_insert(Round::Going(repeat)) {
            Round::Going(first) if first != repeat => {
                *round = Some(Round::Over);
                unfit(study, first).filter(|why| !(self.goes_on)(why))
            }
            _ => None,
        }
    }

    fn one(
        &self,
        slot: &PlannedRun<'_>,
        store: &Store,
        ports: &mut Ports,
    ) -> Result<CaseRun, LabError> {
        let scratch = store.scratch(slot);
        let setting = self.setting(&scratch)?;
        Ok(carry_out(slot, &setting, ports))
    }

    /// What servers are started with, their logs and files in `scratch`, which is emptied.
    ///
    /// # Errors
    /// A folder that cannot be emptied or made.
    pub(crate) fn setting<'b>(&'b self, scratch: &'b Path) -> Result<Setting<'b>, StoreError> {
        empty(scratch).map_err(|source| StoreError::Io { path: scratch.to_owned(), source })?;
        let Self { suite, places, stopped, variables, .. } = self;
        Ok(Setting { suite, places, scratch, stopped: *stopped, variables: *variables })
    }

    fn pause(&self) {
        let until_ns = clock::now_ns().saturating_add(self.suite.cooldown_ns);
        while clock::now_ns() < until_ns && !(self.stopped)() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    /// The study with the runs that the store has. What is not prepared this time keeps what was
    /// known of it `before`.
    fn outline(&self, ready: &Ready<'_>, store: &Store, before: &Study) -> Study {
        let (suite, Ready { servers, testers, .. }) = (self.suite, ready);
        let cases = self.cases(ready, store, before);
        let runs = || cases.iter().flat_map(|case| &case.runs);
        let server_facts = |server: &Server| {
            let mut ours = cases.iter().filter(|case| case.server == server.name);
            let known = before.servers.iter().find(|it| it.name == server.name);
            let known = known.map(|it| (it.version.clone(), it.skipped.clone()));
            let has_runs = ours.any(|case| !case.runs.is_empty());
            let known = merged(servers.get(&server.name), known, has_runs);
            ServerFacts {
                name: server.name.clone(),
                version: known.version,
                command: words(&server.command),
                cpus: server.cpus.as_ref().map(ToString::to_string),
                skipped: known.skipped,
            }
        };
        let load_facts = |load: &Load| {
            let mut ours = cases.iter().filter(|case| case.load == load.name);
            let known = before.loads.iter().find(|it| it.name == load.name);
            let known = known.map(|it| (it.version.clone(), it.skipped.clone()));
            let has_runs = ours.any(|case| !case.runs.is_empty());
            let known = merged(testers.get(&load.tester), known, has_runs);
            LoadFacts {
                name: load.name.clone(),
                tester: load.tester.to_string(),
                version: known.version,
                command: load.command(),
                cpus: load.cpus.as_ref().map(ToString::to_string),
                skipped: known.skipped,
            }
        };
        let now = humantime::format_rfc3339_millis(clock::wall_time()).to_string();
        let highest = runs().map(|run| run.repeat).max().unwrap_or(0);
        Study {
            schema: SCHEMA.to_owned(),
            tool: Some(self.tool.clone()),
            name: suite.name.clone(),
            title: suite.title.clone(),
            description: suite.description.clone(),
            environment: self.environment.clone(),
            started_at: runs().map(|run| run.started_at.clone()).min().unwrap_or(now),
            repeats: suite.repeats.max(highest),
            seed: suite.seed,
            baseline: suite.baseline.clone(),
            columns: suite.columns.clone(),
            servers: suite.servers.iter().map(server_facts).collect(),
            loads: suite.loads.iter().map(load_facts).collect(),
            cases,
        }
    }

    /// The cases that are wanted, and those that were carried out before.
    fn cases(&self, ready: &Ready<'_>, store: &Store, before: &Study) -> Vec<Case> {
        let (suite, Ready { slots, servers, testers }) = (self.suite, ready);
        let is_used = |server: &str, load: &str| {
            slots.iter().any(|slot| slot.server.name == server && slot.load.name == load)
        };
        let mut cases = Vec::new();
        for server in &suite.servers {
            for load in &suite.loads {
                let excluded = suite.excluded(&server.name, &load.name);
                let known = before.case(&server.name, &load.name);
                let runs = store.load(&server.name, &load.name);
                let is_used = is_used(&server.name, &load.name);
                if excluded.is_none() && runs.is_empty() && !is_used && known.is_none() {
                    continue;
                }
                let of = |prepared: Option<&Installed>| prepared?.skipped.clone();
                let skipped = excluded
                    .map(str::to_owned)
                    .or_else(|| of(servers.get(&server.name)))
                    .or_else(|| of(testers.get(&load.tester)))
                    .or_else(|| known.filter(|_| !is_used)?.skipped.clone())
                    .filter(|_| runs.is_empty());
                let (server, load) = (server.name.clone(), load.name.clone());
                cases.push(Case { server, load, skipped, runs });
            }
        }
        cases
    }
}

/// What is known of a server or tester: what is there now, or else what was `before`, its version
/// and why it was left out. Where both have a version and they differ, the runs have both.
fn merged(
    now: Option<&Installed>,
    before: Option<(Option<String>, Option<String>)>,
    has_runs: bool,
) -> Installed {
    let (was, was_skipped) = before.unwrap_or_default();
    let version = match (was, now.and_then(|it| it.version.clone())) {
        (Some(was), Some(is)) if has_runs && !was.ends_with(&is) => {
            Some(format!("{was}, then {is}"))
        }
        (was, is) => is.or(was),
    };
    let skipped = now.map_or(was_skipped, |it| it.skipped.clone());
    Installed { version, skipped: skipped.filter(|_| !has_runs) }
}

/// Removes a folder and makes it anew.
fn empty(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir_all(folder)
}

/// A command line as one would type it, secrets masked.
#[must_use]
pub fn words(words: &[String]) -> String {
    Masks::default().text(&shell_words::join(words))
}

fn split(only: &str) -> (Option<&str>, Option<&str>) {
    let (server, load) = only.split_once('/').map_or((only, ""), |(server, load)| (server, load));
    let given = |name: &'_ str| !name.is_empty();
    (Some(server).filter(|it| given(it)), Some(load).filter(|it| given(it)))
}

/// Why a lab could not go on.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A name that stands for nothing.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The folder of the study.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Servers that cannot be measured.
    #[error(transparent)]
    Unfit(#[from] Unfit),
}

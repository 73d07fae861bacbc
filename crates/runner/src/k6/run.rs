//! The order of a run: VUs are initialised, then `setup`, the scenarios, `teardown`. Thresholds are
//! judged beside it, and once more when all is counted.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use plimsoll_core::verdict::{self, Evidence, Pause};
use plimsoll_dialect::k6::metrics::Book;
use plimsoll_dialect::k6::summary::Mode;
use plimsoll_dialect::k6::threshold::Thresholds;
use plimsoll_dialect::k6::{ExitCode, Refused};
use plimsoll_engine::vu::{
    Cast, Controls, Ended, Errand, Network, Pace, Prepared, Returned, Tally, Testimony, VuError,
    Witness, call, prepare,
};
use plimsoll_io::clock;
use plimsoll_io::host::{CpuTicks, Happened, Snapshot};
use plimsoll_script::js::Summarized;

use super::account::Account;
use super::common::{Common, Ids, RoleNames};
use super::count::{Count, text_of};
use super::handle::{Figures, Handle, Phase};
use super::load::{Test, options_json, refused};
use super::news::{Lines, Points};
use super::thresholds;

/// Why a run ended otherwise than well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// k6's exit code.
    pub code: ExitCode,
    /// What happened.
    pub what: String,
}

/// A run that was carried out, whole or cut off.
#[derive(Debug)]
pub struct Ran {
    /// All samples.
    pub book: Book,
    /// The thresholds, evaluated at the end.
    pub thresholds: Thresholds,
    /// How long it took, with `setup` and `teardown`, ns.
    pub run_ns: u64,
    /// What `setup` returned, as JSON; `None` if it returned nothing.
    pub setup_data: Option<Arc<str>>,
    /// All that went wrong. The first one decides the exit code: what ended the test early comes
    /// before what its functions failed with, then that the script has called it failed, then
    /// thresholds.
    pub endings: Vec<Ending>,
    /// What k6 does not count.
    pub account: Account,
}

/// What was recorded beside a run, and what was seen of the host.
pub(super) struct Loaded<T> {
    pub(super) ended: Ended<T>,
    pub(super) testimony: Testimony,
}

impl Ran {
    /// The exit code.
    #[must_use]
    pub fn code(&self) -> ExitCode {
        self.endings.first().map_or(ExitCode::Done, |ending| ending.code)
    }
}

impl Test {
    /// A hand on a run of this test, to be made before it.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::new(self.roles().count())
    }

    /// Runs the test.
    ///
    /// # Errors
    /// Why nothing was run: a VU cannot be initialised, or options ask for what cannot be done.
    pub fn run(
        &self,
        handle: &Handle,
        lines: &Lines,
        points: Option<Points>,
    ) -> Result<Ran, Refused> {
        self.load_beside(self.cast()?, handle, (lines, points), &|_| ()).map(|(ran, _)| ran)
    }

    /// Runs the test while another tally on each worker counts too, which `beside` makes.
    ///
    /// # Errors
    /// As above.
    pub(super) fn load_beside<T: Tally + 'static>(
        &self,
        cast: Cast,
        handle: &Handle,
        (lines, points): (&Lines, Option<Points>),
        beside: &dyn Fn(u32) -> T,
    ) -> Result<(Ran, Option<Loaded<T>>), Refused> {
        let common = Arc::new(self.common(lines, points));
        let has_thresholds = self.thresholds.iter().next().is_some();
        let whole = Book::new(common.registry.clone(), common.is_full);
        let thresholds = self.thresholds.clone();
        let account = Account::default();
        *handle.figures() = Some(Figures { book: whole, thresholds, account });
        thread::scope(|scope| {
            let (sender, parts) = sync_channel::<Book>(cast.workers as usize * 4 + 4);
            let watch = move || thresholds::watch(&parts, handle);
            let watched = thread::Builder::new().name("thresholds".to_owned());
            let watched = watched.spawn_scoped(scope, watch).map_err(|error| {
                refused(ExitCode::Other, format!("cannot start a thread: {error}"))
            })?;
            let is_early = has_thresholds || handle.is_watched();
            let early = is_early.then(|| sender.clone());
            let network = cast.network.clone();
            let now_ns = clock::now_ns();
            let make = |worker: u32| {
                let ticks_from_ns = (worker == 0).then_some(now_ns);
                (Count::new(&common, "", ticks_from_ns, early.clone()), beside(worker))
            };
            let prepared = prepare(cast, handle.controls(), make);
            let mut course = Course::new(self, handle, &common, &network, &sender, early.as_ref());
            // A VU that cannot be initialised has aborted the others.
            let is_broken = matches!(prepared, Err(VuError::Script(_)));
            let loaded = match prepared {
                Ok(prepared) => course.begin(prepared),
                // There is nothing to count, and still a summary.
                Err(error) if is_of_script(&error, handle) => {
                    course.endings.extend(not_run(error));
                    handle.enter(Phase::Done, clock::now_ns());
                    None
                }
                Err(error) => return Err(not_prepared(error, handle)),
            };
            let run_ns = course.run_ns();
            let Course { endings: failures, is_marked_failed, mut account, .. } = course;
            drop((sender, early));
            let ended_by = watched.join().expect("it does not panic");
            let ended = ended(handle, &ended_by).filter(|_| !is_broken);
            let mut endings: Vec<Ending> = ended.into_iter().collect();
            endings.extend(failures);
            if is_marked_failed {
                let what = "test run was marked as failed".to_owned();
                endings.push(Ending { code: ExitCode::MarkedFailed, what });
            }
            let (book, thresholds, beside) = self.judged(handle, run_ns);
            account.merge(&beside);
            let has_failed = thresholds.iter().any(|(_, all)| all.iter().any(|it| it.has_failed));
            if has_failed && ended_by.is_empty() {
                let failed = thresholds.failed(book.registry()).join(", ");
                let what = format!("thresholds on metrics '{failed}' have been crossed");
                endings.push(Ending { code: ExitCode::Thresholds, what });
            }
            let setup_data = handle.controls().setup_data();
            Ok((Ran { book, thresholds, run_ns, setup_data, endings, account }, loaded))
        })
    }

    /// Calls `handleSummary` with data that is JSON, if the script exports it.
    ///
    /// # Errors
    /// What went wrong, with k6's exit code for it: that of a timeout, or of an exception.
    pub fn summarize(&self, data: String, lines: &Lines) -> Result<Summarized, Refused> {
        let Some(function) = self.program.function("handleSummary") else {
            return Ok(Summarized { outputs: None, data });
        };
        let common = Arc::new(self.common(lines, None));
        let mut count = Count::new(&common, "", None, None);
        let limit_ns = self.configuration.handle_summary_timeout_ns;
        let returned = call(
            &self.program,
            Errand::Summarize(function, data.into()),
            &self.network()?,
            &Arc::new(Controls::new(0)),
            &options_json(&self.configuration),
            limit_ns,
            &mut count,
        );
        match returned {
            Ok(Returned::Summary(summarized)) => Ok(summarized),
            Ok(Returned::Value(_)) => Ok(Summarized::default()),
            Err(error) => Err(of_task("handleSummary", limit_ns, ExitCode::Timeout, error)),
        }
    }

    /// All that was counted, with thresholds evaluated for the last time.
    fn judged(&self, handle: &Handle, run_ns: u64) -> (Book, Thresholds, Account) {
        let mut figures = handle.figures();
        if let Some(Figures { book, thresholds, .. }) = &mut *figures {
            thresholds.evaluate(book, run_ns, true);
        }
        // Who looks at the figures may still do so while the program lingers.
        let figures = if handle.is_watched() { figures.clone() } else { figures.take() };
        let figures = figures.expect("they are there from the beginning of a run");
        (figures.book, figures.thresholds, figures.account)
    }

    pub(super) fn common(&self, lines: &Lines, points: Option<Points>) -> Common {
        let role = |scenario: &plimsoll_dialect::k6::scenario::Scenario| RoleNames {
            name: scenario.name.clone(),
            executor: scenario.executor.kind().name(),
            tags: scenario.tags.clone(),
        };
        Common {
            registry: self.registry.clone(),
            is_full: self.runtime.summary_mode == Mode::Full,
            metrics: self.metrics.clone(),
            system_tags: self.configuration.system_tags.clone(),
            tags: self.configuration.tags.clone(),
            roles: self.roles().map(role).collect(),
            ids: Ids::new(&self.registry),
            lines: lines.clone(),
            points,
            is_verbose: self.is_verbose,
        }
    }
}

/// What a function returned as JSON, or which part of it JSON cannot hold.
pub(super) type Data = Result<Option<String>, String>;

impl Test {
    /// Has a VU that is made for it call `setup` or `teardown`, if the script exports it. Counts go
    /// to `early` while it runs, and those of VUs are made from `vus_ns` on.
    pub(super) fn task(
        &self,
        name: &str,
        data: Option<Arc<str>>,
        limit_ns: u64,
        controls: &Arc<Controls>,
        (common, network): (&Arc<Common>, &Network),
        (early, vus_ns): (Option<SyncSender<Book>>, Option<u64>),
    ) -> (Result<Data, VuError>, Count) {
        let root = if name == "setup" { "::setup" } else { "::teardown" };
        let mut count = Count::new(common, root, vus_ns, early);
        let Some(function) = self.program.function(name) else { return (Ok(Ok(None)), count) };
        let options = options_json(&self.configuration);
        let errand = Errand::Call(function, data);
        let returned =
            call(&self.program, errand, network, controls, &options, limit_ns, &mut count);
        let returned = returned.map(|returned| match returned {
            Returned::Value(value) => value,
            Returned::Summary(_) => Ok(None),
        });
        (returned, count)
    }
}

/// The course of a run, once its VUs are initialised.
struct Course<'a> {
    test: &'a Test,
    handle: &'a Handle,
    common: &'a Arc<Common>,
    network: &'a Network,
    parts: &'a SyncSender<Book>,
    /// Where counts go while they are made; `None` if only their sum matters.
    early: Option<&'a SyncSender<Book>>,
    started_ns: u64,
    ended_ns: u64,
    /// How long it waited for connections that the script had left, which is no part of the test.
    wound_up_ns: u64,
    /// What its functions failed with.
    endings: Vec<Ending>,
    /// Whether the script has called the test failed.
    is_marked_failed: bool,
    account: Account,
}

impl<'a> Course<'a> {
    fn new(
        test: &'a Test,
        handle: &'a Handle,
        common: &'a Arc<Common>,
        network: &'a Network,
        parts: &'a SyncSender<Book>,
        early: Option<&'a SyncSender<Book>>,
    ) -> Self {
        let started_ns = clock::now_ns();
        Self {
            test,
            handle,
            common,
            network,
            parts,
            early,
            started_ns,
            ended_ns: started_ns,
            wound_up_ns: 0,
            endings: Vec::new(),
            is_marked_failed: false,
            account: Account::default(),
        }
    }

    /// Begins once nobody holds the run back.
    fn begin<T: Tally>(&mut self, prepared: Prepared<(Count, T)>) -> Option<Loaded<T>> {
        if self.handle.controls().is_paused() {
            self.handle.enter(Phase::Paused, clock::now_ns());
            self.handle.controls().await_resumed();
        }
        // What comes from now on is too late.
        self.handle.controls().resume();
        self.started_ns = clock::now_ns();
        self.carry_out(prepared)
    }

    fn carry_out<T: Tally>(&mut self, prepared: Prepared<(Count, T)>) -> Option<Loaded<T>> {
        let mut loaded = None;
        self.handle.enter(Phase::Setup, self.started_ns);
        let options = &self.test.configuration.options;
        // It may have been ended while it was paused.
        let is_ended = self.handle.controls().is_aborted();
        let is_set_up = !is_ended && (options.no_setup == Some(true) || self.set_up());
        if is_set_up {
            self.handle.enter(Phase::Scenarios, clock::now_ns());
            let (ticks, before) = (CpuTicks::read(), Snapshot::read());
            let witness = Witness::begin();
            let ran = prepared.run();
            self.account.host_share =
                ticks.zip(CpuTicks::read()).map(|(before, after)| after.busy_share_since(&before));
            match ran {
                Ok(ended) => {
                    let testimony = witness.end();
                    self.wound_up_ns += clock::now_ns().saturating_sub(ended.ended_ns);
                    let ended = self.add_up(ended, &Snapshot::read().since(&before));
                    loaded = Some(Loaded { ended, testimony });
                }
                Err(error) => self.endings.extend(not_run(error)),
            }
            self.handle.enter(Phase::Teardown, clock::now_ns());
            self.is_marked_failed = self.handle.controls().has_failed_test();
            if options.no_teardown != Some(true) {
                self.tear_down();
            }
        }
        self.ended_ns = clock::now_ns();
        self.handle.enter(Phase::Done, self.ended_ns);
        loaded
    }

    fn run_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.started_ns).saturating_sub(self.wound_up_ns)
    }

    /// Whether the run may go on.
    fn set_up(&mut self) -> bool {
        if self.test.program.function("setup").is_none() {
            return true;
        }
        let limit_ns = self.test.configuration.setup_timeout_ns;
        let controls = Arc::clone(self.handle.controls());
        match self.task("setup", None, limit_ns, &controls) {
            Ok(Ok(data)) => {
                controls.set_setup_data(data.map(Into::into));
                true
            }
            Ok(Err(unfit)) => {
                let what = format!("setup() returned data that JSON cannot hold: {unfit}");
                self.endings.push(Ending { code: ExitCode::Other, what });
                false
            }
            // Who has ended the run is told once, at the end.
            Err(VuError::Aborted) => false,
            Err(error) => {
                let refused = of_task("setup", limit_ns, ExitCode::SetupTimeout, error);
                self.endings.push(Ending { code: refused.code, what: refused.what });
                false
            }
        }
    }

    /// It runs after the end of a run that was aborted too, so it has controls of its own.
    fn tear_down(&mut self) {
        let limit_ns = self.test.configuration.teardown_timeout_ns;
        let mut controls = Controls::new(0);
        controls.facts = Arc::clone(&self.handle.controls().facts);
        let controls = Arc::new(controls);
        let data = self.handle.controls().setup_data();
        if let Err(error) = self.task("teardown", data, limit_ns, &controls) {
            let ending = match error {
                VuError::Aborted => aborted(controls.abort_reason()),
                error => {
                    let refused = of_task("teardown", limit_ns, ExitCode::TeardownTimeout, error);
                    Ending { code: refused.code, what: refused.what }
                }
            };
            self.endings.push(ending);
        }
        self.is_marked_failed |= controls.has_failed_test();
    }

    /// Calls a function, and hands on what it has counted.
    fn task(
        &mut self,
        name: &str,
        data: Option<Arc<str>>,
        limit_ns: u64,
        controls: &Arc<Controls>,
    ) -> Result<Data, VuError> {
        // During `setup`, the workers count VUs.
        let vus_ns = (name == "teardown").then(clock::now_ns);
        let early = (self.early.cloned(), vus_ns);
        let before_ns = controls.wound_up_ns();
        let (returned, count) =
            self.test.task(name, data, limit_ns, controls, (self.common, self.network), early);
        self.wound_up_ns += controls.wound_up_ns().saturating_sub(before_ns);
        self.hand_over(count);
        returned
    }

    fn hand_over(&mut self, count: Count) {
        let (book, account) = count.finish();
        self.account.merge(&account);
        // The receiver lives until all senders are gone.
        let _ = self.parts.send(book);
    }

    /// Adds up what was counted. Gives back what was recorded beside it.
    fn add_up<T>(&mut self, ended: Ended<(Count, T)>, happened: &Happened) -> Ended<T> {
        let took_ns = ended.ended_ns.saturating_sub(ended.started_ns).max(1);
        let busiest_ns = ended.paces.iter().map(|pace| pace.busy_ns).max().unwrap_or(0);
        self.account.busiest_share = busiest_ns as f64 / took_ns as f64;
        self.account.workers = u32::try_from(ended.tallies.len()).unwrap_or(u32::MAX);
        let progress = &self.handle.controls().progress;
        let started = |role: &plimsoll_engine::vu::RoleProgress| {
            role.started.load(std::sync::atomic::Ordering::Relaxed)
        };
        self.account.started = progress.iter().map(started).sum();
        let (counts, tallies): (Vec<Count>, Vec<T>) = ended.tallies.into_iter().unzip();
        counts.into_iter().for_each(|count| self.hand_over(count));
        let Ended { started_ns, ended_ns, paces, driver, .. } = ended;
        let evidence = Evidence {
            no_files: self.account.no_files,
            no_ports: self.account.no_ports,
            ..evidence(&paces, started_ns, took_ns, happened)
        };
        self.account.causes = verdict::of_host(&evidence);
        Ended { tallies, started_ns, ended_ns, paces, driver }
    }
}

/// What the workers' threads and the host tell of what kept the tester from its work.
fn evidence(paces: &[Pace], started_ns: u64, took_ns: u64, happened: &Happened) -> Evidence {
    let pauses = paces.iter().flat_map(Pace::pauses);
    let pauses =
        pauses.map(|pause| Pause { at_ns: pause.at_ns.saturating_sub(started_ns), ..pause });
    let delayed = paces.iter().map(|pace| pace.run_delay_ns as f64 / took_ns as f64);
    Evidence {
        elapsed_ns: took_ns,
        worker_run_delay: delayed.collect(),
        pauses: pauses.collect(),
        paused_ns: paces.iter().map(|pace| pace.stood_still_ns).max().unwrap_or(0),
        throttled_ns: happened.throttling.throttled_ns,
        steal_share: happened.steal_share,
        clock_step_ns: happened.clock_step_ns,
        ..Evidence::default()
    }
}

/// Why the run was ended early, if it was.
fn ended(handle: &Handle, ended_by: &[String]) -> Option<Ending> {
    let cause = handle.cause()?;
    let what = match cause {
        ExitCode::Thresholds => {
            let failed = ended_by.join(", ");
            format!("thresholds on metrics '{failed}' were crossed; one of them ended the test")
        }
        ExitCode::Interrupted => "the test was ended by a signal".to_owned(),
        ExitCode::StoppedByRest => "the test was ended by the REST interface".to_owned(),
        _ => return Some(aborted(handle.controls().abort_reason())),
    };
    Some(Ending { code: cause, what })
}

/// A script has ended the test.
pub(super) fn aborted(reason: Option<String>) -> Ending {
    let what = match reason {
        Some(reason) if !reason.is_empty() => format!("test aborted: {reason}"),
        _ => "test aborted".to_owned(),
    };
    Ending { code: ExitCode::Aborted, what }
}

/// Whether it is the script that keeps a VU from being initialised: by an exception, or by
/// `test.abort()`.
fn is_of_script(error: &VuError, handle: &Handle) -> bool {
    match error {
        VuError::Script(_) => true,
        VuError::Aborted => handle.cause() == Some(ExitCode::Aborted),
        VuError::Host(_) | VuError::Timeout => false,
    }
}

/// Why there was nothing to run.
fn not_prepared(error: VuError, handle: &Handle) -> Refused {
    match error {
        VuError::Script(failure) => refused(ExitCode::ScriptException, text_of(&failure)),
        VuError::Aborted => match ended(handle, &[]) {
            Some(Ending { code, what }) => Refused { code, what },
            None => refused(ExitCode::Other, VuError::Aborted.to_string()),
        },
        VuError::Host(what) => refused(ExitCode::Other, what),
        VuError::Timeout => refused(ExitCode::Timeout, error.to_string()),
    }
}

/// What went wrong on the way; an abort is told at the end.
fn not_run(error: VuError) -> Option<Ending> {
    let (code, what) = match error {
        VuError::Aborted => return None,
        VuError::Script(failure) => (ExitCode::ScriptException, text_of(&failure)),
        VuError::Host(what) => (ExitCode::Other, what),
        VuError::Timeout => (ExitCode::Timeout, error.to_string()),
    };
    Some(Ending { code, what })
}

/// What went wrong in a function that is called once.
fn of_task(name: &str, limit_ns: u64, timeout: ExitCode, error: VuError) -> Refused {
    match error {
        VuError::Script(failure) => refused(ExitCode::ScriptException, text_of(&failure)),
        VuError::Timeout => {
            let seconds = limit_ns as f64 / 1e9;
            let what = format!("{name}() execution timed out after {seconds} seconds");
            refused(timeout, format!("{what}: raise {name}Timeout if it has to take longer"))
        }
        VuError::Host(what) => refused(ExitCode::Other, format!("{name}(): {what}")),
        VuError::Aborted => refused(ExitCode::Aborted, format!("{name}() was aborted")),
    }
}

//! What experiments run on: loads for a tester, judged only where there was a load.

use std::borrow::Cow;
use std::cell::Cell;
use std::path::PathBuf;

use super::run::{Reference, Run, Runner, Setup};
use crate::judge::Judgement;
use crate::options::SuiteOptions;
use crate::oracle::{Alpn, Mode, TlsMode};
use crate::tool::{Ask, Http2Over, Need, TesterAdapter};

/// A tester as it is installed here.
pub struct Subject {
    /// Its adapter.
    pub tool: Box<dyn TesterAdapter>,
    /// Its program.
    pub program: PathBuf,
    /// What it says its version is.
    pub version: String,
}

/// Who took CPU time from the runs of an experiment: the share of the machine's CPU time in the
/// worst run, `None` where it was too little to matter.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Disturbance {
    /// The hypervisor.
    pub stolen_share: Option<f64>,
    /// Other processes.
    pub others_share: Option<f64>,
}

/// How runs come about: on this machine, or made up by a test.
pub trait Runs: std::fmt::Debug {
    /// A run, however it ends. With `needs_quiet`, one that the hypervisor disturbed is made again.
    ///
    /// # Errors
    /// The outcome, where there is nothing to judge.
    fn run(&self, subject: &Subject, setup: &Setup, needs_quiet: bool) -> Result<Run, Judgement>;

    /// A load as this machine lets anyone send it: from a bare loop on the tester's CPU, to an
    /// oracle on its own. What it is short of the ideal is the machine's noise.
    ///
    /// # Errors
    /// Broken, when the oracle does not work.
    fn reference(&self, ask: &Ask, mode: &Mode) -> Result<Reference, Judgement>;

    /// Whether it was told to end early.
    fn is_stopped(&self) -> bool;

    /// What disturbed the runs since this was last asked.
    fn take_disturbance(&self) -> Disturbance;
}

/// What experiments are made with.
#[derive(Debug)]
pub struct Bench {
    runs: Box<dyn Runs>,
    /// Whether runs are to be short where the truth allows it.
    pub quick: bool,
    /// Whether the machine's clock may be set.
    pub may_step_clock: bool,
    needs_quiet: Cell<bool>,
}

impl Bench {
    /// A bench for an order, on this machine.
    #[must_use]
    pub fn new(order: &SuiteOptions) -> Self {
        Self {
            runs: Box::new(Runner::new(order)),
            quick: order.quick,
            may_step_clock: order.may_step_clock,
            needs_quiet: Cell::new(true),
        }
    }

    /// A bench whose runs are made up.
    #[cfg(test)]
    pub(crate) fn made_up(runs: Box<dyn Runs>) -> Self {
        Self { runs, quick: true, may_step_clock: true, needs_quiet: Cell::new(true) }
    }

    /// What follows is an attempt at an experiment that a busy machine can spoil, or cannot. What
    /// disturbed earlier runs is forgotten.
    pub fn begin(&self, needs_quiet: bool) {
        self.needs_quiet.set(needs_quiet);
        self.runs.take_disturbance();
    }

    /// The first of the two when runs may take their time, the second when they are to be short.
    #[must_use]
    pub fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Whether it was told to end early.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.runs.is_stopped()
    }

    /// See [`Runs::take_disturbance`].
    #[must_use]
    pub fn take_disturbance(&self) -> Disturbance {
        self.runs.take_disturbance()
    }

    /// Runs it and reads what the tester said.
    ///
    /// # Errors
    /// The outcome, where there is nothing to judge.
    pub fn measure(&self, subject: &Subject, setup: &Setup) -> Result<Run, Judgement> {
        let mut run = self.load(subject, setup)?;
        run.reading = subject.tool.read(&run.finished).map_err(|why| {
            let code = run.finished.code.map_or_else(|| "a signal".to_owned(), |c| c.to_string());
            Judgement::unmeasured(format!(
                "it ended with {code} and its output cannot be read: {why}"
            ))
        })?;
        run.further = subject.tool.further(&run.finished, &run.reading);
        Ok(run)
    }

    /// Runs it for all that the tester said, whether that can be read as a report or not: one that
    /// doubts its figures may refuse to give them.
    ///
    /// # Errors
    /// The outcome, where there is nothing to judge.
    pub fn hear(&self, subject: &Subject, setup: &Setup) -> Result<Run, Judgement> {
        let mut run = self.load(subject, setup)?;
        run.reading = subject.tool.read(&run.finished).unwrap_or_default();
        run.further = subject.tool.further(&run.finished, &run.reading);
        run.reading.text = [&run.finished.stdout, &run.finished.stderr, &run.documents]
            .map(String::as_str)
            .join("\n");
        Ok(run)
    }

    /// Runs it for what the oracle saw alone.
    ///
    /// # Errors
    /// The outcome, where there is nothing to judge. A tester that ended well without its load has
    /// failed; one that did not may only be unable to run here.
    pub fn load(&self, subject: &Subject, setup: &Setup) -> Result<Run, Judgement> {
        let setup = behind_tls(setup, subject.tool.http2());
        let run = self.runs.run(subject, &setup, self.needs_quiet.get())?;
        let seen = run.log.entries.len() as u64;
        if seen >= setup.least {
            return Ok(run);
        }
        let sent = format!("{seen} requests sent");
        if run.finished.code == Some(0) {
            return Err(Judgement::fail(sent, format!("at least {}", setup.least)));
        }
        let said = [run.finished.stdout.trim(), run.finished.stderr.trim()].join("\n");
        let said = said.trim().lines().last().unwrap_or("without a word");
        Err(Judgement::unmeasured(format!("{sent}: {said}")))
    }

    /// See [`Runs::reference`].
    ///
    /// # Errors
    /// Broken, when the oracle does not work.
    pub fn reference(&self, ask: &Ask, mode: &Mode) -> Result<Reference, Judgement> {
        self.runs.reference(ask, mode)
    }
}

/// A setup whose HTTP/2 is behind TLS, where the tester speaks it only there. The oracle then
/// chooses HTTP/2 in the handshake, unless the mode says that it does not speak it.
fn behind_tls(setup: &Setup, over: Option<Http2Over>) -> Cow<'_, Setup> {
    let asks = setup.ask.extra.iter().any(|need| matches!(need, Need::Http2 { .. }));
    if !asks || over != Some(Http2Over::Tls) || setup.mode.tls.is_some() {
        return Cow::Borrowed(setup);
    }
    let mut setup = setup.clone();
    let both = [Alpn::Http2, Alpn::Http1];
    let offered = if setup.mode.http2.is_refused { &both[1..] } else { &both[..] };
    setup.mode.tls = Some(TlsMode::offering(offered));
    Cow::Owned(setup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http2_goes_behind_tls_for_those_who_speak_it_only_there() {
        let http2 = Ask { extra: vec![Need::Http2 { streams: 1 }], ..Ask::to("/") };
        let mut refused = Mode::default();
        refused.http2.is_refused = true;
        let none = Mode { tls: Some(TlsMode::default()), ..Mode::default() };
        let (tls, either) = (Some(Http2Over::Tls), Some(Http2Over::Either));
        for (ask, mode, over, want) in [
            (&http2, Mode::default(), tls, Some(vec![Alpn::Http2, Alpn::Http1])),
            (&http2, refused.clone(), tls, Some(vec![Alpn::Http1])),
            (&http2, none.clone(), tls, Some(vec![])),
            (&http2, Mode::default(), either, None),
            (&http2, none, either, Some(vec![])),
            (&http2, Mode::default(), None, None),
            (&Ask::to("/"), refused, tls, None),
        ] {
            let setup = Setup::new(ask.clone(), mode);
            let got = behind_tls(&setup, over).mode.tls.clone().map(|tls| tls.alpn);
            assert_eq!(got, want, "{over:?} {setup:?}");
        }
    }
}

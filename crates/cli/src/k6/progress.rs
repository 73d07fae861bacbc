//! Progress while a test runs: what it is, then frames of totals and scenarios on stdout, each
//! second, or ten times a second on a terminal.
//!
//! All of it is written on a thread of its own: stdout may be a pipe that nobody empties, and the
//! load does not wait for that.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use plimsoll_dialect::k6::output::{Bar, Frame, Live, Status, bar};
use plimsoll_io::clock;
use plimsoll_runner::k6::{Handle, Phase, Test};

use crate::terminal;

/// The progress of a run.
pub(super) struct Progress<'a> {
    test: &'a Test,
    handle: &'a Handle,
    /// What comes before the frames.
    banner: String,
    frame: Frame,
    is_tty: bool,
}

impl<'a> Progress<'a> {
    pub(super) fn new(
        test: &'a Test,
        handle: &'a Handle,
        banner: String,
        has_colors: bool,
    ) -> Self {
        let is_tty = io::stdout().is_terminal();
        Self { test, handle, banner, frame: Frame::new(is_tty, has_colors), is_tty }
    }

    /// Shows the banner, and frames until the other end is dropped.
    pub(super) fn show(&mut self, ended: &Receiver<()>) {
        write(&self.banner);
        let period = Duration::from_millis(if self.is_tty { 100 } else { 1000 });
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(period) {
            self.print(false);
        }
        if self.is_tty {
            write("\r\x1b[J");
        }
    }

    /// Shows the last frame.
    pub(super) fn finish(&mut self) {
        self.print(true);
    }

    fn print(&mut self, is_last: bool) {
        let now_ns = clock::now_ns();
        let limits = self.test.configuration.limits();
        let part = &self.test.configuration.part;
        let totals = match self.handle.phase() {
            Phase::Init => {
                let vus = self.handle.totals(now_ns, limits.duration_ns, limits.max_vus).vus;
                format!("Init      {vus}/{} VUs initialized", limits.planned_vus)
            }
            Phase::Paused => "Run       paused".to_owned(),
            Phase::Setup => "Run       setup()".to_owned(),
            Phase::Teardown => "Run       teardown()".to_owned(),
            Phase::Scenarios | Phase::Done => {
                self.handle.totals(now_ns, limits.duration_ns, limits.max_vus).line()
            }
        };
        let live = |(at, scenario): (usize, &plimsoll_dialect::k6::scenario::Scenario)| {
            let none = Live {
                status: Status::Waiting,
                time_ns: scenario.start_ns,
                active_vus: 0,
                vus: 0,
                iterations: 0,
            };
            let live = self.handle.scenario(at, scenario.start_ns, now_ns).unwrap_or(none);
            bar(scenario, part, &live)
        };
        let bars: Vec<Bar> = self.test.roles().enumerate().map(live).collect();
        let text = self.frame.render(&totals, &bars, terminal::columns(true), is_last);
        write(&text);
    }
}

/// Writes to stdout, where there may be nobody: progress that is not shown changes nothing.
pub(super) fn write(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

//! The end of a test: its summary on stdout, its documents, and what `handleSummary` makes of it.

use std::io::{self, IsTerminal as _, Write as _};

use plimsoll_dialect::k6::ExitCode;
use plimsoll_dialect::k6::metrics::TrendStat;
use plimsoll_dialect::k6::output::Level;
use plimsoll_dialect::k6::summary::{
    Look, Machine, Mode, ScriptData, Summary, export, indented, machine_readable, script_data, text,
};
use plimsoll_runner::k6::{Ran, Summarized, Test};
use serde_json::Value;

use super::log::{Log, wall_time};
use crate::destination;
use crate::exit::to_stdout;

/// What summaries say beside figures.
pub(super) struct Ending<'a> {
    pub(super) test: &'a Test,
    pub(super) ran: &'a Ran,
    pub(super) script: &'a str,
    pub(super) has_colors: bool,
    pub(super) log: &'a Log,
}

impl Ending<'_> {
    /// Prints the summary, or what `handleSummary` gives in its place, and writes the document that
    /// was asked for. If the summary is disabled, it does nothing of this, as in k6.
    pub(super) fn show(&self) {
        let (test, ran) = (self.test, self.ran);
        let runtime = &test.runtime;
        if runtime.summary_mode == Mode::Disabled {
            return;
        }
        let summary = self.summary(&test.configuration.summary_trend_stats);
        for name in summary.inexact() {
            self.log.say(
                Level::Debug,
                format!("percentiles of {name} come from a histogram and are within 0.1 %"),
            );
        }
        if ran.book.without_detail() > 0 {
            let count = ran.book.without_detail();
            let what = format!("{count} samples have too many different tags");
            self.log.say(Level::Warning, format!("{what}: they count in their metrics alone"));
        }
        let setup_data = ran.setup_data.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let look = Look {
            mode: runtime.summary_mode,
            time_unit: test.configuration.summary_time_unit,
            has_colors: self.has_colors,
        };
        let data = match runtime.new_machine_readable_summary {
            true => self.machine(),
            false => self.script_data(&summary, setup_data.as_ref()),
        };
        let Some(Summarized { outputs, data }) = self.handle(data) else { return };
        match outputs {
            None => self.save("stdout", text(&summary, look).as_bytes()),
            Some(Err(what)) => return self.log.say(Level::Error, what),
            Some(Ok(outputs)) => {
                outputs.iter().for_each(|(place, bytes)| self.save(place, bytes));
            }
        }
        if let Some(path) = &runtime.summary_export {
            let data = serde_json::from_str(&data).unwrap_or_default();
            let document = match runtime.new_machine_readable_summary {
                true => indented(&data),
                false => export(&data),
            };
            self.save(path, document.as_bytes());
        }
    }

    fn summary(&self, stats: &[TrendStat]) -> Summary {
        Summary::of(&self.ran.book, &self.ran.thresholds, stats, self.ran.run_ns)
    }

    fn machine(&self) -> String {
        let summary = self.summary(&TrendStat::defaults());
        let generated_at = wall_time(super::wall_ns()).rfc3339_nano();
        let machine = Machine {
            script: self.script,
            generated_at: &generated_at,
            version: super::K6_VERSION,
            mode: self.test.runtime.summary_mode,
        };
        machine_readable(&summary, machine)
    }

    fn script_data(&self, summary: &Summary, setup_data: Option<&Value>) -> String {
        let data = ScriptData {
            time_unit: self.test.configuration.summary_time_unit,
            has_no_color: !self.has_colors,
            is_stdout_tty: io::stdout().is_terminal(),
            is_stderr_tty: io::stderr().is_terminal(),
            setup_data,
        };
        script_data(summary, data).to_string()
    }

    /// What the script makes of the data; `None`, as in k6, if it takes too long: then there is no
    /// summary at all.
    fn handle(&self, data: String) -> Option<Summarized> {
        let error = match self.test.summarize(data.clone(), self.log.lines()) {
            Ok(summarized) => return Some(summarized),
            Err(error) => error,
        };
        let is_late = error.code == ExitCode::Timeout;
        let instead = if is_late { "there is no summary" } else { "the usual summary is printed" };
        let what = format!("handleSummary() failed, so {instead}: {error}");
        self.log.say(Level::Error, what);
        (!is_late).then_some(Summarized { outputs: None, data })
    }

    /// Writes to `stdout`, `stderr` or a file. If that fails, a line of the log tells it; the exit
    /// code stays.
    fn save(&self, place: &str, bytes: &[u8]) {
        let written = match place {
            "stdout" => to_stdout(bytes),
            "stderr" => io::stderr().write_all(bytes),
            path => destination::write(path.as_ref(), bytes),
        };
        if let Err(error) = written {
            let why = crate::message::without_error_numbers(&error.to_string());
            self.log.say(Level::Error, format!("cannot write the summary to '{place}': {why}"));
        }
    }
}

//! Live progress: one line on stderr, redrawn once a second.

use std::io::{self, IsTerminal as _, Write as _};

use plimsoll_core::live::LiveFigures;
use plimsoll_report::progress::line;

use crate::terminal::{columns_of_stderr, takes_escapes};

/// Shows how a run goes, if there is a terminal to show it on.
#[derive(Debug)]
pub(crate) struct Live {
    shown: bool,
    /// Whether lines that stay are written without a terminal too.
    kept: bool,
    /// What stands before each line.
    title: String,
}

const CLEAR_LINE: &str = "\r\x1b[2K";

impl Live {
    pub(crate) fn new(wanted: bool, title: &str) -> Self {
        let gap = if title.is_empty() { "" } else { "  " };
        Self {
            shown: wanted && io::stderr().is_terminal() && takes_escapes(),
            kept: wanted,
            title: format!("{title}{gap}"),
        }
    }

    /// Shows the run as it is now.
    pub(crate) fn show(&self, figures: &LiveFigures) {
        if !self.shown {
            return;
        }
        let columns = columns_of_stderr().saturating_sub(self.title.chars().count());
        let text = line(figures, columns);
        // The line is a courtesy: a terminal that is gone must not stop the run.
        let _ = write!(io::stderr(), "{CLEAR_LINE}{}{text}", self.title);
        let _ = io::stderr().flush();
    }

    /// Writes a line that stays, above the one that is redrawn. Where there is no terminal, such
    /// lines are all there is.
    pub(crate) fn keep(&self, text: &str) {
        if self.kept {
            let clear = if self.shown { CLEAR_LINE } else { "" };
            let _ = writeln!(io::stderr(), "{clear}{text}");
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        if self.shown {
            let _ = write!(io::stderr(), "{CLEAR_LINE}");
            let _ = io::stderr().flush();
        }
    }
}

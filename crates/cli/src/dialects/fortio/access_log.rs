//! The log of `-access-log-file`: a line for each call, appended when the run is over.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};

use plimsoll_core::details::Calls;
use plimsoll_dialect::WallTime;
use plimsoll_dialect::fortio::{AccessLog, Command, access_line};

/// A log that lines can be appended to.
pub(super) struct Log<'a> {
    log: &'a AccessLog,
    file: File,
}

impl<'a> Log<'a> {
    /// Opens the log of a command, if it has one, so that no load is lost to a file that cannot be
    /// written.
    ///
    /// # Errors
    /// In one line.
    pub(super) fn open(command: &'a Command) -> Result<Option<Self>, String> {
        let Some(log) = &command.access_log else { return Ok(None) };
        let file = OpenOptions::new().append(true).create(true).open(&log.path);
        let file = file.map_err(|error| {
            format!("fortio: cannot write -access-log-file '{}': {error}", log.path)
        })?;
        Ok(Some(Self { log, file }))
    }

    /// Appends the calls of a run that began at a time.
    ///
    /// # Errors
    /// In one line.
    pub(super) fn append(
        self,
        command: &Command,
        calls: &Calls,
        started: WallTime,
    ) -> Result<(), String> {
        let mut out = BufWriter::new(&self.file);
        let mut write = || -> io::Result<()> {
            for call in &calls.kept {
                let line = access_line(self.log, command, call, started.unix_ns);
                out.write_all(line.as_bytes())?;
            }
            out.flush()
        };
        write().map_err(|error| {
            format!("fortio: cannot write -access-log-file '{}': {error}", self.log.path)
        })
    }
}

//! The log of `k6`: lines are formatted and written by a thread of their own.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_core::secret::Masks;
use plimsoll_dialect::WallTime;
use plimsoll_dialect::k6::output::{Format, Level, Record, log_line};
use plimsoll_dialect::k6::{ExitCode, Refused, SecretSources};
use plimsoll_runner::k6::{Lines, LogLine};

use crate::message;

/// How long the writer waits for a line before it looks whether there will be any.
const PATIENCE: Duration = Duration::from_millis(20);

/// Where lines go.
type Sink = Box<dyn Write + Send>;

/// What is asked of the log.
pub(super) struct Wanted {
    /// `stderr`, `stdout`, `none` or `file=PATH`.
    pub(super) output: String,
    /// `json`, `raw`; all else is text.
    pub(super) format: Option<String>,
    /// The file that takes the lines of the script's `console`, if they do not go with the others.
    pub(super) console: Option<String>,
    pub(super) has_colors: bool,
    pub(super) is_verbose: bool,
    /// What is masked in lines that are not the script's own; `None` where they are k6's.
    pub(super) masks: Option<Masks>,
}

/// The log.
pub(super) struct Log {
    lines: Lines,
    writer: JoinHandle<()>,
    is_over: Arc<AtomicBool>,
    secrets: Arc<OnceLock<SecretSources>>,
}

impl Log {
    /// Starts the thread.
    ///
    /// # Errors
    /// A place that lines cannot go to; exit code 255.
    pub(super) fn start(wanted: &Wanted) -> Result<Self, Refused> {
        let (sink, is_terminal): (Sink, bool) = match wanted.output.as_str() {
            "stderr" => (Box::new(io::stderr()), io::stderr().is_terminal()),
            "stdout" => (Box::new(io::stdout()), io::stdout().is_terminal()),
            "none" => (Box::new(io::sink()), false),
            other => match other.strip_prefix("file=") {
                Some(path) => (file(path)?, false),
                None => {
                    let what = format!("--log-output '{other}' is not supported");
                    return Err(other_fault(format!("{what}: write stderr, stdout, none, file=F")));
                }
            },
        };
        let format = match wanted.format.as_deref() {
            Some("json") => Format::Json,
            Some("raw") => Format::Raw,
            _ if is_terminal && wanted.has_colors => Format::Terminal,
            _ => Format::Text,
        };
        let (lines, receiver) = Lines::new();
        let clears = is_terminal && io::stdout().is_terminal();
        let console = wanted.console.as_deref().map(file).transpose()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let secrets = Arc::<OnceLock<SecretSources>>::default();
        let mut writer = Writer {
            sink,
            console,
            format,
            clears,
            is_verbose: wanted.is_verbose,
            masks: wanted.masks.clone(),
            started_ns: None,
            has_failed: false,
            is_over: Arc::clone(&is_over),
            secrets: Arc::clone(&secrets),
        };
        let write = move || writer.write_all(&receiver);
        let writer = std::thread::Builder::new().name("log".to_owned()).spawn(write);
        let writer = writer.map_err(|error| other_fault(format!("no thread to log: {error}")))?;
        Ok(Self { lines, writer, is_over, secrets })
    }

    /// Where lines go in.
    pub(super) fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Has no line show what the script gets from these.
    pub(super) fn keep_secret(&self, secrets: &SecretSources) {
        // A log is of one script.
        let _ = self.secrets.set(secrets.clone());
    }

    /// Has a line written.
    pub(super) fn say(&self, level: Level, message: impl Into<String>) {
        let message = message.into();
        let (fields, is_console) = (Vec::new(), false);
        let wall_ns = super::wall_ns();
        self.lines.put(LogLine { wall_ns, level, message, fields, is_console });
    }

    /// Waits until all lines are written that were put before.
    pub(super) fn finish(self) {
        self.is_over.store(true, Ordering::Release);
        drop(self.lines);
        // It writes, and has nothing to panic about.
        let _ = self.writer.join();
    }
}

pub(super) fn other_fault(what: String) -> Refused {
    Refused { code: ExitCode::Other, what }
}

/// A file that lines are added to.
fn file(path: &str) -> Result<Sink, Refused> {
    let opened = File::options().append(true).create(true).open(Path::new(path));
    let opened = opened.map_err(|error| {
        let why = message::without_error_numbers(&error.to_string());
        other_fault(format!("cannot write the log to '{path}': {why}"))
    })?;
    Ok(Box::new(BufWriter::new(opened)))
}

struct Writer {
    sink: Sink,
    format: Format,
    /// Where the lines of `console` go, if not with the others.
    console: Option<Sink>,
    is_verbose: bool,
    masks: Option<Masks>,
    is_over: Arc<AtomicBool>,
    /// Whether a line replaces what a progress has drawn below it.
    clears: bool,
    started_ns: Option<u64>,
    /// Whether a line could not be written. One message says so.
    has_failed: bool,
    secrets: Arc<OnceLock<SecretSources>>,
}

impl Writer {
    fn write_all(&mut self, lines: &Receiver<Box<LogLine>>) {
        loop {
            match lines.recv_timeout(PATIENCE) {
                Ok(line) if line.level == Level::Debug && !self.is_verbose => {}
                Ok(line) => self.write(&line),
                // A thread that the end of the program ends may still hold the other end.
                Err(RecvTimeoutError::Timeout) if !self.is_over.load(Ordering::Acquire) => {}
                Err(_) => return,
            }
        }
    }

    fn write(&mut self, line: &LogLine) {
        let text = self.text(line);
        let sink = match &mut self.console {
            Some(console) if line.is_console => console,
            _ => &mut self.sink,
        };
        // A log that cannot be written is no reason to end a test.
        match sink.write_all(text.as_bytes()).and_then(|()| sink.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe && !self.has_failed => {
                self.has_failed = true;
                message::show(&format!("plimsoll: the log cannot be written: {error}"));
            }
            _ => {}
        }
    }

    fn text(&mut self, line: &LogLine) -> String {
        let started_ns = *self.started_ns.get_or_insert(line.wall_ns);
        let is_apart = line.is_console && self.console.is_some();
        let fields = line.fields.iter().filter(|_| !is_apart);
        let fields: Vec<(&str, Cow<'_, str>)> =
            fields.map(|(name, value)| (*name, self.masked(line, value))).collect();
        let fields: Vec<(&str, &str)> =
            fields.iter().map(|(name, value)| (*name, &**value)).collect();
        let format = match self.format {
            Format::Terminal if is_apart => Format::Text,
            format => format,
        };
        let message = match self.secrets.get() {
            Some(secrets) => secrets.redact(&line.message),
            None => line.message.as_str().into(),
        };
        let message = self.masked(line, &message);
        let record = Record {
            time: wall_time(line.wall_ns),
            level: line.level,
            message: &message,
            elapsed_s: line.wall_ns.saturating_sub(started_ns) / 1_000_000_000,
            fields: &fields,
        };
        let text = log_line(&record, format);
        if self.clears && !is_apart { format!("\r\x1b[J{text}") } else { text }
    }

    /// A text of a line as it may be shown.
    fn masked<'a>(&self, line: &LogLine, text: &'a str) -> Cow<'a, str> {
        match &self.masks {
            Some(masks) if !line.is_console => masks.urls_in(text).into(),
            _ => text.into(),
        }
    }
}

/// A time for documents: in UTC, because the zone of the host is not known here.
pub(super) fn wall_time(wall_ns: u64) -> WallTime {
    WallTime { unix_ns: i64::try_from(wall_ns).unwrap_or(i64::MAX), offset_s: 0 }
}

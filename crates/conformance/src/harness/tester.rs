//! The tester as a process: its command line with any prefix, its output, its usage over time.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::process::Process;
use crate::tool::Finished;

/// Most of a tester's output that is kept, bytes.
const OUTPUT_MAX: u64 = 64 << 20;

/// How long a tester may take to print a report after its run.
const REPORT_LIMIT: Duration = Duration::from_secs(60);

/// A tester that runs.
pub(super) struct Tester {
    pub(super) process: Process,
    scratch: PathBuf,
    slow_reader: Option<SlowReader>,
}

/// Someone who reads the tester's output only when told to.
struct SlowReader {
    go: Sender<()>,
    thread: JoinHandle<Vec<u8>>,
}

/// How to start one.
pub(super) struct Start<'a> {
    pub(super) program: &'a Path,
    pub(super) arguments: &'a [String],
    /// Stands before the command line.
    pub(super) wrapper: &'a [String],
    pub(super) scratch: &'a Path,
    pub(super) cpu: Option<usize>,
    /// Whether its output goes into a pipe that is full from the start and that nobody empties.
    pub(super) unread: bool,
}

impl Tester {
    pub(super) fn start(start: &Start<'_>) -> io::Result<Self> {
        let mut command = match start.wrapper.split_first() {
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(start.program);
                command
            }
            None => Command::new(start.program),
        };
        let scratch = start.scratch.to_path_buf();
        command.args(start.arguments).current_dir(&scratch).stdin(Stdio::null());
        command.stderr(super::process::stream_file(&scratch, "stderr")?);
        let mut slow_reader = None;
        if start.unread {
            let (reader, writer) = full_pipe()?;
            command.stdout(writer);
            slow_reader = Some(SlowReader::start(reader));
        } else {
            command.stdout(super::process::stream_file(&scratch, "stdout")?);
        }
        Ok(Self { process: Process::start(command, start.cpu.as_slice())?, scratch, slow_reader })
    }

    /// Reads on what was left unread.
    pub(super) fn read_on(&self) {
        if let Some(reader) = &self.slow_reader {
            // It is waiting: it ends only after this.
            let _ = reader.go.send(());
        }
    }

    /// Waits for the end up to a limit; `None`: it had to be killed.
    pub(super) fn finish(mut self, limit: Duration) -> io::Result<Option<Finished>> {
        self.read_on();
        let Some(status) = self.process.finish(limit)? else { return Ok(None) };
        let text = |name: &str| -> io::Result<String> {
            let mut bytes = Vec::new();
            let file = std::fs::File::open(self.scratch.join(name))?;
            file.take(OUTPUT_MAX).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let stdout = match self.slow_reader.take() {
            Some(reader) => reader.finish(),
            None => text("stdout")?,
        };
        let stderr = text("stderr")?;
        Ok(Some(Finished { code: status.code(), stdout, stderr, scratch: self.scratch }))
    }
}

/// What a tester's program prints when it is called again after its run.
///
/// # Errors
/// Those of starting it and of reading what it printed.
pub(super) fn report(program: &Path, arguments: &[&str], scratch: &Path) -> io::Result<String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(scratch).stdin(Stdio::null()).stderr(Stdio::null());
    command.stdout(super::process::stream_file(scratch, "report")?);
    Process::start(command, &[])?.finish(REPORT_LIMIT)?;
    let mut bytes = Vec::new();
    std::fs::File::open(scratch.join("report"))?.take(OUTPUT_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Most of what a tester wrote into files that is kept, bytes.
const DOCUMENTS_MAX: u64 = 4 << 20;

/// What a tester wrote into its directory beside `ours`, as text.
///
/// # Errors
/// Those of reading it.
pub(super) fn documents(scratch: &Path, ours: &[String]) -> io::Result<String> {
    let mut text = String::new();
    for entry in std::fs::read_dir(scratch)? {
        let entry = entry?;
        let is_ours = ours.iter().any(|name| entry.file_name() == name.as_str());
        if is_ours || !entry.file_type()?.is_file() {
            continue;
        }
        let mut bytes = Vec::new();
        let left = DOCUMENTS_MAX.saturating_sub(text.len() as u64);
        std::fs::File::open(entry.path())?.take(left).read_to_end(&mut bytes)?;
        text.push_str(&String::from_utf8_lossy(&bytes));
        text.push('\n');
    }
    Ok(text)
}

/// A pipe that takes no more byte until it is read from: a page, filled with line ends.
fn full_pipe() -> io::Result<(io::PipeReader, io::PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    let bytes = rustix::pipe::fcntl_setpipe_size(&writer, rustix::param::page_size())?;
    let mut full = &writer;
    io::Write::write_all(&mut full, &vec![b'\n'; bytes])?;
    Ok((reader, writer))
}

impl SlowReader {
    fn start(mut reader: io::PipeReader) -> Self {
        let (go, told) = channel();
        let thread = std::thread::spawn(move || {
            // Told to, or nobody is left to tell.
            let _ = told.recv();
            let mut bytes = Vec::new();
            let mut chunk = [0; 4096];
            // Only the beginning is kept; the rest is read and dropped so that the tester can end.
            while let Ok(n @ 1..) = reader.read(&mut chunk) {
                if (bytes.len() as u64) < OUTPUT_MAX {
                    bytes.extend_from_slice(&chunk[..n]);
                }
            }
            bytes
        });
        Self { go, thread }
    }

    fn finish(self) -> String {
        let Self { go, thread } = self;
        drop(go);
        let bytes = thread.join().unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim_start().to_owned()
    }
}

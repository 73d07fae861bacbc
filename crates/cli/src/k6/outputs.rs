//! Outputs of `plimsoll k6 run`: samples are written by a thread of their own, to files here and to
//! receivers in `fed`.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_dialect::k6::metrics::{MetricId, Registry, SystemTag, SystemTags, TagSet};
use plimsoll_dialect::k6::output::{Columns, Gzip, PointLines, Sample, TimeFormat, metric_line};
use plimsoll_dialect::k6::threshold::Thresholds;
use plimsoll_dialect::k6::{Refused, absent};
use plimsoll_runner::k6::{Point, Points, Test};

use super::fed::Fed;
use super::log::{other_fault, wall_time};

/// How long written lines may stay in memory.
const FLUSH: Duration = Duration::from_millis(200);

/// How many bytes are written at once.
const BUFFER_BYTES: usize = 128 << 10;

fn buffered<W: Write>(out: W) -> BufWriter<W> {
    BufWriter::with_capacity(BUFFER_BYTES, out)
}

/// Variables of the environment.
#[derive(Clone, Copy)]
pub(super) struct Variables<'a> {
    /// Looks one up that is not empty.
    pub(super) lookup: &'a dyn Fn(&str) -> Option<String>,
    /// All, as `NAME=VALUE`.
    pub(super) all: &'a dyn Fn() -> Vec<String>,
}

impl Variables<'_> {
    /// A variable, unless it is empty.
    pub(super) fn text(self, name: &str) -> Option<String> {
        (self.lookup)(name)
    }

    /// Those whose names begin so, without that, and their values.
    pub(super) fn beginning_with(self, start: &str) -> Vec<(String, String)> {
        let rest = |text: &String| {
            let (name, value) = text.strip_prefix(start)?.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        (self.all)().iter().filter_map(rest).collect()
    }
}

/// A place for bytes.
enum Place {
    Plain(BufWriter<Box<dyn Write + Send>>),
    Gzip(Box<Gzip<BufWriter<File>>>),
}

impl Place {
    fn open(path: &str) -> Result<Self, Refused> {
        if matches!(path, "" | "-") {
            return Ok(Self::Plain(buffered(Box::new(io::stdout()))));
        }
        let file = File::create(path).map_err(|error| {
            let why = crate::message::without_error_numbers(&error.to_string());
            other_fault(format!("cannot write to '{path}': {why}"))
        })?;
        Ok(match path.ends_with(".gz") {
            true => Self::Gzip(Box::new(Gzip::new(buffered(file)))),
            false => Self::Plain(buffered(Box::new(file))),
        })
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.write_all(text.as_bytes()),
            Self::Gzip(out) => out.write_all(text.as_bytes()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            // What is flushed early compresses worse; its end is flushed.
            Self::Gzip(_) => Ok(()),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut out) => out.flush(),
            Self::Gzip(out) => out.finish()?.flush(),
        }
    }
}

/// How samples are written.
enum Form {
    /// Lines of JSON, and the metrics that were named.
    Json(HashSet<MetricId>, PointLines),
    Csv(Columns),
}

/// An output, not started yet.
struct Output {
    /// As the banner names it.
    description: String,
    to: To,
}

/// Where samples go.
enum To {
    File(Form, Place),
    Receiver(Box<Fed>),
}

/// The outputs of a run, not started yet.
pub(super) struct Outputs(Vec<Output>);

impl Outputs {
    /// Opens the outputs that options name.
    ///
    /// # Errors
    /// An output that is not known or cannot be written; exit code 255.
    pub(super) fn open(
        names: &[String],
        tags: &SystemTags,
        variables: Variables<'_>,
    ) -> Result<Self, Refused> {
        let mut outputs = Vec::new();
        for name in names {
            let (kind, arguments) = name.split_once('=').unwrap_or((name, ""));
            outputs.push(match kind {
                "json" => {
                    let path = if arguments.is_empty() { "-" } else { arguments };
                    let form = Form::Json(HashSet::new(), PointLines::default());
                    let to = To::File(form, Place::open(path)?);
                    Output { description: format!("json ({path})"), to }
                }
                "csv" => csv(arguments, tags, variables)?,
                _ => {
                    let fed = Fed::open(kind, arguments, variables)?;
                    let (description, fed) =
                        fed.ok_or_else(|| other_fault(absent::output(kind)))?;
                    Output { description, to: To::Receiver(Box::new(fed)) }
                }
            });
        }
        Ok(Self(outputs))
    }

    /// As the banner names them.
    pub(super) fn descriptions(&self) -> Vec<String> {
        self.0.iter().map(|output| output.description.clone()).collect()
    }

    /// Starts to write what comes, if there are any outputs.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn start(self, test: &Test) -> Result<Option<Writing>, Refused> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let (points, receiver) = Points::new();
        let is_over = Arc::new(AtomicBool::new(false));
        let mut writer = Writer {
            outputs: self.0,
            registry: test.registry.clone(),
            thresholds: test.thresholds.clone(),
            tags: test.configuration.system_tags.clone(),
            is_over: Arc::clone(&is_over),
        };
        let write = move || {
            writer.begin()?;
            writer.write_all(&receiver)?;
            writer.finish()
        };
        let thread = std::thread::Builder::new().name("outputs".to_owned()).spawn(write);
        let thread = thread.map_err(|error| other_fault(format!("no thread to write: {error}")))?;
        Ok(Some(Writing { points, thread, is_over }))
    }
}

fn csv(arguments: &str, tags: &SystemTags, variables: Variables<'_>) -> Result<Output, Refused> {
    let text = |name: &str, usual: &str| variables.text(name).unwrap_or_else(|| usual.to_owned());
    let mut path = text("K6_CSV_FILENAME", "file.csv");
    let mut format = text("K6_CSV_TIME_FORMAT", "unix");
    let mut interval = text("K6_CSV_SAVE_INTERVAL", "1s");
    if !arguments.contains('=') && !arguments.is_empty() {
        arguments.clone_into(&mut path);
    } else {
        for argument in arguments.split(',').filter(|argument| !argument.is_empty()) {
            let (key, value) = argument.split_once('=').unwrap_or((argument, ""));
            match key {
                "fileName" => value.clone_into(&mut path),
                "timeFormat" => value.clone_into(&mut format),
                "saveInterval" => value.clone_into(&mut interval),
                _ => {
                    let known = "fileName, saveInterval or timeFormat";
                    let what = format!("--out csv: '{key}' is not {known}");
                    return Err(other_fault(what));
                }
            }
        }
    }
    // Lines are written as they come, and flushed sooner than k6 does.
    plimsoll_core::units::parse_duration_ns(&interval)
        .map_err(|error| other_fault(format!("--out csv: saveInterval: {error}")))?;
    let format = TimeFormat::parse(&format).ok_or_else(|| {
        let known = "unix, unix_milli, unix_micro, unix_nano, rfc3339 or rfc3339_nano";
        other_fault(format!("--out csv: timeFormat '{format}' is not {known}"))
    })?;
    Ok(Output {
        description: format!("csv ({path})"),
        to: To::File(Form::Csv(Columns::new(tags, format)), Place::open(&path)?),
    })
}

/// Outputs that are being written.
pub(super) struct Writing {
    points: Points,
    thread: JoinHandle<io::Result<Vec<String>>>,
    is_over: Arc<AtomicBool>,
}

impl Writing {
    /// Where samples go in.
    pub(super) fn points(&self) -> Points {
        self.points.clone()
    }

    /// Waits until all is written. Gives how long workers waited for it during the run, added up,
    /// ns, and what receivers did not get.
    ///
    /// # Errors
    /// When something cannot be written.
    pub(super) fn finish(self) -> io::Result<(u64, Vec<String>)> {
        let waited_ns = self.points.waited_ns();
        self.is_over.store(true, Ordering::Release);
        drop(self.points);
        let ended = self.thread.join();
        let complaints =
            ended.unwrap_or_else(|_| Err(io::Error::other("the thread that writes has failed")))?;
        Ok((waited_ns, complaints))
    }
}

struct Writer {
    outputs: Vec<Output>,
    registry: Registry,
    thresholds: Thresholds,
    tags: SystemTags,
    is_over: Arc<AtomicBool>,
}

impl Writer {
    fn begin(&mut self) -> io::Result<()> {
        for output in &mut self.outputs {
            if let To::File(Form::Csv(columns), place) = &mut output.to {
                place.write(&columns.header())?;
            }
        }
        Ok(())
    }

    /// Writes batches until all senders are gone.
    fn write_all(&mut self, batches: &Receiver<Vec<Point>>) -> io::Result<()> {
        loop {
            match batches.recv_timeout(FLUSH) {
                Ok(batch) => {
                    batch.iter().try_for_each(|point| self.write(point))?;
                    self.tick();
                }
                Err(RecvTimeoutError::Timeout) if self.is_over.load(Ordering::Acquire) => {
                    return Ok(());
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.flush()?;
                    self.tick();
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let outputs = self.outputs.iter_mut();
        let mut places = outputs.filter_map(|output| match &mut output.to {
            To::File(_, place) => Some(place),
            To::Receiver(_) => None,
        });
        places.try_for_each(Place::flush)
    }

    /// Sends what is due.
    fn tick(&mut self) {
        for output in &mut self.outputs {
            if let To::Receiver(fed) = &mut output.to {
                fed.tick(&self.registry);
            }
        }
    }

    /// Writes the remaining samples. Returns what receivers did not get.
    fn finish(self) -> io::Result<Vec<String>> {
        let mut complaints = Vec::new();
        for output in self.outputs {
            match output.to {
                To::File(_, place) => place.finish()?,
                To::Receiver(fed) => complaints.extend(fed.finish(&self.registry)),
            }
        }
        Ok(complaints)
    }

    fn write(&mut self, point: &Point) -> io::Result<()> {
        let whose = self.whose(point);
        let metadata = metadata(point, &whose);
        let metric = self.registry.get(point.metric);
        let sample = Sample {
            metric: &metric.name,
            time: wall_time(point.wall_ns),
            value: point.value,
            tags: &point.tags,
            metadata: &metadata,
        };
        for Output { to, .. } in &mut self.outputs {
            match to {
                // A receiver would keep a series for each trace: it gets no such metadata.
                To::Receiver(fed) => fed.add(point, metric, &whose),
                To::File(Form::Json(named, lines), place) => {
                    if named.insert(point.metric) {
                        let line = metric_line(point.metric, &self.registry, &self.thresholds);
                        place.write(&line)?;
                    }
                    place.write(&lines.line(&sample))?;
                }
                To::File(Form::Csv(columns), place) => place.write(&columns.row(&sample))?,
            }
        }
        Ok(())
    }

    /// The VU and its iteration, if the test asks for them.
    fn whose(&self, point: &Point) -> TagSet {
        let all = [(SystemTag::Vu, point.vu), (SystemTag::Iter, point.iteration)];
        let set = all.iter().filter(|(tag, _)| self.tags.has(*tag));
        let text = |(tag, number): &(SystemTag, Option<u64>)| {
            number.map(|number| (tag.name(), number.to_string()))
        };
        let texts: Vec<(&str, String)> = set.filter_map(text).collect();
        TagSet::of(texts.iter().map(|(name, text)| (*name, text.as_str())))
    }
}

/// What files have of a sample beside its tags: what the script says goes before what is known.
fn metadata(point: &Point, whose: &TagSet) -> TagSet {
    let own = point.metadata.iter().flat_map(|all| all.iter());
    let own = own.map(|(name, text)| (&**name, &**text));
    TagSet::of(whose.iter().chain(own))
}

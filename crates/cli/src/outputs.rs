//! Where reports go. Every file is looked at before the load starts, so that a path that cannot be
//! written costs a second and not a whole run.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use plimsoll_core::RunResult;
use plimsoll_core::repeats::Repeats;
use plimsoll_core::series::Point;
use plimsoll_report::text::Style;
use plimsoll_report::{
    Clock, csv, hgrm, hlog, html, json, junit, markdown, repeats, text, timeseries,
};

use crate::destination::Destination;
use crate::exit::Exit;
use crate::output_args::{Format, OutputFlags};
use crate::terminal::{columns, has_color};

/// A report and where it goes; `None` is stdout.
struct Output {
    format: Format,
    file: Option<(String, Place)>,
}

/// A file that a report goes to.
enum Place {
    /// One that the report takes the place of.
    Whole(Destination),
    /// One that it is added to.
    Shared(File),
}

/// Where the points of a series go, with its name.
type Series = (String, BufWriter<Box<dyn Write>>);

/// All reports of a run.
pub(crate) struct Outputs {
    outputs: Vec<Output>,
    timeseries: Option<Series>,
    /// Files that were not there before.
    created: Vec<PathBuf>,
    style: Style,
}

impl Outputs {
    /// Opens everything the flags name.
    ///
    /// # Errors
    /// Two reports for one place, or the file that cannot be written.
    pub(crate) fn open(flags: &OutputFlags) -> Result<Self, Exit> {
        let summary = summary_path(flags)?;
        let named = named(flags, summary.as_deref());
        check_distinct(&named)?;
        check_stdout(flags, summary.as_deref())?;
        let is_new = |path: &&&Path| !is_stdout(path) && !path.exists();
        let paths = named.iter().map(|(_, path)| path);
        let created = paths.filter(is_new).map(|path| path.to_path_buf()).collect();
        let mut outputs = Vec::new();
        let format = flags.format.unwrap_or(Format::Text);
        match &flags.output {
            _ if has_report_on_stdout(flags) => outputs.push(Output { format, file: None }),
            Some(path) => outputs.push(Output { format, file: place(format, path)? }),
            None => {}
        }
        let extra = [
            (Format::Json, flags.json.as_deref()),
            (Format::Html, flags.html.as_deref()),
            (Format::Hgrm, flags.hgrm.as_deref()),
            (Format::Hlog, flags.hlog.as_deref()),
            (Format::Junit, flags.junit.as_deref()),
            (Format::Github, summary.as_deref()),
        ];
        for (format, path) in extra {
            if let Some(path) = path {
                outputs.push(Output { format, file: place(format, path)? });
            }
        }
        let timeseries = flags.timeseries.as_deref().map(series).transpose()?;
        let on_stdout = has_report_on_stdout(flags);
        let color = on_stdout && has_color(flags.no_color);
        let style = Style { color, width: columns(on_stdout) };
        Ok(Self { outputs, timeseries, created, style })
    }

    /// Takes away the files made for a run that could not be.
    pub(crate) fn discard(self) {
        for path in &self.created {
            // One that is gone already is no loss.
            let _ = fs::remove_file(path);
        }
    }

    /// Leaves out text on stdout, for a run without a load: one line on stderr says all that a
    /// person would read there. What was asked for otherwise is written.
    pub(crate) fn without_text(mut self) -> Self {
        self.outputs.retain(|output| output.file.is_some() || output.format != Format::Text);
        self
    }

    /// Writes a second of the time series.
    ///
    /// # Errors
    /// The file that cannot be written; it is not tried again.
    pub(crate) fn point(&mut self, point: &Point) -> anyhow::Result<()> {
        let Some((name, file)) = &mut self.timeseries else {
            return Ok(());
        };
        let written = timeseries::write_point(point, file).and_then(|()| file.flush());
        let context = format!("'{name}'");
        if written.is_err() {
            self.timeseries = None;
        }
        unless_reader_is_gone(written).context(context)
    }

    /// Writes all reports, each even if another cannot be written.
    ///
    /// # Errors
    /// The first that could not be written.
    pub(crate) fn write(self, result: &RunResult) -> anyhow::Result<()> {
        self.write_with(|kind, out, style| format(kind, result, out, style))
    }

    /// Writes the reports of several repeats.
    ///
    /// # Errors
    /// The first that could not be written.
    pub(crate) fn write_repeats(self, repeats: &Repeats) -> anyhow::Result<()> {
        self.write_with(|kind, out, style| format_repeats(kind, repeats, out, style))
    }

    /// Writes all reports with a function that writes one in a format.
    ///
    /// # Errors
    /// The first that could not be written.
    pub(crate) fn write_with(
        self,
        report: impl Fn(Format, &mut dyn Write, Style) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let mut first_error = Ok(());
        for output in self.outputs {
            let name = output.file.as_ref().map_or("stdout", |(name, _)| name).to_owned();
            let kind = output.format;
            let written = write(output, |out| report(kind, out, self.style));
            if written.is_err() && first_error.is_ok() {
                first_error = written.with_context(|| format!("'{name}'"));
            }
        }
        first_error
    }
}

/// Where the summary of a step goes, if there is to be one.
fn summary_path(flags: &OutputFlags) -> Result<Option<PathBuf>, Exit> {
    let Some(given) = &flags.github_summary else { return Ok(None) };
    let path = given.clone().or_else(|| {
        let step = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty());
        step.map(PathBuf::from)
    });
    let missing = "GITHUB_STEP_SUMMARY is not set: give --github-summary=FILE";
    path.map(Some).ok_or_else(|| Exit::Usage(missing.to_owned()))
}

/// Whether a path stands for stdout.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Whether the report itself goes to stdout. What is asked for by name does even with `-q`.
pub(crate) fn has_report_on_stdout(flags: &OutputFlags) -> bool {
    match &flags.output {
        Some(path) => is_stdout(path),
        None => flags.format.is_some() || !flags.quiet,
    }
}

/// Every file the flags name, `-` too, with its flag.
fn named<'a>(flags: &'a OutputFlags, summary: Option<&'a Path>) -> Vec<(&'static str, &'a Path)> {
    let files = [
        ("-o", flags.output.as_deref()),
        ("--json", flags.json.as_deref()),
        ("--html", flags.html.as_deref()),
        ("--hgrm", flags.hgrm.as_deref()),
        ("--hlog", flags.hlog.as_deref()),
        ("--junit", flags.junit.as_deref()),
        ("--github-summary", summary),
        ("--timeseries", flags.timeseries.as_deref()),
    ];
    files.into_iter().filter_map(|(flag, path)| Some((flag, path?))).collect()
}

/// Two reports in one file would be neither. Devices and pipes may take several.
fn check_distinct(named: &[(&str, &Path)]) -> Result<(), Exit> {
    for (i, (_, path)) in named.iter().enumerate() {
        let is_stream = is_stdout(path) || (path.exists() && !path.is_file());
        if !is_stream && named.iter().take(i).any(|(_, earlier)| earlier == path) {
            let path = path.display();
            let text = format!("two reports would go to '{path}': give each a file of its own");
            return Err(Exit::Usage(text));
        }
    }
    Ok(())
}

/// Nobody could read two reports after one another on stdout.
///
/// # Errors
/// Which two.
pub(crate) fn check_stdout(flags: &OutputFlags, summary: Option<&Path>) -> Result<(), Exit> {
    let has_report = has_report_on_stdout(flags) && flags.format != Some(Format::None);
    let others = named(flags, summary).into_iter();
    let others = others.filter(|(flag, path)| *flag != "-o" && is_stdout(path));
    let mut others = others.map(|(flag, _)| flag);
    let text = match (has_report, others.next(), others.next()) {
        (true, Some(flag), _) if flags.format.is_none() && flags.output.is_none() => {
            format!("the report and {flag} would both go to stdout: leave the report out with -q")
        }
        (true, Some(flag), _) => {
            format!("the report and {flag} would both go to stdout: give one of them a file")
        }
        (false, Some(one), Some(other)) => {
            format!("{one} and {other} would both go to stdout: give one of them a file")
        }
        _ => return Ok(()),
    };
    Err(Exit::Usage(text))
}

/// Looks whether a report can be written; `None` for `-`, which is stdout.
fn place(format: Format, path: &Path) -> anyhow::Result<Option<(String, Place)>> {
    // The steps of a job share one summary.
    if format == Format::Github {
        return Ok(open(path)?.map(|(name, file)| (name, Place::Shared(file))));
    }
    if is_stdout(path) {
        return Ok(None);
    }
    let name = path.display().to_string();
    let opened = Destination::open(path).with_context(|| format!("cannot write '{name}'"))?;
    Ok(Some((name, Place::Whole(opened))))
}

/// Opens a file that is written to as it is; `None` for `-`, which is stdout.
fn open(path: &Path) -> anyhow::Result<Option<(String, File)>> {
    if is_stdout(path) {
        return Ok(None);
    }
    let name = path.display().to_string();
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).open(path);
    file.map(|file| Some((name.clone(), file))).with_context(|| format!("cannot write '{name}'"))
}

/// Opens what a time series is written to while a run goes on.
fn series(path: &Path) -> anyhow::Result<Series> {
    let Some((name, file)) = open(path)? else {
        return Ok(("stdout".to_owned(), BufWriter::new(Box::new(io::stdout()))));
    };
    empty(&file).with_context(|| format!("'{name}'"))?;
    Ok((name, BufWriter::new(Box::new(file))))
}

/// A reader that has gone away has read enough.
fn unless_reader_is_gone(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Cuts off what an earlier run left. Pipes and devices have no length to cut.
fn empty(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) }
}

fn write(output: Output, report: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    match output.file {
        Some((_, Place::Whole(destination))) => destination.write(report),
        Some((_, Place::Shared(mut file))) => {
            // A pipe has no end to go to.
            let _ = file.seek(SeekFrom::End(0));
            let mut out = BufWriter::new(file);
            report(&mut out)?;
            out.flush()
        }
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            unless_reader_is_gone(report(&mut out).and_then(|()| out.flush()))
        }
    }
}

/// Writes a report in a format.
///
/// # Errors
/// Those of `out`.
pub(crate) fn format(
    format: Format,
    result: &RunResult,
    out: &mut dyn Write,
    style: Style,
) -> io::Result<()> {
    match format {
        Format::Text => text::write(result, out, style),
        Format::Json => json::write(result, out),
        Format::Html => html::write(result, out),
        Format::Md => markdown::write(result, out),
        Format::Csv => csv::write(result, out),
        Format::Hgrm => hgrm::write(result, Clock::HEADLINE, out),
        Format::Hlog => hlog::write(result, out),
        Format::Junit => junit::write(result, out),
        Format::Github => markdown::write_summary(result, out),
        Format::None => Ok(()),
    }
}

fn format_repeats(
    format: Format,
    all: &Repeats,
    out: &mut dyn Write,
    style: Style,
) -> io::Result<()> {
    match format {
        Format::Text => repeats::write_text(all, out, style),
        Format::Json => repeats::write_json(all, out),
        Format::Md | Format::Github => repeats::write_markdown(all, out),
        Format::Csv => repeats::write_csv(all, out),
        Format::None => Ok(()),
        Format::Html | Format::Hgrm | Format::Hlog | Format::Junit => {
            Err(io::Error::other("this report shows one run: put {repeat} into its path"))
        }
    }
}

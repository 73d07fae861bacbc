//! Reports as text: the head that is printed before a run, and what comes after it.

use std::io::{self, Write};

use plimsoll_core::RunResult;
use plimsoll_core::details::RATE_WINDOW_NS;
use plimsoll_core::secret::Masks;

use super::figures::Figures;
use super::hdr::Hdr;
use super::values::Values;
use super::{Command, Flavour, json};
use crate::units::{column, format_binary, format_metric, format_seconds, format_us};

const RULE: &str = "----------------------------------------------------------";

const UNCORRECTED: &str =
    "Uncorrected Latency (measured without taking delayed starts into account)";

/// Writes what is printed before the run. Nothing for JSON.
///
/// # Errors
/// As writing to `out` fails.
pub fn write_head(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    if command.json {
        return Ok(());
    }
    let duration = format_seconds((command.duration_ns / 1_000_000_000) as f64);
    writeln!(out, "Running {duration} test @ {}", Masks::default().url(&command.url))?;
    writeln!(out, "  {} threads and {} connections", command.threads, command.connections)
}

/// Writes the report of a whole run.
///
/// # Errors
/// As writing to `out` fails.
pub fn write_report(command: &Command, result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let figures = Figures::of(command, result);
    if let Some(mean_us) = figures.calibration_us {
        write_calibration(command, mean_us, out)?;
    }
    write(command, &figures, out)
}

/// A line for each thread, as wrk2 prints them after ten seconds.
pub(super) fn write_calibration(
    command: &Command,
    mean_us: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    if command.json {
        return Ok(());
    }
    for _ in 0..command.threads {
        writeln!(
            out,
            "  Thread calibration: mean lat.: {:.3}ms, rate sampling interval: {}ms",
            mean_us as f64 / 1000.0,
            RATE_WINDOW_NS / 1_000_000,
        )?;
    }
    Ok(())
}

/// A report in the form the command asks for.
pub(super) fn write(command: &Command, figures: &Figures, out: &mut dyn Write) -> io::Result<()> {
    if command.json {
        return json::write(command, figures, out);
    }
    writeln!(out, "  Thread Stats{:>6}{:>11}{:>8}{:>12}", "Avg", "Stdev", "Max", "+/- Stdev")?;
    match command.flavour {
        Flavour::Wrk => write_wrk(command, figures, out)?,
        Flavour::Wrk2 => write_wrk2(command, figures, out)?,
    }
    write_tail(figures, out)
}

/// The mean, the standard deviation, the maximum, and per cent of values around the mean.
struct Row {
    mean: f64,
    stdev: f64,
    max: f64,
    within: f64,
}

impl Row {
    fn of(values: &Values) -> Self {
        Self {
            mean: values.mean(),
            stdev: values.stdev(),
            max: values.max() as f64,
            within: values.within_stdev(),
        }
    }

    fn of_hdr(hdr: &Hdr, max: u64) -> Self {
        Self { mean: hdr.mean(), stdev: hdr.stdev(), max: max as f64, within: hdr.within_stdev() }
    }

    fn write(&self, name: &str, format: fn(f64) -> String, out: &mut dyn Write) -> io::Result<()> {
        let within = if self.within.is_nan() {
            crate::units::NAN.to_owned()
        } else {
            format!("{:.2}", self.within)
        };
        writeln!(
            out,
            "    {name:<10}{}{}{}{within:>8}%",
            column(&format(self.mean), 8),
            column(&format(self.stdev), 10),
            column(&format(self.max), 9),
        )
    }
}

fn write_wrk(command: &Command, figures: &Figures, out: &mut dyn Write) -> io::Result<()> {
    Row::of(&figures.latency).write("Latency", format_us, out)?;
    Row::of(&figures.rates).write("Req/Sec", format_metric, out)?;
    if !command.latency {
        return Ok(());
    }
    writeln!(out, "  Latency Distribution")?;
    for percent in [50, 75, 90, 99] {
        let value = format_us(figures.latency.percentile(percent) as f64);
        writeln!(out, "{percent:>7}%{}", column(&value, 10))?;
    }
    Ok(())
}

fn write_wrk2(command: &Command, figures: &Figures, out: &mut dyn Write) -> io::Result<()> {
    let latency = Hdr::new(command.digits, &figures.latency);
    let rates = Hdr::new(command.digits, &figures.rates);
    Row::of_hdr(&latency, latency.max()).write("Latency", format_us, out)?;
    Row::of_hdr(&rates, figures.rates.max()).write("Req/Sec", format_metric, out)?;
    if command.latency {
        write_distribution(&latency, "Recorded Latency", out)?;
    }
    if command.uncorrected {
        writeln!(out)?;
        write_distribution(&Hdr::new(command.digits, &figures.uncorrected), UNCORRECTED, out)?;
    }
    Ok(())
}

fn write_distribution(hdr: &Hdr, name: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  Latency Distribution (HdrHistogram - {name})")?;
    for percent in [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0] {
        let value = format_us(hdr.percentile(percent) as f64);
        writeln!(out, "{percent:>7.3}%{}", column(&value, 10))?;
    }
    writeln!(out, "\n  Detailed Percentile spectrum:")?;
    hdr.write_spectrum(out)?;
    writeln!(out, "{RULE}")
}

fn write_tail(figures: &Figures, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "  {} requests in {}, {}B read",
        figures.completed,
        format_us(figures.runtime_us as f64),
        format_binary(figures.received_bytes as f64),
    )?;
    let errors = figures.errors;
    if errors.any() {
        writeln!(
            out,
            "  Socket errors: connect {}, read {}, write {}, timeout {}",
            errors.connect, errors.read, errors.write, errors.timeout,
        )?;
    }
    if figures.failed > 0 {
        writeln!(out, "  Non-2xx or 3xx responses: {}", figures.failed)?;
    }
    writeln!(out, "Requests/sec: {:>9.2}", figures.requests_per_second())?;
    writeln!(out, "Transfer/sec: {:>10}B", format_binary(figures.bytes_per_second()))
}

//! `plimsoll demo`: a tour of a quarter of a minute. It loads a server that stops answering for
//! 300 ms at a fixed rate, and shows what a closed loop would have reported about the same server.

use std::process::ExitCode;

use plimsoll_core::plan::{Draft, Endpoint};
use plimsoll_core::schedule::{Arrival, Profile};
use plimsoll_core::units::format_ns;
use plimsoll_core::{Plan, RunResult};
use plimsoll_report::html;
use plimsoll_report::text::wrap;
use plimsoll_runner::Beside;
use plimsoll_server::{Faults, Role, ServeOptions, ServerOptions, Stall, start};

use crate::args::DemoFlags;
use crate::demo_story::{Asked, story};
use crate::exit::{self, Exit};
use crate::output_args::{Format, OutputFlags};
use crate::outputs::{Outputs, format, is_stdout};
use crate::run::{Loaded, Shown, load};
use crate::terminal::columns;

const STALL_NS: u64 = 300_000_000;
const STALL_AT_NS: u64 = 5_000_000_000;
const DURATION_NS: u64 = 10_000_000_000;
const CLOSED_DURATION_NS: u64 = 2_000_000_000;
const RATE_UHZ: u64 = 1_000_000_000;
const CONNECTIONS: u32 = 10;

/// Runs the tour.
///
/// # Errors
/// When the server or the load could not be started, or a report could not be written.
pub(crate) fn demo(flags: &DemoFlags) -> Result<ExitCode, Exit> {
    if is_stdout(&flags.html) {
        let text = "the report and --html would both go to stdout: give a file";
        return Err(Exit::Usage(text.to_owned()));
    }
    let output = OutputFlags {
        format: Some(Format::Text),
        html: Some(flags.html.clone()),
        no_color: flags.no_color,
        ..OutputFlags::default()
    };
    let mut outputs = Outputs::open(&output)?;
    let rate = Profile::constant(RATE_UHZ, Some(DURATION_NS), Arrival::Uniform);
    let open = stalled(STALL_AT_NS, DURATION_NS, Some(rate), &mut outputs)?;
    if let Some(code) = open.caught.code() {
        outputs.write(&open.ran.result)?;
        return Ok(code);
    }
    // The same stall in a closed loop, in a shorter run: it costs each connection one request.
    let mut nowhere = Outputs::open(&OutputFlags { quiet: true, ..OutputFlags::default() })?;
    let at_ns = CLOSED_DURATION_NS / 2;
    let closed = stalled(at_ns, CLOSED_DURATION_NS, None, &mut nowhere)?;
    let asked = Asked {
        rate_uhz: RATE_UHZ,
        duration_ns: DURATION_NS,
        connections: CONNECTIONS,
        stall_at_ns: STALL_AT_NS,
        stall_ns: STALL_NS,
    };
    let story = story(&asked, &open.ran.result, &closed.ran.result);
    outputs.write_with(|kind, out, style| match kind {
        Format::Html => html::write_told(&open.ran.result, &story, out),
        other => format(other, &open.ran.result, out, style),
    })?;
    lesson(&open.ran.result, &closed.ran.result, flags)?;
    Ok(closed.caught.code().unwrap_or(ExitCode::SUCCESS))
}

/// Loads a server of its own that stalls once.
fn stalled(
    stall_at_ns: u64,
    duration_ns: u64,
    rate: Option<Profile>,
    outputs: &mut Outputs,
) -> Result<Loaded, Exit> {
    let faults = Faults { stall: Some(Stall::once(STALL_NS, stall_at_ns)), ..Faults::default() };
    let server = ServerOptions { faults, ..ServerOptions::default() };
    let options = ServeOptions { server, ..ServeOptions::default() };
    let running = start(options).map_err(|error| Exit::CouldNotRun(error.to_string()))?;
    let port = running
        .addresses()
        .iter()
        .find(|(role, _)| *role == Role::All)
        .map_or(0, |(_, address)| address.port());
    let shown = Shown { live: true, wait: true, title: "" };
    let loaded = load(&plan(port, duration_ns, rate).into(), Beside::default(), outputs, shown);
    drop(running.stop());
    loaded
}

fn plan(port: u16, duration_ns: u64, rate: Option<Profile>) -> Plan {
    let draft = Draft {
        connections: CONNECTIONS,
        workers: 1,
        duration_ns: Some(duration_ns),
        rate,
        ..Draft::new(Endpoint::http("127.0.0.1", port, "/"))
    };
    draft.check().expect("the demo is a plan")
}

fn lesson(open: &RunResult, closed: &RunResult, flags: &DemoFlags) -> Result<(), Exit> {
    let p99 = |result: &RunResult, response: bool| {
        let latency = &result.latency;
        let clock = if response { &latency.response } else { &latency.service };
        clock.quantile_ns(0.99).map_or_else(|| "nothing".to_owned(), format_ns)
    };
    let sentences = [
        format!(
            "The server stood still for {}. Users who came at {}/s meanwhile had to wait: p99 {}.",
            format_ns(STALL_NS),
            RATE_UHZ / 1_000_000,
            p99(open, true)
        ),
        format!(
            "A closed-loop tester stands still with it and hardly notices: p99 {} from the same \
             server.",
            p99(closed, false)
        ),
        format!("The whole story: {}", flags.html.display()),
    ];
    let width = columns(true);
    let lines = sentences.iter().flat_map(|sentence| wrap("", "", sentence, width));
    let text: String = lines.fold("\n".to_owned(), |text, line| text + &line + "\n");
    exit::write(text.as_bytes())
}

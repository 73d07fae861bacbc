//! Tries a server before the first load: whether it becomes ready, answers as it should, and
//! answers one request of each of Plimsoll's own loads. So a server that cannot work is found
//! before anything is measured, instead of in the middle of a study.
//!
//! Absent on purpose: trying the loads of other testers, because only they know what their command
//! lines mean.

use plimsoll_core::result::RunResult;
use plimsoll_core::units::format_ns;
use plimsoll_io::clock;

use crate::cast::{Cast, Failure, Setting, place};
use crate::loading::{self, CallContext};
use crate::process::tie_to;
use crate::programs::Ports;
use crate::serving::answered;
use crate::suite::{Load, Server};

/// How often a load's request is sent until it is answered as expected: servers that fail now and
/// then are measured too.
const TRIES: usize = 3;

/// Starts a server, has it asked, and stops it. Gives what came of it, in words.
///
/// # Errors
/// What is wrong with it, or with a load.
pub(crate) fn check<'a>(
    server: &'a Server,
    loads: &[&Load],
    setting: &Setting<'a>,
    ports: &mut Ports,
) -> Result<String, Failure> {
    let began_ns = clock::now_ns();
    let Cast { serving, services, url, names } = Cast::start(server, setting, ports)?;
    let ready_ns = clock::now_ns().saturating_sub(began_ns);
    let place = place(&names, &url, setting);
    let mut asked = Vec::new();
    for load in loads {
        let is_asked = ask(load, &place, setting).map_err(|reason| Failure {
            reason: format!("load '{}': {reason}", load.name),
            log: Some(serving.last_lines()),
        })?;
        asked.extend(is_asked.then_some(load.name.as_str()));
    }
    let stopped = serving.stop();
    let mut words = format!("ready after {}, answers", format_ns(ready_ns));
    if !asked.is_empty() {
        words += &format!(", also to one request of {}", asked.join(", "));
    }
    for killed in stopped.err().into_iter().chain(services.stop()) {
        words += &format!("; {killed} (see stop and stop_timeout)");
    }
    Ok(words)
}

/// Whether a load can be called, and one of its requests is answered as it expects. `false`: it is
/// another tester's.
fn ask(load: &Load, place: &CallContext<'_>, setting: &Setting<'_>) -> Result<bool, String> {
    loading::line(load, 0, place)?;
    let cpus = load.cpus.as_ref();
    let numbers = cpus.map_or(&[][..], |cpus| cpus.numbers());
    let tied = std::thread::scope(|scope| scope.spawn(|| tie_to(numbers)).join());
    tied.map_err(|_| "a thread panicked")?.map_err(|error| error.to_string())?;
    if let Some(line) = loading::reading_only(load, place)? {
        loading::accepted(&line, place.scratch, setting.stopped).map_err(with_hint)?;
    }
    let mut wrong = String::new();
    for _ in 0..TRIES {
        let Some(line) = loading::one_request(load, place)? else { return Ok(false) };
        let called = loading::call(&line, place.scratch, cpus, load.limit_ns, setting.stopped)?;
        let reading = called.reading.map_err(with_hint)?;
        match judged(reading.result.as_deref()) {
            Ok(()) => return Ok(true),
            Err(why) => wrong = why,
        }
    }
    Err(format!("a wrong answer to its request: {wrong}; say `expect` in the load if it is meant"))
}

fn judged(result: Option<&RunResult>) -> Result<(), String> {
    result.map_or_else(|| Err("there is no result".to_owned()), answered)
}

/// A file that is not there is most often one beside the suite.
fn with_hint(error: String) -> String {
    match error.contains("No such file") {
        true => format!(
            "{error}: paths in a load start from the run's own folder, {{suite}}/ is the suite's"
        ),
        false => error,
    }
}

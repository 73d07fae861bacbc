//! Runs that clients start, look at and stop over REST.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use plimsoll_dialect::fortio::rest::{
    Arguments, Found, RestError, RestRun, RunAnswer, RunOptions, RunStatus, Statuses,
};
use plimsoll_dialect::fortio::{self, Command};
use plimsoll_io::host::resolve;
use plimsoll_runner::Handle;
use plimsoll_server::{Asked, Response};
use serde::Serialize;

use super::super::load::measure;
use super::super::{Refused, now};
use super::data;
use super::site::Shared;
use crate::message::without_error_numbers;

/// Runs at a time: more would measure each other even worse.
const RUNS_MAX: usize = 16;
/// How long to wait for a run that was told to stop.
const STOP_LIMIT: Duration = Duration::from_secs(60);

const PENDING: u8 = 1;
const RUNNING: u8 = 2;
const STOPPING: u8 = 3;

/// The runs that go on.
#[derive(Clone, Default)]
pub(super) struct Runs {
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    last_id: i64,
    open: BTreeMap<i64, Run>,
}

struct Run {
    state: u8,
    id: String,
    options: Option<RunOptions>,
    handle: Option<Handle>,
}

impl Runs {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a run. It is answered at once, or when it is over.
    pub(super) fn run(&self, arguments: &Arguments, asked: &Asked, site: &Shared) -> Response {
        let run_id = {
            let mut state = self.lock();
            if state.open.len() >= RUNS_MAX {
                let why = format!("{RUNS_MAX} runs go on already");
                return json(503, &RestError::new("too many runs", Some(&why)));
            }
            state.last_id += 1;
            state.last_id
        };
        let RestRun { mut command, is_async, saves } = match RestRun::read(arguments, run_id) {
            Ok(run) => run,
            Err(error) => return json(400, &error),
        };
        if command.call.is_none() {
            let peer = (("X-On-Behalf-Of").to_owned(), Some(asked.peer.to_string()));
            command.headers.push(peer);
        }
        command.resolve = command.resolve.trim().to_owned();
        let id = fortio::id(now(), run_id, command.labels.as_deref().unwrap_or_default());
        let run = Run { state: PENDING, id: id.clone(), options: None, handle: None };
        self.lock().open.insert(run_id, run);
        let folder = saves.then(|| site.folder().to_owned());
        let runs = self.clone();
        // Without an end, nobody would hear of a run whose client has left.
        let is_endless = command.exactly == 0 && command.duration_ns == 0;
        let client = asked.client.clone();
        let waits = move || is_async || !is_endless || !client.has_left();
        let carry_out = move || runs.carry_out(&command, &id, folder.as_deref(), waits);
        if !is_async {
            return carry_out();
        }
        let answer = self.answer("started", run_id, &[run_id], &site.data_url(asked));
        thread::spawn(carry_out);
        json(200, &answer)
    }

    fn carry_out(
        &self,
        command: &Command,
        id: &str,
        folder: Option<&Path>,
        waits: impl Fn() -> bool,
    ) -> Response {
        let run_id = command.run_id;
        let started = |handle: Handle| {
            let mut state = self.lock();
            let Some(run) = state.open.get_mut(&run_id) else { return };
            if run.state == STOPPING {
                handle.stop();
            } else {
                run.state = RUNNING;
            }
            run.options = Some(RunOptions::of(command, id));
            run.handle = Some(handle);
        };
        let response = match measure(command, started, waits) {
            Ok(mut result) => {
                id.clone_into(&mut result.id);
                saved(&result, folder)
            }
            Err(Refused(why)) => {
                let why = without_error_numbers(&why);
                let message = "Aborting because of error";
                json(400, &RestError::new(message, Some(&why)))
            }
        };
        self.lock().open.remove(&run_id);
        self.state.1.notify_all();
        response
    }

    fn answer(&self, message: &'static str, run_id: i64, ids: &[i64], url: &str) -> RunAnswer {
        let state = self.lock();
        let only = match ids {
            [id] => state.open.get(id).map(|run| run.id.clone()),
            _ => None,
        };
        let result_id = only.unwrap_or_default();
        let result_url = match result_id.as_str() {
            "" => String::new(),
            id => format!("{url}{id}.json"),
        };
        RunAnswer { message, run_id, count: ids.len(), result_id, result_url }
    }

    /// What goes on.
    pub(super) fn status(&self, arguments: &Arguments) -> Response {
        let wanted: i64 = arguments.text("runid").parse().unwrap_or(0);
        let state = self.lock();
        let runs = state.open.iter().filter(|(id, _)| wanted == 0 || **id == wanted);
        let status = |(id, run): (&i64, &Run)| {
            let options = run.options.clone();
            let status = RunStatus { run_id: *id, state: run.state, runner_options: options };
            (id.to_string(), status)
        };
        let found: BTreeMap<_, _> = runs.map(status).collect();
        let is_there = wanted == 0 || !found.is_empty();
        json(200, &Statuses { statuses: is_there.then_some(found) })
    }

    /// Stops one run, or all of them.
    pub(super) fn stop(&self, arguments: &Arguments, data_url: &str) -> Response {
        let wanted: i64 = arguments.text("runid").parse().unwrap_or(0);
        let ids: Vec<i64> = {
            let mut state = self.lock();
            let runs = state.open.iter_mut().filter(|(id, _)| wanted == 0 || **id == wanted);
            let stop = |(id, run): (&i64, &mut Run)| {
                run.state = STOPPING;
                if let Some(handle) = &run.handle {
                    handle.stop();
                }
                *id
            };
            runs.map(stop).collect()
        };
        let mut answer = self.answer("stopping", wanted, &ids, data_url);
        if arguments.text("wait") == "true" && !ids.is_empty() {
            let goes_on = |state: &mut State| ids.iter().any(|id| state.open.contains_key(id));
            let waited = self.state.1.wait_timeout_while(self.lock(), STOP_LIMIT, goes_on);
            if waited.is_ok_and(|(_, limit)| !limit.timed_out()) {
                answer.message = "stopped";
            }
        }
        json(200, &answer)
    }

    /// The page of `/debug/metrics`.
    pub(super) fn metrics(&self) -> String {
        let state = self.lock();
        let files = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        let one = |name: &str, help: &str, kind: &str, value: usize| {
            format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n")
        };
        let running = state.open.values().filter(|run| run.state != PENDING).count();
        let total = usize::try_from(state.last_id).unwrap_or(0);
        one("fortio_num_fd", "Number of open file descriptors", "gauge", files)
            + &one("fortio_running", "Number of currently running load tests", "gauge", running)
            + &one("fortio_runs_total", "Number of runs so far", "counter", total)
    }
}

/// A result as an answer; it goes to the folder first, if there is one.
fn saved(result: &fortio::result::FortioResult, folder: Option<&Path>) -> Response {
    let failed = |what: &str, why: &str| json(500, &RestError::new(what, Some(why)));
    if let Some(folder) = folder {
        let document = match fortio::json::file(result) {
            Ok(document) => document,
            Err(error) => return failed("cannot write the result", &error.to_string()),
        };
        if let Err(error) = data::write(folder, &format!("{}.json", result.id), &document) {
            return failed("cannot save the result", &error.to_string());
        }
    }
    match fortio::json::response(result) {
        Ok(body) => of_json(200, body),
        Err(error) => failed("cannot write the result", &error.to_string()),
    }
}

/// The addresses of a name.
pub(super) fn dns(arguments: &Arguments) -> Response {
    let name = arguments.text("name");
    let failed = |why: &str| json(400, &RestError::new("dns failed", Some(why)));
    if name.is_empty() {
        return failed("can't resolve empty host");
    }
    let addresses = match resolve(name, 0) {
        Ok(addresses) => addresses,
        Err(error) => return failed(&without_error_numbers(&error.to_string())),
    };
    let of = |is_v4: bool| {
        let those = addresses.iter().filter(|it| it.is_ipv4() == is_v4);
        those.map(|it| it.ip().to_string()).collect()
    };
    json(200, &Found { name: name.to_owned(), ipv4: of(true), ipv6: of(false) })
}

/// A small document on one line.
pub(super) fn json(status: u16, document: &impl Serialize) -> Response {
    of_json(status, serde_json::to_vec(document).unwrap_or_default())
}

fn of_json(status: u16, body: Vec<u8>) -> Response {
    let fields = vec![("Content-Type", "application/json".to_owned())];
    Response { status, fields, body }
}

//! Scripts: prepares one for each worker, and passes the result to their `done`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use plimsoll_core::plan::Endpoint;
use plimsoll_core::secret::Secret;
use plimsoll_core::{Plan, RunResult};
use plimsoll_dialect::wrk::{SocketErrors, errors};
use plimsoll_engine::RunError;
use plimsoll_io::clock;
use plimsoll_io::host::{reachable, resolve};
use plimsoll_script::lua::{Api, Interrupter, Main, ScriptStart, Summary, System, Thread};

/// How long `wrk.connect` waits.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// A script in all its states.
pub(crate) struct Scripts {
    main: Main,
    loading: Loading,
    /// One for each worker, until the engine has them.
    pub threads: Vec<Thread>,
}

/// The beginning of a script and its end, which may have to be cut short: they can loop for ever
/// like any other part. While the load runs, the engine sees to that.
#[derive(Clone, Default)]
pub(crate) struct Loading {
    interrupter: Interrupter,
    is_over: Arc<AtomicBool>,
}

impl Loading {
    /// Ends it, if it still goes on.
    pub(crate) fn stop(&self) {
        if !self.is_over.load(Ordering::SeqCst) {
            self.interrupter.interrupt();
        }
    }
}

/// What scripts see of the system.
struct Host;

impl System for Host {
    fn lookup(&self, host: &str, service: &str) -> Result<Vec<SocketAddr>, String> {
        let port = match service {
            "http" => 80,
            "https" => 443,
            other => other
                .parse()
                .map_err(|_| format!("unknown service '{other}': give http, https or a port"))?,
        };
        resolve(host, port).map_err(|error| error.to_string())
    }

    fn connect(&self, address: SocketAddr) -> bool {
        std::net::TcpStream::connect_timeout(&address, CONNECT_LIMIT).is_ok()
    }

    fn time_us(&self) -> u64 {
        let since = clock::wall_time().duration_since(UNIX_EPOCH).unwrap_or_default();
        since.as_micros() as u64
    }
}

impl Scripts {
    /// Runs the beginning of the plan's script: its text, `setup` and `init`, each as often as
    /// there are threads. The script sees `url` in place of the plan's. `loading` ends it from
    /// another thread.
    ///
    /// # Errors
    /// A name without an address, and what goes wrong in the script: file, line and message.
    pub(crate) fn load(
        plan: &Plan,
        url: Option<&str>,
        loading: &Loading,
    ) -> Result<Option<Self>, RunError> {
        let Some(script) = &plan.script else {
            return Ok(None);
        };
        let endpoint = &plan.endpoint;
        let url = url.map_or_else(|| endpoint.url(), str::to_owned);
        let addresses = reached(endpoint).map_err(RunError::Resolve)?;
        let load = ScriptStart {
            api: if plan.is_open_loop() { Api::Wrk2 } else { Api::Wrk },
            path: &script.path,
            text: script.text.reveal(),
            scheme: &endpoint.scheme,
            host: &endpoint.host,
            port: port_in(&url),
            target: endpoint.path.reveal(),
            headers: fields(&plan.request.headers),
            arguments: script.arguments.iter().map(|it| it.reveal().clone()).collect(),
            url: &url,
            threads: plan.workers,
            addresses,
            system: Arc::new(Host),
            interrupter: loading.interrupter.clone(),
        };
        let (mut main, threads) = plimsoll_script::lua::load(&load)?;
        main.flush();
        loading.is_over.store(true, Ordering::SeqCst);
        Ok(Some(Self { main, loading: loading.clone(), threads }))
    }

    /// Writes out what the script has printed while it ran, before anything else is.
    pub(crate) fn flush(&mut self) {
        self.main.flush();
    }

    /// Calls the script's `done`, if it has one.
    ///
    /// # Errors
    /// What goes wrong in it.
    pub(crate) fn done(&mut self, result: &RunResult) -> Result<(), RunError> {
        if !self.main.has_done() {
            return Ok(());
        }
        // In a closed loop it is the server's time that wrk shows; at a rate, users' time.
        let latency = if result.plan.is_open_loop() {
            &result.latency.response
        } else {
            &result.latency.service
        };
        let rates = &result.details.worker_rates;
        // It may loop for ever too.
        self.loading.is_over.store(false, Ordering::SeqCst);
        let done = self.main.done(&mut self.threads, &summary(result), latency, rates);
        self.main.flush();
        Ok(done?)
    }
}

/// The server's addresses that take connections; all of them if none does, which the run will say.
fn reached(endpoint: &Endpoint) -> std::io::Result<Vec<SocketAddr>> {
    let all = resolve(&endpoint.host, endpoint.port)?;
    if all.len() < 2 {
        return Ok(all);
    }
    let answers = reachable(&all, CONNECT_LIMIT.as_nanos() as u64);
    let taken = all.iter().zip(answers).filter(|(_, answer)| answer.is_ok());
    let taken: Vec<SocketAddr> = taken.map(|(address, _)| *address).collect();
    Ok(if taken.is_empty() { all } else { taken })
}

/// Fields that are sent: one without a value takes a default one of ours away, and a script has no
/// defaults but its own.
fn fields(headers: &[(String, Secret)]) -> Vec<(String, String)> {
    let given = headers.iter().filter(|(_, value)| !value.is_empty());
    given.map(|(name, value)| (name.clone(), value.reveal().clone())).collect()
}

/// The port, if the URL writes one.
fn port_in(url: &str) -> Option<u16> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    authority.rsplit_once(':')?.1.parse().ok()
}

fn summary(result: &RunResult) -> Summary {
    let SocketErrors { connect, read, write, timeout } = errors(result);
    Summary {
        duration_us: result.rate.answered_ns.max(result.rate.window_ns) / 1000,
        requests: result.ledger.completed,
        bytes: result.bytes.received,
        connect,
        read,
        write,
        status: result.ledger.failed,
        timeout,
    }
}

//! The plan of a command.

use plimsoll_core::Plan;
use plimsoll_core::details::DetailsPlan;
use plimsoll_core::plan::{Draft, Endpoint, Field, PlanErrors, Script};
use plimsoll_core::schedule::{Arrival, Profile};
use plimsoll_core::secret::Secret;

use super::Command;

/// The longest drain. The originals end at once; waiting a little settles what was still open.
const DRAIN_NS: u64 = 2_000_000_000;

/// What the engine adds to a request and wrk does not send.
const NOT_SENT: [&str; 2] = ["User-Agent", "Accept"];

/// What wrk and wrk2 call the fields of a plan.
pub const FLAGS: [(Field, &str); 9] = [
    (Field::Url, "the URL"),
    (Field::Connections, "-c"),
    (Field::Threads, "-t"),
    (Field::Duration, "-d"),
    (Field::Rate, "-R"),
    (Field::Timeout, "--timeout"),
    (Field::Header, "-H"),
    (Field::Script, "-s"),
    (Field::ScriptArguments, "what follows the URL"),
];

impl Command {
    /// What to do, with `endpoint` for its URL and the text of the script, if it has one.
    ///
    /// # Errors
    /// What of it cannot be carried out.
    pub fn plan(&self, endpoint: Endpoint, script: Option<String>) -> Result<Plan, PlanErrors> {
        let mut plan = Draft::new(endpoint);
        plan.connections = self.connections_opened();
        plan.workers = self.threads;
        plan.duration_ns = Some(self.duration_ns);
        plan.timeout_ns = self.timeout_ns;
        plan.drain_ns = DRAIN_NS.min(self.timeout_ns);
        plan.rate = self.rate_hz.map(|rate_hz| {
            Profile::constant((rate_hz * 1e6) as u64, Some(self.duration_ns), Arrival::Uniform)
        });
        plan.templates = false;
        plan.transport.first_address_only = true;
        plan.transport.outlives_close = true;
        plan.tls.insecure = true;
        plan.tls.alpn = Vec::new();
        plan.driver = self.driver;
        plan.spin = self.spin;
        plan.details = DetailsPlan { worker_rates: true, ..DetailsPlan::default() };
        plan.script = self.script.as_ref().zip(script).map(|(path, text)| Script {
            path: path.clone(),
            text: text.into(),
            arguments: self.arguments(),
        });
        for name in NOT_SENT {
            if !self.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
                plan.request.headers.push((name.to_owned(), "".into()));
            }
        }
        let given = self.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
        plan.request.headers.extend(given);
        plan.check()
    }

    fn arguments(&self) -> Vec<Secret> {
        self.arguments.iter().map(|argument| argument.as_str().into()).collect()
    }
}

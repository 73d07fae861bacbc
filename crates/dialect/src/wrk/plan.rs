//! The plan of a command.

use plimsoll_core::Plan;
use plimsoll_core::details::DetailsPlan;
use plimsoll_core::plan::{Endpoint, Script};
use plimsoll_core::schedule::{Arrival, Profile};
use plimsoll_core::secret::Secret;

use super::Command;

/// The longest drain. The originals end at once; waiting a little settles what was still open.
const DRAIN_NS: u64 = 2_000_000_000;

/// What the engine adds to a request and wrk does not send.
const NOT_SENT: [&str; 2] = ["User-Agent", "Accept"];

impl Command {
    /// What to do, with `endpoint` for its URL.
    #[must_use]
    pub fn plan(&self, endpoint: Endpoint) -> Plan {
        let mut plan = Plan::new(endpoint);
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
        plan.tls.insecure = true;
        plan.tls.alpn = Vec::new();
        plan.driver = self.driver;
        plan.spin = self.spin;
        plan.details = DetailsPlan { worker_rates: true, ..DetailsPlan::default() };
        plan.script = self
            .script
            .as_ref()
            .map(|path| Script { path: path.clone(), arguments: self.arguments() });
        for name in NOT_SENT {
            if !self.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
                plan.request.headers.push((name.to_owned(), "".into()));
            }
        }
        let given = self.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
        plan.request.headers.extend(given);
        plan
    }

    fn arguments(&self) -> Vec<Secret> {
        self.arguments.iter().map(|argument| argument.as_str().into()).collect()
    }
}

//! Opens one connection of a plan and closes it again, to see whether its server is there.
//!
//! A port that takes connections does not make a server: in front of it may be a proxy, or TLS that
//! is not set up yet. So the connection goes the plan's own way, with its name, source address,
//! tunnel and handshake. It carries no request, which might change something on the server.

use std::sync::Arc;

use plimsoll_conn::{Echo, Http1, Http2, OTHER_PROTOCOL, WebSocket};
use plimsoll_core::Plan;
use plimsoll_core::plan::{Draft, Spin};
use plimsoll_io::Route;

use super::{Terms, unreachable};
use crate::control::Control;
use crate::crew::Ready;
use crate::error::RunError;
use crate::lookup::Lookup;
use crate::spoken::{Spoken, Version};
use crate::worker::Member;

/// Opens a connection as the plan's are opened, in `timeout_ns` at most, and closes it.
///
/// # Errors
/// [`RunError::Resolve`] and [`RunError::Unreachable`] if it could not be opened, and whatever
/// keeps the plan from being carried out.
pub fn probe(plan: &Plan, timeout_ns: u64, control: &Control) -> Result<(), RunError> {
    let plan = of_one_connection(plan, timeout_ns);
    let mut lookup = Lookup::of(&plan);
    let mut addresses = lookup.addresses()?;
    let takes_first = plan.transport.first_address_only;
    lookup.leave_out_dead(&mut addresses, takes_first)?;
    if takes_first {
        addresses.truncate(1);
    }
    let routes = lookup.routes(&addresses)?;
    let ready = match agreed(&plan, &lookup, &routes, control)? {
        Version::Http1 => opened::<Http1>(plan, &routes, control)?,
        Version::Http2 => opened::<Http2>(plan, &routes, control)?,
        Version::WebSocket => opened::<WebSocket>(plan, &routes, control)?,
        Version::Echo => opened::<Echo>(plan, &routes, control)?,
    };
    if ready.open == 0 { Err(unreachable(&lookup, ready.error)) } else { Ok(()) }
}

/// What the plan's connections speak. Where TLS has to agree on it, a connection is opened first.
pub(super) fn agreed(
    plan: &Plan,
    lookup: &Lookup,
    routes: &[Route],
    control: &Control,
) -> Result<Version, RunError> {
    if let Some(version) = Version::asked_for(plan) {
        return Ok(version);
    }
    let one = of_one_connection(plan, plan.timeout_ns);
    let ready = opened::<Http2>(one, routes, control)?;
    match ready.error {
        _ if ready.open > 0 => Ok(Version::Http2),
        Some(error) if error.kind == OTHER_PROTOCOL => Ok(Version::Http1),
        error => Err(unreachable(lookup, error)),
    }
}

/// Opens a connection that speaks `P`, and closes it.
fn opened<P: Spoken>(plan: Plan, routes: &[Route], control: &Control) -> Result<Ready, RunError> {
    let terms = Terms {
        plan: Arc::new(plan),
        routes: routes.into(),
        addresses_change: false,
        spin: Spin::Off,
        member: Member::ALONE,
    };
    // It leaves nothing behind in what steers the run.
    let control = control.of_probe();
    let (mut crew, hired) = terms.hire::<P>(Vec::new(), &control)?;
    let ready = hired.and_then(|()| crew.await_ready(&control));
    crew.dismiss()?;
    ready
}

/// A plan that opens connections as the given one does, and has a single one.
fn of_one_connection(plan: &Plan, timeout_ns: u64) -> Plan {
    let usual = Draft::new(plan.endpoint.clone());
    // A WebSocket's connections are opened with what the messages have beside them, and a plan for
    // an echo says what is to come back.
    let is_own = plan.endpoint.is_websocket() || plan.endpoint.is_echo();
    let own = plan.requests().next().filter(|_| is_own);
    let draft = Draft {
        request: own.cloned().unwrap_or_else(|| usual.request.clone()),
        websocket: plan.websocket.clone(),
        transport: plan.transport.clone(),
        tls: plan.tls.clone(),
        http_version: plan.http_version,
        http2: plan.http2,
        connections: 1,
        workers: 1,
        timeout_ns: plan.timeout_ns.min(timeout_ns),
        driver: plan.driver,
        pin: plan.pin.clone(),
        templates: false,
        ..usual
    };
    draft.check().expect("it has less than a plan that was checked")
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use plimsoll_core::plan::{Endpoint, Transport};

    use super::*;
    use crate::tests::checked;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn a_connection_is_opened_whatever_the_plan_sends_on_it() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let plan = Draft::new(Endpoint::http("127.0.0.1", port, "/{{seq}}"));
        let own_each = Draft { requests_per_connection: Some(1), ..plan.clone() };
        for plan in [plan, own_each] {
            probe(&checked(&plan), SECOND_NS, &Control::default()).expect("it listens");
        }
    }

    #[test]
    fn a_server_that_is_not_there_is_told_with_the_reason() {
        let nowhere = Some("/no/such/socket".to_owned());
        let transport = Transport { unix_socket: nowhere, ..Transport::default() };
        let plan = Draft { transport, ..Draft::new(Endpoint::http("a.example", 80, "/")) };
        let error =
            probe(&checked(&plan), SECOND_NS, &Control::default()).expect_err("nobody listens");
        let text = error.to_string();
        assert!(matches!(error, RunError::Unreachable { .. }), "{text}");
        assert!(text.starts_with("no connection to /no/such/socket could be opened: "), "{text}");
    }
}

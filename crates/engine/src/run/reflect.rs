//! Asks a server for the schema of the calls that a plan makes, before the run.
//!
//! Each question is a call of its own, on one connection: the server ends it with its answer. The
//! connection goes the plan's own way, with its name, tunnel, handshake and metadata.

use plimsoll_conn::Http2;
use plimsoll_conn::grpc::{CODE_OF_UNIMPLEMENTED, framed};
use plimsoll_core::Plan;
use plimsoll_core::plan::{Body, Draft, GrpcPlan, HttpVersion, Request};
use plimsoll_grpc::reflection::{Discovery, ReflectionError, Step, Version};
use plimsoll_io::Route;

use super::check;
use super::inquiry::{AskError, Asker, line};
use crate::control::Control;
use crate::error::RunError;
use crate::lookup::Lookup;
use crate::setup::setup;

/// Questions about one schema at most: one for each file.
const QUESTIONS_MAX: usize = 5000;

/// The plan with the schema of its calls, checked with it; `None`: it had it.
///
/// # Errors
/// When the server can't be reached, has no reflection, or no such method; and what a [`check`]
/// finds now that the schema is known.
pub(super) fn learned(
    plan: &Plan,
    lookup: &Lookup,
    routes: &[Route],
    control: &Control,
) -> Result<Option<Plan>, RunError> {
    let Some(grpc) = plan.grpc.as_ref().filter(|grpc| grpc.asks_server()) else {
        return Ok(None);
    };
    let descriptors = descriptors(plan, grpc, routes, control).map_err(|error| match error {
        AskError::Run(error) => error,
        AskError::Unreachable(phase, reason) => {
            RunError::Unreachable { address: lookup.place(), phase, reason }
        }
        AskError::Told(reason) => RunError::Reflection { address: lookup.place(), reason },
    })?;
    let plan = plan.with_descriptors(descriptors);
    check(&plan)?;
    Ok(Some(plan))
}

impl From<ReflectionError> for AskError {
    fn from(error: ReflectionError) -> Self {
        Self::Told(error.to_string())
    }
}

fn descriptors(
    plan: &Plan,
    grpc: &GrpcPlan,
    routes: &[Route],
    control: &Control,
) -> Result<Vec<u8>, AskError> {
    for version in Version::ALL {
        let found = of_version(plan, grpc, version, routes, control)?;
        if let Some(descriptors) = found {
            return Ok(descriptors);
        }
    }
    Err(AskError::Told("it has no reflection service: give --proto FILE".to_owned()))
}

/// What a version of the service says; `None`: the server has not that one.
fn of_version(
    plan: &Plan,
    grpc: &GrpcPlan,
    version: Version,
    routes: &[Route],
    control: &Control,
) -> Result<Option<Vec<u8>>, AskError> {
    let mut discovery = Discovery::new(&grpc.method)?;
    let mut line = line::<Http2>(&question(plan, version, &discovery), routes)?;
    let route = routes.first().expect("a lookup finds an address or fails");
    let asker = Asker { setup: setup(plan)?, route, timeout_ns: plan.timeout_ns, control };
    for _ in 0..QUESTIONS_MAX {
        let answer = line.ask_plan(&asker, &question(plan, version, &discovery), routes)?;
        if answer.code() == CODE_OF_UNIMPLEMENTED {
            return Ok(None);
        }
        if discovery.response(answer.message().map_err(AskError::Told)?)? == Step::Whole {
            return Ok(Some(discovery.into_schema()?.descriptors()));
        }
    }
    Err(AskError::Told("it takes too many questions".to_owned()))
}

/// A run of the next question alone. All of them differ in their bodies only, so that the fields
/// that they share with the server's table are the same.
fn question(plan: &Plan, version: Version, discovery: &Discovery) -> Plan {
    let mut message = Vec::new();
    discovery.write_request(&mut message);
    let own = [("TE", "trailers"), ("Content-Type", "application/grpc"), ("Content-Length", "")];
    let own = own.map(|(name, value)| (name.to_owned(), value.into()));
    let is_own = |name: &str| own.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    let metadata = plan.request.headers.iter().filter(|(name, _)| !is_own(name)).cloned();
    let headers = own.iter().cloned().chain(metadata).collect();
    let mut endpoint = plan.endpoint.clone();
    endpoint.path = version.path().into();
    let body = Some(Body::new(framed(&message)));
    let draft = Draft {
        request: Request { method: "POST".to_owned(), headers, body, ..Request::get() },
        transport: plan.transport.clone(),
        tls: plan.tls.clone(),
        http_version: HttpVersion::Http2,
        connections: 1,
        workers: 1,
        templates: false,
        driver: plan.driver,
        ..Draft::new(endpoint)
    };
    draft.check().expect("it has less than a plan that was checked")
}

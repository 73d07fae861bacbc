//! The plan that unit tests vary. The worker itself is tested under `sim`, in `tests/sim`.

use plimsoll_core::Plan;
use plimsoll_core::plan::{Draft, Endpoint};

/// A plan that is one.
pub(crate) fn checked(draft: &Draft) -> Plan {
    draft.clone().check().unwrap_or_else(|errors| panic!("{errors}"))
}

/// A closed loop over 4 connections for a second.
pub(crate) fn plan() -> Draft {
    Draft {
        connections: 4,
        workers: 1,
        duration_ns: Some(1_000_000_000),
        ..Draft::new(Endpoint::http("127.0.0.1", 8080, "/"))
    }
}

//! The plan that unit tests vary. The worker itself is tested under `sim`, in `tests/sim`.

use plimsoll_core::plan::{DriverPlan, Endpoint, Request};

use super::*;

/// A plan to vary: a closed loop over 4 connections for a second.
pub(crate) fn plan() -> Plan {
    Plan {
        endpoint: Endpoint {
            scheme: "http".to_owned(),
            host: "127.0.0.1".to_owned(),
            port: 8080,
            path: "/".to_owned(),
        },
        request: Request {
            method: "GET".to_owned(),
            http_minor: 1,
            headers: Vec::new(),
            body: None,
        },
        connections: 4,
        workers: 1,
        duration_ns: Some(1_000_000_000),
        requests: None,
        rate: None,
        warmup_ns: 0,
        drain_ns: 10_000_000_000,
        timeout_ns: 30_000_000_000,
        requests_per_connection: None,
        pipeline: 1,
        driver: DriverPlan::Auto,
        spin: Spin::Auto,
        seed: 1,
    }
}

//! The answer to `status`: live figures in the words of `docs/control.md`.

use plimsoll_core::histogram::Packed;
use plimsoll_core::live::LiveFigures;
use plimsoll_core::series::Point;
use serde_json::{Value, json};

/// The answer to `status`.
pub(super) fn status(figures: &LiveFigures) -> Value {
    let ledger = &figures.ledger;
    json!({
        "phase": figures.part.name(),
        "elapsed_s": figures.elapsed_ns as f64 / 1e9,
        "target_rps": figures.target_rps,
        "connections": figures.connections,
        "opened": figures.opened,
        "ledger": {
            "sent": ledger.sent,
            "shed": ledger.shed,
            "completed": ledger.completed,
            "ok": ledger.ok,
            "failed": ledger.failed,
            "refused": ledger.refused,
            "timed_out": ledger.timed_out,
            "broken": ledger.broken,
        },
        "errors": figures.errors,
        "status": figures.status,
        "last_second": figures.last.as_ref().map(last_second),
    })
}

fn last_second(point: &Point) -> Value {
    json!({
        "t_s": point.t_ns as f64 / 1e9,
        "sent": point.sent,
        "completed": point.completed,
        "failed": point.failed,
        "refused": point.refused,
        "timed_out": point.timed_out,
        "broken": point.broken,
        "response": times(&point.response),
        "service": times(&point.service),
    })
}

fn times(packed: &Packed) -> Value {
    let histogram = packed.unpack();
    let quantile = |q| histogram.quantile_ns(q).map(|ns| ns as f64 / 1e3);
    json!({
        "count": histogram.count(),
        "p50_us": quantile(0.5),
        "p90_us": quantile(0.9),
        "p99_us": quantile(0.99),
        "p999_us": quantile(0.999),
        "max_us": histogram.max_ns().map(|ns| ns as f64 / 1e3),
    })
}

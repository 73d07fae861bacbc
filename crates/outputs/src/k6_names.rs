//! Figures of a run under the names that k6 gives its own, for dashboards that people have: as
//! `-o experimental-prometheus-rw` writes them, with six figures of each trend.
//!
//! `http_req_duration` is service time, as with k6. Response time, which k6 does not know, has its
//! own name.

use plimsoll_core::Histogram;

use crate::figures::{Figures, Totals};
use crate::metrics::{Family, Type, plain};

/// Figures of a trend. A metric has a name of its own for each.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

/// The metrics of service time, quantiles first, then the mean and the maximum.
const SERVICE: [&str; 7] = [
    "k6_http_req_duration_p50",
    "k6_http_req_duration_p90",
    "k6_http_req_duration_p95",
    "k6_http_req_duration_p99",
    "k6_http_req_duration_p999",
    "k6_http_req_duration_avg",
    "k6_http_req_duration_max",
];

/// The same of response time.
const RESPONSE: [&str; 7] = [
    "k6_http_req_response_p50",
    "k6_http_req_response_p90",
    "k6_http_req_response_p95",
    "k6_http_req_response_p99",
    "k6_http_req_response_p999",
    "k6_http_req_response_avg",
    "k6_http_req_response_max",
];

/// Everything that k6 has a name for.
pub(crate) fn families(figures: &Figures) -> Vec<Family<'_>> {
    let totals = &figures.totals;
    let ledger = &totals.ledger;
    let counter = |name, help, count: u64| family(Type::Counter, name, help, count as f64);
    let mut families = vec![
        counter("k6_http_reqs", "Requests that ended.", ended(totals)),
        counter("k6_iterations", "Requests that ended, each an iteration.", ended(totals)),
        counter(
            "k6_dropped_iterations",
            "Requests that came due and were not sent.",
            ledger.shed + ledger.unsent,
        ),
        counter("k6_data_received", "Bytes received.", totals.received_bytes),
        family(
            Type::Gauge,
            "k6_http_req_failed_rate",
            "The share of requests without a response as expected.",
            failed(totals),
        ),
        family(Type::Gauge, "k6_vus", "Connections.", figures.gauges.connections.into()),
    ];
    families.extend(trend(SERVICE, "Service time, seconds.", &totals.service));
    families.extend(trend(RESPONSE, "Response time, seconds.", &totals.response));
    families
}

/// Requests that were sent and are not open any more.
fn ended(totals: &Totals) -> u64 {
    let ledger = &totals.ledger;
    ledger.completed + ledger.refused + ledger.timed_out + ledger.broken + ledger.unfinished
}

fn failed(totals: &Totals) -> f64 {
    let ended = ended(totals);
    (ended - totals.ledger.ok) as f64 / ended.max(1) as f64
}

fn trend(
    names: [&'static str; 7],
    help: &'static str,
    times: &Histogram,
) -> impl Iterator<Item = Family<'static>> {
    let quantiles = QUANTILES.map(|q| times.quantile_ns(q).map(|value_ns| value_ns as f64));
    let others = [times.mean_ns(), times.max_ns().map(|value_ns| value_ns as f64)];
    let figures: Vec<Option<f64>> = quantiles.into_iter().chain(others).collect();
    names
        .into_iter()
        .zip(figures)
        .filter_map(move |(name, value_ns)| Some(family(Type::Gauge, name, help, value_ns? / 1e9)))
}

fn family(kind: Type, name: &'static str, help: &'static str, value: f64) -> Family<'static> {
    Family { name, help, unit: None, kind, samples: plain(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Names;
    use crate::metrics::Value;
    use crate::naming::families;

    #[test]
    fn figures_stand_under_k6_s_names() {
        let mut figures = Figures::named(Names::K6);
        let totals = &mut figures.totals;
        (totals.ledger.completed, totals.ledger.ok, totals.ledger.broken) = (9, 6, 1);
        totals.ledger.shed = 2;
        totals.service.record(2_000_000_000);
        let value = |name: &str| {
            let all = families(&figures);
            let family = all.into_iter().find(|family| family.name == name)?;
            match family.samples[0].value {
                Value::Number(value) => Some(value),
                Value::Times(_) => None,
            }
        };
        for (name, want) in [
            ("k6_http_reqs", Some(10.0)),
            ("k6_http_req_failed_rate", Some(0.4)),
            ("k6_dropped_iterations", Some(2.0)),
            ("k6_http_req_duration_p99", Some(2.0)),
            ("k6_http_req_duration_max", Some(2.0)),
            ("k6_http_req_response_p99", None),
            ("plimsoll_sent", None),
        ] {
            assert_eq!(value(name), want, "{name}");
        }
    }
}

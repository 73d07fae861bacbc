//! Runs whose tables are as wide as they get: long names, long figures, every kind of part.

use std::sync::Arc;

use plimsoll_core::RunResult;
use plimsoll_core::metric::{CustomMetrics, Kind, Metrics, Registry};
use plimsoll_core::part::Part;
use plimsoll_core::plan::{Draft, Endpoint};
use plimsoll_core::result::{ScenarioResult, Unit};

use super::{MS, SECOND, Spread, gate, parts, ramp, recorded, stall, steady};

/// Three scenarios of one run, one of them with a name without a space.
pub(crate) fn scenarios() -> RunResult {
    let scenario =
        |name: &str, start_ns, result| ScenarioResult { name: name.to_owned(), start_ns, result };
    let plan = Draft::new(Endpoint { scheme: String::new(), ..Endpoint::http("", 0, "") });
    let empty = RunResult::empty(stall().tool, &plan);
    let list = vec![
        scenario("browse", 0, stall()),
        scenario("nightly-import-of-all-orders-and-invoices", 2_500 * MS, steady()),
        scenario("search", 0, ramp()),
    ];
    RunResult { metrics: recorded().metrics, ..RunResult::of_scenarios(empty, list) }
}

/// A long run of many parts: nothing in it is short.
pub(crate) fn wide() -> RunResult {
    let url = "https://inventory.staging.internal.example.com:8443/api/v2/warehouses/north-west/\
               articles?sort=availability&direction=descending&page=1234567";
    let mut result = ramp();
    let other = parts();
    (result.endpoints, result.addresses) = (other.endpoints, other.addresses);
    for part in result.endpoints.iter_mut().chain(&mut result.addresses) {
        part.ledger.scheduled = 123_456_789_012;
        part.ledger.ok = 1;
    }
    url.clone_into(&mut result.endpoints[0].name);
    "[2001:0db8:85a3:0000:0000:8a2e:0370:7334]:65535".clone_into(&mut result.addresses[0].name);
    result.groups = vec![Part {
        name: "::checkout::payment::card".to_owned(),
        ..result.stages[0].part.clone()
    }];
    for stage in &mut result.stages {
        stage.target_rps = 12_345_678.0;
        stage.part.ledger.scheduled = 123_456_789_012;
    }
    result.ledger.sent = 123_456_789_012;
    result.rate.achieved_rps = 12_345_678.0;
    result.metrics = metrics();
    result.errors[0].sample = format!("no answer from {url}");
    result.gates = vec![
        gate(
            "response.p99.9@endpoint:/api/v2/warehouses/north-west/articles<1s",
            None,
            Unit::Us,
            false,
        ),
        gate("errors<1%", Some(0.123_456), Unit::Share, true),
    ];
    result.gates[0].note = Some(format!("no endpoint of this name; there is: {url}, home"));
    result
}

/// Values with many digits, under long names.
fn metrics() -> CustomMetrics {
    let mut registry = Registry::default();
    let mut declare = |name: &str, kind| registry.declare(name, kind).expect("a name");
    let time = declare("time_until_the_last_picture_of_an_article_is_shown", Kind::TimeTrend);
    let size = declare("bytes_of_pictures_that_were_already_in_the_cache", Kind::Trend);
    let sold = declare("articles_sold", Kind::Counter);
    let stock = declare("articles_in_stock", Kind::Gauge);
    let mut metrics = Metrics::new(&Arc::new(registry));
    let mut spread = Spread::new();
    for index in 0..2_000u64 {
        let at_ns = index * SECOND / 100;
        let page =
            metrics.tags(&[("page", "/articles/of-the-day/with-a-long-name"), ("zone", "eu")]);
        metrics.record(time, page, spread.around(30 * SECOND) as f64, at_ns);
        metrics.record(size, page, -1e9 * spread.share(), at_ns);
        metrics.record(sold, page, 12_345_678.0, at_ns);
        metrics.record(stock, page, 1e12 * spread.share(), at_ns);
    }
    metrics.totals()
}

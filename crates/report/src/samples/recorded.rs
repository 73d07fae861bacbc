//! A run whose source of work recorded metrics of its own, of every kind.

use std::sync::Arc;

use plimsoll_core::RunResult;
use plimsoll_core::metric::{Kind, Metrics, Registry, TagsId};

use super::{MS, SECOND, Spread, bare};

/// A shop: 400 checkouts in ten seconds from three pages, what they bought, and whether it worked.
pub(crate) fn recorded() -> RunResult {
    let mut registry = Registry::default();
    let mut declare = |name: &str, kind| registry.declare(name, kind).expect("a name");
    let time = declare("checkout_time", Kind::TimeTrend);
    let balance = declare("balance", Kind::Trend);
    let items = declare("items", Kind::Counter);
    let queue = declare("queue_length", Kind::Gauge);
    let ok = declare("payments_ok", Kind::Rate);
    declare("refunds", Kind::Trend);
    declare("visitors", Kind::Gauge);
    let mut metrics = Metrics::new(&Arc::new(registry));
    let mut spread = Spread::new();
    for checkout in 0..400u64 {
        let at_ns = checkout * SECOND / 40;
        let page = ["home", "search", "<script>|`$&"][(checkout % 7).min(2) as usize];
        let tags = metrics.tags(&[("page", page)]);
        let user = metrics.tags(&[("user", &(checkout % 9).to_string())]);
        metrics.record(time, tags, spread.around(30 * MS) as f64, at_ns);
        metrics.record(balance, TagsId::NONE, 100.0 * (spread.share() - 0.5), at_ns);
        metrics.record(items, user, (checkout % 4) as f64, at_ns);
        metrics.record(queue, TagsId::NONE, (checkout % 12) as f64, at_ns);
        metrics.record(ok, TagsId::NONE, f64::from(checkout % 50 != 3), at_ns);
    }
    metrics.record(balance, TagsId::NONE, f64::NAN, 0);
    metrics.record(items, TagsId::NONE, -1.0, 0);
    metrics.record(items, TagsId::FOLDED, 5.0, 0);
    RunResult { metrics: metrics.totals(), ..bare() }
}

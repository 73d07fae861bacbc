//! The module `k6/metrics`: `Counter`, `Gauge`, `Rate`, `Trend`.

use std::ffi::CStr;

use plimsoll_core::metric::{Kind, MetricId};

use super::classes::{self, Classes, Held};
use super::{console, need_running, tags};
use crate::js::ffi;
use crate::js::inner::Stage;
use crate::js::native::{Call, functions, native};
use crate::js::step::{Level, Sample, Step};
use crate::js::value::{ErrorKind, Outcome, Thrown, Value};

/// A metric of a script.
pub(super) struct Metric {
    id: MetricId,
    kind: Kind,
}

impl Held for Metric {
    const NAME: &'static CStr = c"Metric";

    fn class(classes: &Classes) -> u32 {
        classes.metric
    }
}

const METHODS: &[ffi::FunctionEntry] = functions! { c"add" 2 => add; };

const CONSTRUCTORS: [(&CStr, &str, ffi::CFunction); 4] = [
    (c"Counter", "Counter", native!(counter)),
    (c"Gauge", "Gauge", native!(gauge)),
    (c"Rate", "Rate", native!(rate)),
    (c"Trend", "Trend", native!(trend)),
];

pub(super) fn fill(module: &Value<'_>) -> Result<(), Thrown> {
    for (name, key, function) in CONSTRUCTORS {
        let (constructor, _) = classes::constructor(module.context(), name, 2, function, METHODS)?;
        module.define(key, constructor)?;
    }
    Ok(())
}

fn counter<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    construct(call, Kind::Counter)
}

fn gauge<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    construct(call, Kind::Gauge)
}

fn rate<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    construct(call, Kind::Rate)
}

fn trend<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    construct(call, Kind::Trend)
}

/// A metric of times is one whose second argument says so: its values are milliseconds.
fn construct<'js>(call: &Call<'js, '_>, kind: Kind) -> Outcome<'js> {
    let context = call.context;
    let inner = context.inner();
    if inner.stage.get() != Stage::Init {
        let message = "a metric is created while a script loads only: do it outside of functions";
        return Err(context.throw(ErrorKind::Plain, message));
    }
    let name = call.argument(0);
    if !name.is_string() {
        return Err(context.throw(ErrorKind::Type, "a metric needs a name"));
    }
    let is_time = call.argument(1).to_bool()?;
    let kind = if is_time && kind == Kind::Trend { Kind::TimeTrend } else { kind };
    let text = name.to_text()?;
    let id = inner.shared.store.metric(&text.str(), kind, is_time);
    let id = id.map_err(|why| context.throw(ErrorKind::Plain, why))?;
    let prototype = call.this().get("prototype")?;
    let metric = classes::hold(context, Some(&prototype), Metric { id, kind })?;
    metric.define("name", name)?;
    Ok(metric)
}

/// `metric.add(value, tags)`: records a value, and tells whether it could be one.
fn add<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let this = call.this();
    let Some(metric) = classes::held::<Metric>(&this) else {
        return Err(context.throw(ErrorKind::Type, "add() is a method of metrics"));
    };
    need_running(context, "add()")?;
    let given = call.argument(0);
    let number = if given.is_nothing() { f64::NAN } else { given.to_number()? };
    // What is true but no number, such as an empty array, counts as 1.
    let counts_as_one = number == 0.0 && !given.is_number() && given.to_bool()?;
    let number = if counts_as_one { 1.0 } else { number };
    let value = if metric.kind == Kind::TimeTrend { number * 1e6 } else { number };
    if value.is_nan() {
        let name = this.get("name")?.to_text()?;
        let shown = given.to_text()?;
        let line = format!("metric '{}' cannot record '{}'", name.str(), shown.str());
        console::note(context, Level::Warn, &line)?;
        return Ok(context.boolean(false));
    }
    let tags = tags::number(context, &call.argument(1), None)?;
    let sample = Sample { metric: metric.id, tags, value };
    context.inner().ask(context, Step::Record(sample))?;
    Ok(context.boolean(true))
}

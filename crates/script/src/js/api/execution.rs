//! The module `k6/execution`: what the script can learn of the test, read when it asks.

use std::sync::atomic::Ordering;

use super::classes;
use super::console;
use super::metadata;
use super::secrets;
use super::tags::TagsObject;
use crate::js::execution::{Execution, ScenarioFacts};
use crate::js::ffi;
use crate::js::inner::{Halt, Stage};
use crate::js::native::{Call, functions, native};
use crate::js::program::Failure;
use crate::js::step::Level;
use crate::js::value::{Context, ErrorKind, Outcome, Thrown, Value};

type Getters = &'static [(&'static str, ffi::CFunction)];

const VU: Getters = &[
    ("idInInstance", native!(id_in_instance)),
    ("idInTest", native!(id_in_test)),
    ("iterationInInstance", native!(iteration)),
    ("iterationInScenario", native!(iteration_in_scenario)),
];

const SCENARIO: Getters = &[
    ("name", native!(scenario_name)),
    ("executor", native!(scenario_executor)),
    ("startTime", native!(scenario_start)),
    ("progress", native!(scenario_progress)),
    ("iterationInInstance", native!(scenario_iteration)),
    ("iterationInTest", native!(scenario_iteration_in_test)),
];

const INSTANCE: Getters = &[
    ("iterationsCompleted", native!(iterations_completed)),
    ("iterationsInterrupted", native!(iterations_interrupted)),
    ("vusActive", native!(vus_active)),
    ("vusInitialized", native!(vus_initialized)),
    ("currentTestRunDuration", native!(duration)),
];

const TEST: &[ffi::FunctionEntry] = functions! {
    c"abort" 1 => abort;
    c"fail" 1 => fail;
};

pub(super) fn fill(module: &Value<'_>) -> Result<(), Thrown> {
    let context = module.context();
    let object = |getters: Getters| {
        let object = context.object()?;
        for (name, function) in getters {
            object.define_getter(name, context.function(c"get", 0, *function)?)?;
        }
        Ok(object)
    };
    let vu = object(VU)?;
    let tags = classes::hold(context, None, TagsObject)?;
    let metrics = context.object()?;
    metrics.define("tags", tags.clone())?;
    let metadata = context.function(c"get", 0, native!(metadata::metadata))?;
    metrics.define_getter("metadata", metadata)?;
    vu.define("tags", tags)?;
    vu.define("metrics", metrics)?;
    let test = object(&[("options", native!(options))])?;
    test.define_functions(TEST)?;
    module.define("vu", vu)?;
    module.define("scenario", object(SCENARIO)?)?;
    module.define("instance", object(INSTANCE)?)?;
    module.define("test", test)
}

/// A number of the facts.
fn number<'js>(call: &Call<'js, '_>, of: impl FnOnce(&Execution) -> f64) -> Outcome<'js> {
    let number = of(&call.context.inner().execution.borrow());
    Ok(call.context.number(number))
}

/// Something of the scenario.
fn scenario<'js>(
    call: &Call<'js, '_>,
    of: impl FnOnce(Context<'js>, &Execution, &ScenarioFacts) -> Outcome<'js>,
) -> Outcome<'js> {
    let execution = call.context.inner().execution.borrow();
    match &execution.scenario {
        Some(scenario) => of(call.context, &execution, scenario),
        None => {
            drop(execution);
            let message = "exec.scenario is there during iterations only";
            Err(call.context.throw(ErrorKind::Plain, message))
        }
    }
}

fn id_in_instance<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    Ok(call.context.number(f64::from(call.context.inner().number)))
}

fn id_in_test<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    number(call, |execution| execution.id_in_test as f64)
}

fn iteration<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    number(call, |execution| execution.iteration as f64)
}

fn iteration_in_scenario<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    number(call, |execution| execution.iteration_in_scenario as f64)
}

fn scenario_name<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    scenario(call, |context, _, scenario| context.string(&scenario.name))
}

fn scenario_executor<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    scenario(call, |context, _, scenario| context.string(&scenario.executor))
}

/// In milliseconds since 1970, as `Date.now()`.
fn scenario_start<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    scenario(call, |context, _, scenario| {
        Ok(context.number((scenario.started_ns / 1_000_000) as f64))
    })
}

fn scenario_progress<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let now_ns = call.context.inner().now_ns.get();
    scenario(call, |context, _, scenario| Ok(context.number(scenario.progress(now_ns))))
}

fn scenario_iteration<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    scenario(call, |context, execution, _| Ok(context.number(execution.scenario_iteration as f64)))
}

fn scenario_iteration_in_test<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    scenario(call, |context, execution, _| {
        Ok(context.number(execution.scenario_iteration_in_test as f64))
    })
}

fn iterations_completed<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    number(call, |it| it.instance.iterations_completed.load(Ordering::Relaxed) as f64)
}

fn iterations_interrupted<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    number(call, |it| it.instance.iterations_interrupted.load(Ordering::Relaxed) as f64)
}

fn vus_active<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    number(call, |it| it.instance.vus_active.load(Ordering::Relaxed) as f64)
}

fn vus_initialized<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    number(call, |it| it.instance.vus_initialized.load(Ordering::Relaxed) as f64)
}

/// In milliseconds.
fn duration<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let now_ns = call.context.inner().now_ns.get();
    number(call, |it| now_ns.saturating_sub(it.test_started_ns) as f64 / 1e6)
}

fn options<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    if context.inner().stage.get() == Stage::Init {
        let message = "exec.test.options is there once the script has been loaded";
        return Err(context.throw(ErrorKind::Plain, message));
    }
    let text = std::sync::Arc::clone(&context.inner().execution.borrow().options);
    let text = if text.is_empty() { "{}" } else { &*text };
    let options = context.parse_json(text.as_bytes(), c"<options>")?;
    options.freeze_deep()?;
    Ok(options)
}

/// `exec.test.abort(reason)`: ends this virtual user at once; who runs it ends the test.
fn abort<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let reason = reason(call, "the script has called exec.test.abort()")?;
    let inner = call.context.inner();
    *inner.error.borrow_mut() = Some(Failure { text: reason, stack: String::new() });
    inner.halt.set(Some(Halt::Aborted));
    Err(call.context.throw_uncatchable(c"aborted"))
}

/// `exec.test.fail(reason)`: the test goes on, and has failed in the end.
fn fail<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let reason = reason(call, "the script has called exec.test.fail()")?;
    call.context.inner().has_failed_test.set(true);
    console::note(call.context, Level::Error, &reason)?;
    Ok(call.context.undefined())
}

fn reason(call: &Call<'_, '_>, otherwise: &str) -> Result<String, Thrown> {
    let reason = call.argument(0);
    if reason.is_nothing() {
        return Ok(otherwise.to_owned());
    }
    let text = reason.to_text()?;
    Ok(secrets::redact(call.context, &text.str()).into_owned())
}

//! What makes sense of a scenario, and what does not: all that is wrong is named at once.

use plimsoll_core::schedule::{ArrivalStage, Arrivals, UserRamp, UserStage};

use super::{Draft, Executor, Kind, Scenario, VuPool};
use crate::k6::options::{Ns, Stage, shortened};

/// The most VUs that a scenario may have, at any time.
pub const VUS_MAX: u64 = 1_000_000;

/// The most stages of a scenario.
pub const STAGES_MAX: usize = 10_000;

/// The most times that the number of a scenario's VUs may change.
const STEPS_MAX: u64 = 10_000_000;

const SECOND: Ns = Ns(1_000_000_000);
const HALF_MINUTE: Ns = Ns(30_000_000_000);
const TEN_MINUTES: Ns = Ns(600_000_000_000);

/// Collects what is wrong with one scenario.
#[derive(Debug, Default)]
struct Faults(Vec<String>);

impl Faults {
    fn add(&mut self, what: impl Into<String>) {
        self.0.push(what.into());
    }

    fn unless(&mut self, is_right: bool, what: &str) {
        if !is_right {
            self.add(what);
        }
    }

    /// A number of VUs of at least `least`.
    fn vus(&mut self, name: &str, given: i64, least: i64) -> u64 {
        if given < least {
            self.add(format!("{name} is {given}: give {least} or more"));
        } else if given.unsigned_abs() > VUS_MAX {
            self.add(format!("{name} is {given}: give {VUS_MAX} at most"));
        }
        given.try_into().unwrap_or(0)
    }

    fn not_negative(&mut self, name: &str, given: Ns) -> u64 {
        if given.0 < 0 {
            self.add(format!("{name} is {given}: give 0s or more"));
        }
        given.unsigned()
    }

    /// A duration of at least a second.
    fn long(&mut self, name: &str, given: Ns) -> u64 {
        if given < SECOND {
            self.add(format!("{name} is {given}: give 1s or more"));
        }
        given.unsigned()
    }

    fn required_duration(&mut self, given: Option<Ns>) -> u64 {
        match given {
            Some(given) => self.long("duration", given),
            None => {
                self.add("it has no duration: give one, such as '30s'");
                0
            }
        }
    }

    /// Stages with both of their values: duration in ns and target.
    fn stages(&mut self, stages: &[Stage]) -> Vec<(u64, u64)> {
        self.unless(!stages.is_empty(), "it has no stages: give one or more");
        if stages.len() > STAGES_MAX {
            self.add(format!("it has {} stages: give {STAGES_MAX} at most", stages.len()));
            return Vec::new();
        }
        let mut checked = Vec::with_capacity(stages.len());
        for (at, stage) in stages.iter().enumerate() {
            let number = at + 1;
            match stage.duration {
                None => self.add(format!("stage {number} has no duration")),
                Some(given) if given.0 < 0 => {
                    self.add(format!("the duration of stage {number} is {given}: give 0s or more"));
                }
                Some(_) => {}
            }
            match stage.target {
                None => self.add(format!("stage {number} has no target")),
                Some(given) if given < 0 => {
                    self.add(format!("the target of stage {number} is {given}: give 0 or more"));
                }
                Some(_) => {}
            }
            let target = stage.target.and_then(|target| target.try_into().ok()).unwrap_or(0);
            checked.push((stage.duration.unwrap_or_default().unsigned(), target));
        }
        checked
    }
}

/// The scenario, or all that is wrong with it.
pub(in crate::k6) fn check(name: &str, draft: &Draft) -> Result<Scenario, Vec<String>> {
    let mut faults = Faults::default();
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let is_name = !name.is_empty() && name.bytes().all(is_name_byte);
    faults.unless(is_name, "its name has other characters than letters, digits, _ and -");
    faults.unless(draft.exec.as_deref() != Some(""), "exec is empty: give the name of a function");
    let start_ns = faults.not_negative("startTime", draft.start_time.unwrap_or_default());
    let graceful_stop = draft.graceful_stop.unwrap_or(HALF_MINUTE);
    let graceful_stop_ns = faults.not_negative("gracefulStop", graceful_stop);
    let executor = match draft.kind {
        Kind::SharedIterations | Kind::PerVuIterations => Some(iterations(draft, &mut faults)),
        Kind::ConstantVus => Some(Executor::ConstantVus {
            vus: faults.vus("vus", draft.vus.unwrap_or(1), 1),
            duration_ns: faults.required_duration(draft.duration),
        }),
        Kind::RampingVus => Some(ramping_vus(draft, &mut faults)),
        Kind::ConstantArrivalRate | Kind::RampingArrivalRate => arrivals(draft, &mut faults),
    };
    let Some(executor) = executor.filter(|_| faults.0.is_empty()) else {
        return Err(faults.0);
    };
    Ok(Scenario {
        name: name.to_owned(),
        executor,
        start_ns,
        graceful_stop_ns,
        exec: draft.exec.clone(),
        env: draft.env.clone(),
        tags: draft.tags.clone(),
        options: draft.options.clone(),
    })
}

fn iterations(draft: &Draft, faults: &mut Faults) -> Executor {
    let vus = faults.vus("vus", draft.vus.unwrap_or(1), 1);
    let given = draft.iterations.unwrap_or(1);
    let max_duration_ns = faults.long("maxDuration", draft.duration.unwrap_or(TEN_MINUTES));
    let iterations = given.try_into().unwrap_or(0);
    if draft.kind == Kind::PerVuIterations {
        faults.unless(given > 0, &format!("iterations is {given}: give 1 or more"));
        return Executor::PerVuIterations { vus, iterations, max_duration_ns };
    }
    let what = format!("iterations is {given}, less than the {vus} VUs: give more, or fewer VUs");
    faults.unless(iterations >= vus, &what);
    Executor::SharedIterations { vus, iterations, max_duration_ns }
}

fn ramping_vus(draft: &Draft, faults: &mut Faults) -> Executor {
    let start = faults.vus("startVUs", draft.vus.unwrap_or(1), 0);
    let stages = faults.stages(&draft.stages);
    let most = stages.iter().map(|(_, target)| *target).max().unwrap_or(0).max(start);
    faults.unless(most > 0, "it never has a VU: give startVUs or a target above 0");
    if most > VUS_MAX {
        faults.add(format!("it has up to {most} VUs: give {VUS_MAX} at most"));
    }
    let graceful_ramp_down = draft.graceful_ramp_down.unwrap_or(HALF_MINUTE);
    let graceful_ramp_down_ns = faults.not_negative("gracefulRampDown", graceful_ramp_down);
    let stage = |(duration_ns, target)| UserStage { duration_ns, target };
    let ramp = UserRamp { start, stages: stages.into_iter().map(stage).collect() };
    let is_short = ramp.steps_max() <= STEPS_MAX && ramp.duration_ns() < u64::MAX / 4;
    faults.unless(is_short, "its VUs change too often: give fewer stages or lower targets");
    Executor::RampingVus { ramp, graceful_ramp_down_ns }
}

fn arrivals(draft: &Draft, faults: &mut Faults) -> Option<Executor> {
    let is_ramp = draft.kind == Kind::RampingArrivalRate;
    let (name, least) = if is_ramp { ("startRate", 0) } else { ("rate", 1) };
    let given = draft.rate.or_else(|| is_ramp.then_some(0));
    match given {
        None => faults.add("it has no rate: give one, in iterations per timeUnit"),
        Some(given) if given < least => {
            faults.add(format!("{name} is {given}: give {least} or more"));
        }
        Some(_) => {}
    }
    let rate = given.unwrap_or(least).max(least).unsigned_abs();
    let unit = draft.time_unit.unwrap_or(SECOND);
    faults.unless(unit.0 > 0, &format!("timeUnit is {unit}: give more than 0s"));
    let time_unit_ns = unit.unsigned().max(1);
    let (stages, schedule) = if is_ramp {
        let stages = faults.stages(&draft.stages).into_iter();
        let stage = |(duration_ns, target)| ArrivalStage { duration_ns, target };
        let stages: Vec<_> = stages.map(stage).collect();
        let schedule = Arrivals::ramping(rate, time_unit_ns, &stages);
        (stages, schedule)
    } else {
        let duration_ns = faults.required_duration(draft.duration);
        (Vec::new(), Arrivals::constant(rate, time_unit_ns, duration_ns))
    };
    let (pre_allocated_vus, max_vus) = vus_of_arrivals(draft, faults);
    let arrivals = schedule.map_err(|error| faults.add(error.to_string())).ok()?;
    let pool = VuPool { pre_allocated_vus, max_vus };
    Some(if is_ramp {
        Executor::RampingArrivalRate { start_rate: rate, stages, time_unit_ns, pool, arrivals }
    } else {
        Executor::ConstantArrivalRate { rate, time_unit_ns, pool, arrivals }
    })
}

/// How many VUs are there from the start, and how many there may be.
fn vus_of_arrivals(draft: &Draft, faults: &mut Faults) -> (u64, u64) {
    let Some(given) = draft.pre_allocated_vus else {
        faults.add("it has no preAllocatedVUs: give the number of VUs to start with");
        return (0, 0);
    };
    let pre_allocated = faults.vus("preAllocatedVUs", given, 0);
    let most = draft.max_vus.unwrap_or(given);
    if most < given {
        faults.add(format!("maxVUs is {most}, less than preAllocatedVUs: give {given} or more"));
        return (pre_allocated, pre_allocated);
    }
    let max = if given < 0 { 0 } else { faults.vus("maxVUs", most, 0) };
    (pre_allocated, max)
}

/// Says where the faults are.
pub(in crate::k6) fn worded(name: &str, faults: &[String]) -> String {
    format!("scenario '{}': {}", shortened(name), faults.join(", "))
}

//! What a test does, as plans that results keep: one of the whole run, and one of each scenario.
//! Nothing is carried out by them.

use plimsoll_core::executor::Executor;
use plimsoll_core::gate::{Condition, GateError, read_conditions};
use plimsoll_core::metric::{Declared, GROUP_DURATION, Kind};
use plimsoll_core::plan::{Draft, DriverPlan, Endpoint, Script, VuPlan, VuScenario};
use plimsoll_core::schedule::{Arrival, ArrivalStage, Profile, Stage};
use plimsoll_core::secret::Masks;
use plimsoll_dialect::k6::scenario::Scenario;

use super::load::Test;

/// What is asked of a recorded run beside its script.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// The script, as it was named.
    pub script: String,
    /// Conditions that the result has to meet, beside the script's thresholds.
    pub gates: Vec<String>,
    /// Conditions that end the run.
    pub abort_when: Vec<String>,
    /// Whether the verdict has to be valid.
    pub require_valid: bool,
    /// Where commands are taken during the run.
    pub control: Option<String>,
    /// The seed of everything random.
    pub seed: u64,
    /// The driver that was asked for.
    pub driver: DriverPlan,
    /// What is not shown.
    pub masks: Masks,
}

/// A recorded run, planned.
#[derive(Debug, Clone)]
pub struct Planned {
    /// The run as a whole.
    pub run: Draft,
    /// Its scenarios, in the order of their roles.
    pub(super) scenarios: Vec<Draft>,
    pub(super) conditions: Vec<Condition>,
}

impl Test {
    /// Plans a recorded run.
    ///
    /// # Errors
    /// A condition that cannot be read, or that this run cannot have.
    pub fn plan(&self, terms: &Terms) -> Result<Planned, GateError> {
        let roles: Vec<&Scenario> = self.roles().collect();
        let scenarios: Vec<Draft> = roles.iter().map(|role| self.of_role(role, terms)).collect();
        let run = match scenarios.as_slice() {
            [only] => self.of_run(only.clone(), &scenarios, terms),
            _ => self.of_run(nowhere(terms), &scenarios, terms),
        };
        let several = if scenarios.len() > 1 { &scenarios[..] } else { &[] };
        let named: Vec<(&str, &Draft)> =
            roles.iter().map(|role| role.name.as_str()).zip(several).collect();
        let conditions = read_conditions(&run, &named, &self.declared())?;
        Ok(Planned { run, scenarios, conditions })
    }

    /// The metrics that a recorded run has.
    fn declared(&self) -> Vec<Declared> {
        let mut names = self.program.registry();
        // A script cannot have declared it otherwise: k6 has it.
        let _known = names.declare(GROUP_DURATION, Kind::TimeTrend);
        names.declared().to_vec()
    }

    /// The run, with what belongs to it alone.
    fn of_run(&self, draft: Draft, scenarios: &[Draft], terms: &Terms) -> Draft {
        let all = scenarios.iter().filter_map(|it| it.vus.as_ref());
        let ends_ns = self
            .roles()
            .zip(scenarios)
            .map(|(role, plan)| plan.duration_ns.map(|ns| role.start_ns.saturating_add(ns)));
        Draft {
            connections: scenarios
                .iter()
                .fold(0, |sum: u32, it| sum.saturating_add(it.connections)),
            duration_ns: ends_ns
                .collect::<Option<Vec<u64>>>()
                .and_then(|all| all.into_iter().max()),
            vus: Some(VuPlan {
                scenarios: all.flat_map(|vus| vus.scenarios.clone()).collect(),
                options: self.configuration.consolidated().document(),
            }),
            gates: terms.gates.clone(),
            abort_when: terms.abort_when.clone(),
            require_valid: terms.require_valid,
            control: terms.control.clone(),
            ..draft
        }
    }

    fn of_role(&self, role: &Scenario, terms: &Terms) -> Draft {
        let part = &self.configuration.part;
        let most = self.vus_max(role);
        let is_counted = iterations(role).is_some();
        let scenario = VuScenario {
            name: role.name.clone(),
            executor: role.executor.kind().name().to_owned(),
            load: role.describe(part),
            exec: role.function().to_owned(),
            vus_max: most,
            iterations: iterations(role),
        };
        Draft {
            connections: u32::try_from(most).unwrap_or(u32::MAX),
            duration_ns: (!is_counted).then(|| role.regular_duration_ns()),
            drain_ns: role.graceful_stop_ns,
            rate: profile(&role.executor),
            vus: Some(VuPlan { scenarios: vec![scenario], options: Default::default() }),
            ..nowhere(terms)
        }
    }

    /// The most virtual users of a scenario.
    fn vus_max(&self, role: &Scenario) -> u64 {
        let all = match &role.executor {
            Executor::SharedIterations { vus, .. }
            | Executor::PerVuIterations { vus, .. }
            | Executor::ConstantVus { vus, .. } => *vus,
            Executor::RampingVus { ramp, .. } => {
                ramp.stages.iter().map(|stage| stage.target).fold(ramp.start, u64::max)
            }
            Executor::ConstantArrivalRate { pool, .. }
            | Executor::RampingArrivalRate { pool, .. } => pool.max_vus.max(pool.pre_allocated_vus),
        };
        self.configuration.part.scale(all)
    }
}

/// How many iterations a scenario asks for, where it asks for a number of them.
fn iterations(role: &Scenario) -> Option<u64> {
    match role.executor {
        Executor::SharedIterations { iterations, .. } => Some(iterations),
        Executor::PerVuIterations { vus, iterations, .. } => Some(vus.saturating_mul(iterations)),
        _ => None,
    }
}

/// A plan of the script without an endpoint: each request says where it goes.
fn nowhere(terms: &Terms) -> Draft {
    let endpoint = Endpoint {
        scheme: String::new(),
        host: String::new(),
        port: 0,
        path: String::new().into(),
    };
    Draft {
        script: Some(Script {
            path: terms.script.clone(),
            text: String::new().into(),
            arguments: Vec::new(),
        }),
        duration_ns: None,
        seed: terms.seed,
        driver: terms.driver,
        masks: terms.masks.clone(),
        ..Draft::new(endpoint)
    }
}

/// The rate of iterations over time, where a scenario has one. Steps without a length are left out:
/// what follows begins at their rate.
fn profile(executor: &Executor) -> Option<Profile> {
    let uhz = |rate: u64, unit_ns: u64| {
        let uhz = u128::from(rate) * 1_000_000 * 1_000_000_000 / u128::from(unit_ns.max(1));
        u64::try_from(uhz).unwrap_or(u64::MAX)
    };
    let (from, stages, unit_ns) = match executor {
        Executor::ConstantArrivalRate { rate, time_unit_ns, arrivals, .. } => {
            let duration_ns = Some(arrivals.duration_ns());
            return Some(Profile::constant(
                uhz(*rate, *time_unit_ns),
                duration_ns,
                Arrival::Uniform,
            ));
        }
        Executor::RampingArrivalRate { start_rate, stages, time_unit_ns, .. } => {
            (*start_rate, stages, *time_unit_ns)
        }
        _ => return None,
    };
    let mut from_uhz = uhz(from, unit_ns);
    let placed = stages.iter().filter_map(|stage: &ArrivalStage| {
        let to_uhz = uhz(stage.target, unit_ns);
        let from_uhz = std::mem::replace(&mut from_uhz, to_uhz);
        let duration_ns = Some(stage.duration_ns).filter(|duration_ns| *duration_ns > 0)?;
        Some(Stage { duration_ns: Some(duration_ns), from_uhz, to_uhz })
    });
    let stages: Vec<Stage> = placed.collect();
    (!stages.is_empty()).then_some(Profile { stages, arrival: Arrival::Uniform })
}

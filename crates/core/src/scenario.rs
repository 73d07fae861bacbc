//! Scenarios: the loads of one run, each with a plan of its own and a time at which it starts.
//!
//! A scenario is a run: it has its own server, connections, workers and schedule. What belongs to
//! the whole run stands once, beside them: its conditions, and whether its verdict counts. A plain
//! run has one scenario, without a name, and its plan is the run's.
//!
//! Absent on purpose: scenarios that share connections, and an order other than by time.

use crate::checked::Plan;
use crate::gate::{Condition, GateError, Subplan};
use crate::plan::{Draft, Endpoint, Field};
use crate::random::{SCENARIOS, Stream};
use crate::units::{DURATION_LIMIT_NS, format_duration};

/// The most scenarios of a run.
pub const SCENARIOS_MAX: usize = 64;

/// The most characters of a name.
pub const NAME_CHARS_MAX: usize = 64;

/// A load of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Its name; empty in a plain run.
    pub name: String,
    /// When its measured part begins, ns after the start of the run's. Its warm-up lies before.
    pub start_ns: u64,
    /// What it does.
    pub plan: Plan,
}

/// What belongs to a run of several scenarios and not to one of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunTerms {
    /// Conditions that the result has to meet.
    pub gates: Vec<String>,
    /// Conditions that end the run.
    pub abort_when: Vec<String>,
    /// Whether the verdict has to be valid.
    pub require_valid: bool,
    /// Where commands are taken during the run.
    pub control: Option<String>,
    /// The seed of everything random.
    pub seed: u64,
}

/// The scenarios of a run, checked: what exists can be carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenarios {
    /// The run as a whole.
    run: Draft,
    abort_conditions: Vec<Condition>,
    list: Vec<Scenario>,
    is_plain: bool,
}

/// Why scenarios make no run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// None, or more than there may be.
    #[error("a run has 1 to {SCENARIOS_MAX} scenarios, and there are {0}")]
    Count(usize),
    /// A name that cannot be one.
    #[error(
        "'{0}' is not the name of a scenario: letters a to z and A to Z, digits, '_', '-' and '.' \
         make one, {NAME_CHARS_MAX} at most"
    )]
    Name(String),
    /// Two have the same name.
    #[error("two scenarios are called '{0}': give each a name of its own")]
    Twice(String),
    /// It starts later than a run may last.
    #[error(
        "scenario '{0}' starts too late: {limit} at most",
        limit = format_duration(DURATION_LIMIT_NS)
    )]
    Late(String),
    /// It has what belongs to the run.
    #[error("scenario '{name}' has {what} of its own: {advice}")]
    OfRun {
        /// Its name.
        name: String,
        /// What it has.
        what: &'static str,
        /// What to do.
        advice: String,
    },
    /// Scripts cannot be carried out beside others.
    #[error("scenario '{0}' has a script, which only a run without scenarios can have so far")]
    Script(String),
    /// A condition of the run that cannot be checked.
    #[error("{1}")]
    Condition(Field, GateError),
}

impl From<Plan> for Scenarios {
    fn from(plan: Plan) -> Self {
        Self {
            run: Draft::clone(&plan),
            abort_conditions: plan.abort_conditions().to_vec(),
            list: vec![Scenario { name: String::new(), start_ns: 0, plan }],
            is_plain: true,
        }
    }
}

impl Scenarios {
    /// Makes a run of named scenarios.
    ///
    /// # Errors
    /// The first thing that is wrong with them or with the run's conditions.
    pub fn check(terms: RunTerms, scenarios: Vec<Scenario>) -> Result<Self, ScenarioError> {
        if scenarios.is_empty() || scenarios.len() > SCENARIOS_MAX {
            return Err(ScenarioError::Count(scenarios.len()));
        }
        for (index, scenario) in scenarios.iter().enumerate() {
            check_name(&scenario.name)?;
            if scenarios[..index].iter().any(|earlier| earlier.name == scenario.name) {
                return Err(ScenarioError::Twice(scenario.name.clone()));
            }
            check_plan(scenario)?;
        }
        let seed = terms.seed;
        let run = whole(terms, &scenarios);
        let abort_conditions = conditions(&run, &scenarios)?;
        let mut checked = Self { run, abort_conditions, list: scenarios, is_plain: false };
        checked.seed(seed);
        let watches = !checked.abort_conditions.is_empty();
        checked.list.iter_mut().for_each(|it| it.plan.note_waiting(watches));
        Ok(checked)
    }

    /// The same from another seed.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        let mut scenarios = self.clone();
        scenarios.seed(seed);
        scenarios
    }

    /// Gives each scenario a seed of its own: with the same one, random arrivals of all of them
    /// would come at the same moments.
    fn seed(&mut self, seed: u64) {
        self.run.seed = seed;
        let others = Stream::new(seed, SCENARIOS);
        for (index, scenario) in (0..).zip(&mut self.list) {
            // Documents hold numbers of 53 bits exactly.
            let own = if index == 0 { seed } else { others.word(index) >> 11 };
            scenario.plan = scenario.plan.with_seed(own);
        }
    }

    /// The run as a whole. Of a plain run this is its plan. Of several scenarios it has what
    /// belongs to the run, and how much all of them are: such a run has no endpoint and no schedule
    /// of its own.
    #[must_use]
    pub fn run(&self) -> &Draft {
        &self.run
    }

    /// The conditions that end the run once they hold.
    #[must_use]
    pub fn abort_conditions(&self) -> &[Condition] {
        &self.abort_conditions
    }

    /// The scenarios, at least one.
    #[must_use]
    pub fn list(&self) -> &[Scenario] {
        &self.list
    }

    /// The plan of a plain run.
    #[must_use]
    pub fn plain(&self) -> Option<&Plan> {
        self.list.first().filter(|_| self.is_plain).map(|scenario| &scenario.plan)
    }
}

/// Whether a scenario may be called so.
///
/// # Errors
/// [`ScenarioError::Name`], which says what makes a name.
pub fn check_name(name: &str) -> Result<(), ScenarioError> {
    let is_usual = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    match !name.is_empty() && name.len() <= NAME_CHARS_MAX && name.chars().all(is_usual) {
        true => Ok(()),
        false => Err(ScenarioError::Name(name.chars().take(NAME_CHARS_MAX + 1).collect())),
    }
}

/// Finds what a scenario with a name cannot have.
fn check_plan(scenario: &Scenario) -> Result<(), ScenarioError> {
    let Scenario { name, start_ns, plan } = scenario;
    if *start_ns > DURATION_LIMIT_NS {
        return Err(ScenarioError::Late(name.clone()));
    }
    if plan.script.is_some() {
        return Err(ScenarioError::Script(name.clone()));
    }
    let gate = format!("give them to the run, as in 'p99@scenario:{name}<250ms'");
    let to_run = || "give it to the run".to_owned();
    let own = [
        (!plan.gates.is_empty(), "gates", gate),
        (!plan.abort_when.is_empty(), "conditions to end the run", to_run()),
        (plan.require_valid, "a required verdict", to_run()),
        (plan.control.is_some(), "a control socket", to_run()),
    ];
    match own.into_iter().find(|(is_given, ..)| *is_given) {
        Some((_, what, advice)) => Err(ScenarioError::OfRun { name: name.clone(), what, advice }),
        None => Ok(()),
    }
}

/// The run that scenarios make.
fn whole(terms: RunTerms, scenarios: &[Scenario]) -> Draft {
    let plans = || scenarios.iter().map(|scenario| &scenario.plan);
    let connections =
        |of: fn(&Draft) -> u32| plans().map(|plan| of(plan)).fold(0_u32, u32::saturating_add);
    let grows = plans().any(|plan| plan.connections_max.is_some());
    let ends_ns = scenarios.iter().map(|it| Some(it.start_ns + planned_ns(&it.plan)?));
    let nowhere = Endpoint {
        scheme: String::new(),
        host: String::new(),
        port: 0,
        path: String::new().into(),
    };
    Draft {
        connections: connections(|plan| plan.connections),
        connections_max: grows.then(|| connections(Draft::connections_limit)),
        duration_ns: ends_ns.collect::<Option<Vec<u64>>>().and_then(|ends| ends.into_iter().max()),
        requests: plans().map(|plan| plan.requests).sum::<Option<u64>>(),
        warmup_ns: lead_ns(scenarios),
        drain_ns: plans().map(|plan| plan.drain_ns).max().unwrap_or(0),
        timeout_ns: plans().map(|plan| plan.timeout_ns).max().unwrap_or(0),
        pin: plans().flat_map(|plan| plan.pin.iter().copied()).collect(),
        gates: terms.gates,
        abort_when: terms.abort_when,
        require_valid: terms.require_valid,
        control: terms.control,
        seed: terms.seed,
        ..Draft::new(nowhere)
    }
}

/// How long before the start of the run's measured part the load begins, ns: the longest warm-up of
/// scenarios that start with it, or so shortly after that theirs begins before.
fn lead_ns(scenarios: &[Scenario]) -> u64 {
    let lead_ns = |it: &Scenario| it.plan.warmup_ns.saturating_sub(it.start_ns);
    scenarios.iter().map(lead_ns).max().unwrap_or(0)
}

/// For how long a plan starts requests at most, ns; `None` where it does not say.
fn planned_ns(plan: &Draft) -> Option<u64> {
    let trace_ns = plan.trace.as_ref().map(|trace| trace.window_ns(plan.requests));
    let counted = plan.rate.as_ref().zip(plan.requests);
    let counted_ns = counted.map(|(profile, requests)| profile.due_ns(requests));
    plan.duration_ns.into_iter().chain(trace_ns).chain(counted_ns).min()
}

/// Checks the run's conditions, and reads those that end it.
fn conditions(run: &Draft, scenarios: &[Scenario]) -> Result<Vec<Condition>, ScenarioError> {
    let known: Vec<Subplan<'_>> =
        scenarios.iter().map(|it| Subplan { name: &it.name, plan: &it.plan }).collect();
    for text in &run.gates {
        let read = Condition::parse(text, &[]);
        read.and_then(|condition| condition.check_among(run, &known))
            .map_err(|error| ScenarioError::Condition(Field::Gate, error))?;
    }
    let read = |text: &String| {
        let condition = Condition::parse_abort(text, &[])?;
        condition.check_among(run, &known)?;
        Ok(condition)
    };
    let read = run.abort_when.iter().map(read).collect::<Result<Vec<_>, GateError>>();
    read.map_err(|error| ScenarioError::Condition(Field::AbortWhen, error))
}

#[cfg(test)]
mod tests;

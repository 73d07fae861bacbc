//! Makes a plan from the flags.

use std::fs;
use std::path::Path;

use plimsoll_core::Plan;
use plimsoll_core::plan::{Body, DriverPlan, Order, Script, Spin, Trace};
use plimsoll_core::plan_check;
use plimsoll_core::schedule::Profile;
use plimsoll_core::secret::{Masks, holds_mask};
use plimsoll_core::units::parse_duration_ns;

use crate::exit::Exit;
use crate::request::sent;
use crate::run_args::{RunFlags, SpinFlag};
use crate::value_args::DriverFlag;

/// Makes a plan of the flags of `run`, reading the files they name.
///
/// # Errors
/// Usage for flags that make no sense together, and files that cannot be read.
pub(crate) fn plan(flags: &RunFlags) -> Result<Plan, Exit> {
    seeded(flags, flags.seed)
}

/// The same with another seed, for a repeat.
///
/// # Errors
/// As above.
pub(crate) fn seeded(flags: &RunFlags, seed: u64) -> Result<Plan, Exit> {
    let sent = sent(&flags.request, flags.url.as_deref(), seed)?;
    let default = Plan::new(sent.endpoint);
    let (duration_ns, rate) = schedule(flags, default.duration_ns);
    let plan = Plan {
        request: sent.request,
        targets: sent.targets,
        target_file: sent.target_file,
        order: sent.order,
        templates: sent.templates,
        tables: sent.tables,
        expect: flags.expect.clone(),
        redirects: flags.redirects,
        cookies: flags.cookies,
        transport: flags.connection.transport(),
        tls: flags.tls.tls()?,
        connections: flags.connections.0,
        connections_max: flags.connections.1,
        workers: threads(flags),
        script: script(flags)?,
        duration_ns,
        requests: flags.requests,
        rate,
        warmup_ns: flags.warmup,
        drain_ns: flags.drain,
        timeout_ns: flags.timeout,
        trace: flags.rate_file.as_deref().map(trace).transpose()?,
        shed_after_ns: flags.shed_after,
        requests_per_connection: flags.connection.requests_per_connection(),
        connection_lifetime_ns: flags.connection.conn_lifetime,
        pipeline: flags.connection.pipeline,
        timestamps: flags.connection.timestamps(),
        control: flags.control.as_ref().map(|path| path.display().to_string()),
        driver: driver(flags.driver),
        spin: match flags.spin {
            SpinFlag::Auto => Spin::Auto,
            SpinFlag::On => Spin::On,
            SpinFlag::Off => Spin::Off,
        },
        pin: flags.pin.clone(),
        seed,
        gates: flags.conditions.gate.clone(),
        abort_when: flags.conditions.abort_when.clone(),
        require_valid: flags.require_valid,
        masks: Masks { names: flags.redact.clone(), shows_all: flags.show_secrets },
        ..default
    };
    plan_check::check(&plan).map_err(|error| Exit::Usage(error.to_string()))?;
    check_masks(&plan)?;
    Ok(plan)
}

/// What is odd about a plan that can still be carried out, in a line each.
pub(crate) fn notes(plan: &Plan) -> Vec<String> {
    let order = match plan.order {
        Order::Sequential => "sequential",
        Order::Random => "random",
        Order::Weighted => return Vec::new(),
    };
    let line = || {
        format!(
            "note: --order {order} takes every target as often, whatever its weight: leave \
             --order out to go by the weights"
        )
    };
    plan.has_unlike_weights().then(line).into_iter().collect()
}

/// Refuses a plan with masks where there were secrets: it would send the masks.
fn check_masks(plan: &Plan) -> Result<(), Exit> {
    let of_proxy = plan.transport.proxy.as_ref().and_then(|proxy| proxy.credentials.as_ref());
    let arguments = plan.script.iter().flat_map(|script| &script.arguments);
    let own = (&plan.endpoint.path, &plan.request);
    let targets = plan.targets.iter().map(|target| (&target.path, &target.request));
    let sent = std::iter::once(own).chain(targets).flat_map(|(path, request)| {
        let body = match &request.body {
            Some(Body::Text(text)) => Some(text),
            _ => None,
        };
        request.headers.iter().map(|(_, value)| value).chain(body).chain([path])
    });
    let mut texts = sent.chain(arguments).chain(of_proxy);
    if texts.any(|text| holds_mask(text.reveal())) {
        let text = "this plan was printed without its secrets: put them in place of [masked:..], \
                    or print it with --show-secrets";
        return Err(Exit::Usage(text.to_owned()));
    }
    Ok(())
}

fn threads(flags: &RunFlags) -> u32 {
    // A script has a state for each thread, so their number is not left to the machine.
    let default = u32::from(flags.script.is_some());
    flags.threads.unwrap_or(default)
}

fn script(flags: &RunFlags) -> Result<Option<Script>, Exit> {
    let Some(path) = &flags.script else { return Ok(None) };
    let path = path.display().to_string();
    // It is read when the run begins; a file that cannot be read is an error now.
    fs::File::open(&path).map_err(|error| crate::script::unreadable(&path, &error))?;
    Ok(Some(Script { path, arguments: flags.script_arguments.clone() }))
}

fn schedule(flags: &RunFlags, default_ns: Option<u64>) -> (Option<u64>, Option<Profile>) {
    let arrival = flags.arrival.into();
    if let Some(stages) = &flags.stages {
        let profile = Profile { stages: stages.0.clone(), arrival };
        return (profile.duration_ns(), Some(profile));
    }
    let duration_ns = match (flags.duration, flags.requests) {
        (None, None) if flags.rate_file.is_some() => None,
        (None, None) => default_ns,
        (duration_ns, _) => duration_ns,
    };
    let rate = flags.rate.map(|rate_uhz| Profile::constant(rate_uhz, duration_ns, arrival));
    (duration_ns, rate)
}

/// Reads the times at which requests are due: on each line seconds, or a duration with its unit,
/// up to the first comma or space; what follows, empty lines and those with a `#` are left out.
fn trace(path: &Path) -> Result<Trace, Exit> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path)
        .map_err(|error| Exit::CouldNotRun(format!("rate file '{name}': {error}")))?;
    let mut offsets_ns: Vec<u64> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let field = line.split([',', ' ', '\t']).next().unwrap_or_default().trim();
        if field.is_empty() || field.starts_with('#') {
            continue;
        }
        let has_unit = field.ends_with(|c: char| c.is_ascii_alphabetic());
        let seconds = if has_unit { field.to_owned() } else { format!("{field}s") };
        let at = |why: &str| Exit::CouldNotRun(format!("rate file '{name}', line {number}: {why}"));
        let offset_ns = parse_duration_ns(&seconds)
            .map_err(|_| at(&format!("'{field}' is not a time after the start, such as 0.25")))?;
        if offsets_ns.last().is_some_and(|last_ns| *last_ns > offset_ns) {
            return Err(at(&format!("'{field}' is before the time above it: sort the file")));
        }
        offsets_ns.push(offset_ns);
    }
    if offsets_ns.is_empty() {
        return Err(Exit::CouldNotRun(format!("rate file '{name}' holds no times")));
    }
    Ok(Trace { path: name, offsets_ns })
}

fn driver(flag: DriverFlag) -> DriverPlan {
    match flag {
        DriverFlag::Auto => DriverPlan::Auto,
        DriverFlag::Uring => DriverPlan::Uring,
        DriverFlag::Epoll => DriverPlan::Epoll,
    }
}

//! Makes a plan from the flags.

use std::path::Path;

use plimsoll_core::Plan;
use plimsoll_core::checked::key_without_cert;
use plimsoll_core::details::DetailsPlan;
use plimsoll_core::plan::error::{Message, name};
use plimsoll_core::plan::{
    Draft, DriverPlan, Endpoint, Field, GrpcPlan, Http2Plan, HttpVersion, Order, PlanError, Script,
    Spin, Trace, WebSocketPlan,
};
use plimsoll_core::scenario::{RunTerms, Scenario, Scenarios};
use plimsoll_core::schedule::Profile;
use plimsoll_core::secret::Masks;
use plimsoll_core::units::parse_duration_ns;

use crate::fault::Fault;
use crate::files::text_of;
use crate::grpc::called;
use crate::habits;
use crate::request::{Sent, sent};
use crate::run_args::{RunFlags, SpinFlag};
use crate::value_args::DriverFlag;

/// How long one request is waited for beyond its timeout.
const DRAIN_NS: u64 = 1_000_000_000;

/// Makes a plan of the flags of `run`, reading the files they name.
///
/// # Errors
/// Flags that make no sense, alone or together, and files that cannot be read.
pub(crate) fn plan(flags: &RunFlags) -> Result<Plan, Fault> {
    seeded(flags, flags.seed)
}

/// The scenarios of these flags from another seed, for a repeat. The boundary between a form's
/// parts is drawn from the seed, so a plan with a form is made anew; those of scenarios stay.
///
/// # Errors
/// As above.
pub(crate) fn repeated(
    flags: &RunFlags,
    scenarios: &Scenarios,
    seed: u64,
) -> Result<Scenarios, Fault> {
    if seed == flags.seed || flags.request.form.is_empty() || scenarios.plain().is_none() {
        return Ok(scenarios.with_seed(seed));
    }
    Ok(seeded(flags, seed)?.into())
}

/// The plan of one of several scenarios: without what belongs to their run.
///
/// # Errors
/// Those of [`plan`].
pub(crate) fn of_scenario(flags: &RunFlags) -> Result<Plan, Fault> {
    check_company(flags)?;
    let draft = Draft {
        gates: Vec::new(),
        abort_when: Vec::new(),
        require_valid: false,
        control: None,
        ..draft(flags, flags.seed)?
    };
    let plan = draft.check()?;
    plimsoll_engine::check(&plan)?;
    Ok(plan)
}

/// The plan of one request: the first that a run with these flags sends.
///
/// # Errors
/// Those of [`plan`].
pub(crate) fn of_one_request(flags: &RunFlags) -> Result<Plan, Fault> {
    check_company(flags)?;
    let steps = u64::from(flags.redirects).saturating_add(1);
    let draft = Draft {
        connections: 1,
        connections_max: None,
        workers: 1,
        duration_ns: None,
        requests: Some(1),
        rate: None,
        trace: None,
        warmup_ns: 0,
        // A request that takes too long times out and is not cut off.
        drain_ns: flags.timeout.saturating_mul(steps).saturating_add(DRAIN_NS),
        shed_after_ns: None,
        gates: Vec::new(),
        abort_when: Vec::new(),
        require_valid: false,
        control: None,
        spin: Spin::Off,
        details: DetailsPlan { transcripts: true, ..DetailsPlan::default() },
        ..draft(flags, flags.seed)?
    };
    let plan = draft.check()?;
    plimsoll_engine::check(&plan)?;
    Ok(plan)
}

/// What the flags say of the run and not of one of its scenarios.
pub(crate) fn terms(flags: &RunFlags) -> RunTerms {
    RunTerms {
        gates: flags.conditions.gate.clone(),
        abort_when: flags.conditions.abort_when.clone(),
        require_valid: flags.require_valid,
        control: flags.control.as_ref().map(|path| path.display().to_string()),
        seed: flags.seed,
    }
}

fn seeded(flags: &RunFlags, seed: u64) -> Result<Plan, Fault> {
    check_company(flags)?;
    let plan = draft(flags, seed)?.check()?;
    plimsoll_engine::check(&plan)?;
    Ok(plan)
}

/// Flags that say something about what another one gives.
fn check_company(flags: &RunFlags) -> Result<(), PlanError> {
    if flags.url.as_deref().is_some_and(crate::value_args::is_script) {
        let problem = "only run takes k6 scripts";
        let advice = "give a URL, or carry the script out with `plimsoll run SCRIPT`";
        return Err(PlanError::new(Field::Url, problem, advice));
    }
    if flags.url.is_none()
        && let Some(advice) = flags.outputs.json.as_deref().and_then(habits::url_for_a_file)
    {
        return Err(PlanError::new(Field::Url, "the URL stands behind --json", advice));
    }
    if !flags.env.is_empty() {
        let problem = "variables are for a k6 script";
        let advice = "name it in place of the URL of `plimsoll run`";
        return Err(PlanError::new(Field::Url, problem, advice));
    }
    if flags.tls.key.is_some() && flags.tls.cert.is_none() {
        return Err(key_without_cert());
    }
    let request = &flags.request;
    let (targets, script) = (request.targets.is_some(), flags.script.is_some());
    let lonely = |field| match field {
        Field::Order => request.order.is_some() && !targets,
        Field::TargetsFormat => request.targets_format.is_some() && !targets,
        Field::ScriptArguments => !flags.script_arguments.is_empty() && !script,
        _ => false,
    };
    let what = [Field::Order, Field::TargetsFormat, Field::ScriptArguments];
    let Some(field) = what.into_iter().find(|field| lonely(*field)) else { return Ok(()) };
    let (problem, advice) = match field {
        Field::ScriptArguments => (
            Message::from("what stands behind -- is for a script"),
            Message::from("give it with ") + name(Field::Script),
        ),
        field => (
            name(field) + " is about several requests",
            Message::from("give them with ") + name(Field::Targets),
        ),
    };
    Err(PlanError::new(field, problem, advice))
}

/// The parts of a plan, as the flags give them.
fn draft(flags: &RunFlags, seed: u64) -> Result<Draft, Fault> {
    let mut sent = sent(&flags.request, flags.url.as_deref(), seed)?;
    let grpc = called(&flags.grpc)?;
    if let Some(grpc) = &grpc {
        call(&mut sent, grpc);
    }
    let (http2, websocket) = spoken(flags, &sent.endpoint);
    let default = Draft::new(sent.endpoint);
    let (duration_ns, rate) = schedule(flags, default.duration_ns);
    Ok(Draft {
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
        http_version: http_version(flags.request.http.as_deref(), grpc.is_some()),
        http2,
        grpc,
        websocket,
        tls: flags.tls.tls().map_err(|(field, line)| Fault::File(field, line))?,
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
        resends: !flags.connection.no_resend,
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
        details: DetailsPlan { transcripts: flags.verbose, ..DetailsPlan::default() },
        masks: Masks { names: flags.redact.clone(), shows_all: flags.show_secrets },
        ..default
    })
}

/// What is odd about plans that can still be carried out, in a line each.
pub(crate) fn notes(scenarios: &Scenarios) -> Vec<String> {
    scenarios.list().iter().filter_map(note).collect()
}

fn note(scenario: &Scenario) -> Option<String> {
    let plan = &scenario.plan;
    let order = match plan.order {
        Order::Sequential => "sequential",
        Order::Random => "random",
        Order::Weighted => return None,
    };
    let of = match scenario.name.as_str() {
        "" => String::new(),
        name => format!("scenario {name}: "),
    };
    let line = || {
        format!(
            "note: {of}--order {order} takes every target as often, whatever its weight: leave \
             --order out to go by the weights"
        )
    };
    plan.has_unlike_weights().then(line)
}

/// Makes a call of what is sent. A path of the URL's own stays, and is refused.
fn call(sent: &mut Sent, grpc: &GrpcPlan) {
    sent.request.method = "POST".to_owned();
    if sent.endpoint.path.reveal() == "/" {
        sent.endpoint.path = grpc.path().into();
    }
}

/// How HTTP/2 and WebSocket are spoken. Both have several requests in flight, by the same flag.
fn spoken(flags: &RunFlags, endpoint: &Endpoint) -> (Http2Plan, WebSocketPlan) {
    let (http2, websocket) = (flags.http2.plan(), &flags.request.websocket);
    if endpoint.is_websocket() {
        let streams = Http2Plan::default().streams;
        return (Http2Plan { streams, ..http2 }, websocket.plan(http2.streams));
    }
    (http2, websocket.plan(WebSocketPlan::default().in_flight))
}

fn http_version(given: Option<&str>, is_grpc: bool) -> HttpVersion {
    match given {
        Some("2") => HttpVersion::Http2,
        Some("auto") => HttpVersion::Auto,
        None if is_grpc => HttpVersion::Http2,
        _ => HttpVersion::Http1,
    }
}

fn threads(flags: &RunFlags) -> u32 {
    // A script has a state for each thread, so their number is not left to the machine.
    let default = u32::from(flags.script.is_some());
    flags.threads.unwrap_or(default)
}

fn script(flags: &RunFlags) -> Result<Option<Script>, Fault> {
    let Some(path) = &flags.script else { return Ok(None) };
    let path = path.display().to_string();
    let text = crate::files::script(&path).map_err(|line| Fault::File(Field::Script, line))?;
    Ok(Some(Script { path, text: text.into(), arguments: flags.script_arguments.clone() }))
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
fn trace(path: &Path) -> Result<Trace, Fault> {
    let name = path.display().to_string();
    let wrong = |place: &str, why: &str| {
        Fault::File(Field::RateFile, format!("rate file '{name}'{place}{why}"))
    };
    let text = text_of(path).map_err(|why| wrong(": ", &why))?;
    let mut offsets_ns: Vec<u64> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let field = line.split([',', ' ', '\t']).next().unwrap_or_default().trim();
        if field.is_empty() || field.starts_with('#') {
            continue;
        }
        let has_unit = field.ends_with(|c: char| c.is_ascii_alphabetic());
        let seconds = if has_unit { field.to_owned() } else { format!("{field}s") };
        let at = |why: &str| wrong(&format!(", line {number}: "), why);
        let offset_ns = parse_duration_ns(&seconds)
            .map_err(|_| at(&format!("'{field}' is not a time after the start, such as 0.25")))?;
        if offsets_ns.last().is_some_and(|last_ns| *last_ns > offset_ns) {
            return Err(at(&format!("'{field}' is before the time above it: sort the file")));
        }
        offsets_ns.push(offset_ns);
    }
    if offsets_ns.is_empty() {
        return Err(wrong("", " holds no times"));
    }
    Ok(Trace { path: name, offsets_ns })
}

/// The driver that a flag asks for.
pub(crate) fn driver(flag: DriverFlag) -> DriverPlan {
    match flag {
        DriverFlag::Auto => DriverPlan::Auto,
        DriverFlag::Uring => DriverPlan::Uring,
        DriverFlag::Epoll => DriverPlan::Epoll,
    }
}

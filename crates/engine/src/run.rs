//! A run from plan to result: resolve names, check the host, start the workers together, collect
//! their records, and judge them.

mod inquiry;
mod probe;
mod reflect;
mod scenarios;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use plimsoll_conn::{
    Echo, EchoRequest, Encoding, Http1, Http1Request, Http2, Http2Request, WebSocket,
    WebSocketRequest,
};
use plimsoll_core::plan::{HttpVersion, Spin};
use plimsoll_core::result::RunResult;
use plimsoll_core::{Histogram, Phase, Plan};
use plimsoll_io::clock;
use plimsoll_io::host::{HostEnvironment, cpu_limit};
use plimsoll_io::{Address, Route};
use plimsoll_script::lua::{Interrupter, Thread};

use crate::control::Control;
use crate::crew::{Crew, Progress, Spinning, no_thread};
use crate::error::{OTHER, OpeningError, RunError};
use crate::judge::Judge;
use crate::lookup::Lookup;
use crate::muster::{Muster, Post};
use crate::outcome::{Gathered, assemble};
use crate::preflight;
use crate::record::Record;
use crate::setup::setup;
use crate::source::Prepared;
use crate::spoken::{Spoken, Version};
use crate::websocket::replies;
use crate::worker::{Assignment, INTERRUPT_DRAIN_NS, Member};

pub use inquiry::{Answer, Inquiry};
use probe::agreed;
pub use probe::probe;
pub use scenarios::run_scenarios;

/// How long a script may go on after the run should have been over, with the drain of one that was
/// stopped, and between looks at that.
const SCRIPT_GRACE_NS: u64 = INTERRUPT_DRAIN_NS + 500_000_000;
const SCRIPT_LOOK: Duration = Duration::from_millis(50);

/// Finds what [`run`] would refuse before it looks at the network, and what the plan's own check
/// cannot know.
///
/// # Errors
/// A request, an expectation, or a certificate that cannot be used.
pub fn check(plan: &Plan) -> Result<(), RunError> {
    match plan.http_version {
        _ if plan.endpoint.is_websocket() => {
            check_requests::<WebSocketRequest>(plan)?;
            replies(plan)?;
        }
        _ if plan.endpoint.is_echo() => check_requests::<EchoRequest>(plan)?,
        HttpVersion::Http1 => check_requests::<Http1Request>(plan)?,
        HttpVersion::Http2 => check_requests::<Http2Request>(plan)?,
        HttpVersion::Auto => {
            check_requests::<Http1Request>(plan)?;
            check_requests::<Http2Request>(plan)?;
        }
    }
    setup(plan).map(drop)
}

fn check_requests<E: Encoding>(plan: &Plan) -> Result<(), RunError> {
    Judge::new(plan, &Prepared::<E>::new(plan)?).map(drop)
}

/// Carries out a plan.
///
/// # Errors
/// When nothing could be run, or when the ledger does not balance at the end: a bug, and no result
/// is better than a wrong one. What goes wrong within a run stands in its result.
pub fn run(
    plan: &Plan,
    control: &Control,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<RunResult, RunError> {
    run_scripted(plan, Vec::new(), control, on_progress).map(|(result, _)| result)
}

/// Carries out a plan that scripts decide on, one for each worker; gives them back as they have
/// become. Without any it is [`run`].
///
/// # Errors
/// Those of [`run`], and what goes wrong in a script.
///
/// # Panics
/// When there are scripts, but not as many as the plan has workers.
pub fn run_scripted(
    plan: &Plan,
    scripts: Vec<Thread>,
    control: &Control,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(RunResult, Vec<Thread>), RunError> {
    let muster = Muster::new(1, plan.warmup_ns);
    let company = Company { member: Member::ALONE, post: muster.post(), files: 0 };
    carry_out(plan, scripts, company, control, on_progress)
}

/// What a run has to know of those that go on beside it.
struct Company<'m> {
    member: Member,
    /// Where it waits for them.
    post: Post<'m>,
    /// The file descriptors that they need.
    files: u64,
}

/// Carries out a plan beside others, or alone.
fn carry_out(
    plan: &Plan,
    scripts: Vec<Thread>,
    mut company: Company<'_>,
    control: &Control,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(RunResult, Vec<Thread>), RunError> {
    assert!(scripts.is_empty() || scripts.len() == plan.workers as usize, "one for each worker");
    check(plan)?;
    let member = company.member;
    let mut lookup = Lookup::of(plan);
    let (mut addresses, dns) = timed(&lookup)?;
    let takes_first = plan.transport.first_address_only;
    lookup.leave_out_dead(&mut addresses, takes_first)?;
    if takes_first {
        addresses.truncate(1);
    }
    let routes = lookup.routes(&addresses)?;
    let learned = reflect::learned(plan, &lookup, &routes, control)?;
    let plan = learned.as_ref().unwrap_or(plan);
    let version = agreed(plan, &lookup, &routes, control)?;
    let environment = HostEnvironment::read();
    let cpus_allowed = environment.cpus_allowed.len() as u32;
    let workers = preflight::workers(plan, &addresses, (cpus_allowed / member.count).max(1));
    preflight::check_limits(plan, workers, routes.len(), company.files)?;
    // Those beside it are taken to have as many.
    let of_all = workers.saturating_mul(member.count);
    let spin = preflight::spin(plan, of_all, cpus_allowed, environment.cores_online, cpu_limit());
    let (cpus, signals) = (&environment.cpus_allowed[..], &*control.signals);
    let spinning = (spin == Spin::Auto).then_some(Spinning { cpus, workers: of_all, signals });
    let plan = Arc::new(plan.with_workers(workers));
    let refresh_ns = plan.transport.dns_refresh_ns.filter(|_| lookup.can_change());
    let terms = Terms {
        plan: Arc::clone(&plan),
        routes: routes.clone().into(),
        addresses_change: refresh_ns.is_some(),
        spin,
        member,
    };
    let interrupters: Vec<Interrupter> = scripts.iter().map(Thread::interrupter).collect();
    let (mut crew, hired) = match version {
        Version::Http1 => terms.hire::<Http1>(scripts, control)?,
        Version::Http2 => terms.hire::<Http2>(scripts, control)?,
        Version::WebSocket => terms.hire::<WebSocket>(scripts, control)?,
        Version::Echo => terms.hire::<Echo>(scripts, control)?,
    };
    let (ready, started_at, (returned, series, watch)) = thread::scope(|scope| {
        // Dropped at the end of the scope, when no worker is left, which ends the watches.
        let (_going_on, over) = channel();
        let (_scripts_go_on, scripts_over) = channel();
        let led = hired.and_then(|()| {
            let mut ready = crew.await_ready(control)?;
            if ready.opens && ready.open == 0 && !control.is_stopped() {
                return Err(unreachable(&lookup, ready.error));
            }
            let may_fail = plan.first_request.is_none_or(|first| first.may_fail);
            if let Some(failure) = ready.first_failure.take().filter(|_| !may_fail) {
                return Err(RunError::FirstRequest(failure));
            }
            let zero = company.post.arrive().ok_or(RunError::GivenUp)?;
            let started_at = zero.at + Duration::from_nanos(member.start_ns);
            let measured_ns = zero.at_ns.saturating_add(member.start_ns);
            let start_ns = measured_ns - plan.warmup_ns;
            control.begin(&plan, start_ns);
            crew.start(start_ns);
            on_progress(Progress::Started { open: ready.open });
            if !interrupters.is_empty() {
                let ends_ns = last_ns(&plan, start_ns);
                let scripts = &interrupters;
                let interrupt = move || interrupt_late(scripts, ends_ns, control, &scripts_over);
                thread::Builder::new().spawn_scoped(scope, interrupt).map_err(no_thread)?;
            }
            if let Some(every_ns) = refresh_ns {
                let lookup = &lookup;
                let tell = |routes| control.set_routes(routes);
                let watch = move || lookup.watch(every_ns, routes, &over, tell);
                thread::Builder::new().spawn_scoped(scope, watch).map_err(no_thread)?;
            }
            let gathered = crew.gather(measured_ns, spinning, on_progress)?;
            Ok((ready, started_at, gathered))
        });
        if led.is_err() {
            control.stop();
        }
        let dismissed = crew.dismiss();
        led.and_then(|led| dismissed.map(|()| led))
    })?;
    let (records, scripts): (Vec<Record>, Vec<Option<Thread>>) = returned.into_values().unzip();
    let changes = control.take_changes();
    let script_stopped = interrupters.iter().any(Interrupter::is_interrupted);
    let driver = ready.driver;
    let left_out = lookup.left_out();
    let gathered =
        Gathered { records, series, dns, driver, started_at, changes, script_stopped, left_out };
    let result = assemble(&plan, &environment, gathered, &watch)?;
    Ok((result, scripts.into_iter().flatten().collect()))
}

/// What workers are told, whatever they speak.
struct Terms {
    plan: Arc<Plan>,
    routes: Arc<[Route]>,
    addresses_change: bool,
    spin: Spin,
    member: Member,
}

impl Terms {
    /// Starts the workers, which speak `P`. They are to be dismissed also where one failed.
    fn hire<P: Spoken>(
        self,
        scripts: Vec<Thread>,
        control: &Control,
    ) -> Result<(Crew, Result<(), RunError>), RunError> {
        let Self { plan, routes, addresses_change, spin, member } = self;
        let assignment = Assignment::<P::Encoding>::new(plan, routes, addresses_change, spin)?;
        Ok(Crew::hire::<P>(&assignment.with_member(member), scripts, control))
    }
}

/// When a run should be over at the latest, drain and all; `u64::MAX` without a duration.
fn last_ns(plan: &Plan, start_ns: u64) -> u64 {
    let duration_ns = plan.duration_ns.unwrap_or(u64::MAX);
    [plan.warmup_ns, duration_ns, plan.drain_ns].iter().fold(start_ns, |t, d| t.saturating_add(*d))
}

/// Waits until the run is over. Scripts that still run a while after it should have been, or after
/// it was stopped, are interrupted: one that loops for ever never gives its worker back.
fn interrupt_late(
    interrupters: &[Interrupter],
    ends_ns: u64,
    control: &Control,
    over: &Receiver<()>,
) {
    let mut ends_ns = ends_ns.saturating_add(SCRIPT_GRACE_NS);
    while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(SCRIPT_LOOK) {
        let now_ns = clock::now_ns();
        if control.is_stopped() {
            ends_ns = ends_ns.min(now_ns + SCRIPT_GRACE_NS);
        }
        if now_ns >= ends_ns {
            interrupters.iter().for_each(Interrupter::interrupt);
        }
    }
}

/// Looks the server up and takes the time of it.
fn timed(lookup: &Lookup) -> Result<(Vec<Address>, Histogram), RunError> {
    let before_ns = clock::now_ns();
    let addresses = lookup.addresses()?;
    let mut dns = Histogram::new();
    if lookup.is_of_a_name() {
        dns.record(clock::now_ns() - before_ns);
    }
    Ok((addresses, dns))
}

fn unreachable(lookup: &Lookup, error: Option<OpeningError>) -> RunError {
    let untold = || OpeningError {
        phase: Phase::Connect,
        kind: OTHER,
        reason: "none was open when all had been tried".to_owned(),
    };
    let OpeningError { phase, reason, .. } = error.unwrap_or_else(untold);
    RunError::Unreachable { address: lookup.place(), phase, reason }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use plimsoll_core::plan::{Draft, Endpoint};

    use super::*;

    /// The second worker cannot be tied to its CPU; the first has opened its connections by then,
    /// or is about to.
    #[test]
    fn when_a_worker_fails_the_others_are_gone_before_it_is_said() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        for _ in 0..20 {
            let control = Control::default();
            let plan = Draft {
                connections: 4,
                workers: 2,
                pin: vec![0, 100_000],
                ..Draft::new(Endpoint::http("127.0.0.1", port, "/"))
            };
            let plan = plan.check().expect("a plan");
            let error = run(&plan, &control, &mut |_| {}).unwrap_err().to_string();
            assert!(error.contains("CPU 100000"), "{error}");
            assert_eq!(Arc::strong_count(&control.signals), 1, "a worker goes on");
        }
    }
}

//! Flags to plan.

use std::fs;

use plimsoll_core::Plan;
use plimsoll_core::plan::{Body, DriverPlan, Request, Spin};
use plimsoll_core::schedule::Profile;

use crate::args::{DriverFlag, RunFlags, SpinFlag};
use crate::exit::Exit;
use crate::url;

/// Makes a plan of the flags of `run`, reading the body's file.
///
/// # Errors
/// Usage for flags that make no sense together, and a body file that cannot be read.
pub(crate) fn plan(flags: &RunFlags) -> Result<Plan, Exit> {
    let endpoint = url::parse(&flags.url).map_err(Exit::Usage)?;
    let body = flags.body.as_deref().map(body).transpose()?;
    let default_method = if body.is_some() { "POST" } else { "GET" };
    let method = flags.method.clone().unwrap_or_else(|| default_method.to_owned());
    let headers = flags.headers.iter().map(|text| header(text)).collect::<Result<_, _>>()?;
    let default = Plan::new(endpoint);
    let (duration_ns, rate) = schedule(flags, default.duration_ns);
    let plan = Plan {
        request: Request {
            method,
            http_minor: u8::from(flags.http == "1.1"),
            headers,
            body,
            ..Request::get()
        },
        connections: flags.connections,
        workers: threads(flags)?,
        duration_ns,
        requests: flags.requests,
        rate,
        warmup_ns: flags.warmup,
        drain_ns: flags.drain,
        timeout_ns: flags.timeout,
        requests_per_connection: if flags.no_keepalive { Some(1) } else { flags.requests_per_conn },
        pipeline: flags.pipeline,
        driver: driver(flags.driver),
        spin: match flags.spin {
            SpinFlag::Auto => Spin::Auto,
            SpinFlag::On => Spin::On,
            SpinFlag::Off => Spin::Off,
        },
        pin: flags.pin.clone(),
        seed: flags.seed,
        ..default
    };
    plan.check().map_err(|error| Exit::Usage(error.to_string()))?;
    Ok(plan)
}

fn threads(flags: &RunFlags) -> Result<u32, Exit> {
    match flags.threads {
        Some(0) => Err(Exit::Usage("-t 0 leaves nobody to send: give 1 or more".to_owned())),
        threads => Ok(threads.unwrap_or(0)),
    }
}

fn schedule(flags: &RunFlags, default_ns: Option<u64>) -> (Option<u64>, Option<Profile>) {
    let arrival = flags.arrival.into();
    if let Some(stages) = &flags.stages {
        let profile = Profile { stages: stages.0.clone(), arrival };
        return (profile.duration_ns(), Some(profile));
    }
    let duration_ns = match (flags.duration, flags.requests) {
        (None, None) => default_ns,
        (duration_ns, _) => duration_ns,
    };
    let rate = flags.rate.map(|rate_uhz| Profile::constant(rate_uhz, duration_ns, arrival));
    (duration_ns, rate)
}

fn driver(flag: DriverFlag) -> DriverPlan {
    match flag {
        DriverFlag::Auto => DriverPlan::Auto,
        DriverFlag::Uring => DriverPlan::Uring,
        DriverFlag::Epoll => DriverPlan::Epoll,
    }
}

fn body(text: &str) -> Result<Body, Exit> {
    let Some(path) = text.strip_prefix('@') else {
        return Ok(Body::new(text.as_bytes().to_vec()));
    };
    fs::read(path)
        .map(Body::new)
        .map_err(|error| Exit::CouldNotRun(format!("body file '{path}': {error}")))
}

fn header(text: &str) -> Result<(String, String), Exit> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| Exit::Usage(format!("header '{text}' has no colon: write 'Name: value'")))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

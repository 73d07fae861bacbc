//! What a worker is told before it starts: the plan, its number, and what all workers of a run
//! share.

use std::sync::Arc;

use plimsoll_conn::{Encoding, Setup};
use plimsoll_core::Plan;
use plimsoll_core::metric::Registry;
use plimsoll_core::plan::{Endpoint, Spin, Timestamps};
use plimsoll_core::schedule::share;
use plimsoll_io::{DriverOptions, Route, SocketOptions};
use plimsoll_script::lua::Thread;

use crate::admission::Tickets;
use crate::error::RunError;
use crate::judge::Judge;
use crate::progress::Progress;
use crate::routes::Routes;
use crate::scripted::is_fixed;
use crate::source::{Prepared, Targets};

/// One receive takes this much at most. Large bodies cost less CPU in large pieces
/// (docs/performance.md); of a buffer that a small response is in, only the first page is resident.
const RECEIVE_BUFFER_BYTES: u32 = 32_768;

/// A server that requests go to: how to get there.
#[derive(Debug, Clone)]
pub struct Origin {
    /// Its name, as a redirect to itself may write it; the path stands for nothing.
    pub endpoint: Endpoint,
    /// The ways to it.
    pub routes: Arc<[Route]>,
    /// How connections to it are set up.
    pub setup: Setup,
}

/// A run among those that one process carries out at the same time: the scenarios of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Its number, from 0.
    pub number: u32,
    /// How many there are.
    pub count: u32,
    /// When its measured part begins, ns after that of all of them.
    pub start_ns: u64,
}

impl Member {
    /// A run that has the process to itself.
    pub const ALONE: Self = Self { number: 0, count: 1, start_ns: 0 };
}

/// What a worker is told.
#[derive(Debug)]
pub struct Assignment<E: Encoding> {
    pub(crate) plan: Arc<Plan>,
    pub(crate) prepared: Arc<Prepared<E>>,
    pub(crate) judge: Arc<Judge>,
    pub(crate) routes: Arc<[Route]>,
    pub(crate) setup: Setup,
    /// Further origins, to which connections are opened when they are needed.
    pub(crate) origins: Vec<Origin>,
    /// The metrics that the run's source has declared.
    pub(crate) metrics: Arc<Registry>,
    pub(crate) tickets: Arc<Tickets>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) tracks_addresses: bool,
    spin: Spin,
    pub(crate) member: Member,
    pub(crate) worker: u32,
}

impl<E: Encoding> Assignment<E> {
    /// The first worker's part of the plan, which says how many workers there are. Requests
    /// are told apart by address if there are several, or if there may be (`addresses_change`).
    ///
    /// # Errors
    /// A request that cannot be written, or an expectation that cannot be checked.
    pub fn new(
        plan: Arc<Plan>,
        routes: Arc<[Route]>,
        addresses_change: bool,
        spin: Spin,
    ) -> Result<Self, RunError> {
        let prepared = Arc::new(Prepared::new(&plan)?);
        let judge = Arc::new(Judge::new(&plan, &prepared)?);
        let tracks_addresses = addresses_change || Routes::new(&routes).has_several_addresses();
        let (tickets, progress) = (Arc::new(Tickets::of(&plan)), Arc::default());
        let setup = Setup::default();
        let (member, worker) = (Member::ALONE, 0);
        let origins = Vec::new();
        let metrics = Arc::default();
        Ok(Self {
            plan,
            prepared,
            judge,
            routes,
            setup,
            origins,
            metrics,
            tickets,
            progress,
            tracks_addresses,
            spin,
            member,
            worker,
        })
    }

    /// The same run, another worker's part. What connections are set up with is each worker's own.
    #[must_use]
    pub fn for_worker(&self, worker: u32, setup: Setup) -> Self {
        Self {
            plan: Arc::clone(&self.plan),
            prepared: Arc::clone(&self.prepared),
            judge: Arc::clone(&self.judge),
            routes: Arc::clone(&self.routes),
            setup,
            origins: self.origins.clone(),
            metrics: Arc::clone(&self.metrics),
            tickets: Arc::clone(&self.tickets),
            progress: Arc::clone(&self.progress),
            tracks_addresses: self.tracks_addresses,
            spin: self.spin,
            member: self.member,
            worker,
        }
    }

    /// Which worker it is for.
    #[must_use]
    pub fn worker(&self) -> u32 {
        self.worker
    }

    /// The same, of a run that others go on beside.
    #[must_use]
    pub fn with_member(self, member: Member) -> Self {
        Self { member, ..self }
    }

    /// The same, with further origins: the plan's is number 0, these follow.
    #[must_use]
    pub fn with_origins(self, origins: Vec<Origin>) -> Self {
        let endpoints = origins.iter().map(|origin| &origin.endpoint);
        let judge = Arc::new(self.judge.with_origins(endpoints));
        Self { origins, judge, ..self }
    }

    /// The same, of a source that has declared these metrics.
    #[must_use]
    pub fn with_metrics(self, metrics: Arc<Registry>) -> Self {
        Self { metrics, ..self }
    }

    /// The same, with a script's way of its own: the request that it has made, where that never
    /// changes, and the address it has chosen.
    #[must_use]
    pub fn with_script(mut self, thread: &Thread) -> Self {
        if let Some(bytes) = thread.fixed().filter(|_| is_fixed(thread)) {
            self.prepared = Arc::new(Prepared::of_written(bytes));
        }
        if let Some(address) = thread.address() {
            let from = self.routes.iter().find_map(|route| route.from);
            let from = from.filter(|from| from.is_ipv4() == address.is_ipv4());
            self.routes = [Route { to: address.into(), from }].into();
        }
        self
    }

    /// What a plain run sends.
    #[must_use]
    pub fn source(&self) -> Targets {
        self.prepared.source()
    }

    /// The plan it is part of.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The CPU it is to be tied to, if the plan says so. CPUs are dealt in turn, over the workers
    /// of all runs that go on.
    #[must_use]
    pub fn pinned_to(&self) -> Option<usize> {
        let pin = &self.plan.pin;
        let Member { number, count, .. } = self.member;
        let turn = self.worker as usize * count as usize + number as usize;
        (!pin.is_empty()).then(|| pin[turn % pin.len()] as usize)
    }

    /// What its driver has to be set up for.
    #[must_use]
    pub fn driver_options(&self) -> DriverOptions {
        let origins = 1 + self.origins.len() as u32;
        let sockets = self.share(self.plan.connections_limit()) * origins;
        // A datagram is received whole or cut.
        let datagram_bytes = match self.plan.endpoint.is_datagram() {
            true => self.prepared.request_bytes_max() as u32,
            false => 0,
        };
        DriverOptions {
            sockets,
            reserved: sockets,
            receivers: sockets,
            receive_buffer_bytes: RECEIVE_BUFFER_BYTES.max(datagram_bytes),
            long_lived: !self.plan.connects_per_request(),
            spin: self.spin,
            receive_timestamps: self.plan.timestamps == Timestamps::Kernel,
            socket: SocketOptions::default(),
        }
    }

    /// This worker's share of `connections`.
    pub(crate) fn share(&self, connections: u32) -> u32 {
        share(connections, self.worker, self.plan.workers)
    }
}

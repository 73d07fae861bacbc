//! The built-in server as a service that workers run: what it serves, where, and on how many
//! threads.

use std::net::SocketAddr;

use plimsoll_io::select::DriverChoice;
use plimsoll_io::{Driver, clock};

use crate::options::{Counters, ServeError, ServerOptions};
use crate::route::Role;
use crate::server::Server;
use crate::workers::{Running, Seat, Service, Threads};

/// What to serve, where, and how.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// What to serve at which address; port 0 stands for a free one.
    pub roles: Vec<(Role, SocketAddr)>,
    /// Threads, each with a driver of its own; at least 1.
    pub workers: usize,
    /// Faults, limits, and how long stopping may take.
    pub server: ServerOptions,
    /// Which driver to run on.
    pub driver: DriverChoice,
    /// CPUs to tie the workers to, taken in turn.
    pub pin: Option<Vec<usize>>,
    /// Connections that one worker takes at once; at least 1.
    pub connections_max: u32,
}

/// Servers that run until stopped.
pub type RunningServer = Running<ServeOptions>;

impl Default for ServeOptions {
    /// Every route on a free port of 127.0.0.1, by one worker on the best driver there is.
    fn default() -> Self {
        Self {
            roles: vec![(Role::All, SocketAddr::from(([127, 0, 0, 1], 0)))],
            workers: 1,
            server: ServerOptions::default(),
            driver: DriverChoice::Auto,
            pin: None,
            connections_max: 16_384,
        }
    }
}

/// Bytes in a receive buffer: requests are small, and small buffers stay in the cache.
const RECEIVE_BUFFER_BYTES: u32 = 4096;

impl Service for ServeOptions {
    type Address = (Role, SocketAddr);
    type Counters = Counters;

    const NAME: &'static str = "serve";

    fn check(&self) -> Result<(), &'static str> {
        match self {
            Self { workers: 0, .. } => Err("at least one worker is needed"),
            Self { connections_max: 0, .. } => Err("at least one connection must be allowed"),
            Self { roles, .. } if roles.is_empty() => Err("there is no address to serve"),
            Self { pin: Some(cpus), .. } if cpus.is_empty() => Err("there is no CPU to pin to"),
            _ => Ok(()),
        }
    }

    fn threads(&self) -> Threads<'_> {
        Threads {
            workers: self.workers,
            driver: self.driver,
            pin: self.pin.as_deref(),
            reserved: self.roles.len() as u32,
            accepted: self.connections_max,
            receive_buffer_bytes: RECEIVE_BUFFER_BYTES,
        }
    }

    fn addresses(&self) -> &[Self::Address] {
        &self.roles
    }

    fn socket((_, address): &Self::Address) -> SocketAddr {
        *address
    }

    fn work<D: Driver>(&self, driver: D, seat: &Seat<'_, Self>) -> Result<Counters, ServeError> {
        // Without it timers are 50 µs late, which is no reason not to serve.
        let _ = clock::set_timer_slack_ns(1);
        let (options, connections_max) = (self.server.clone(), self.connections_max);
        let mut server =
            Server::new(driver, options, connections_max, seat.number(), seat.start_ns());
        seat.listen(server.waker(), |(role, at)| Ok((role, server.listen(role, at)?)))?;
        while !server.is_finished() {
            let now_ns = server
                .step(u64::MAX)
                .map_err(|source| ServeError::Worker { action: "go on serving", source })?;
            if seat.told_to_stop(server.counters().requests) {
                server.stop(now_ns);
            }
        }
        Ok(server.counters())
    }

    fn add(sum: &mut Counters, more: &Counters) {
        sum.merge(more);
    }
}

//! A proxy as a service that workers run: where clients connect, and which rules it follows.

use std::net::SocketAddr;

use plimsoll_io::Driver;

use super::counters::ProxyCounters;
use super::options::{ProxyOptions, UPSTREAMS_MAX};
use super::worker::ProxyWorker;
use crate::options::ServeError;
use crate::workers::{Running, Seat, Service, Threads};

/// A proxy that runs until stopped.
pub type RunningProxy = Running<ProxyOptions>;

/// Bytes in a receive buffer: heads and small bodies fit, and large ones take few receipts.
const RECEIVE_BUFFER_BYTES: u32 = 16 * 1024;

impl Service for ProxyOptions {
    type Address = SocketAddr;
    type Counters = ProxyCounters;

    const NAME: &'static str = "proxy";

    fn check(&self) -> Result<(), &'static str> {
        let rules = &self.rules;
        Err(match self {
            Self { workers: 0, .. } => "at least one worker is needed",
            Self { connections_max: 0, .. } => "at least one client must be allowed",
            Self { connections_max, .. } if *connections_max > 1 << 20 => {
                "there can be at most 1048576 clients of a worker"
            }
            Self { listen, .. } if listen.is_empty() => "there is no address to listen on",
            Self { pin: Some(cpus), .. } if cpus.is_empty() => "there is no CPU to pin to",
            _ if rules.upstreams.is_empty() => "there is no upstream to forward to",
            _ if rules.upstreams.len() > UPSTREAMS_MAX => "there can be at most 64 upstreams",
            _ if rules.limits.upstream_connections == 0 => {
                "at least one connection to each upstream must be allowed"
            }
            _ if rules.upstream_tokens() > 1 << 20 => {
                "there can be at most 1048576 connections to all upstreams together"
            }
            _ if !rules.upstreams.iter().all(|it| is_graphic(&it.authority)) => {
                "an upstream's name cannot be a Host field"
            }
            _ if rules.health.check.as_ref().is_some_and(|it| !is_path(&it.path)) => {
                "the path of a health check starts with / and has no spaces"
            }
            _ => return Ok(()),
        })
    }

    fn threads(&self) -> Threads<'_> {
        Threads {
            workers: self.workers,
            driver: self.driver,
            pin: self.pin.as_deref(),
            reserved: self.listen.len() as u32 + self.rules.upstream_tokens(),
            accepted: self.connections_max,
            receive_buffer_bytes: RECEIVE_BUFFER_BYTES,
        }
    }

    fn addresses(&self) -> &[SocketAddr] {
        &self.listen
    }

    fn socket(address: &SocketAddr) -> SocketAddr {
        *address
    }

    fn work<D: Driver>(
        &self,
        driver: D,
        seat: &Seat<'_, Self>,
    ) -> Result<ProxyCounters, ServeError> {
        let listeners = self.listen.len() as u32;
        let mut proxy =
            ProxyWorker::new(driver, self.rules.clone(), listeners, self.connections_max);
        seat.listen(proxy.waker(), |at| proxy.listen(at))?;
        while !proxy.is_finished() {
            let now_ns = proxy
                .step(u64::MAX)
                .map_err(|source| ServeError::Worker { action: "go on forwarding", source })?;
            if seat.told_to_stop(proxy.requests()) {
                proxy.stop(now_ns);
            }
        }
        Ok(proxy.counters())
    }

    fn add(sum: &mut ProxyCounters, more: &ProxyCounters) {
        sum.merge(more);
    }
}

fn is_graphic(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn is_path(text: &str) -> bool {
    text.starts_with('/') && is_graphic(text)
}

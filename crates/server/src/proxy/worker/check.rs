//! Health checks: a request of our own to each upstream, on a connection of its own, over and over.
//!
//! ```text
//!             time            connected        TLS agreed
//!   Resting ───────▶ Connecting ──▶ Handshaking ──▶ Asking ── response, or not ──▶ Resting
//! ```

use plimsoll_io::{Close, Driver, Received, Route, SocketId};
use plimsoll_proto::http1::{RequestKind, ResponseDecoder, ResponseEvent};

use super::super::deadline::{Deadline, Owner};
use super::super::options::{HealthCheck, Rules, UpstreamTls};
use super::super::wire::{Stream, Wire};
use super::ProxyWorker;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Resting,
    Connecting,
    Handshaking,
    Asking,
}

/// The check of one upstream.
#[derive(Debug)]
pub(super) struct Check {
    state: State,
    decoder: ResponseDecoder,
    request: Vec<u8>,
    interval_ns: u64,
    timeout_ns: u64,
    status: u16,
    pub(super) due: Deadline,
}

impl Check {
    /// One for each upstream, if there are to be any.
    pub(super) fn of(rules: &Rules) -> Vec<Self> {
        let Some(check) = &rules.health.check else { return Vec::new() };
        let HealthCheck { path, interval_ns, timeout_ns } = check;
        let upstreams = rules.upstreams.iter();
        let check = |authority: &str| Self {
            state: State::Resting,
            decoder: ResponseDecoder::new(rules.limits.response),
            request: format!(
                "GET {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: plimsoll-proxy\r\n\
                 Connection: close\r\n\r\n"
            )
            .into_bytes(),
            interval_ns: *interval_ns,
            timeout_ns: *timeout_ns,
            status: 0,
            due: Deadline::NONE,
        };
        upstreams.map(|upstream| check(&upstream.authority)).collect()
    }

    /// Opens its connection.
    fn start<D: Driver>(&mut self, wire: &mut Wire<D>, socket: SocketId, route: &Route) {
        self.state = State::Connecting;
        self.status = 0;
        self.decoder.reset();
        wire.driver.connect(socket, route);
    }

    /// Its connection is open. Gives whether the upstream is well, if that is known.
    pub(super) fn connected<D: Driver>(
        &mut self,
        wire: &mut Wire<D>,
        socket: SocketId,
        tls: Option<&UpstreamTls>,
    ) -> Option<bool> {
        let Some(tls) = tls else {
            self.ask(wire, socket);
            return None;
        };
        self.state = State::Handshaking;
        if wire.secure(socket, tls) { None } else { Some(false) }
    }

    fn ask<D: Driver>(&mut self, wire: &mut Wire<D>, socket: SocketId) {
        self.state = State::Asking;
        wire.send(socket, &self.request);
    }

    /// Takes what arrived. Gives whether the upstream is well, if that is known.
    pub(super) fn received<D: Driver>(
        &mut self,
        wire: &mut Wire<D>,
        received: Received,
        plain: &mut Vec<u8>,
    ) -> Option<bool> {
        if !wire.is_secure(received.socket) {
            let is_well = self.read(wire.driver.bytes(&received));
            wire.driver.release(received);
            return is_well;
        }
        plain.clear();
        let stream = wire.decrypt(&received, plain);
        let is_agreed = !wire.is_handshaking(received.socket);
        if self.state == State::Handshaking && stream == Stream::Open && is_agreed {
            self.ask(wire, received.socket);
        }
        wire.driver.release(received);
        let is_well = self.read(plain);
        match stream {
            Stream::Open => is_well,
            Stream::Ended | Stream::Failed => is_well.or_else(|| Some(self.ended())),
        }
    }

    fn read(&mut self, mut bytes: &[u8]) -> Option<bool> {
        while !bytes.is_empty() && self.state == State::Asking {
            let Ok(decoded) = self.decoder.decode(RequestKind::Plain, bytes) else {
                return Some(false);
            };
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                Some(ResponseEvent::Head(head)) => self.status = head.status,
                Some(ResponseEvent::End(_)) => return Some(self.is_healthy()),
                _ => {}
            }
        }
        None
    }

    fn is_healthy(&self) -> bool {
        (200..400).contains(&self.status)
    }

    /// Its connection has ended. Whether the upstream is well.
    pub(super) fn ended(&mut self) -> bool {
        let is_whole = self.state == State::Asking && matches!(self.decoder.end(), Ok(Some(_)));
        is_whole && self.is_healthy()
    }
}

impl<D: Driver> ProxyWorker<D> {
    pub(super) fn check_expired(&mut self, now_ns: u64, index: usize) {
        if self.checks[index].state != State::Resting {
            return self.end_check(now_ns, index, Some(false));
        }
        if self.deadline_ns.is_some() {
            return;
        }
        let deadline_ns = now_ns.saturating_add(self.checks[index].timeout_ns);
        self.set_deadline(Owner::Check(index), deadline_ns);
        let socket = self.sockets.check(index);
        self.checks[index].start(&mut self.wire, socket, &self.routes[index]);
    }

    /// Learns from a check, if it is known whether the upstream is well.
    pub(super) fn end_check(&mut self, now_ns: u64, index: usize, is_well: Option<bool>) {
        let check = &mut self.checks[index];
        let Some(is_well) = is_well.filter(|_| check.state != State::Resting) else { return };
        check.state = State::Resting;
        let next_ns = now_ns.saturating_add(check.interval_ns);
        self.wire.close(self.sockets.check(index), Close::Reset);
        self.counters.checks_failed += u64::from(!is_well);
        self.counters.put_aside += u64::from(self.pools.learn_checked(index, is_well));
        self.set_deadline(Owner::Check(index), next_ns);
    }

    /// Ends the checks that are under way.
    pub(super) fn close_checks(&mut self) {
        for index in 0..self.checks.len() {
            if self.checks[index].state != State::Resting {
                self.checks[index].state = State::Resting;
                self.wire.close(self.sockets.check(index), Close::Reset);
            }
        }
    }
}

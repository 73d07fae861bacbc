//! Health checks: a request of our own to each upstream, on a connection of its own, over and over.
//!
//! ```text
//!             time            connected        TLS agreed
//!   Resting ───────▶ Connecting ──▶ Handshaking ──▶ Asking ── response, or not ──▶ Resting
//! ```

use plimsoll_io::{Close, Driver, Received};
use plimsoll_proto::http1::{RequestKind, ResponseDecoder, ResponseEvent};

use super::super::deadline::{Deadline, Owner};
use super::super::options::{HealthCheck, Rules};
use super::super::wire::Stream;
use super::ProxyWorker;
use crate::server::Input;

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
}

impl<D: Driver> ProxyWorker<D> {
    pub(super) fn check_expired(&mut self, now_ns: u64, index: usize) {
        if self.checks[index].state != State::Resting {
            return self.check_failed(now_ns, index);
        }
        if self.deadline_ns.is_some() {
            return;
        }
        let check = &mut self.checks[index];
        check.state = State::Connecting;
        check.status = 0;
        check.decoder.reset();
        let deadline_ns = now_ns.saturating_add(check.timeout_ns);
        self.set_deadline(Owner::Check(index), deadline_ns);
        let socket = self.sockets.check(index);
        self.wire.driver.connect(socket, &self.routes[index]);
    }

    pub(super) fn on_check_connected(&mut self, now_ns: u64, index: usize) {
        let socket = self.sockets.check(index);
        let Some(tls) = &self.rules.upstreams[index].tls else { return self.ask(index) };
        self.checks[index].state = State::Handshaking;
        if !self.wire.secure(socket, tls) {
            self.check_failed(now_ns, index);
        }
    }

    fn ask(&mut self, index: usize) {
        let socket = self.sockets.check(index);
        let check = &mut self.checks[index];
        check.state = State::Asking;
        self.wire.send(socket, &check.request);
    }

    pub(super) fn on_check_received(&mut self, now_ns: u64, index: usize, received: Received) {
        if !self.wire.is_secure(received.socket) {
            self.read_check(now_ns, index, &Input::Received(&received));
            return self.wire.driver.release(received);
        }
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let stream = self.wire.decrypt(&received, &mut plain);
        let is_agreed = !self.wire.is_handshaking(received.socket);
        self.wire.driver.release(received);
        if self.checks[index].state == State::Handshaking && stream == Stream::Open && is_agreed {
            self.ask(index);
        }
        self.read_check(now_ns, index, &Input::Held(&plain));
        self.plain = plain;
        if stream != Stream::Open && self.checks[index].state != State::Resting {
            self.on_check_ended(now_ns, index);
        }
    }

    fn read_check(&mut self, now_ns: u64, index: usize, input: &Input<'_>) {
        let mut bytes = input.bytes(&self.wire.driver);
        let check = &mut self.checks[index];
        let mut is_done = false;
        while !bytes.is_empty() && check.state == State::Asking && !is_done {
            let Ok(decoded) = check.decoder.decode(RequestKind::Plain, bytes) else {
                return self.check_failed(now_ns, index);
            };
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                Some(ResponseEvent::Head(head)) => check.status = head.status,
                Some(ResponseEvent::End(_)) => is_done = true,
                _ => {}
            }
        }
        if is_done {
            let is_well = (200..400).contains(&check.status);
            self.check_done(now_ns, index, is_well);
        }
    }

    pub(super) fn on_check_ended(&mut self, now_ns: u64, index: usize) {
        let check = &mut self.checks[index];
        let is_whole = check.state == State::Asking && matches!(check.decoder.end(), Ok(Some(_)));
        let is_well = is_whole && (200..400).contains(&check.status);
        self.check_done(now_ns, index, is_well);
    }

    pub(super) fn check_failed(&mut self, now_ns: u64, index: usize) {
        self.check_done(now_ns, index, false);
    }

    fn check_done(&mut self, now_ns: u64, index: usize, is_well: bool) {
        let check = &mut self.checks[index];
        if check.state == State::Resting {
            return;
        }
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

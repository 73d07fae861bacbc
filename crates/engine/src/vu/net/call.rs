//! A request of a script that is under way: its flow, where it stands, and its moments.

use plimsoll_script::js::http::{Flow, Hop, Via};
use plimsoll_script::js::{Answer, Request, Timings};

use crate::vu::books::Actor;
use crate::vu::tally::RequestEnded;

/// Where a request stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// The slot holds no request.
    #[default]
    Free,
    /// It is held back until then, for the limit on their rate.
    Held(u64),
    /// The server's name is being looked up.
    Named,
    /// It waits for a connection.
    Waiting,
    /// It is on a connection.
    OnWire(u32),
    /// Its answer is there.
    Ended,
}

/// When what happened to a request on the wire, ns.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    /// It has its connection, and is sent.
    pub got_ns: Option<u64>,
    /// The kernel has taken all of it.
    pub wrote_ns: Option<u64>,
    /// The first byte of the response is here.
    pub first_ns: Option<u64>,
    /// How long connect and handshake took, where the connection was opened for it.
    pub connecting_ns: u64,
    pub tls_ns: u64,
}

/// The connection that a response came over.
#[derive(Debug, Default)]
pub(super) struct Over {
    pub protocol: &'static str,
    pub remote_ip: String,
    pub remote_port: u16,
    pub tls_version: &'static str,
    pub tls_cipher_suite: &'static str,
}

/// See the head of this module.
#[derive(Default)]
pub(super) struct Call {
    pub user: u32,
    /// Its number at its user.
    pub number: u32,
    pub actor: Actor,
    /// The number of its tags.
    pub tags: Option<u32>,
    pub flow: Flow,
    pub phase: Phase,
    pub site: u32,
    /// When the script asked for it, when the response came that led to this hop, or when the limit
    /// on the rate lets it go.
    pub intended_ns: u64,
    /// When the hop began.
    pub started_ns: u64,
    pub deadline_ns: u64,
    pub moments: Moments,
    pub timings: Timings,
    /// The number by which its beginning was told, once it was.
    pub begun: Option<u32>,
    pub via: Over,
    /// Whether the response leads to another hop.
    pub leads_on: bool,
    /// Whether its connection has carried a request before.
    pub is_reused: bool,
    /// Whether it was sent a second time, because the first connection turned out to be closed.
    pub is_repeated: bool,
}

impl Call {
    /// Makes it another request.
    pub(super) fn reset(
        &mut self,
        (user, number): (u32, u32),
        actor: Actor,
        now_ns: u64,
        request: &Request,
    ) {
        (self.user, self.number, self.actor) = (user, number, actor);
        self.phase = Phase::Waiting;
        self.intended_ns = now_ns.saturating_sub(request.waited_ns);
        self.started_ns = now_ns;
        self.tags = request.tags;
        self.deadline_ns = now_ns.saturating_add(request.timeout_ns);
        (self.leads_on, self.is_reused, self.is_repeated) = (false, false, false);
        self.timings = Timings::default();
        self.begun = None;
        self.forget_wire();
    }

    /// Another request on the wire begins.
    pub(super) fn begin_hop(&mut self, now_ns: u64) {
        self.started_ns = now_ns;
        self.is_repeated = false;
        self.begun = None;
        self.forget_wire();
    }

    /// Waits for another connection.
    pub(super) fn repeat(&mut self) {
        self.phase = Phase::Waiting;
        self.forget_wire();
        self.is_repeated = true;
    }

    fn forget_wire(&mut self) {
        self.moments = Moments::default();
        self.is_reused = false;
        self.via.remote_ip.clear();
        self.via.remote_port = 0;
        (self.via.protocol, self.via.tls_version, self.via.tls_cipher_suite) = ("", "", "");
    }

    /// The request on the wire has ended: how long its parts took.
    pub(super) fn end_hop(&mut self, now_ns: u64) {
        let Moments { got_ns, wrote_ns, first_ns, connecting_ns, tls_ns } = self.moments;
        let got = got_ns.unwrap_or(now_ns);
        // A response may come before the kernel says that it has taken the request.
        let first = first_ns.unwrap_or(now_ns).max(got);
        let wrote = wrote_ns.unwrap_or(first).clamp(got, first);
        self.timings = Timings {
            blocked_ns: got.saturating_sub(self.started_ns),
            connecting_ns,
            tls_handshaking_ns: tls_ns,
            sending_ns: wrote - got,
            waiting_ns: first - wrote,
            receiving_ns: now_ns.saturating_sub(first),
        };
    }

    /// What a request on the wire that has ended has come to.
    pub(super) fn ended<'a>(
        &'a self,
        hop: &Hop<'a>,
        now_ns: u64,
        unread_ns: u64,
    ) -> RequestEnded<'a> {
        RequestEnded {
            begun: self.begun,
            method: hop.method,
            url: hop.url,
            name: hop.url,
            status: hop.status,
            proto: if hop.error.is_empty() { self.via.protocol } else { "" },
            tls_version: self.via.tls_version,
            remote_ip: &self.via.remote_ip,
            error: hop.error,
            error_code: hop.error_code,
            errno: hop.errno,
            is_expected: hop.is_expected,
            tags: self.tags,
            intended_ns: self.intended_ns,
            started_ns: self.started_ns,
            is_redirected: hop.is_redirected,
            is_resent: self.is_repeated,
            ended_ns: now_ns,
            unread_ns,
            timings: self.timings,
        }
    }

    /// The answer, once it is there.
    pub(super) fn answer(&self) -> Answer<'_> {
        let via = Via {
            protocol: self.via.protocol,
            remote_ip: &self.via.remote_ip,
            remote_port: self.via.remote_port,
            tls_version: self.via.tls_version,
            tls_cipher_suite: self.via.tls_cipher_suite,
        };
        self.flow.answer(self.number, &via, self.timings)
    }
}

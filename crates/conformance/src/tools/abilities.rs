//! The loads a tester can be asked for, as data, and the reason when an ask goes beyond them.
//!
//! Absent on purpose: whether the tester does what it is asked. The experiments find that out.

use crate::tool::{Ask, Call, Http2Over, Need, Rpc};

/// Which values of a quantity can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Amount {
    /// None.
    No,
    /// Whole numbers from one.
    Whole,
    /// Any above zero.
    Any,
}

impl Amount {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::No => false,
            Self::Whole => value >= 1.0 && value.fract() == 0.0,
            Self::Any => value > 0.0,
        }
    }
}

/// What a tester can be told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Abilities {
    /// To send as fast as the answers come.
    pub(super) closed_loop: bool,
    /// Requests per second.
    pub(super) rate: Amount,
    /// Exactly how many requests.
    pub(super) count: bool,
    /// How long, seconds.
    pub(super) duration: Amount,
    /// How long one request may take, seconds.
    pub(super) timeout: Amount,
    /// Load before the measured part, seconds.
    pub(super) warmup: Amount,
    /// To refuse a server whose certificate is not good.
    pub(super) verify: bool,
    /// HEAD.
    pub(super) head: bool,
    /// How many addresses for a name.
    pub(super) resolve: usize,
    /// How many addresses to send from.
    pub(super) sources: usize,
    /// Where to speak HTTP/2.
    pub(super) http2: Option<Http2Over>,
    /// Which of the rest.
    pub(super) need: fn(&Need) -> bool,
}

/// What most testers have in common; the rest of each is in its own file.
pub(super) const PLAIN: Abilities = Abilities {
    closed_loop: true,
    rate: Amount::No,
    count: true,
    duration: Amount::Any,
    timeout: Amount::Any,
    warmup: Amount::No,
    verify: true,
    head: true,
    resolve: 0,
    sources: 0,
    http2: None,
    need: |_| false,
};

/// A timeout that asks for patience, which a tester without any timeout has, seconds.
const PATIENCE_S: f64 = 60.0;

impl Abilities {
    /// The call that says why the ask goes beyond this, if it does.
    pub(super) fn refuse(&self, ask: &Ask) -> Option<Call> {
        let reason = self.load(ask).or_else(|| self.means(ask)).or_else(|| self.needs(ask))?;
        Some(Call::CannotExpress(reason))
    }

    /// How much and how long.
    fn load(&self, ask: &Ask) -> Option<String> {
        match ask.rate_rps {
            None if !self.closed_loop && ramp(ask).is_none() => return said("no closed loop"),
            Some(_) if self.rate == Amount::No => return said("no fixed rate"),
            Some(rate) if !self.rate.holds(rate) => return said("only whole rates"),
            _ => {}
        }
        if ask.poisson {
            return said("no Poisson arrivals");
        }
        match (ask.duration_s, ask.requests) {
            (None, None) => return said("neither a duration nor a count"),
            (Some(_), Some(_)) => return said("not a duration and a count at once"),
            (None, Some(_)) if !self.count => return said("no exact count"),
            (Some(_), None) if self.duration == Amount::No => return said("no duration"),
            (Some(length), None) if !self.duration.holds(length) => {
                return said("only whole seconds");
            }
            _ => {}
        }
        let timeout = ask.timeout_s.filter(|timeout| !self.timeout.holds(*timeout));
        let timeout = timeout.filter(|timeout| self.timeout != Amount::No || *timeout < PATIENCE_S);
        if timeout.is_some() {
            let no = self.timeout == Amount::No;
            return said(if no { "no timeout of a request" } else { "only whole timeouts" });
        }
        if ask.warmup_s > 0.0 && !self.warmup.holds(ask.warmup_s) {
            let no = self.warmup == Amount::No;
            return said(if no { "no warm-up" } else { "only a warm-up of whole seconds" });
        }
        None
    }

    /// Over which connections.
    fn means(&self, ask: &Ask) -> Option<String> {
        if ask.url.starts_with("https:") && !ask.insecure && !self.verify {
            return said("verifies no certificate");
        }
        if ask.method == crate::tool::Method::Head && !self.head {
            return said("no HEAD");
        }
        let addresses = ask.resolve.as_ref().map_or(0, |resolve| resolve.addresses.len());
        if addresses > self.resolve {
            let none = self.resolve == 0;
            return said(if none { "no address for a name" } else { "one address for a name" });
        }
        if ask.source_addresses.len() > self.sources {
            let none = self.sources == 0;
            return said(if none { "no source address" } else { "one source address" });
        }
        None
    }

    fn meets(&self, need: &Need, ask: &Ask) -> bool {
        match (need, self.http2) {
            (Need::Http2 { .. }, None) => false,
            (Need::Http2 { .. }, Some(Http2Over::Either)) => true,
            (Need::Http2 { .. }, Some(Http2Over::Tls)) => ask.url.starts_with("https:"),
            (other, _) => (self.need)(other),
        }
    }

    /// The rest.
    fn needs(&self, ask: &Ask) -> Option<String> {
        let need = ask.extra.iter().find(|need| !self.meets(need, ask))?;
        said(match need {
            Need::Growth { .. } => "no further connections when those do not keep up",
            Need::Shed { .. } => "does not drop what is too late",
            Need::Targets(_) => "no weighted paths from a seed",
            Need::Ramp { .. } => "no ramp of the rate",
            Need::Intervals(_) => "no figures for each second in a file",
            Need::IntervalsOnStdout => "no figures for each second on standard output",
            Need::Pipeline(_) => "no pipelining",
            Need::Http2 { .. } if self.http2.is_some() => "HTTP/2 only behind TLS",
            Need::Http2 { .. } => "its adapter does not ask for HTTP/2",
            Need::Grpc(_) => "no such call of gRPC",
            Need::WebSocket { .. } => "no round trips of messages over WebSockets",
            Need::Upload(_) => "no body from a file",
            Need::Threads(_) => "no choice of threads",
            Need::Form(_) => "no form",
            Need::Gate { .. } | Need::ErrorGate { .. } => "no conditions",
        })
    }
}

fn said(reason: &str) -> Option<String> {
    Some(reason.to_owned())
}

/// The ramp asked for: requests per second at the start and at the end.
pub(super) fn ramp(ask: &Ask) -> Option<(f64, f64)> {
    ask.extra.iter().find_map(|need| match need {
        Need::Ramp { from_rps, to_rps } => Some((*from_rps, *to_rps)),
        _ => None,
    })
}

/// The form asked for.
pub(super) fn form(ask: &Ask) -> Option<&str> {
    ask.extra.iter().find_map(|need| match need {
        Need::Form(form) => Some(form.as_str()),
        _ => None,
    })
}

/// What a form's body is called.
pub(super) const FORM_TYPE: &str = "application/x-www-form-urlencoded";

/// How many requests are to be under way on a connection at a time.
pub(super) fn pipeline(ask: &Ask) -> u32 {
    let depth = ask.extra.iter().find_map(|need| match need {
        Need::Pipeline(depth) => Some(*depth),
        _ => None,
    });
    depth.unwrap_or(1)
}

/// How many streams are to be open at a time on a connection, where HTTP/2 is asked for.
pub(super) fn streams(ask: &Ask) -> Option<u32> {
    ask.extra.iter().find_map(|need| match need {
        Need::Http2 { streams } => Some(*streams),
        _ => None,
    })
}

/// The kind of call, where gRPC is asked for.
pub(super) fn grpc(ask: &Ask) -> Option<Rpc> {
    ask.extra.iter().find_map(|need| match need {
        Need::Grpc(rpc) => Some(*rpc),
        _ => None,
    })
}

/// How long a body is asked for, bytes.
pub(super) fn upload(ask: &Ask) -> Option<u32> {
    ask.extra.iter().find_map(|need| match need {
        Need::Upload(bytes) => Some(*bytes),
        _ => None,
    })
}

/// The weighted paths asked for; empty: the address's own.
pub(super) fn targets(ask: &Ask) -> &[(String, u32)] {
    let paths = ask.extra.iter().find_map(|need| match need {
        Need::Targets(paths) => Some(paths.as_slice()),
        _ => None,
    });
    paths.unwrap_or_default()
}

/// The connections that can all get a request: no more than there are requests. Several testers
/// refuse to open a connection that would never be used.
pub(super) fn used_connections(ask: &Ask) -> u64 {
    let connections = u64::from(ask.connections);
    ask.requests.map_or(connections, |requests| requests.min(connections)).max(1)
}

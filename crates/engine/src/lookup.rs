//! Where connections go: looks names up, except those for which the plan gives addresses.
//!
//! The system's resolver does the lookups, not one of our own: it gives the same answer that every
//! other program on the host gets, with `/etc/hosts`, search domains and all other configuration.
//! It does not reveal how long an answer is valid, so a thread that no request waits for asks again
//! at intervals (`dns_refresh_ns`).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use plimsoll_core::plan::Transport;
use plimsoll_core::{Phase, Plan};
use plimsoll_io::host::{reachable, resolve};
use plimsoll_io::{Address, Route};

use crate::error::RunError;
use crate::routes::cross;

/// How long an address may take to answer when it is one of several.
const PROBE_LIMIT_NS: u64 = 2_000_000_000;

/// The name of this host, which often stands for an address that nobody serves (`::1`).
const LOCALHOST: &str = "localhost";

/// Whom to connect to.
#[derive(Debug, Clone)]
pub(crate) struct Lookup {
    host: String,
    port: u16,
    is_datagram: bool,
    /// Not to be looked up.
    fixed: Option<Vec<Address>>,
    sources: Vec<IpAddr>,
    /// Addresses that were left out at the start.
    dead: Vec<Address>,
}

impl Lookup {
    pub(crate) fn of(plan: &Plan) -> Self {
        let transport = &plan.transport;
        let (host, port) = match &transport.proxy {
            Some(proxy) => (proxy.host.clone(), proxy.port),
            None => (plan.endpoint.host.clone(), plan.endpoint.port),
        };
        let (host, port) = connect_to(transport, host, port);
        let is_datagram = plan.endpoint.is_datagram();
        let fixed = match &transport.unix_socket {
            Some(path) => Some(vec![Address::Unix(Arc::from(Path::new(path)))]),
            None => overridden(transport, &host, port)
                .map(|fixed| fixed.into_iter().map(|to| address(to, is_datagram)).collect()),
        };
        Self { host, port, is_datagram, fixed, sources: transport.bind.clone(), dead: Vec::new() }
    }

    /// Whether another lookup could give another answer.
    pub(crate) fn can_change(&self) -> bool {
        self.is_of_a_name() && !self.host.eq_ignore_ascii_case(LOCALHOST)
    }

    /// Whether a name has to be looked up.
    pub(crate) fn is_of_a_name(&self) -> bool {
        self.fixed.is_none() && self.host.parse::<IpAddr>().is_err()
    }

    /// Whom connections go to, for people.
    pub(crate) fn place(&self) -> String {
        match self.fixed.as_deref() {
            Some([Address::Unix(path)]) => path.display().to_string(),
            _ if self.host.contains(':') => format!("[{}]:{}", self.host, self.port),
            _ => format!("{}:{}", self.host, self.port),
        }
    }

    /// The addresses, but for those that were left out.
    ///
    /// # Errors
    /// When the name has none.
    pub(crate) fn addresses(&self) -> Result<Vec<Address>, RunError> {
        if let Some(fixed) = &self.fixed {
            return Ok(fixed.clone());
        }
        let mut found = resolve(&self.host, self.port).map_err(RunError::Resolve)?;
        // Nothing tells which of them takes datagrams. Those who write a name there mean IPv4 most
        // of the time, `localhost` before all.
        if self.is_datagram && found.iter().any(SocketAddr::is_ipv4) {
            found.retain(SocketAddr::is_ipv4);
        }
        let kind = |to: SocketAddr| address(to, self.is_datagram);
        let mut addresses: Vec<Address> = found.into_iter().map(kind).collect();
        addresses.retain(|address| !self.dead.contains(address));
        Ok(addresses)
    }

    /// Leaves out, of several addresses, those that no client of this host would use: the one of
    /// `localhost` that nobody serves, and those of a family that the host has no way to. A client
    /// that takes the first address that answers (`takes_first`) leaves out all that do not.
    ///
    /// Other addresses stay, whether they answer or not: a name that stands for two servers, one of
    /// which is gone, is half gone for its users. So do those that the plan itself gives.
    ///
    /// # Errors
    /// When none of several answers.
    pub(crate) fn leave_out_dead(
        &mut self,
        addresses: &mut Vec<Address>,
        takes_first: bool,
    ) -> Result<(), RunError> {
        let tcp: Vec<SocketAddr> = addresses.iter().filter_map(tcp).collect();
        if addresses.len() < 2 || tcp.len() < addresses.len() {
            return Ok(());
        }
        let is_local = self.host.eq_ignore_ascii_case(LOCALHOST);
        let is_mixed = tcp.iter().any(|to| to.is_ipv4() != tcp[0].is_ipv4());
        let may_be_unused = self.fixed.is_none() && (is_local || is_mixed);
        // A server may count connections, so one is spent on this only where it decides something.
        if !takes_first && !may_be_unused {
            return Ok(());
        }
        let is_unused = |error: &io::Error| takes_first || is_local || has_no_way(error);
        let mut answers = reachable(&tcp, PROBE_LIMIT_NS).into_iter();
        let mut first_error = None;
        addresses.retain(|address| match answers.next() {
            Some(Err(error)) if is_unused(&error) => {
                first_error.get_or_insert(error);
                self.dead.push(address.clone());
                false
            }
            _ => true,
        });
        match first_error {
            Some(error) if addresses.is_empty() => {
                let (phase, reason) = (Phase::Connect, error.to_string());
                Err(RunError::Unreachable { address: self.place(), phase, reason })
            }
            _ => Ok(()),
        }
    }

    /// The addresses that were left out, for people.
    pub(crate) fn left_out(&self) -> Vec<String> {
        self.dead.iter().map(ToString::to_string).collect()
    }

    /// The ways to the addresses.
    ///
    /// # Errors
    /// When no source address fits any of them.
    pub(crate) fn routes(&self, addresses: &[Address]) -> Result<Vec<Route>, RunError> {
        let routes = cross(addresses, &self.sources);
        if routes.is_empty() {
            return Err(RunError::Limit(format!(
                "no source address of --bind is of the same family as {}",
                addresses.first().map_or_else(String::new, ToString::to_string)
            )));
        }
        Ok(routes)
    }

    /// Looks the name up again and again, until the other end of `over` is gone, and tells of every
    /// new set of ways. A lookup that fails changes nothing.
    pub(crate) fn watch(
        &self,
        every_ns: u64,
        mut last: Vec<Route>,
        over: &Receiver<()>,
        mut tell: impl FnMut(Vec<Route>),
    ) {
        let every = Duration::from_nanos(every_ns);
        while over.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            let found = self.addresses().and_then(|addresses| self.routes(&addresses));
            let Ok(routes) = found else {
                continue;
            };
            if !routes.is_empty() && !same(&routes, &last) {
                tell(routes.clone());
                last = routes;
            }
        }
    }
}

/// Whether this host has no way to addresses of that family at all.
fn has_no_way(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NetworkUnreachable | io::ErrorKind::AddrNotAvailable)
}

/// The same routes; resolvers give them in any order.
fn same(some: &[Route], others: &[Route]) -> bool {
    some.len() == others.len() && some.iter().all(|route| others.contains(route))
}

fn tcp(address: &Address) -> Option<SocketAddr> {
    match address {
        Address::Tcp(address) => Some(*address),
        Address::Udp(_) | Address::Unix(_) => None,
    }
}

fn address(to: SocketAddr, is_datagram: bool) -> Address {
    if is_datagram { Address::Udp(to) } else { Address::Tcp(to) }
}

fn connect_to(transport: &Transport, host: String, port: u16) -> (String, u16) {
    let matching = transport.connect_to.iter().find(|rule| {
        rule.host.as_ref().is_none_or(|name| name.eq_ignore_ascii_case(&host))
            && rule.port.is_none_or(|number| number == port)
    });
    match matching {
        None => (host, port),
        Some(rule) => (rule.to_host.clone().unwrap_or(host), rule.to_port.unwrap_or(port)),
    }
}

fn overridden(transport: &Transport, host: &str, port: u16) -> Option<Vec<SocketAddr>> {
    let matching = transport.resolve.iter().find(|rule| {
        (rule.host == "*" || rule.host.eq_ignore_ascii_case(host)) && rule.port == port
    })?;
    Some(matching.addresses.iter().map(|ip| SocketAddr::new(*ip, port)).collect())
}

#[cfg(test)]
mod tests {
    use plimsoll_core::plan::{ConnectTo, Draft, Endpoint, Proxy, Resolve};

    use super::*;
    use crate::tests::checked;

    fn lookup(transport: Transport) -> Lookup {
        let endpoint = Endpoint::http("a.example", 80, "/");
        Lookup::of(&checked(&Draft { transport, ..Draft::new(endpoint) }))
    }

    fn rule(from: (Option<&str>, Option<u16>), to: (Option<&str>, Option<u16>)) -> ConnectTo {
        let text = |name: Option<&str>| name.map(str::to_owned);
        ConnectTo { host: text(from.0), port: from.1, to_host: text(to.0), to_port: to.1 }
    }

    #[test]
    fn rules_say_where_to_go_instead() {
        let resolve = |host: &str, port, address: &str| Resolve {
            host: host.to_owned(),
            port,
            addresses: vec![address.parse().expect("an address")],
        };
        let going = |transport: Transport| {
            let lookup = lookup(transport);
            let fixed = lookup.fixed.map(|fixed| fixed[0].to_string());
            (format!("{}:{}", lookup.host, lookup.port), fixed)
        };
        let to = |rules: Vec<ConnectTo>| Transport { connect_to: rules, ..Transport::default() };
        let by = |rule: Resolve| Transport { resolve: vec![rule], ..Transport::default() };
        let none = |name: &str| (name.to_owned(), None);
        assert_eq!(going(Transport::default()), none("a.example:80"));
        let everything = rule((None, None), (Some("b.example"), Some(81)));
        assert_eq!(going(to(vec![everything.clone()])), none("b.example:81"));
        let other_port = rule((Some("a.example"), Some(443)), (Some("c.example"), None));
        assert_eq!(going(to(vec![other_port, everything])), none("b.example:81"));
        let known = Some("10.0.0.1:80".to_owned());
        let here = || "a.example:80".to_owned();
        assert_eq!(going(by(resolve("A.example", 80, "10.0.0.1"))), (here(), known.clone()));
        assert_eq!(going(by(resolve("*", 80, "10.0.0.1"))), (here(), known));
        assert_eq!(going(by(resolve("a.example", 81, "10.0.0.1"))), (here(), None));
        let proxy = Proxy { host: "proxy".to_owned(), port: 3128, credentials: None };
        let through = Transport { proxy: Some(proxy), ..Transport::default() };
        assert_eq!(going(through), none("proxy:3128"));
    }

    #[test]
    fn only_names_change() {
        let of_host = |host: &str| checked(&Draft::new(Endpoint::http(host, 80, "/")));
        let changes = |host: &str| Lookup::of(&of_host(host)).can_change();
        assert!(changes("a.example"));
        assert!(!changes("127.0.0.1") && !changes("::1") && !changes("localhost"));
        let unix = Transport { unix_socket: Some("/run/x".to_owned()), ..Transport::default() };
        assert!(!lookup(unix).can_change());
    }
}

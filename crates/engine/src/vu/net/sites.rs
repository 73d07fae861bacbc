//! The servers that a worker's users talk to: each by scheme, host and port, with its addresses and
//! how a connection to it is set up, through a proxy where the environment names one.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use plimsoll_conn::{Negotiated, Setup, TlsSetup, connect_request};
use plimsoll_core::dns::{DnsPolicy, DnsSelect};
use plimsoll_io::{Route, Waker};
use plimsoll_proto::tls::{ClientConfig, ClientOptions, Identity, ServerName};
use plimsoll_script::js::http::Origin;

use super::fault::Owned;
use super::names::{Names, Unresolved};
use crate::vu::cast::Network;
use crate::vu::run::VuError;
use crate::vu::scene::NEVER_NS;

/// The bit in the number of who waits for addresses that makes it a WebSocket's, not a request's.
pub(super) const OF_SOCKET: u32 = 1 << 31;

/// The most servers that a worker knows at a time. One that has more to do with forgets addresses.
const SITES_MAX: usize = 100_000;

/// How requests of a run are sent, for all workers.
pub(in crate::vu) struct Terms {
    pub network: Network,
    /// TLS without a certificate of the client, then with each.
    tls: Vec<ClientConfig>,
    /// The same for WebSockets, which open over HTTP/1.1.
    socket_tls: Vec<ClientConfig>,
    /// When the next request may be sent, where their rate is limited.
    pub sends_ns: AtomicU64,
}

impl Terms {
    /// # Errors
    /// When TLS cannot be set up as it is asked for.
    pub(in crate::vu) fn new(mut network: Network) -> Result<Self, VuError> {
        network.http.closes_connections |= !network.reuses_connections;
        let identities = network.identities.iter().map(|(_, identity)| Some(identity.clone()));
        let mut tls = Vec::new();
        for identity in std::iter::once(network.tls.identity.clone()).chain(identities) {
            let alpn = Negotiated::offered(true);
            let options = ClientOptions { identity, alpn, ..network.tls.clone() };
            let config = ClientConfig::new(&options);
            tls.push(config.map_err(|error| VuError::Host(error.to_string()))?);
        }
        let of_sockets = |config: &ClientConfig| config.with_alpn(&Negotiated::offered(false));
        let socket_tls = tls.iter().map(of_sockets).collect::<Result<_, _>>();
        let socket_tls = socket_tls.map_err(|error| VuError::Host(error.to_string()))?;
        Ok(Self { network, tls, socket_tls, sends_ns: AtomicU64::new(0) })
    }

    /// TLS with the certificate that a server may ask for.
    fn tls_for(&self, host: &str, is_socket: bool) -> &ClientConfig {
        let configs = if is_socket { &self.socket_tls } else { &self.tls };
        &configs[self.identity_at(host).map_or(0, |at| at + 1)]
    }

    /// The certificate for a server that asks for one.
    pub(super) fn identity_for(&self, host: &str) -> Option<&Identity> {
        self.identity_at(host).map(|at| &self.network.identities[at].1)
    }

    fn identity_at(&self, host: &str) -> Option<usize> {
        let names = |domain: &String| match domain.strip_prefix("*.") {
            Some(parent) => host.split_once('.').is_some_and(|(_, rest)| rest == parent),
            None => domain == host,
        };
        let is_meant = |domains: &Vec<String>| domains.is_empty() || domains.iter().any(names);
        let mut identities = self.network.identities.iter();
        identities.position(|(domains, _)| is_meant(domains))
    }
}

/// What is known of a server's addresses.
enum Known {
    Nothing,
    Asked,
    Addresses(Vec<SocketAddr>, u64),
    Never(Owned),
}

/// What connections to a site are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carries {
    Requests,
    /// A WebSocket.
    Socket,
    /// A channel of gRPC. No proxy is on the way there, whatever the environment says.
    Channel,
}

struct Site {
    is_tls: bool,
    carries: Carries,
    port: u16,
    /// What is connected to: its host and port, or those of the proxy on the way there.
    dialled: (Box<str>, u16),
    setup: Setup,
    known: Known,
    /// Requests that wait for its addresses.
    waiting: Vec<u32>,
    turn: usize,
    /// Whether the last connection spoke HTTP/2; `None` before the first.
    speaks_http2: Option<bool>,
}

/// What a request to a server does next.
pub(super) enum Way {
    /// It takes a connection.
    Open,
    /// It waits for the server's addresses.
    Asked,
    /// It cannot go there.
    Closed(Owned),
}

/// See the head of this module.
pub(super) struct Sites {
    terms: Arc<Terms>,
    all: Vec<Site>,
    by_host: HashMap<Box<str>, Vec<u32>>,
    names: Names,
    answered: Vec<u32>,
    /// Those whose names were not found.
    failed: Vec<u32>,
    random: u64,
}

impl Sites {
    pub(super) fn new(terms: Arc<Terms>, waker: Waker) -> Self {
        Self {
            terms,
            all: Vec::new(),
            by_host: HashMap::new(),
            names: Names::new(waker),
            answered: Vec::new(),
            failed: Vec::new(),
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// The number of a server.
    pub(super) fn of(&mut self, origin: Origin<'_>) -> u32 {
        self.find(origin, Carries::Requests)
    }

    /// The number of a server of gRPC, which is spoken to without a proxy. How a connection is set
    /// up is not known here.
    pub(super) fn of_channel(&mut self, host: &str, port: u16) -> u32 {
        self.find(Origin { is_tls: false, host, port }, Carries::Channel)
    }

    /// The number of a server of WebSockets, which goes by the origin of the request that opens
    /// one.
    pub(super) fn of_socket(&mut self, origin: Origin<'_>) -> u32 {
        self.find(origin, Carries::Socket)
    }

    fn find(&mut self, origin: Origin<'_>, carries: Carries) -> u32 {
        let Origin { is_tls, host, port } = origin;
        if let Some(sites) = self.by_host.get(host) {
            let same = |site: &&u32| {
                let site = &self.all[**site as usize];
                site.is_tls == is_tls && site.port == port && site.carries == carries
            };
            if let Some(site) = sites.iter().find(same) {
                return *site;
            }
        }
        let proxies = &self.terms.network.http.proxies;
        let dialled = match proxies.of_origin(&origin) {
            Some(proxy) if carries != Carries::Channel => (proxy.host.as_str().into(), proxy.port),
            _ => (Box::from(host), port),
        };
        let (setup, known) =
            self.approach((origin, carries == Carries::Socket), &dialled.0, dialled.1);
        let number = self.all.len() as u32;
        self.by_host.entry(host.into()).or_default().push(number);
        let (waiting, turn, speaks_http2) = (Vec::new(), 0, None);
        let site =
            Site { is_tls, carries, port, dialled, setup, known, waiting, turn, speaks_http2 };
        self.all.push(site);
        number
    }

    /// How a server is to be connected to, as far as that needs no lookup.
    fn approach(
        &self,
        (origin, is_socket): (Origin<'_>, bool),
        to: &str,
        to_port: u16,
    ) -> (Setup, Known) {
        let Origin { is_tls, host, port } = origin;
        let network = &self.terms.network;
        let mut setup = Setup::default();
        if self.all.len() >= SITES_MAX {
            let text = format!("a worker talks to {SITES_MAX} servers at most");
            return (setup, Known::Never(Owned::ConnectOther(text)));
        }
        if network.blocked_name.as_ref().is_some_and(|is_blocked| is_blocked(host)) {
            return (setup, Known::Never(Owned::BlockedName));
        }
        if is_tls {
            match ServerName::parse(host) {
                Ok(name) => {
                    let config = self.terms.tls_for(host, is_socket).clone();
                    setup.tls = Some(TlsSetup { config, name });
                }
                Err(error) => {
                    return (setup, Known::Never(Owned::Tls(error.to_string())));
                }
            }
        }
        let is_tunnelled = is_tls || is_socket;
        if let Some(proxy) = network.http.proxies.of_origin(&origin).filter(|_| is_tunnelled) {
            let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
            let authorization = proxy.authorization.as_deref();
            match connect_request(&format!("{host}:{port}"), authorization) {
                Ok(tunnel) => setup.tunnel = Some(tunnel),
                Err(error) => return (setup, Known::Never(Owned::Other(error.to_string()))),
            }
        }
        let fixed = network.fixed_address.as_ref().and_then(|fixed| fixed(to, to_port));
        let literal = || to.parse::<IpAddr>().ok().map(|address| (address, None));
        let known = match fixed.or_else(literal) {
            Some((address, other)) => {
                let address = SocketAddr::new(address, other.unwrap_or(to_port));
                self.judge(vec![address], NEVER_NS)
            }
            None => Known::Nothing,
        };
        (setup, known)
    }

    /// Addresses, unless requests must not go to them.
    fn judge(&self, addresses: Vec<SocketAddr>, until_ns: u64) -> Known {
        let is_blocked = |address: &SocketAddr| {
            let blocked = &self.terms.network.blocked_address;
            blocked.as_ref().is_some_and(|is_blocked| is_blocked(address.ip()))
        };
        if addresses.iter().any(is_blocked) {
            return Known::Never(Owned::BlockedAddress);
        }
        Known::Addresses(addresses, until_ns)
    }

    /// Whether a request can go to a server now. If it is to wait, `call` is told of later.
    pub(super) fn way(&mut self, site: u32, call: u32, now_ns: u64) -> Way {
        let site_number = site;
        let site = &mut self.all[site as usize];
        match &site.known {
            Known::Addresses(_, until_ns) if *until_ns > now_ns => return Way::Open,
            Known::Never(fault) => return Way::Closed(fault.clone()),
            Known::Asked => {
                site.waiting.push(call);
                return Way::Asked;
            }
            Known::Nothing | Known::Addresses(..) => {}
        }
        match self.names.ask(site_number, &site.dialled.0, site.dialled.1) {
            Ok(()) => {
                site.known = Known::Asked;
                site.waiting.push(call);
                Way::Asked
            }
            Err(text) => Way::Closed(Owned::Lookup(text, None)),
        }
    }

    /// A request no longer waits for a server's addresses.
    pub(super) fn forget(&mut self, site: u32, call: u32) {
        self.all[site as usize].waiting.retain(|waiting| *waiting != call);
    }

    /// Takes what the resolver has found; gives the requests that have waited for it. Those whose
    /// server has no address learn that when they ask again.
    pub(super) fn take_answers(&mut self, now_ns: u64) -> Vec<u32> {
        let mut answered = std::mem::take(&mut self.answered);
        while let Some((site, found)) = self.names.take() {
            let dns = self.terms.network.dns;
            let known = match found {
                Ok(addresses) => {
                    let addresses = chosen(addresses, dns.policy);
                    // Requests that have waited for it may use it, however short it lives.
                    let ttl_ns = dns.ttl_ns.map_or(NEVER_NS, |ttl_ns| ttl_ns.max(1));
                    match addresses.is_empty() {
                        true => Known::Never(Owned::NoSuchHost),
                        false => self.judge(addresses, now_ns.saturating_add(ttl_ns)),
                    }
                }
                Err(failed) => Known::Never(lookup_fault(&failed)),
            };
            if matches!(known, Known::Never(Owned::NoSuchHost | Owned::Lookup(..))) {
                self.failed.push(site);
            }
            let site = &mut self.all[site as usize];
            site.known = known;
            answered.append(&mut site.waiting);
        }
        answered
    }

    /// Gives the list of [`take_answers`](Self::take_answers) back. Names that were not found are
    /// asked for again by the next request.
    pub(super) fn give_back(&mut self, answered: Vec<u32>) {
        self.answered = answered;
        for site in self.failed.drain(..) {
            self.all[site as usize].known = Known::Nothing;
        }
    }

    /// The way to a server for a user.
    pub(super) fn route(&mut self, site: u32, user_id: u64) -> Result<Route, Owned> {
        let site = &mut self.all[site as usize];
        let Known::Addresses(addresses, _) = &site.known else {
            return Err(Owned::NoSuchHost);
        };
        let at = match self.terms.network.dns.select {
            DnsSelect::First => 0,
            DnsSelect::RoundRobin => {
                site.turn = site.turn.wrapping_add(1);
                site.turn - 1
            }
            DnsSelect::Random => {
                // Xorshift: any spread will do.
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                self.random as usize
            }
        };
        let to = addresses[at % addresses.len()];
        let local = self.terms.network.local_address.as_ref();
        let from = local.and_then(|local| local(user_id));
        Ok(Route { to: to.into(), from: from.filter(|from| from.is_ipv4() == to.is_ipv4()) })
    }

    pub(super) fn setup(&self, site: u32) -> &Setup {
        &self.all[site as usize].setup
    }

    /// Whether requests may share a connection that is being opened.
    pub(super) fn may_share(&self, site: u32) -> bool {
        let site = &self.all[site as usize];
        site.is_tls && site.speaks_http2 != Some(false)
    }

    /// What a connection has agreed on.
    pub(super) fn note_protocol(&mut self, site: u32, is_http2: bool) {
        self.all[site as usize].speaks_http2 = Some(is_http2);
    }
}

/// The addresses that a policy leaves.
fn chosen(mut addresses: Vec<SocketAddr>, policy: DnsPolicy) -> Vec<SocketAddr> {
    let (wants_ipv4, is_strict) = match policy {
        DnsPolicy::Any => return addresses,
        DnsPolicy::PreferIpv4 => (true, false),
        DnsPolicy::PreferIpv6 => (false, false),
        DnsPolicy::OnlyIpv4 => (true, true),
        DnsPolicy::OnlyIpv6 => (false, true),
    };
    if is_strict || addresses.iter().any(|address| address.is_ipv4() == wants_ipv4) {
        addresses.retain(|address| address.is_ipv4() == wants_ipv4);
    }
    addresses
}

/// Whether nobody has the name, or the resolver has failed.
fn lookup_fault(failed: &Unresolved) -> Owned {
    let Unresolved { text, errno } = failed;
    let reason = text.rsplit_once(": ").map_or(text.as_str(), |(_, reason)| reason);
    let is_unknown = ["not known", "no address", "No address", "nodename"];
    // Without a file the resolver can look at nothing, and knows of no host.
    if errno.is_none() && is_unknown.iter().any(|words| reason.contains(words)) {
        Owned::NoSuchHost
    } else {
        Owned::Lookup(reason.to_owned(), *errno)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_leaves_addresses() {
        let all = ["10.0.0.1:80", "[::1]:80"].map(|text| text.parse().expect("an address"));
        for (policy, want) in [
            (DnsPolicy::Any, &all[..]),
            (DnsPolicy::PreferIpv4, &all[..1]),
            (DnsPolicy::PreferIpv6, &all[1..]),
            (DnsPolicy::OnlyIpv4, &all[..1]),
            (DnsPolicy::OnlyIpv6, &all[1..]),
        ] {
            assert_eq!(chosen(all.to_vec(), policy), want, "{policy:?}");
        }
        assert_eq!(chosen(all[1..].to_vec(), DnsPolicy::PreferIpv4), &all[1..]);
        assert!(chosen(all[1..].to_vec(), DnsPolicy::OnlyIpv4).is_empty());
    }

    #[test]
    fn unknown_names_are_told_from_failures() {
        let unknown = "Name or service not known";
        let failed = "Temporary failure in name resolution";
        let (lookup, short) = (|text: &str, errno| Owned::Lookup(text.to_owned(), errno), Some(24));
        for (reason, errno, want) in [
            (unknown, None, Owned::NoSuchHost),
            (failed, None, lookup(failed, None)),
            (unknown, short, lookup(unknown, short)),
        ] {
            let text = format!("cannot resolve host 'x': {reason}");
            assert_eq!(lookup_fault(&Unresolved { text, errno }), want, "{reason} {errno:?}");
        }
    }
}

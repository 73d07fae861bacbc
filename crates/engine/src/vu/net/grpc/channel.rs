//! Channels: from a script's `connect` to an open connection, and to the next one when that is
//! lost.
//!
//! ```text
//!            lookup          connect, TLS, SETTINGS
//!  connect ─▶ Naming ─▶ Dialling ─▶ Ready ─ lost, or draining ─▶ Idle ─ a call ─▶ Naming …
//! ```
//!
//! A script waits for the first connection. Later ones are opened when a call needs them, and calls
//! wait for them.

use plimsoll_conn::{Setup, TlsSetup};
use plimsoll_io::{Address, Driver};
use plimsoll_proto::tls::{ClientConfig, ClientOptions, Identity, ServerName, Verify};
use plimsoll_script::js::grpc as script;

use super::super::sites::Way;
use super::super::{Net, Terms};
use super::{Around, CHANNEL, News, Owned, words};
use crate::vu::books::Actor;
use crate::vu::tally::{Shortage, Tally};

/// How long a connect may take that no script waits for, as k6's library has it, ns.
const REDIAL_NS: u64 = 20_000_000_000;

/// How many ways to speak TLS a worker remembers: to make one takes long.
const CONFIGS_MAX: usize = 64;

/// Where a channel stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum State {
    /// The slot holds no channel.
    #[default]
    Free,
    /// The server's name is being looked up.
    Naming,
    /// A connection is being opened.
    Dialling(u32),
    /// A connection is open.
    Ready(u32),
    /// There is no connection.
    Idle,
}

/// See the head of this module.
#[derive(Default)]
pub(super) struct Channel {
    pub user: u32,
    /// Its number at its user.
    pub number: u32,
    /// Who opened it.
    pub actor: Actor,
    pub site: u32,
    pub host: String,
    pub authority: String,
    pub setup: Setup,
    pub state: State,
    /// The outcome of the script's `connect`; `None` while it waits.
    pub outcome: Option<Result<(), String>>,
    /// Calls that wait for a connection.
    pub waiting: Vec<u32>,
    pub deadline_ns: u64,
    pub received_bytes_max: u32,
    pub sent_bytes_max: u32,
}

/// The ways in which a worker's channels speak TLS.
#[derive(Default)]
pub(super) struct Configs(Vec<(ClientOptions, ClientConfig)>);

impl Configs {
    fn of(&mut self, options: ClientOptions) -> Result<ClientConfig, String> {
        if let Some((_, config)) = self.0.iter().find(|(known, _)| *known == options) {
            return Ok(config.clone());
        }
        let config = ClientConfig::new(&options).map_err(|error| error.to_string())?;
        if self.0.len() == CONFIGS_MAX {
            self.0.remove(0);
        }
        self.0.push((options, config.clone()));
        Ok(config)
    }

    /// How TLS is set up for a channel.
    fn setup(&mut self, channel: &script::Channel, terms: &Terms) -> Result<Setup, String> {
        let Some(asked) = &channel.tls else { return Ok(Setup::default()) };
        let given = &terms.network.tls;
        let verify = match (&given.verify, &asked.roots) {
            (Verify::Nothing, _) => Verify::Nothing,
            (_, Some(roots)) => Verify::Roots(roots.as_slice().into()),
            (verify, None) => verify.clone(),
        };
        let identity = asked
            .identity
            .as_ref()
            .map(|(chain, key)| Identity { chain: chain.clone(), key: key.clone() });
        let identity = identity.or_else(|| terms.identity_for(&channel.host).cloned());
        let alpn = vec![b"h2".to_vec()];
        let config = self.of(ClientOptions { verify, identity, alpn, ..given.clone() })?;
        let (named, _) =
            channel.authority.rsplit_once(':').unwrap_or((channel.authority.as_str(), ""));
        let named = named.trim_start_matches('[').trim_end_matches(']');
        let named = if named.is_empty() { channel.host.as_str() } else { named };
        let name = ServerName::parse(named).map_err(|error| error.to_string())?;
        Ok(Setup { tls: Some(TlsSetup { config, name }), ..Setup::default() })
    }
}

impl<D: Driver> Net<D> {
    /// Opens a channel of a user.
    pub(super) fn open_channel<T: Tally>(
        &mut self,
        (user, number): (u32, u32),
        actor: Actor,
        around: &mut Around<'_, T>,
    ) {
        let Some(asked) = around.users[user as usize].vu.channel(number) else { return };
        let id = self.grpc.claim_channel();
        let setup = self.grpc.configs.setup(&asked, &self.terms);
        let site = self.sites.of_channel(&asked.host, asked.port);
        let (setup, wrong) =
            setup.map_or_else(|why| (Setup::default(), Some(why)), |it| (it, None));
        self.grpc.channels[id as usize] = Channel {
            user,
            number,
            actor,
            site,
            host: asked.host.clone(),
            authority: asked.authority.clone(),
            setup,
            state: State::Naming,
            outcome: None,
            waiting: Vec::new(),
            deadline_ns: around.now_ns.saturating_add(asked.timeout_ns),
            received_bytes_max: asked.received_bytes_max,
            sent_bytes_max: asked.sent_bytes_max,
        };
        drop(asked);
        self.grpc.owned[user as usize].channels.push(id);
        if let Some(why) = wrong {
            self.fail_channel(id, &format!("invalid grpc.connect() parameters: {why}"), around);
            return;
        }
        self.dial(id, around);
    }

    /// Opens the next connection of a channel.
    fn dial<T: Tally>(&mut self, id: u32, around: &mut Around<'_, T>) {
        let channel = &mut self.grpc.channels[id as usize];
        channel.state = State::Naming;
        if channel.outcome.is_some() {
            channel.deadline_ns = around.now_ns.saturating_add(REDIAL_NS);
        }
        let deadline_ns = channel.deadline_ns;
        self.grpc.channel_deadlines.watch(id, deadline_ns);
        self.find_channel_way(id, around);
    }

    /// Finds out where a channel's server is, and connects to it.
    pub(in super::super) fn find_channel_way<T: Tally>(
        &mut self,
        id: u32,
        around: &mut Around<'_, T>,
    ) {
        let channel = &self.grpc.channels[id as usize];
        if channel.state != State::Naming {
            return;
        }
        let (user, site) = (channel.user, channel.site);
        let fault = match self.sites.way(site, id | CHANNEL, around.now_ns) {
            Way::Asked => return,
            Way::Closed(fault) => fault,
            Way::Open => match self.sites.route(site, self.owned[user as usize].id) {
                Err(fault) => fault,
                Ok(route) => {
                    let owned = &mut self.grpc.owned[user as usize].wires;
                    let actor = self.grpc.channels[id as usize].actor.clone();
                    let (tally, place) = around.books.at(actor, around.now_ns);
                    tally.dialled(&place, &route.to);
                    let whose = (user, site, id);
                    let now_ns = around.now_ns;
                    match self.wires.open_channel(&mut self.driver, whose, route, owned, now_ns) {
                        Some(wire) => {
                            self.grpc.channels[id as usize].state = State::Dialling(wire);
                            return;
                        }
                        None => Owned::NoSocket,
                    }
                }
            },
        };
        self.unconnected(id, &fault, None, around);
    }

    /// No connection could be opened.
    pub(super) fn unconnected<T: Tally>(
        &mut self,
        id: u32,
        fault: &Owned,
        to: Option<&Address>,
        around: &mut Around<'_, T>,
    ) {
        if let Some(shortage) = Shortage::of(fault.as_fault().errno()) {
            let actor = self.grpc.channels[id as usize].actor.clone();
            let (tally, place) = around.books.at(actor, around.now_ns);
            tally.short(&place, shortage);
        }
        let text = words::unconnected(fault, &self.grpc.channels[id as usize].host, to);
        self.fail_channel(id, &text, around);
    }

    /// Tells the script, or the calls that have waited, that there is no connection.
    pub(super) fn fail_channel<T: Tally>(
        &mut self,
        id: u32,
        text: &str,
        around: &mut Around<'_, T>,
    ) {
        let channel = &mut self.grpc.channels[id as usize];
        let (state, user, site) = (channel.state, channel.user, channel.site);
        channel.state = State::Idle;
        let waiting = std::mem::take(&mut channel.waiting);
        if channel.outcome.is_none() {
            channel.outcome = Some(Err(text.to_owned()));
            self.grpc.news.push_back((user, News::Channel(id)));
        }
        match state {
            State::Naming => self.sites.forget(site, id | CHANNEL),
            State::Dialling(wire) => self.close_call_wire(wire),
            _ => {}
        }
        for call in waiting {
            self.end_call(call, words::code::UNAVAILABLE, text.as_bytes(), around);
        }
    }

    /// A connection of a channel is open.
    pub(super) fn channel_opened<T: Tally>(
        &mut self,
        id: u32,
        wire: u32,
        around: &mut Around<'_, T>,
    ) {
        let channel = &mut self.grpc.channels[id as usize];
        if channel.state != State::Dialling(wire) {
            return;
        }
        channel.state = State::Ready(wire);
        if channel.outcome.is_none() {
            channel.outcome = Some(Ok(()));
            let user = channel.user;
            self.grpc.news.push_back((user, News::Channel(id)));
        }
        self.serve_channel(id, around);
    }

    /// Gives calls that wait a connection, as far as there is room on it.
    pub(super) fn serve_channel<T: Tally>(&mut self, id: u32, around: &mut Around<'_, T>) {
        loop {
            let channel = &mut self.grpc.channels[id as usize];
            if channel.waiting.is_empty() {
                return;
            }
            match channel.state {
                State::Free | State::Naming | State::Dialling(_) => return,
                State::Idle => return self.dial(id, around),
                State::Ready(wire) => {
                    let connection = self.wires.connection(wire);
                    if connection.room() > 0 {
                        let call = self.grpc.channels[id as usize].waiting.remove(0);
                        self.start_call(call, wire, around);
                    } else if connection.state() == plimsoll_conn::State::Spent {
                        // It drains; calls that are open on it go on.
                        let is_unused = connection.open_exchanges() == 0;
                        self.grpc.channels[id as usize].state = State::Idle;
                        if is_unused {
                            self.close_call_wire(wire);
                        }
                    } else {
                        return;
                    }
                }
            }
        }
    }

    /// Closes a channel, and ends its calls.
    pub(super) fn close_channel<T: Tally>(&mut self, id: u32, around: &mut Around<'_, T>) {
        let user = self.grpc.channels[id as usize].user;
        let calls = self.grpc.owned[user as usize].calls.clone();
        for call in calls {
            let known = &self.grpc.calls[call as usize];
            if known.channel == id && known.is_open() {
                self.end_call(call, words::code::CANCELLED, words::CLOSING.as_bytes(), around);
            }
        }
        self.drop_channel(id);
    }

    /// Closes the connections of a channel that has no open calls, and forgets it.
    pub(super) fn drop_channel(&mut self, id: u32) {
        let channel = &mut self.grpc.channels[id as usize];
        let (user, site, state) = (channel.user, channel.site, channel.state);
        channel.state = State::Free;
        channel.setup = Setup::default();
        if state == State::Naming {
            self.sites.forget(site, id | CHANNEL);
        }
        let wires = self.grpc.owned[user as usize].wires.clone();
        for wire in wires {
            if self.wires.channel(wire) == Some(id) {
                self.close_call_wire(wire);
            }
        }
        self.grpc.owned[user as usize].channels.retain(|known| *known != id);
        self.grpc.free_channels.push(id);
    }

    /// Closes a connection on which nothing is open.
    pub(super) fn close_call_wire(&mut self, wire: u32) {
        let user = self.wires.user(wire);
        self.wires.close(&mut self.driver, wire);
        self.grpc.owned[user as usize].wires.retain(|known| *known != wire);
    }
}

//! Where a client keeps what it needs to resume sessions.
//!
//! rustls' own store keeps eight tickets for a name. If the fifty connections of a tester ended
//! together, most would then make full handshakes and be called resumed, so this store keeps more.
//! A TLS 1.3 ticket is used once (RFC 8446 appendix C.4), the newest first; a TLS 1.2 session can
//! be used any number of times.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// TLS 1.3 tickets kept for one server name; beyond that, the oldest is dropped.
pub const TICKETS_MAX: usize = 512;
/// Names for which anything is kept; what comes for further names is dropped.
const NAMES_MAX: usize = 1024;

/// The store of one configuration. The lock is there because rustls asks for one: with one
/// configuration for each thread it is never waited for.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<ServerName<'static>, Session>>);

#[derive(Debug, Default)]
struct Session {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    tls13: VecDeque<Tls13ClientSessionValue>,
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<ServerName<'static>, Session>> {
        // A panic leaves nothing in here half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, name: ServerName<'static>, change: impl FnOnce(&mut Session)) {
        let mut names = self.lock();
        if names.len() < NAMES_MAX || names.contains_key(&name) {
            change(names.entry(name).or_default());
        }
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, name: ServerName<'static>, group: NamedGroup) {
        self.change(name, |session| session.group = Some(group));
    }

    fn kx_hint(&self, name: &ServerName<'_>) -> Option<NamedGroup> {
        self.lock().get(name).and_then(|session| session.group)
    }

    fn set_tls12_session(&self, name: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.change(name, |session| session.tls12 = Some(value));
    }

    fn tls12_session(&self, name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.lock().get(name).and_then(|session| session.tls12.clone())
    }

    fn remove_tls12_session(&self, name: &ServerName<'static>) {
        if let Some(session) = self.lock().get_mut(name) {
            session.tls12 = None;
        }
    }

    fn insert_tls13_ticket(&self, name: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.change(name, |session| {
            if session.tls13.len() >= TICKETS_MAX {
                session.tls13.pop_front();
            }
            session.tls13.push_back(value);
        });
    }

    fn take_tls13_ticket(&self, name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.lock().get_mut(name).and_then(|session| session.tls13.pop_back())
    }
}

//! Stores TLS sessions for resumption. Each connection slot (index of a connection) has its own session, so a new user
//! makes a full handshake. With one store for all slots, a thousand users would look like a single client to the
//! server.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// TLS sessions of one load thread with one target, by the index of the connection.
#[derive(Debug, Default)]
pub struct Sessions(Mutex<SessionCache>);

#[derive(Debug, Default)]
struct SessionCache {
    current: u32,
    kept: HashMap<u32, Kept>,
}

/// The newest TLS session data of each kind. A slot has one connection at a time, so older data are not needed.
#[derive(Debug, Default)]
struct Kept {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    tls13: Option<Tls13ClientSessionValue>,
}

impl Sessions {
    /// Selects the connection slot whose session the following calls read or replace. It must be called before every
    /// operation of a connection that may access its session.
    pub fn turn_to(&self, place: u32) {
        self.lock().current = place;
    }

    /// Drops the session of a connection slot, because another user will use the slot.
    pub fn forget(&self, place: u32) {
        self.lock().kept.remove(&place);
    }

    /// Locks the sessions. There is no contention, since each load thread has its own store.
    fn lock(&self) -> MutexGuard<'_, SessionCache> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionCache {
    fn here(&mut self) -> &mut Kept {
        self.kept.entry(self.current).or_default()
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.lock().here().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.lock().here().group
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.lock().here().tls12 = Some(value);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.lock().here().tls12.clone()
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.lock().here().tls12 = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.lock().here().tls13 = Some(value);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.lock().here().tls13.take()
    }
}

//! Sessions of the drivers and the operations that all of them offer.

use std::rc::Rc;

use crate::answer::{Answer, Failed, FailureKind, Meter};
use crate::executor::Call;
use crate::operation::Task;
use crate::server::{Location, Server};
use crate::sql::{mysql, postgresql};
use crate::turns::Turn;
use crate::{ldap, tcp};

/// A value that a call passes to an operation. `None` is the NULL of SQL, or a missing value.
pub type Value = Option<Vec<u8>>;

/// A session that waits for its server over a socket. A session never sleeps, retries or records measurements. The
/// failure of a server is returned as a result.
pub(crate) enum Session {
    Postgresql(postgresql::Session),
    Mysql(mysql::Session),
    Ldap(ldap::Session),
    Tcp(tcp::Session),
}

impl Session {
    /// Opens a session.
    ///
    /// # Errors
    ///
    /// A failure of the kind `connect`, if the connection or the login fails.
    pub(crate) async fn open(
        server: &Server,
        location: Option<&Location>,
        turn: &Rc<Turn>,
    ) -> Result<Self, Failed> {
        let Some(location) = location else {
            return Err(no_session());
        };
        match server {
            Server::Postgresql {
                user,
                password,
                database,
            } => {
                let opened =
                    postgresql::open(location, turn, user, password.as_deref(), database).await;
                opened.map(Self::Postgresql)
            }
            Server::Mysql {
                user,
                password,
                database,
            } => {
                let database = database.as_deref();
                let opened = mysql::open(location, turn, user, password.as_deref(), database).await;
                opened.map(Self::Mysql)
            }
            Server::Ldap { user, password } => {
                let opened = ldap::open(location, turn, user.as_deref(), password.as_deref()).await;
                opened.map(Self::Ldap)
            }
            Server::Tcp {} => tcp::open(location, turn).await.map(Self::Tcp),
            Server::Sqlite { .. } | Server::File { .. } => Err(no_session()),
        }
    }

    /// Performs one operation.
    ///
    /// # Errors
    ///
    /// If the server refuses the operation or violates the protocol, or if the session ends.
    pub(crate) async fn perform(
        &mut self,
        task: &Task,
        call: &Call,
        meter: &mut Meter,
    ) -> Result<Answer, Failed> {
        match self {
            Self::Postgresql(session) => session.perform(task, call, meter).await,
            Self::Mysql(session) => session.perform(task, call, meter).await,
            Self::Ldap(session) => session.perform(task, call, meter).await,
            Self::Tcp(session) => session.perform(task, call, meter).await,
        }
    }

    /// Returns `true` if the server has closed the idle session.
    pub(crate) fn is_closed(&mut self) -> bool {
        match self {
            Self::Postgresql(session) => session.wire.is_closed(),
            Self::Mysql(session) => session.is_closed(),
            Self::Ldap(session) => session.wire.is_closed(),
            Self::Tcp(session) => session.wire.is_closed(),
        }
    }

    /// Returns `true` if the idle session has received data that could be taken for the response to the next call.
    /// Notices and closing messages do not count, nor do the bytes of plain TCP connections.
    pub(crate) fn has_unasked(&self) -> bool {
        match self {
            Self::Postgresql(session) => postgresql::has_unasked(&session.wire.received),
            Self::Mysql(session) => session.has_unasked(),
            Self::Ldap(_) | Self::Tcp(_) => false,
        }
    }

    /// Returns `true` if the session has an open transaction.
    pub(crate) fn is_held(&self) -> bool {
        match self {
            Self::Postgresql(session) => session.is_held(),
            Self::Mysql(session) => session.is_held(),
            Self::Ldap(_) | Self::Tcp(_) => false,
        }
    }

    /// Returns `true` if the last operation has ended the session.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Self::Ldap(session) if session.is_over())
    }

    /// Rolls back an open transaction.
    ///
    /// # Errors
    ///
    /// If the rollback fails. The session must then be discarded.
    pub(crate) async fn reset(&mut self) -> Result<(), Failed> {
        match self {
            Self::Postgresql(session) => session.reset().await,
            Self::Mysql(session) => session.reset().await,
            Self::Ldap(_) | Self::Tcp(_) => Ok(()),
        }
    }

    /// Frees memory that an idle session does not need.
    pub(crate) fn rest(&mut self) {
        match self {
            Self::Postgresql(session) => session.wire.rest(),
            Self::Mysql(session) => session.wire.rest(),
            Self::Ldap(session) => session.wire.rest(),
            Self::Tcp(session) => session.wire.rest(),
        }
    }

    /// Sends the closing message of the protocol and closes the session.
    pub(crate) async fn close(self) {
        match self {
            Self::Postgresql(session) => session.close().await,
            Self::Mysql(session) => session.close().await,
            Self::Ldap(session) => session.close().await,
            Self::Tcp(_) => {}
        }
    }
}

fn no_session() -> Failed {
    Failed::new(
        FailureKind::Internal,
        "the server has no address, or its driver uses no socket",
    )
}

/// A session whose work is done in the calling thread, such as that of SQLite.
pub(crate) trait Working: Send {
    /// Performs one operation.
    ///
    /// # Errors
    /// If the database or the operating system refuses the operation.
    fn perform(&mut self, task: &Task, call: &Call, meter: &mut Meter) -> Result<Answer, Failed>;

    /// Performs an operation if it needs no wait; returns `None` if it might have to wait.
    fn at_once(
        &mut self,
        _task: &Task,
        _call: &Call,
        _meter: &mut Meter,
    ) -> Option<Result<Answer, Failed>> {
        None
    }

    /// Returns `true` if the session has an open transaction.
    fn is_held(&self) -> bool {
        false
    }

    /// Rolls back an open transaction.
    ///
    /// # Errors
    ///
    /// If the rollback fails. The session must then be discarded.
    fn reset(&mut self) -> Result<(), Failed> {
        Ok(())
    }
}

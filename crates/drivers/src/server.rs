//! Where calls go, and what speaks with it.

use std::path::PathBuf;

use serde::Deserialize;

use crate::answer::Failed;
use crate::session::{Opening, Working};
use crate::sql::{mysql, postgresql, sqlite};
use crate::{file, ldap, tcp};

/// What a driver needs to know of a server, beside its address.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Server {
    /// A PostgreSQL server.
    Postgresql {
        /// Who asks.
        user: String,
        /// Its password, where the server wants one.
        #[serde(default)]
        password: Option<String>,
        /// Which database.
        database: String,
    },
    /// A MySQL server, or MariaDB.
    Mysql {
        /// Who asks.
        user: String,
        /// Its password, where the server wants one.
        #[serde(default)]
        password: Option<String>,
        /// Which database, where one is chosen.
        #[serde(default)]
        database: Option<String>,
    },
    /// A SQLite database in a file.
    Sqlite {
        /// The file, which is there.
        path: PathBuf,
        /// What a commit waits for.
        #[serde(default)]
        synchronous: Synchronous,
        /// Memory for pages of each session. [B]
        #[serde(default)]
        cache_bytes: Option<u64>,
    },
    /// Files below a folder.
    File {
        /// The folder, which is there.
        root: PathBuf,
        /// Whether input and output pass by the page cache.
        #[serde(default)]
        direct: bool,
    },
    /// An LDAP directory.
    Ldap {
        /// Name of the entry that sessions log in as; nobody, if none.
        #[serde(default)]
        user: Option<String>,
        /// Its password.
        #[serde(default)]
        password: Option<String>,
    },
    /// Whatever takes connections.
    Tcp {},
}

/// What a commit of SQLite waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Synchronous {
    /// For nothing.
    Off,
    /// For nothing, with a write-ahead log; checkpoints wait for the disk.
    Normal,
    /// For the disk.
    #[default]
    Full,
}

/// An address, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Over the network.
    Tcp(std::net::SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl Server {
    /// Whether it is reached over an address.
    #[must_use]
    pub fn needs_address(&self) -> bool {
        matches!(
            self,
            Self::Postgresql { .. } | Self::Mysql { .. } | Self::Ldap { .. } | Self::Tcp {}
        )
    }

    /// Whether statements of SQL can be asked of it.
    #[must_use]
    pub fn speaks_sql(&self) -> bool {
        matches!(
            self,
            Self::Postgresql { .. } | Self::Mysql { .. } | Self::Sqlite { .. }
        )
    }

    /// Whether its sessions work in the thread that calls them.
    #[must_use]
    pub fn works(&self) -> bool {
        matches!(self, Self::Sqlite { .. } | Self::File { .. })
    }

    /// Opens a session that waits.
    pub(crate) fn open<'a>(&'a self, location: Option<&'a Location>) -> Opening<'a> {
        match (self, location) {
            (
                Self::Postgresql {
                    user,
                    password,
                    database,
                },
                Some(location),
            ) => Box::pin(postgresql::open(
                location,
                user,
                password.as_deref(),
                database,
            )),
            (
                Self::Mysql {
                    user,
                    password,
                    database,
                },
                Some(location),
            ) => Box::pin(mysql::open(
                location,
                user,
                password.as_deref(),
                database.as_deref(),
            )),
            (Self::Ldap { user, password }, Some(location)) => {
                Box::pin(ldap::open(location, user.as_deref(), password.as_deref()))
            }
            (Self::Tcp {}, Some(location)) => Box::pin(tcp::open(location)),
            _ => Box::pin(std::future::ready(Err(no_session()))),
        }
    }

    /// Opens a session that works.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn open_working(&self) -> Result<Box<dyn Working>, Failed> {
        match self {
            Self::Sqlite {
                path,
                synchronous,
                cache_bytes,
            } => sqlite::open(path, *synchronous, *cache_bytes),
            Self::File { root, direct } => file::open(root, *direct),
            Self::Postgresql { .. } | Self::Mysql { .. } | Self::Ldap { .. } | Self::Tcp {} => {
                Err(no_session())
            }
        }
    }
}

fn no_session() -> Failed {
    Failed::new(
        crate::FailureKind::Internal,
        "no such session of this server",
    )
}

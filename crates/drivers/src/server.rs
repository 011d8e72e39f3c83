//! Servers to which calls are sent.

use std::path::PathBuf;

use serde::Deserialize;

use crate::answer::Failed;
use crate::file;
use crate::session::Working;
use crate::sql::sqlite;

/// Settings of a server, without its address.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Server {
    /// A PostgreSQL server.
    Postgresql {
        /// Name of the user.
        user: String,
        /// Password of the user, if the server requires one.
        #[serde(default)]
        password: Option<String>,
        /// Name of the database.
        database: String,
    },
    /// A MySQL or MariaDB server.
    Mysql {
        /// Name of the user.
        user: String,
        /// Password of the user, if the server requires one.
        #[serde(default)]
        password: Option<String>,
        /// Name of the database, if one is selected.
        #[serde(default)]
        database: Option<String>,
    },
    /// A SQLite database in a file.
    Sqlite {
        /// The file, which must exist.
        path: PathBuf,
        /// Condition for a commit to be complete.
        #[serde(default)]
        synchronous: Synchronous,
        /// Size of the page cache of each session. [B]
        #[serde(default)]
        cache_bytes: Option<u64>,
    },
    /// Files below a folder.
    File {
        /// The folder, which must exist.
        root: PathBuf,
        /// `true` if input and output bypass the page cache.
        #[serde(default)]
        direct: bool,
    },
    /// An LDAP directory.
    Ldap {
        /// Name of the entry with which sessions log in; without a name, they are anonymous.
        #[serde(default)]
        user: Option<String>,
        /// Password of that entry.
        #[serde(default)]
        password: Option<String>,
    },
    /// Any server that accepts connections.
    Tcp {},
}

/// Condition for a commit of SQLite to be complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Synchronous {
    /// Complete immediately, without waiting for the disk.
    Off,
    /// Complete immediately; with a write-ahead log, only checkpoints wait for the disk.
    Normal,
    /// Complete when the data is on disk.
    #[default]
    Full,
}

/// A resolved address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A TCP address.
    Tcp(std::net::SocketAddr),
    /// The addresses of a host name; the session uses the first address that accepts the connection.
    Name(Vec<std::net::SocketAddr>),
    /// A Unix socket.
    Unix(PathBuf),
}

impl Server {
    /// Returns `true` if the server is reached over an address.
    #[must_use]
    pub fn needs_address(&self) -> bool {
        matches!(
            self,
            Self::Postgresql { .. } | Self::Mysql { .. } | Self::Ldap { .. } | Self::Tcp {}
        )
    }

    /// Returns `true` if the server executes SQL statements.
    #[must_use]
    pub fn speaks_sql(&self) -> bool {
        matches!(
            self,
            Self::Postgresql { .. } | Self::Mysql { .. } | Self::Sqlite { .. }
        )
    }

    /// Returns `true` if the sessions of this server compute in this process and block the calling thread.
    #[must_use]
    pub fn works(&self) -> bool {
        matches!(self, Self::Sqlite { .. } | Self::File { .. })
    }

    /// Opens a session of a driver that blocks the calling thread.
    ///
    /// # Errors
    /// If the session cannot be opened.
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

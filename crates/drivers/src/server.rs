//! Servers to which calls are sent.

use std::path::PathBuf;

use serde::Deserialize;

use crate::answer::Failed;
use crate::file;
use crate::session::Working;
use crate::sql::sqlite;

/// Settings of a server, without the address of the server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Server {
    /// A PostgreSQL server.
    Postgresql {
        /// Name of the database user with which sessions log in.
        user: String,
        /// Password of the user, if the server requires a password.
        #[serde(default)]
        password: Option<String>,
        /// Name of the database to which sessions connect.
        database: String,
    },
    /// A MySQL or MariaDB server.
    Mysql {
        /// Name of the database user with which sessions log in.
        user: String,
        /// Password of the user, if the server requires a password.
        #[serde(default)]
        password: Option<String>,
        /// Name of the database that sessions select; `None` if they select no database.
        #[serde(default)]
        database: Option<String>,
    },
    /// A SQLite database in a file.
    Sqlite {
        /// Path of the database file, which must exist.
        path: PathBuf,
        /// Condition under which SQLite reports a commit as complete.
        #[serde(default)]
        synchronous: Synchronous,
        /// Size of the page cache that SQLite keeps for each session. [B]
        #[serde(default)]
        cache_bytes: Option<u64>,
    },
    /// Files below a folder.
    File {
        /// The folder, which must exist. All paths are relative to this folder.
        root: PathBuf,
        /// `true` if reads and writes bypass the page cache of the kernel.
        #[serde(default)]
        direct: bool,
    },
    /// An LDAP directory.
    Ldap {
        /// Name of the directory entry with which sessions log in. Without a name, sessions are anonymous.
        #[serde(default)]
        user: Option<String>,
        /// Password of the directory entry with which sessions log in.
        #[serde(default)]
        password: Option<String>,
    },
    /// Any server that accepts TCP connections.
    Tcp {},
}

/// Condition under which SQLite reports a commit as complete (`PRAGMA synchronous`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Synchronous {
    /// A commit is complete immediately; SQLite never waits for the disk.
    Off,
    /// A commit is complete immediately if the database has a write-ahead log; only checkpoints of the log wait for the
    /// disk.
    Normal,
    /// A commit is complete when its data is on disk.
    #[default]
    Full,
}

/// A resolved address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// IP address and port of a server.
    Tcp(std::net::SocketAddr),
    /// Addresses of a host name, each with the port. The session uses the first address that accepts the connection.
    Name(Vec<std::net::SocketAddr>),
    /// Path of a Unix socket.
    Unix(PathBuf),
}

impl Server {
    /// Returns `true` if sessions connect to the server by an address.
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
        "the driver of this server has no session of this kind",
    )
}

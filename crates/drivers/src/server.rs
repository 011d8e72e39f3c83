//! Servers that calls go to.

use std::path::PathBuf;

use serde::Deserialize;

use crate::answer::Failed;
use crate::file;
use crate::session::Working;
use crate::sql::sqlite;

/// Settings of a server without its address.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Server {
    /// A PostgreSQL server.
    Postgresql {
        /// Name of the user.
        user: String,
        /// Its password, if the server requires one.
        #[serde(default)]
        password: Option<String>,
        /// Name of the database.
        database: String,
    },
    /// A MySQL server, or MariaDB.
    Mysql {
        /// Name of the user.
        user: String,
        /// Its password, if the server requires one.
        #[serde(default)]
        password: Option<String>,
        /// Name of the database, if one is chosen.
        #[serde(default)]
        database: Option<String>,
    },
    /// A SQLite database in a file.
    Sqlite {
        /// The file, which must exist.
        path: PathBuf,
        /// When a commit is complete.
        #[serde(default)]
        synchronous: Synchronous,
        /// Page cache of each session. [B]
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
        /// Name of the entry that sessions log in as; anonymous without.
        #[serde(default)]
        user: Option<String>,
        /// Its password.
        #[serde(default)]
        password: Option<String>,
    },
    /// Any server that accepts connections.
    Tcp {},
}

/// When a commit of SQLite is complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Synchronous {
    /// Immediately, without waiting for the disk.
    Off,
    /// Immediately; with a write-ahead log, checkpoints wait for the disk.
    Normal,
    /// When the data is on disk.
    #[default]
    Full,
}

/// A resolved address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A TCP address.
    Tcp(std::net::SocketAddr),
    /// The addresses of a name; the session uses the first one that accepts the connection.
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

    /// Returns `true` if the server executes statements of SQL.
    #[must_use]
    pub fn speaks_sql(&self) -> bool {
        matches!(
            self,
            Self::Postgresql { .. } | Self::Mysql { .. } | Self::Sqlite { .. }
        )
    }

    /// Returns `true` if its sessions compute in this process and block the calling thread.
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

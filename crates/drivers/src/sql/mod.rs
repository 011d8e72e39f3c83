//! Databases.

pub(crate) mod postgresql;
pub(crate) mod sqlite;

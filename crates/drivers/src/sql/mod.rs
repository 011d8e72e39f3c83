//! Drivers for SQL databases.

pub(crate) mod mysql;
pub(crate) mod postgresql;
mod reading;
pub(crate) mod sqlite;

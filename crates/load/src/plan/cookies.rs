//! Initial cookies of users, and the lifetime of cookies from servers.

use serde::Deserialize;

/// Cookie settings of a user group.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cookies {
    /// Lifetime of cookies from servers.
    pub kept: CookiesKept,
    /// Cookies that each user has at its start.
    pub given: Vec<GivenCookie>,
}

/// Lifetimes of cookies from servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CookiesKept {
    /// Until the user leaves.
    #[default]
    User,
    /// Until the user begins the next round. `once` belongs to the first round, and `exit` to the last.
    Round,
    /// Cookies from servers are not kept.
    Never,
}

/// A cookie that a user has at its start.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenCookie {
    /// Index of the target of the cookie.
    pub target: usize,
    /// Path of the cookie, which is also sent to all paths below it.
    pub path: String,
    /// Name of the cookie.
    pub name: String,
    /// Value of the cookie.
    pub value: String,
}

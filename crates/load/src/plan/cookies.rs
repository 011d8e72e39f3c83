//! Cookies that users have from the start, and the lifetime of cookies from servers.

use serde::Deserialize;

/// Cookies of the users of a group.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cookies {
    /// Lifetime of cookies from servers.
    pub kept: CookiesKept,
    /// Cookies that each user has from its start.
    pub given: Vec<GivenCookie>,
}

/// Lifetimes of cookies from servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CookiesKept {
    /// Until they leave.
    #[default]
    User,
    /// Until they begin the next round: `once` and the first round are one, and the last round and `exit`.
    Round,
    /// Not at all.
    Never,
}

/// A cookie that a user has from its start.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenCookie {
    /// Index of its target.
    pub target: usize,
    /// Its path; the cookie is also sent to all paths below it.
    pub path: String,
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

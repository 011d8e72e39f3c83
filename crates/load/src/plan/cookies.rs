//! Cookies that users have from the start, and how long they keep those of servers.

use serde::Deserialize;

/// Cookies of the users of a group.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cookies {
    /// How long cookies of servers are kept.
    pub kept: CookiesKept,
    /// What each user has from its start.
    pub given: Vec<GivenCookie>,
}

/// How long users keep the cookies of servers.
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

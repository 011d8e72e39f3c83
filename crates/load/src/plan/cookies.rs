//! The part of a plan that sets the initial cookies of users, and the lifetime of cookies that servers set.

use serde::Deserialize;

/// Cookie settings of a user group.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cookies {
    /// Time after which users drop the cookies that servers have set.
    pub kept: CookiesKept,
    /// Cookies that each user has at its start.
    pub given: Vec<GivenCookie>,
}

/// Time after which users drop the cookies that servers have set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CookiesKept {
    /// Users keep cookies until they leave.
    #[default]
    User,
    /// Users keep cookies for one round, that is, one transaction that is chosen from the mix. Operations in `once`
    /// belong to the first round, operations in `exit` to the last.
    Round,
    /// Users ignore cookies from servers.
    Never,
}

/// A cookie that a user has at its start.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenCookie {
    /// Index of the target that receives the cookie.
    pub target: usize,
    /// Path for which the cookie is sent, together with all paths below it.
    pub path: String,
    /// Name of the cookie.
    pub name: String,
    /// Value of the cookie.
    pub value: String,
}

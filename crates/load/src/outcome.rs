//! Outcomes of requests, pages and transactions, as enums whose values are counted by index.

/// Reason why a started request, page or transaction did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// No connection: it was refused, the server was unreachable, or the time limit was exceeded.
    Connect,
    /// The response was not complete within the time limit.
    Timeout,
    /// The server closed or reset the connection before the response was complete.
    Closed,
    /// The bytes received violate the protocol or exceed a limit.
    Protocol,
    /// A response with a status from 400 to 499 that no check allowed.
    Status4xx,
    /// A response with a status from 500 to 599 that no check allowed.
    Status5xx,
    /// A response with any other status that no check allowed.
    StatusOther,
    /// A response that failed a check other than the status check.
    Check,
    /// A response from which a required value could not be extracted.
    Extract,
    /// A unique data pool had no row left, so no request was made.
    DataExhausted,
    /// A fault of the engine itself.
    Internal,
    /// A server behind a driver refused the operation.
    Refused,
}

impl Failure {
    /// Number of failure reasons.
    pub const COUNT: usize = 12;

    /// All failure reasons, in the order of their index.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Connect,
        Self::Timeout,
        Self::Closed,
        Self::Protocol,
        Self::Status4xx,
        Self::Status5xx,
        Self::StatusOther,
        Self::Check,
        Self::Extract,
        Self::DataExhausted,
        Self::Internal,
        Self::Refused,
    ];

    /// Returns the index in [`Failure::ALL`], in `[0, COUNT)`.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the name of the failure reason in result files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::Protocol => "protocol",
            Self::Status4xx => "status_4xx",
            Self::Status5xx => "status_5xx",
            Self::StatusOther => "status_other",
            Self::Check => "check",
            Self::Extract => "extract",
            Self::DataExhausted => "data_exhausted",
            Self::Internal => "internal",
            Self::Refused => "refused",
        }
    }

    /// Returns the failure reason for a response whose status no check allows.
    #[must_use]
    pub const fn of_status(status: u16) -> Self {
        match status {
            400..=499 => Self::Status4xx,
            500..=599 => Self::Status5xx,
            _ => Self::StatusOther,
        }
    }

    /// Returns `true` if a complete HTTP response arrived but its status, a check or an extraction failed.
    #[must_use]
    pub const fn has_answer(self) -> bool {
        matches!(
            self,
            Self::Status4xx | Self::Status5xx | Self::StatusOther | Self::Check | Self::Extract
        )
    }

    /// Returns `true` if the time until this failure counts as a response time: a response arrived, or the time limit
    /// for the response was exceeded.
    #[must_use]
    pub const fn has_response_time(self) -> bool {
        matches!(
            self,
            Self::Timeout
                | Self::Status4xx
                | Self::Status5xx
                | Self::StatusOther
                | Self::Check
                | Self::Extract
                | Self::Refused
        )
    }
}

/// Requirement of a step that an exchange did not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmet {
    /// A complete response.
    Response,
    /// A status code that the step allows.
    Status,
    /// The check with this index. In HTTP steps, status checks are not counted.
    Check(usize),
    /// The extraction with this index.
    Extract(usize),
}

/// Failure of an exchange, with the requirement that was not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Reason for the failure.
    pub failure: Failure,
    /// Requirement that was not met.
    pub unmet: Unmet,
}

impl Fault {
    /// Returns the fault of a response that failed the check with this index.
    #[must_use]
    pub const fn of_check(at: usize) -> Self {
        Self {
            failure: Failure::Check,
            unmet: Unmet::Check(at),
        }
    }

    /// Returns the fault of a response from which the extraction with this index could not take its value.
    #[must_use]
    pub const fn of_extract(at: usize) -> Self {
        Self {
            failure: Failure::Extract,
            unmet: Unmet::Extract(at),
        }
    }
}

/// Description of a requirement that was not met. The texts contain bytes of a server and values of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Kind of the requirement with the part of the response that it concerns, such as `json $.id`.
    pub check: Vec<u8>,
    /// Required value.
    pub expected: Vec<u8>,
    /// Value of the response; `None` if it is not a single value.
    pub got: Option<Vec<u8>>,
}

impl Description {
    /// Describes a search of the body for `wanted`, which must be absent if `not`.
    #[must_use]
    pub fn of_search(kind: &str, wanted: Vec<u8>, not: bool) -> Self {
        let (check, got) = if not {
            (format!("{kind} not"), "found")
        } else {
            (kind.to_owned(), "not found")
        };
        Self {
            check: check.into_bytes(),
            expected: wanted,
            got: Some(got.as_bytes().to_vec()),
        }
    }
}

/// Reason why an offered request or transaction was never started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotStarted {
    /// Too many arrivals were already waiting for an idle user.
    Overflow,
    /// The run ended while the arrival was waiting.
    Stopped,
}

impl NotStarted {
    /// Number of reasons why an arrival was not started.
    pub const COUNT: usize = 2;

    /// All reasons why an arrival was not started, in the order of their index.
    pub const ALL: [Self; Self::COUNT] = [Self::Overflow, Self::Stopped];

    /// Returns the index in [`NotStarted::ALL`], in `[0, COUNT)`.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the name of the reason in result files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::Stopped => "stopped",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_follow_the_order_of_all() {
        for (index, kind) in Failure::ALL.into_iter().enumerate() {
            assert_eq!(kind.index(), index);
        }
        for (index, reason) in NotStarted::ALL.into_iter().enumerate() {
            assert_eq!(reason.index(), index);
        }
    }

    #[test]
    fn names_are_those_of_the_plan_reference() {
        let page = include_str!("../../../docs/reference/plan.md");
        let outcomes = page
            .split("## Outcomes")
            .nth(1)
            .expect("the page has a section on outcomes");
        for name in Failure::ALL
            .map(Failure::name)
            .into_iter()
            .chain(NotStarted::ALL.map(NotStarted::name))
        {
            assert!(
                outcomes.contains(&format!("`{name}`")),
                "{name} is not documented"
            );
        }
    }

    #[test]
    fn status_kinds_split_at_the_hundreds() {
        use Failure::{Status4xx, Status5xx, StatusOther};
        let kinds = [399, 400, 499, 500, 599, 600].map(Failure::of_status);
        assert_eq!(
            kinds,
            [
                StatusOther,
                Status4xx,
                Status4xx,
                Status5xx,
                Status5xx,
                StatusOther
            ]
        );
    }
}

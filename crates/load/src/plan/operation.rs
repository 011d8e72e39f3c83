//! Operations of users, and the templates of their texts.

use serde::Deserialize;

use super::{Call, Pause, Request};

/// Text with placeholders.
pub type Template = Vec<Part>;

/// A part of a template.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Part {
    /// Literal text.
    Text(String),
    /// The value of a variable.
    Variable(VariablePart),
    /// A computed value.
    Function(Function),
}

/// A variable to insert, and the encoding of its value.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariablePart {
    /// Index of the variable.
    pub variable: usize,
    /// Encoding of the value.
    #[serde(default)]
    pub encode: Encode,
}

/// Encodings of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encode {
    /// Unchanged.
    #[default]
    None,
    /// Percent-encoded: all but the unreserved characters of RFC 3986, section 2.3.
    Url,
    /// Escaped for use inside a JSON string.
    Json,
    /// With the five characters of HTML escaped.
    Html,
}

/// A computed value.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "function", rename_all = "snake_case", deny_unknown_fields)]
pub enum Function {
    /// A random UUID, version 4.
    Uuid {},
    /// Number of the user in the run.
    User {},
    /// Number of the user's current transaction.
    Iteration {},
    /// Wall clock. [ms since 1970]
    NowMs {},
    /// A random integer from `min` to `max`, both included.
    RandomInt {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// Random letters and digits.
    RandomText {
        /// Number of bytes.
        bytes: usize,
    },
}

/// One operation of a user.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Op {
    /// Run a transaction.
    Transaction {
        /// Index of the transaction.
        transaction: usize,
    },
    /// Requests that make one page.
    Page {
        /// Index of the page.
        page: usize,
        /// Operations of the page.
        ops: Vec<Op>,
    },
    /// Send an HTTP request and receive its response.
    Request(Box<Request>),
    /// Call a driver.
    Call(Box<Call>),
    /// Pause.
    Think {
        /// Length of the pause.
        pause: Pause,
    },
    /// Set a variable.
    Set {
        /// Index of the variable.
        variable: usize,
        /// Value to set.
        value: Template,
    },
    /// Draw a row of a pool.
    Draw {
        /// Index of the pool.
        pool: usize,
        /// For each column, the variable that receives its value, if any.
        variables: Vec<Option<usize>>,
    },
    /// Append to a list.
    Push {
        /// Index of the list.
        list: usize,
        /// Value to append.
        value: Template,
    },
    /// Remove an element from a list.
    Pop {
        /// Index of the list.
        list: usize,
        /// Variable that receives the value.
        variable: usize,
        /// Element to pick.
        pick: Pick,
    },
    /// Copy a random element of a list.
    Pick {
        /// Index of the list.
        list: usize,
        /// Variable that receives the value.
        variable: usize,
    },
    /// Run one of two branches at random.
    Branch {
        /// Probability of `then`. [percent]
        percent: f64,
        /// Operations of the first branch.
        then: Vec<Op>,
        /// Operations of the other branch.
        #[serde(default, rename = "else")]
        otherwise: Vec<Op>,
    },
    /// Run one of two branches depending on a variable.
    If {
        /// Condition.
        test: Test,
        /// Operations if the condition holds.
        then: Vec<Op>,
        /// Operations otherwise.
        #[serde(default, rename = "else")]
        otherwise: Vec<Op>,
    },
    /// Repeat operations.
    Loop {
        /// Number of rounds.
        count: Count,
        /// Operations of the loop.
        ops: Vec<Op>,
    },
}

/// Which element of a list is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// The first element.
    First,
    /// The last element.
    Last,
    /// Any element, with equal probabilities.
    Random,
}

/// Condition on a variable.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Index of the variable.
    pub variable: usize,
    /// Required value or state.
    pub is: Is,
}

/// Required state of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Is {
    /// The variable is empty.
    Empty,
    /// The variable is not empty.
    Filled,
}

/// Number of rounds of a loop.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Count {
    /// Exactly this number.
    Exactly(u32),
    /// A random number.
    Between(Between),
}

/// Bounds of a random count, both included.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Between {
    /// Smallest number.
    pub min: u32,
    /// Largest number.
    pub max: u32,
}

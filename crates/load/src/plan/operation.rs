//! What users do: operations, templates.

use serde::Deserialize;

use super::{Call, Pause, Request};

/// Text with places to fill.
pub type Template = Vec<Part>;

/// A piece of a template.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Part {
    /// As it is.
    Text(String),
    /// The value of a variable.
    Variable(VariablePart),
    /// A computed value.
    Function(Function),
}

/// The value of a variable, encoded for its place.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariablePart {
    /// Index of the variable.
    pub variable: usize,
    /// How it is encoded.
    #[serde(default)]
    pub encode: Encode,
}

/// How a value is encoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encode {
    /// As it is.
    #[default]
    None,
    /// Percent-encoded: all but the unreserved characters of RFC 3986, section 2.3.
    Url,
    /// As the inside of a JSON string.
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
    /// Number of the user.
    User {},
    /// Number of the transaction of this user.
    Iteration {},
    /// Wall clock. [ms since 1970]
    NowMs {},
    /// A whole number from `min` to `max`, both included.
    RandomInt {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// Letters and digits.
    RandomText {
        /// How many.
        bytes: usize,
    },
}

/// One thing a user does.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Op {
    /// Do a transaction.
    Transaction {
        /// Index.
        transaction: usize,
    },
    /// Requests that make one page.
    Page {
        /// Index.
        page: usize,
        /// What is done.
        ops: Vec<Op>,
    },
    /// Make an exchange.
    Request(Box<Request>),
    /// Make a call of a driver.
    Call(Box<Call>),
    /// Pause.
    Think {
        /// How long.
        pause: Pause,
    },
    /// Give a variable a value.
    Set {
        /// Index.
        variable: usize,
        /// The value.
        value: Template,
    },
    /// Take a row of a pool.
    Draw {
        /// Index.
        pool: usize,
        /// One variable, or none, per column.
        variables: Vec<Option<usize>>,
    },
    /// Append to a list.
    Push {
        /// Index.
        list: usize,
        /// The value.
        value: Template,
    },
    /// Take an element out of a list.
    Pop {
        /// Index.
        list: usize,
        /// Where it goes.
        variable: usize,
        /// Which element.
        pick: Pick,
    },
    /// Copy a random element of a list.
    Pick {
        /// Index.
        list: usize,
        /// Where it goes.
        variable: usize,
    },
    /// Go one of two ways at random.
    Branch {
        /// Chance of `then`. [percent]
        percent: f64,
        /// The one way.
        then: Vec<Op>,
        /// The other way.
        #[serde(default, rename = "else")]
        otherwise: Vec<Op>,
    },
    /// Go one of two ways by a variable.
    If {
        /// What is asked.
        test: Test,
        /// The one way.
        then: Vec<Op>,
        /// The other way.
        #[serde(default, rename = "else")]
        otherwise: Vec<Op>,
    },
    /// Repeat.
    Loop {
        /// How often.
        count: Count,
        /// What.
        ops: Vec<Op>,
    },
}

/// Which element of a list, or which match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// The first.
    First,
    /// The last.
    Last,
    /// Any, each as likely.
    Random,
}

/// A question about a variable.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Index of the variable.
    pub variable: usize,
    /// What it must be.
    pub is: Is,
}

/// State of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Is {
    /// Has no byte.
    Empty,
    /// Has a byte or more.
    Filled,
}

/// How often a loop runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Count {
    /// So often.
    Exactly(u32),
    /// A random number of times.
    Between(Between),
}

/// Bounds of a random count, both included.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Between {
    /// Fewest.
    pub min: u32,
    /// Most.
    pub max: u32,
}

//! The part of a plan that describes the operations of users, and the templates of the texts that they send.

use serde::Deserialize;

use super::{Call, Pause, Request};

/// A text with placeholders, as a sequence of its parts.
pub type Template = Vec<Part>;

/// A part of a template.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Part {
    /// Text that is inserted unchanged.
    Text(String),
    /// Placeholder for the value of a user variable.
    Variable(VariablePart),
    /// Placeholder for a value that is computed for each use.
    Function(Function),
}

/// Placeholder for the value of a user variable.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariablePart {
    /// Index of the user variable.
    pub variable: usize,
    /// Encoding of the value in the resulting text.
    #[serde(default)]
    pub encode: Encode,
}

/// Encoding of a value that is inserted into a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encode {
    /// The value is inserted unchanged.
    #[default]
    None,
    /// Percent-encoded: all characters except the unreserved characters of RFC 3986, section 2.3.
    Url,
    /// Escaped for use inside a JSON string.
    Json,
    /// Escaped for HTML: the five characters `&`, `<`, `>`, `"` and `'` are replaced.
    Html,
}

/// A value that is computed for each use of a template.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "function", rename_all = "snake_case", deny_unknown_fields)]
pub enum Function {
    /// A random UUID, version 4.
    Uuid {},
    /// Number of the user, unique within the run.
    User {},
    /// Number of the transaction that the user is executing, counted per user.
    Iteration {},
    /// Current time of the system clock. [ms since 1970]
    NowMs {},
    /// A random integer from `min` to `max`, both included.
    RandomInt {
        /// Smallest possible integer.
        min: i64,
        /// Largest possible integer.
        max: i64,
    },
    /// A random text of letters and digits.
    RandomText {
        /// Length of the text. [B]
        bytes: usize,
    },
}

/// One operation that a user executes.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Op {
    /// Execute a transaction.
    Transaction {
        /// Index of the transaction to execute.
        transaction: usize,
    },
    /// Execute operations whose requests together load one page, which is measured as a unit.
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
    /// Wait for the length of a pause.
    Think {
        /// Distribution of the length of the pause.
        pause: Pause,
    },
    /// Assign a value to a user variable.
    Set {
        /// Index of the user variable.
        variable: usize,
        /// Template of the new value.
        value: Template,
    },
    /// Take a row from a data pool and store its values in user variables.
    Draw {
        /// Index of the data pool.
        pool: usize,
        /// For each column of the pool, the index of the variable that receives the column's value, if any.
        variables: Vec<Option<usize>>,
    },
    /// Append a value to a list of the user.
    Push {
        /// Index of the user list.
        list: usize,
        /// Template of the value to append.
        value: Template,
    },
    /// Remove an element from a user list and store it in a variable.
    Pop {
        /// Index of the user list.
        list: usize,
        /// Index of the variable that receives the element.
        variable: usize,
        /// Choice of the element to remove.
        pick: Pick,
    },
    /// Copy a random element of a user list to a variable.
    Pick {
        /// Index of the user list.
        list: usize,
        /// Index of the variable that receives the element.
        variable: usize,
    },
    /// Execute one of two branches at random.
    Branch {
        /// Probability of the branch `then`. [percent]
        percent: f64,
        /// Operations of the branch that is chosen with probability `percent`.
        then: Vec<Op>,
        /// Operations of the branch that is chosen otherwise.
        #[serde(default, rename = "else")]
        otherwise: Vec<Op>,
    },
    /// Execute one of two branches, depending on the value of a variable.
    If {
        /// Condition that decides between the branches.
        test: Test,
        /// Operations to execute if the condition holds.
        then: Vec<Op>,
        /// Operations to execute if the condition does not hold.
        #[serde(default, rename = "else")]
        otherwise: Vec<Op>,
    },
    /// Repeat operations.
    Loop {
        /// Number of repetitions.
        count: Count,
        /// Operations to repeat.
        ops: Vec<Op>,
    },
}

/// Choice of an element of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// The first element.
    First,
    /// The last element.
    Last,
    /// A random element; all have equal probabilities.
    Random,
}

/// Condition on the value of a user variable.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Index of the user variable.
    pub variable: usize,
    /// Condition that the value of the variable must meet.
    pub is: Is,
}

/// Condition on the value of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Is {
    /// The variable is empty.
    Empty,
    /// The variable is not empty.
    Filled,
}

/// Number of repetitions of a loop.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Count {
    /// The loop is always repeated this many times.
    Exactly(u32),
    /// The number of repetitions is random, uniform between the bounds.
    Between(Between),
}

/// Bounds of a random number of repetitions, both included.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Between {
    /// Smallest number of repetitions.
    pub min: u32,
    /// Largest number of repetitions.
    pub max: u32,
}

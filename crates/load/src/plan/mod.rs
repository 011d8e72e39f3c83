//! The engine's plan: the JSON contract `towtank/plan/1` as data.
//!
//! [`read`] turns a file into a [`Plan`] or into every fault it has. Nothing here runs anything.

mod read;
mod validate;

use serde::Deserialize;

pub use read::{Fault, read, read_text};

/// What the engine shall do, fully resolved. Times are seconds, sizes are bytes.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Name of the run, copied into the results.
    pub run: String,
    /// Seed of every random sequence of the run.
    pub seed: u64,
    /// Folder for the results.
    pub out: String,
    /// Load threads, at least 1.
    pub threads: usize,
    /// CPUs that the threads are pinned to in turn; empty: not pinned.
    pub cpus: Vec<usize>,
    /// Where requests go.
    pub targets: Vec<Target>,
    /// How users get connections.
    pub connections: Connections,
    /// Bounds on waiting.
    pub timeouts: Timeouts,
    /// Bounds on what is accepted from a server.
    pub limits: PlanLimits,
    /// Data for users.
    pub pools: Vec<Pool>,
    /// Names of the user variables.
    pub variables: Vec<String>,
    /// Names of the user lists.
    pub lists: Vec<String>,
    /// Names of the requests.
    pub steps: Vec<Named>,
    /// Names of the pages.
    pub pages: Vec<Named>,
    /// Transactions.
    pub transactions: Vec<Transaction>,
    /// User groups.
    pub groups: Vec<Group>,
    /// When users act.
    pub load: Load,
}

/// A set of addresses that requests may go to.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Name, for people.
    pub name: String,
    /// Only `http`.
    pub scheme: Scheme,
    /// `host:port` each.
    pub addresses: Vec<String>,
    /// How a user picks an address when it opens a connection.
    #[serde(default)]
    pub balance: Balance,
    /// Value of the Host header.
    pub host: String,
}

/// Protocol of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// HTTP/1.1 without encryption.
    Http,
}

/// How a user picks an address of a target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Balance {
    /// By a counter of the thread that starts at the thread's number.
    #[default]
    RoundRobin,
    /// From the user's generator.
    Random,
}

/// How users get connections.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connections {
    /// Only `per_user`.
    pub mode: ConnectionMode,
}

/// Who owns a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionMode {
    /// Every user keeps one connection to each target it talks to.
    PerUser,
}

/// Bounds on waiting. [s]
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// For a connection to be made.
    pub connect_s: f64,
    /// For a whole response, from the actual start of its request.
    pub response_s: f64,
    /// For users to finish after the last stage.
    pub drain_s: f64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect_s: 5.0,
            response_s: 30.0,
            drain_s: 30.0,
        }
    }
}

/// Bounds on what is accepted from a server. [bytes]
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanLimits {
    /// Largest response head.
    pub header_bytes: usize,
    /// Largest response body.
    pub body_bytes: u64,
    /// How much of a body is kept for extraction and content checks.
    pub capture_bytes: usize,
}

impl Default for PlanLimits {
    fn default() -> Self {
        Self {
            header_bytes: 65_536,
            body_bytes: 1 << 30,
            capture_bytes: 1 << 20,
        }
    }
}

/// Rows of data that users draw from.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Name, for people.
    pub name: String,
    /// Names of the columns; taken from the file's first line with `csv`.
    #[serde(default)]
    pub columns: Vec<String>,
    /// How rows are dealt.
    pub order: Order,
    /// The rows, unless `csv` names a file.
    #[serde(default)]
    pub rows: Option<Vec<Vec<String>>>,
    /// A file with the rows.
    #[serde(default)]
    pub csv: Option<String>,
    /// One weight per row, with `weighted`.
    #[serde(default)]
    pub weights: Option<Vec<f64>>,
    /// The column that holds the weights, with `weighted`.
    #[serde(default)]
    pub weight_column: Option<String>,
}

/// How rows of a pool are dealt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Any row, each as likely.
    Random,
    /// Any row, as likely as its weight.
    Weighted,
    /// Row after row, again from the start at the end.
    Sequential,
    /// Row after row, each once.
    Unique,
}

/// A request or a page, by name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// The transaction it belongs to; none for what a group does outside any.
    #[serde(default)]
    pub transaction: Option<String>,
}

/// What a user does as one unit of work.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// Its name.
    pub name: String,
    /// What is done, in order.
    pub ops: Vec<Op>,
}

/// Users that behave alike.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Part of all users, in (0, 1].
    pub share: f64,
    /// Done once after the start of a user.
    pub once: Vec<Op>,
    /// Pause between transactions.
    pub think: Option<Pause>,
    /// Time from the intended start of one transaction to that of the next.
    pub pacing: Option<Pause>,
    /// Transactions to pick from.
    pub mix: Vec<Weighted>,
    /// Done once before a user leaves.
    pub exit: Vec<Op>,
}

/// One entry of a mix.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weighted {
    /// Index of the transaction.
    pub transaction: usize,
    /// Its weight, >= 0; any scale.
    pub weight: f64,
}

/// A distribution of pauses. [s]
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "dist", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pause {
    /// Always the same.
    Fixed {
        /// The pause.
        mean_s: f64,
    },
    /// Exponential.
    Exponential {
        /// Its mean.
        mean_s: f64,
    },
    /// Uniform over an interval.
    Uniform {
        /// Shortest.
        min_s: f64,
        /// Longest.
        max_s: f64,
    },
    /// Normal, truncated by rejection.
    Normal {
        /// Mean before truncation.
        mean_s: f64,
        /// Standard deviation before truncation.
        sd_s: f64,
        /// Shortest.
        min_s: f64,
        /// Longest.
        max_s: f64,
    },
}

/// When users act.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Load {
    /// A number of users, each starting its next transaction after the one before.
    Closed {
        /// Most users of any stage.
        users_at_most: u32,
        /// Stages in order.
        stages: Vec<ClosedStage>,
    },
    /// Transactions start at given instants, whether or not those before have ended.
    Open {
        /// How arrivals are spaced.
        arrivals: Arrivals,
        /// Most transactions in hand at once.
        users_at_most: u32,
        /// Most arrivals that wait for an idle user.
        backlog_at_most: u64,
        /// Stages in order.
        stages: Vec<OpenStage>,
    },
}

/// How arrivals are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Evenly.
    Constant,
    /// As a Poisson process.
    Poisson,
}

/// What a stage is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Load grows.
    RampUp,
    /// Load is held until the system has settled.
    Settle,
    /// Load is held and counts.
    Steady,
    /// Load falls.
    RampDown,
}

impl Phase {
    /// The name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Phase::RampUp => "ramp_up",
            Phase::Settle => "settle",
            Phase::Steady => "steady",
            Phase::RampDown => "ramp_down",
        }
    }
}

/// A stage of closed load.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedStage {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub phase: Phase,
    /// Index of the load level.
    #[serde(default)]
    pub level: usize,
    /// How long. [s]
    pub duration_s: f64,
    /// Users at its end.
    pub users: u32,
}

/// A stage of open load.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenStage {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub phase: Phase,
    /// Index of the load level.
    #[serde(default)]
    pub level: usize,
    /// How long. [s]
    pub duration_s: f64,
    /// Arrival rate at its end. [1/s]
    pub rate: f64,
}

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

/// One exchange.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Index of the step that counts it.
    pub step: usize,
    /// Index of the target.
    pub target: usize,
    /// HTTP method.
    pub method: String,
    /// Path and query.
    pub path: Template,
    /// Further headers.
    #[serde(default)]
    pub headers: Vec<(String, Template)>,
    /// Basic authentication.
    #[serde(default)]
    pub auth: Option<Auth>,
    /// What is sent.
    #[serde(default)]
    pub body: Option<Body>,
    /// What is kept of the answer.
    #[serde(default)]
    pub extract: Vec<Extract>,
    /// What the answer must be.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// Time for the whole answer in place of the plan's. [s]
    #[serde(default)]
    pub timeout_s: Option<f64>,
    /// What a failure does.
    #[serde(default)]
    pub on_failure: OnFailure,
}

/// User and password of Basic authentication.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// User name.
    pub user: Template,
    /// Password.
    pub password: Template,
}

/// What a failed request does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Ends the transaction as failed.
    #[default]
    End,
    /// The user goes on.
    GoOn,
}

/// Body of a request.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Body {
    /// A template.
    Text {
        /// The text.
        template: Template,
    },
    /// A file as it is.
    File {
        /// Where it is.
        path: String,
    },
    /// `multipart/form-data`.
    Multipart {
        /// Its parts.
        parts: Vec<MultipartPart>,
    },
}

/// A part of a multipart body: exactly one of `content`, `file` and `generated`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MultipartPart {
    /// Name of the form field.
    pub name: String,
    /// Name of the file.
    #[serde(default)]
    pub filename: Option<Template>,
    /// Its content type.
    #[serde(default)]
    pub content_type: Option<String>,
    /// Content as a template.
    #[serde(default)]
    pub content: Option<Template>,
    /// Content from a file.
    #[serde(default)]
    pub file: Option<String>,
    /// Content made while it is sent.
    #[serde(default)]
    pub generated: Option<Generated>,
}

/// Content made while it is sent.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generated {
    /// How much.
    pub bytes: u64,
    /// Of what kind.
    pub form: Form,
}

/// Kind of generated content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Words.
    Text,
    /// Bytes that do not compress.
    Random,
}

/// A value taken from an answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extract {
    /// Where it goes.
    pub into: Destination,
    /// What is looked at.
    pub from: Source,
    /// How the value is found; not needed for `status`.
    #[serde(default)]
    pub expression: String,
    /// Which match.
    #[serde(default)]
    pub pick: ExtractPick,
    /// Whether nothing found is a failure.
    #[serde(default = "yes")]
    pub required: bool,
    /// The value when nothing was found and it is not required.
    #[serde(default)]
    pub default: Option<String>,
}

fn yes() -> bool {
    true
}

/// Where an extracted value goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    /// Index of a variable.
    Variable(usize),
    /// Index of a list.
    List(usize),
}

/// What an extraction looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The body as JSON.
    Json,
    /// A header.
    Header,
    /// The body as bytes.
    Regex,
    /// The status code.
    Status,
}

/// Which match of an extraction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtractPick {
    /// The first.
    #[default]
    First,
    /// The last.
    Last,
    /// Any, each as likely.
    Random,
    /// All, in place of what the list held.
    All,
    /// All, behind what the list holds.
    Append,
    /// How many there are.
    Count,
}

/// What an answer must be.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Check {
    /// The status code.
    Status {
        /// One of these.
        #[serde(default, rename = "in")]
        within: Option<Vec<u16>>,
        /// At least.
        #[serde(default)]
        min: Option<u16>,
        /// At most.
        #[serde(default)]
        max: Option<u16>,
    },
    /// Bytes of the body.
    Size {
        /// At least.
        #[serde(default)]
        min: Option<u64>,
        /// At most.
        #[serde(default)]
        max: Option<u64>,
    },
    /// Text in the body.
    Contains {
        /// The text.
        text: Template,
        /// Whether it must be absent.
        #[serde(default)]
        not: bool,
    },
    /// A pattern in the body.
    Regex {
        /// The pattern.
        pattern: String,
        /// Whether it must be absent.
        #[serde(default)]
        not: bool,
    },
    /// A value in a JSON body.
    Json {
        /// Where it is.
        expression: String,
        /// What it must be; that it is there, if not given.
        #[serde(default)]
        equals: Option<Template>,
    },
    /// A header.
    Header {
        /// Its name.
        name: String,
        /// What its value must contain.
        contains: Template,
    },
}

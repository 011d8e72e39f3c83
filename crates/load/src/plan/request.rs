//! Exchanges: what is sent, what is kept of the answer, what the answer must be.

use serde::Deserialize;

use super::Template;

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
    /// What it does to something that is kept.
    #[serde(default)]
    pub note: Option<Note>,
}

/// What a request does to something that is kept, which is noted with the results.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// What it does.
    pub does: Does,
    /// Name of the kind of things.
    pub of: String,
    /// By which the thing is found again; of `stores` it may read what the answer told.
    pub key: Template,
}

/// What a request does to something that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Does {
    /// Its content is new; users are told with the answer.
    Stores,
    /// Its content takes the place of another.
    Replaces,
    /// It goes away.
    Removes,
    /// It is read back.
    Reads,
}

impl Does {
    /// The name in plans and result files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stores => "stores",
            Self::Replaces => "replaces",
            Self::Removes => "removes",
            Self::Reads => "reads",
        }
    }
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

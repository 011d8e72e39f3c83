//! Exchanges: request, extractions, and checks of the answer.

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
    /// Body of the request.
    #[serde(default)]
    pub body: Option<Body>,
    /// Values to extract from the answer.
    #[serde(default)]
    pub extract: Vec<Extract>,
    /// Checks of the answer.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// Time for the whole answer in place of the plan's. [s]
    #[serde(default)]
    pub timeout_s: Option<f64>,
    /// Consequence of a failure.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// Note of the change to a stored thing, if any.
    #[serde(default)]
    pub note: Option<Note>,
}

/// Change of a request to a stored thing, which is noted with the results.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// Kind of the change.
    pub does: Does,
    /// Name of the kind of things.
    pub of: String,
    /// Key that identifies the thing; with `stores` it may use values extracted from the answer.
    pub key: Template,
}

/// Change of a request to a stored thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Does {
    /// Stores a new content; the answer confirms it.
    Stores,
    /// Replaces the content of the thing.
    Replaces,
    /// Removes the thing.
    Removes,
    /// Reads the thing back.
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

/// Consequence of a failed request.
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
        /// Path of the file.
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
    /// Size of the content.
    pub bytes: u64,
    /// Kind of the content.
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
    /// Destination of the value.
    pub into: Destination,
    /// Part of the answer that is searched.
    pub from: Source,
    /// Expression that finds the value; not needed for `status`.
    #[serde(default)]
    pub expression: String,
    /// Choice of a match.
    #[serde(default)]
    pub pick: ExtractPick,
    /// `true` if a missing value fails the request.
    #[serde(default = "yes")]
    pub required: bool,
    /// The value if nothing was found and it is not required.
    #[serde(default)]
    pub default: Option<String>,
}

fn yes() -> bool {
    true
}

/// Destination of an extracted value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    /// Index of a variable.
    Variable(usize),
    /// Index of a list.
    List(usize),
}

/// Part of the answer that an extraction searches.
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

/// Choice of a match of an extraction.
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
    /// All; they replace the content of the list.
    All,
    /// All; they are appended to the list.
    Append,
    /// Number of matches.
    Count,
}

/// Requirement on an answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Check {
    /// The status code.
    Status {
        /// One of these codes.
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
        /// `true` if the text must be absent.
        #[serde(default)]
        not: bool,
    },
    /// A pattern in the body.
    Regex {
        /// The pattern.
        pattern: String,
        /// `true` if the match must be absent.
        #[serde(default)]
        not: bool,
    },
    /// A value in a JSON body.
    Json {
        /// Expression that finds the value.
        expression: String,
        /// Required value; without it, the value must exist.
        #[serde(default)]
        equals: Option<Template>,
    },
    /// A header.
    Header {
        /// Its name.
        name: String,
        /// Text that the value must contain.
        contains: Template,
    },
}

//! HTTP requests, extractions from their answers, and checks.

use serde::Deserialize;

use super::Template;

/// One HTTP request.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Index of the step under which the request is counted.
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
    /// Time limit for the complete answer; overrides that of the plan. [s]
    #[serde(default)]
    pub timeout_s: Option<f64>,
    /// Consequence of a failure.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// Note of the change to a stored object, if any.
    #[serde(default)]
    pub note: Option<Note>,
}

/// Change of a stored object by a request, which is noted in the results.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// Kind of the change.
    pub does: Does,
    /// Kind of the object.
    pub of: String,
    /// Template of the key that identifies the object; with `stores` it may use values extracted from the answer.
    pub key: Template,
}

/// Effect of a request on a stored object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Does {
    /// Stores new content; the answer confirms it.
    Stores,
    /// Replaces the content of the object.
    Replaces,
    /// Removes the object.
    Removes,
    /// Reads the object back.
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

/// Next step of a user after a failed request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The transaction ends as failed.
    #[default]
    End,
    /// The user continues.
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
    /// The content of a file.
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
    /// Content given by a template.
    #[serde(default)]
    pub content: Option<Template>,
    /// Content from a file.
    #[serde(default)]
    pub file: Option<String>,
    /// Content that is generated while it is sent.
    #[serde(default)]
    pub generated: Option<Generated>,
}

/// Content that is generated while it is sent.
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
    /// Random bytes, which do not compress.
    Random,
}

/// Extraction of a value from an answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extract {
    /// Destination of the value.
    pub into: Destination,
    /// Part of the answer to search.
    pub from: Source,
    /// Expression that finds the value; not needed for `status`.
    #[serde(default)]
    pub expression: String,
    /// Which match is taken.
    #[serde(default)]
    pub pick: ExtractPick,
    /// `true` if a missing value fails the request.
    #[serde(default = "yes")]
    pub required: bool,
    /// Value if none was found and none is required.
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
    /// A header of the response, by name.
    Header,
    /// The body as bytes.
    Regex,
    /// The status code.
    Status,
}

/// Which match an extraction takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtractPick {
    /// The first.
    #[default]
    First,
    /// The last.
    Last,
    /// Any match, with equal probabilities.
    Random,
    /// All matches; they replace the content of the list.
    All,
    /// All matches; they are appended to the list.
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

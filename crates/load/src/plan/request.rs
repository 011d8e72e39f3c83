//! HTTP requests, and extractions and checks of their responses.

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
    /// Values to extract from the response.
    #[serde(default)]
    pub extract: Vec<Extract>,
    /// Checks of the response.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// Time limit for the complete response; overrides the limit of the plan. [s]
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
    /// Template of the key that identifies the object. With `stores`, it may use values extracted from the response.
    pub key: Template,
}

/// Effect of a request on a stored object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Does {
    /// Stores new content; the response confirms it.
    Stores,
    /// Replaces the content of the object.
    Replaces,
    /// Removes the object.
    Removes,
    /// Reads the object back.
    Reads,
}

impl Does {
    /// The name of the effect in plans and result files.
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

/// Consequence of a failed request for its user.
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
    /// A text from a template.
    Text {
        /// Template of the text.
        template: Template,
    },
    /// The content of a file.
    File {
        /// Path of the file.
        path: String,
    },
    /// `multipart/form-data`.
    Multipart {
        /// Parts of the body.
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
    /// Content type of the part.
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
    /// Text that consists of words.
    Text,
    /// Random bytes, which do not compress.
    Random,
}

/// Extraction of a value from a response.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extract {
    /// Destination of the value.
    pub into: Destination,
    /// Part of the response to search.
    pub from: Source,
    /// Expression that finds the value; not needed for `status`.
    #[serde(default)]
    pub expression: String,
    /// Choice among several matches.
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

/// Part of the response that an extraction searches.
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

/// Choice among several matches of an extraction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtractPick {
    /// The first match.
    #[default]
    First,
    /// The last match.
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

/// Requirement on a response.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Check {
    /// Requirement on the status code.
    Status {
        /// List of allowed codes.
        #[serde(default, rename = "in")]
        within: Option<Vec<u16>>,
        /// Lowest allowed code.
        #[serde(default)]
        min: Option<u16>,
        /// Highest allowed code.
        #[serde(default)]
        max: Option<u16>,
    },
    /// Limits on the size of the body. [B]
    Size {
        /// Minimum size.
        #[serde(default)]
        min: Option<u64>,
        /// Maximum size.
        #[serde(default)]
        max: Option<u64>,
    },
    /// Text that the body must contain, or must not contain.
    Contains {
        /// Text to search for.
        text: Template,
        /// `true` if the text must be absent.
        #[serde(default)]
        not: bool,
    },
    /// Pattern that the body must match, or must not match.
    Regex {
        /// Regular expression.
        pattern: String,
        /// `true` if the body must not match the pattern.
        #[serde(default)]
        not: bool,
    },
    /// Requirement on a value in a JSON body.
    Json {
        /// Expression that finds the value.
        expression: String,
        /// Required value. Without it, the value must exist.
        #[serde(default)]
        equals: Option<Template>,
    },
    /// Requirement on a header.
    Header {
        /// Name of the header.
        name: String,
        /// Text that the value must contain.
        contains: Template,
    },
}

//! The part of a plan that describes HTTP requests, and the extractions and checks of their responses.

use serde::Deserialize;

use super::Template;

/// One HTTP request.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Index of the plan step under which the results count this request.
    pub step: usize,
    /// Index of the target that the request is sent to.
    pub target: usize,
    /// HTTP method.
    pub method: String,
    /// Template of the path and query.
    pub path: Template,
    /// Names and value templates of header fields, in addition to those that the engine sets.
    #[serde(default)]
    pub headers: Vec<(String, Template)>,
    /// User name and password for Basic authentication.
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
    /// Time limit for the complete response to this request; overrides the response limit of the plan. [s]
    #[serde(default)]
    pub timeout_s: Option<f64>,
    /// Effect on the user's transaction if the request fails.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// Describes a stored object that the request changes or reads, so that the results record it.
    #[serde(default)]
    pub note: Option<Note>,
}

/// Describes how a request changes or reads a stored object. For each such request, the results record the object's
/// key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// Effect of the request on the object.
    pub does: Does,
    /// Type of the object, a name chosen by the author of the plan.
    pub of: String,
    /// Template of the key that identifies the object. With `stores`, it may use values extracted from the response.
    pub key: Template,
}

/// Effect of a request on a stored object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Does {
    /// Stores a new object; the response confirms this.
    Stores,
    /// Replaces the content of an existing object.
    Replaces,
    /// Removes an existing object.
    Removes,
    /// Reads the content of an existing object.
    Reads,
}

impl Does {
    /// Returns the name of the effect in plans and result files.
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

/// User name and password for Basic authentication (RFC 7617).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// Template of the user name.
    pub user: Template,
    /// Template of the password.
    pub password: Template,
}

/// Effect of a failed request on the user's transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The transaction ends and counts as failed.
    #[default]
    End,
    /// The user continues with the next operation of the transaction.
    GoOn,
}

/// Body of a request.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Body {
    /// A text, rendered from a template for each request.
    Text {
        /// Template of the body.
        template: Template,
    },
    /// The content of a file.
    File {
        /// Path of the file whose content is sent.
        path: String,
    },
    /// A form with several parts, encoded as `multipart/form-data`.
    Multipart {
        /// Parts of the body.
        parts: Vec<MultipartPart>,
    },
}

/// A part of a multipart body. Its content is given by exactly one of `content`, `file` and `generated`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MultipartPart {
    /// Name of the form field.
    pub name: String,
    /// Template of the file name that is sent with the part, if any.
    #[serde(default)]
    pub filename: Option<Template>,
    /// Content type of the part.
    #[serde(default)]
    pub content_type: Option<String>,
    /// Template of the content.
    #[serde(default)]
    pub content: Option<Template>,
    /// Path of the file that contains the content.
    #[serde(default)]
    pub file: Option<String>,
    /// Settings of content that is generated while it is sent.
    #[serde(default)]
    pub generated: Option<Generated>,
}

/// Settings of content that is generated while it is sent.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generated {
    /// Size of the generated content. [B]
    pub bytes: u64,
    /// Type of the generated content.
    pub form: Form,
}

/// Type of generated content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Text that consists of words.
    Text,
    /// Random bytes, which do not compress.
    Random,
}

/// Extracts a value from a response.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extract {
    /// Variable or list that receives the value.
    pub into: Destination,
    /// Part of the response to search.
    pub from: Source,
    /// Expression that selects the value in the part `from` of the response, such as a `JSONPath`; not needed for
    /// `status`.
    #[serde(default)]
    pub expression: String,
    /// Selection among several matches of the expression.
    #[serde(default)]
    pub pick: ExtractPick,
    /// `true` if the request fails when no value is found.
    #[serde(default = "yes")]
    pub required: bool,
    /// Value that is stored if none was found and `required` is `false`.
    #[serde(default)]
    pub default: Option<String>,
}

fn yes() -> bool {
    true
}

/// Variable or list that receives an extracted value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    /// A variable of the user, by its index.
    Variable(usize),
    /// A list of the user, by its index.
    List(usize),
}

/// Part of the response that an extraction searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The body, parsed as JSON and searched by a `JSONPath`.
    Json,
    /// The header field with this name.
    Header,
    /// The body as bytes, searched by a regular expression.
    Regex,
    /// The status code.
    Status,
}

/// Selection among several matches of an extraction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtractPick {
    /// The first match.
    #[default]
    First,
    /// The last match.
    Last,
    /// A random match; all have equal probabilities.
    Random,
    /// All matches, which replace the content of the destination list.
    All,
    /// All matches, which are appended to the destination list.
    Append,
    /// The number of matches.
    Count,
}

/// Requirement on a response; the request fails if it is violated.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Check {
    /// Requirement on the status code.
    Status {
        /// Allowed status codes.
        #[serde(default, rename = "in")]
        within: Option<Vec<u16>>,
        /// Lowest allowed status code.
        #[serde(default)]
        min: Option<u16>,
        /// Highest allowed status code.
        #[serde(default)]
        max: Option<u16>,
    },
    /// Limits on the size of the response body. [B]
    Size {
        /// Minimum size of the response body.
        #[serde(default)]
        min: Option<u64>,
        /// Maximum size of the response body.
        #[serde(default)]
        max: Option<u64>,
    },
    /// Text that the response body must contain or must not contain, depending on `not`.
    Contains {
        /// Template of the text to search for.
        text: Template,
        /// `true` if the body must not contain the text.
        #[serde(default)]
        not: bool,
    },
    /// Regular expression that the response body must match or must not match, depending on `not`.
    Regex {
        /// Regular expression.
        pattern: String,
        /// `true` if the body must not match the pattern.
        #[serde(default)]
        not: bool,
    },
    /// Requirement on a value in a JSON response body.
    Json {
        /// `JSONPath` expression that selects the value.
        expression: String,
        /// Required value. Without it, the expression only needs to select some value.
        #[serde(default)]
        equals: Option<Template>,
    },
    /// Requirement on a header field of the response.
    Header {
        /// Name of the header field.
        name: String,
        /// Template of a text that the field's value must contain.
        contains: Template,
    },
}

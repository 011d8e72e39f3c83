//! Compiled requests: literal bytes from the plan, into which values are inserted, and large bodies that are generated
//! while they are sent.

use std::fmt::Write as _;

use crate::cookies::{Jar, Site};
use crate::extract::Inspection;
use crate::http2::hpack::{Constant, Encoder};
use crate::pause::nanoseconds;
use crate::plan::{self, ConnectionMode, HttpVersion, OnFailure, Plan, Scheme};
use crate::rng::Random;
use crate::sys;
use crate::template::{Context, Text};

use super::body::{Body, Files, Outgoing};
use super::fields::{Constants, Fields, basic_credentials};
use super::note::Note;
use super::path::{encode, is_path};

/// A compiled request of the plan.
#[derive(Debug)]
pub struct Request {
    /// Index of the plan step whose results count this request.
    pub step: usize,
    /// Index of the target that the request is sent to.
    pub target: usize,
    /// Time limit for the complete response. [ns]
    pub timeout_ns: u64,
    /// `true` if the user continues after the request has failed.
    pub go_on: bool,
    /// `true` if the method is HEAD.
    pub is_head: bool,
    /// Checks and extractions of the response.
    pub inspection: Inspection,
    /// Describes a stored object that the request changes or reads, if any.
    pub note: Option<Note>,
    /// Names of the transaction and the step, for error messages.
    label: Box<str>,
    /// Host of the request, and use of TLS. Both determine which cookies are sent.
    pub site: Site,
    /// Cookies that the plan step itself sets, as one header value.
    cookies: Option<Text>,
    /// Bytes of the request before its path: the method and a blank.
    method: Box<[u8]>,
    path: Text,
    /// Header lines, except those that depend on the body.
    lines: Vec<Line>,
    /// Header fields of an HTTP/2 request; `method` and `lines` are then not used.
    fields: Option<Fields>,
    body: Body,
}

#[derive(Debug)]
enum Line {
    Literal(Box<[u8]>),
    /// A header line whose value is not constant: all bytes before the value, and the template of the value.
    Header(Box<[u8]>, Text),
    /// A line for Basic authentication that is not constant: all bytes before the value, then user name and password.
    Basic(Box<[u8]>, Text, Text),
}

/// Reason why a rendered request would violate the syntax of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsendable {
    /// The path does not begin with a slash, or contains a blank.
    Path,
    /// A header contains a line break.
    Header,
}

/// Limit on the length of a path in an error message; longer paths are cut. [B]
const SHOWN_BYTES: usize = 60;

impl Request {
    /// Compiles a request.
    ///
    /// # Errors
    /// Describes a fault of the files or patterns in the request.
    pub fn new(
        request: &plan::Request,
        plan: &Plan,
        files: &mut Files,
        constants: &mut Constants,
    ) -> Result<Self, String> {
        let boundary = format!(
            "towtank-{:016x}",
            Random::from_seed(plan.seed ^ request.step as u64).next_u64()
        );
        let body = Body::new(request, &boundary, files)?;
        let multipart = matches!(body, Body::Multipart(..)).then_some(boundary);
        let speaks_http2 = plan.targets[request.target].http == HttpVersion::V2;
        let fields =
            speaks_http2.then(|| Fields::new(request, plan, multipart.as_deref(), constants));
        let step = &plan.steps[request.step];
        let transaction = step.transaction.as_deref().unwrap_or("once");
        Ok(Self {
            step: request.step,
            target: request.target,
            timeout_ns: nanoseconds(request.timeout_s.unwrap_or(plan.timeouts.response_s)),
            go_on: request.on_failure == OnFailure::GoOn,
            is_head: request.method == "HEAD",
            inspection: Inspection::new(request)?,
            note: request.note.as_ref().map(Note::new),
            label: format!("{transaction} / {}", step.name).into(),
            site: site(request, &plan.targets[request.target]),
            cookies: cookies(request),
            method: format!("{} ", request.method).into_bytes().into(),
            path: Text::new(&request.path),
            lines: lines(request, plan, multipart.as_deref()),
            fields,
            body,
        })
    }

    /// Returns `true` if the request uses HTTP/2.
    #[must_use]
    #[inline]
    pub fn is_http2(&self) -> bool {
        self.fields.is_some()
    }

    /// Returns the error message for a request that cannot be sent, with its transaction, its step and its `path`.
    #[must_use]
    pub fn reason(&self, why: Unsendable, path: &[u8]) -> String {
        let label = &self.label;
        match why {
            Unsendable::Header => format!("{label}: a header has a line break in its value"),
            Unsendable::Path => {
                let shown = String::from_utf8_lossy(&path[..path.len().min(SHOWN_BYTES)]);
                let shown = match shown.split_once("://") {
                    // If the path is an absolute URL, only the host is shown: the user name in a URL is a secret, and
                    // each different path would be counted as a separate reason.
                    Some((scheme, rest)) => {
                        let place = rest.split('/').next().unwrap_or_default();
                        let host = place.rsplit('@').next().unwrap_or_default();
                        format!("{scheme}://{host}")
                    }
                    None => shown.split('?').next().unwrap_or_default().to_owned(),
                };
                format!(
                    "{label}: the path is {shown:?}: a path must begin with / and have no blank; for another host, add a target"
                )
            }
        }
    }

    /// Renders an HTTP/2 request: the values of its fields and its path into their buffers, and its body into `out`,
    /// which must be empty.
    ///
    /// # Errors
    /// [`Unsendable`]. Nothing is sent then, and `path` contains the path.
    pub fn render(
        &self,
        values: &mut Vec<u8>,
        out: &mut Outgoing,
        path: &mut Vec<u8>,
        context: &mut Context<'_>,
        jar: &mut Jar,
    ) -> Result<(), Unsendable> {
        let Some(fields) = &self.fields else {
            return Err(Unsendable::Path);
        };
        fields.render(values, path, &mut out.scratch, context)?;
        if self.cookies.is_some() || !jar.is_empty() {
            Fields::add_cookies(values, |out| self.write_cookies(out, path, context, jar))?;
        }
        if let Some(length) = self.body.render(out, context) {
            Fields::add_length(values, length);
        }
        Ok(())
    }

    /// Encodes the fields of an HTTP/2 request with the encoder of its connection.
    #[inline]
    pub fn encode_fields(
        &self,
        constants: &[Constant],
        values: &[u8],
        encoder: &mut Encoder,
        out: &mut Vec<u8>,
    ) {
        if let Some(fields) = &self.fields {
            fields.encode(constants, values, encoder, out);
        }
    }

    /// Renders the request into `out`, which must be empty, and its path into `path`.
    ///
    /// # Errors
    /// [`Unsendable`]. Nothing is sent then, and `path` contains the path.
    pub fn encode(
        &self,
        out: &mut Outgoing,
        path: &mut Vec<u8>,
        context: &mut Context<'_>,
        jar: &mut Jar,
    ) -> Result<(), Unsendable> {
        let head = &mut out.buffer;
        head.extend_from_slice(&self.method);
        let start = head.len();
        self.path.render(head, context);
        let good = is_path(&head[start..]);
        if good {
            encode(head, start);
        }
        path.clear();
        path.extend_from_slice(&head[start..]);
        if !good {
            return Err(Unsendable::Path);
        }
        for line in &self.lines {
            line.render(head, &mut out.scratch, context)?;
        }
        if self.cookies.is_some() || !jar.is_empty() {
            let start = head.len();
            head.extend_from_slice(b"Cookie: ");
            if self.write_cookies(head, path, context, jar)? {
                head.extend_from_slice(b"\r\n");
            } else {
                head.truncate(start);
            }
        }
        self.body.encode(out, context);
        Ok(())
    }

    /// Appends one header value: the cookies that the step sets, followed by those of the user's jar. Returns `true` if
    /// there are any cookies.
    fn write_cookies(
        &self,
        out: &mut Vec<u8>,
        path: &[u8],
        context: &mut Context<'_>,
        jar: &mut Jar,
    ) -> Result<bool, Unsendable> {
        let start = out.len();
        if let Some(cookies) = &self.cookies {
            cookies.render(out, context);
            if !is_value(&out[start..]) {
                return Err(Unsendable::Header);
            }
        }
        jar.join(&self.site, path, start, out, wall_ms);
        Ok(out.len() > start)
    }
}

/// Returns the current time of the system clock, needed to detect expired cookies. [ms since 1970]
pub(crate) fn wall_ms() -> i64 {
    (sys::wall_ns() / 1_000_000) as i64
}

/// Returns the site that cookies of a request belong to. As in browsers, its host is that of the Host header, which a
/// plan step may set. If the step's Host header contains placeholders, the host of the target is used.
fn site(request: &plan::Request, target: &plan::Target) -> Site {
    let host = |(name, _): &&(String, plan::Template)| name.eq_ignore_ascii_case("host");
    let given = request.headers.iter().find(host);
    let given = given.map(|(_, value)| Text::new(value));
    let constant = given.as_ref().and_then(Text::constant);
    let host = constant.and_then(|host| std::str::from_utf8(host).ok());
    Site::new(host.unwrap_or(&target.host), target.scheme == Scheme::Https)
}

/// Returns `true` if the header is a Cookie header, whose value is joined with the user's cookies.
pub(super) fn is_cookie(name: &str) -> bool {
    name.eq_ignore_ascii_case("cookie")
}

/// Returns all cookies that a step sets, as one value.
fn cookies(request: &plan::Request) -> Option<Text> {
    let given = request.headers.iter().filter(|(name, _)| is_cookie(name));
    let joined = given
        .map(|(_, value)| value.clone())
        .reduce(|mut all, more| {
            all.push(plan::Part::Text("; ".to_owned()));
            all.extend(more);
            all
        });
    joined.map(|value| Text::new(&value))
}

fn lines(request: &plan::Request, plan: &Plan, multipart: Option<&str>) -> Vec<Line> {
    let host = &plan.targets[request.target].host;
    let given = |wanted: &str| {
        request
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(wanted))
    };
    // Writing into a string cannot fail.
    let mut fixed = " HTTP/1.1\r\n".to_owned();
    if !given("host") {
        let _ = write!(fixed, "Host: {host}\r\n");
    }
    if !given("user-agent") {
        fixed += concat!("User-Agent: towtank/", env!("CARGO_PKG_VERSION"), "\r\n");
    }
    if !given("accept-encoding") {
        fixed += "Accept-Encoding: identity\r\n";
    }
    if plan.connections.mode == ConnectionMode::NewEachTime && !given("connection") {
        fixed += "Connection: close\r\n";
    }
    if let Some(boundary) = multipart.filter(|_| !given("content-type")) {
        let _ = write!(
            fixed,
            "Content-Type: multipart/form-data; boundary={boundary}\r\n"
        );
    }
    let mut literal = fixed.into_bytes();
    let mut lines = Vec::new();
    for (name, value) in request.headers.iter().filter(|(name, _)| !is_cookie(name)) {
        let value = Text::new(value);
        literal.extend_from_slice(format!("{name}: ").as_bytes());
        if let Some(constant) = value.constant() {
            literal.extend_from_slice(constant);
            literal.extend_from_slice(b"\r\n");
        } else {
            lines.push(Line::Header(std::mem::take(&mut literal).into(), value));
        }
    }
    if let Some(auth) = &request.auth {
        let (user, password) = (Text::new(&auth.user), Text::new(&auth.password));
        if let (Some(user), Some(password)) = (user.constant(), password.constant()) {
            literal.extend_from_slice(b"Authorization: Basic ");
            basic_credentials(&[user, b":", password].concat(), &mut literal);
            literal.extend_from_slice(b"\r\n");
        } else {
            literal.extend_from_slice(b"Authorization: Basic ");
            lines.push(Line::Basic(
                std::mem::take(&mut literal).into(),
                user,
                password,
            ));
        }
    }
    if !literal.is_empty() {
        lines.push(Line::Literal(literal.into()));
    }
    lines
}

impl Line {
    fn render(
        &self,
        out: &mut Vec<u8>,
        scratch: &mut Vec<u8>,
        context: &mut Context<'_>,
    ) -> Result<(), Unsendable> {
        match self {
            Self::Literal(bytes) => out.extend_from_slice(bytes),
            Self::Header(opening, value) => {
                out.extend_from_slice(opening);
                let start = out.len();
                value.render(out, context);
                if !is_value(&out[start..]) {
                    return Err(Unsendable::Header);
                }
                out.extend_from_slice(b"\r\n");
            }
            Self::Basic(opening, user, password) => {
                out.extend_from_slice(opening);
                scratch.clear();
                user.render(scratch, context);
                scratch.push(b':');
                password.render(scratch, context);
                basic_credentials(scratch, out);
                out.extend_from_slice(b"\r\n");
            }
        }
        Ok(())
    }
}

/// Returns `true` if the text is a valid value of a header field.
pub(super) fn is_value(bytes: &[u8]) -> bool {
    memchr::memchr3(b'\r', b'\n', 0, bytes).is_none()
}

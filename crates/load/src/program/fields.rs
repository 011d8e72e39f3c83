//! The header fields of an HTTP/2 request. Constant fields are encoded in advance, once for all requests. The other
//! fields are rendered when the request begins, and encoded once the request has a connection.

use std::collections::HashMap;

use base64::Engine as _;

use crate::http2::hpack::{Constant, Encoder, Name};
use crate::plan::{self, Plan, Scheme};
use crate::template::{Context, Text, decimal};

use super::path::{encode, is_path};
use super::request::{Unsendable, is_cookie, is_value};

/// Names of HTTP/1.1 fields that are not allowed in HTTP/2 (RFC 9113, section 8.2.2).
const OF_CONNECTIONS: [&str; 5] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// Collects the fields that never change, without duplicates.
#[derive(Debug, Default)]
pub struct Constants {
    numbers: HashMap<(Vec<u8>, Vec<u8>), usize>,
    all: Vec<Constant>,
}

impl Constants {
    fn number(&mut self, name: &[u8], value: &[u8]) -> usize {
        let next = self.all.len();
        let number = *self
            .numbers
            .entry((name.to_vec(), value.to_vec()))
            .or_insert(next);
        if number == next {
            self.all.push(Constant::new(number, name, value));
        }
        number
    }

    /// Returns all constant fields, in the order of their numbers.
    #[must_use]
    pub fn into_all(self) -> Vec<Constant> {
        self.all
    }
}

#[derive(Debug)]
enum Field {
    Constant(usize),
    /// A path that is not constant: the encoded field name.
    Path(Name),
    Varying(Name, Text),
    /// Basic authentication that is not constant: the encoded field name, user name and password.
    Basic(Name, Text, Text),
}

/// The header fields of one request, in their order.
#[derive(Debug)]
pub(super) struct Fields {
    all: Vec<Field>,
    path: Text,
    /// Encoded names of the two optional fields; [`COOKIE`] and [`CONTENT_LENGTH`] are their indices.
    extra: [Name; 2],
}

/// Index of the Cookie field among the optional fields. A rendered Cookie value is preceded by this index.
const COOKIE: u8 = 0;
/// Index of the Content-Length field among the optional fields. A rendered length is preceded by this index.
const CONTENT_LENGTH: u8 = 1;

impl Fields {
    pub(super) fn new(
        request: &plan::Request,
        plan: &Plan,
        boundary: Option<&str>,
        constants: &mut Constants,
    ) -> Self {
        let mut making = Making {
            request,
            constants,
            fields: Vec::new(),
        };
        making.pseudo(plan);
        making.defaults(boundary);
        making.headers();
        making.basic();
        Self {
            all: making.fields,
            path: Text::new(&request.path),
            extra: [Name::new(b"cookie"), Name::new(b"content-length")],
        }
    }

    /// Renders the fields that are not constant into `values`, except those that depend on the body. The path is also
    /// rendered into `path`.
    pub(super) fn render(
        &self,
        values: &mut Vec<u8>,
        path: &mut Vec<u8>,
        scratch: &mut Vec<u8>,
        context: &mut Context<'_>,
    ) -> Result<(), Unsendable> {
        path.clear();
        self.path.render(path, context);
        if !is_path(path) {
            return Err(Unsendable::Path);
        }
        encode(path, 0);
        values.clear();
        for field in &self.all {
            match field {
                Field::Constant(_) => {}
                Field::Path(_) => push_value(values, |out| out.extend_from_slice(path)),
                Field::Varying(_, text) => {
                    let start = values.len() + LENGTH_BYTES;
                    push_value(values, |out| text.render(out, context));
                    if !is_value(&values[start..]) {
                        return Err(Unsendable::Header);
                    }
                }
                Field::Basic(_, user, password) => {
                    scratch.clear();
                    user.render(scratch, context);
                    scratch.push(b':');
                    password.render(scratch, context);
                    push_value(values, |out| {
                        out.extend_from_slice(b"Basic ");
                        basic_credentials(scratch, out);
                    });
                }
            }
        }
        scratch.clear();
        Ok(())
    }

    /// Appends the Cookie field to `values`, or nothing if there are no cookies; `write` writes the cookies.
    pub(super) fn add_cookies(
        values: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, Unsendable>,
    ) -> Result<(), Unsendable> {
        let start = values.len();
        values.push(COOKIE);
        let mut written = Ok(false);
        push_value(values, |out| written = write(out));
        if !written? {
            values.truncate(start);
        }
        Ok(())
    }

    /// Appends the Content-Length field with the length of the body to `values`.
    pub(super) fn add_length(values: &mut Vec<u8>, length: u64) {
        values.push(CONTENT_LENGTH);
        push_value(values, |out| decimal(i128::from(length), out));
    }

    /// Encodes all fields of the request, with the values that were rendered before.
    #[inline]
    pub(super) fn encode(
        &self,
        constants: &[Constant],
        mut values: &[u8],
        encoder: &mut Encoder,
        out: &mut Vec<u8>,
    ) {
        for field in &self.all {
            match field {
                Field::Constant(number) => encoder.constant(&constants[*number], out),
                Field::Path(name) | Field::Varying(name, _) | Field::Basic(name, ..) => {
                    Encoder::varying(name, take_value(&mut values), out);
                }
            }
        }
        while let Some((mark, rest)) = values.split_first() {
            values = rest;
            Encoder::varying(
                &self.extra[usize::from(*mark)],
                take_value(&mut values),
                out,
            );
        }
    }
}

const LENGTH_BYTES: usize = size_of::<u32>();

/// Appends a value, preceded by its length.
fn push_value(values: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = values.len();
    values.extend_from_slice(&[0; LENGTH_BYTES]);
    write(values);
    let length = (values.len() - start - LENGTH_BYTES) as u32;
    values[start..start + LENGTH_BYTES].copy_from_slice(&length.to_ne_bytes());
}

/// Takes the next value and removes surrounding blanks, which HTTP/2 does not allow.
fn take_value<'a>(values: &mut &'a [u8]) -> &'a [u8] {
    let Some((length, rest)) = values.split_first_chunk() else {
        return b"";
    };
    let length = u32::from_ne_bytes(*length) as usize;
    let (value, rest) = rest.split_at(length.min(rest.len()));
    *values = rest;
    value.trim_ascii()
}

struct Making<'a> {
    request: &'a plan::Request,
    constants: &'a mut Constants,
    fields: Vec<Field>,
}

impl Making<'_> {
    fn add(&mut self, name: &str, value: Text) {
        let name = name.to_ascii_lowercase();
        let field = match value.constant() {
            Some(constant) => Field::Constant(
                self.constants
                    .number(name.as_bytes(), constant.trim_ascii()),
            ),
            None => Field::Varying(Name::new(name.as_bytes()), value),
        };
        self.fields.push(field);
    }

    fn add_constant(&mut self, name: &str, value: &[u8]) {
        let number = self.constants.number(name.as_bytes(), value);
        self.fields.push(Field::Constant(number));
    }

    fn is_given(&self, wanted: &str) -> bool {
        self.request
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(wanted))
    }

    /// Prepares the pseudo-header fields (method, scheme, authority and path), which precede all other fields. A Host
    /// header in the plan becomes the authority.
    fn pseudo(&mut self, plan: &Plan) {
        let target = &plan.targets[self.request.target];
        self.add_constant(":method", self.request.method.as_bytes());
        let scheme: &[u8] = match target.scheme {
            Scheme::Http | Scheme::Driver => b"http",
            Scheme::Https => b"https",
        };
        self.add_constant(":scheme", scheme);
        let given = self
            .request
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("host"));
        match given {
            Some((_, value)) => self.add(":authority", Text::new(value)),
            None => self.add_constant(":authority", target.host.as_bytes()),
        }
        let path = Text::new(&self.request.path);
        match path.constant().filter(|path| is_path(path)) {
            Some(constant) => {
                let mut sent = constant.to_vec();
                encode(&mut sent, 0);
                self.add_constant(":path", &sent);
            }
            None => self.fields.push(Field::Path(Name::new(b":path"))),
        }
    }

    fn defaults(&mut self, boundary: Option<&str>) {
        if !self.is_given("user-agent") {
            self.add_constant(
                "user-agent",
                concat!("towtank/", env!("CARGO_PKG_VERSION")).as_bytes(),
            );
        }
        if !self.is_given("accept-encoding") {
            self.add_constant("accept-encoding", b"identity");
        }
        if let Some(boundary) = boundary.filter(|_| !self.is_given("content-type")) {
            let value = format!("multipart/form-data; boundary={boundary}");
            self.add_constant("content-type", value.as_bytes());
        }
    }

    fn headers(&mut self) {
        for (name, value) in &self.request.headers {
            let lower = name.to_ascii_lowercase();
            let value = Text::new(value);
            let is_odd_te = lower == "te" && value.constant() != Some(b"trailers");
            if lower != "host"
                && !is_cookie(&lower)
                && !is_odd_te
                && !OF_CONNECTIONS.contains(&lower.as_str())
            {
                self.add(&lower, value);
            }
        }
    }

    fn basic(&mut self) {
        let Some(auth) = &self.request.auth else {
            return;
        };
        let (user, password) = (Text::new(&auth.user), Text::new(&auth.password));
        if let (Some(user), Some(password)) = (user.constant(), password.constant()) {
            let mut value = b"Basic ".to_vec();
            basic_credentials(&[user, b":", password].concat(), &mut value);
            self.add_constant("authorization", &value);
        } else {
            self.fields
                .push(Field::Basic(Name::new(b"authorization"), user, password));
        }
    }
}

/// Appends the value of an Authorization header for Basic authentication (RFC 7617). `plain` is `user:password`.
pub(super) fn basic_credentials(plain: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + plain.len().div_ceil(3) * 4, 0);
    let written = base64::engine::general_purpose::STANDARD.encode_slice(plain, &mut out[start..]);
    out.truncate(start + written.unwrap_or(0));
}

//! Bodies of requests. Small bodies are rendered before they are sent; large bodies are generated while they are sent.

use std::collections::HashMap;
use std::sync::Arc;

use towtank_drivers::Digest;

use crate::plan::{self, Form, MultipartPart};
use crate::rng::Random;
use crate::template::{Context, Text, decimal};

/// Size of the blocks in which a streamed body is generated. Each upload in progress holds one block in memory. [B]
const BLOCK_BYTES: usize = 64 * 1024;

/// Contents of the files to upload, by path. Each file is read only once.
pub type Files = HashMap<String, Arc<[u8]>>;

/// Body of a request.
#[derive(Debug)]
pub(super) enum Body {
    None,
    /// No body, although the method allows one: `Content-Length: 0` is sent.
    Empty,
    Text(Text),
    File(Arc<[u8]>),
    Multipart(Vec<Part>, Box<[u8]>),
}

/// A part of a multipart body.
#[derive(Debug)]
pub(super) struct Part {
    /// Bytes of the part from its boundary up to the file name.
    opening: Box<[u8]>,
    filename: Option<Text>,
    /// Bytes of the part from the end of the file name up to the content.
    middle: Box<[u8]>,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Text(Text),
    File(Arc<[u8]>),
    Generated(plan::Generated),
}

impl Body {
    pub(super) fn new(
        request: &plan::Request,
        boundary: &str,
        files: &mut Files,
    ) -> Result<Self, String> {
        Ok(match &request.body {
            None if matches!(request.method.as_str(), "POST" | "PUT" | "PATCH") => Self::Empty,
            None => Self::None,
            Some(plan::Body::Text { template }) => Self::Text(Text::new(template)),
            Some(plan::Body::File { path }) => Self::File(read(path, files)?),
            Some(plan::Body::Multipart { parts }) => {
                let compiled = parts.iter().map(|part| Part::new(part, boundary, files));
                Self::Multipart(
                    compiled.collect::<Result<_, _>>()?,
                    format!("--{boundary}--\r\n").into_bytes().into(),
                )
            }
        })
    }

    pub(super) fn encode(&self, out: &mut Outgoing, context: &mut Context<'_>) {
        match self {
            Self::None => out.buffer.extend_from_slice(b"\r\n"),
            Self::Empty => out.buffer.extend_from_slice(b"Content-Length: 0\r\n\r\n"),
            Self::Text(text) => {
                out.scratch.clear();
                text.render(&mut out.scratch, context);
                end_head(&mut out.buffer, out.scratch.len() as u64);
                out.buffer.extend_from_slice(&out.scratch);
                look(&mut out.digest, &out.scratch);
            }
            Self::File(bytes) => {
                end_head(&mut out.buffer, bytes.len() as u64);
                out.push_shared(Arc::clone(bytes));
            }
            Self::Multipart(parts, closing) => {
                let length = multipart(parts, closing, out, context);
                end_head(&mut out.buffer, length);
            }
        }
    }

    /// Appends the body to `out`, which must be empty. Returns the length of the body if Content-Length must be sent.
    /// [B]
    pub(super) fn render(&self, out: &mut Outgoing, context: &mut Context<'_>) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Empty => Some(0),
            Self::Text(text) => {
                text.render(&mut out.buffer, context);
                look(&mut out.digest, &out.buffer);
                Some(out.buffer.len() as u64)
            }
            Self::File(bytes) => {
                out.push_shared(Arc::clone(bytes));
                Some(bytes.len() as u64)
            }
            Self::Multipart(parts, closing) => Some(multipart(parts, closing, out, context)),
        }
    }
}

fn multipart(parts: &[Part], closing: &[u8], out: &mut Outgoing, context: &mut Context<'_>) -> u64 {
    for part in parts {
        part.encode(&mut out.segments, context);
    }
    append(&mut out.segments, |bytes| bytes.extend_from_slice(closing));
    out.segments.iter().map(Segment::length).sum()
}

fn end_head(head: &mut Vec<u8>, length: u64) {
    head.extend_from_slice(b"Content-Length: ");
    decimal(i128::from(length), head);
    head.extend_from_slice(b"\r\n\r\n");
}

fn read(path: &str, files: &mut Files) -> Result<Arc<[u8]>, String> {
    if let Some(bytes) = files.get(path) {
        return Ok(Arc::clone(bytes));
    }
    let bytes: Arc<[u8]> = std::fs::read(path)
        .map_err(|error| format!("{path:?} cannot be read: {error}"))?
        .into();
    files.insert(path.to_owned(), Arc::clone(&bytes));
    Ok(bytes)
}

/// Encodes a field or file name for use inside quotes, as the HTML standard prescribes for multipart/form-data.
fn quoted(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    for byte in name {
        match byte {
            b'"' => out.extend_from_slice(b"%22"),
            b'\r' => out.extend_from_slice(b"%0D"),
            b'\n' => out.extend_from_slice(b"%0A"),
            other => out.push(*other),
        }
    }
    out
}

/// Appends bytes to the last segment if that segment holds literal bytes, otherwise to a new segment.
fn append(segments: &mut Vec<Segment>, write: impl FnOnce(&mut Vec<u8>)) {
    if !matches!(segments.last(), Some(Segment::Bytes(_))) {
        segments.push(Segment::Bytes(Vec::new()));
    }
    if let Some(Segment::Bytes(bytes)) = segments.last_mut() {
        write(bytes);
    }
}

impl Part {
    fn new(part: &MultipartPart, boundary: &str, files: &mut Files) -> Result<Self, String> {
        let name = String::from_utf8_lossy(&quoted(part.name.as_bytes())).into_owned();
        let opening = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"");
        let mut middle = String::new();
        if let Some(kind) = &part.content_type {
            middle = format!("Content-Type: {kind}\r\n");
        }
        middle += "\r\n";
        let content = match (&part.content, &part.file, part.generated) {
            (Some(template), _, _) => Content::Text(Text::new(template)),
            (None, Some(path), _) => Content::File(read(path, files)?),
            (None, None, Some(generated)) => Content::Generated(generated),
            (None, None, None) => return Err("a part has no content".to_owned()),
        };
        let filename = part.filename.as_ref().map(|name| Text::new(name));
        Ok(Self {
            opening: opening.into_bytes().into(),
            filename,
            middle: middle.into_bytes().into(),
            content,
        })
    }

    fn encode(&self, segments: &mut Vec<Segment>, context: &mut Context<'_>) {
        append(segments, |bytes| {
            bytes.extend_from_slice(&self.opening);
            if let Some(filename) = &self.filename {
                let mut name = Vec::new();
                filename.render(&mut name, context);
                bytes.extend_from_slice(b"; filename=\"");
                bytes.extend_from_slice(&quoted(&name));
                bytes.push(b'"');
            }
            bytes.extend_from_slice(b"\r\n");
            bytes.extend_from_slice(&self.middle);
            if let Content::Text(text) = &self.content {
                text.render(bytes, context);
            }
        });
        match &self.content {
            Content::Text(_) => {}
            Content::File(bytes) => segments.push(Segment::Shared(Arc::clone(bytes))),
            // The user's random generator provides only the seed of the content. The size of the content therefore does
            // not change the user's later random numbers.
            Content::Generated(made) => {
                let random = Random::from_seed(context.random.next_u64());
                segments.push(Segment::Generated {
                    seed: random.clone(),
                    random,
                    bytes: made.bytes,
                    left: made.bytes,
                    form: made.form,
                });
            }
        }
        append(segments, |bytes| bytes.extend_from_slice(b"\r\n"));
    }
}

/// A part of a request body that is not sent yet.
#[derive(Debug)]
pub enum Segment {
    /// Literal bytes.
    Bytes(Vec<u8>),
    /// Bytes of a file, shared by all requests that send it.
    Shared(Arc<[u8]>),
    /// Content that is generated while it is sent.
    Generated {
        /// State of the random generator at the start of the content, from which the content can be generated again.
        seed: Random,
        /// State of the random generator at the next byte to generate.
        random: Random,
        /// Length of the whole content. [B]
        bytes: u64,
        /// Number of bytes that are still to be generated. [B]
        left: u64,
        /// Type of the content.
        form: Form,
    },
}

impl Segment {
    fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Shared(bytes) => bytes.len() as u64,
            Self::Generated { bytes, .. } => *bytes,
        }
    }
}

/// A request that is being sent: bytes that are ready to be written, and the body segments that follow them.
#[derive(Debug, Default)]
pub struct Outgoing {
    pub(super) buffer: Vec<u8>,
    written: usize,
    segments: Vec<Segment>,
    segment: usize,
    offset: usize,
    pub(super) scratch: Vec<u8>,
    /// Digest of the content, if one was requested.
    digest: Option<Box<Digest>>,
}

impl Outgoing {
    /// Allocates memory for a request of `bytes` bytes in advance.
    pub fn make_room(&mut self, bytes: usize) {
        self.buffer.reserve(bytes);
    }

    /// Prepares for the next request, and frees the memory that exceeds the size of a usual request.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.buffer.shrink_to(BLOCK_BYTES / 4);
        self.scratch.clear();
        self.scratch.shrink_to(BLOCK_BYTES / 4);
        self.segments.clear();
        self.digest = None;
        (self.written, self.segment, self.offset) = (0, 0, 0);
    }

    /// Requests a digest of the next request's content. In a form, the digest covers only files and generated parts.
    pub fn watch(&mut self) {
        self.digest = Some(Box::default());
    }

    /// Returns the digest of the request's content; `None` if no digest was requested or content is still to be
    /// generated.
    #[must_use]
    pub fn content(&self) -> Option<&Digest> {
        let whole = self.segment == self.segments.len();
        self.digest.as_deref().filter(|_| whole)
    }

    /// Returns the bytes to write next. They are empty if the whole request is written.
    pub fn pending(&mut self) -> &[u8] {
        if self.written == self.buffer.len() && self.segment < self.segments.len() {
            self.buffer.clear();
            self.written = 0;
            self.fill();
        }
        &self.buffer[self.written..]
    }

    /// Removes the first `bytes` of the pending bytes, after they were written.
    pub fn advance(&mut self, bytes: usize) {
        self.written += bytes;
    }

    /// Returns `true` if the whole request is written.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.written == self.buffer.len() && self.segment == self.segments.len()
    }

    /// Appends the content of a file to the body.
    pub fn push_shared(&mut self, bytes: Arc<[u8]>) {
        self.segments.push(Segment::Shared(bytes));
    }

    /// Returns to the start of the request, so that the same bytes can be sent again.
    pub fn rewind(&mut self) {
        if !self.segments.is_empty() {
            self.buffer.clear();
            if let Some(digest) = &mut self.digest {
                **digest = Digest::default();
            }
        }
        (self.written, self.segment, self.offset) = (0, 0, 0);
        for segment in &mut self.segments {
            if let Segment::Generated {
                seed,
                random,
                bytes,
                left,
                ..
            } = segment
            {
                (*random, *left) = (seed.clone(), *bytes);
            }
        }
    }

    /// Fills the output buffer up to one block. As the block size is fixed, the content does not depend on how many
    /// bytes the socket accepts per write.
    fn fill(&mut self) {
        while self.buffer.len() < BLOCK_BYTES && self.segment < self.segments.len() {
            let before = self.buffer.len();
            let room = BLOCK_BYTES - before;
            let done = match &mut self.segments[self.segment] {
                Segment::Bytes(bytes) => copy(bytes, &mut self.offset, room, &mut self.buffer),
                Segment::Shared(bytes) => copy(bytes, &mut self.offset, room, &mut self.buffer),
                Segment::Generated {
                    random, left, form, ..
                } => {
                    let part = (*left).min(room as u64);
                    generate(random, *form, part as usize, &mut self.buffer);
                    *left -= part;
                    *left == 0
                }
            };
            if !matches!(self.segments[self.segment], Segment::Bytes(_)) {
                look(&mut self.digest, &self.buffer[before..]);
            }
            if done {
                self.segment += 1;
                self.offset = 0;
            }
        }
    }
}

/// Adds a part of the request's content to the digest, if a digest was requested.
fn look(digest: &mut Option<Box<Digest>>, bytes: &[u8]) {
    if let Some(digest) = digest {
        digest.update(bytes);
    }
}

fn copy(bytes: &[u8], offset: &mut usize, room: usize, out: &mut Vec<u8>) -> bool {
    let end = bytes.len().min(*offset + room);
    out.extend_from_slice(&bytes[*offset..end]);
    *offset = end;
    end == bytes.len()
}

const WORDS: [&str; 16] = [
    "account ",
    "archive ",
    "balance ",
    "claim ",
    "contract ",
    "customer ",
    "delivery ",
    "document ",
    "invoice ",
    "letter ",
    "order ",
    "payment ",
    "policy ",
    "report ",
    "statement ",
    "transfer\n",
];

fn generate(random: &mut Random, form: Form, bytes: usize, out: &mut Vec<u8>) {
    let end = out.len() + bytes;
    while out.len() < end {
        let bits = random.next_u64();
        match form {
            Form::Random => out.extend_from_slice(&bits.to_le_bytes()),
            Form::Text => {
                for place in 0..16 {
                    out.extend_from_slice(WORDS[(bits >> (4 * place)) as usize & 15].as_bytes());
                }
            }
        }
    }
    out.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates an output that sends `bytes` bytes of generated content between two texts, with a digest of the content.
    fn outgoing(bytes: u64) -> Outgoing {
        let random = Random::from_seed(7);
        let mut out = Outgoing::default();
        out.clear();
        out.watch();
        out.segments = vec![
            Segment::Bytes(b"before".to_vec()),
            Segment::Generated {
                seed: random.clone(),
                random,
                bytes,
                left: bytes,
                form: Form::Text,
            },
            Segment::Bytes(b"behind".to_vec()),
        ];
        out
    }

    /// Takes up to `step` bytes at a time from the output, until `at_most` bytes are sent. Returns the sent bytes.
    fn send(out: &mut Outgoing, step: usize, at_most: usize) -> Vec<u8> {
        let mut sent = Vec::new();
        while !out.is_done() && sent.len() < at_most {
            let pending = out.pending();
            let count = pending.len().min(step);
            sent.extend_from_slice(&pending[..count]);
            out.advance(count);
        }
        sent
    }

    #[test]
    fn the_digest_is_that_of_the_content_that_was_sent() {
        let size = 3 * BLOCK_BYTES + 17;
        let mut out = outgoing(size as u64);
        let sent = send(&mut out, 1000, usize::MAX);
        assert_eq!(sent.len(), size + 12);
        let mut whole = Digest::default();
        whole.update(&sent[6..6 + size]);
        let content = out.content().unwrap();
        assert_eq!((content.bytes(), content.hex()), (size as u64, whole.hex()));
        // HTTP/2 may have to send a request again; then the bytes must be the same as before.
        out.rewind();
        send(&mut out, 1000, BLOCK_BYTES);
        assert!(out.content().is_none(), "it is not whole yet");
        out.rewind();
        send(&mut out, 777, usize::MAX);
        assert_eq!(out.content().unwrap().hex(), whole.hex());
    }

    #[test]
    fn nobody_looks_unless_asked() {
        let mut out = outgoing(10);
        out.digest = None;
        send(&mut out, 1000, usize::MAX);
        assert!(out.content().is_none());
    }
}

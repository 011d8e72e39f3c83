//! PostgreSQL, by its extended protocol (version 3.0, chapter 55 of the PostgreSQL manual).
//!
//! Values are sent and received as text, which the server supports for every type. A statement is prepared at its first
//! use in a session, in the same round trip.

#[cfg(test)]
mod hostile;

use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use bytes::{Buf, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{ErrorResponseBody, Header, Message, RowDescriptionBody};
use postgres_protocol::message::frontend;

use crate::answer::{Answer, Failed, FailureKind, Meter, Row};
use crate::executor::Call;
use crate::operation::{Operation, Task};
use crate::server::Location;
use crate::session::Value;
use crate::sql::reading::Reading;
use crate::turns::Turn;
use crate::wire::Wire;

/// Format code that states that values are in text form.
const TEXT: i16 = 0;

/// Status in the message `ReadyForQuery` if no transaction is open.
const IDLE: u8 = b'I';

/// Longest message that a session accepts. `Message::parse` allocates memory for a whole message as soon
/// as it has read the header. [B]
const MESSAGE_CEILING: i32 = 64 << 20;

type Columns = Arc<[String]>;

/// Length of the start of a message: one byte for the tag and four for the length field. [B]
const HEAD_BYTES: usize = 5;

/// A statement that the server has prepared for a session.
#[derive(Debug)]
struct Prepared {
    name: String,
    columns: Columns,
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) wire: Wire,
    /// Prepared statements of the session, by the number of the task that executes them.
    prepared: HashMap<u32, Prepared>,
    /// Transaction status of the session: none, open, or failed.
    status: u8,
}

fn protocol(error: &io::Error) -> Failed {
    Failed::new(FailureKind::Protocol, error.to_string())
}

fn unexpected() -> Failed {
    Failed::new(FailureKind::Protocol, "an unexpected message")
}

fn internal(error: &io::Error) -> Failed {
    Failed::new(FailureKind::Internal, error.to_string())
}

/// Returns the tag of the next message and the total length of the message in bytes. Returns `None` until the whole
/// message has arrived.
fn head(received: &[u8]) -> Result<Option<(u8, usize)>, Failed> {
    let head = Header::parse(received).map_err(|error| protocol(&error))?;
    let Some(head) = head else { return Ok(None) };
    if head.len() > MESSAGE_CEILING {
        let reason = "a message of more than 64 MiB";
        return Err(Failed::new(FailureKind::Protocol, reason));
    }
    // The length field counts its own four bytes, but not the tag, so one byte is added.
    let length = head.len() as usize + 1;
    Ok((length <= received.len()).then_some((head.tag(), length)))
}

/// Removes the next message from the received bytes, if it is complete.
fn take(received: &mut BytesMut) -> Result<Option<Message>, Failed> {
    if head(received)?.is_none() {
        return Ok(None);
    }
    Message::parse(received).map_err(|error| protocol(&error))
}

/// Length of an error code (SQLSTATE, appendix A of the PostgreSQL manual). Longer codes are truncated, since texts of
/// any length could fill the report.
const CODE_CHARACTERS: usize = 5;

/// Converts an error message of the server to a failure with the code of the error. A fatal error ends the session.
fn refusal(body: &ErrorResponseBody) -> Failed {
    let (mut code, mut is_fatal) = (String::new(), false);
    let mut fields = body.fields();
    while let Ok(Some(field)) = fields.next() {
        let value = || String::from_utf8_lossy(field.value_bytes());
        match field.type_() {
            b'C' => code = value().chars().take(CODE_CHARACTERS).collect(),
            // This field (`V`) holds the severity in English; the field `S` may be translated.
            b'V' => is_fatal = matches!(&*value(), "FATAL" | "PANIC"),
            _ => {}
        }
    }
    let kind = if is_fatal {
        FailureKind::Closed
    } else {
        FailureKind::Refused
    };
    Failed::new(kind, code)
}

/// Opens a session.
///
/// # Errors
///
/// A failure of the kind `connect`, if the connection or the login fails.
pub(crate) async fn open(
    location: &Location,
    turn: &Rc<Turn>,
    user: &str,
    password: Option<&str>,
    database: &str,
) -> Result<Session, Failed> {
    let mut session = Session {
        wire: Wire::connect(location, turn).await?,
        prepared: HashMap::new(),
        status: IDLE,
    };
    let parameters = [
        ("user", user),
        ("database", database),
        ("client_encoding", "UTF8"),
        ("application_name", "towtank"),
    ];
    let begun = frontend::startup_message(parameters, &mut session.wire.out);
    begun.map_err(|error| internal(&error))?;
    let entered = session.enter(user, password).await;
    entered.map_err(|failed| Failed::new(FailureKind::Connect, failed.reason))?;
    Ok(session)
}

impl Session {
    async fn next(&mut self, meter: &mut Meter) -> Result<Message, Failed> {
        loop {
            self.wire.pace().await;
            match take(&mut self.wire.received)? {
                // A server may send these messages (notices, parameters, notifications) at any time, so they are
                // skipped.
                Some(
                    Message::NoticeResponse(_)
                    | Message::ParameterStatus(_)
                    | Message::NotificationResponse(_),
                ) => {}
                Some(message) => return Ok(message),
                None => {
                    let received = self.wire.receive(meter).await;
                    received.map_err(|error| Failed::closed(&error))?;
                }
            }
        }
    }

    async fn send(&mut self, meter: &mut Meter) -> Result<(), Failed> {
        let sent = self.wire.flush(meter).await;
        sent.map_err(|error| Failed::closed(&error))
    }

    /// Logs in: exchanges messages with the server up to the first message `ReadyForQuery`.
    async fn enter(&mut self, user: &str, password: Option<&str>) -> Result<(), Failed> {
        let meter = &mut Meter::default();
        self.send(meter).await?;
        loop {
            match self.next(meter).await? {
                Message::AuthenticationOk | Message::BackendKeyData(_) => {}
                Message::AuthenticationCleartextPassword => {
                    self.say_password(given(password)?.as_bytes(), meter)
                        .await?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(user.as_bytes(), given(password)?.as_bytes(), body.salt());
                    self.say_password(hash.as_bytes(), meter).await?;
                }
                Message::AuthenticationSasl(_) => self.run_sasl(given(password)?, meter).await?,
                Message::ErrorResponse(body) => return Err(refusal(&body)),
                Message::ReadyForQuery(body) => {
                    self.status = body.status();
                    return Ok(());
                }
                _ => return Err(unexpected()),
            }
        }
    }

    async fn say_password(&mut self, password: &[u8], meter: &mut Meter) -> Result<(), Failed> {
        let written = frontend::password_message(password, &mut self.wire.out);
        written.map_err(|error| internal(&error))?;
        self.send(meter).await
    }

    /// Authenticates by SCRAM-SHA-256 (RFC 7677).
    async fn run_sasl(&mut self, password: &str, meter: &mut Meter) -> Result<(), Failed> {
        let mut scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
        let out = &mut self.wire.out;
        let written = frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), out);
        written.map_err(|error| internal(&error))?;
        self.send(meter).await?;
        loop {
            match self.next(meter).await? {
                Message::AuthenticationSaslContinue(body) => {
                    scram
                        .update(body.data())
                        .map_err(|error| protocol(&error))?;
                    let written = frontend::sasl_response(scram.message(), &mut self.wire.out);
                    written.map_err(|error| internal(&error))?;
                    self.send(meter).await?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    return scram.finish(body.data()).map_err(|error| protocol(&error));
                }
                Message::ErrorResponse(body) => return Err(refusal(&body)),
                _ => return Err(unexpected()),
            }
        }
    }

    /// Writes all messages of a statement, including its preparation on first use.
    fn write(&mut self, task: &Task, values: &[Value]) -> Result<(), Failed> {
        let Operation::Sql { text } = &task.operation else {
            return Err(Failed::new(FailureKind::Internal, "no statement"));
        };
        let out = &mut self.wire.out;
        let written = if let Some(known) = self.prepared.get(&task.number) {
            write_execution(&known.name, values, out)
        } else {
            let name = name_of(task);
            frontend::parse(&name, text, [], out)
                .and_then(|()| frontend::describe(b'S', &name, out))
                .and_then(|()| write_execution(&name, values, out))
        };
        if written.is_ok() {
            frontend::sync(out);
            return Ok(());
        }
        out.clear();
        let reason = "a value or a statement that cannot be sent";
        Err(Failed::new(FailureKind::Internal, reason))
    }

    /// Reads messages up to `ReadyForQuery`, so that the session remains usable after a failed statement. Rows are
    /// decoded in the receive buffer.
    async fn read(&mut self, task: &Task, meter: &mut Meter) -> Result<Answer, Failed> {
        let known = self.prepared.get(&task.number);
        let columns = known.map_or_else(Columns::default, |known| Arc::clone(&known.columns));
        let mut reading = Reading::new(task, columns);
        let (mut failed, mut parsed) = (None, false);
        loop {
            self.wire.pace().await;
            let Some((tag, length)) = head(&self.wire.received)? else {
                let received = self.wire.receive(meter).await;
                received.map_err(|error| Failed::closed(&error))?;
                continue;
            };
            let body = &self.wire.received[HEAD_BYTES..length];
            match tag {
                b'D' => row(&mut reading, body)?,
                // `2` is the tag of the message `BindComplete`.
                b'2' => {}
                b'C' => reading.answer.affected = affected(body),
                b'Z' => {
                    self.status = *body.first().ok_or_else(unexpected)?;
                    self.wire.received.advance(length);
                    break;
                }
                _ => {
                    match take(&mut self.wire.received)? {
                        Some(Message::ParseComplete) => parsed = true,
                        Some(Message::RowDescription(body)) => {
                            reading.answer.columns = described(&body)?;
                        }
                        Some(Message::ErrorResponse(body)) => {
                            let refused = refusal(&body);
                            if refused.kind == FailureKind::Closed {
                                return Err(refused);
                            }
                            failed = Some(refused);
                        }
                        Some(
                            Message::ParameterDescription(_)
                            | Message::NoData
                            | Message::EmptyQueryResponse
                            | Message::NoticeResponse(_)
                            | Message::ParameterStatus(_)
                            | Message::NotificationResponse(_),
                        ) => {}
                        _ => return Err(unexpected()),
                    }
                    continue;
                }
            }
            self.wire.received.advance(length);
        }
        if parsed {
            let prepared = Prepared {
                name: name_of(task),
                columns: Arc::clone(&reading.answer.columns),
            };
            self.prepared.insert(task.number, prepared);
        }
        failed.map_or(Ok(reading.answer), Err)
    }
}

/// Returns `true` if the bytes that arrived while the session was idle contain an unexpected message. Notices,
/// parameters, notifications, and the error with which a server ends a session are expected.
pub(crate) fn has_unasked(mut received: &[u8]) -> bool {
    while let Some(tag) = received.first() {
        match tag {
            b'N' | b'S' | b'A' => {}
            b'E' => return false,
            _ => return true,
        }
        let Ok(Some((_, length))) = head(received) else {
            return false;
        };
        received = &received[length..];
    }
    false
}

/// Returns the name under which a session prepares the statement of a task.
fn name_of(task: &Task) -> String {
    format!("s{}", task.number)
}

/// Writes the messages that execute a prepared statement.
fn write_execution(name: &str, values: &[Value], out: &mut BytesMut) -> io::Result<()> {
    let bound = frontend::bind("", name, [TEXT], values, put_value, [TEXT], out);
    bound.map_err(|_| io::ErrorKind::InvalidInput)?;
    frontend::execute("", 0, out)
}

fn given(password: Option<&str>) -> Result<&str, Failed> {
    password.ok_or_else(|| Failed::new(FailureKind::Connect, "the server requires a password"))
}

#[allow(clippy::unnecessary_wraps)] // The signature that `bind` requires.
fn put_value(
    value: &Value,
    out: &mut BytesMut,
) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
    Ok(match value {
        Some(bytes) => {
            out.extend_from_slice(bytes);
            IsNull::No
        }
        None => IsNull::Yes,
    })
}

/// Returns the number of rows that a command changed, from its zero-terminated tag such as `UPDATE 3` or `INSERT 0 1`.
/// The rows of a `SELECT` are read, not changed.
fn affected(tag: &[u8]) -> u64 {
    let tag = tag.split(|byte| *byte == 0).next().unwrap_or_default();
    let mut words = tag.split(|byte| *byte == b' ');
    match words.next() {
        Some(b"INSERT" | b"UPDATE" | b"DELETE" | b"MERGE") => words
            .next_back()
            .and_then(|word| std::str::from_utf8(word).ok()?.parse().ok())
            .unwrap_or(0),
        _ => 0,
    }
}

/// Returns the column names in a row description.
fn described(body: &RowDescriptionBody) -> Result<Columns, Failed> {
    let names = body.fields().map(|field| Ok(field.name().to_owned()));
    let names: Vec<String> = names.collect().map_err(|error| protocol(&error))?;
    Ok(names.into())
}

/// Reads a row. Its bytes are the number of values, followed by the length and the bytes of each value. The length -1
/// means NULL.
fn row(reading: &mut Reading, body: &[u8]) -> Result<(), Failed> {
    let malformed = || Failed::new(FailureKind::Protocol, "a row that ends too early");
    let (count, mut rest) = body.split_first_chunk::<2>().ok_or_else(malformed)?;
    if !reading.takes(rest.len()) {
        return Ok(());
    }
    let mut row = Row::with_capacity(usize::from(u16::from_be_bytes(*count)).min(rest.len() / 4));
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, behind) = rest.split_first_chunk::<4>().ok_or_else(malformed)?;
        rest = behind;
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            row.push(None);
            continue;
        };
        let (value, behind) = rest.split_at_checked(length).ok_or_else(malformed)?;
        row.push(Some(value.to_vec()));
        rest = behind;
    }
    if !rest.is_empty() {
        let reason = "a row that is longer than its values";
        return Err(Failed::new(FailureKind::Protocol, reason));
    }
    reading.answer.rows.push(row);
    Ok(())
}

impl Session {
    /// Performs one operation.
    ///
    /// # Errors
    ///
    /// If the server refuses the operation or violates the protocol, or if the session ends.
    pub(crate) async fn perform(
        &mut self,
        task: &Task,
        call: &Call,
        meter: &mut Meter,
    ) -> Result<Answer, Failed> {
        self.write(task, &call.values)?;
        self.send(meter).await?;
        self.read(task, meter).await
    }

    /// Returns `true` if a transaction is open.
    pub(crate) fn is_held(&self) -> bool {
        self.status != IDLE
    }

    /// Rolls back an open transaction.
    ///
    /// # Errors
    ///
    /// If the rollback fails.
    pub(crate) async fn reset(&mut self) -> Result<(), Failed> {
        if !self.is_held() {
            return Ok(());
        }
        let meter = &mut Meter::default();
        let written = frontend::query("ROLLBACK", &mut self.wire.out);
        written.map_err(|error| internal(&error))?;
        self.send(meter).await?;
        loop {
            match self.next(meter).await? {
                Message::ReadyForQuery(body) => {
                    self.status = body.status();
                    return Ok(());
                }
                Message::ErrorResponse(body) => return Err(refusal(&body)),
                _ => {}
            }
        }
    }

    /// Sends the terminate message and closes the session.
    pub(crate) async fn close(mut self) {
        frontend::terminate(&mut self.wire.out);
        // A failure to send is ignored, since the socket is closed in any case.
        let _ = self.send(&mut Meter::default()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_tell_what_was_changed() {
        let cases = [
            ("UPDATE 3", 3),
            ("INSERT 0 12", 12),
            ("DELETE 0", 0),
            ("SELECT 7", 0),
            ("BEGIN", 0),
        ];
        for (tag, count) in cases {
            assert_eq!(affected(tag.as_bytes()), count, "{tag}");
            assert_eq!(affected(&[tag.as_bytes(), b"\0"].concat()), count, "{tag}");
        }
    }
}

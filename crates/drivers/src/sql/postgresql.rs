//! PostgreSQL, by its extended protocol (version 3.0, chapter 55 of its manual).
//!
//! Values go out and come back as text, so that every type of the server has the form that people write, those that no
//! client knows included. A statement is prepared with its first use in a session, in the same round trip.

#[cfg(test)]
mod hostile;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{
    DataRowBody, ErrorResponseBody, Header, Message, RowDescriptionBody,
};
use postgres_protocol::message::frontend;

use crate::answer::{Answer, Failed, FailureKind, Meter, Row};
use crate::executor::Call;
use crate::operation::{Operation, Task};
use crate::server::Location;
use crate::session::{Step, Value, Waiting};
use crate::sql::reading::Reading;
use crate::wire::Wire;

/// Form of values: text.
const TEXT: i16 = 0;

/// `ReadyForQuery` outside of a transaction.
const IDLE: u8 = b'I';

/// Longest message that a session accepts. The library reserves memory for a whole message once it has read its head. [B]
const MESSAGE_CEILING: i32 = 64 << 20;

type Columns = Arc<[String]>;

/// A session.
struct Session {
    wire: Wire,
    /// Columns of the statements that are prepared, by task.
    prepared: HashMap<u32, Columns>,
    /// How the server stands: outside of a transaction, in one, or in one that failed.
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

/// The next message, once it is whole.
fn take(received: &mut BytesMut) -> Result<Option<Message>, Failed> {
    let head = Header::parse(received).map_err(|error| protocol(&error))?;
    if head.is_some_and(|head| head.len() > MESSAGE_CEILING) {
        let reason = "a message of more than 64 MiB";
        return Err(Failed::new(FailureKind::Protocol, reason));
    }
    Message::parse(received).map_err(|error| protocol(&error))
}

/// Length of a code (SQLSTATE, appendix A of the manual). A longer one is no code, and the report would keep it.
const CODE_CHARACTERS: usize = 5;

/// What the server says is wrong: its code, and whether the session is over.
fn refusal(body: &ErrorResponseBody) -> Failed {
    let (mut code, mut is_fatal) = (String::new(), false);
    let mut fields = body.fields();
    while let Ok(Some(field)) = fields.next() {
        let value = || String::from_utf8_lossy(field.value_bytes());
        match field.type_() {
            b'C' => code = value().chars().take(CODE_CHARACTERS).collect(),
            // The severity that is never translated.
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
/// Kind `connect`: no connection, or the server does not let the user in.
pub(crate) async fn open(
    location: &Location,
    user: &str,
    password: Option<&str>,
    database: &str,
) -> Result<Box<dyn Waiting>, Failed> {
    let mut session = Session {
        wire: Wire::connect(location).await?,
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
    Ok(Box::new(session))
}

impl Session {
    async fn next(&mut self, meter: &mut Meter) -> Result<Message, Failed> {
        loop {
            match take(&mut self.wire.received)? {
                // What a server may say at any time.
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

    /// From the first message to the first `ReadyForQuery`.
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
                Message::AuthenticationSasl(_) => self.say_sasl(given(password)?, meter).await?,
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

    /// SCRAM-SHA-256, RFC 7677.
    async fn say_sasl(&mut self, password: &str, meter: &mut Meter) -> Result<(), Failed> {
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

    /// Writes all messages of a statement: it is prepared on its first use, by the way.
    fn write(&mut self, task: &Task, values: &[Value]) -> Result<(), Failed> {
        let Operation::Sql { text } = &task.operation else {
            return Err(Failed::new(FailureKind::Internal, "no statement"));
        };
        let name = format!("s{}", task.number);
        let out = &mut self.wire.out;
        let mut written = Ok(());
        if !self.prepared.contains_key(&task.number) {
            written = frontend::parse(&name, text, [], out)
                .and_then(|()| frontend::describe(b'S', &name, out));
        }
        let bound = written.is_ok()
            && frontend::bind("", &name, [TEXT], values, put_value, [TEXT], out).is_ok();
        let executed = bound && frontend::execute("", 0, out).is_ok();
        frontend::sync(out);
        if executed {
            return Ok(());
        }
        out.clear();
        let reason = "a value or a statement that cannot be sent";
        Err(Failed::new(FailureKind::Internal, reason))
    }

    /// Reads up to `ReadyForQuery`: a statement that failed leaves the session in order.
    async fn read(&mut self, task: &Task, meter: &mut Meter) -> Result<Answer, Failed> {
        let known = self.prepared.get(&task.number).cloned();
        let mut reading = Reading::new(task, known.unwrap_or_default());
        let mut failed = None;
        let mut parsed = false;
        loop {
            match self.next(meter).await {
                Ok(Message::ParseComplete) => parsed = true,
                Ok(
                    Message::BindComplete
                    | Message::ParameterDescription(_)
                    | Message::NoData
                    | Message::EmptyQueryResponse,
                ) => {}
                Ok(Message::RowDescription(body)) => reading.answer.columns = described(&body)?,
                Ok(Message::DataRow(body)) => row(&mut reading, &body)?,
                Ok(Message::CommandComplete(body)) => {
                    let tag = body.tag().map_err(|error| protocol(&error))?;
                    reading.answer.affected = affected(tag);
                }
                Ok(Message::ErrorResponse(body)) => {
                    let refused = refusal(&body);
                    if refused.kind == FailureKind::Closed {
                        return Err(refused);
                    }
                    failed = Some(refused);
                }
                Ok(Message::ReadyForQuery(body)) => {
                    self.status = body.status();
                    break;
                }
                Ok(_) => return Err(unexpected()),
                Err(error) => return Err(error),
            }
        }
        if parsed {
            let columns = Arc::clone(&reading.answer.columns);
            self.prepared.insert(task.number, columns);
        }
        failed.map_or(Ok(reading.answer), Err)
    }
}

fn given(password: Option<&str>) -> Result<&str, Failed> {
    password.ok_or_else(|| Failed::new(FailureKind::Connect, "the server asks for a password"))
}

#[allow(clippy::unnecessary_wraps)] // The form that `bind` asks for.
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

/// Rows that a command changed, by its tag: `UPDATE 3`, `INSERT 0 1`. What a `SELECT` gave was changed by nobody.
fn affected(tag: &str) -> u64 {
    let mut words = tag.split(' ');
    match words.next() {
        Some("INSERT" | "UPDATE" | "DELETE" | "MERGE") => words
            .next_back()
            .and_then(|word| word.parse().ok())
            .unwrap_or(0),
        _ => 0,
    }
}

/// Names of the columns, where there are any.
fn described(body: &RowDescriptionBody) -> Result<Columns, Failed> {
    let names = body.fields().map(|field| Ok(field.name().to_owned()));
    let names: Vec<String> = names.collect().map_err(|error| protocol(&error))?;
    Ok(names.into())
}

fn row(reading: &mut Reading, body: &DataRowBody) -> Result<(), Failed> {
    if reading.takes(body.buffer().len()) {
        let values = body.ranges();
        let values = values.map(|range| Ok(range.map(|range| body.buffer()[range].to_vec())));
        let row: Row = values.collect().map_err(|error| protocol(&error))?;
        reading.answer.rows.push(row);
    }
    Ok(())
}

impl Waiting for Session {
    fn perform<'a>(
        &'a mut self,
        task: &'a Task,
        call: &'a Call,
        meter: &'a mut Meter,
    ) -> Step<'a, Result<Answer, Failed>> {
        Box::pin(async move {
            self.write(task, &call.values)?;
            self.send(meter).await?;
            self.read(task, meter).await
        })
    }

    fn is_closed(&mut self) -> bool {
        self.wire.is_closed()
    }

    fn is_held(&self) -> bool {
        self.status != IDLE
    }

    fn reset(&mut self) -> Step<'_, Result<(), Failed>> {
        Box::pin(async move {
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
        })
    }

    fn close(mut self: Box<Self>) -> Step<'static, ()> {
        Box::pin(async move {
            frontend::terminate(&mut self.wire.out);
            // Whether the farewell arrives or not, the socket is closed.
            let _ = self.send(&mut Meter::default()).await;
        })
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
            assert_eq!(affected(tag), count, "{tag}");
        }
    }
}

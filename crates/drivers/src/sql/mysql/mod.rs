//! MySQL and MariaDB, by their client protocol (version 10: <https://mariadb.com/kb/en/clientserver-protocol/>).
//!
//! A statement is prepared at its first use in a session, in a separate round trip. Statements that the server cannot
//! prepare are sent as text. Values are sent as text, whatever the type of the column. Rows of prepared statements
//! arrive in binary form and are converted to text. If a response contains several tables, only the first table is
//! returned.

mod entry;
#[cfg(test)]
mod hostile;
mod messages;
mod packets;
mod statement;
mod values;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use self::entry::{AuthStep, Greeting, Login};
use self::messages::{Among, Beginning, Definition, IN_TRANSACTION, MORE_RESULTS};
use self::packets::{Malformed, put_text};
use self::values::Kind;
use crate::answer::{Answer, Failed, FailureKind, Meter};
use crate::executor::Call;
use crate::operation::{Operation, Task};
use crate::server::Location;
use crate::session::Value;
use crate::sql::reading::Reading;
use crate::turns::Turn;
use crate::wire::Wire;

const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;

/// Type code for text. All values are sent with this type.
const TEXT: u8 = 0xfd;

/// Error number for a statement that cannot be prepared (MySQL does not prepare `BEGIN`).
const CANNOT_BE_PREPARED: u16 = 1295;

type Columns = Arc<[String]>;

/// A statement that this session has prepared or tried to prepare.
#[derive(Debug)]
struct Known {
    /// Number that the server assigned to the prepared statement; `None` if the statement is sent as text.
    number: Option<u32>,
    /// For each parameter, the index of its value among the values of the call.
    places: Arc<[usize]>,
    /// Names of the columns of the result, from the last execution of the statement.
    columns: Columns,
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) wire: Wire,
    /// Sequence number of the next packet. Every command restarts the numbers at zero.
    number: u8,
    known: HashMap<u32, Known>,
    /// Status flags of the session, from the last packet that contained them.
    status: u16,
}

fn protocol(error: Malformed) -> Failed {
    Failed::new(FailureKind::Protocol, error.to_string())
}

fn internal(error: Malformed) -> Failed {
    Failed::new(FailureKind::Internal, error.to_string())
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
    database: Option<&str>,
) -> Result<Session, Failed> {
    let mut session = Session {
        wire: Wire::connect(location, turn).await?,
        number: 0,
        known: HashMap::new(),
        status: 0,
    };
    let login = Login {
        user,
        password,
        database,
        is_private: matches!(location, Location::Unix(_)),
    };
    let entered = session.enter(&login).await;
    entered.map_err(|failed| Failed::new(FailureKind::Connect, failed.reason))?;
    Ok(session)
}

impl Session {
    async fn next(&mut self, meter: &mut Meter) -> Result<Bytes, Failed> {
        loop {
            self.wire.pace().await;
            let taken = packets::take(&mut self.wire.received, &mut self.number);
            if let Some(packet) = taken.map_err(protocol)? {
                return Ok(packet);
            }
            let received = self.wire.receive(meter).await;
            received.map_err(|error| Failed::closed(&error))?;
        }
    }

    /// Sends a packet whose content the function `content` writes.
    async fn send(
        &mut self,
        meter: &mut Meter,
        content: impl FnOnce(&mut BytesMut),
    ) -> Result<(), Failed> {
        let written = packets::write(&mut self.wire.out, &mut self.number, content);
        written.map_err(internal)?;
        let sent = self.wire.flush(meter).await;
        sent.map_err(|error| Failed::closed(&error))
    }

    /// Sends a command. The sequence numbers of packets restart at zero with each command.
    async fn command(
        &mut self,
        meter: &mut Meter,
        command: u8,
        content: impl FnOnce(&mut BytesMut),
    ) -> Result<(), Failed> {
        self.number = 0;
        let whole = |out: &mut BytesMut| {
            out.put_u8(command);
            content(out);
        };
        self.send(meter, whole).await
    }

    /// Logs in: reads and writes packets from the greeting of the server to the first OK packet.
    async fn enter(&mut self, login: &Login<'_>) -> Result<(), Failed> {
        let meter = &mut Meter::default();
        let packet = self.next(meter).await?;
        if packet.first() == Some(&packets::REFUSED) {
            return Err(refusal(&packet));
        }
        let greeting = Greeting::read(&packet).map_err(protocol)?;
        // If the server proposes an unknown method of authentication, the client sends an empty proof. The server then
        // requests another method, or refuses the login.
        let proof = entry::proof(greeting.challenge(), login).unwrap_or_default();
        let answer = |out: &mut BytesMut| greeting.write_answer(login, &proof, out);
        self.send(meter, answer).await?;
        loop {
            let packet = self.next(meter).await?;
            match packet.first() {
                Some(&packets::REFUSED) => return Err(refusal(&packet)),
                Some(0) => {
                    self.note(&packet)?;
                    return Ok(());
                }
                _ => {}
            }
            let proof = match entry::auth_step(&packet).map_err(protocol)? {
                AuthStep::Nothing => continue,
                AuthStep::Proof(challenge) => entry::proof(challenge, login)?,
                AuthStep::Password => entry::plain(login)?,
            };
            self.send(meter, |out| out.put_slice(&proof)).await?;
        }
    }

    /// Stores the status flags of the session from an OK packet.
    fn note(&mut self, packet: &[u8]) -> Result<(), Failed> {
        match messages::beginning(packet).map_err(protocol)? {
            Beginning::Done { status, .. } => self.status = status,
            Beginning::Refused(refusal) => return Err(refusal.failed()),
            Beginning::Table(_) => {
                return Err(protocol(Malformed("a table that was not requested")));
            }
        }
        Ok(())
    }

    /// Prepares a statement, unless this session has prepared it already.
    async fn prepare(&mut self, task: &Task, text: &str, meter: &mut Meter) -> Result<(), Failed> {
        if self.known.contains_key(&task.number) {
            return Ok(());
        }
        let (query, places) = statement::translated(text);
        let put = |out: &mut BytesMut| out.put_slice(query.as_bytes());
        self.command(meter, PREPARE, put).await?;
        let packet = self.next(meter).await?;
        let number = match messages::prepared(&packet).map_err(protocol)? {
            Ok(prepared) => {
                for _ in 0..prepared.packets {
                    self.next(meter).await?;
                }
                if prepared.parameters != places.len() {
                    let reason = "a `?` in a statement, whose parameters are $1 and so on";
                    return Err(Failed::new(FailureKind::Internal, reason));
                }
                Some(prepared.number)
            }
            Err(refusal) if refusal.number == CANNOT_BE_PREPARED && places.is_empty() => None,
            Err(refusal) => return Err(refusal.failed()),
        };
        let known = Known {
            number,
            places: places.into(),
            columns: Columns::default(),
        };
        self.known.insert(task.number, known);
        // The bytes of the preparation are not counted as part of the response to the statement.
        meter.first_byte_ns = None;
        Ok(())
    }

    /// Sends a statement, either as the execution of a prepared statement or as text. Returns `true` if the rows of the
    /// response arrive in binary form.
    async fn ask(
        &mut self,
        task: &Task,
        text: &str,
        values: &[Value],
        meter: &mut Meter,
    ) -> Result<bool, Failed> {
        self.prepare(task, text, meter).await?;
        let known = self.known.get(&task.number);
        let Some((number, places)) =
            known.and_then(|known| Some((known.number?, Arc::clone(&known.places))))
        else {
            let put = |out: &mut BytesMut| out.put_slice(text.as_bytes());
            self.command(meter, QUERY, put).await?;
            return Ok(false);
        };
        let put = |out: &mut BytesMut| put_values(out, number, &places, values);
        self.command(meter, EXECUTE, put).await?;
        Ok(true)
    }

    /// Reads a response to its end, so that the session remains usable after a failed statement.
    async fn read(
        &mut self,
        task: &Task,
        is_binary: bool,
        meter: &mut Meter,
    ) -> Result<Answer, Failed> {
        let mut reading = Reading::new(task, Columns::default());
        let mut tables = 0;
        loop {
            let packet = self.next(meter).await?;
            match messages::beginning(&packet).map_err(protocol)? {
                Beginning::Refused(refusal) => return Err(refusal.failed()),
                Beginning::Done { affected, status } => {
                    reading.answer.affected = reading.answer.affected.saturating_add(affected);
                    self.status = status;
                }
                Beginning::Table(columns) => {
                    tables += 1;
                    let kinds = self
                        .columns(task, columns, tables, &mut reading, meter)
                        .await?;
                    let form = is_binary.then_some(&kinds[..]);
                    let wanted = (tables == 1).then_some(&mut reading);
                    self.rows(form, columns, wanted, meter).await?;
                }
            }
            if self.status & MORE_RESULTS == 0 {
                return Ok(reading.answer);
            }
        }
    }

    /// Reads the definitions of the columns of a table. The result takes its column names from the first table of the
    /// response.
    async fn columns(
        &mut self,
        task: &Task,
        count: usize,
        table: usize,
        reading: &mut Reading,
        meter: &mut Meter,
    ) -> Result<Vec<Kind>, Failed> {
        let known = self.known.get(&task.number);
        let known = known.map_or_else(Columns::default, |known| Arc::clone(&known.columns));
        // The column names usually equal those of the last execution. A new list is only made if a name differs.
        let mut changed: Option<Vec<String>> = (known.len() != count).then(Vec::new);
        let mut kinds = Vec::with_capacity(count);
        for place in 0..count {
            let packet = self.next(meter).await?;
            let definition = Definition::read(&packet).map_err(protocol)?;
            kinds.push(definition.kind);
            if changed.is_none() && known[place].as_bytes() != definition.name {
                changed = Some(known[..place].to_vec());
            }
            if let Some(names) = &mut changed {
                names.push(String::from_utf8_lossy(definition.name).into_owned());
            }
        }
        if !messages::is_end(&self.next(meter).await?) {
            return Err(protocol(Malformed("no end of the columns")));
        }
        if table == 1 {
            let names = changed.map_or(known, Into::into);
            if let Some(known) = self.known.get_mut(&task.number) {
                known.columns = Arc::clone(&names);
            }
            reading.answer.columns = names;
        }
        Ok(kinds)
    }

    /// Reads the rows of a table and stores them in `reading`, if it is given. If `kinds` are given, the rows are in
    /// binary form.
    async fn rows(
        &mut self,
        kinds: Option<&[Kind]>,
        columns: usize,
        mut reading: Option<&mut Reading>,
        meter: &mut Meter,
    ) -> Result<(), Failed> {
        loop {
            let packet = self.next(meter).await?;
            match messages::among(&packet).map_err(protocol)? {
                Among::Row(row) => {
                    if let Some(reading) = &mut reading
                        && reading.takes(row.len())
                    {
                        let row = match kinds {
                            Some(kinds) => values::binary_row(row, kinds),
                            None => values::text_row(row, columns),
                        };
                        reading.answer.rows.push(row.map_err(protocol)?);
                    }
                }
                Among::End(status) => {
                    self.status = status;
                    return Ok(());
                }
                Among::Refused(refusal) => return Err(refusal.failed()),
            }
        }
    }
}

fn refusal(packet: &[u8]) -> Failed {
    match messages::beginning(packet) {
        Ok(Beginning::Refused(refusal)) => refusal.failed(),
        Ok(_) => protocol(Malformed("an unexpected packet")),
        Err(error) => protocol(error),
    }
}

/// Appends the values of a prepared statement to `out`. The check of the plan guarantees a value for each parameter.
fn put_values(out: &mut BytesMut, number: u32, places: &[usize], values: &[Value]) {
    out.put_u32_le(number);
    // Flags: no cursor. The iteration count is always 1.
    out.put_u8(0);
    out.put_u32_le(1);
    if places.is_empty() {
        return;
    }
    let value = |place: &usize| values.get(*place).and_then(Option::as_deref);
    for eight in places.chunks(8) {
        let bits = eight.iter().enumerate();
        let nulls = bits.fold(0, |nulls, (bit, place)| {
            nulls | (u8::from(value(place).is_none()) << bit)
        });
        out.put_u8(nulls);
    }
    // The type of each value follows, as two bytes.
    out.put_u8(1);
    for _ in places {
        out.put_slice(&[TEXT, 0]);
    }
    for text in places.iter().filter_map(value) {
        put_text(out, text);
    }
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
        let Operation::Sql { text } = &task.operation else {
            return Err(Failed::new(FailureKind::Internal, "no statement"));
        };
        let is_binary = self.ask(task, text, &call.values, meter).await?;
        self.read(task, is_binary, meter).await
    }

    /// Returns `true` if the server has closed the idle session or sent data to it. A server sends data to an idle
    /// session only to close it.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.wire.is_closed() || !self.wire.received.is_empty()
    }

    /// Returns `true` if the idle session has received data other than an error packet. A server closes an idle session
    /// with an error packet.
    pub(crate) fn has_unasked(&self) -> bool {
        packets::kind(&self.wire.received).is_some_and(|kind| kind != packets::REFUSED)
    }

    /// Returns `true` if a transaction is open.
    pub(crate) fn is_held(&self) -> bool {
        self.status & IN_TRANSACTION != 0
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
        let put = |out: &mut BytesMut| out.put_slice(b"ROLLBACK");
        self.command(meter, QUERY, put).await?;
        let packet = self.next(meter).await?;
        self.note(&packet)
    }

    /// Sends the quit command and closes the session.
    pub(crate) async fn close(mut self) {
        // A failure to send is ignored, since the socket is closed in any case.
        let _ = self.command(&mut Meter::default(), QUIT, |_| {}).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_at_their_places_and_those_that_are_null_in_a_bit() {
        let mut out = BytesMut::new();
        let values = [Some(b"a".to_vec()), None];
        put_values(&mut out, 5, &[1, 0, 1], &values);
        // Expected: statement 5, no cursor, iteration count 1; NULL bitmap of values 1 and 3; three types (text); the
        // value `a`.
        let expected = [
            &[5, 0, 0, 0, 0, 1, 0, 0, 0][..],
            &[0b101, 1],
            &[TEXT, 0, TEXT, 0, TEXT, 0],
            &[1, b'a'],
        ];
        assert_eq!(&out[..], expected.concat());
        let mut out = BytesMut::new();
        put_values(&mut out, 1, &[0; 9], &[None]);
        assert_eq!(&out[9..12], [0xff, 1, 1], "nine bits in two bytes");
    }
}

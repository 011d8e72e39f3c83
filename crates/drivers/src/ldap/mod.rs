//! LDAP version 3 (RFC 4511) over TCP or a Unix socket.
//!
//! A session processes one operation at a time. The result of a search is a table with a column for each attribute and
//! a row for each entry. If an attribute has several values, additional rows contain the further values, so that all of
//! them can be extracted. When a call times out, the client sends an abandon request, so that the server can stop the
//! operation.

mod answers;
pub(crate) mod ber;
mod codes;
mod filter;
mod request;
mod table;

use std::rc::Rc;

use bytes::Bytes;

use self::answers::{Message, Said};
use self::table::Table;
use crate::answer::{Answer, Failed, FailureKind, Meter};
use crate::executor::Call;
use crate::operation::{Operation, Task};
use crate::server::Location;
use crate::session::Value;
use crate::turns::Turn;
use crate::wire::Wire;

pub use self::filter::{Assertion, Extensible, Filter, Substrings};
pub use self::request::{Attribute, Change, DirectoryRequest, Scope, Verb};

/// Highest message number, `maxInt` of RFC 4511.
const NUMBER_CEILING: u32 = i32::MAX as u32;

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) wire: Wire,
    /// Number of the last message that the client sent.
    number: u32,
    /// Buffer in which a message is built. The length at the start of a message is known only when the message is
    /// complete.
    scratch: Vec<u8>,
    /// `true` while the client waits for the response to its last message.
    is_waiting: bool,
    /// `true` after the client has sent the unbind request, which ends the session.
    is_over: bool,
}

/// Opens a session, and logs in if a user name is given.
///
/// # Errors
///
/// A failure of the kind `connect`, if the connection or the login fails.
pub(crate) async fn open(
    location: &Location,
    turn: &Rc<Turn>,
    user: Option<&str>,
    password: Option<&str>,
) -> Result<Session, Failed> {
    let mut session = Session {
        wire: Wire::connect(location, turn).await?,
        number: 0,
        scratch: Vec::new(),
        is_waiting: false,
        is_over: false,
    };
    if let Some(user) = user {
        let values = [user, password.unwrap_or_default()];
        let values = values.map(|text| Some(text.as_bytes().to_vec()));
        let (bind, meter) = (DirectoryRequest::Bind {}, &mut Meter::default());
        let entered = session.exchange(&bind, &values, None, meter).await;
        entered.map_err(|failed| Failed::new(FailureKind::Connect, failed.reason))?;
    }
    Ok(session)
}

fn protocol(error: ber::Malformed) -> Failed {
    Failed::new(FailureKind::Protocol, error.to_string())
}

fn refused(code: u32) -> Failed {
    Failed::new(FailureKind::Refused, codes::name(code))
}

impl Session {
    /// Returns the message number for the next message of the client.
    fn count(&mut self) -> u32 {
        self.number = if self.number == NUMBER_CEILING {
            1
        } else {
            self.number + 1
        };
        self.number
    }

    /// Writes a request to the output buffer and returns the message number of the request.
    fn write(&mut self, request: &DirectoryRequest, values: &[Value]) -> u32 {
        let number = self.count();
        self.scratch.clear();
        request.write(number, values, &mut self.scratch);
        self.wire.out.extend_from_slice(&self.scratch);
        number
    }

    /// Returns the next complete message of the server.
    async fn next(&mut self, meter: &mut Meter) -> Result<Bytes, Failed> {
        loop {
            self.wire.pace().await;
            let length = answers::length(&self.wire.received).map_err(protocol)?;
            if let Some(length) = length
                && length <= self.wire.received.len()
            {
                return Ok(self.wire.received.split_to(length).freeze());
            }
            let received = self.wire.receive(meter).await;
            received.map_err(|error| Failed::closed(&error))?;
        }
    }

    /// Performs one operation. Adds the found entries to the table of `task`; without a task, only counts them.
    async fn exchange(
        &mut self,
        request: &DirectoryRequest,
        values: &[Value],
        task: Option<&Task>,
        meter: &mut Meter,
    ) -> Result<Answer, Failed> {
        let number = self.write(request, values);
        self.is_waiting = true;
        let sent = self.wire.flush(meter).await;
        sent.map_err(|error| Failed::closed(&error))?;
        let result = if request.is_unbind() {
            self.is_over = true;
            Ok(Answer::default())
        } else {
            self.read(number, request, task, meter).await
        };
        // The operation has ended, so closing the session need not send an abandon request.
        self.is_waiting = false;
        result
    }

    async fn read(
        &mut self,
        number: u32,
        request: &DirectoryRequest,
        task: Option<&Task>,
        meter: &mut Meter,
    ) -> Result<Answer, Failed> {
        let mut table = Table::new(request, task);
        loop {
            let bytes = self.next(meter).await?;
            let Message { number: of, said } = answers::read(&bytes).map_err(protocol)?;
            match said {
                // A message that belongs to no request announces that the server is about to close the connection (RFC
                // 4511, section 4.4.1).
                Said::Done(code) if of == 0 => {
                    return Err(Failed::new(FailureKind::Closed, codes::name(code)));
                }
                _ if of != number => {
                    let reason = "an answer without a request";
                    return Err(Failed::new(FailureKind::Protocol, reason));
                }
                Said::Entry(entry) => table.take(&entry).map_err(protocol)?,
                Said::Aside => {}
                Said::Done(code) => return table.end(request, code),
            }
        }
    }
}

impl Session {
    /// Performs one operation on the directory.
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
        let Operation::Ldap { request } = &task.operation else {
            return Err(Failed::new(
                FailureKind::Internal,
                "the operation is not an LDAP operation",
            ));
        };
        self.exchange(request, &call.values, Some(task), meter)
            .await
    }

    /// Returns `true` if the client has sent the unbind request, which ends the session.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Sends the unbind request and closes the connection.
    pub(crate) async fn close(mut self) {
        if self.is_over {
            return;
        }
        self.write(&DirectoryRequest::Unbind {}, &[]);
        // A failure to send is ignored, since the socket is closed in any case.
        let _ = self.wire.flush(&mut Meter::default()).await;
    }
}

impl Drop for Session {
    /// Sends an abandon request for an operation in progress, and then an unbind request.
    fn drop(&mut self) {
        // If the last message was only partly sent, nothing more is sent: the server would read it as part of that
        // message.
        if self.is_waiting && self.wire.out.is_empty() {
            let (given_up, number) = (self.number, self.count());
            self.scratch.clear();
            request::abandon(number, given_up, &mut self.scratch);
            self.wire.out.extend_from_slice(&self.scratch);
            self.write(&DirectoryRequest::Unbind {}, &[]);
            self.wire.send_now();
        }
    }
}

//! Driver for plain TCP: sends a number of bytes and receives a number of bytes.

use std::rc::Rc;

use crate::answer::{Answer, Failed, FailureKind, Meter};
use crate::executor::Call;
use crate::operation::{Operation, Task};
use crate::server::Location;
use crate::session::Value;
use crate::turns::Turn;
use crate::wire::Wire;

/// Number of bytes that the session passes to the socket in one write. [B]
const BLOCK_BYTES: u64 = 64 * 1024;

/// Largest number of bytes that one call sends or receives. [B]
const SIZE_CEILING: u64 = 1 << 40;

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) wire: Wire,
}

/// Opens a session, that is, a TCP connection to the server.
///
/// # Errors
///
/// A failure of the kind `connect`, if the connection fails.
pub(crate) async fn open(location: &Location, turn: &Rc<Turn>) -> Result<Session, Failed> {
    Ok(Session {
        wire: Wire::connect(location, turn).await?,
    })
}

fn size(value: &Value) -> Result<u64, Failed> {
    let Some(bytes) = value else { return Ok(0) };
    let text = std::str::from_utf8(bytes).ok();
    let number = text.and_then(|text| text.parse().ok());
    number
        .filter(|number| *number <= SIZE_CEILING)
        .ok_or_else(|| Failed::new(FailureKind::Internal, "an invalid size"))
}

impl Session {
    async fn send(&mut self, mut left: u64, meter: &mut Meter) -> std::io::Result<()> {
        while left > 0 {
            let now = left.min(BLOCK_BYTES);
            self.wire.out.resize(now as usize, b'x');
            self.wire.flush(meter).await?;
            left -= now;
        }
        Ok(())
    }

    async fn receive(&mut self, wanted: u64, meter: &mut Meter) -> std::io::Result<()> {
        let mut left = wanted;
        while left > 0 {
            if self.wire.received.is_empty() {
                self.wire.receive(meter).await?;
            }
            let now = left.min(self.wire.received.len() as u64);
            // `clear` keeps the capacity of the buffer; `split_to` would reduce it.
            if now == self.wire.received.len() as u64 {
                self.wire.received.clear();
            } else {
                let _ = self.wire.received.split_to(now as usize);
            }
            left -= now;
        }
        Ok(())
    }
}

impl Session {
    /// Performs one operation.
    ///
    /// # Errors
    ///
    /// If the connection ends early, or the values of the call are invalid.
    pub(crate) async fn perform(
        &mut self,
        task: &Task,
        call: &Call,
        meter: &mut Meter,
    ) -> Result<Answer, Failed> {
        let (Operation::Tcp {}, [sent, text, received]) = (&task.operation, &call.values[..])
        else {
            return Err(Failed::new(
                FailureKind::Internal,
                "the operation is not an exchange of bytes",
            ));
        };
        let (sent, received) = (size(sent)?, size(received)?);
        let closed = |error: std::io::Error| Failed::closed(&error);
        if let Some(text) = text {
            self.wire.out.extend_from_slice(text);
            self.wire.flush(meter).await.map_err(closed)?;
        }
        self.send(sent, meter).await.map_err(closed)?;
        self.receive(received, meter).await.map_err(closed)?;
        Ok(Answer::default())
    }
}

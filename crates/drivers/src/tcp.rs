//! Bytes over a connection, whatever they mean: so many there, so many back.

use crate::answer::{Answer, Failed, FailureKind, Meter};
use crate::executor::Call;
use crate::operation::{Operation, Task};
use crate::server::Location;
use crate::session::{Step, Value, Waiting};
use crate::wire::Wire;

/// What is sent at once. [B]
const BLOCK_BYTES: u64 = 64 * 1024;

/// More than any exchange moves. [B]
const SIZE_CEILING: u64 = 1 << 40;

struct Session {
    wire: Wire,
}

/// Opens a session: the connection.
///
/// # Errors
/// Kind `connect`.
pub(crate) async fn open(location: &Location) -> Result<Box<dyn Waiting>, Failed> {
    Ok(Box::new(Session {
        wire: Wire::connect(location).await?,
    }))
}

fn size(value: &Value) -> Result<u64, Failed> {
    let Some(bytes) = value else { return Ok(0) };
    let text = std::str::from_utf8(bytes).ok();
    let number = text.and_then(|text| text.parse().ok());
    number
        .filter(|number| *number <= SIZE_CEILING)
        .ok_or_else(|| Failed::new(FailureKind::Internal, "a size that is none"))
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
            // Clearing keeps the room; splitting off would give a part of it away.
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

impl Waiting for Session {
    fn perform<'a>(
        &'a mut self,
        task: &'a Task,
        call: &'a Call,
        meter: &'a mut Meter,
    ) -> Step<'a, Result<Answer, Failed>> {
        Box::pin(async move {
            let (Operation::Tcp {}, [sent, text, received]) = (&task.operation, &call.values[..])
            else {
                return Err(Failed::new(FailureKind::Internal, "no exchange of bytes"));
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
        })
    }

    fn is_closed(&mut self) -> bool {
        self.wire.is_closed()
    }

    fn close(self: Box<Self>) -> Step<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

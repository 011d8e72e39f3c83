//! What a driver is: a way to open sessions, and what they can do.

use std::future::Future;
use std::pin::Pin;

use crate::answer::{Answer, Failed, Meter};
use crate::executor::Call;
use crate::operation::Task;

/// A value handed to an operation; `None` is the server's "no value".
pub type Value = Option<Vec<u8>>;

/// Something that goes on while its thread does other things.
pub type Step<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// The opening of a session.
pub type Opening<'a> = Step<'a, Result<Box<dyn Waiting>, Failed>>;

/// A session that waits for its server. It never sleeps, retries or records; a server that fails is an outcome.
pub trait Waiting {
    /// Does one operation.
    fn perform<'a>(
        &'a mut self,
        task: &'a Task,
        call: &'a Call,
        meter: &'a mut Meter,
    ) -> Step<'a, Result<Answer, Failed>>;

    /// Whether the server has closed it while nothing was asked.
    fn is_closed(&mut self) -> bool;

    /// Whether it has something open that belongs to its user: a transaction.
    fn is_held(&self) -> bool {
        false
    }

    /// Whether what was done last has ended it.
    fn is_over(&self) -> bool {
        false
    }

    /// Undoes what is open.
    fn reset(&mut self) -> Step<'_, Result<(), Failed>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Says farewell.
    fn close(self: Box<Self>) -> Step<'static, ()>;
}

/// A session that works in the thread that calls it.
pub trait Working: Send {
    /// Does one operation.
    ///
    /// # Errors
    /// How it failed.
    fn perform(&mut self, task: &Task, call: &Call, meter: &mut Meter) -> Result<Answer, Failed>;

    /// Whether it has something open that belongs to its user: a transaction.
    fn is_held(&self) -> bool {
        false
    }

    /// Undoes what is open.
    ///
    /// # Errors
    /// When that fails; the session is then given up.
    fn reset(&mut self) -> Result<(), Failed> {
        Ok(())
    }
}

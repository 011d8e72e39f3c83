//! A plan compiled to a program: one flat array of instructions, and requests with slots for their values.

pub mod body;
pub mod call;
mod compile;
mod fields;
pub mod note;
mod path;
pub mod request;

use towtank_drivers::Task;

use crate::cookies::Jar;
use crate::http2::hpack::Constant;
use crate::plan::{CookiesKept, Count, Is, Pause, Pick};
use crate::pools::Pool;
use crate::rng::Alias;
use crate::template::Text;
use request::Request;

pub use compile::compile;
pub use fields::Constants;

/// One instruction. Jumps refer to indices in [`Program::code`].
#[derive(Debug)]
pub enum Instruction {
    /// A transaction begins.
    Begin(u32),
    /// The current transaction succeeds; return to its caller.
    End,
    /// A page begins.
    PageBegin(u32),
    /// The current page ends.
    PageEnd,
    /// Send a request.
    Request(u32),
    /// Call a driver.
    Drive(u32),
    /// Pause.
    Think(Pause),
    /// Set a variable.
    Set(u32, Text),
    /// Draw a row of a pool.
    Draw(u32, Box<[Option<u32>]>),
    /// Append to a list.
    Push(u32, Text),
    /// Move an element of a list into a variable.
    Pop(u32, u32, Pick),
    /// Copy a random element of a list into a variable.
    Pick(u32, u32),
    /// Continue with this probability, otherwise jump.
    Branch(f64, u32),
    /// Continue if the variable has this state, otherwise jump.
    If(u32, Is, u32),
    /// Jump.
    Jump(u32),
    /// Set the counter of a loop; jump if it is zero.
    LoopBegin {
        /// Index of the loop counter of the user.
        slot: u32,
        /// Number of rounds.
        count: Count,
        /// Index after the loop.
        end: u32,
    },
    /// Count down; jump back to `begin` until the counter is zero.
    LoopEnd {
        /// Index of the loop counter of the user.
        slot: u32,
        /// First instruction of the loop's body.
        begin: u32,
    },
    /// Call a transaction.
    Call(u32),
    /// Call a transaction picked from the group's mix.
    Mix,
    /// Pause between transactions.
    Rest,
    /// The user leaves.
    Quit,
}

/// Location of a group's code, and the behaviour of its users.
#[derive(Debug)]
pub struct GroupCode {
    /// First instruction of a user that starts.
    pub start: u32,
    /// First instruction of a user that leaves.
    pub exit: u32,
    /// Table for random choices from the mix.
    pub mix: Alias,
    /// Transactions of the mix.
    pub transactions: Vec<u32>,
    /// Pause between transactions.
    pub think: Option<Pause>,
    /// Time between intended starts of transactions.
    pub pacing: Option<Pause>,
    /// Cookies of a user at its start.
    pub given: Jar,
    /// Lifetime of cookies from servers.
    pub cookies_kept: CookiesKept,
}

/// A compiled plan.
#[derive(Debug)]
pub struct Program {
    /// All instructions.
    pub code: Vec<Instruction>,
    /// First instruction of each transaction.
    pub entries: Vec<u32>,
    /// Step of the first request of each transaction. A transaction that never starts is counted at this step.
    pub first_steps: Vec<Option<usize>>,
    /// The groups.
    pub groups: Vec<GroupCode>,
    /// The requests.
    pub requests: Vec<Request>,
    /// The calls of drivers.
    pub calls: Vec<call::Call>,
    /// Tasks for the drivers, by number of the call.
    pub tasks: std::sync::Arc<[Task]>,
    /// HTTP/2 header fields that never change, by number.
    pub constants: Vec<Constant>,
    /// Data pools.
    pub pools: Vec<Pool>,
    /// Number of loop counters per user.
    pub loop_slots: usize,
    /// Number of variables per user.
    pub variables: usize,
    /// Number of lists per user.
    pub lists: usize,
}

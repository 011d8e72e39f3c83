//! A plan compiled to a program: one flat array of instructions, and requests ready to be filled in.

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
    /// The current transaction succeeds; returns to its caller.
    End,
    /// A page begins.
    PageBegin(u32),
    /// The current page ends.
    PageEnd,
    /// Make an exchange.
    Request(u32),
    /// Make a call of a driver.
    Drive(u32),
    /// Pause.
    Think(Pause),
    /// Give a variable a value.
    Set(u32, Text),
    /// Take a row of a pool.
    Draw(u32, Box<[Option<u32>]>),
    /// Append to a list.
    Push(u32, Text),
    /// Take an element out of a list into a variable.
    Pop(u32, u32, Pick),
    /// Copy a random element of a list into a variable.
    Pick(u32, u32),
    /// Continue with this probability, else jump.
    Branch(f64, u32),
    /// Continue if the variable has this state, else jump.
    If(u32, Is, u32),
    /// Jump.
    Jump(u32),
    /// Set the counter of a loop; jump if it is zero.
    LoopBegin {
        /// Counter of the user.
        slot: u32,
        /// Number of rounds.
        count: Count,
        /// Index after the loop.
        end: u32,
    },
    /// Count down; jump back to `begin` until zero.
    LoopEnd {
        /// Counter of the user.
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
    /// The user is gone.
    Quit,
}

/// Position of a group's code, and the behaviour of its users.
#[derive(Debug)]
pub struct GroupCode {
    /// First instruction of a user.
    pub start: u32,
    /// First instruction of leaving.
    pub exit: u32,
    /// Picks from the mix.
    pub mix: Alias,
    /// Transactions of the mix.
    pub transactions: Vec<u32>,
    /// Pause between transactions.
    pub think: Option<Pause>,
    /// Time between intended starts of transactions.
    pub pacing: Option<Pause>,
    /// Cookies that a user begins with.
    pub given: Jar,
    /// Lifetime of cookies from servers.
    pub cookies_kept: CookiesKept,
}

/// A plan, compiled.
#[derive(Debug)]
pub struct Program {
    /// All instructions.
    pub code: Vec<Instruction>,
    /// First instruction of each transaction.
    pub entries: Vec<u32>,
    /// Step of the first request of each transaction, which counts a transaction that never starts.
    pub first_steps: Vec<Option<usize>>,
    /// The groups.
    pub groups: Vec<GroupCode>,
    /// The requests.
    pub requests: Vec<Request>,
    /// The calls of drivers.
    pub calls: Vec<call::Call>,
    /// Tasks for the drivers, by call.
    pub tasks: std::sync::Arc<[Task]>,
    /// Fields of requests by HTTP/2 that never change, by number.
    pub constants: Vec<Constant>,
    /// Data.
    pub pools: Vec<Pool>,
    /// Loop counters that a user needs.
    pub loop_slots: usize,
    /// Variables of a user.
    pub variables: usize,
    /// Lists of a user.
    pub lists: usize,
}

//! A plan that is compiled to a program: an array of instructions, and templates of requests into which values are
//! inserted.

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
use crate::secrets::Secrets;
use crate::template::Text;
use request::Request;

pub use compile::compile;
pub use fields::Constants;

/// An instruction of the program. Jumps refer to indices in [`Program::code`].
#[derive(Debug)]
pub enum Instruction {
    /// Begin the transaction with this index.
    Begin(u32),
    /// End the current transaction as successful, and return to its caller.
    End,
    /// Begin the page with this index.
    PageBegin(u32),
    /// End the current page.
    PageEnd,
    /// Send the request with this index.
    Request(u32),
    /// Execute the driver call with this index.
    Drive(u32),
    /// Wait for a pause of this distribution.
    Think(Pause),
    /// Assign the rendered text to the variable with this index.
    Set(u32, Text),
    /// Take a row from the pool with this index. The list gives, for each column, the index of the variable that
    /// receives the column's value, if any.
    Draw(u32, Box<[Option<u32>]>),
    /// Append the rendered text to the list with this index.
    Push(u32, Text),
    /// Move an element from a list to a variable: index of the list, index of the variable, choice of the element.
    Pop(u32, u32, Pick),
    /// Copy a random element of a list to a variable: index of the list, index of the variable.
    Pick(u32, u32),
    /// With this probability in [0, 1], continue; otherwise jump to the instruction with this index.
    Branch(f64, u32),
    /// Continue if the variable with the first index meets the condition, otherwise jump to the instruction with the
    /// second index.
    If(u32, Is, u32),
    /// Jump to the instruction with this index.
    Jump(u32),
    /// Set a loop counter to the number of repetitions. Jump to `end` if this number is zero.
    LoopBegin {
        /// Index of the loop counter among the user's loop counters.
        slot: u32,
        /// Number of repetitions of the loop.
        count: Count,
        /// Index of the first instruction after the loop.
        end: u32,
    },
    /// Decrease a loop counter by one. Jump back to `begin` unless the counter is then zero.
    LoopEnd {
        /// Index of the loop counter among the user's loop counters.
        slot: u32,
        /// Index of the first instruction in the loop.
        begin: u32,
    },
    /// Call the transaction with this index.
    Call(u32),
    /// Call a transaction that is chosen at random from the group's mix.
    Mix,
    /// Wait for the pause between transactions.
    Rest,
    /// Let the user leave.
    Quit,
}

/// Entry points of a user group into the code, and settings for the users of the group.
#[derive(Debug)]
pub struct GroupCode {
    /// Index of the first instruction that a starting user executes.
    pub start: u32,
    /// Index of the first instruction that a leaving user executes.
    pub exit: u32,
    /// Table for random choices of a transaction from the mix of the group.
    pub mix: Alias,
    /// Transactions in the mix of the group.
    pub transactions: Vec<u32>,
    /// Pause between the end of a transaction and the start of the next.
    pub think: Option<Pause>,
    /// Time between the intended starts of successive transactions of a user.
    pub pacing: Option<Pause>,
    /// Cookies that each user has at its start.
    pub given: Jar,
    /// Time after which users drop the cookies that servers have set.
    pub cookies_kept: CookiesKept,
}

/// A compiled plan.
#[derive(Debug)]
pub struct Program {
    /// Instructions of all transactions and groups.
    pub code: Vec<Instruction>,
    /// Index of the first instruction of each transaction.
    pub entries: Vec<u32>,
    /// Step of the first request or call in each transaction. Arrivals that never start the transaction are counted at
    /// this step.
    pub first_steps: Vec<Option<usize>>,
    /// Code and settings of the user groups.
    pub groups: Vec<GroupCode>,
    /// The compiled HTTP requests.
    pub requests: Vec<Request>,
    /// The compiled driver calls.
    pub calls: Vec<call::Call>,
    /// Descriptions of the calls for the drivers, in the order of the calls.
    pub tasks: std::sync::Arc<[Task]>,
    /// HTTP/2 header fields that never change, in the order of their numbers.
    pub constants: Vec<Constant>,
    /// Data pools: tables from which users take rows as input values.
    pub pools: Vec<Pool>,
    /// Number of loop counters per user.
    pub loop_slots: usize,
    /// Number of variables per user.
    pub variables: usize,
    /// Number of lists per user.
    pub lists: usize,
    /// Values that results must not contain.
    pub secrets: Secrets,
}

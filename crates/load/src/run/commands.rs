//! Commands on standard input: lines of JSON that change the load stages during the run.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::plan::{self, Plan};
use crate::schedule::{Change, Edit, Refused};
use crate::sys;
use crate::worker::Edits;

use super::control::print_line;
use super::timeline::Timeline;

/// Limit on the length of a command line. A command with an arrival rate of a million points takes about half of this
/// length. [B]
const LINE_BYTES_AT_MOST: usize = 64 << 20;

/// Time between the proposal of an edit and its effect. It must be long enough for all load threads to see the
/// proposal. [ns]
const LEAD_NS: u64 = 50_000_000;

/// Number of attempts to make an edit. An attempt fails if a load thread does not see the edit in time. With each
/// attempt the time before the edit takes effect doubles.
const TRIES: u32 = 6;

const MILLISECOND_NS: u64 = 1_000_000;

/// Splits standard input into lines.
#[derive(Debug, Default)]
pub(super) struct Input {
    bytes: Vec<u8>,
}

impl Input {
    /// Reads the available input. Returns the complete lines, and `true` if the input has ended.
    pub(super) fn read(&mut self) -> (Vec<Vec<u8>>, bool) {
        let open = sys::read_input(&mut self.bytes);
        let mut lines = Vec::new();
        if let Some(end) = self.bytes.iter().rposition(|byte| *byte == b'\n') {
            let rest = self.bytes.split_off(end + 1);
            let whole = std::mem::replace(&mut self.bytes, rest);
            let each = whole.split(|byte| *byte == b'\n');
            lines = each
                .filter(|line| !line.is_empty())
                .map(<[u8]>::to_vec)
                .collect();
        }
        if self.bytes.len() > LINE_BYTES_AT_MOST {
            // The line is longer than the limit, so its start is dropped. The remaining line is refused as an invalid
            // command.
            self.bytes.clear();
        }
        (lines, !open)
    }
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Command {
    Next { stage: usize },
    Append { stages: Vec<Value> },
}

impl Command {
    fn name(&self) -> &'static str {
        match self {
            Command::Next { .. } => "next",
            Command::Append { .. } => "append",
        }
    }
}

/// Executes the commands that arrive on standard input.
#[derive(Debug)]
pub(super) struct Commander<'a> {
    pub(super) plan: &'a Plan,
    pub(super) edits: &'a Edits,
}

impl Commander<'_> {
    /// Executes a command, or reports the reason why it cannot be executed.
    pub(super) fn obey(&self, line: &[u8], timeline: &mut Timeline, stopped: bool) {
        let command: Command = match serde_json::from_slice(line) {
            Ok(command) => command,
            Err(error) => return refuse(&named_in(line), &error.to_string()),
        };
        let (name, first) = (json!(command.name()), timeline.stages().len());
        if stopped {
            return refuse(&name, "the drain has begun");
        }
        let change = match command {
            Command::Next { stage } => Change::Next(stage),
            Command::Append { stages } => match plan::read_stages(self.plan, stages) {
                Ok(stages) => Change::Append(stages),
                Err(faults) => {
                    let each: Vec<String> = faults.iter().map(ToString::to_string).collect();
                    return refuse(&name, &each.join("; "));
                }
            },
        };
        match self.make(change, timeline) {
            Ok(()) if timeline.stages().len() > first => {
                let count = timeline.stages().len() - first;
                let end_s = timeline.listed()[timeline.drain()].start_s;
                let reply =
                    json!({"k": "appended", "first": first, "count": count, "end_s": end_s});
                print_line(&reply.to_string());
            }
            Ok(()) => {}
            Err(Refused(why)) => refuse(&name, &why),
        }
    }

    /// Applies a change of the stages in all load threads at the same time, slightly in the future.
    fn make(&self, change: Change, timeline: &mut Timeline) -> Result<(), Refused> {
        let mut edit = Edit { at_ns: 0, change };
        for attempt in 0..TRIES {
            let now_ns = timeline.now_ns();
            let at_ns = (now_ns + (LEAD_NS << attempt)).next_multiple_of(MILLISECOND_NS);
            edit.at_ns = at_ns.max(timeline.last_edit_ns());
            timeline.stages().check(&edit, now_ns)?;
            let proposal = self.edits.propose(edit.clone());
            // Load threads must be able to see the proposal before the clock is read.
            let in_time = timeline.now_ns() < edit.at_ns;
            let made = if in_time {
                proposal.decide()
            } else {
                proposal.decline()
            };
            if made {
                timeline.follow(edit);
                return Ok(());
            }
        }
        Err(Refused(
            "the load threads did not receive the change in time: send the command again"
                .to_owned(),
        ))
    }
}

/// Returns the command name in an invalid line, if the line contains a name.
fn named_in(line: &[u8]) -> Value {
    let read: Option<Value> = serde_json::from_slice(line).ok();
    read.and_then(|value| value.get("do").cloned())
        .unwrap_or(Value::Null)
}

fn refuse(name: &Value, why: &str) {
    print_line(&json!({"k": "refused", "do": name, "why": why}).to_string());
}

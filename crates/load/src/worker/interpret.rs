//! Executes a user's instructions until the user must wait.

use crate::outcome::Failure;
use crate::pause::draw_ns;
use crate::plan::{Count, Is, Pick};
use crate::program::Instruction;
use crate::rng::Random;
use crate::template::{Context, Text};

use super::Worker;
use super::setup::TargetState;
use super::user::{NONE, State};

/// Limit on the instructions of a user in one iteration of the event loop. Without it, a user that never waits (a mix
/// without requests and pauses) would delay all users of the thread.
const TURN: usize = 1000;

/// Next step of a user after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// The user continues with the next instruction.
    Next,
    /// The user waits for an event.
    Wait,
}

impl Worker<'_> {
    /// Executes instructions of a user until the user must wait, or until the limit per iteration of the event loop is
    /// reached.
    pub(super) fn run(&mut self, user: usize) {
        for _ in 0..TURN {
            if self.step(user) == Flow::Wait {
                return;
            }
        }
        self.later(user);
    }

    /// Continues a user in the next iteration of the event loop.
    pub(super) fn later(&mut self, user: usize) {
        self.users[user].state = State::Ready;
        self.ready.push_back(user as u32);
    }

    fn step(&mut self, index: usize) -> Flow {
        let program = self.program;
        let user = &mut self.users[index];
        let at = user.pc;
        user.pc += 1;
        match &program.code[at as usize] {
            Instruction::Begin(transaction) => {
                user.transaction = *transaction;
                user.begun_ns = user.clock_ns;
                user.thought_ns = 0;
                user.iteration += 1;
            }
            Instruction::End => self.end_transaction(index, Ok(())),
            Instruction::PageBegin(page) => {
                user.page = *page;
                user.page_failure = None;
                user.page_begun_ns = None;
                (user.page_thought_ns, user.page_pending_ns) = (0, 0);
            }
            Instruction::PageEnd => self.end_page(index, None),
            Instruction::Request(request) => return self.begin_exchange(index, *request),
            Instruction::Drive(call) => {
                self.begin_call(index, *call);
                return Flow::Wait;
            }
            Instruction::Think(pause) => {
                let pause_ns = draw_ns(pause, &mut user.random);
                return self.pause(index, pause_ns, State::Thinking);
            }
            Instruction::Draw(pool, variables) => self.draw(index, *pool, variables),
            Instruction::Branch(..) | Instruction::If(..) | Instruction::Jump(_) => {
                self.jump(index, at);
            }
            Instruction::LoopBegin { .. } | Instruction::LoopEnd { .. } => {
                self.count_loop(index, at);
            }
            Instruction::Call(transaction) => self.call(index, *transaction),
            Instruction::Mix => return self.mix(index),
            Instruction::Rest => return self.rest(index),
            Instruction::Quit => {
                self.quit(index);
                return Flow::Wait;
            }
            Instruction::Set(..)
            | Instruction::Push(..)
            | Instruction::Pop(..)
            | Instruction::Pick(..) => {
                self.remember(index, at);
            }
        }
        Flow::Next
    }

    fn remember(&mut self, index: usize, at: u32) {
        let program = self.program;
        match &program.code[at as usize] {
            Instruction::Set(variable, value) => {
                let value = self.render(index, value);
                self.users[index].memory.variables[*variable as usize] = value;
            }
            Instruction::Push(list, value) => {
                let value = self.render(index, value);
                self.users[index].memory.lists[*list as usize].push(value);
            }
            Instruction::Pop(list, variable, pick) => {
                let user = &mut self.users[index];
                let items = &mut user.memory.lists[*list as usize];
                let value =
                    choose(items.len(), *pick, &mut user.random).map(|place| items.remove(place));
                user.memory.variables[*variable as usize] = value.unwrap_or_default();
            }
            Instruction::Pick(list, variable) => {
                let user = &mut self.users[index];
                let items = &user.memory.lists[*list as usize];
                let value = choose(items.len(), Pick::Random, &mut user.random)
                    .map(|place| items[place].clone());
                user.memory.variables[*variable as usize] = value.unwrap_or_default();
            }
            _ => {}
        }
    }

    fn render(&mut self, index: usize, text: &Text) -> Vec<u8> {
        let user = &mut self.users[index];
        let mut out = Vec::new();
        let mut context = Context {
            memory: &mut user.memory,
            random: &mut user.random,
            user: user.number,
            iteration: user.iteration,
        };
        text.render(&mut out, &mut context);
        out
    }

    fn draw(&mut self, index: usize, pool: u32, variables: &[Option<u32>]) {
        let program = self.program;
        let user = &mut self.users[index];
        let draws = u64::from(user.draws[pool as usize]);
        let row = program.pools[pool as usize].draw(
            u64::from(user.number),
            self.users_at_most,
            draws,
            &mut user.random,
        );
        user.draws[pool as usize] += 1;
        let Some(row) = row else {
            self.fail(index, Failure::DataExhausted);
            return;
        };
        for (variable, field) in variables.iter().zip(row) {
            if let Some(variable) = variable {
                let place = &mut user.memory.variables[*variable as usize];
                place.clear();
                place.extend_from_slice(field);
            }
        }
    }

    fn jump(&mut self, index: usize, at: u32) {
        let user = &mut self.users[index];
        match &self.program.code[at as usize] {
            Instruction::Jump(place) => user.pc = *place,
            Instruction::Branch(chance, other) if user.random.unit() >= *chance => {
                user.pc = *other;
            }
            Instruction::If(variable, is, other)
                if user.memory.variables[*variable as usize].is_empty() != (*is == Is::Empty) =>
            {
                user.pc = *other;
            }
            _ => {}
        }
    }

    fn count_loop(&mut self, index: usize, at: u32) {
        let user = &mut self.users[index];
        match &self.program.code[at as usize] {
            Instruction::LoopBegin { slot, count, end } => {
                let times = match count {
                    Count::Exactly(times) => *times,
                    Count::Between(bounds) => {
                        bounds.min
                            + user.random.below(u64::from(bounds.max - bounds.min) + 1) as u32
                    }
                };
                user.loops[*slot as usize] = times;
                if times == 0 {
                    user.pc = *end;
                }
            }
            Instruction::LoopEnd { slot, begin } => {
                let left = &mut user.loops[*slot as usize];
                *left -= 1;
                if *left > 0 {
                    user.pc = *begin;
                }
            }
            _ => {}
        }
    }

    fn call(&mut self, index: usize, transaction: u32) {
        let program = self.program;
        let user = &mut self.users[index];
        if user.leaving && !user.exiting {
            user.exiting = true;
            user.pc = program.groups[usize::from(user.group)].exit;
        } else {
            user.back = user.pc;
            user.pc = program.entries[transaction as usize];
        }
    }

    fn mix(&mut self, index: usize) -> Flow {
        let program = self.program;
        let user = &mut self.users[index];
        let group = &program.groups[usize::from(user.group)];
        if self.open {
            return self.next_arrival(index);
        }
        if user.leaving {
            user.exiting = true;
            user.pc = group.exit;
        } else {
            user.begin_round(group);
            let transaction = group.transactions[group.mix.draw(&mut user.random)] as usize;
            user.back = user.pc;
            user.pc = program.entries[transaction];
            self.recorder.picked(transaction, usize::from(user.group));
        }
        Flow::Next
    }

    fn rest(&mut self, index: usize) -> Flow {
        let program = self.program;
        let user = &mut self.users[index];
        let group = &program.groups[usize::from(user.group)];
        if self.open || user.leaving || (group.think.is_none() && group.pacing.is_none()) {
            return Flow::Next;
        }
        let think_ns = group
            .think
            .as_ref()
            .map_or(0, |pause| draw_ns(pause, &mut user.random));
        let mut until_ns = user.clock_ns + think_ns;
        if let Some(pacing) = &group.pacing {
            until_ns = until_ns.max(user.begun_ns + draw_ns(pacing, &mut user.random));
        }
        let pause_ns = until_ns - user.clock_ns;
        self.recorder.rest(usize::from(user.group), pause_ns);
        self.pause(index, pause_ns, State::Resting)
    }

    /// Begins a pause. The pause is measured from the end of the last step, so the intended start of the next step is
    /// exactly at the end of the pause.
    fn pause(&mut self, index: usize, pause_ns: u64, state: State) -> Flow {
        let user = &mut self.users[index];
        user.pause_ns = pause_ns;
        if pause_ns == 0 {
            user.state = state;
            self.end_pause(index);
            return Flow::Next;
        }
        user.state = state;
        self.wheel.insert(index as u32, user.clock_ns + pause_ns);
        Flow::Wait
    }

    /// Ends the pause of a user, and sets the user's clock to the intended end of the pause.
    pub(super) fn end_pause(&mut self, index: usize) {
        let user = &mut self.users[index];
        user.clock_ns += user.pause_ns;
        if user.state == State::Thinking {
            user.thought_ns += user.pause_ns;
            user.page_pending_ns += user.pause_ns;
        }
        self.recorder.think(user.pause_ns);
    }

    /// Fails the current transaction. If there is none, the user continues.
    pub(super) fn fail(&mut self, index: usize, failure: Failure) {
        let user = &mut self.users[index];
        if user.transaction == NONE {
            user.page_failure.get_or_insert(failure);
            return;
        }
        if user.page != NONE {
            self.end_page(index, Some(failure));
        }
        self.end_transaction(index, Err(failure));
    }

    fn end_page(&mut self, index: usize, failure: Option<Failure>) {
        let user = &mut self.users[index];
        let page = std::mem::replace(&mut user.page, NONE);
        let failure = failure.or(user.page_failure.take());
        if let Some(begun_ns) = user.page_begun_ns {
            let spent_ns = user
                .page_end_ns
                .saturating_sub(begun_ns + user.page_thought_ns);
            self.recorder
                .page(page as usize, failure.map_or(Ok(()), Err), spent_ns);
        }
    }

    fn end_transaction(&mut self, index: usize, result: Result<(), Failure>) {
        let user = &mut self.users[index];
        let transaction = std::mem::replace(&mut user.transaction, NONE);
        user.pc = user.back;
        let spent_ns = user
            .clock_ns
            .saturating_sub(user.begun_ns + user.thought_ns);
        self.recorder.transaction(
            transaction as usize,
            usize::from(user.group),
            result,
            spent_ns,
        );
        let rank = user.rank as usize;
        let mut first = 0;
        for places in self.targets.iter().map(TargetState::places) {
            if places > 0 {
                self.recorder
                    .at_place(first + rank % places, result.is_ok());
                first += places;
            }
        }
        if result.is_err() {
            self.undo_sessions(index);
        }
    }
}

fn choose(length: usize, pick: Pick, random: &mut Random) -> Option<usize> {
    match pick {
        _ if length == 0 => None,
        Pick::First => Some(0),
        Pick::Last => Some(length - 1),
        Pick::Random => Some(random.below(length as u64) as usize),
    }
}

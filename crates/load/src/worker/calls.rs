//! Passes driver calls to the executor of this load thread, and ends them when the executor returns the results.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use towtank_drivers::{Call, Done, Failed, FailureKind, Meter, Orders, monotonic_ns};

use crate::outcome::Failure;
use crate::recorder;
use crate::template::Context;

use super::Worker;
use super::connections::Ownership;
use super::reasons::Reason;
use super::user::{NONE, Phase, State};

/// Flag in [`super::user::Exchange::request`]. If it is set, the lower bits are the number of a driver call instead of
/// a request.
pub(super) const CALL: u32 = 1 << 31;

pub(super) fn kind_of(failed: &Failed) -> Failure {
    match failed.kind {
        FailureKind::Connect => Failure::Connect,
        FailureKind::Closed => Failure::Closed,
        FailureKind::Protocol => Failure::Protocol,
        FailureKind::Refused => Failure::Refused,
        FailureKind::Internal => Failure::Internal,
    }
}

impl Worker<'_> {
    /// Starts the call of a user as far as possible without waiting.
    pub(super) fn begin_call(&mut self, index: usize, call: u32) {
        let now_ns = self.tick();
        let plan = &self.program.calls[call as usize];
        let exchange = self.take_exchange();
        let user = &mut self.users[index];
        let intended_ns = user.clock_ns;
        user.note_exchange(intended_ns);
        user.exchange = exchange as u32;
        user.state = State::Exchanging;
        self.recorder.offered(plan.step);
        self.recorder.begun(plan.step);
        let entry = &mut self.exchanges[exchange];
        (entry.user, entry.request, entry.connection) = (index as u32, call | CALL, NONE);
        (entry.intended_ns, entry.started_ns, entry.first_byte_ns) = (intended_ns, now_ns, None);
        (entry.bytes_in, entry.bytes_out, entry.sent_again) = (0, 0, 0);
        if plan.note.is_some() {
            self.note_call_begin(exchange);
        }
        self.set_deadline(exchange, now_ns + plan.timeout_ns);
        self.launch_call(exchange, plan.target, now_ns);
    }

    fn launch_call(&mut self, exchange: usize, target: usize, now_ns: u64) {
        let user = self.exchanges[exchange].user as usize;
        let Some(calls) = &mut self.calls else { return };
        let Some(column) = calls.columns[target] else {
            return;
        };
        let pooled = matches!(calls.ownership, Ownership::Pool(_));
        let Some(place) = calls.place_for(user, column) else {
            self.tickets += 1;
            self.exchanges[exchange].ticket = self.tickets;
            calls.pools[column].wait(exchange as u32, self.tickets);
            return;
        };
        if pooled {
            self.recorder.connection_wait(0);
        }
        self.hand_over(exchange, place, now_ns);
    }

    /// Passes a call to the executor, which executes it in the session with index `place`.
    fn hand_over(&mut self, exchange: usize, place: usize, now_ns: u64) {
        let entry = &mut self.exchanges[exchange];
        entry.connection = place as u32;
        let number = entry.request & !CALL;
        let call = &self.program.calls[number as usize];
        let user = &mut self.users[entry.user as usize];
        let Some(calls) = &mut self.calls else { return };
        let mut context = Context {
            memory: &mut user.memory,
            random: &mut user.random,
            user: user.number,
            iteration: user.iteration,
        };
        let mut values = calls.spare.pop().unwrap_or_default();
        call.render(&mut values, &mut context);
        let session = &mut calls.sessions[place];
        if !session.is_open {
            let target = &mut self.targets[call.target];
            session.location = target.session_turn(user.rank, |count| user.random.below(count));
        }
        session.handed_ns = now_ns;
        session.left_ns.store(0, Ordering::Relaxed);
        let left_ns = Arc::clone(&session.left_ns);
        let state = &mut calls.places[place];
        state.generation = state.generation.wrapping_add(1);
        (state.phase, state.exchange) = (Phase::Busy, exchange as u32);
        let timeout_ns = entry.deadline_ns.saturating_sub(now_ns);
        let handed = Call {
            generation: state.generation,
            task: number,
            location: session.location,
            values,
            left_ns,
            timeout_ns,
            is_single: calls.ownership == Ownership::NewEachTime,
        };
        calls.order(place, Orders::Call(handed));
        if calls.executor.is_opening(place as u32) {
            let give_up_ns = (now_ns + calls.connect_timeout_ns).min(now_ns + timeout_ns);
            self.set_deadline(exchange, give_up_ns);
        }
    }

    /// Ends the calls that the executor has returned.
    pub(super) fn take_calls(&mut self) {
        let Some(calls) = &mut self.calls else { return };
        calls.executor.go_on();
        let mut done = std::mem::take(&mut calls.done);
        calls.executor.take(&mut done);
        for mut ended in done.drain(..) {
            let values = std::mem::take(&mut ended.values);
            self.end_call(&ended);
            if let Some(calls) = &mut self.calls
                && values.capacity() > 0
            {
                calls.spare.push(values);
            }
        }
        if let Some(calls) = &mut self.calls {
            calls.done = done;
        }
    }

    fn end_call(&mut self, done: &Done) {
        let Some(calls) = &mut self.calls else { return };
        let place = done.place as usize;
        if calls.places[place].generation != done.generation {
            // The call has timed out before the result arrived, so the result is ignored.
            return;
        }
        let exchange = calls.places[place].exchange as usize;
        let change = calls.set_open(place, done.is_open);
        self.open_connections = self.open_connections.saturating_add_signed(change);
        calls.sessions[place].is_held = done.is_held;
        self.note_meter(exchange, &done.meter);
        if done.unasked {
            self.recorder.unasked();
        }
        if let Some(connect_ns) = done.connect_ns {
            self.recorder.connect(connect_ns);
        }
        let left_ns = self.clock.of_run_ns(done.left_ns);
        self.note_leaving(exchange, place, left_ns);
        let ended_ns = self.clock.of_run_ns(done.ended_ns);
        let result = match &done.result {
            Ok(answer) => {
                let entry = &self.exchanges[exchange];
                let call = &self.program.calls[(entry.request & !CALL) as usize];
                let user = &mut self.users[entry.user as usize];
                let mut context = Context {
                    memory: &mut user.memory,
                    random: &mut user.random,
                    user: user.number,
                    iteration: user.iteration,
                };
                let inspected = call.inspect(answer, &done.meter, &mut context);
                if let Err(fault) = inspected
                    && self.examples.lacks(call.step, fault)
                {
                    self.keep_call_example(exchange, fault, (done, answer), ended_ns);
                }
                inspected.map_err(|fault| fault.failure)
            }
            Err(failed) => {
                self.keep_refusal(exchange, failed, ended_ns);
                Err(self.note_failure(failed))
            }
        };
        self.note_call_end(exchange, result, Some(&done.result), ended_ns);
        self.finish_call(exchange, Some(place), result, ended_ns);
    }

    fn note_meter(&mut self, exchange: usize, meter: &Meter) {
        let first_byte_ns = meter
            .first_byte_ns
            .map(|first_ns| self.clock.of_run_ns(first_ns));
        let entry = &mut self.exchanges[exchange];
        entry.first_byte_ns = first_byte_ns;
        (entry.bytes_in, entry.bytes_out) = (meter.bytes_in, meter.bytes_out);
    }

    fn note_failure(&mut self, failed: &Failed) -> Failure {
        let reason = || Reason::Driver(failed.reason.clone());
        if let Some(calls) = &mut self.calls {
            match failed.kind {
                FailureKind::Connect => self.reasons.count(reason()),
                FailureKind::Refused => calls.refusals.count(reason()),
                FailureKind::Closed | FailureKind::Protocol => self.broken.count(reason()),
                FailureKind::Internal => {}
            }
        }
        kind_of(failed)
    }

    /// Sets the start of a call to the time at which its call thread began it, and records the start lag. Calls of
    /// drivers without call threads start when they are passed to the executor.
    ///
    /// The wait for a session of the pool is not start lag, as it is part of the exchange.
    fn note_leaving(&mut self, exchange: usize, place: usize, left_ns: u64) {
        let Some(calls) = &self.calls else { return };
        let handed_ns = calls.sessions[place].handed_ns;
        let entry = &mut self.exchanges[exchange];
        let target = self.program.calls[(entry.request & !CALL) as usize].target;
        if calls.executor.works(target) {
            entry.started_ns += left_ns.saturating_sub(handed_ns);
        }
        let lag_ns = entry.started_ns.saturating_sub(entry.intended_ns);
        self.recorder.lag(lag_ns);
    }

    /// Times out a call and discards its session.
    pub(super) fn time_out_call(&mut self, exchange: usize, now_ns: u64) {
        let place = self.exchanges[exchange].connection;
        if place == NONE {
            self.end_wait(exchange, now_ns);
            let entry = &self.exchanges[exchange];
            let lag_ns = entry.started_ns.saturating_sub(entry.intended_ns);
            self.recorder.lag(lag_ns);
            // The call was not assigned a session, so it has changed nothing on the server.
            self.note_call_end(exchange, Err(Failure::Connect), None, now_ns);
            self.finish_call(exchange, None, Err(Failure::Timeout), now_ns);
            return;
        }
        let place = place as usize;
        if self.end_opening(exchange, place, now_ns) {
            return;
        }
        let Some(calls) = &mut self.calls else { return };
        let meter = calls.executor.meter(place as u32);
        calls.order(place, Orders::Abandon);
        let session = &mut calls.sessions[place];
        let left_ns = session.left_ns.load(Ordering::Acquire);
        // The counter holds the time at which the call began. A call that is still being executed may write to it, so
        // the session gets a new counter.
        session.left_ns = Arc::default();
        session.is_held = false;
        let state = &mut calls.places[place];
        state.generation = state.generation.wrapping_add(1);
        let change = calls.set_open(place, false);
        self.open_connections = self.open_connections.saturating_add_signed(change);
        // If no call thread began the call, the whole time of the call is start lag.
        let left_ns = match left_ns {
            0 => now_ns,
            left_ns => self.clock.of_run_ns(left_ns),
        };
        self.note_meter(exchange, &meter);
        self.note_leaving(exchange, place, left_ns);
        self.note_call_end(exchange, Err(Failure::Timeout), None, now_ns);
        self.finish_call(exchange, Some(place), Err(Failure::Timeout), now_ns);
    }

    /// Handles a deadline that may be the time limit for opening the session.
    ///
    /// If the session is still being opened, the call fails to connect. Otherwise the time limit of the call becomes
    /// its deadline. Returns `false` if this time limit has passed, too.
    fn end_opening(&mut self, exchange: usize, place: usize, now_ns: u64) -> bool {
        let one = &self.exchanges[exchange];
        let call = &self.program.calls[(one.request & !CALL) as usize];
        let until_ns = one.started_ns + call.timeout_ns;
        let Some(calls) = &mut self.calls else {
            return false;
        };
        if !calls.executor.is_opening(place as u32) {
            let goes_on = now_ns < until_ns;
            if goes_on {
                self.set_deadline(exchange, until_ns);
            }
            return goes_on;
        }
        calls.order(place, Orders::Abandon);
        let done = Done {
            place: place as u32,
            generation: calls.places[place].generation,
            left_ns: calls.sessions[place].left_ns.load(Ordering::Acquire),
            connect_ns: None,
            unasked: false,
            meter: Meter::default(),
            ended_ns: monotonic_ns(),
            result: Err(Failed::new(
                FailureKind::Connect,
                "no session within the connect time-out",
            )),
            is_open: false,
            is_held: false,
            values: Vec::new(),
        };
        self.end_call(&done);
        true
    }

    /// Counts a call as ended and frees its exchange. The users that wait for the session of the call then continue.
    fn finish_call(
        &mut self,
        exchange: usize,
        place: Option<usize>,
        result: Result<(), Failure>,
        ended_ns: u64,
    ) {
        let entry = &self.exchanges[exchange];
        let call = &self.program.calls[(entry.request & !CALL) as usize];
        let counted = recorder::Exchange {
            result,
            status: None,
            response_ns: ended_ns.saturating_sub(entry.intended_ns),
            exchange_ns: ended_ns.saturating_sub(entry.started_ns),
            first_byte_ns: entry
                .first_byte_ns
                .map(|first_ns| first_ns.saturating_sub(entry.started_ns)),
            bytes_in: entry.bytes_in,
            bytes_out: entry.bytes_out,
        };
        self.recorder.finished(call.step, counted);
        if result == Err(Failure::Timeout) {
            self.keep_silence(call.step, Failure::Timeout, call.timeout_ns, None, ended_ns);
        }
        let entry = &self.exchanges[exchange];
        let (index, target) = (entry.user as usize, call.target);
        self.free_exchanges.push(exchange as u32);
        let user = &mut self.users[index];
        user.exchange = NONE;
        user.clock_ns = ended_ns;
        user.page_end_ns = ended_ns;
        if let Some(place) = place {
            self.release_session(index, place, target);
        }
        match result {
            Ok(()) => {
                self.run(index);
                return;
            }
            Err(_) if call.go_on => {}
            Err(failure) => self.fail(index, failure),
        }
        self.later(index);
    }

    /// Returns a session to its pool, unless the user still has an open database transaction in the session.
    fn release_session(&mut self, user: usize, place: usize, target: usize) {
        let Some(calls) = &mut self.calls else { return };
        calls.places[place].exchange = NONE;
        if !matches!(calls.ownership, Ownership::Pool(_)) {
            return;
        }
        let Some(column) = calls.columns[target] else {
            return;
        };
        if calls.sessions[place].is_held {
            calls.kept.insert((user as u32, column), place as u32);
            return;
        }
        calls.kept.remove(&(user as u32, column));
        let is_open = calls.sessions[place].is_open;
        calls.pools[column].put_back(place as u32, is_open);
        self.serve_calls(column);
    }

    /// Gives idle sessions to the users that wait for them.
    fn serve_calls(&mut self, column: usize) {
        loop {
            let now_ns = self.tick();
            let Some(calls) = &mut self.calls else { return };
            let next = calls.pools[column].serve(now_ns, &self.exchanges, &calls.places);
            let Some((exchange, place)) = next else {
                return;
            };
            self.end_wait(exchange, now_ns);
            self.hand_over(exchange, place, now_ns);
        }
    }

    /// Rolls back the open database transactions of a user whose transaction has failed.
    pub(super) fn undo_sessions(&mut self, user: usize) {
        let Some(calls) = &mut self.calls else { return };
        for column in 0..calls.targets.len() {
            let Some(calls) = &mut self.calls else { return };
            let pooled = matches!(calls.ownership, Ownership::Pool(_));
            let place = if pooled {
                calls.kept.get(&(user as u32, column)).copied()
            } else {
                Some(calls.own_place(user, column) as u32)
            };
            let Some(place) = place.map(|place| place as usize) else {
                continue;
            };
            if !std::mem::take(&mut calls.sessions[place].is_held) {
                continue;
            }
            if calls.ownership == Ownership::NewEachTime {
                self.close_session(place);
                continue;
            }
            calls.order(place, Orders::Reset);
            if pooled {
                let target = calls.targets[column];
                self.release_session(user, place, target);
            }
        }
    }

    /// Closes the sessions that belong to a user that has left.
    pub(super) fn close_sessions(&mut self, user: usize) {
        self.undo_sessions(user);
        let Some(calls) = &self.calls else { return };
        if matches!(calls.ownership, Ownership::Pool(_)) {
            return;
        }
        for column in 0..calls.targets.len() {
            let Some(calls) = &self.calls else { return };
            let place = calls.own_place(user, column);
            if calls.sessions[place].is_open {
                self.close_session(place);
            }
        }
    }

    fn close_session(&mut self, place: usize) {
        let Some(calls) = &mut self.calls else { return };
        calls.order(place, Orders::Close);
        let change = calls.set_open(place, false);
        self.open_connections = self.open_connections.saturating_add_signed(change);
    }
}

//! Keeps failed exchanges as examples. Nothing here runs while requests succeed.

use towtank_drivers::{Answer, Done, Failed};

use crate::outcome::{Failure, Fault};
use crate::template::Context;

use super::Worker;
use super::calls::{CALL, kind_of};
use super::examples::{Response, no_response, without_response};

impl Worker<'_> {
    /// Keeps a failed response as an example.
    #[cold]
    pub(super) fn keep_example(&mut self, exchange: usize, fault: Fault, now_ns: u64) {
        let program = self.program;
        let entry = &self.exchanges[exchange];
        let request = &program.requests[entry.request as usize];
        let answer = entry.scanner.answer();
        let user = &mut self.users[entry.user as usize];
        let secrets = program.secrets.values(&user.memory, &user.jar);
        // The description draws from a copy, so that keeping an example does not change what the user does next.
        let mut random = user.random.clone();
        let mut context = Context {
            memory: &mut user.memory,
            random: &mut random,
            user: user.number,
            iteration: user.iteration,
        };
        let described = request
            .inspection
            .describe(fault.unmet, answer, &mut context);
        let response = Response {
            status: Some(answer.status()),
            body: answer.body(),
            body_bytes: answer.body_bytes(),
        };
        let of = (request.step, fault);
        self.examples
            .push(now_ns, of, &described, response, &secrets);
    }

    /// Keeps a response to a call that did not meet a requirement as an example.
    #[cold]
    pub(super) fn keep_call_example(
        &mut self,
        exchange: usize,
        fault: Fault,
        (done, answer): (&Done, &Answer),
        ended_ns: u64,
    ) {
        let program = self.program;
        let entry = &self.exchanges[exchange];
        let call = &program.calls[(entry.request & !CALL) as usize];
        let user = &mut self.users[entry.user as usize];
        let secrets = program.secrets.values(&user.memory, &user.jar);
        // The description draws from a copy, so that keeping an example does not change what the user does next.
        let mut random = user.random.clone();
        let mut context = Context {
            memory: &mut user.memory,
            random: &mut random,
            user: user.number,
            iteration: user.iteration,
        };
        let described = call.describe(fault.unmet, answer, &done.meter, &mut context);
        let response = Response {
            body_bytes: done.meter.bytes_in,
            ..Response::default()
        };
        let of = (call.step, fault);
        self.examples
            .push(ended_ns, of, &described, response, &secrets);
    }

    /// Keeps a call without a response as an example, with the message of its driver.
    pub(super) fn keep_refusal(&mut self, exchange: usize, failed: &Failed, ended_ns: u64) {
        let entry = &self.exchanges[exchange];
        let call = &self.program.calls[(entry.request & !CALL) as usize];
        let reason = Some(failed.reason.clone());
        self.keep_silence(
            call.step,
            kind_of(failed),
            call.timeout_ns,
            reason,
            ended_ns,
        );
    }

    /// Keeps an exchange without a complete response as an example; `reason` is the message about it, if there is one.
    #[cold]
    pub(super) fn keep_silence(
        &mut self,
        step: usize,
        failure: Failure,
        timeout_ns: u64,
        reason: Option<String>,
        ended_ns: u64,
    ) {
        let of = (step, without_response(failure));
        if self.examples.lacks(of.0, of.1) {
            let described = no_response(failure, timeout_ns, reason);
            let secrets = self.program.secrets.literals();
            self.examples
                .push(ended_ns, of, &described, Response::default(), secrets);
        }
    }
}

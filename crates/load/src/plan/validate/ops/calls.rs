//! Checks the driver calls of a plan.

use super::{check_exchange, check_into, check_note, check_template, check_timeout};
use crate::plan::validate::Checker;
use crate::plan::{Call, CallCheck};

pub(super) fn check_call(checker: &mut Checker<'_>, place: &str, call: &Call) {
    check_exchange(checker, place, (call.step, call.target), true);
    let target = checker.plan.targets.get(call.target);
    if let Some(server) = target.and_then(|target| target.driver.as_ref())
        && let Some(message) = call.operation.fault(server, call.values.len())
    {
        checker.fault(&format!("{place}.do"), message);
    }
    for (number, value) in call.values.iter().enumerate() {
        if let Some(template) = value {
            check_template(checker, &format!("{place}.values[{number}]"), template);
        }
    }
    for (number, extract) in call.extract.iter().enumerate() {
        let place = format!("{place}.extract[{number}]");
        check_into(checker, &place, extract.into, extract.pick);
    }
    for (number, check) in call.checks.iter().enumerate() {
        check_check(checker, &format!("{place}.checks[{number}]"), check);
    }
    if let Some(note) = &call.note {
        let place = format!("{place}.note");
        check_note(checker, &place, note);
        checker.require(call.can(note.does), &format!("{place}.does"), || {
            "must be `stores` or `replaces` for `put`, `removes` for `delete`, or `reads` for a whole file"
                .to_owned()
        });
    }
    check_timeout(checker, place, call.timeout_s);
}

fn check_check(checker: &mut Checker<'_>, place: &str, check: &CallCheck) {
    match check {
        CallCheck::Rows { min, max }
        | CallCheck::Affected { min, max }
        | CallCheck::Size { min, max } => {
            checker.require(min.is_some() || max.is_some(), place, || {
                "must have `min` or `max`".to_owned()
            });
        }
        CallCheck::Value { equals, .. } => {
            if let Some(template) = equals {
                check_template(checker, place, template);
            }
        }
    }
}

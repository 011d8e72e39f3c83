//! Checks the operations of a plan, and the requests in the operations.

mod calls;

use regex::bytes::Regex;

use super::{Checker, is_header_value};
use crate::extract::JsonPath;
use crate::plan::{
    Body, Check, Count, Destination, Extract, ExtractPick, Function, MultipartPart, Note, Op, Part,
    Request, Scheme, Source, Template,
};

/// Part of a plan that contains an operation; some operations are allowed only in some parts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// `once` or `exit` of a user group.
    Group,
    /// A transaction.
    Transaction,
    /// A page.
    Page,
}

pub(super) fn check_ops(checker: &mut Checker<'_>, place: &str, ops: &[Op], around: Place) {
    for (number, op) in ops.iter().enumerate() {
        check_op(checker, &format!("{place}[{number}]"), op, around);
    }
}

fn check_op(checker: &mut Checker<'_>, place: &str, op: &Op, around: Place) {
    let plan = checker.plan;
    match op {
        Op::Transaction { transaction } => {
            checker.require(around == Place::Group, place, || {
                "`transaction` is allowed only in `once` and `exit`".to_owned()
            });
            checker.index(place, "transactions", *transaction, plan.transactions.len());
        }
        Op::Page { page, ops } => {
            checker.require(around != Place::Page, place, || {
                "a page cannot contain a page".to_owned()
            });
            checker.index(place, "pages", *page, plan.pages.len());
            check_ops(checker, &format!("{place}.ops"), ops, Place::Page);
        }
        Op::Request(request) => check_request(checker, place, request),
        Op::Call(call) => calls::check_call(checker, place, call),
        Op::Think { pause } => checker.pause(&format!("{place}.pause"), pause),
        Op::Set { variable, value } => {
            checker.index(place, "variables", *variable, plan.variables.len());
            check_template(checker, &format!("{place}.value"), value);
        }
        Op::Draw { pool, variables } => check_draw(checker, place, *pool, variables),
        Op::Push { list, value } => {
            checker.index(place, "lists", *list, plan.lists.len());
            check_template(checker, &format!("{place}.value"), value);
        }
        Op::Pop { list, variable, .. } | Op::Pick { list, variable } => {
            checker.index(place, "lists", *list, plan.lists.len());
            checker.index(place, "variables", *variable, plan.variables.len());
        }
        Op::Branch {
            percent,
            then,
            otherwise,
        } => {
            checker.require((0.0..=100.0).contains(percent), place, || {
                format!("percent must be in [0, 100], got {percent}")
            });
            check_ways(checker, place, then, otherwise, around);
        }
        Op::If {
            test,
            then,
            otherwise,
        } => {
            checker.index(place, "variables", test.variable, plan.variables.len());
            check_ways(checker, place, then, otherwise, around);
        }
        Op::Loop { count, ops } => {
            if let Count::Between(between) = count {
                checker.require(between.min <= between.max, place, || {
                    "count must have min <= max".to_owned()
                });
            }
            check_ops(checker, &format!("{place}.ops"), ops, around);
        }
    }
}

fn check_ways(
    checker: &mut Checker<'_>,
    place: &str,
    then: &[Op],
    otherwise: &[Op],
    around: Place,
) {
    check_ops(checker, &format!("{place}.then"), then, around);
    check_ops(checker, &format!("{place}.else"), otherwise, around);
}

fn check_draw(checker: &mut Checker<'_>, place: &str, pool: usize, variables: &[Option<usize>]) {
    let plan = checker.plan;
    checker.index(place, "pools", pool, plan.pools.len());
    for variable in variables.iter().flatten() {
        checker.index(place, "variables", *variable, plan.variables.len());
    }
    if let Some(pool) = plan.pools.get(pool).filter(|pool| pool.rows.is_some()) {
        checker.require(variables.len() == pool.columns.len(), place, || {
            format!(
                "must have one variable or null for each of {} columns, got {}",
                pool.columns.len(),
                variables.len()
            )
        });
    }
}

fn check_template(checker: &mut Checker<'_>, place: &str, template: &Template) {
    for (number, part) in template.iter().enumerate() {
        let place = format!("{place}[{number}]");
        match part {
            Part::Variable(part) => checker.index(
                &place,
                "variables",
                part.variable,
                checker.plan.variables.len(),
            ),
            Part::Function(Function::RandomInt { min, max }) => {
                checker.require(min <= max, &place, || "must have min <= max".to_owned());
            }
            Part::Function(Function::RandomText { bytes }) => {
                checker.require(*bytes <= 1 << 20, &place, || {
                    format!("bytes must be at most 1048576, got {bytes}")
                });
            }
            Part::Text(_) | Part::Function(_) => {}
        }
    }
}

fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
}

/// Checks that the step and the target of a request or call exist. The target must have a driver if `driven` is `true`,
/// and must not have a driver otherwise.
fn check_exchange(
    checker: &mut Checker<'_>,
    place: &str,
    (step, target): (usize, usize),
    driven: bool,
) {
    let plan = checker.plan;
    checker.index(&format!("{place}.step"), "steps", step, plan.steps.len());
    let place = format!("{place}.target");
    checker.index(&place, "targets", target, plan.targets.len());
    if let Some(target) = plan.targets.get(target) {
        let fits = (target.scheme == Scheme::Driver) == driven;
        checker.require(fits, &place, || {
            let wanted = if driven {
                "a target with a driver"
            } else {
                "a target that speaks HTTP"
            };
            format!("must be {wanted}, got {:?}", target.name)
        });
    }
}

fn check_timeout(checker: &mut Checker<'_>, place: &str, timeout_s: Option<f64>) {
    if let Some(timeout_s) = timeout_s {
        checker.require(timeout_s > 0.0, &format!("{place}.timeout_s"), || {
            format!("must be above 0, got {timeout_s}")
        });
    }
}

/// Checks the destination of an extracted value: `all` and `append` require a list.
fn check_into(checker: &mut Checker<'_>, place: &str, into: Destination, pick: ExtractPick) {
    let many = matches!(pick, ExtractPick::All | ExtractPick::Append);
    let (variables, lists) = (checker.plan.variables.len(), checker.plan.lists.len());
    let inner = format!("{place}.into");
    match into {
        Destination::Variable(index) => {
            checker.index(&inner, "variables", index, variables);
            checker.require(!many, place, || {
                "`all` and `append` require a list".to_owned()
            });
        }
        Destination::List(index) => checker.index(&inner, "lists", index, lists),
    }
}

fn check_request(checker: &mut Checker<'_>, place: &str, request: &Request) {
    check_exchange(checker, place, (request.step, request.target), false);
    checker.require(
        is_token(&request.method),
        &format!("{place}.method"),
        || format!("must be an HTTP method, got {:?}", request.method),
    );
    check_path(checker, &format!("{place}.path"), &request.path);
    for (number, (name, value)) in request.headers.iter().enumerate() {
        let place = format!("{place}.headers[{number}]");
        checker.require(is_token(name), &place, || {
            format!("must have the name of a header, got {name:?}")
        });
        let owned = ["content-length", "transfer-encoding", "connection"];
        checker.require(
            !owned.iter().any(|own| name.eq_ignore_ascii_case(own)),
            &place,
            || format!("must not be {name}: the engine sets this header"),
        );
        check_line(checker, &place, value);
    }
    if let Some(auth) = &request.auth {
        check_template(checker, &format!("{place}.auth.user"), &auth.user);
        check_template(checker, &format!("{place}.auth.password"), &auth.password);
    }
    if let Some(body) = &request.body {
        check_body(checker, &format!("{place}.body"), body);
    }
    for (number, extract) in request.extract.iter().enumerate() {
        check_extract(checker, &format!("{place}.extract[{number}]"), extract);
    }
    for (number, check) in request.checks.iter().enumerate() {
        check_check(checker, &format!("{place}.checks[{number}]"), check);
    }
    if let Some(note) = &request.note {
        check_note(checker, &format!("{place}.note"), note);
    }
    check_timeout(checker, place, request.timeout_s);
}

fn check_note(checker: &mut Checker<'_>, place: &str, note: &Note) {
    check_template(checker, &format!("{place}.key"), &note.key);
    checker.require(!note.of.is_empty(), &format!("{place}.of"), || {
        "must be the name of a kind of objects".to_owned()
    });
}

fn check_path(checker: &mut Checker<'_>, place: &str, path: &Template) {
    check_line(checker, place, path);
    let good = match path.first() {
        Some(Part::Text(text)) => text.starts_with('/'),
        Some(_) => true,
        None => false,
    };
    checker.require(good, place, || "must begin with /".to_owned());
    let blank = |part: &Part| matches!(part, Part::Text(text) if text.contains(' '));
    checker.require(!path.iter().any(blank), place, || {
        "must not have a blank: write %20".to_owned()
    });
}

/// Checks a template for line breaks, which are not allowed because its text becomes part of a single line in the head
/// of the request.
fn check_line(checker: &mut Checker<'_>, place: &str, template: &Template) {
    check_template(checker, place, template);
    let broken =
        |part: &Part| matches!(part, Part::Text(text) if !is_header_value(text.as_bytes()));
    checker.require(!template.iter().any(broken), place, || {
        "must not have a line break".to_owned()
    });
}

fn check_body(checker: &mut Checker<'_>, place: &str, body: &Body) {
    match body {
        Body::Text { template } => check_template(checker, &format!("{place}.template"), template),
        Body::File { path } => check_file(checker, place, path),
        Body::Multipart { parts } => {
            for (number, part) in parts.iter().enumerate() {
                check_part(checker, &format!("{place}.parts[{number}]"), part);
            }
        }
    }
}

fn check_part(checker: &mut Checker<'_>, place: &str, part: &MultipartPart) {
    let kinds = [
        part.content.is_some(),
        part.file.is_some(),
        part.generated.is_some(),
    ];
    checker.require(
        kinds.iter().filter(|given| **given).count() == 1,
        place,
        || "must have exactly one of `content`, `file` and `generated`".to_owned(),
    );
    if let Some(content) = &part.content {
        check_template(checker, &format!("{place}.content"), content);
    }
    if let Some(filename) = &part.filename {
        check_line(checker, &format!("{place}.filename"), filename);
    }
    if let Some(path) = &part.file {
        check_file(checker, place, path);
    }
}

fn check_file(checker: &mut Checker<'_>, place: &str, path: &str) {
    if let Err(error) = std::fs::File::open(path).and_then(|file| file.metadata()) {
        checker.fault(place, format!("{path:?} cannot be read: {error}"));
    }
}

fn check_extract(checker: &mut Checker<'_>, place: &str, extract: &Extract) {
    check_into(checker, place, extract.into, extract.pick);
    let place = format!("{place}.expression");
    match extract.from {
        Source::Json => check_json_path(checker, &place, &extract.expression),
        Source::Regex => check_regex(checker, &place, &extract.expression),
        Source::Header => checker.require(is_token(&extract.expression), &place, || {
            format!("must be the name of a header, got {:?}", extract.expression)
        }),
        Source::Status => {}
    }
}

fn check_json_path(checker: &mut Checker<'_>, place: &str, expression: &str) {
    if let Err(message) = JsonPath::parse(expression) {
        checker.fault(place, message);
    }
}

fn check_regex(checker: &mut Checker<'_>, place: &str, pattern: &str) {
    if let Err(error) = Regex::new(pattern) {
        let message = error.to_string();
        checker.fault(
            place,
            format!(
                "must be a regular expression: {}",
                message.replace('\n', " ")
            ),
        );
    }
}

fn check_check(checker: &mut Checker<'_>, place: &str, check: &Check) {
    match check {
        Check::Status { within, min, max } => {
            let bounds = min.is_some() || max.is_some();
            checker.require(within.is_some() != bounds, place, || {
                "must have either `in` or `min` and `max`".to_owned()
            });
        }
        Check::Size { min, max } => {
            checker.require(min.is_some() || max.is_some(), place, || {
                "must have `min` or `max`".to_owned()
            });
        }
        Check::Contains { text, .. } => check_template(checker, place, text),
        Check::Regex { pattern, .. } => check_regex(checker, place, pattern),
        Check::Json { expression, equals } => {
            check_json_path(checker, place, expression);
            if let Some(template) = equals {
                check_template(checker, place, template);
            }
        }
        Check::Header { name, contains } => {
            checker.require(is_token(name), place, || {
                format!("must have the name of a header, got {name:?}")
            });
            check_template(checker, place, contains);
        }
    }
}

//! Compiles the operations of a plan to instructions.

use towtank_drivers::Task;

use super::body::Files;
use super::call::Call;
use super::request::Request;
use super::{Constants, GroupCode, Instruction, Program};
use crate::cookies::{Jar, Site};
use crate::plan::{Fault, GivenCookie, Group, Op, Plan, Scheme, Target};
use crate::pools;
use crate::rng::Alias;
use crate::secrets::Secrets;
use crate::template::Text;

/// Compiles a validated plan.
///
/// # Errors
/// Faults that are found only when files are read: pools and upload files.
pub fn compile(plan: &Plan) -> Result<Program, Vec<Fault>> {
    let mut faults = Vec::new();
    let pools = pools::load(plan).unwrap_or_else(|found| {
        faults.extend(found);
        Vec::new()
    });
    let mut compiler = Compiler {
        plan,
        code: Vec::new(),
        requests: Vec::new(),
        calls: Vec::new(),
        tasks: Vec::new(),
        first_step: None,
        files: Files::default(),
        constants: Constants::default(),
        faults,
        deepest: 0,
    };
    // Loops in `once` and `exit` may contain a transaction with loops. The loops of transactions therefore have loop
    // counters after those of the groups.
    let groups: Vec<GroupCode> = plan
        .groups
        .iter()
        .map(|group| compiler.group(group))
        .collect();
    let base = compiler.deepest;
    let mut entries = Vec::with_capacity(plan.transactions.len());
    let mut first_steps = Vec::with_capacity(plan.transactions.len());
    for (index, transaction) in plan.transactions.iter().enumerate() {
        entries.push(compiler.here());
        compiler.first_step = None;
        compiler.code.push(Instruction::Begin(index as u32));
        compiler.ops(&transaction.ops, base);
        compiler.code.push(Instruction::End);
        first_steps.push(compiler.first_step);
    }
    let Compiler {
        code,
        requests,
        calls,
        tasks,
        constants,
        mut faults,
        deepest,
        ..
    } = compiler;
    faults.extend(draw_faults(plan, &pools, &code));
    if !faults.is_empty() {
        return Err(faults);
    }
    let (variables, lists) = (plan.variables.len(), plan.lists.len());
    Ok(Program {
        code,
        entries,
        first_steps,
        groups,
        requests,
        calls,
        tasks: tasks.into(),
        constants: constants.into_all(),
        pools,
        loop_slots: deepest as usize,
        variables,
        lists,
        secrets: Secrets::of(plan),
    })
}

/// Creates the initial cookie jar of the users of a group.
fn given(cookies: &[GivenCookie], targets: &[Target]) -> Jar {
    let mut jar = Jar::default();
    for each in cookies {
        let (path, name, value) = (&each.path, &each.name, &each.value);
        let target = &targets[each.target];
        let site = Site::new(&target.host, target.scheme == Scheme::Https);
        jar.give(&site, path.as_bytes(), name.as_bytes(), value.as_bytes());
    }
    jar
}

/// Checks that each operation that takes a row has as many variables as the data pool has columns. This is checked only
/// here, as the columns of a file are known only after it has been read.
fn draw_faults(plan: &Plan, pools: &[pools::Pool], code: &[Instruction]) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    for instruction in code {
        let Instruction::Draw(index, variables) = instruction else {
            continue;
        };
        let Some(pool) = pools.get(*index as usize) else {
            continue;
        };
        if pool.columns() != variables.len() {
            let place = format!("pools[{index}]");
            let name = &plan.pools[*index as usize].name;
            let (columns, given) = (pool.columns(), variables.len());
            let message = format!(
                "the pool {name:?} has {columns} columns, but a draw from it has {given} variables"
            );
            faults.push(Fault { place, message });
        }
    }
    faults.dedup();
    faults
}

struct Compiler<'a> {
    plan: &'a Plan,
    code: Vec<Instruction>,
    requests: Vec<Request>,
    calls: Vec<Call>,
    tasks: Vec<Task>,
    /// Step of the first request or call in the transaction that is being compiled.
    first_step: Option<usize>,
    files: Files,
    constants: Constants,
    faults: Vec<Fault>,
    deepest: u32,
}

impl Compiler<'_> {
    fn here(&self) -> u32 {
        self.code.len() as u32
    }

    fn group(&mut self, group: &Group) -> GroupCode {
        let start = self.here();
        self.ops(&group.once, 0);
        let mix = self.here();
        self.code
            .extend([Instruction::Mix, Instruction::Rest, Instruction::Jump(mix)]);
        let exit = self.here();
        self.ops(&group.exit, 0);
        self.code.push(Instruction::Quit);
        let weights: Vec<f64> = group.mix.iter().map(|entry| entry.weight).collect();
        GroupCode {
            start,
            exit,
            mix: Alias::new(&weights),
            transactions: group
                .mix
                .iter()
                .map(|entry| entry.transaction as u32)
                .collect(),
            think: group.think.clone(),
            pacing: group.pacing.clone(),
            given: given(&group.cookies.given, &self.plan.targets),
            cookies_kept: group.cookies.kept,
        }
    }

    fn ops(&mut self, ops: &[Op], depth: u32) {
        for op in ops {
            self.op(op, depth);
        }
    }

    fn op(&mut self, op: &Op, depth: u32) {
        match op {
            Op::Transaction { transaction } => {
                self.code.push(Instruction::Call(*transaction as u32));
            }
            Op::Page { page, ops } => {
                self.code.push(Instruction::PageBegin(*page as u32));
                self.ops(ops, depth);
                self.code.push(Instruction::PageEnd);
            }
            Op::Request(request) => self.request(request),
            Op::Call(call) => self.call(call),
            Op::Think { pause } => self.code.push(Instruction::Think(pause.clone())),
            Op::Set { variable, value } => self
                .code
                .push(Instruction::Set(*variable as u32, Text::new(value))),
            Op::Draw { pool, variables } => {
                let variables = variables
                    .iter()
                    .map(|variable| variable.map(|index| index as u32))
                    .collect();
                self.code.push(Instruction::Draw(*pool as u32, variables));
            }
            Op::Push { list, value } => self
                .code
                .push(Instruction::Push(*list as u32, Text::new(value))),
            Op::Pop {
                list,
                variable,
                pick,
            } => {
                self.code
                    .push(Instruction::Pop(*list as u32, *variable as u32, *pick));
            }
            Op::Pick { list, variable } => self
                .code
                .push(Instruction::Pick(*list as u32, *variable as u32)),
            Op::Branch {
                percent,
                then,
                otherwise,
            } => {
                let chance = percent / 100.0;
                self.ways(
                    |other| Instruction::Branch(chance, other),
                    then,
                    otherwise,
                    depth,
                );
            }
            Op::If {
                test,
                then,
                otherwise,
            } => {
                self.ways(
                    |other| Instruction::If(test.variable as u32, test.is, other),
                    then,
                    otherwise,
                    depth,
                );
            }
            Op::Loop { count, ops } => {
                let at = self.here() as usize;
                self.code.push(Instruction::Quit);
                self.ops(ops, depth + 1);
                self.code.push(Instruction::LoopEnd {
                    slot: depth,
                    begin: at as u32 + 1,
                });
                self.code[at] = Instruction::LoopBegin {
                    slot: depth,
                    count: count.clone(),
                    end: self.here(),
                };
                self.deepest = self.deepest.max(depth + 1);
            }
        }
    }

    /// Compiles two branches. If the condition does not hold, the code jumps to the second branch. The first branch
    /// ends with a jump to the code after the second branch.
    fn ways(
        &mut self,
        test: impl Fn(u32) -> Instruction,
        then: &[Op],
        otherwise: &[Op],
        depth: u32,
    ) {
        let at = self.here() as usize;
        self.code.push(Instruction::Quit);
        self.ops(then, depth);
        let over = self.here() as usize;
        self.code.push(Instruction::Quit);
        self.code[at] = test(self.here());
        self.ops(otherwise, depth);
        self.code[over] = Instruction::Jump(self.here());
    }

    fn request(&mut self, request: &crate::plan::Request) {
        let index = self.requests.len() as u32;
        self.first_step.get_or_insert(request.step);
        match Request::new(request, self.plan, &mut self.files, &mut self.constants) {
            Ok(request) => self.requests.push(request),
            Err(message) => {
                let place = format!("steps[{}]", request.step);
                self.faults.push(Fault { place, message });
            }
        }
        self.code.push(Instruction::Request(index));
    }

    fn call(&mut self, call: &crate::plan::Call) {
        let index = self.calls.len() as u32;
        self.first_step.get_or_insert(call.step);
        let (response_s, capture_bytes) = (
            self.plan.timeouts.response_s,
            self.plan.limits.capture_bytes,
        );
        let (call, task) = Call::new(call, index, response_s, capture_bytes);
        self.calls.push(call);
        self.tasks.push(task);
        self.code.push(Instruction::Drive(index));
    }
}

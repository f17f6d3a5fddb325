//! Renders the templates of a step into the request of one attempt ([`request`]) or gate ([`gate`]).

mod gate;
mod work;

pub(super) use gate::{GateInputs, gate};

use super::attempt::Attempt;
use super::caching;
use super::relied::relied;
use super::scope::RunScope;
use super::trees::tree;
use crate::attempt::{CommandsBefore, Outcome, Request};
use crate::definition::{Check, ClaimPolicy, EvidenceMode, ParamType, Step};
use crate::diagnostic::Code;
use crate::evidence::{Feedback, Record, SessionBrief};
use crate::executor::commands_before;
use crate::expression::{EvalError, Reference, Root};
use crate::plan::{Plan, PlanStep};
use crate::redaction::Redactor;
use crate::run::{InstanceIx, State};
use crate::value::{Failure, Json, JsonMap, OutcomeKind};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use work::work;

/// The inputs of an attempt that are not in the definition.
pub(super) struct AttemptInputs {
    pub(super) work: Attempt,
    pub(super) feedback: Option<Arc<Feedback>>,
    pub(super) history: Vec<Record>,
    pub(super) task_files: Arc<JsonMap>,
    /// Whether no call of the iteration is recorded yet.
    pub(super) is_fresh: bool,
    /// What earlier steps left behind.
    pub(super) session: Option<Arc<SessionBrief>>,
}

/// Names and references of the secrets that an attempt or gate of the step reads.
pub(super) fn secrets(plan: &Plan, params: &Json, step: &Step) -> BTreeSet<String> {
    let playbook = plan.playbook();
    let mut read: Vec<&Reference> = Vec::new();
    let env = playbook.env.iter().chain(&step.details().env);
    read.extend(env.flat_map(|(_, template)| template.references()));
    read.extend(step.details().input.iter().flat_map(|input| input.references()));
    read.extend(step.kind.references().into_iter().flatten());
    let named = read.into_iter().filter_map(|reference| match &reference.root {
        Root::Secret(name) => Some(name.to_string()),
        Root::Param(name) => {
            let declared = playbook.params.iter().find(|param| *param.name == **name)?;
            let reference = params.get(&**name).filter(|_| declared.kind == ParamType::Secret)?;
            reference.as_str().map(str::to_owned)
        }
        Root::Step(_)
        | Root::Params
        | Root::Run
        | Root::Env(_)
        | Root::Item
        | Root::Index
        | Root::Loop => None,
    });
    named.collect()
}

/// The request of an attempt. An error is the failure of the attempt.
pub(super) fn request(scope: &RunScope<'_>, inputs: AttemptInputs) -> Result<Request, EvalError> {
    let ix = inputs.work.instance;
    let planned = scope.plan.step(scope.state.instance(ix).step);
    let step = &planned.step;
    Ok(Request {
        run: scope.run.clone(),
        instance: scope.state.key(scope.plan, ix),
        iteration: inputs.work.iteration,
        attempt: inputs.work.attempt,
        pass: scope.state.instance(ix).pass(),
        work: work(scope, planned, &inputs)?,
        timeout: attempt_timeout(scope.plan, scope.state, ix),
        idle: step.details().timeout.idle,
        env: env(scope, step)?,
        cwd: cwd(scope, step)?,
        evidence: takes_evidence(step),
        tree: tree(scope, ix).map(Box::new),
        before: if inputs.is_fresh { before(scope, planned) } else { None },
        relied: if inputs.is_fresh { relied(scope, ix) } else { Vec::new() },
        cache: caching::request(scope, step, inputs.work, &inputs.history)?.map(Box::new),
    })
}

/// The commands of checks that run before the step.
fn before(scope: &RunScope<'_>, planned: &PlanStep) -> Option<Box<CommandsBefore>> {
    let commands = commands_before(planned.step.checks(), scope);
    let sandboxed = planned.specialist.as_ref().map(|specialist| specialist.network);
    (!commands.is_empty()).then(|| Box::new(CommandsBefore { commands, sandboxed }))
}

/// The timeout of the step; for specialist steps without one, the timeout of the specialist.
pub(super) fn attempt_timeout(plan: &Plan, state: &State, ix: InstanceIx) -> Option<Duration> {
    let own = plan.step(state.instance(ix).step).step.details().timeout.attempt;
    own.or_else(|| state.specialist(plan, ix).map(|specialist| specialist.limits.timeout))
}

/// Environment of the playbook and the step. The step overrides the playbook.
fn env(scope: &RunScope<'_>, step: &Step) -> Result<Vec<(String, String)>, EvalError> {
    let mut rendered: Vec<(String, String)> = Vec::new();
    for (name, template) in scope.plan.playbook().env.iter().chain(&step.details().env) {
        let value = template.render(scope)?;
        rendered.retain(|(known, _)| known != name);
        rendered.push((name.clone(), value));
    }
    Ok(rendered)
}

fn cwd(scope: &RunScope<'_>, step: &Step) -> Result<String, EvalError> {
    step.details().cwd.as_ref().map_or(Ok(String::new()), |cwd| cwd.render(scope))
}

/// Whether file changes are recorded: for specialists, and for steps whose checks read changes.
fn takes_evidence(step: &Step) -> bool {
    // The files that a step changes belong to its stored result, unless it declares them.
    let stores_changes =
        || step.details().cache.as_ref().is_some_and(|cache| cache.outputs.is_empty());
    let reads_changes = || {
        step.verify().is_some_and(|verify| {
            verify.claims != ClaimPolicy::None || verify.checks.iter().any(Check::reads_changes)
        })
    };
    match step.details().evidence {
        Some(mode) => mode == EvidenceMode::Full,
        None => step.kind.is_specialist() || stores_changes() || reads_changes(),
    }
}

/// Checks the output of a step against its `output.schema`. Specialists check theirs themselves.
pub(super) fn check_output(step: &Step, outcome: Outcome, redactor: &Redactor) -> Outcome {
    let Some(schema) =
        step.details().output_schema.as_ref().filter(|_| outcome.kind == OutcomeKind::Ok)
    else {
        return outcome;
    };
    let masked = |text: &str| redactor.mask_text(text).into_owned();
    let violations = outcome.output.as_ref().map(|o| schema.violations_shown(o, &masked));
    let violations = violations.unwrap_or_default();
    if violations.is_empty() || step.kind.is_specialist() {
        return outcome;
    }
    let lines = violations.iter().map(|v| format!("output{}: {}", v.pointer, v.message));
    let message =
        format!("the output does not match its schema: {}", lines.collect::<Vec<_>>().join("; "));
    let failure = Failure::new(Code::OUTPUT_INVALID, message);
    Outcome { kind: OutcomeKind::ValidationFailed, output: None, failure: Some(failure), ..outcome }
}

//! The request of a gate, with the values that its checks read and the subject of its judge.

use super::values::{attempt_timeout, cwd, env};
use super::work::{chosen_specialist, rendered_task};
use crate::engine::attempt::Attempt;
use crate::engine::known::LiveKnown;
use crate::engine::payloads::journal_failure;
use crate::engine::scope::{RunScope, Snapshot};
use crate::engine::trees::tree;
use kb_attempt::{GateOf, GateRequest, JudgeSubject, Received};
use kb_base::value::{Json, JsonMap, Timestamp, json_strings};
use kb_core::evidence::{Invocation, Payload, Purpose, Record, SessionBrief};
use kb_core::verify::{AskedWork, EarlierStep};
use kb_language::definition::{Check, ClaimPolicy, EvidenceMode, Step, StepKind, TaskText, Verify};
use kb_language::expression::{EvalError, Reference, Root};
use kb_language::plan::Plan;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The inputs of a gate that are not in the definition.
pub(in crate::engine) struct GateInputs<'a> {
    pub(in crate::engine) work: Attempt,
    /// The last sign of life of a process that was killed while it executed the gate.
    pub(in crate::engine) killed: Option<Timestamp>,
    pub(in crate::engine) output: Arc<Json>,
    pub(in crate::engine) trace: Vec<Invocation>,
    /// The records since the end of the attempt.
    pub(in crate::engine) records: Vec<Record>,
    /// The results of the calls of the step.
    pub(in crate::engine) results: BTreeMap<String, Payload>,
    /// What earlier steps left behind.
    pub(in crate::engine) session: Option<Arc<SessionBrief>>,
    pub(in crate::engine) task_files: &'a JsonMap,
    /// What specialists changed in earlier steps.
    pub(in crate::engine) earlier: Vec<EarlierStep>,
    /// What is known of the run.
    pub(in crate::engine) known: &'a LiveKnown,
    pub(in crate::engine) plan: &'a Arc<Plan>,
}

/// The request of a gate, with the values that its checks read.
pub(in crate::engine) fn gate(
    scope: &RunScope<'_>,
    inputs: GateInputs<'_>,
) -> Result<(GateRequest, Snapshot), EvalError> {
    let task = task(scope, &inputs)?;
    let received = received(scope, &inputs, task.as_deref())?.map(Arc::new);
    let judged = received.as_deref().and_then(|received| judged(scope, &inputs, received));
    let GateInputs {
        work: Attempt { instance: ix, .. },
        output,
        trace,
        known,
        plan,
        killed,
        earlier,
        ..
    } = inputs;
    let planned = scope.plan.step(scope.state.instance(ix).step);
    let step = &planned.step;
    let writes = scope.state.specialist(scope.plan, ix).is_some_and(|s| s.writes_itself());
    let is_specialist = planned.specialist.is_some();
    let (checks, claims, expect_changes) = match (step.kind.checks(), step.verify()) {
        (Some(checks), _) => (checks.to_vec(), ClaimPolicy::None, false),
        (None, Some(verify)) => (
            verify.checks.clone(),
            verify.claims,
            verify.expect_changes.unwrap_or(writes && claims_count(verify)),
        ),
        (None, None) if is_specialist => (Vec::new(), ClaimPolicy::Strict, writes),
        (None, None) => (Vec::new(), ClaimPolicy::None, false),
    };
    let asked = task.filter(|_| expect_changes).map(|task| AskedWork::of(&task));
    let references: Vec<Reference> = checks.iter().flat_map(references).collect();
    let excused = excused(step, &references);
    let snapshot = Snapshot::of(&references, scope);
    let (run, instance) = (scope.run.clone(), scope.state.key(scope.plan, ix));
    let of = GateOf { run, instance, killed };
    let request = GateRequest {
        of: Some(Box::new(of)),
        checks,
        claims,
        expect_changes,
        changes_declared: step
            .verify()
            .as_ref()
            .is_some_and(|own| own.expect_changes == Some(true)),
        after_refuted: scope.state.instance(ix).was_refuted(),
        output,
        output_schema: step.details().output_schema.clone(),
        excused,
        asked: asked.unwrap_or_default(),
        earlier,
        unwatched: is_unwatched(step, &trace),
        trace,
        env: env(scope, step)?,
        cwd: cwd(scope, step)?,
        tree: tree(scope, ix).map(Box::new),
        tools: scope.plan.tools().clone(),
        sandboxed: planned.specialist.as_ref().map(|specialist| specialist.network),
        confined: known.confined(plan, scope.state.instance(ix).step),
        timeout: attempt_timeout(scope.plan, scope.state, ix),
        judged,
        received,
    };
    Ok((request, snapshot))
}

/// The keys of the output that the step calls commentary, and those that one of its checks reads.
fn excused(step: &Step, references: &[Reference]) -> Vec<String> {
    let commentary = step.verify().map(|verify| verify.commentary.clone()).unwrap_or_default();
    let read =
        references.iter().filter_map(|reference| match (&reference.root, &*reference.path()) {
            (Root::Step(id), ["output", key, ..]) if *id == step.id => Some((*key).to_owned()),
            _ => None,
        });
    let mut keys: Vec<String> = commentary.into_iter().chain(read).collect();
    keys.sort();
    keys.dedup();
    keys
}

/// Most bytes of results that a gate loads.
const RESULTS: u64 = 16 << 20;

/// The task of the specialist of a step.
fn task(scope: &RunScope<'_>, inputs: &GateInputs<'_>) -> Result<Option<String>, EvalError> {
    let step = &scope.plan.step(scope.state.instance(inputs.work.instance).step).step;
    let StepKind::Specialist(own) = &step.kind else { return Ok(None) };
    let input = input(scope, step)?;
    let (task, _) = rendered_task(scope, own.task.as_ref(), input.as_ref(), inputs.task_files)?;
    Ok(Some(task))
}

/// The task of a step, as far as its values exist.
pub(in crate::engine) fn preview_of_task(
    scope: &RunScope<'_>,
    step: &Step,
    task_files: &JsonMap,
) -> String {
    let StepKind::Specialist(own) = &step.kind else { return String::new() };
    match &own.task {
        Some(TaskText::Inline(template)) => template.preview(scope).0,
        Some(TaskText::File { .. }) | None => {
            let input = input(scope, step).ok().flatten();
            let task = rendered_task(scope, own.task.as_ref(), input.as_ref(), task_files);
            task.map_or(String::new(), |(text, _)| text)
        }
    }
}

fn input(scope: &RunScope<'_>, step: &Step) -> Result<Option<Json>, EvalError> {
    step.details().input.as_ref().map(|input| input.evaluate(scope)).transpose()
}

/// What the specialist of a step received, if the names in its answer are looked up or a judge reads it.
fn received(
    scope: &RunScope<'_>,
    inputs: &GateInputs<'_>,
    task: Option<&str>,
) -> Result<Option<Received>, EvalError> {
    let ix = inputs.work.instance;
    let planned = scope.plan.step(scope.state.instance(ix).step);
    let Some(task) = task.map(str::to_owned) else { return Ok(None) };
    let Some(specialist) = scope.state.specialist(scope.plan, ix) else { return Ok(None) };
    let counts = planned.step.verify().is_none_or(claims_count);
    let looks_up = counts && !specialist.writes_itself();
    if !looks_up && planned.step.judge().is_none() {
        return Ok(None);
    }
    let input = input(scope, &planned.step)?;
    let own = [
        Some(&specialist.role),
        specialist.static_context.as_ref(),
        specialist.capability.as_ref().and_then(|own| own.prompt.as_ref()),
    ];
    let examples = specialist.examples.iter().flat_map(|e| [&e.task, &e.approach, &e.outcome]);
    let own = own.into_iter().flatten().chain(&specialist.constraints).chain(examples).cloned();
    let values = input.into_iter().chain([Json::clone(scope.params)]);
    let session = inputs.session.iter().flat_map(|session| {
        let facts = session.state.verified_facts.iter().map(|fact| fact.text.clone());
        let artifacts = session.artifacts.iter().map(|(_, content)| json_strings(content));
        facts.chain(artifacts).chain([session.state.to_text(None)]).collect::<Vec<_>>()
    });
    let told = own.chain(values.map(|value| json_strings(&value))).chain(session).collect();
    let (mut results, mut bytes) = (BTreeMap::new(), 0);
    for (id, payload) in &inputs.results {
        bytes += if let Payload::Blob { bytes, .. } = payload { *bytes } else { 0 };
        if bytes > RESULTS {
            break;
        }
        results.insert(id.clone(), scope.payloads.load(payload).map_err(journal_failure)?);
    }
    let is_known = |call: &Invocation| !call.is_tool_call() || results.contains_key(&call.id);
    let all_results = inputs.trace.iter().all(is_known);
    Ok(Some(Received { looks_up, task, told, results, all_results }))
}

/// What the judge of a gate needs to know; `None` without a `judge` check.
fn judged(
    scope: &RunScope<'_>,
    inputs: &GateInputs<'_>,
    received: &Received,
) -> Option<Box<JudgeSubject>> {
    let Attempt { instance: ix, iteration, attempt } = inputs.work;
    scope.plan.step(scope.state.instance(ix).step).step.judge()?;
    let specialist = chosen_specialist(scope.plan, scope.state, ix)?;
    Some(Box::new(JudgeSubject {
        run: scope.run.clone(),
        instance: scope.state.key(scope.plan, ix),
        iteration,
        attempt,
        task: received.task.clone(),
        tier: specialist.model.tier,
        params: scope.params.clone(),
        records: inputs.records.clone(),
    }))
}

/// Whether a command of the step ran without a record of its changes, because the definition says so.
fn is_unwatched(step: &Step, trace: &[Invocation]) -> bool {
    let ran = |call: &Invocation| {
        let process = call.process.as_ref().filter(|_| call.purpose == Purpose::Execution);
        process.is_some_and(|process| !process.watched)
    };
    let is_off = step.details().evidence == Some(EvidenceMode::None);
    is_off && (matches!(step.kind, StepKind::Run(_)) || trace.iter().any(ran))
}

fn claims_count(verify: &Verify) -> bool {
    verify.claims != ClaimPolicy::None
}

fn references(check: &Check) -> Vec<Reference> {
    check.references().into_iter().flatten().cloned().collect()
}

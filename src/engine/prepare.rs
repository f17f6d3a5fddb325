//! Renders the templates of a step into the request of one attempt or gate.

use super::attempt::Attempt;
use super::caching;
use super::relied::relied;
use super::scope::{RunScope, Snapshot};
use super::session_reader;
use super::trees::tree;
use crate::attempt::{
    Argument, ChildWork, CommandLine, CommandsBefore, HttpWork, Outcome, PreviousChild, Request,
    SpecialistWork, StepWork,
};
use crate::definition::{
    Check, ClaimPolicy, EvidenceMode, HttpStep, ModelChoice, ParamType, PlaybookStep, RunCommand,
    Specialist, Step, StepKind, TaskText, Verify, refuse_options,
};
use crate::diagnostic::Code;
use crate::evidence::{Feedback, Invocation, Record, SessionBrief};
use crate::executor::{GateRequest, JudgeSubject, commands_before};
use crate::expression::{EvalError, Reference, Root, Template, ValueTemplate};
use crate::plan::{Plan, PlanStep};
use crate::redaction::Redactor;
use crate::run::{ChildLinkState, InstanceIx, State};
use crate::value::{Failure, Json, JsonMap, OutcomeKind, json_text};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

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

/// The inputs of a gate that are not in the definition.
pub(super) struct GateInputs<'a> {
    pub(super) work: Attempt,
    pub(super) output: Arc<Json>,
    pub(super) trace: Vec<Invocation>,
    /// The records since the end of the attempt.
    pub(super) records: Vec<Record>,
    pub(super) task_files: &'a JsonMap,
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

/// The specialist of an attempt, with the tier that recovery chose for it.
fn chosen_specialist(plan: &Plan, state: &State, ix: InstanceIx) -> Option<Arc<Specialist>> {
    let specialist = state.specialist(plan, ix)?;
    let Some(tier) = state.instance(ix).variation().tier else { return Some(specialist.clone()) };
    let model = ModelChoice { tier, model: None, ..specialist.model.clone() };
    Some(Arc::new(Specialist { model, ..(**specialist).clone() }))
}

fn work(
    scope: &RunScope<'_>,
    planned: &PlanStep,
    inputs: &AttemptInputs,
) -> Result<StepWork, EvalError> {
    let step = &planned.step;
    Ok(match &step.kind {
        StepKind::Specialist(step) => specialist(scope, planned, step.task.as_ref(), inputs)?,
        StepKind::Run(run) => {
            let command = match &run.command {
                RunCommand::Shell(script) => CommandLine::Shell(script.to_string()),
                RunCommand::Argv(words) => {
                    let word = |word: &Template| {
                        let computed = word.as_literal().is_none();
                        Ok(Argument { text: word.render(scope)?, computed })
                    };
                    let found: Vec<Argument> =
                        words.iter().map(word).collect::<Result<_, EvalError>>()?;
                    let starts = words.iter().map(Template::starts_with_value);
                    refuse_options(found.iter().map(|word| word.text.as_str()).zip(starts))?;
                    CommandLine::Argv(found)
                }
            };
            StepWork::Run { command, parse: run.parse }
        }
        StepKind::Tool(call) => {
            let args =
                step.details().input.as_ref().map(|input| input.evaluate(scope)).transpose()?;
            if let (Some(input), Some(args)) = (&step.details().input, &args) {
                refuse_tool_options(input, args)?;
            }
            StepWork::Tool {
                tool: call.tool.clone(),
                args: args.unwrap_or_else(|| Json::Object(JsonMap::new())),
            }
        }
        StepKind::Http(http) => request_of(scope, http)?,
        StepKind::Playbook(call) => child(scope, call, inputs.work.instance)?,
        StepKind::Set(_)
        | StepKind::Gate(_)
        | StepKind::Ask(_)
        | StepKind::Approve(_)
        | StepKind::Wait(_) => {
            let message = format!("a `{}` step has nothing to execute", step.kind.name());
            return Err(Box::new(Failure::new(Code::NOT_IMPLEMENTED, message)));
        }
    })
}

fn child(scope: &RunScope<'_>, call: &PlaybookStep, ix: InstanceIx) -> Result<StepWork, EvalError> {
    let given =
        call.with.iter().map(|given| Ok((given.name.clone(), given.value.evaluate(scope)?)));
    let params = given.collect::<Result<JsonMap, EvalError>>()?;
    let open = scope.state.instance(ix).child().filter(|link| link.state != ChildLinkState::Done);
    let previous = open.map(|link| PreviousChild {
        run: link.run.clone(),
        attempt_ended: link.state == ChildLinkState::Failed,
        reported: link.reported,
    });
    Ok(StepWork::Playbook(ChildWork { definition: call.playbook.clone(), params, previous }))
}

/// Refuses values in `argv` of a `shell:exec` step that the program would read as options.
fn refuse_tool_options(input: &ValueTemplate, args: &Json) -> Result<(), EvalError> {
    let ValueTemplate::Map(map) = input else { return Ok(()) };
    let found = map.iter().find(|(key, _)| key == "argv").map(|(_, value)| value);
    let (Some(ValueTemplate::List(words)), Some(found)) = (found, args["argv"].as_array()) else {
        return Ok(());
    };
    let starts = words.iter().map(|word| match word {
        ValueTemplate::Text(text) => text.starts_with_value(),
        _ => false,
    });
    let texts: Vec<_> = found.iter().map(json_text).collect();
    refuse_options(texts.iter().map(|text| &**text).zip(starts))
}

fn specialist(
    scope: &RunScope<'_>,
    planned: &PlanStep,
    task: Option<&TaskText>,
    inputs: &AttemptInputs,
) -> Result<StepWork, EvalError> {
    let missing = || Box::new(Failure::new(Code::ATTEMPT_FAILED, "the step has no specialist"));
    let specialist =
        chosen_specialist(scope.plan, scope.state, inputs.work.instance).ok_or_else(missing)?;
    let input =
        planned.step.details().input.as_ref().map(|input| input.evaluate(scope)).transpose()?;
    let (task, task_values) = rendered_task(scope, task, input.as_ref(), &inputs.task_files)?;
    let (task, task_values) = with_capability(&specialist, input.as_ref(), task, task_values);
    let output_schema = planned.step.details().output_schema.clone();
    let (feedback, history) = (inputs.feedback.clone(), inputs.history.clone());
    let params = scope.params.clone();
    Ok(StepWork::Specialist(SpecialistWork {
        specialist,
        task,
        task_values,
        input,
        output_schema,
        feedback,
        history,
        params,
        session: inputs.session.clone(),
        hands_over: session_reader::has_reader(
            scope.plan,
            scope.state.instance(inputs.work.instance).step,
        ),
    }))
}

/// The task of the capability in front of that of the step.
fn with_capability(
    specialist: &Specialist,
    input: Option<&Json>,
    task: String,
    values: Vec<Range<usize>>,
) -> (String, Vec<Range<usize>>) {
    let capability = specialist.capability.as_ref();
    let Some((mut text, mut ranges)) = capability.and_then(|own| own.task(input)) else {
        return (task, values);
    };
    if !task.is_empty() {
        text.push_str("\n\n");
        let start = text.len();
        ranges.extend(values.iter().map(|range| range.start + start..range.end + start));
        text.push_str(&task);
    }
    (text, ranges)
}

/// The text of a task, with the ranges of the values in it.
fn rendered_task(
    scope: &RunScope<'_>,
    task: Option<&TaskText>,
    input: Option<&Json>,
    task_files: &JsonMap,
) -> Result<(String, Vec<Range<usize>>), EvalError> {
    let text = |value: Option<&Json>| {
        let text = value.map(|value| json_text(value).to_string());
        (text.unwrap_or_default(), Vec::new())
    };
    Ok(match task {
        Some(TaskText::Inline(template)) => template.render_with_ranges(scope)?,
        Some(TaskText::File { path, .. }) => text(task_files.get(&**path)),
        None => text(input.and_then(|input| input.get("task"))),
    })
}

fn request_of(scope: &RunScope<'_>, http: &HttpStep) -> Result<StepWork, EvalError> {
    let text = |(name, template): &(String, Template)| Ok((name.clone(), template.render(scope)?));
    let headers = http.headers.iter().map(text).collect::<Result<_, EvalError>>()?;
    let query = http
        .query
        .iter()
        .map(|(name, value)| Ok((name.to_string(), json_text(&value.evaluate(scope)?))))
        .collect::<Result<_, EvalError>>()?;
    let body = http.body.as_ref().map(|body| body.evaluate(scope)).transpose()?;
    let url = http.url.render(scope)?;
    let (method, expect) = (http.method.clone(), http.expect.clone());
    Ok(StepWork::Http(HttpWork { method, expect, url, headers, query, body }))
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

/// The request of a gate, with the values that its checks read.
pub(super) fn gate(
    scope: &RunScope<'_>,
    inputs: GateInputs<'_>,
) -> Result<(GateRequest, Snapshot), EvalError> {
    let judged = judged(scope, &inputs)?;
    let GateInputs { work: Attempt { instance: ix, .. }, output, trace, .. } = inputs;
    let planned = scope.plan.step(scope.state.instance(ix).step);
    let step = &planned.step;
    let writes = scope.state.specialist(scope.plan, ix).is_some_and(|s| s.writes());
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
    let references: Vec<Reference> = checks.iter().flat_map(references).collect();
    let snapshot = Snapshot::of(&references, scope);
    let request = GateRequest {
        checks,
        claims,
        expect_changes,
        changes_declared: step
            .verify()
            .as_ref()
            .is_some_and(|own| own.expect_changes == Some(true)),
        output,
        output_schema: step.details().output_schema.clone(),
        trace,
        env: env(scope, step)?,
        cwd: cwd(scope, step)?,
        tree: tree(scope, ix).map(Box::new),
        plugins: scope.plan.plugin_schemas(),
        sandboxed: planned.specialist.as_ref().map(|specialist| specialist.network),
        timeout: attempt_timeout(scope.plan, scope.state, ix),
        judged,
    };
    Ok((request, snapshot))
}

/// What the judge of a gate needs to know; `None` without a `judge` check or without a specialist.
fn judged(
    scope: &RunScope<'_>,
    inputs: &GateInputs<'_>,
) -> Result<Option<Box<JudgeSubject>>, EvalError> {
    let Attempt { instance: ix, attempt, .. } = inputs.work;
    let planned = scope.plan.step(scope.state.instance(ix).step);
    let has_judge = planned.step.checks().iter().any(|check| matches!(check, Check::Judge(_)));
    let (true, StepKind::Specialist(step)) = (has_judge, &planned.step.kind) else {
        return Ok(None);
    };
    let Some(specialist) = chosen_specialist(scope.plan, scope.state, ix) else { return Ok(None) };
    let input =
        planned.step.details().input.as_ref().map(|input| input.evaluate(scope)).transpose()?;
    let (task, _) = rendered_task(scope, step.task.as_ref(), input.as_ref(), inputs.task_files)?;
    Ok(Some(Box::new(JudgeSubject {
        run: scope.run.clone(),
        instance: scope.state.key(scope.plan, ix),
        attempt,
        task,
        tier: specialist.model.tier,
        params: scope.params.clone(),
        records: inputs.records.clone(),
    })))
}

fn claims_count(verify: &Verify) -> bool {
    verify.claims != ClaimPolicy::None
}

fn references(check: &Check) -> Vec<Reference> {
    check.references().into_iter().flatten().cloned().collect()
}

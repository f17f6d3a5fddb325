//! The work of an attempt, by the kind of its step.

use crate::engine::attempt::Attempt;
use crate::engine::known::LiveKnown;
use crate::engine::scope::RunScope;
use crate::engine::session_reader;
use kb_attempt::{
    Argument, ChildWork, CommandLine, HttpWork, LeftChanges, PreviousChild, SpecialistWork,
    StepWork,
};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, JsonMap, json_text};
use kb_core::evidence::{Feedback, Record, SessionBrief};
use kb_core::run::{ChildLinkState, InstanceIx, State};
use kb_language::definition::{
    HttpStep, ModelChoice, PlaybookStep, RunCommand, Specialist, StepKind, TaskText, refuse_options,
};
use kb_language::expression::{EvalError, Template, ValueTemplate};
use kb_language::plan::{Plan, PlanStep};
use serde_json::json;
use std::ops::Range;
use std::sync::Arc;

/// The inputs of an attempt that are not in the definition.
pub(in crate::engine) struct AttemptInputs<'a> {
    pub(in crate::engine) work: Attempt,
    pub(in crate::engine) feedback: Option<Arc<Feedback>>,
    pub(in crate::engine) history: Vec<Record>,
    pub(in crate::engine) task_files: Arc<JsonMap>,
    /// Whether no call of the iteration is recorded yet.
    pub(in crate::engine) is_fresh: bool,
    /// What earlier steps left behind.
    pub(in crate::engine) session: Option<Arc<SessionBrief>>,
    /// What is known of the run.
    pub(in crate::engine) known: &'a LiveKnown,
    pub(in crate::engine) plan: &'a Arc<Plan>,
    /// What earlier attempts left without a record in this iteration.
    pub(in crate::engine) left: Option<LeftChanges>,
}

pub(super) fn work(
    scope: &RunScope<'_>,
    planned: &PlanStep,
    inputs: &AttemptInputs<'_>,
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
        StepKind::Playbook(call) => child(scope, planned, call, inputs)?,
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

fn child(
    scope: &RunScope<'_>,
    planned: &PlanStep,
    call: &PlaybookStep,
    inputs: &AttemptInputs<'_>,
) -> Result<StepWork, EvalError> {
    let given =
        call.with.iter().map(|given| Ok((given.name.clone(), given.value.evaluate(scope)?)));
    let params = given.collect::<Result<JsonMap, EvalError>>()?;
    let open = scope
        .state
        .instance(inputs.work.instance)
        .child()
        .filter(|link| link.state != ChildLinkState::Done);
    let previous = open.map(|link| PreviousChild {
        run: link.run.clone(),
        attempt_ended: link.state == ChildLinkState::Failed,
        reported: link.reported,
    });
    let definition = call.playbook.clone();
    let facts = inputs.known.ask(|facts| facts.of_child(inputs.plan, planned));
    let instance = inputs.work.instance;
    let parent = inputs.known.for_child(inputs.plan, scope.state.instance(instance).step, instance);
    Ok(StepWork::Playbook(ChildWork { definition, params, previous, facts, parent }))
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

/// The specialist of an attempt, with the tier that recovery chose for it.
pub(super) fn chosen_specialist(
    plan: &Plan,
    state: &State,
    ix: InstanceIx,
) -> Option<Arc<Specialist>> {
    let specialist = state.specialist(plan, ix)?;
    let Some(tier) = state.instance(ix).variation().tier else { return Some(specialist.clone()) };
    let model = ModelChoice { tier, model: None, provider: None, ..specialist.model.clone() };
    Some(Arc::new(Specialist { model, ..(**specialist).clone() }))
}

fn specialist(
    scope: &RunScope<'_>,
    planned: &PlanStep,
    task: Option<&TaskText>,
    inputs: &AttemptInputs<'_>,
) -> Result<StepWork, EvalError> {
    let missing = || Box::new(Failure::new(Code::ATTEMPT_FAILED, "the step has no specialist"));
    let specialist =
        chosen_specialist(scope.plan, scope.state, inputs.work.instance).ok_or_else(missing)?;
    let input =
        planned.step.details().input.as_ref().map(|input| input.evaluate(scope)).transpose()?;
    let own_task = task;
    let (task, task_values) = rendered_task(scope, own_task, input.as_ref(), &inputs.task_files)?;
    let (task, task_values) = with_capability(&specialist, input.as_ref(), task, task_values);
    let task_file = match own_task {
        Some(TaskText::File { path, .. }) => Some(path.clone()),
        Some(TaskText::Inline(_)) | None => None,
    };
    let output_schema = planned.step.details().output_schema.clone();
    let (feedback, history) = (inputs.feedback.clone(), inputs.history.clone());
    let params = scope.params.clone();
    Ok(StepWork::Specialist(SpecialistWork {
        specialist,
        task,
        task_values,
        task_file,
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
        judge: planned.step.judge().cloned().map(Box::new),
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
pub(super) fn rendered_task(
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
    let text =
        |(name, template): &(String, Template)| Ok((name.clone(), json!(template.render(scope)?)));
    let headers = http.headers.iter().map(text).collect::<Result<JsonMap, EvalError>>()?;
    let query = http
        .query
        .iter()
        .map(|(name, value)| Ok((name.to_string(), json!(json_text(&value.evaluate(scope)?)))))
        .collect::<Result<JsonMap, EvalError>>()?;
    let body = http.body.as_ref().map(|body| body.evaluate(scope)).transpose()?;
    let url = http.url.render(scope)?;
    let mut args = json!({"url": url, "method": http.method, "headers": headers, "query": query});
    if let Some(body) = body {
        args["body"] = body;
    }
    Ok(StepWork::Http(HttpWork { args, expect: http.expect.clone() }))
}

use super::subject::Subject;
use crate::definition::{OutputParse, Property, Schema, StepKind};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::plan::reads::Read;
use crate::plan::{PlanStep, StepIx};
use std::collections::BTreeSet;

/// What is known of a step's output before it runs.
enum Output<'a> {
    /// A schema that it is described to. A specialist's `summary` is always there.
    Schema { schema: &'a Schema, summary: bool },
    /// An object with these keys.
    Keys(Vec<&'a str>),
    /// Text, which has no keys.
    Text,
    /// A specialist of which nobody said what it hands back.
    Undescribed,
    /// Whatever comes.
    Open,
}

/// A key that a known output does not have is an error; a key of a specialist's output that nobody
/// described is a warning, one for each step that is read.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let mut undescribed_steps: BTreeSet<StepIx> = BTreeSet::new();
    let mut told: BTreeSet<(StepIx, Vec<&str>)> = BTreeSet::new();
    let mut problems = Vec::new();
    for read in subject.reads.iter().flatten().chain(&subject.outputs) {
        let Some(target) = subject.plan.find(read.step.as_str()) else { continue };
        let step = subject.plan.step(target);
        let path = read.reference.path();
        let ["output", path @ ..] = path.as_slice() else { continue };
        let Some(first) = path.first() else { continue };
        match output_of(step) {
            Output::Undescribed if *first != "summary" && !read.reference.guarded => {
                if undescribed_steps.insert(target) {
                    problems.push(undescribed(step, read, first));
                }
            }
            output => {
                if let Some(missing_key) = missing(&output, path)
                    && told.insert((target, path[..=missing_key.at].to_vec()))
                {
                    problems.push(no_such_key(step, read, path, &output, missing_key));
                }
            }
        }
    }
    problems
}

fn output_of(step: &PlanStep) -> Output<'_> {
    if step.step.for_each.is_some() {
        return Output::Open;
    }
    let own = step.step.details().output_schema.as_ref();
    let described = |schema, summary| Output::Schema { schema, summary };
    match &step.step.kind {
        StepKind::Specialist { .. } => match &step.specialist {
            Some(specialist) => {
                let declared = own.or(specialist.output_schema.as_ref());
                declared.map_or(Output::Undescribed, |schema| described(schema, true))
            }
            // One that cannot be loaded is complained about already.
            None => own.map_or(Output::Open, |schema| described(schema, true)),
        },
        _ if own.is_some() => own.map_or(Output::Open, |schema| described(schema, false)),
        StepKind::Run { parse: OutputParse::Text, .. } => Output::Text,
        StepKind::Http(_) => Output::Keys(vec!["status", "headers", "body"]),
        StepKind::Set(values) => Output::Keys(values.iter().map(|(key, _)| &**key).collect()),
        StepKind::Gate(_) => Output::Keys(vec!["verdict", "checks"]),
        StepKind::Approve(_) => Output::Keys(vec!["approved", "by", "comment"]),
        StepKind::Ask(ask) if ask.schema.is_none() => Output::Text,
        StepKind::Run { .. }
        | StepKind::Ask(_)
        | StepKind::Wait(_)
        | StepKind::Tool { .. }
        | StepKind::NotYet(_) => Output::Open,
    }
}

/// The first key of a path that is not there.
struct MissingKey<'a> {
    at: usize,
    known: Vec<&'a str>,
}

fn missing<'a>(output: &Output<'a>, path: &[&str]) -> Option<MissingKey<'a>> {
    match output {
        Output::Text => Some(MissingKey { at: 0, known: Vec::new() }),
        Output::Keys(known) if !known.contains(&path[0]) => {
            Some(MissingKey { at: 0, known: known.clone() })
        }
        Output::Schema { summary: true, .. } if path[0] == "summary" => None,
        Output::Schema { schema, .. } => missing_in(schema, path),
        Output::Keys(_) | Output::Undescribed | Output::Open => None,
    }
}

fn missing_in<'a>(schema: &'a Schema, path: &[&str]) -> Option<MissingKey<'a>> {
    let at = (0..path.len()).find(|&at| schema.property(&path[..=at]) == Property::Unknown)?;
    Some(MissingKey { at, known: if at == 0 { schema.keys() } else { Vec::new() } })
}

fn no_such_key(
    step: &PlanStep,
    read: &Read<'_>,
    path: &[&str],
    output: &Output<'_>,
    missing_key: MissingKey<'_>,
) -> Diagnostic {
    let name = path[missing_key.at];
    let parent = path[..missing_key.at]
        .iter()
        .fold(format!("{}.output", read.step), |text, key| format!("{text}.{key}"));
    let message = format!("`{parent}` has no key `{name}`");
    let problem = Diagnostic::error(Code::UNKNOWN_OUTPUT_KEY, read.reference.span, message)
        .label(step.step.span, format!("`{}` is defined here", read.step));
    if matches!(output, Output::Text) {
        return problem
            .caption("the output of this step is text")
            .help(format!("give `{}` the key `parse: json` if it prints JSON", read.step));
    }
    match nearest(name, missing_key.known.iter().copied()) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None if missing_key.known.is_empty() => {
            problem.help(format!("look at what the output schema of `{}` says", read.step))
        }
        None => problem.help(format!("it has {}", listed(&missing_key.known))),
    }
}

fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(8).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > shown.len() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn undescribed(step: &PlanStep, read: &Read<'_>, key: &str) -> Diagnostic {
    let id = &read.step;
    let message = format!("nothing says whether `{id}.output` has a key `{key}`");
    let who = step.specialist.as_ref().map_or("its specialist", |specialist| &specialist.name);
    Diagnostic::warning(Code::OUTPUT_UNDESCRIBED, read.reference.span, message)
        .label(step.step.span, format!("neither this step nor `{who}` has an `output.schema`"))
        .help(format!("add `output: {{schema: {{{key}: string}}}}` to `{id}` or to its specialist"))
}

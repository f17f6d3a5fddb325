use super::Subject;
use crate::definition::{OutputParse, Property, Schema, StepKind};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::plan::reads::Read;
use crate::plan::{PlanStep, StepIx};
use std::collections::BTreeSet;

/// What is known of a step's output before it runs.
enum Output<'a> {
    /// A schema that it is held to. A specialist's `summary` is always there.
    Schema { schema: &'a Schema, summary: bool },
    /// An object with these keys.
    Keys(Vec<&'a str>),
    /// Text, which has no keys.
    Text,
    /// A specialist of which nobody said what it hands back.
    Unsaid,
    /// Whatever comes.
    Open,
}

/// A key that a known output does not have is an error; a key of a specialist's output that nobody
/// described is a warning, one for each step that is read.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let mut unsaid: BTreeSet<StepIx> = BTreeSet::new();
    let mut told: BTreeSet<(StepIx, Vec<&str>)> = BTreeSet::new();
    let mut problems = Vec::new();
    for read in subject.reads.iter().flatten().chain(&subject.outputs) {
        let Some(target) = subject.plan.find(read.step.as_str()) else { continue };
        let step = subject.plan.step(target);
        let path = read.reference.path();
        let ["output", path @ ..] = path.as_slice() else { continue };
        let Some(first) = path.first() else { continue };
        match output_of(step) {
            Output::Unsaid if *first != "summary" && !read.reference.guarded => {
                if unsaid.insert(target) {
                    problems.push(undescribed(step, read, first));
                }
            }
            output => {
                if let Some(lacking) = missing(&output, path)
                    && told.insert((target, path[..=lacking.at].to_vec()))
                {
                    problems.push(no_such_key(step, read, path, &output, lacking));
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
    let held = |schema, summary| Output::Schema { schema, summary };
    match &step.step.kind {
        StepKind::Specialist { .. } => match &step.specialist {
            Some(specialist) => {
                let declared = own.or(specialist.output_schema.as_ref());
                declared.map_or(Output::Unsaid, |schema| held(schema, true))
            }
            // One that cannot be loaded is complained about already.
            None => own.map_or(Output::Open, |schema| held(schema, true)),
        },
        _ if own.is_some() => own.map_or(Output::Open, |schema| held(schema, false)),
        StepKind::Run { parse: OutputParse::Text, .. } => Output::Text,
        StepKind::Http(_) => Output::Keys(vec!["status", "headers", "body"]),
        StepKind::Set(values) => Output::Keys(values.iter().map(|(key, _)| &**key).collect()),
        StepKind::Gate(_) => Output::Keys(vec!["verdict", "checks"]),
        StepKind::Run { .. } | StepKind::Tool { .. } | StepKind::NotYet(_) => Output::Open,
    }
}

/// The first key of a path that is not there.
struct Lacking<'a> {
    at: usize,
    known: Vec<&'a str>,
}

fn missing<'a>(output: &Output<'a>, path: &[&str]) -> Option<Lacking<'a>> {
    match output {
        Output::Text => Some(Lacking { at: 0, known: Vec::new() }),
        Output::Keys(known) if !known.contains(&path[0]) => {
            Some(Lacking { at: 0, known: known.clone() })
        }
        Output::Schema { summary: true, .. } if path[0] == "summary" => None,
        Output::Schema { schema, .. } => missing_in(schema, path),
        Output::Keys(_) | Output::Unsaid | Output::Open => None,
    }
}

fn missing_in<'a>(schema: &'a Schema, path: &[&str]) -> Option<Lacking<'a>> {
    let at = (0..path.len()).find(|&at| schema.property(&path[..=at]) == Property::Unknown)?;
    Some(Lacking { at, known: if at == 0 { schema.keys() } else { Vec::new() } })
}

fn no_such_key(
    step: &PlanStep,
    read: &Read<'_>,
    path: &[&str],
    output: &Output<'_>,
    lacking: Lacking<'_>,
) -> Diagnostic {
    let name = path[lacking.at];
    let parent = path[..lacking.at]
        .iter()
        .fold(format!("{}.output", read.step), |text, key| format!("{text}.{key}"));
    let message = format!("`{parent}` has no key `{name}`");
    let problem = Diagnostic::error(Code::OUTPUT_KEY, read.reference.span, message)
        .label(step.step.span, format!("`{}` is defined here", read.step));
    if matches!(output, Output::Text) {
        return problem
            .caption("the output of this step is text")
            .help(format!("give `{}` the key `parse: json` if it prints JSON", read.step));
    }
    match nearest(name, lacking.known.iter().copied()) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None if lacking.known.is_empty() => {
            problem.help(format!("look at what the output schema of `{}` says", read.step))
        }
        None => problem.help(format!("it has {}", listed(&lacking.known))),
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

use crate::definition::{RunCommand, StepKind, WaitStep};
use crate::expression::{Reference, Root, ValueTemplate};
use crate::plan::PlanStep;
use crate::value::format_duration;

/// One line without control characters, runs of blanks made one, cut at `max` characters.
pub(super) fn one_line(text: &str, max: usize) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words: Vec<&str> = clean.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(max) {
        Some((cut, _)) => format!("{}…", line[..cut].trim_end()),
        None => line,
    }
}

/// Who or what does the work: the specialist, the tool, the program, the method.
pub(super) fn worker(step: &PlanStep) -> String {
    match &step.step.kind {
        StepKind::Specialist { specialist, .. } => specialist.to_string(),
        StepKind::Tool { tool, .. } => tool.to_string(),
        StepKind::Http(http) => http.method.clone(),
        StepKind::Run { command: RunCommand::Argv(words), .. } => {
            let program = words.first().and_then(|word| word.as_literal()).unwrap_or("…");
            one_line(program, 24)
        }
        StepKind::Wait(wait) => match &**wait {
            WaitStep::For(duration) => format_duration(*duration),
            WaitStep::Until(time) => {
                format!("until {}", one_line(time.as_literal().unwrap_or("…"), 24))
            }
        },
        StepKind::Run { .. }
        | StepKind::Set(_)
        | StepKind::Gate(_)
        | StepKind::Ask(_)
        | StepKind::Approve(_)
        | StepKind::NotYet(_) => String::new(),
    }
}

/// The kind and who does it: `specialist researcher`, `tool fs:write`, `set`.
pub(super) fn kind_and_worker(step: &PlanStep) -> String {
    let worker = worker(step);
    let kind = step.step.kind.name();
    if worker.is_empty() { kind.to_owned() } else { format!("{kind} {worker}") }
}

/// What a `forEach` goes over: `plan.output.files`, or how many items it lists.
pub(super) fn items(items: &ValueTemplate) -> String {
    let literal = match items {
        ValueTemplate::Literal(value) => value.as_array(),
        _ => None,
    };
    match (items.references().first(), literal) {
        (Some(reference), _) => path(reference),
        (None, Some(list)) => format!("{} items", list.len()),
        (None, None) => "a list".to_owned(),
    }
}

fn path(reference: &Reference) -> String {
    let root = match &reference.root {
        Root::Step(step) => step.to_string(),
        Root::Param(name) => name.to_string(),
        Root::Params => "params".to_owned(),
        Root::Run => "run".to_owned(),
        Root::Env(name) => format!("env.{name}"),
        Root::Secret(name) => format!("secrets.{name}"),
        Root::Item => "item".to_owned(),
        Root::Index => "index".to_owned(),
        Root::Loop => "loop".to_owned(),
    };
    reference.path().iter().fold(root, |text, key| format!("{text}.{key}"))
}

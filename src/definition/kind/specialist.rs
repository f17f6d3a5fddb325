//! `specialist:` and `agent:`: a task for an LLM specialist.

use super::spec::Kind;
use crate::definition::model::{StepKind, TaskText};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::value::SpecialistId;
use unicode_normalization::UnicodeNormalization;

pub(super) static SPECIALIST: Kind = Kind {
    is_specialist: true,
    unused_input: None,
    ..Kind::new("specialist", |node, fields, decoder, _| {
        decode("specialist", node, fields, decoder)
    })
};

pub(super) static AGENT: Kind = Kind {
    is_specialist: true,
    unused_input: None,
    ..Kind::new("agent", |node, fields, decoder, _| decode("agent", node, fields, decoder))
};

fn decode(kind: &str, node: &Node, fields: &Fields<'_>, decoder: &mut Decoder) -> Option<StepKind> {
    let id = specialist_id(kind, node, decoder);
    one_task(node, fields, decoder);
    let inline = fields.get("task").or_else(|| fields.get("prompt"));
    let task = match (inline, fields.get("taskFile")) {
        (Some(node), _) => decoder.template(node, "task", Secrets::Refused).map(TaskText::Inline),
        (None, Some(node)) => task_file(node, decoder),
        (None, None) => None,
    };
    Some(StepKind::Specialist { specialist: id?, span: node.span, task: task.map(Box::new) })
}

/// Checks that the step has exactly one task.
fn one_task(node: &Node, fields: &Fields<'_>, decoder: &mut Decoder) {
    let texts: Vec<(&str, Span)> = ["task", "prompt", "taskFile"]
        .into_iter()
        .filter_map(|key| Some((key, fields.entry(key)?.0.span)))
        .collect();
    let input_task = fields.get("input").and_then(|input| input.get("task")).map(|node| node.span);
    let two = |message: String, at: Span, other: Span| {
        Diagnostic::error(Code::TASK_TEXT, at, message)
            .label(other, "the other task")
            .help("keep one of them")
    };
    match (texts.as_slice(), input_task) {
        ([], None) => decoder.push(
            Diagnostic::error(Code::TASK_TEXT, node.span, "the specialist has no task")
                .help("add `task:`, `taskFile:`, or a `task` in `input`"),
        ),
        ([], Some(_)) | ([_], None) => {}
        ([(first, at), (second, then), ..], _) => decoder.push(two(
            format!("a step cannot have both `{first}` and `{second}`"),
            *then,
            *at,
        )),
        ([(first, at)], Some(other)) => decoder.push(two(
            format!("both `{first}` and `input.task` contain the task"),
            *at,
            other,
        )),
    }
}

/// Decodes `specialist: ID`, or `agent: PATH` of a profile.
fn specialist_id(kind: &str, node: &Node, decoder: &mut Decoder) -> Option<SpecialistId> {
    let text = decoder.text(node, kind)?;
    if text.contains("{{") || text.contains("<<") {
        decoder.push(
            Diagnostic::error(
                Code::VALUE_AS_CODE,
                node.span,
                format!("`{kind}` cannot be a placeholder"),
            )
            .help("write the id literally; to choose, use two steps with a `condition` each"),
        );
        return None;
    }
    let text: String = profile_path(text).nfc().collect();
    match SpecialistId::new(&text) {
        Ok(id) => Some(id),
        Err(error) => {
            let message = format!("`{text}` cannot be the id of a specialist");
            let help = format!("use {}", error.expected);
            decoder.push(Diagnostic::error(Code::BAD_ID, node.span, message).help(help));
            None
        }
    }
}

/// The id of a profile from its path: without `./` and `.kb/`.
pub(crate) fn profile_path(path: &str) -> &str {
    let path = path.strip_prefix("./").unwrap_or(path);
    path.strip_prefix(".kb/").unwrap_or(path)
}

fn task_file(node: &Node, decoder: &mut Decoder) -> Option<TaskText> {
    let path = decoder.text(node, "taskFile")?;
    let outside = path.starts_with('/') || path.split(['/', '\\']).any(|part| part == "..");
    if outside || path.is_empty() {
        let message = format!("`{path}` is not a path inside the project");
        let help = "write it relative to the project root".to_owned();
        decoder.bad_value(node.span, message, help);
        return None;
    }
    Some(TaskText::File { path: path.into(), span: node.span })
}

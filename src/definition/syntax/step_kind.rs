//! Decodes what a step does, by its kind key.

use super::checks::checks;
use super::templates::Secrets;
use super::waiting;
use super::{Decoder, Fields, Node};
use crate::definition::check::{argv, shell_text, tool_input, url};
use crate::definition::model::{HttpStep, NotYet, OutputParse, RunCommand, StepKind, TaskText};
use crate::diagnostic::{Code, Diagnostic, Span, nearest};
use crate::toolspec::{self, ToolMatch, allowed_by};
use crate::value::{SpecialistId, ToolName};
use unicode_normalization::UnicodeNormalization;

/// The keys of which a step has exactly one.
pub(crate) const KINDS: [&str; 11] = [
    "specialist",
    "agent",
    "run",
    "tool",
    "http",
    "playbook",
    "ask",
    "approve",
    "set",
    "wait",
    "gate",
];

/// Reads what a step does.
pub(crate) fn read(
    kind: &'static str,
    fields: &Fields<'_>,
    decoder: &mut Decoder,
    not_yet: &mut Vec<NotYet>,
) -> Option<StepKind> {
    let node = decoder.required(fields, kind, "a step")?;
    match kind {
        "specialist" | "agent" => specialist(kind, node, fields, decoder),
        "run" => run(node, fields, decoder),
        "tool" => tool(node, fields, decoder),
        "http" => http(node, decoder).map(|http| StepKind::Http(http.into())),
        "set" => Some(StepKind::Set(decoder.value_map(node, "set", Secrets::Refused))),
        "ask" => waiting::ask(node, decoder),
        "approve" => waiting::approve(node, decoder),
        "wait" => waiting::wait(node, decoder),
        "gate" => Some(StepKind::Gate(checks(node, "gate", decoder, not_yet).into())),
        _ => {
            not_built(kind, node, fields, decoder);
            let span = fields.entry(kind).map_or(node.span, |(key, _)| key.span);
            decoder.not_yet(kind, span, Some(not_yet));
            Some(StepKind::NotYet(kind))
        }
    }
}

fn specialist(
    kind: &str,
    node: &Node,
    fields: &Fields<'_>,
    decoder: &mut Decoder,
) -> Option<StepKind> {
    let id = specialist_id(kind, node, decoder);
    let texts: Vec<(&str, Span)> = ["task", "prompt", "taskFile"]
        .into_iter()
        .filter_map(|key| Some((key, fields.entry(key)?.0.span)))
        .collect();
    let input_task = fields.get("input").and_then(|input| input.get("task")).map(|node| node.span);
    match (texts.as_slice(), input_task) {
        ([], None) => {
            let message = "the specialist has no task";
            decoder.push(
                Diagnostic::error(Code::TASK_TEXT, node.span, message)
                    .help("add `task:`, `taskFile:`, or a `task` in `input`"),
            );
        }
        ([(first, at), (second, then), ..], _) => {
            let message = format!("a step cannot have both `{first}` and `{second}`");
            decoder.push(
                Diagnostic::error(Code::TASK_TEXT, *then, message)
                    .label(*at, "the other task")
                    .help("keep one of them"),
            );
        }
        ([(first, at)], Some(other)) => {
            let message = format!("both `{first}` and `input.task` contain the task");
            decoder.push(
                Diagnostic::error(Code::TASK_TEXT, *at, message)
                    .label(other, "the other task")
                    .help("keep one of them"),
            );
        }
        _ => {}
    }
    let inline = fields.get("task").or_else(|| fields.get("prompt"));
    let task = match (inline, fields.get("taskFile")) {
        (Some(node), _) => decoder.template(node, "task", Secrets::Refused).map(TaskText::Inline),
        (None, Some(node)) => task_file(node, decoder),
        (None, None) => None,
    };
    Some(StepKind::Specialist { specialist: id?, span: node.span, task: task.map(Box::new) })
}

/// `specialist: ID`, or `agent: PATH` of a profile as people write it in workflows.
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

/// A profile's path as its id: without `./` and `.kb/`.
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

fn run(node: &Node, fields: &Fields<'_>, decoder: &mut Decoder) -> Option<StepKind> {
    let choices =
        [("text", OutputParse::Text), ("json", OutputParse::Json), ("lines", OutputParse::Lines)];
    let parse = fields.get("parse").and_then(|node| decoder.one_of(node, "parse", &choices));
    let command = match node.as_seq() {
        Some(words) => RunCommand::Argv(self::words(words, node.span, decoder)?.into()),
        None if node.as_text().is_some() => {
            let text = decoder.text(node, "run")?;
            shell_text::check(text, node, decoder);
            if text.trim().is_empty() {
                decoder.bad_value(
                    node.span,
                    "the script is empty".to_owned(),
                    "write a command".to_owned(),
                );
            }
            RunCommand::Shell(text.into())
        }
        None => {
            decoder.wrong_type(
                node,
                "run",
                "a text (a shell script) or a list (a program and its arguments)",
            );
            return None;
        }
    };
    Some(StepKind::Run { command, parse: parse.unwrap_or_default() })
}

fn words(
    nodes: &[Node],
    span: Span,
    decoder: &mut Decoder,
) -> Option<Vec<crate::expression::Template>> {
    if nodes.is_empty() {
        decoder.bad_value(
            span,
            "the command is empty".to_owned(),
            "write `[program, argument]`".to_owned(),
        );
        return None;
    }
    let words: Vec<_> = nodes
        .iter()
        .filter_map(|node| decoder.scalar_template(node, "run", Secrets::Refused))
        .collect();
    if words.len() != nodes.len() {
        return None;
    }
    argv::check(&words, nodes, decoder);
    Some(words)
}

fn tool(node: &Node, fields: &Fields<'_>, decoder: &mut Decoder) -> Option<StepKind> {
    let text = decoder.text(node, "tool")?;
    if text.contains("{{") || text.contains("<<") {
        decoder.push(
            Diagnostic::error(Code::VALUE_AS_CODE, node.span, "`tool` cannot be a placeholder")
                .help("write the name of the tool literally"),
        );
        return None;
    }
    match (toolspec::find(text), allowed_by(text)) {
        (Some(tool), _) => tool_input::check(tool, node.span, fields.get("input"), decoder),
        (None, ToolMatch::NotYet) => decoder.comes_later(text, node.span),
        (None, pattern) => {
            let meant = match pattern {
                ToolMatch::Tools(tools) => tools.first().map(|tool| tool.name),
                _ => nearest(text, toolspec::names()),
            };
            decoder.unknown_tool(text, node.span, meant);
            return None;
        }
    }
    Some(StepKind::Tool { tool: ToolName::new(text).ok()?, span: node.span })
}

impl Decoder {
    pub(crate) fn unknown_tool(&mut self, text: &str, span: Span, meant: Option<&str>) {
        let help = match meant {
            Some(name) => format!("did you mean `{name}`?"),
            None => {
                let names: Vec<&str> = toolspec::names().collect();
                format!("known tools: {}", names.join(", "))
            }
        };
        self.push(
            Diagnostic::error(Code::NO_SUCH_TOOL, span, format!("unknown tool `{text}`"))
                .help(help),
        );
    }
}

fn http(node: &Node, decoder: &mut Decoder) -> Option<HttpStep> {
    const KEYS: [&str; 6] = ["method", "url", "headers", "query", "body", "expect"];
    if let Some(text) = node.as_text() {
        let message = "`http` takes a map, found a text";
        decoder.push(
            Diagnostic::error(Code::WRONG_TYPE, node.span, message)
                .help(format!("write `http: {{url: \"{text}\"}}`")),
        );
        return None;
    }
    let fields = decoder.fields(node, "`http`", &KEYS)?;
    let method = fields.get("method").and_then(|node| method(node, decoder));
    let url = decoder.required(&fields, "url", "`http`").and_then(|node| {
        let template = decoder.template(node, "url", Secrets::Refused)?;
        let text = template.as_literal().or(node.as_text()).unwrap_or_default().to_owned();
        url::check(&text, template.as_literal().is_some(), node, decoder);
        Some(template)
    });
    let headers =
        fields.get("headers").map(|n| decoder.template_map(n, "headers", Secrets::Allowed));
    let query = fields.get("query").map(|n| decoder.value_map(n, "query", Secrets::Allowed));
    let body = fields.get("body").map(|n| decoder.value_template(n, Secrets::Allowed));
    let expect = fields.get("expect").map(|node| {
        let items = decoder.list(node, "expect");
        items
            .iter()
            .filter_map(|item| decoder.integer(item, "expect", 100, 599))
            .collect::<Vec<_>>()
    });
    Some(HttpStep {
        method: method.unwrap_or_else(|| "GET".to_owned()),
        url: url?,
        headers: headers.unwrap_or_default(),
        query: query.unwrap_or_default(),
        body: match body {
            Some(body) => Some(body?),
            None => None,
        },
        expect: expect.unwrap_or_default().into_iter().map(|status| status as u16).collect(),
    })
}

fn method(node: &Node, decoder: &mut Decoder) -> Option<String> {
    const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let text = decoder.text(node, "method")?.to_ascii_uppercase();
    if METHODS.contains(&text.as_str()) {
        return Some(text);
    }
    let message = format!("`{text}` is not an HTTP method");
    decoder.bad_value(node.span, message, format!("write one of {}", METHODS.join(", ")));
    None
}

/// Kinds that are not supported yet: read for their shape, so that mistakes are found today.
fn not_built(kind: &str, node: &Node, fields: &Fields<'_>, decoder: &mut Decoder) {
    decoder.text(node, kind);
    if let Some(with) = fields.get("with") {
        decoder.value_map(with, "with", Secrets::Refused);
    }
}

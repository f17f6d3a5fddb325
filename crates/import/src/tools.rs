//! Tools of other tools, as names of the table of tools.

use super::draft::Draft;
use super::fields::words;
use kb_base::value::Json;
use kb_language::definition::{Positioned, PositionedValue};
use kb_language::toolspec::{ToolSpec, built_in};

fn names(which: impl Fn(&ToolSpec) -> bool) -> Vec<String> {
    let own = built_in().tools().filter(|tool| !tool.always_allowed && which(tool));
    own.map(|tool| tool.name.to_string()).collect()
}

/// The tools that a name of another tool, such as `Read`, stands for.
pub(super) fn named(name: &str) -> Vec<String> {
    names(|tool| tool.aliases.iter().any(|own| own == name))
}

/// The tools that only read files.
pub(super) fn readers() -> Vec<String> {
    names(|tool| tool.reads_files && tool.only_reads)
}

/// The tools that change files, without commands.
pub(super) fn writers() -> Vec<String> {
    names(|tool| tool.writes && !tool.runs_processes)
}

/// The tools that run commands.
pub(super) fn commands() -> Vec<String> {
    names(|tool| tool.runs_processes)
}

/// The tools for files and commands.
pub(super) fn all() -> Vec<String> {
    [readers(), writers(), commands()].concat()
}

/// How much of a tool a value of another tool grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grant {
    /// All of it: no value, `true`, or a list with `*`.
    Whole,
    /// A part, such as the commands of a list.
    Part,
    /// Nothing: `false` or an empty list.
    Nothing,
}

/// How much of a tool a value grants.
pub(super) fn grant(value: &Positioned) -> Grant {
    let is_any = |item: &Positioned| matches!(item.text(), Some("*" | ":*"));
    match &value.value {
        PositionedValue::Scalar(Json::Null | Json::Bool(true)) => Grant::Whole,
        PositionedValue::Scalar(Json::Bool(false)) => Grant::Nothing,
        PositionedValue::Scalar(_) if is_any(value) => Grant::Whole,
        PositionedValue::Scalar(_) => Grant::Part,
        PositionedValue::List(items) if items.is_empty() => Grant::Nothing,
        PositionedValue::List(items) if items.iter().any(is_any) => Grant::Whole,
        PositionedValue::List(_) => Grant::Part,
        PositionedValue::Map(entries) if entries.is_empty() => Grant::Whole,
        PositionedValue::Map(_) => Grant::Part,
    }
}

/// The tools for files and commands without those that a list denies. A tool that changes something and has no name
/// there, such as one that deletes files, is not granted either: what the list denies can stand for it.
pub(super) fn without(list: &Positioned, mut tools: Vec<String>, draft: &mut Draft) -> Vec<String> {
    let denied = denied(list, draft);
    let readers = readers();
    let is_named =
        |tool: &ToolSpec| tool.aliases.iter().any(|own| own.starts_with(char::is_uppercase));
    let named = names(is_named);
    if !denied.is_empty() {
        tools.retain(|tool| named.contains(tool) || readers.contains(tool));
        tools.retain(|tool| !denied.contains(tool));
    }
    tools
}

/// The tools that a list denies. A limit such as `Bash(rm:*)` has no counterpart: it denies the whole tool.
fn denied(list: &Positioned, draft: &mut Draft) -> Vec<String> {
    let mut tools = Vec::new();
    for item in list.items() {
        let words = words(item, "denied_tools", draft).unwrap_or_default();
        let (tool, limit) = words.split_once('(').unwrap_or((&words, ""));
        let tool = tool.trim();
        let is = |own: &ToolSpec| own.aliases.iter().any(|own| own.eq_ignore_ascii_case(tool));
        tools.extend(names(is));
        if !limit.is_empty() {
            let text = format!("the limit of `{words}` is not mapped: the tool is not granted");
            draft.left_out(item.line, text);
        } else if !tool.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            draft.fails(item.line, format!("the denied tools `{words}` are not mapped"));
        }
    }
    tools
}

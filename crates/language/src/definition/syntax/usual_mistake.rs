//! Helps for values and shapes that people know from other tools; `usual_key` has those for keys.

use super::{Node, Scalar, ScalarKind, Value};
use kb_base::diagnostic::foreign_word;
use kb_base::value::Json;

/// The name of a type that another name means, if it is one of the known names.
pub(super) fn of_value<'n>(
    text: &str,
    mut known: impl Iterator<Item = &'n str>,
) -> Option<&'n str> {
    let meant = foreign_word("type", &text.to_ascii_lowercase())?;
    known.find(|name| *name == meant)
}

/// The help for a value of another type than its key takes, from that type.
pub(super) fn of_type(key: &str, expected: &str) -> String {
    let value = match expected {
        "a text" => "\"text\"",
        "`true` or `false`" => "true",
        "a whole number" => "3",
        "milliseconds as a whole number" => "500",
        "a number" => "0.5",
        _ if expected.starts_with("a duration") => "90s",
        _ if expected.starts_with("one of ") => return format!("write {expected}, as a text"),
        "an expression as a text" => "\"{{STEP.output}} == 'x'\"",
        _ if expected.starts_with("a list, ") => "[a, b]",
        _ if expected.starts_with("a list") => "[…]",
        _ if expected.starts_with("a map") => "{name: value}",
        _ => return format!("write {expected}"),
    };
    let is_key = !key.contains([' ', '`']);
    match (is_key, value) {
        (true, "[…]") => format!("write {expected}, each item on a line that starts with `-`"),
        (true, _) => format!("write {expected}: `{key}: {value}`"),
        (false, _) => format!("write {expected}: `{value}`"),
    }
}

/// The pairs of a list of `NAME=VALUE`, as other tools write variables.
fn assignments(items: &[Node]) -> Option<String> {
    let pair = |item: &Node| {
        let (name, value) = item.as_text()?.split_once('=')?;
        Some(format!("{name}: {}", Json::from(value)))
    };
    let pairs: Option<Vec<String>> = items.iter().map(pair).collect();
    pairs.filter(|pairs| !pairs.is_empty()).map(|pairs| pairs.join(", "))
}

/// The help for a usual value of another type than its key takes.
pub(super) fn of_shape(node: &Node, key: &str, expected: &str) -> Option<String> {
    let is_null = node.is_null();
    let list = node.as_seq().filter(|_| expected.starts_with("a map"));
    if let Some(pairs) = list.and_then(assignments) {
        return Some(format!("write `{}: {{{pairs}}}`", key.trim_matches('`')));
    }
    // Maps are named with backticks in messages.
    match (&node.value, key.trim_matches('`')) {
        (Value::Scalar(Scalar { text, kind, .. }), _)
            if expected == "a text" && *kind != ScalarKind::Null =>
        {
            Some(format!("quote it: `\"{text}\"`"))
        }
        _ if expected == "a text" && is_null => {
            Some("write `\"\"` for an empty text, or remove the key".to_owned())
        }
        (_, "run") => Some(
            "write a script, `run: echo hello`, or a program with its arguments, `run: [echo, hello]`"
                .to_owned(),
        ),
        (Value::Map(_), "gate") => {
            Some("start each check with `-`, as in `gate: [{file: {path: report.md}}]`".to_owned())
        }
        (Value::Scalar(Scalar { text, .. }), "gate") => {
            Some(format!("write a list of checks: `gate: [{{expr: \"{text}\"}}]`"))
        }
        (_, "approve") => Some("write the question: `approve: \"Deploy to production?\"`".to_owned()),
        (_, "ask") => Some("write the question: `ask: \"Which version?\"`".to_owned()),
        (Value::Seq(_), "on") => Some(
            "name each kind once, as in `on: {schedule: {cron: \"0 9 * * 1-5\", zone: Europe/Berlin}}`"
                .to_owned(),
        ),
        (Value::Scalar(_), "on") => {
            Some("write the kind of trigger, as in `on: {schedule: \"0 9 * * 1-5\"}`".to_owned())
        }
        (Value::Map(_), "triggers") => Some(
            "`triggers` are phrases that find the playbook; a schedule is `on: {schedule: \"0 9 * * *\"}`"
                .to_owned(),
        ),
        (_, "outputs") => {
            Some("name each value, as in `outputs: {result: \"{{STEP.output}}\"}`".to_owned())
        }
        (_, "retry") => {
            let max = node.number().and_then(|_| node.to_json().as_u64()).unwrap_or(2);
            Some(format!("write `retry: {{max: {max}}}`"))
        }
        _ => None,
    }
}

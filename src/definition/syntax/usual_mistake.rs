//! Helps for keys, values and shapes that people know from other tools.

use super::{Node, Scalar, ScalarKind, Value};

/// The help for an unknown key of a map, described as in messages (`a step`).
pub(super) fn of_key(key: &str, what: &str) -> Option<String> {
    let plain = key.replace(['-', '_'], "").to_ascii_lowercase();
    match plain.as_str() {
        "continueonerror" | "allowfailure" | "ignoreerrors" => {
            Some("write `onError: continue`; the failure then does not fail the run".to_owned())
        }
        "model" | "llm" | "temperature" if what == "a step" => Some(format!(
            "`{key}` belongs to the specialist: `llm: {{model: NAME}}` in its file; `--model NAME` \
             applies to a whole run"
        )),
        _ => None,
    }
}

/// The name of a type that another name means, if it is one of the known names.
pub(super) fn of_value<'n>(
    text: &str,
    mut known: impl Iterator<Item = &'n str>,
) -> Option<&'n str> {
    let meant = match text.to_ascii_lowercase().as_str() {
        "int" | "long" => "integer",
        "bool" => "boolean",
        "str" | "text" => "string",
        "float" | "double" | "decimal" => "number",
        "array" | "sequence" => "list",
        "dict" | "map" | "json" => "object",
        "file" | "directory" => "path",
        _ => return None,
    };
    known.find(|name| *name == meant)
}

/// The help for a value of another type than its key takes.
pub(super) fn of_shape(node: &Node, key: &str, expected: &str) -> Option<String> {
    let is_null = node.is_null();
    match (&node.value, key) {
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

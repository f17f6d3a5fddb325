//! Preconditions of Dagu's steps that compare a variable with a text.

use super::draft::Draft;
use super::fields::Fields;
use super::output::Out;
use kb_language::definition::Positioned;

/// Takes `preconditions`. `known` has the values of variables. Commands and patterns are reported.
pub(super) fn condition(
    fields: &Fields<'_>,
    known: &[(String, String)],
    draft: &Draft,
) -> Option<(&'static str, Out)> {
    let all = fields.take("preconditions").or_else(|| fields.take("precondition"))?;
    let mut parts = Vec::new();
    for item in all.items() {
        match compared(item, known) {
            Some(part) => parts.push(part),
            None => draft
                .fails(item.line, "a precondition that is no variable with a text is not mapped"),
        }
    }
    (!parts.is_empty()).then(|| ("condition", parts.join(" and ").into()))
}

/// `{condition: "$NAME", expected: text}` as an expression. Dagu removes blanks around the value.
fn compared(item: &Positioned, known: &[(String, String)]) -> Option<String> {
    let keys: Vec<&str> = item.entries().iter().map(|(key, _, _)| key.as_str()).collect();
    let has_others = keys.iter().any(|key| !["condition", "expected"].contains(key));
    if has_others || keys.len() != 2 {
        return None;
    }
    let fields = Fields::ahead(item);
    let (condition, expected) = (fields.text("condition")?, fields.text("expected")?);
    if expected.starts_with("re:") || expected.contains(['$', '`', '\n']) {
        return None;
    }
    let name = condition.trim().strip_prefix('$')?;
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    let (_, value) = known.iter().rev().find(|(known, _)| known == name)?;
    Some(format!("{} | trim == {}", operand(value)?, quoted(expected.trim())))
}

/// A value as an expression: one placeholder, or a text without any.
fn operand(value: &str) -> Option<String> {
    if !value.contains(['{', '<']) {
        return Some(quoted(value));
    }
    let inner = value.strip_prefix("{{")?.strip_suffix("}}")?;
    (!inner.contains(['{', '}'])).then(|| inner.trim().to_owned())
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

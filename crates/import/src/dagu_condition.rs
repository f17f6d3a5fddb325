//! Preconditions of Dagu: an expression where they compare a value of the run with a text, and a step that checks
//! them where they execute a command or have a pattern.

use super::dagu_pattern::{extended, word};
use super::dagu_version::Dagu;
use super::draft::Draft;
use super::fields::Fields;
use super::output::Out;
use super::shell::Variables;
use super::unset::unset_variables;
use kb_language::definition::Positioned;

/// Variables that a check has without a definition.
const USUAL: [&str; 3] = ["HOME", "PATH", "PWD"];

/// The preconditions of a step or workflow.
pub(super) enum Checks {
    Expression(String),
    /// A script that prints `true` or `false`.
    Script(String),
}

/// Takes the preconditions. `known` has the values of variables. What has no counterpart is reported.
pub(super) fn checks(
    fields: &Fields<'_>,
    known: &[(String, String)],
    dagu: Dagu,
    draft: &Draft,
) -> Option<Checks> {
    let all = fields.take("preconditions").or_else(|| fields.take("precondition"))?.items();
    let parts: Option<Vec<String>> = all.iter().map(|item| compared(item, known)).collect();
    match parts {
        Some(parts) if parts.is_empty() => return None,
        Some(parts) => return Some(Checks::Expression(parts.join(" and "))),
        None => {}
    }
    let mut text = String::from("set +eu +o pipefail\n");
    for item in all {
        let check = checked(item, dagu);
        match &check {
            Some(check) => text.push_str(check),
            None => draft.fails(item.line, "this precondition is not mapped"),
        }
        let is_known = |name: &String| {
            USUAL.contains(&name.as_str()) || known.iter().any(|(known, _)| known == name)
        };
        for name in unset_variables(&check.unwrap_or_default()) {
            if name != "_value" && !is_known(&name) {
                draft.fails(item.line, format!("`${{{name}}}` in a precondition is not mapped"));
            }
        }
    }
    text.push_str("echo true\n");
    Some(Checks::Script(text))
}

/// The step that prints whether preconditions hold. `place` says when it runs.
pub(super) fn step(
    id: &str,
    script: &str,
    place: &[(&'static str, Out)],
    mut variables: Variables,
    known: &[(String, String)],
) -> Out {
    // Dagu removes blanks around an output.
    let trimmed = |value: &String| match value.strip_suffix(".output}}") {
        Some(step) => format!("{step}.output | trim}}}}"),
        None => value.clone(),
    };
    let known: Vec<(String, String)> =
        known.iter().map(|(name, value)| (name.clone(), trimmed(value))).collect();
    variables.provide(script, &known);
    let mut map: Vec<(&'static str, Out)> = vec![("id", id.into())];
    map.extend(place.iter().cloned());
    map.push(("run", script.into()));
    map.extend(variables.out().map(|env| ("env", env)));
    Out::map(map)
}

/// A precondition as it is written.
struct Written {
    condition: String,
    expected: Option<String>,
    is_negated: bool,
    /// Whether Dagu 2 executes the commands in it.
    is_evaluated: bool,
}

impl Written {
    fn of(item: &Positioned) -> Option<Written> {
        if let Some(condition) = item.words() {
            return Some(Written {
                condition,
                expected: None,
                is_negated: false,
                is_evaluated: false,
            });
        }
        let known = ["condition", "command", "eval", "expected", "negate"];
        if item.entries().iter().any(|(key, _, _)| !known.contains(&key.as_str())) {
            return None;
        }
        let fields = Fields::ahead(item);
        let is_negated = match fields.text("negate").as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => return None,
        };
        let expected = match fields.peek("expected") {
            Some(expected) => Some(expected.words()?),
            None => None,
        };
        let written = ["condition", "command"].into_iter().find_map(|key| fields.text(key));
        let is_evaluated = written.is_none();
        let condition = written.or_else(|| fields.text("eval"))?;
        if is_evaluated && expected.is_none() {
            return None;
        }
        Some(Written { condition, expected, is_negated, is_evaluated })
            .filter(|own| !own.condition.trim().is_empty())
    }
}

/// `{condition: "$NAME", expected: text}` as an expression. Lines of an output are compared one by one: that is no
/// expression.
fn compared(item: &Positioned, known: &[(String, String)]) -> Option<String> {
    let own = Written::of(item).filter(|own| !own.is_evaluated)?;
    let expected = own
        .expected
        .filter(|expected| !expected.starts_with("re:") && !expected.contains(['$', '`', '\n']))?;
    let (_, value) =
        known.iter().rev().find(|(known, _)| Some(known.as_str()) == name(&own.condition))?;
    if value.contains(".output") {
        return None;
    }
    let sign = if own.is_negated { "!=" } else { "==" };
    Some(format!("{} {sign} {}", operand(value)?, quoted(&expected)))
}

/// `$NAME` or `${NAME}`
fn name(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix('$')?;
    Some(name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name))
}

/// The part of a script that ends with `false` unless a precondition holds.
fn checked(item: &Positioned, dagu: Dagu) -> Option<String> {
    let own = Written::of(item)?;
    let ends = "{ echo false; exit 0; }\n";
    let sign = if own.is_negated { "&&" } else { "||" };
    let Some(expected) = own.expected else {
        return Some(format!("(\n{}\n) > /dev/null 2>&1 {sign} {ends}", own.condition.trim_end()));
    };
    let condition = own.condition.trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " _/.:=+,-${}".contains(c);
    let of_dollar = condition.strip_prefix("$(").and_then(|text| text.strip_suffix(')'));
    let command = condition.strip_prefix('`').and_then(|text| text.strip_suffix('`'));
    let command = command.or(of_dollar.filter(|text| own.is_evaluated && !text.contains(')')));
    if command.is_some() && dagu == Dagu::Two && !own.is_evaluated {
        return None;
    }
    let value = match command {
        Some(command) if command.contains('`') => return None,
        // Dagu does not run a step whose value fails, also if it is negated.
        Some(command) => {
            let blank = "_value=\"${_value#\"${_value%%[![:space:]]*}\"}\"\n";
            format!("_value=\"$(\n{command}\n)\" || {ends}{blank}")
        }
        None if condition.chars().all(is_plain) => format!("_value=\"{condition}\"\n"),
        None => return None,
    };
    let (kind, pattern) = match expected.strip_prefix("re:") {
        Some(pattern) => ("E", extended(pattern)?),
        None if expected.contains(['$', '`', '\n']) || expected.is_empty() => return None,
        None => ("xF", expected),
    };
    // A blank at the end of the value does not count where a command printed it.
    let trim = command.map_or("", |_| "_value=\"${_value%\"${_value##*[![:space:]]}\"}\"\n");
    let matches = format!("printf '%s\\n' \"$_value\" | grep -q{kind} -e {}", word(&pattern));
    Some(format!("{value}{trim}{matches} {sign} {ends}"))
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

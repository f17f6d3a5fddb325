//! References of Dagu 2 in shell texts, such as `${params.name}`.
//!
//! Dagu puts their values into the text before a shell reads it, so also in single quotes. Here they become
//! variables of the step, outside of single quotes. One without a counterpart is reported.

use super::draft::{Draft, literal};
use super::shell::{Quoted, Variables, is_command, quoted_after};
use super::shell_code::{as_code, is_code};

/// What Dagu resolves: the first names of its references, and those that it keeps for older files.
const NAMESPACES: [&str; 15] = [
    "consts", "context", "env", "foreach", "inputs", "params", "steps", "attempt", "dag", "paths",
    "profile", "pushback", "run", "step", "trigger",
];

/// The values that references can read.
pub(super) struct Readable<'a> {
    /// The name of the workflow.
    pub(super) workflow: &'a str,
    /// The values of its parameters.
    pub(super) params: &'a [(String, String)],
    /// The values of its constants, by their names with `consts.`.
    pub(super) consts: &'a [(String, String)],
    /// The values of the outputs of its steps, by their paths.
    pub(super) outputs: &'a [(String, String)],
    /// The name of the step that reads.
    pub(super) step: Option<&'a str>,
    /// The ids of its steps, whose results older files read as `${ID.stdout}`.
    pub(super) steps: &'a [String],
}

/// The text with variables in the place of references.
pub(super) fn resolved(
    text: &str,
    line: u32,
    readable: &Readable<'_>,
    variables: &mut Variables,
    draft: &mut Draft,
) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((at, path)) = next(rest, readable.steps) {
        out.push_str(&rest[..at]);
        let written = &rest[at..at + path.len() + 3];
        rest = &rest[at + written.len()..];
        // Dagu removes a backslash in front of a reference and keeps its text.
        let value = if out.ends_with('\\') { Value::Unknown } else { readable.value(path) };
        let variable = match value {
            // The environment of a step is that of its shell.
            Value::Variable(name) => name.to_owned(),
            Value::Known(_) | Value::Unknown => path.replace('.', "_"),
        };
        let is_run = quoted_after(&out) == Quoted::Not && is_command(&out);
        if is_run || is_code(&out, rest) {
            draft.fails(line, as_code(written));
        } else if let Value::Known(value) = value {
            variables.set(&variable, value);
        } else if let Value::Unknown = value {
            draft.fails(line, format!("`{written}` is not mapped"));
        }
        out.push_str(&match quoted_after(&out) {
            Quoted::Single => format!("'\"${{{variable}}}\"'"),
            Quoted::Not | Quoted::Double => format!("${{{variable}}}"),
        });
    }
    out.push_str(rest);
    out
}

/// What a reference reads.
enum Value<'a> {
    /// A variable that the shell of the step has.
    Variable(&'a str),
    /// A value of the run, as a template.
    Known(String),
    Unknown,
}

impl Readable<'_> {
    fn value<'a>(&self, path: &'a str) -> Value<'a> {
        match path.split('.').collect::<Vec<_>>().as_slice() {
            ["env", name] => Value::Variable(name),
            ["params", name] => match self.params.iter().find(|(known, _)| known == name) {
                Some((_, value)) => Value::Known(value.clone()),
                None => Value::Unknown,
            },
            ["steps", _, "outputs", _] => {
                match self.outputs.iter().find(|(known, _)| known == path) {
                    Some((_, value)) => Value::Known(value.clone()),
                    None => Value::Unknown,
                }
            }
            ["consts", ..] => match self.consts.iter().find(|(known, _)| known == path) {
                Some((_, value)) => Value::Known(value.clone()),
                None => Value::Unknown,
            },
            ["context", "step", "name"] => {
                self.step.map_or(Value::Unknown, |step| Value::Known(literal(step)))
            }
            ["context", "run", "id"] | ["run", "id"] => Value::Known("{{run.id}}".to_owned()),
            ["context", "dag", "name"] | ["dag", "name"] => Value::Known(literal(self.workflow)),
            _ => Value::Unknown,
        }
    }
}

/// Where the next reference begins, and its path.
fn next<'t>(text: &'t str, steps: &[String]) -> Option<(usize, &'t str)> {
    text.match_indices("${").find_map(|(at, _)| {
        let inner = &text[at + 2..];
        let path = &inner[..inner.find(|c: char| !is_word(c) && c != '.')?];
        let (namespace, names) = path.split_once('.')?;
        let is_name = |name: &str| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let found = inner[path.len()..].starts_with('}')
            && (NAMESPACES.contains(&namespace) || steps.iter().any(|step| step == namespace))
            && names.split('.').all(is_name);
        found.then_some((at, path))
    })
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

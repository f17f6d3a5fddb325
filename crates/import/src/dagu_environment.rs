//! `env` of Dagu. A value that a command computes is the output of a step; what reads it waits for that step.

use super::dagu_version::Dagu;
use super::draft::{Draft, literal, reference, step_id};
use super::fields::words;
use super::output::Out;
use super::shell::Variables;
use kb_language::definition::Positioned;

/// The variables of a workflow.
#[derive(Default)]
pub(super) struct Environment {
    /// Those with a text.
    pub(super) texts: Variables,
    /// Those with placeholders, which each step gets.
    pub(super) computed: Vec<(String, String)>,
}

/// The variables of a workflow. `known` has the values of parameters. Steps for what is computed are added.
pub(super) fn of_workflow(
    env: &Positioned,
    known: &[(String, String)],
    dagu: Dagu,
    draft: &mut Draft,
) -> Environment {
    let mut found = Environment::default();
    for (name, line, value) in pairs(env, draft) {
        let mut readable = known.to_vec();
        readable.extend(found.texts.texts());
        readable.extend(found.computed.iter().cloned());
        let parts = template(&value, &readable).filter(|parts| {
            dagu == Dagu::One || parts.iter().all(|part| matches!(part, Part::Text(_)))
        });
        let made = parts.map(|parts| {
            let mut text = String::new();
            for (at, part) in parts.iter().enumerate() {
                match part {
                    Part::Text(part) => text.push_str(part),
                    Part::Command(command) => {
                        let number = if at == 0 { String::new() } else { format!("-{at}") };
                        let id = step_id(&format!("env-{name}{number}"));
                        computed(&id, command, &readable, draft);
                        text.push_str(&format!("{{{{{}.output | trim}}}}", reference(&id)));
                    }
                }
            }
            text
        });
        match made {
            Some(text) if text.contains("{{") && text != literal(&value) => {
                found.computed.push((name, text));
            }
            Some(text) => found.texts.set(&name, text),
            None => unknown(&name, line, draft),
        }
    }
    found
}

/// The variables of a step. `known` has the values that they may read.
pub(super) fn of_step(
    env: &Positioned,
    known: &[(String, String)],
    draft: &mut Draft,
) -> Variables {
    let mut found = Variables::default();
    for (name, line, value) in pairs(env, draft) {
        match template_text(&value, known) {
            Some(text) => found.set(&name, text),
            None => unknown(&name, line, draft),
        }
    }
    found
}

/// A value without commands, as a template; none if it reads what has no counterpart.
pub(super) fn template_text(value: &str, known: &[(String, String)]) -> Option<String> {
    let text = |part: &Part| match part {
        Part::Text(text) => Some(text.clone()),
        Part::Command(_) => None,
    };
    template(value, known)?.iter().map(text).collect()
}

/// Adds a step whose output is what a command prints.
pub(super) fn computed(id: &str, command: &str, known: &[(String, String)], draft: &mut Draft) {
    let mut variables = Variables::default();
    variables.provide(command, known);
    let mut map: Vec<(&'static str, Out)> = vec![("id", id.into())];
    map.push(("run", format!("set +eu +o pipefail\n{command}\n").into()));
    map.extend(variables.out().map(|env| ("env", env)));
    draft.steps.push(Out::map(map));
}

fn unknown(name: &str, line: u32, draft: &Draft) {
    draft.fails(line, format!("the value of the variable `{name}` is computed and is not mapped"));
}

/// The names with their lines and values.
fn pairs(env: &Positioned, draft: &Draft) -> Vec<(String, u32, String)> {
    let mut found = Vec::new();
    for item in env.items() {
        match item.words() {
            Some(words) => match words.split_once('=') {
                Some((name, value)) => found.push((name.to_owned(), item.line, value.to_owned())),
                None => draft.fails(item.line, format!("the variable `{words}` has no value")),
            },
            None => found.extend(item.entries().iter().map(|(name, line, value)| {
                let what = format!("env.{name}");
                (name.clone(), *line, words(value, &what, draft).unwrap_or_default())
            })),
        }
    }
    // Dagu keeps its own values for these.
    for (name, line, _) in found.iter().filter(|(name, _, _)| name.starts_with("DAG_RUN_")) {
        draft.fails(*line, format!("the variable `{name}` belongs to Dagu and is not mapped"));
    }
    found
}

/// A part of a value.
enum Part {
    /// As a template.
    Text(String),
    Command(String),
}

/// The parts of a value; none if it reads what has no counterpart.
fn template(value: &str, known: &[(String, String)]) -> Option<Vec<Part>> {
    let (mut parts, mut text, mut rest) = (Vec::new(), String::new(), value);
    while let Some(at) = rest.find(['$', '`']) {
        text.push_str(&literal(&rest[..at]));
        let after = &rest[at + 1..];
        if rest[at..].starts_with('`') {
            let (command, end) = after.split_once('`')?;
            if command.contains('\\') {
                return None;
            }
            parts.push(Part::Text(std::mem::take(&mut text)));
            parts.push(Part::Command(command.to_owned()));
            rest = end;
            continue;
        }
        let (name, end) = match after.strip_prefix('{') {
            Some(inside) => inside.split_once('}')?,
            None => {
                let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                after.split_at(end.unwrap_or(after.len()))
            }
        };
        let bare = name.strip_prefix("params.").or_else(|| name.strip_prefix("env."));
        let bare = bare.unwrap_or(name);
        match known.iter().rev().find(|(known, _)| known == bare) {
            Some((_, value)) => text.push_str(value),
            None if ["context.run.id", "run.id"].contains(&name) => text.push_str("{{run.id}}"),
            None => return None,
        }
        rest = end;
    }
    text.push_str(&literal(rest));
    parts.push(Part::Text(text));
    parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
    Some(parts)
}

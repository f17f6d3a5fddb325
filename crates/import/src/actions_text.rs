//! Texts of GitHub Actions with expressions in them, `${{ … }}`.

use super::actions_expression::{expression, is_plain_words, operand};
use super::actions_lowered::quoted;
use super::actions_scope::{JobOutput, Scope};
use super::draft::{Draft, literal, name};
use super::output::Out;
use super::shell::{Quoted, Variables, is_command, quoted_after};
use super::shell_code::{as_code, is_code};
use kb_language::definition::Positioned;
use std::collections::BTreeMap;

/// A text with `${{ … }}` as a template.
pub(super) fn template(text: &str, scope: &Scope) -> Result<String, String> {
    let parts = parts(text).into_iter().map(|part| match part {
        Part::Text(text) => Ok(literal(text)),
        Part::Expression(inner) => Ok(format!("{{{{{}}}}}", expression(inner, scope)?)),
    });
    parts.collect()
}

/// A text with `${{ … }}` as an expression.
pub(super) fn joined(text: &str, scope: &Scope) -> Result<String, String> {
    let parts: Vec<Part<'_>> = parts(text);
    let alone = parts.len() == 1;
    let parts = parts.into_iter().map(|part| match part {
        Part::Text(text) => Ok(quoted(text)),
        Part::Expression(inner) if alone => expression(inner, scope),
        Part::Expression(inner) => operand(inner, scope),
    });
    let parts: Vec<String> = parts.collect::<Result<_, String>>()?;
    Ok(if parts.is_empty() { "''".to_owned() } else { parts.join(" ~ ") })
}

/// A shell text in which variables stand for `${{ … }}`.
pub(super) fn without_placeholders(
    text: &str,
    line: u32,
    scope: &Scope,
    variables: &mut Variables,
    draft: &mut Draft,
) -> String {
    let mut out = String::new();
    let parts = parts(text);
    for (at, part) in parts.iter().enumerate() {
        let inner = match part {
            Part::Text(text) => {
                out.push_str(text);
                continue;
            }
            Part::Expression(inner) => *inner,
        };
        let variable: String = name(&inner.to_uppercase()).chars().take(60).collect();
        let after = match parts.get(at + 1) {
            Some(Part::Text(text)) => text,
            Some(Part::Expression(_)) | None => "",
        };
        if is_code(&out, after) {
            draft.fails(line, as_code(&format!("${{{{ {inner} }}}}")));
            out.push_str(&format!("${{{variable}}}"));
            continue;
        }
        if quoted_after(&out) == Quoted::Not && !is_plain_words(inner, scope) {
            let is_matrix = inner.starts_with("matrix.");
            if is_matrix || is_command(&out) {
                draft.fails(
                    line,
                    format!("`${{{{ {inner} }}}}` is code of the shell here and is not mapped"),
                );
            }
        }
        let found = expression(inner, scope).map(|found| Out::from(format!("{{{{{found}}}}}")));
        let variable = match &found {
            Ok(found) => free_name(variable, found, variables),
            Err(_) => variable,
        };
        match found {
            Ok(found) => variables.set(&variable, found),
            Err(unknown) => {
                draft.fails(line, format!(
                    "`${{{{ {inner} }}}}` is not mapped (`{unknown}`); the text reads the variable `{variable}`"
                ));
            }
        }
        // The shell reads no variable in single quotes: they end before it and begin again after it.
        out.push_str(&match quoted_after(&out) {
            Quoted::Single => format!("'\"${{{variable}}}\"'"),
            Quoted::Not | Quoted::Double => format!("${{{variable}}}"),
        });
    }
    out
}

/// The name of a variable for a value: names that differ in signs are the same name.
fn free_name(name: String, value: &Out, variables: &Variables) -> String {
    let is_other = |name: &str| variables.0.iter().any(|(own, set)| own == name && set != value);
    let more = (2..).map(|number| format!("{name}_{number}"));
    let found = std::iter::once(name.clone()).chain(more).find(|name| !is_other(name));
    found.unwrap_or(name)
}

enum Part<'a> {
    Text(&'a str),
    Expression(&'a str),
}

/// The texts and expressions of a text, in order.
fn parts(text: &str) -> Vec<Part<'_>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find("${{") {
        let Some(end) = end_of(&rest[at + 3..]).map(|end| at + 3 + end) else { break };
        if at > 0 {
            parts.push(Part::Text(&rest[..at]));
        }
        parts.push(Part::Expression(rest[at + 3..end].trim()));
        rest = &rest[end + 2..];
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    parts
}

/// Where the `}}` of an expression is, outside of its texts.
fn end_of(text: &str) -> Option<usize> {
    let mut is_text = false;
    for (at, c) in text.char_indices() {
        match c {
            '\'' => is_text = !is_text,
            '}' if !is_text && text[at..].starts_with("}}") => return Some(at),
            _ => {}
        }
    }
    None
}

/// The outputs of a job, as expressions.
pub(super) fn of_job(
    id: &str,
    outputs: &[(String, u32, Positioned)],
    scope: &Scope,
    draft: &mut Draft,
) -> BTreeMap<String, Result<JobOutput, String>> {
    let mut found = BTreeMap::new();
    let after_failure = Scope { after_failure: true, ..scope.clone() };
    for (key, line, value) in outputs {
        let text = value.words().unwrap_or_default();
        let output = joined(&text, scope).and_then(|usual| {
            Ok(JobOutput { usual, after_failure: joined(&text, &after_failure)? })
        });
        if let Err(unknown) = &output {
            draft.left_out(
                *line,
                format!("the output `{key}` of the job `{id}` is not mapped (`{unknown}`)"),
            );
        }
        found.insert(key.clone(), output);
    }
    found
}

//! Expressions of GitHub Actions, `${{ … }}`.

use super::draft::{Draft, literal, name};
use super::shell::Variables;

/// What an expression may refer to.
pub(super) struct Scope<'a> {
    /// How `matrix.NAME` is read.
    pub(super) matrix: &'a str,
}

/// A text with `${{ … }}` as a template.
pub(super) fn template(text: &str, scope: &Scope<'_>) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("${{") {
        let Some(end) = rest[at..].find("}}").map(|end| at + end) else { break };
        out.push_str(&literal(&rest[..at]));
        out.push_str(&format!("{{{{{}}}}}", expression(rest[at + 3..end].trim(), scope)?));
        rest = &rest[end + 2..];
    }
    out.push_str(&literal(rest));
    Ok(out)
}

/// A shell text in which variables stand for `${{ … }}`.
pub(super) fn without_placeholders(
    text: &str,
    line: u32,
    scope: &Scope<'_>,
    variables: &mut Variables,
    draft: &mut Draft,
) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("${{") {
        let Some(end) = rest[at..].find("}}").map(|end| at + end) else { break };
        out.push_str(&rest[..at]);
        let inner = rest[at + 3..end].trim();
        let variable = name(&inner.to_uppercase());
        match expression(inner, scope) {
            Ok(found) => variables.set(&variable, format!("{{{{{found}}}}}")),
            Err(unknown) => {
                draft.unmapped(line, format!(
                    "`${{{{ {inner} }}}}` is not mapped (`{unknown}`); the text reads the variable `{variable}`"
                ));
            }
        }
        out.push_str(&format!("${{{variable}}}"));
        rest = &rest[end + 2..];
    }
    out.push_str(rest);
    out
}

/// An expression in the language of playbooks, or the name that has no counterpart.
pub(super) fn expression(text: &str, scope: &Scope<'_>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let operator = [
            ("&&", " and "),
            ("||", " or "),
            ("==", " == "),
            ("!=", " != "),
            ("<=", " <= "),
            (">=", " >= "),
            ("<", " < "),
            (">", " > "),
            ("!", "not "),
            ("(", "("),
            (")", ")"),
        ];
        if let Some((sign, word)) = operator.iter().find(|(sign, _)| rest.starts_with(sign)) {
            out.push_str(word);
            rest = &rest[sign.len()..];
        } else if first.is_whitespace() {
            rest = rest.trim_start();
        } else if first == '\'' {
            let end = rest[1..].find('\'').ok_or("'")?;
            out.push_str(&rest[..end + 2]);
            rest = &rest[end + 2..];
        } else if first.is_ascii_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c)));
            let (word, more) = rest.split_at(end.unwrap_or(rest.len()));
            out.push_str(&known(word, scope)?);
            rest = more;
        } else {
            return Err(first.to_string());
        }
    }
    Ok(out.trim().replace("  ", " "))
}

fn known(word: &str, scope: &Scope<'_>) -> Result<String, String> {
    if matches!(word, "true" | "false") || word.parse::<f64>().is_ok() {
        return Ok(word.to_owned());
    }
    let inputs = word.strip_prefix("inputs.").or_else(|| word.strip_prefix("github.event.inputs."));
    if let Some(input) = inputs {
        return Ok(name(input));
    }
    match word.split_once('.') {
        Some(("matrix", path)) => Ok(matrix_value(path, scope)),
        Some((root @ ("env" | "secrets"), rest)) if !rest.contains('.') => {
            Ok(format!("{root}.{rest}"))
        }
        _ => Err(word.to_owned()),
    }
}

/// A value of the matrix: the name of an axis, and keys of its maps.
fn matrix_value(path: &str, scope: &Scope<'_>) -> String {
    let mut keys = path.split('.');
    let mut found = format!("{}.{}", scope.matrix, name(keys.next().unwrap_or_default()));
    for key in keys {
        match name(key) == key {
            true => found.push_str(&format!(".{key}")),
            false => found.push_str(&format!("['{key}']")),
        }
    }
    found
}

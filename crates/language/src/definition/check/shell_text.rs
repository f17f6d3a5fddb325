//! Static rule: shell scripts contain no placeholders.

use crate::definition::syntax::{Decoder, Node};
use crate::expression::{ScriptName, ScriptPlaceholder, placeholders_in};
use kb_base::diagnostic::{Code, Diagnostic, Span};

/// Reports placeholders in a shell script: those of known names, which would turn a value into code, those of
/// names that are nearly known, and as a warning those that the script gets as they are.
pub(crate) fn check(text: &str, node: &Node, decoder: &mut Decoder) {
    for ScriptPlaceholder { at: range, inner, meaning } in
        placeholders_in(text, &decoder.names, decoder.style)
    {
        let span = match node.origin().verbatim {
            Some(start) => Span::new(
                node.span.source,
                start as usize + range.start,
                start as usize + range.end,
            ),
            None => node.span,
        };
        let (inner, near) = match &meaning {
            ScriptName::Known => (inner, None),
            ScriptName::Near(near) => {
                let word = inner.find(|c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c)));
                let rest = word.map_or("", |end| &inner[end..]);
                (format!("{near}{rest}"), Some(near))
            }
            ScriptName::Unknown => {
                let message = format!("`{}` names no parameter or step", &text[range]);
                let help = "the script gets it as it is; values reach a script through `env` only";
                decoder
                    .push(Diagnostic::warning(Code::FOREIGN_PLACEHOLDER, span, message).help(help));
                continue;
            }
        };
        let variable = variable_for(&inner);
        let question = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        let message = format!("a shell script cannot contain the placeholder `{}`", &text[range]);
        decoder.push(
            Diagnostic::error(Code::VALUE_AS_CODE, span, message)
                .caption("a value would become code")
                .help(format!(
                    "{question}write `\"${variable}\"` here and `env: {{{variable}: \"{{{{{inner}}}}}\"}}` beside `run`, or use the list form `run: [program, \"{{{{{inner}}}}}\"]`"
                )),
        );
    }
}

/// Warns of variables with the name of a parameter that nothing sets: parameters reach a script through `env` only.
pub(crate) fn check_variables(text: &str, node: &Node, decoder: &mut Decoder) {
    let unset: Vec<String> = decoder
        .names
        .params
        .iter()
        .filter(|name| !decoder.names.env.contains(*name) && reads(text, name) && !sets(text, name))
        .cloned()
        .collect();
    for name in unset {
        let variable = variable_for(&name);
        let message =
            format!("the script reads `${name}`, which nothing sets; `{name}` is a parameter");
        let help = format!(
            "write `\"${variable}\"` here and `env: {{{variable}: \"{{{{{name}}}}}\"}}` beside `run`"
        );
        decoder.push(Diagnostic::warning(Code::FOREIGN_PLACEHOLDER, node.span, message).help(help));
    }
}

/// Whether a script contains `$name` or `${name}`.
fn reads(text: &str, name: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    text.match_indices('$').any(|(at, _)| {
        let rest = &text[at + 1..];
        let braced = rest.strip_prefix('{').and_then(|rest| rest.strip_prefix(name));
        braced.is_some_and(|rest| rest.starts_with('}'))
            || rest.strip_prefix(name).is_some_and(ends)
    })
}

/// Whether a script gives a variable a value: `name=`, `for name`, `read name` and the like.
fn sets(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let is_whole = !before.ends_with(is_word) && !after.starts_with(is_word);
        let is_read = before.ends_with('$') || before.ends_with("${");
        is_whole && !is_read
    })
}

/// `research.output.files | join` becomes `RESEARCH_OUTPUT_FILES`, `featureName` `FEATURE_NAME`.
pub(super) fn variable_for(inner: &str) -> String {
    let reference = inner.trim().split(['|', ' ', '(']).next().unwrap_or_default();
    let mut name = String::new();
    let mut lower = false;
    for c in reference.chars() {
        if c.is_ascii_uppercase() && lower {
            name.push('_');
        }
        lower = c.is_ascii_lowercase();
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_uppercase());
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    let name = name.trim_matches('_');
    if name.is_empty() { "VALUE".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_a_variable_after_the_reference() {
        let cases = [
            ("featureName", "FEATURE_NAME"),
            (" research.output.files | join ", "RESEARCH_OUTPUT_FILES"),
            ("steps['a-b'].output", "STEPS_A_B_OUTPUT"),
        ];
        for (inner, name) in cases {
            assert_eq!(super::variable_for(inner), name);
        }
    }
}

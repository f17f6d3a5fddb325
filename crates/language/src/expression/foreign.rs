//! Finds what other tools write for a placeholder: `${{ x }}`, `${x}`, `$x`, `{x}`, `{% … %}`, `$(x)`.
//!
//! Such a text stays as it is. It is reported only if its inside names something that the definition declares,
//! because `$HOME` and `{}` are ordinary text.

use super::brackets::close;
use super::names::{Names, Style};
use super::resolve::{is_known_word, step_of};
use super::scan::{is_reference, leading_word};
use std::ops::Range;

/// A text that another tool would replace by a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignPlaceholder {
    /// Its place in the text, in bytes.
    pub at: Range<usize>,
    /// What to write in its place.
    pub fix: String,
}

/// The foreign placeholders of a text whose own placeholders are valid.
pub fn foreign_placeholders(text: &str, names: &Names, style: Style) -> Vec<ForeignPlaceholder> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].find(['$', '{', '\\', '<']).map(|i| at + i) {
        at = match text.as_bytes()[next] {
            b'$' => dollar(text, next, names, &mut found),
            b'{' => brace(text, next, names, style, &mut found),
            // An escape, or the start of `<< ref >>`.
            _ => {
                let after = &text[next + 1..];
                next + 1 + usize::from(after.starts_with(['{', '<'])) * 2
            }
        };
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    found
}

/// `${{ x }}`, `${x}`, `$(x)` or `$x` at an offset; returns the offset after it.
fn dollar(text: &str, at: usize, names: &Names, found: &mut Vec<ForeignPlaceholder>) -> usize {
    let rest = &text[at + 1..];
    if rest.starts_with("{{") {
        let Some(end) = close(text, at + 3).map(|end| end + 2) else { return at + 1 };
        let fix = format!("write `{}` without the `$`", &text[at + 1..end]);
        found.push(ForeignPlaceholder { at: at..end, fix });
        return end;
    }
    let (inner, end) = match rest.as_bytes().first() {
        Some(b'{') => match rest.find('}') {
            Some(end) => (&rest[1..end], at + 2 + end),
            None => return at + 1,
        },
        Some(b'(') => match rest.find(')') {
            Some(end) => (&rest[1..end], at + 2 + end),
            None => return at + 1,
        },
        _ => {
            let inner = variable(rest);
            (inner, at + 1 + inner.len())
        }
    };
    match own_form(inner, names) {
        Some(own) => {
            found.push(ForeignPlaceholder { at: at..end, fix: format!("write `{own}`") });
            end
        }
        None => at + 1,
    }
}

/// The name and path at the start of a text, such as `build.output` of `build.output.`.
fn variable(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
    text[..end.unwrap_or(text.len())].trim_end_matches('.')
}

/// `{% … %}`, `{x}` or `{{ x }}` at an offset; returns the offset after it.
fn brace(
    text: &str,
    at: usize,
    names: &Names,
    style: Style,
    found: &mut Vec<ForeignPlaceholder>,
) -> usize {
    let rest = &text[at + 1..];
    if rest.starts_with('{') {
        return close(text, at + 2).map_or(at + 2, |end| end + 2);
    }
    if let Some(inside) = rest.strip_prefix('%') {
        let Some(length) = inside.find("%}") else { return at + 2 };
        let end = at + 2 + length + 2;
        let is_own = |word: &str| is_known_word(names, word, false);
        let mut words = inside[..length].split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let keyword = words.clone().find(|word| !word.is_empty()).unwrap_or_default();
        if words.any(is_own) {
            let fix = statement_fix(keyword).to_owned();
            found.push(ForeignPlaceholder { at: at..end, fix });
        }
        return end;
    }
    let Some(length) = rest.find(['{', '}']).filter(|at| rest[*at..].starts_with('}')) else {
        return at + 1;
    };
    if style == Style::Playbook
        && let Some(own) = own_form(&rest[..length], names)
    {
        let at = at..at + length + 2;
        found.push(ForeignPlaceholder { at, fix: format!("write `{own}`") });
    }
    at + 1
}

/// What does the work of a statement of a template language.
fn statement_fix(keyword: &str) -> &'static str {
    match keyword {
        "if" | "elif" | "else" => {
            "write `{{ a if b else c }}`, or `condition` for a step that runs only then"
        }
        "for" => "write `{{ list | join(', ') }}`, or `forEach` for a step that runs for each item",
        "set" => "compute the value in a `set` step",
        _ => "write an expression, `{{ … }}`",
    }
}

/// The placeholder for a reference that another tool writes; `None` if it names nothing that is declared.
fn own_form(inner: &str, names: &Names) -> Option<String> {
    let inner = inner.trim();
    // `${x:-default}` of a shell.
    let (inner, default) = match inner.split_once(":-") {
        Some((inner, default)) => (inner, Some(default)),
        None => (inner, None),
    };
    let (word, rest) = leading_word(inner)?;
    let has_path = rest.starts_with(['.', '[']);
    if !is_reference(rest) || !is_known_word(names, word, has_path) {
        return None;
    }
    let is_step = !names.params.contains(word)
        && names.item.as_deref() != Some(word)
        && step_of(names, word).is_some();
    let root = if is_step { word.replace('-', "_") } else { word.to_owned() };
    let field = if is_step && !has_path { ".output" } else { "" };
    let filter = default.map(|text| format!(" | default('{text}')")).unwrap_or_default();
    Some(format!("{{{{{root}{field}{rest}{filter}}}}}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kb_base::value::StepId;

    fn fixes(text: &str, style: Style) -> Vec<(String, String)> {
        let names = Names {
            params: ["who".to_owned()].into(),
            steps: [StepId::new("add-test").unwrap(), StepId::new("build").unwrap()].into(),
            ..Names::default()
        };
        let found = foreign_placeholders(text, &names, style).into_iter();
        found.map(|one| (text[one.at].to_owned(), one.fix)).collect()
    }

    #[test]
    fn each_form_has_its_rewrite() {
        for (text, written, fix) in [
            ("hi ${{ who }}!", "${{ who }}", "write `{{ who }}` without the `$`"),
            ("hi ${who}!", "${who}", "write `{{who}}`"),
            ("hi ${who:-you}!", "${who:-you}", "write `{{who | default('you')}}`"),
            ("hi $who!", "$who", "write `{{who}}`"),
            ("hi $build.output.", "$build.output", "write `{{build.output}}`"),
            ("hi {who}!", "{who}", "write `{{who}}`"),
            ("ü{add-test}", "{add-test}", "write `{{add_test.output}}`"),
            ("$(params.who)", "$(params.who)", "write `{{params.who}}`"),
        ] {
            assert_eq!(
                fixes(text, Style::Playbook),
                [(written.to_owned(), fix.to_owned())],
                "{text}"
            );
        }
        let [(written, fix)] = &fixes("{% if who %}x{% endif %}", Style::Playbook)[..] else {
            panic!()
        };
        assert_eq!(written, "{% if who %}");
        assert!(fix.contains("{{ a if b else c }}"));
    }

    #[test]
    fn what_names_nothing_is_text() {
        for text in [
            "$HOME ${HOME} $(date) {} {a, b} {\"who\": 1} $ { $5 100% {%x%}",
            "{{who}} \\{{who}} << who >> {{ {'who': who} }}",
            "$",
            "{",
            "${",
            "$(",
            "{%",
            "{{",
            "a\\",
            "${who",
            "$(who",
            "price: $5, {0} {who!r} ${#who}",
        ] {
            assert_eq!(fixes(text, Style::Playbook), [], "{text}");
        }
        assert_eq!(fixes("{who} {build}", Style::Workflow), []);
    }
}

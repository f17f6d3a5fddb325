//! The names that a file declares, read from its text, which may be incomplete.

use std::sync::LazyLock;

use regex::Regex;

static STEP: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?m)^\s*-\s*\{?\s*id:\s*["']?([\p{L}\p{N}_-]+)"#).ok());
static STEP_LATER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?m)^\s{2,}id:\s*["']?([\p{L}\p{N}_-]+)"#).ok());
static PARAM: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?m)^\s*-\s*\{?\s*name:\s*["']?([\p{L}\p{N}_]+)"#).ok());

/// A name and the byte offset of its first letter.
pub(super) type Name = (String, usize);

/// The ids of the steps.
pub(super) fn steps(text: &str) -> Vec<Name> {
    let mut found = all(&STEP, text);
    found.extend(all(&STEP_LATER, text));
    found.sort_by_key(|(_, at)| *at);
    found
}

/// The names of the parameters.
pub(super) fn params(text: &str) -> Vec<Name> {
    let params = text.find("params:").map_or(0, |at| at);
    let steps = text.find("\nsteps:").unwrap_or(text.len());
    let range = if params < steps { params..steps } else { params..text.len() };
    let start = range.start;
    all(&PARAM, &text[range]).into_iter().map(|(name, at)| (name, at + start)).collect()
}

fn all(pattern: &LazyLock<Option<Regex>>, text: &str) -> Vec<Name> {
    let Some(pattern) = pattern.as_ref() else { return Vec::new() };
    let names = pattern.captures_iter(text).filter_map(|found| found.get(1));
    names.map(|name| (name.as_str().to_owned(), name.start())).collect()
}

/// The word at an offset, with its start: letters, digits, `_`, `-` and, between them, `/`, `:` and `.`.
pub(super) fn word_at(text: &str, offset: usize) -> (&str, usize) {
    let is_word = |c: char| c.is_alphanumeric() || "_-/:.".contains(c);
    let offset = offset.min(text.len());
    let start = text[..offset].char_indices().rev().find(|(_, c)| !is_word(*c));
    let start = start.map_or(0, |(at, c)| at + c.len_utf8());
    let end = text[offset..].find(|c: char| !is_word(c)).map_or(text.len(), |at| offset + at);
    let word = text[start..end].trim_end_matches([':', '.']);
    (word, start)
}

/// The occurrences of a step id in a text: its declaration, `dependsOn`, and references in expressions.
pub(super) fn occurrences(text: &str, id: &str) -> Vec<usize> {
    let root = id.replace('-', "_");
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let trimmed =
            line.trim_start().trim_start_matches("- ").trim_start_matches('{').trim_start();
        let declares = trimmed.starts_with("id:");
        let plain = ["dependsOn:", "depends_on:", "condition:", "until:", "interruptAfter:"];
        let refers = plain.iter().any(|key| line.contains(key));
        let list_item = line.trim_start().starts_with("- ") && !line.contains(": ");
        for name in if root == id { vec![id] } else { vec![id, &root] } {
            for (at, _) in line.match_indices(name) {
                let before = line[..at].chars().next_back();
                let after = line[at + name.len()..].chars().next();
                let is_part = |c: Option<char>| {
                    c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-')
                };
                if is_part(before) || is_part(after) {
                    continue;
                }
                // A field of something else: `a.build` is not the step `build`.
                let of_steps = line[..at].ends_with("steps.");
                if before == Some('.') && !of_steps {
                    continue;
                }
                // Inside of `{{ }}`, or `{step.key}` of a workflow; a flow map also has one brace.
                let in_expression = line[..at].rfind("{{") > line[..at].rfind("}}");
                let in_braces = in_expression || (before == Some('{') && after == Some('.'));
                let is_id = declares
                    && trimmed[3..].trim_start().trim_start_matches(['"', '\'']).starts_with(name)
                    && line[..at].trim_end().trim_end_matches(['"', '\'']).ends_with("id:");
                let is_key = after == Some(':');
                if is_id || (!is_key && (in_braces || refers || list_item)) {
                    found.push(start + at);
                }
            }
        }
        start += line.len();
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "params:\n  - {name: who}\nsteps:\n  - {id: build, run: build it}\n  - id: test\n    \
                        dependsOn: [build]\n    env: {A: \"{{build.output}} {{a.build}}\"}\n    run: build\n";

    #[test]
    fn names_are_found_in_both_forms() {
        let names = |found: Vec<Name>| found.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(steps(TEXT)), ["build", "test"]);
        assert_eq!(names(params(TEXT)), ["who"]);
    }

    #[test]
    fn a_step_id_is_found_where_it_is_declared_and_read() {
        let lines: Vec<usize> =
            occurrences(TEXT, "build").iter().map(|at| TEXT[..*at].matches('\n').count()).collect();
        assert_eq!(lines, [3, 5, 6]);
    }
}

//! The names that a file declares, read from its text, which may be incomplete.

use super::cursor::{Place, Segment, cursor};
use super::tables::slot;
use kb_language::definition::{DefinitionFile, KeyType};
use regex::Regex;
use std::sync::LazyLock;

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

/// Keys whose values are ids of steps.
const STEP_KEYS: [&str; 4] = ["dependsOn", "depends_on", "interruptAfter", "interrupt_after"];

/// The occurrences of a step id in a file: its declaration, keys that name steps, and references in expressions.
pub(super) fn occurrences(file: DefinitionFile, text: &str, id: &str) -> Vec<usize> {
    let root = id.replace('-', "_");
    let mut found = Vec::new();
    for name in if root == id { vec![id] } else { vec![id, &root] } {
        let whole =
            text.match_indices(name).map(|(at, _)| at).filter(|at| is_whole(text, *at, name));
        found.extend(whole.filter(|at| names_a_step(file, text, *at, name)));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether a name is no part of a longer one, and no field of something else: `a.build` is not the step `build`.
fn is_whole(text: &str, at: usize, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let (before, after) = (&text[..at], &text[at + name.len()..]);
    let is_field = before.ends_with('.') && !before.ends_with("steps.");
    !is_field && !before.ends_with(is_part) && !after.starts_with(is_part)
}

/// Whether a name stands where a step is declared or named.
fn names_a_step(file: DefinitionFile, text: &str, at: usize, name: &str) -> bool {
    let place = cursor(text, at);
    let (before, after) = (&text[..at], &text[at + name.len()..]);
    let keys: Vec<&str> = place.path.iter().filter_map(Segment::key).collect();
    let is_expression = place.at == Place::Expression
        || slot(file, &place.path).is_some_and(|slot| takes_expression(&slot.ty));
    // `{step.key}` of a workflow; a flow map also has one brace.
    if is_expression || (before.ends_with('{') && after.starts_with('.')) {
        // A quoted text is a value, apart from `steps['id']`. In a double-quoted scalar, `\"` is a quote.
        let quote = before.chars().next_back().filter(|c| matches!(c, '"' | '\''));
        let is_text = quote.is_some_and(|quote| after.trim_start_matches('\\').starts_with(quote));
        return !is_text || before.trim_end_matches(['"', '\'', '\\']).ends_with('[');
    }
    match keys.as_slice() {
        [.., "id"] => place.path.contains(&Segment::Item) && place.prefix.trim().is_empty(),
        [.., "onReject" | "on_reject", "retry"] => true,
        [.., last] => STEP_KEYS.contains(last),
        [] => false,
    }
}

/// Whether a value is an expression without `{{ }}`, such as that of `condition`.
pub(super) fn takes_expression(ty: &KeyType) -> bool {
    match ty {
        KeyType::Expression => true,
        KeyType::OneOf(types) => types.iter().any(takes_expression),
        _ => false,
    }
}

/// The value of a key of the step around an offset, such as the id of its playbook.
pub(super) fn sibling<'a>(
    text: &'a str,
    offset: usize,
    pattern: &LazyLock<Option<Regex>>,
) -> Option<&'a str> {
    let step = step_around(text, offset)?;
    Some(pattern.as_ref()?.captures(step)?.get(1)?.as_str())
}

/// The name of the item in the step around an offset, if the step has items.
pub(super) fn item(text: &str, offset: usize) -> Option<String> {
    let step = step_around(text, offset)?;
    let kind = ITEMS.as_ref()?.captures(step)?.get(1)?.as_str();
    let own = ITEM_NAME.as_ref()?.captures(step).and_then(|found| found.get(1));
    let usual = if kind == "matrix" { "matrix" } else { "item" };
    Some(own.map_or(usual, |name| name.as_str()).to_owned())
}

/// The text of the step around an offset: the innermost item of a list in lines that has an id, or else the innermost
/// one.
fn step_around(text: &str, offset: usize) -> Option<&str> {
    let mut innermost = None;
    let mut start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let before = &text[start..offset];
    // In an empty line, the column says what the line belongs to.
    let mut limit = if before.trim().is_empty() { before.len() } else { usize::MAX };
    loop {
        let line = text[start..].lines().next().unwrap_or_default();
        let indent = line.len() - line.trim_start().len();
        // The lines of an item are indented more than its `-`.
        if line.trim_start().starts_with("- ") && indent < limit {
            limit = indent;
            let item = item_at(text, start, indent);
            let has_id = ID.as_ref().is_some_and(|id| id.is_match(item));
            if has_id {
                return Some(item);
            }
            innermost.get_or_insert(item);
        } else if !line.trim().is_empty() {
            limit = limit.min(indent);
        }
        if start == 0 {
            return innermost;
        }
        start = text[..start - 1].rfind('\n').map_or(0, |at| at + 1);
    }
}

/// The item of a list that begins in the line at an offset, with the lines below that are indented more.
fn item_at(text: &str, start: usize, indent: usize) -> &str {
    let end = text[start..].match_indices('\n').map(|(at, _)| start + at + 1).find(|at| {
        let line = text[*at..].lines().next().unwrap_or_default();
        !line.trim().is_empty() && line.len() - line.trim_start().len() <= indent
    });
    &text[start..end.unwrap_or(text.len())]
}

/// The id of a step, in its first or a later line.
pub(super) static ID: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?m)^\s*(?:-\s*)?\{?\s*id:\s*["']?([\p{L}\p{N}_-]+)"#).ok());
static ITEMS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b(forEach|for_each|matrix):").ok());
static ITEM_NAME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\bas:\s*["']?([\p{L}_][\p{L}\p{N}_]*)"#).ok());
/// The id of a `playbook` step's playbook.
pub(super) static PLAYBOOK: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\bplaybook:\s*["']?([\p{L}\p{N}_-]+)"#).ok());
/// The name of a `tool` step's tool.
pub(super) static TOOL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\btool:\s*["']?([\p{L}\p{N}_:.-]+)"#).ok());

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
        let lines: Vec<usize> = occurrences(DefinitionFile::Playbook, TEXT, "build")
            .iter()
            .map(|at| TEXT[..*at].matches('\n').count())
            .collect();
        assert_eq!(lines, [3, 5, 6]);
    }

    #[test]
    fn values_and_names_of_other_things_are_no_occurrences() {
        let text = "id: build\nsteps:\n  - id: build\n    run:\n      - make\n      - build\n  - id: b\n    \
                    dependsOn:\n      - build\n    condition: \"build.output == 'build' and x == \\\"build\\\"\"\n    \
                    task: \"{{steps['build'].output}} {{ 'build' }} build\"\n  - {name: n, id: c, approve: {message: build, \
                    onReject: {retry: build}}}\n  - id: d\n    gate:\n      - expr: build.status == 'x'\n";
        let found = occurrences(DefinitionFile::Playbook, text, "build");
        let lines: Vec<usize> = found.iter().map(|at| text[..*at].matches('\n').count()).collect();
        assert_eq!(lines, [2, 8, 9, 10, 11, 14]);
    }

    #[test]
    fn a_step_is_searched_for_the_value_of_a_key() {
        let text = "steps:\n  - id: a\n    with:\n      x: 1\n    playbook: child\n  - {id: b, playbook: other}\n";
        assert_eq!(sibling(text, text.find("x: 1").unwrap(), &PLAYBOOK), Some("child"));
        assert_eq!(sibling(text, text.find("id: b").unwrap(), &PLAYBOOK), Some("other"));
        assert_eq!(sibling(text, text.find("x: 1").unwrap(), &TOOL), None);
    }
}

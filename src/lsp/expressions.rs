//! Completion inside of expressions: names and what follows them, filters, tests and words of a status.

use super::known::Known;
use super::names;
use super::offer::{Context, item, kind};
use super::words::{Table, about};
use kb_base::value::{Json, StepId};
use kb_language::expression::{FILTERS, Names, TESTS, names_below, outcome_words};
use serde_json::json;

/// The completions at the end of an expression.
pub(super) fn complete(context: Context<'_>) -> Vec<Json> {
    let prefix = context.cursor.prefix.as_str();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let before = prefix.trim_end_matches(is_word);
    let typed = &prefix[before.len()..];
    let described = |label: &str, kind: u32, detail: &str, table: Table| {
        let text = about(table, label);
        let text = text.map(|text| json!({"kind": "markdown", "value": text}));
        let mut item = item(&context, typed, label, kind, detail);
        item["documentation"] = text.unwrap_or_default();
        item
    };
    let all = |words: &[&str], detail: &str, table: Table| -> Vec<Json> {
        words.iter().map(|word| described(word, kind::FUNCTION, detail, table)).collect()
    };
    if let Some(open) = open_text(before) {
        return of_text(&context, &prefix[..open], &prefix[open + 1..]);
    }
    if let Some(path) = before.strip_suffix('.') {
        let path = path_at_end(path);
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        return below(&context, &path)
            .iter()
            .map(|(label, detail)| described(label, kind::FIELD, detail, Table::Fields))
            .collect();
    }
    let before = before.trim_end();
    let words: Vec<&str> = before.rsplit(|c: char| !is_word(c)).take(2).collect();
    match words.as_slice() {
        _ if before.ends_with('|') && !before.ends_with("||") => {
            all(FILTERS, "filter", Table::Filters)
        }
        ["is", ..] | ["not", "is"] => all(TESTS, "test", Table::Tests),
        _ => names_below(&names_of(&context), &[])
            .iter()
            .map(|name| {
                let (kind, detail) = kind_of(context.text, name);
                described(name, kind, detail, Table::Names)
            })
            .collect(),
    }
}

/// The offset of the quote of a text that is open at the end.
fn open_text(text: &str) -> Option<usize> {
    let mut open = None;
    for (at, _) in text.match_indices('\'') {
        open = if open.is_some() { None } else { Some(at) };
    }
    open
}

/// What can stand in a text: the id in `steps['…']`, and the words of the status that it is compared with.
fn of_text(context: &Context<'_>, before: &str, typed: &str) -> Vec<Json> {
    let before = before.trim_end();
    if before.ends_with("steps[") {
        let ids = names::steps(context.text).into_iter();
        return ids.map(|(id, _)| item(context, typed, &id, kind::REFERENCE, "step")).collect();
    }
    let compared = before.strip_suffix("==").or_else(|| before.strip_suffix("!="));
    let path = compared.map(|left| path_at_end(left.trim_end())).unwrap_or_default();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let words = outcome_words(&path).into_iter();
    words.map(|word| item(context, typed, word, kind::VALUE, "")).collect()
}

fn kind_of(text: &str, name: &str) -> (u32, &'static str) {
    let is = |(own, _): &names::Name| own.replace('-', "_") == name;
    if names::steps(text).iter().any(is) {
        (kind::REFERENCE, "step")
    } else if names::params(text).iter().any(is) {
        (kind::VARIABLE, "parameter")
    } else {
        (kind::VARIABLE, "name of the language")
    }
}

/// The names that can stand below a path, with what they are.
fn below(context: &Context<'_>, path: &[&str]) -> Vec<(String, String)> {
    let mut found = names_below(&names_of(context), path);
    let detail = match path {
        ["params" | "env" | "secrets" | "run" | "loop" | "steps", ..] => {
            format!("of `{}`", path[0])
        }
        _ => "field of a step".to_owned(),
    };
    let known = context.known.filter(|_| found.is_empty());
    let below_step = match path {
        ["steps", step, rest @ ..] | [step, rest @ ..] => known.map(|known| (known, *step, rest)),
        [] => None,
    };
    let keys = |(known, step, rest): (&Known, &str, &[&str])| match (step, rest) {
        // The pass before has the output of the same step.
        ("loop", ["previous", rest @ ..]) => {
            let own = names::sibling(context.text, context.offset, &names::ID).unwrap_or_default();
            known.keys(own, rest)
        }
        _ => known.keys(step, rest),
    };
    let of_output = below_step.map(keys).unwrap_or_default();
    let from_output = found.is_empty();
    found.extend(of_output);
    let detail = if from_output { "key of the output".to_owned() } else { detail };
    found.into_iter().map(|name| (name, detail.clone())).collect()
}

/// The names that the file declares around the cursor.
fn names_of(context: &Context<'_>) -> Names {
    let text = context.text;
    let step = |(id, _): names::Name| StepId::new(&id).ok();
    Names {
        steps: names::steps(text).into_iter().filter_map(step).collect(),
        params: names::params(text).into_iter().map(|(name, _)| name).collect(),
        env: context.known.map(|known| known.env.clone()).unwrap_or_default(),
        secrets: context.project.catalog.settings.secrets.keys().cloned().collect(),
        item: names::item(text, context.offset),
        ..Names::default()
    }
}

/// The parts of the path at the end of an expression: names, literal keys, and `[]` for an index.
fn path_at_end(text: &str) -> Vec<String> {
    let mut rest = text;
    let mut parts = Vec::new();
    loop {
        if let Some(open) = rest.strip_suffix(']').and_then(|inner| inner.rfind('[')) {
            let key = rest[open + 1..rest.len() - 1].trim();
            let is_text = key.starts_with(['"', '\'']);
            let name = if is_text { key.trim_matches(['"', '\'']) } else { "[]" };
            parts.push(name.to_owned());
            rest = &rest[..open];
            continue;
        }
        let shorter = rest.trim_end_matches(|c: char| c.is_alphanumeric() || "_-".contains(c));
        if shorter.len() == rest.len() {
            return Vec::new();
        }
        parts.push(rest[shorter.len()..].to_owned());
        match shorter.strip_suffix('.') {
            Some(before) => rest = before,
            None => break,
        }
    }
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_at_the_end_has_names_keys_and_indexes() {
        let at = |text: &str| path_at_end(text).join("/");
        assert_eq!(at("a and build.output"), "build/output");
        assert_eq!(at("steps['a-b'].output[0]"), "steps/a-b/output/[]");
        assert_eq!(at("review.byKey['src/a.rs']"), "review/byKey/src/a.rs");
        assert_eq!(at("(1 + 2)"), "");
    }
}

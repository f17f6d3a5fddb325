//! Hover, definitions, references and rename.

use super::completion::described;
use super::cursor::{Segment, cursor};
use super::documents::{Document, kind_of, uri_of};
use super::expression_words;
use super::known::Known;
use super::names::{self, word_at};
use super::position::range;
use super::tables::{key_of, slot};
use kb_base::value::{Json, StepId, json_text};
use kb_language::definition::{DefinitionFile, Named, Param};
use kb_language::expression::RESERVED_ROOTS;
use kb_service::service::Project;
use serde_json::json;

/// What is known about the word at an offset, as markdown.
pub(super) fn hover(
    document: &Document,
    shown: &str,
    offset: usize,
    project: &Project,
    known: Option<&Known>,
) -> Option<Json> {
    let text = &document.text;
    let (word, start) = word_at(text, offset);
    if word.is_empty() {
        return None;
    }
    let end = start + word.len();
    if let Some(found) = expression_words::about_at((text, shown), (word, start), offset, known) {
        let contents = json!({"kind": "markdown", "value": found.markdown});
        return Some(json!({"contents": contents, "range": range(text, found.start, found.end)}));
    }
    let markdown = of_key(text, shown, word, start, end)
        .or_else(|| of_name(text, shown, word, start, project))?;
    let contents = json!({"kind": "markdown", "value": markdown});
    Some(json!({"contents": contents, "range": range(text, start, end)}))
}

fn of_key(text: &str, shown: &str, word: &str, start: usize, end: usize) -> Option<String> {
    if !text[end..].starts_with(':') {
        return None;
    }
    let mut path = cursor(text, start).path;
    // At the start of a key, the path ends with its map.
    if path.last() == Some(&Segment::Key(word.to_owned())) {
        path.pop();
    }
    let tables = slot(kind_of(shown)?, &path)?.tables();
    let (table, key) = tables.iter().find_map(|table| Some((table, key_of(table, word)?)))?;
    Some(format!("**{}** (key of {})\n\n{}", key.name, table.what, described(key)))
}

fn of_name(text: &str, shown: &str, word: &str, start: usize, project: &Project) -> Option<String> {
    let catalog = &project.catalog;
    let is_playbook = text[..start].trim_end_matches([' ', '"', '\'']).ends_with("playbook:");
    if let Some(found) = catalog.playbooks.get(word).filter(|_| is_playbook) {
        let about = found.description.as_deref().unwrap_or_default();
        let params: String = found.params.iter().map(of_param).collect();
        return Some(format!(
            "playbook **{}** in `{}`\n\n{about}\n{params}",
            found.name, found.path
        ));
    }
    if let Some(found) = catalog.specialists.get(word) {
        return Some(format!("specialist **{}** in `{}`", found.name, found.path));
    }
    if let Some(plugin) = catalog.plugin_of(word) {
        let (level, about) = (plugin.spec.level.as_str(), &plugin.spec.description);
        return Some(format!("plugin **{}** ({level}) in `{}`\n\n{about}", plugin.id, plugin.path));
    }
    if let Some(tool) = catalog.tools.find(word) {
        return Some(format!(
            "tool **{}** ({})\n\n{}",
            tool.name,
            tool.level.as_str(),
            tool.description
        ));
    }
    let Some(step) = step_of(text, word) else {
        let name = word.strip_prefix("params.").unwrap_or(word);
        let (name, _) = names::params(text).into_iter().find(|(own, _)| own == name)?;
        let file = catalog.playbooks.values().find(|playbook| playbook.path == shown);
        let declared = file.and_then(|file| file.params.iter().find(|param| param.name == name));
        return Some(declared.map_or_else(|| format!("- parameter **{name}**\n"), of_param));
    };
    let own = catalog.playbooks.values().filter(|playbook| playbook.path == shown);
    let found = own.flat_map(|playbook| playbook.steps.iter());
    let summary = found.into_iter().find(|own| own.id.as_str() == step.0).map(|s| s.kind.summary());
    match summary {
        Some(summary) => Some(format!("step **{}**: {summary}", step.0)),
        None => Some(format!("step **{}**", step.0)),
    }
}

/// A parameter in one line of a list.
fn of_param(param: &Param) -> String {
    let kind = format!("{:?}", param.kind).to_lowercase();
    let rest = match (&param.default, param.required) {
        (Some(default), _) => format!(", default `{}`", json_text(default)),
        (None, true) => ", required".to_owned(),
        (None, false) => String::new(),
    };
    let about = param.description.as_ref().map(|about| format!(": {about}")).unwrap_or_default();
    format!("- parameter **{}** ({kind}{rest}){about}\n", param.name)
}

/// The step that a word names: an id, or the beginning of a reference such as `build.output`.
fn step_of(text: &str, word: &str) -> Option<names::Name> {
    let word = word.strip_prefix("steps.").unwrap_or(word);
    let first = word.split('.').next().unwrap_or(word);
    names::steps(text).into_iter().find(|(id, _)| id == first || id.replace('-', "_") == first)
}

/// The path at an offset, where a key names files.
fn named_file<'t>(document: &'t Document, offset: usize, project: &Project) -> Option<&'t str> {
    let (word, start) = word_at(&document.text, offset);
    let place = cursor(&document.text, start);
    let slot = slot(kind_of(&project.relative(&document.path))?, &place.path)?;
    let names_files = slot.key.is_some_and(|(_, key)| key.names == Named::File);
    (names_files && !word.is_empty()).then_some(word)
}

/// Where the word at an offset is defined.
pub(super) fn definition(
    document: &Document,
    uri: &str,
    offset: usize,
    project: &Project,
) -> Option<Json> {
    let text = &document.text;
    let (word, _) = word_at(text, offset);
    let (catalog, root) = (&project.catalog, &project.context.root);
    let file = |path: &str| {
        let start = json!({"line": 0, "character": 0});
        json!({"uri": uri_of(&root.join(path)), "range": {"start": start, "end": start}})
    };
    if let Some(path) =
        named_file(document, offset, project).filter(|path| root.join(path).is_file())
    {
        return Some(file(path));
    }
    let key = text[..offset].rsplit('\n').next().unwrap_or_default();
    if key.contains("playbook:")
        && let Some(found) = catalog.playbooks.get(word)
    {
        return Some(file(&found.path));
    }
    if let Some(found) = catalog.specialists.get(word) {
        return Some(file(&found.path));
    }
    if let Some((id, at)) = step_of(text, word) {
        return Some(json!({"uri": uri, "range": range(text, at, at + id.len())}));
    }
    let params = names::params(text);
    let name = word.strip_prefix("params.").unwrap_or(word);
    let (name, at) = params.into_iter().find(|(own, _)| own == name)?;
    Some(json!({"uri": uri, "range": range(text, at, at + name.len())}))
}

/// The edits that rename the step at an offset in its file, or why there are none.
pub(super) fn rename(
    document: &Document,
    (uri, shown): (&str, &str),
    offset: usize,
    new_name: &str,
) -> Result<Json, String> {
    let text = &document.text;
    let (word, _) = word_at(text, offset);
    let Some((id, _)) = step_of(text, word) else {
        return Err("only the ids of steps can be renamed".to_owned());
    };
    StepId::new(new_name).map_err(|error| error.to_string())?;
    if RESERVED_ROOTS.contains(&new_name) {
        return Err(format!("`{new_name}` is a reserved name"));
    }
    let is = |(own, _): &names::Name| own.replace('-', "_") == new_name.replace('-', "_");
    for (names, what) in [(names::steps(text), "step"), (names::params(text), "parameter")] {
        if let Some((own, _)) = names.iter().find(|own| is(own) && own.0 != id) {
            return Err(format!("the file has a {what} `{own}` already"));
        }
    }
    let edit = |(at, old, in_reference): (usize, usize, bool)| {
        let new = if in_reference { new_name.replace('-', "_") } else { new_name.to_owned() };
        json!({"range": range(text, at, at + old), "newText": new})
    };
    let edits: Vec<Json> = places(text, shown, &id).into_iter().map(edit).collect();
    Ok(json!({"changes": {uri: edits}}))
}

/// The ranges where the step at an offset is declared and named in its file.
pub(super) fn references(document: &Document, shown: &str, offset: usize) -> Vec<Json> {
    let text = &document.text;
    let (word, _) = word_at(text, offset);
    let Some((id, _)) = step_of(text, word) else { return Vec::new() };
    let places = places(text, shown, &id).into_iter();
    places.map(|(at, length, _)| range(text, at, at + length)).collect()
}

/// Where a file declares and names a step: offset, length, and whether an expression names it, in which `-` is `_`.
fn places(text: &str, shown: &str, id: &str) -> Vec<(usize, usize, bool)> {
    let file = kind_of(shown).unwrap_or(DefinitionFile::Playbook);
    let root = id.replace('-', "_");
    let place = |at: usize| {
        let in_reference = !text[at..].starts_with(id) || text[at + id.len()..].starts_with('.');
        let is_root = in_reference && text[at..].starts_with(&root);
        (at, if is_root { root.len() } else { id.len() }, is_root)
    };
    names::occurrences(file, text, id).into_iter().map(place).collect()
}

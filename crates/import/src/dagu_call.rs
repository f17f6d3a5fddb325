//! Steps of Dagu that run another workflow, and the values that they pass.

use super::dagu_documents::Documents;
use super::dagu_params::{Given, parts, scalar};
use super::draft::{Draft, literal, name, playbook_id, reference};
use super::fields::Fields;
use super::output::Out;
use kb_base::diagnostic::Span;
use kb_base::value::{Json, json_text};
use kb_language::definition::Positioned;
use std::collections::BTreeSet;

/// A step that runs another workflow.
pub(super) struct Call<'a> {
    /// The name or file of the workflow.
    pub(super) target: String,
    /// The line of the call.
    pub(super) line: u32,
    span: Span,
    params: Option<&'a Positioned>,
}

impl<'a> Call<'a> {
    /// The call of a step, whose keys are taken: `call`, `type: dag` with `command`, `action: dag.run`, and
    /// the `run` of older files if it names a document or a file, or has `params`.
    pub(super) fn of(fields: &Fields<'a>, documents: &Documents) -> Option<Call<'a>> {
        let dag = |key: &str| {
            let kind = fields.peek(key).and_then(Positioned::words);
            kind.is_some_and(|kind| ["dag", "subworkflow"].contains(&kind.as_str()))
        };
        let target = if fields.peek("call").is_some() {
            fields.take("call")
        } else if let Some(key) = ["type", "executor"].into_iter().find(|key| dag(key)) {
            fields.take(key);
            fields.take("command")
        } else if fields.peek("action").and_then(Positioned::text) == Some("dag.run") {
            fields.peek("with")?.entries().iter().find(|(key, _, _)| key == "dag")?;
            fields.take("action");
            let own = fields.nested("with")?;
            let target = own.take("dag")?;
            let params = own.take("params");
            let (line, span) = (target.line, target.span);
            return Some(Call { target: target.words()?, line, span, params });
        } else {
            let words = fields.peek("run").and_then(Positioned::words)?;
            let file =
                |suffix: &str| words.ends_with(suffix) && !words.contains(char::is_whitespace);
            let called = documents.named(&words).is_some()
                || file(".yaml")
                || file(".yml")
                || fields.peek("params").is_some();
            if !called {
                return None;
            }
            fields.take("run")
        }?;
        let (line, span) = (target.line, target.span);
        Some(Call { target: target.words()?, line, span, params: fields.take("params") })
    }

    /// What the call passes. Values without a name have the names that the document declares at their
    /// positions. Without `params`, an item of `parallel` is passed as a whole.
    pub(super) fn given(&self, step: &Positioned, documents: &Documents) -> Vec<Given> {
        let document = documents.named(&self.target);
        let named = |at: usize| document.and_then(|document| document.declared.get(at)).cloned();
        let mut given = match (self.params, items(&Fields::ahead(step))) {
            (Some(params), _) => parts(params),
            (None, Some(items)) => whole_item(items),
            (None, None) => Vec::new(),
        };
        for (at, given) in given.iter_mut().enumerate() {
            given.name = given.name.take().or_else(|| named(at));
        }
        given
    }

    /// The keys of the step. `known` has the values of variables.
    pub(super) fn convert(
        &self,
        step: &Positioned,
        known: &[(String, String)],
        documents: &Documents,
        map: &mut Vec<(&'static str, Out)>,
        draft: &mut Draft,
    ) {
        let Call { target, line, .. } = self;
        if target.contains('$') || target.trim().is_empty() {
            let why = format!("the workflow `{target}` to run is computed and is not mapped");
            // Others may read its outputs.
            map.push(("parse", "json".into()));
            return draft.without_work(*line, why, step, map);
        }
        let id = match documents.named(target) {
            Some(document) => document.id.clone(),
            None => {
                let file = target.rsplit('/').next().unwrap_or(target);
                let stem = file.strip_suffix(".yaml").or_else(|| file.strip_suffix(".yml"));
                let id = playbook_id(stem.unwrap_or(file));
                if let Some(problem) = documents.unknown(target, self.span) {
                    draft.need(&id, problem);
                } else if !draft.has_playbook(&id) {
                    let why = format!(
                        "`{target}` is not mapped: the project has no playbook `{id}`; import this file together with \
                         that one, or after it"
                    );
                    // Others may read its outputs.
                    map.push(("parse", "json".into()));
                    return draft.without_work(*line, why, step, map);
                }
                draft.hint(*line, format!("`{target}` is a child run: the playbook `{id}`"));
                id
            }
        };
        map.push(("playbook", id.into()));
        let mut with: Vec<(String, Out)> = Vec::new();
        for given in self.given(step, documents) {
            let value = given.value.as_deref().map(|value| rendered(value, known));
            match (given.name, value) {
                (Some(written), Some(Ok(value))) => with.push((name(&written), value.into())),
                (Some(written), _) => draft.fails(
                    given.line,
                    format!("the value of the parameter `{written}` for `{target}` is not mapped"),
                ),
                (None, _) => draft.fails(
                    given.line,
                    format!(
                        "a positional parameter for `{target}` is not mapped: the workflow declares no name for it"
                    ),
                ),
            }
        }
        if !with.is_empty() {
            map.push(("with", Out::Map(with)));
        }
    }
}

/// The items of `parallel`.
fn items<'a>(fields: &Fields<'a>) -> Option<&'a Positioned> {
    let parallel = fields.peek("parallel")?;
    Some(Fields::ahead(parallel).take("items").unwrap_or(parallel))
}

/// Takes `parallel`: a step for each item.
pub(super) fn parallel(
    fields: &Fields<'_>,
    call: bool,
    known: &[(String, String)],
    map: &mut Vec<(&'static str, Out)>,
    draft: &mut Draft,
) {
    let Some(items) = items(fields) else { return };
    let Some(parallel) = fields.take("parallel") else { return };
    let own = if parallel.is_map() {
        Fields::of(parallel, "parallel.", draft)
    } else {
        Fields::ahead(parallel)
    };
    own.take("items");
    let mut each = vec![("in", Out::Value(item_texts(items)))];
    if let Some(limit) = own.take("maxConcurrent") {
        each.push(("maxParallel", limit.json().into()));
    }
    if items.words().is_none() && json_text(&items.json()).contains("${") {
        draft.fails(items.line, "an item of `parallel` is computed and is not mapped");
    }
    if let Some(text) = items.words().filter(|text| text.contains('$')) {
        match listed(&text, known) {
            Some(list) => each[0].1 = list.into(),
            None => draft.fails(items.line, format!("`parallel` over `{text}` is not mapped")),
        }
    }
    map.push(("forEach", Out::map(each)));
    if call {
        return;
    }
    draft.hint(items.line, "`${ITEM}` is the variable `ITEM` with `{{item}}`");
    let env = map.iter_mut().find(|(key, _)| *key == "env");
    let item = ("ITEM".to_owned(), Out::from("{{item}}"));
    match env {
        Some((_, Out::Map(entries))) => entries.push(item),
        _ => map.push(("env", Out::Map(vec![item]))),
    }
}

/// The items of a variable with the output of a step, which must be a list in JSON: Dagu splits other texts.
fn listed(text: &str, known: &[(String, String)]) -> Option<String> {
    let name = text.trim().strip_prefix('$')?;
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    let (_, value) = known.iter().rev().find(|(known, _)| known == name)?;
    let inner = value.strip_prefix("{{")?.strip_suffix(".output}}")?;
    Some(format!("{{{{{inner}.output | fromjson}}}}"))
}

/// An item as all parameters: the keys of a map by their names, another value as the first parameter.
fn whole_item(items: &Positioned) -> Vec<Given> {
    let line = items.line;
    let mut given: Vec<Given> = Vec::new();
    let mut seen: BTreeSet<Option<String>> = BTreeSet::new();
    for item in items.items() {
        let keys = item.entries().iter().map(|(key, _, _)| Some(key.clone()));
        let keys: Vec<Option<String>> = if item.is_map() { keys.collect() } else { vec![None] };
        for name in keys {
            if seen.insert(name.clone()) {
                let value = match &name {
                    Some(key) => format!("${{ITEM.{key}}}"),
                    None => "${ITEM}".to_owned(),
                };
                given.push(Given::new(name, Some(value), line));
            }
        }
    }
    given
}

/// The items for `forEach`, where each scalar is the text that Dagu passes.
fn item_texts(items: &Positioned) -> Json {
    let text = |value: Json| scalar(&value).map(|text| Json::from(literal(&text))).unwrap_or(value);
    let item = |item: &Positioned| match item.json() {
        Json::Object(map) => map.into_iter().map(|(key, value)| (key, text(value))).collect(),
        other => text(other),
    };
    items.items().iter().map(item).collect()
}

/// A value with placeholders for the variables that it reads; the error is what cannot be read.
fn rendered(value: &str, known: &[(String, String)]) -> Result<String, String> {
    if value.contains('`') || value.contains("$(") {
        return Err(value.to_owned());
    }
    let (mut out, mut rest) = (String::new(), value);
    while let Some(at) = rest.find('$') {
        out.push_str(&literal(&rest[..at]));
        let after = &rest[at + 1..];
        let (path, end) = match after.strip_prefix('{') {
            Some(inside) => {
                let end = inside.find('}').ok_or(rest)?;
                (inside[..end].trim(), end + 2)
            }
            None => {
                let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let end = end.unwrap_or(after.len());
                (&after[..end], end)
            }
        };
        if path.is_empty() && !after.starts_with('{') {
            out.push('$');
        } else {
            out.push_str(&placeholder(path, known).ok_or_else(|| path.to_owned())?);
        }
        rest = &after[end..];
    }
    out.push_str(&literal(rest));
    Ok(out)
}

/// The placeholder of a variable, of a key of an item, or of an output of another workflow.
fn placeholder(path: &str, known: &[(String, String)]) -> Option<String> {
    let path = path.strip_prefix("params.").unwrap_or(path);
    if let Some((_, value)) = known.iter().rev().find(|(name, _)| name == path) {
        return Some(value.clone());
    }
    let plain = |key: &str| {
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
    };
    match path.split_once('.') {
        None if path == "ITEM" => Some("{{item}}".to_owned()),
        Some(("ITEM", key)) if plain(key) => Some(format!("{{{{item['{key}']}}}}")),
        _ => None,
    }
}

/// The variables of a shell text that read outputs of other workflows, as in `${RESULT.outputs.COUNT}`, and the
/// text with names that a shell has. `calls` has the ids of the steps by the variables of their results.
pub(super) fn outputs(
    text: &str,
    line: u32,
    calls: &[(String, String)],
    draft: &mut Draft,
) -> (String, Vec<(String, String)>) {
    let (mut out, mut variables) = (text.to_owned(), Vec::new());
    for (variable, id) in calls {
        let start = format!("${{{variable}.");
        let mut from = 0;
        while let Some(at) = out[from..].find(&start).map(|at| from + at) {
            from = at + start.len();
            let Some(end) = out[from..].find('}').map(|end| from + end) else { break };
            let path = out[from..end].to_owned();
            let key = path.strip_prefix("outputs.").filter(|key| {
                !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            });
            let Some(key) = key else {
                draft.fails(line, format!("`{start}{path}}}` is not mapped"));
                continue;
            };
            let own = format!("{variable}_outputs_{key}");
            out.replace_range(at..=end, &format!("${{{own}}}"));
            let value = format!("{{{{{}.output['{key}']}}}}", reference(id));
            if !variables.contains(&(own.clone(), value.clone())) {
                variables.push((own, value));
            }
        }
    }
    (out, variables)
}

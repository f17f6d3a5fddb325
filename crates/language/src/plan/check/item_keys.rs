//! Reads of keys that no item of a `forEach` has.

use super::output_keys::listed;
use crate::definition::{ItemSource, Property, Schema};
use crate::expression::{Reference, Root, ValueTemplate};
use crate::plan::output::Output;
use crate::plan::reads::references;
use crate::plan::{Plan, PlanStep};
use kb_base::diagnostic::{Code, Diagnostic, nearest};
use kb_base::value::Json;
use std::collections::BTreeSet;

/// What is known about the items of a step before the run.
enum Items<'a> {
    /// Their keys, from a literal list; a text or a number has none.
    Literal(Vec<Vec<&'a str>>),
    /// They are the elements of a list in values of this schema.
    Elements { schema: &'a Schema, list: Vec<&'a str> },
    /// Each is a value of this schema; specialists add a `summary`.
    Values { schema: &'a Schema, summary: bool },
}

/// Reads of the current item, in the texts of the step with the `forEach`. A key that no item can have is
/// an error; one with a default is not.
pub(super) fn check(plan: &Plan) -> Vec<Diagnostic> {
    plan.steps().iter().flat_map(|step| of_step(plan, step)).collect()
}

fn of_step(plan: &Plan, step: &PlanStep) -> Vec<Diagnostic> {
    let each = step.step.for_each.as_deref();
    let Some((each, ItemSource::Value(value))) = each.map(|each| (each, &each.items)) else {
        return Vec::new();
    };
    let Some(items) = items_of(plan, value) else { return Vec::new() };
    let mut reported = BTreeSet::new();
    let reads = references(&step.step).filter(|read| read.root == Root::Item && !read.guarded);
    reads
        .filter_map(|read| {
            let path = read.path();
            let missing = (1..=path.len()).find(|&length| !items.can_have(&path[..length]))?;
            let path = &path[..missing];
            reported
                .insert(path.join("."))
                .then(|| no_such_key(step, &each.name, read, path, &items))
        })
        .collect()
}

fn items_of<'a>(plan: &'a Plan, value: &'a ValueTemplate) -> Option<Items<'a>> {
    match value {
        ValueTemplate::Literal(value) => {
            let keys = |item: &'a Json| match item {
                Json::Object(map) => map.keys().map(String::as_str).collect(),
                _ => Vec::new(),
            };
            Some(Items::Literal(value.as_array()?.iter().map(keys).collect()))
        }
        ValueTemplate::List(items) => {
            items.iter().map(literal_keys).collect::<Option<_>>().map(Items::Literal)
        }
        ValueTemplate::Map(_) => None,
        ValueTemplate::Text(text) => items_of_read(plan, text.as_read()?),
    }
}

/// The keys of an item that may contain placeholders; `None` if the item is one.
fn literal_keys(item: &ValueTemplate) -> Option<Vec<&str>> {
    match item {
        ValueTemplate::Literal(value) => {
            Some(value.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect())
        }
        ValueTemplate::Map(map) => Some(map.iter().map(|(key, _)| key.as_str()).collect()),
        ValueTemplate::List(_) => Some(Vec::new()),
        ValueTemplate::Text(_) => None,
    }
}

/// The items of `forEach: "{{scan.output.files}}"` or of a parameter with a schema.
fn items_of_read<'a>(plan: &'a Plan, read: &'a Reference) -> Option<Items<'a>> {
    match (&read.root, read.path().as_slice()) {
        (Root::Step(id), ["output", list @ ..]) => {
            let source = plan.step(plan.find(id.as_str())?);
            let output =
                Output::of(&source.step, source.specialist.as_ref(), source.child_playbook());
            let Output::Schema { schema, summary } = output else { return None };
            match &source.step.for_each {
                None => Some(Items::Elements { schema, list: list.to_vec() }),
                Some(each) if each.collect.is_none() && list.is_empty() => {
                    Some(Items::Values { schema, summary })
                }
                Some(_) => None,
            }
        }
        (Root::Param(name), list) => {
            let params = &plan.playbook().params;
            let schema = params.iter().find(|param| *param.name == **name)?.schema.as_ref()?;
            Some(Items::Elements { schema, list: list.to_vec() })
        }
        _ => None,
    }
}

impl Items<'_> {
    /// Whether an item can have this path of keys, which is not empty.
    fn can_have(&self, path: &[&str]) -> bool {
        match self {
            // The values of keys are not inspected.
            Items::Literal(items) => {
                path.len() > 1
                    || items.is_empty()
                    || items.iter().any(|keys| keys.contains(&path[0]))
            }
            Items::Elements { schema, list } => {
                schema.property_of_element(list, path) != Property::Unknown
            }
            Items::Values { summary: true, .. } if path == ["summary"] => true,
            Items::Values { schema, .. } => schema.property(path) != Property::Unknown,
        }
    }

    /// Keys that some item has, as far as they are known.
    fn keys(&self) -> Vec<&str> {
        match self {
            Items::Literal(items) => {
                items.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect()
            }
            Items::Values { schema, .. } => schema.keys(),
            Items::Elements { .. } => Vec::new(),
        }
    }
}

fn no_such_key(
    step: &PlanStep,
    item: &str,
    read: &Reference,
    path: &[&str],
    items: &Items<'_>,
) -> Diagnostic {
    let id = &step.step.id;
    let (name, parents) = path.split_last().unwrap_or((&"", &[]));
    let parent = parents.iter().fold(item.to_owned(), |text, key| format!("{text}.{key}"));
    let message = format!("`{parent}` has no key `{name}` in any item of `{id}`");
    let problem = Diagnostic::error(Code::UNKNOWN_OUTPUT_KEY, read.span, message);
    let known = if parents.is_empty() { items.keys() } else { Vec::new() };
    match nearest(name, known.iter().copied()) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None if !known.is_empty() => problem.help(format!("an item has {}", listed(&known))),
        None => match items {
            Items::Literal(_) => {
                problem.help(format!("an item has no keys: write `{{{{{item}}}}}`"))
            }
            Items::Elements { .. } | Items::Values { .. } => {
                problem.help("see the schema of the list in `forEach`")
            }
        },
    }
}

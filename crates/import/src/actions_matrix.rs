//! The matrix of a job of GitHub Actions.

use super::draft::{Draft, name};
use super::fields::{Fields, flag};
use super::output::Out;
use kb_base::value::{Json, json_text};
use kb_language::definition::Positioned;
use std::collections::{BTreeMap, BTreeSet};

/// A matrix of a job.
pub(super) struct Matrix {
    /// `matrix` or `forEach` of its steps.
    pub(super) key: (&'static str, Out),
    /// Whether the other combinations run after a failure (`fail-fast: false`).
    pub(super) finishes: bool,
    /// The values of each axis.
    pub(super) axes: BTreeMap<String, Vec<String>>,
    /// Those that only `include` has, so that some combinations may be without them.
    pub(super) optional: BTreeSet<String>,
}

/// `strategy` of a job.
pub(super) fn matrix(strategy: &Positioned, job: &str, draft: &mut Draft) -> Option<Matrix> {
    let fields = Fields::of(strategy, format!("jobs.{job}.strategy."), draft);
    let limit = fields.take("max-parallel");
    let finishes = flag(&fields, "fail-fast", draft) == Some(false);
    let found = fields.take("matrix");
    let found = found?;
    if !found.is_map() {
        let message = format!("the matrix of `{job}` is an expression and is not mapped");
        draft.fails(found.line, message);
        return None;
    }
    let values = axis_values(found);
    let mut axes = Vec::new();
    let mut map = Vec::new();
    for (axis, line, values) in found.entries() {
        match axis.as_str() {
            "include" | "exclude" => map.push((axis.clone(), combinations(axis, values, draft))),
            _ if is_computed(values) => {
                let message = format!("the axis `{axis}` has an expression and is not mapped");
                draft.fails(*line, message);
            }
            _ => axes.push((name(axis), Out::Value(values.json()))),
        }
    }
    let all = map.iter().find(|(key, _)| key == "include").map(|(_, list)| list.clone());
    match (axes.is_empty(), all) {
        // Combinations alone are a list.
        (true, Some(list)) if list != Out::Value(Json::Array(Vec::new())) => {
            map = vec![("in".to_owned(), list), ("as".to_owned(), "matrix".into())];
        }
        (true, _) => return None,
        (false, _) => map.insert(0, ("axes".to_owned(), Out::Map(axes))),
    }
    match limit.map(|limit| (limit, limit.json())) {
        Some((_, number @ Json::Number(_))) => map.push(("maxParallel".to_owned(), number.into())),
        Some((limit, _)) => {
            draft.fails(limit.line, "`max-parallel` is an expression and is not mapped");
        }
        None => {}
    }
    if finishes {
        map.push(("onItemError".to_owned(), "continue".into()));
    }
    let is_list = map.iter().any(|(key, _)| key == "in");
    let key = (if is_list { "forEach" } else { "matrix" }, Out::Map(map));
    let own = |axis: &String| found.entries().iter().any(|(own, _, _)| own == axis);
    let optional = values.keys().filter(|axis| !own(axis)).cloned().collect();
    Some(Matrix { key, finishes, axes: values, optional })
}

/// The values of the axes, also of those in `include`.
fn axis_values(matrix: &Positioned) -> BTreeMap<String, Vec<String>> {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (axis, _, list) in matrix.entries() {
        match axis.as_str() {
            "exclude" => {}
            "include" => {
                for (axis, _, value) in list.items().iter().flat_map(Positioned::entries) {
                    values.entry(axis.clone()).or_default().push(json_text(&value.json()));
                }
            }
            _ if is_computed(list) => {}
            axis => {
                let all = list.items().iter().map(|value| json_text(&value.json()));
                values.entry(axis.to_owned()).or_default().extend(all);
            }
        }
    }
    values
}

fn is_computed(value: &Positioned) -> bool {
    json_text(&value.json()).contains("${{")
}

/// The maps of `include` or `exclude`, with their axes under the names that they have as axes.
fn combinations(key: &str, list: &Positioned, draft: &mut Draft) -> Out {
    let mut found = Vec::new();
    for item in list.items() {
        if !item.is_map() || is_computed(item) {
            let message = format!("an entry of `{key}` has an expression and is not mapped");
            draft.fails(item.line, message);
            continue;
        }
        let entry = |(axis, _, value): &(String, u32, Positioned)| (name(axis), value.json());
        found.push(Json::Object(item.entries().iter().map(entry).collect()));
    }
    Out::Value(Json::Array(found))
}

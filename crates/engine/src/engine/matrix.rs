//! The combinations of a `matrix`: the product of its axes, without the excluded ones, with the included ones.

use super::item_list::too_many;
use super::scope::RunScope;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, JsonMap, json_text, limits};
use kb_language::definition::Matrix;
use kb_language::expression::{EvalError, ValueTemplate};

/// Maximum number of maps in `include` and in `exclude`; each is compared with every combination.
const MAX_MAPS: usize = 1_000;

/// An axis with its values.
type Axis = (String, Vec<Json>);

/// A combination: its values, and the key of its instance.
struct Combination {
    values: JsonMap,
    key: String,
}

/// The combinations in order and their keys, which are their values. They are counted before they are made.
pub(super) fn combinations(
    scope: &RunScope<'_>,
    matrix: &Matrix,
) -> Result<(Vec<Json>, Option<Vec<String>>), EvalError> {
    let axes = matrix.axes.iter().map(|axis| values(scope, axis));
    let axes = axes.collect::<Result<Vec<Axis>, EvalError>>()?;
    let count = axes.iter().try_fold(1usize, |count, (_, values)| count.checked_mul(values.len()));
    match count {
        Some(count) if count <= limits::FOR_EACH_ITEMS => {}
        count => return Err(too_many(count.unwrap_or(usize::MAX))),
    }
    let exclude = maps(scope, "exclude", matrix.exclude.as_ref())?;
    if let Some(unknown) = exclude.iter().flat_map(JsonMap::keys).find(|key| !is_axis(&axes, key)) {
        return Err(failure(format!(
            "`exclude` names `{unknown}`, which is no axis of the matrix"
        )));
    }
    let mut combinations = product(&axes);
    combinations.retain(|one| !exclude.iter().any(|map| agrees(one, map.iter())));
    let made = combinations.len();
    for map in maps(scope, "include", matrix.include.as_ref())? {
        include(&axes, &mut combinations, made, map);
    }
    let keys = combinations.iter().map(|one| one.key.clone()).collect();
    Ok((combinations.into_iter().map(|one| Json::Object(one.values)).collect(), Some(keys)))
}

fn values(
    scope: &RunScope<'_>,
    (name, values): &(String, ValueTemplate),
) -> Result<Axis, EvalError> {
    match scope.check_reads(values.evaluate(scope))? {
        Json::Array(values) => Ok((name.clone(), values)),
        other => {
            let kind = kb_base::value::kind_of(&other);
            Err(failure(format!("the axis `{name}` needs a list and got a value of kind `{kind}`")))
        }
    }
}

fn maps(
    scope: &RunScope<'_>,
    key: &str,
    value: Option<&ValueTemplate>,
) -> Result<Vec<JsonMap>, EvalError> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let wrong = || failure(format!("`{key}` of the matrix needs a list of maps"));
    let Json::Array(found) = scope.check_reads(value.evaluate(scope))? else {
        return Err(wrong());
    };
    if found.len() > MAX_MAPS {
        let message = format!(
            "`{key}` of the matrix has {} maps; at most {MAX_MAPS} are allowed",
            found.len()
        );
        return Err(failure(message));
    }
    let map = |found| match found {
        Json::Object(map) => Ok(map),
        _ => Err(wrong()),
    };
    found.into_iter().map(map).collect()
}

fn is_axis(axes: &[Axis], name: &str) -> bool {
    axes.iter().any(|(axis, _)| axis == name)
}

/// All combinations; the last axis varies fastest.
fn product(axes: &[Axis]) -> Vec<Combination> {
    let mut combinations = vec![Combination { values: JsonMap::new(), key: String::new() }];
    for (name, values) in axes {
        let with = |one: &Combination, value: &Json| {
            let mut own = one.values.clone();
            own.insert(name.clone(), value.clone());
            let key = joined(&one.key, value);
            Combination { values: own, key }
        };
        combinations =
            combinations.iter().flat_map(|one| values.iter().map(move |v| with(one, v))).collect();
    }
    combinations
}

fn joined(key: &str, value: &Json) -> String {
    let text = json_text(value);
    if key.is_empty() { text } else { format!("{key},{text}") }
}

/// Whether a combination has all these values.
fn agrees<'v>(one: &Combination, mut values: impl Iterator<Item = (&'v String, &'v Json)>) -> bool {
    values.all(|(name, value)| one.values.get(name) == Some(value))
}

/// Adds the values to the combinations of the product whose axes they agree with; without any, adds a combination.
fn include(axes: &[Axis], combinations: &mut Vec<Combination>, made: usize, map: JsonMap) {
    let mut matched = false;
    for one in &mut combinations[..made] {
        if agrees(one, map.iter().filter(|(name, _)| is_axis(axes, name))) {
            matched = true;
            let extra = map.iter().filter(|(name, _)| !is_axis(axes, name));
            one.values.extend(extra.map(|(name, value)| (name.clone(), value.clone())));
        }
    }
    if !matched {
        let key = map.values().fold(String::new(), |key, value| joined(&key, value));
        combinations.push(Combination { values: map, key });
    }
}

fn failure(message: String) -> EvalError {
    Box::new(Failure::new(Code::NOT_A_LIST, message))
}

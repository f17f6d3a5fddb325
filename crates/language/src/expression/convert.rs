//! Conversion between JSON and values of minijinja: exact integers, preserved key order, limited size.

use super::fault::Fault;
use kb_base::value::{Json, JsonMap, json_text, limits};
use minijinja::value::{Value, ValueKind};

/// Converts JSON to a value of minijinja.
pub(super) fn to_value(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => Value::from(int),
            (None, Some(int)) => Value::from(int),
            (None, None) => Value::from(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::from(items.iter().map(to_value).collect::<Vec<_>>()),
        Json::Object(map) => {
            Value::from_pairs(map.iter().map(|(key, item)| (key.as_str(), to_value(item))))
        }
    }
}

/// Converts a defined value to JSON, up to the size limit.
pub(super) fn from_value(value: &Value) -> Result<Json, Fault> {
    convert(value, &mut SizeBudget::default())
}

/// A value as text: strings unchanged, everything else as compact JSON.
pub(super) fn text_of(value: &Value) -> Result<String, Fault> {
    match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => from_value(value).map(|json| json_text(&json)),
    }
}

/// The approximate size of a value in bytes; an error above the limit.
pub(super) fn measure(value: &Value) -> Result<usize, Fault> {
    let mut budget = SizeBudget::default();
    fill(value, &mut budget)?;
    Ok(limits::RENDERED_BYTES - budget.0)
}

/// The number of bytes that a result may still use.
struct SizeBudget(usize);

impl Default for SizeBudget {
    fn default() -> Self {
        SizeBudget(limits::RENDERED_BYTES)
    }
}

impl SizeBudget {
    fn take(&mut self, bytes: usize) -> Result<(), Fault> {
        self.0 = self.0.checked_sub(bytes).ok_or_else(Fault::too_large)?;
        Ok(())
    }
}

fn convert(value: &Value, budget: &mut SizeBudget) -> Result<Json, Fault> {
    budget.take(2)?;
    match value.kind() {
        ValueKind::Undefined => Err(Fault::undefined()),
        ValueKind::None => Ok(Json::Null),
        ValueKind::Bool => Ok(Json::Bool(value.is_true())),
        ValueKind::Number => number(value),
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            budget.take(text.len())?;
            Ok(Json::String(text.to_owned()))
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let items = value.try_iter().map_err(Fault::of_engine)?;
            items.map(|item| convert(&item, budget)).collect::<Result<_, _>>().map(Json::Array)
        }
        ValueKind::Map => {
            let mut map = JsonMap::new();
            for key in value.try_iter().map_err(Fault::of_engine)? {
                let item = value.get_item(&key).map_err(Fault::of_engine)?;
                let key = text_of(&key)?;
                budget.take(key.len())?;
                map.insert(key, convert(&item, budget)?);
            }
            Ok(Json::Object(map))
        }
        kind => Err(Fault::failed(format!("a value of type `{kind}` cannot be converted to JSON"))),
    }
}

fn number(value: &Value) -> Result<Json, Fault> {
    if !value.is_integer() {
        let number = f64::try_from(value.clone()).map_err(Fault::of_engine)?;
        return serde_json::Number::from_f64(number)
            .map(Json::Number)
            .ok_or_else(|| Fault::failed("the result is not a finite number"));
    }
    if let Ok(int) = i64::try_from(value.clone()) {
        return Ok(int.into());
    }
    u64::try_from(value.clone())
        .map(Json::from)
        .map_err(|_| Fault::failed("the result is an integer beyond 64 bits"))
}

fn fill(value: &Value, budget: &mut SizeBudget) -> Result<(), Fault> {
    budget.take(2)?;
    match value.kind() {
        ValueKind::String => budget.take(value.as_str().map_or(0, str::len)),
        ValueKind::Seq | ValueKind::Iterable => {
            let mut items = value.try_iter().map_err(Fault::of_engine)?;
            items.try_for_each(|item| fill(&item, budget))
        }
        ValueKind::Map => {
            for key in value.try_iter().map_err(Fault::of_engine)? {
                fill(&value.get_item(&key).map_err(Fault::of_engine)?, budget)?;
                fill(&key, budget)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

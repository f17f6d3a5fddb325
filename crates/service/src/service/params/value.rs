//! Reads and checks one parameter value.

use kb_base::diagnostic::{Code, Diagnostic, nearest};
use kb_base::value::{Json, json_text};
use kb_language::definition::{Param, ParamType};
use unicode_normalization::UnicodeNormalization;

pub(super) fn unfit(message: String, help: impl Into<Option<String>>) -> Box<Diagnostic> {
    let problem = Diagnostic::error(Code::PARAMETER_INVALID, None, message);
    Box::new(Diagnostic { help: help.into(), ..problem })
}

pub(super) fn type_name(kind: ParamType) -> &'static str {
    match kind {
        ParamType::String => "text",
        ParamType::Integer => "a whole number",
        ParamType::Number => "a number",
        ParamType::Boolean => "`true` or `false`",
        ParamType::List => "a list: JSON, or values separated by commas",
        ParamType::Object => "an object in JSON, such as '{\"a\": 1}'",
        ParamType::Path => "a path",
        ParamType::Secret => "a reference to a secret: `env:NAME` or `file:PATH`",
    }
}

fn wrong(param: &Param, shown: &str) -> Box<Diagnostic> {
    let name = &param.name;
    let message = match param.kind {
        // A literal secret must not appear in a message.
        ParamType::Secret => format!("`{name}` is given a literal secret"),
        _ => format!("`{name}` is given `{shown}`"),
    };
    unfit(message, format!("`{name}` takes {}", type_name(param.kind)))
}

/// Reads a parameter that was given several times.
pub(super) fn read_many(param: &Param, texts: &[&str]) -> Result<Json, Box<Diagnostic>> {
    if param.kind == ParamType::List {
        let values: Result<Vec<Json>, Box<Diagnostic>> =
            texts.iter().map(|t| read(param, t)).collect();
        let items = values?.into_iter().flat_map(|value| match value {
            Json::Array(items) => items,
            other => vec![other],
        });
        return Ok(items.collect());
    }
    let message = format!("`{}` is given {} times", param.name, texts.len());
    Err(unfit(message, "only a list can be given more than once".to_owned()))
}

/// Reads a text by the declared type.
pub(super) fn read(param: &Param, text: &str) -> Result<Json, Box<Diagnostic>> {
    let fail = || wrong(param, text);
    match param.kind {
        ParamType::String => Ok(Json::from(text)),
        ParamType::Integer => text.trim().parse::<i64>().map(Json::from).map_err(|_| fail()),
        ParamType::Number => number(text.trim()).ok_or_else(fail),
        ParamType::Boolean => match text.trim() {
            "true" => Ok(Json::Bool(true)),
            "false" => Ok(Json::Bool(false)),
            _ => Err(fail()),
        },
        ParamType::List => list(text).ok_or_else(fail),
        ParamType::Object => match serde_json::from_str(text) {
            Ok(Json::Object(map)) => Ok(Json::Object(map)),
            _ => Err(fail()),
        },
        ParamType::Path if text.is_empty() || text.contains('\0') => Err(fail()),
        ParamType::Path => Ok(Json::from(text)),
        ParamType::Secret if is_secret_reference(text) => Ok(Json::from(text)),
        ParamType::Secret => Err(fail()),
    }
}

fn number(text: &str) -> Option<Json> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Json::from(whole));
    }
    let value: f64 = text.parse().ok()?;
    serde_json::Number::from_f64(value).map(Json::Number)
}

fn list(text: &str) -> Option<Json> {
    let text = text.trim();
    if text.starts_with('[') {
        return serde_json::from_str(text).ok().filter(Json::is_array);
    }
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    Some(parts.map(Json::from).collect())
}

fn is_secret_reference(text: &str) -> bool {
    ["env:", "file:"].iter().any(|p| text.strip_prefix(p).is_some_and(|rest| !rest.is_empty()))
}

/// Checks that a value from a file has the declared type; values are not converted.
pub(super) fn fits_type(param: &Param, value: Json) -> Result<Json, Box<Diagnostic>> {
    let fits = match param.kind {
        ParamType::String => value.is_string(),
        ParamType::Path => value.as_str().is_some_and(|t| !t.is_empty() && !t.contains('\0')),
        ParamType::Integer => value.is_i64() || value.is_u64(),
        ParamType::Number => value.is_number(),
        ParamType::Boolean => value.is_boolean(),
        ParamType::List => value.is_array(),
        ParamType::Object => value.is_object(),
        ParamType::Secret => value.as_str().is_some_and(is_secret_reference),
    };
    if fits { Ok(value) } else { Err(wrong(param, &json_text(&value))) }
}

/// Checks a value against the allowed values, pattern, bounds and schema of its declaration.
pub(super) fn check(param: &Param, value: Json) -> Result<Json, Box<Diagnostic>> {
    let value = check_enum(param, value)?;
    check_pattern(param, &value)?;
    check_bounds(param, &value)?;
    check_schema(param, &value)?;
    Ok(value)
}

/// The value as `enum` has it: texts are compared in the Unicode form NFC.
fn check_enum(param: &Param, value: Json) -> Result<Json, Box<Diagnostic>> {
    if param.one_of.is_empty() || param.one_of.contains(&value) {
        return Ok(value);
    }
    let is_same = |own: &&Json| match (own.as_str(), value.as_str()) {
        (Some(own), Some(given)) => own.nfc().eq(given.nfc()),
        _ => false,
    };
    if let Some(own) = param.one_of.iter().find(is_same) {
        return Ok(own.clone());
    }
    let known: Vec<String> = param.one_of.iter().map(json_text).collect();
    let given = json_text(&value);
    let near = nearest(&given, known.iter().map(String::as_str));
    let hint = near.map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    let message = format!("`{}` cannot be `{given}`", param.name);
    Err(unfit(message, format!("{hint}one of: {}", known.join(", "))))
}

fn check_pattern(param: &Param, value: &Json) -> Result<(), Box<Diagnostic>> {
    let (Some(pattern), Some(text)) = (&param.pattern, value.as_str()) else { return Ok(()) };
    // The pattern was checked when the definition was loaded; an invalid one matches nothing.
    let fits = regex::Regex::new(&format!("^(?:{pattern})$")).is_ok_and(|re| re.is_match(text));
    if fits {
        return Ok(());
    }
    let message = format!("`{}` is given `{text}`", param.name);
    Err(unfit(message, format!("it must match `{pattern}`")))
}

fn check_bounds(param: &Param, value: &Json) -> Result<(), Box<Diagnostic>> {
    let (size, unit) = match value {
        Json::Number(n) => (n.as_f64().unwrap_or(0.0), ""),
        Json::String(text) => (text.chars().count() as f64, " characters"),
        Json::Array(items) => (items.len() as f64, " items"),
        Json::Object(map) => (map.len() as f64, " keys"),
        Json::Null | Json::Bool(_) => return Ok(()),
    };
    let bound = match (param.min, param.max) {
        (Some(min), _) if size < min => format!("at least {min}{unit}"),
        (_, Some(max)) if size > max => format!("at most {max}{unit}"),
        _ => return Ok(()),
    };
    let verb = if value.is_number() { "is" } else { "has" };
    let message = format!("`{}` {verb} {size}{unit}", param.name);
    Err(unfit(message, bound))
}

fn check_schema(param: &Param, value: &Json) -> Result<(), Box<Diagnostic>> {
    let Some(schema) = &param.schema else { return Ok(()) };
    let violations = schema.violations(value);
    let Some(first) = violations.first() else { return Ok(()) };
    let place = match first.pointer.as_str() {
        "" => String::new(),
        pointer => format!(" at `{pointer}`"),
    };
    let message = format!("`{}` does not fit its schema{place}: {}", param.name, first.message);
    Err(unfit(message, None))
}

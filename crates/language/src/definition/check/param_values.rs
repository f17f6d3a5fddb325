//! Static rules: the default of a parameter satisfies its declaration, and its `enum` has values of its type.

use super::pattern;
use crate::definition::model::{Param, ParamType};
use crate::definition::syntax::Decoder;
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::{Json, kind_of};

/// Checks that the default of a parameter satisfies its declaration.
pub(crate) fn check(param: &Param, default: Span, pattern_span: Span, decoder: &mut Decoder) {
    if let Some(text) = &param.pattern {
        pattern::regex(text, pattern_span, decoder);
    }
    if let (Some(min), Some(max)) = (param.min, param.max)
        && min > max
    {
        let message = format!("`min` of `{}` is larger than its `max`", param.name);
        decoder.push(Diagnostic::error(Code::BAD_PARAM, param.span, message).help("swap them"));
    }
    let Some(value) = &param.default else { return };
    let Some((message, help)) = param.misfit(&format!("the default of `{}`", param.name), value)
    else {
        if param.required && !value.is_null() {
            let message = format!("`{}` has a default, so `required` has no effect", param.name);
            decoder.push(
                Diagnostic::warning(Code::NO_EFFECT, default, message)
                    .help("remove `required: true` or the default"),
            );
        }
        return;
    };
    decoder.push(
        Diagnostic::error(Code::BAD_PARAM, default, message)
            .label(param.span, "declared here")
            .help(help),
    );
}

/// Checks that the values of `enum` have the type of the parameter: no other value can be given.
pub(crate) fn check_enum(param: &Param, places: impl Iterator<Item = Span>, decoder: &mut Decoder) {
    for (value, place) in param.one_of.iter().zip(places) {
        let (fits, expected) = fits(param.kind, value);
        if fits || value.is_null() {
            continue;
        }
        let name = &param.name;
        let found = a(kind_of(value));
        let message =
            format!("`{value}` in the `enum` of `{name}` is {found}, expected {expected}");
        let help = match (param.kind, value) {
            (ParamType::String, Json::Number(_) | Json::Bool(_)) => {
                format!("write it in quotes, or give `{name}` the `type` of the value")
            }
            _ => "correct the value or the `type` of the parameter".to_owned(),
        };
        decoder.push(Diagnostic::error(Code::BAD_PARAM, place, message).help(help));
    }
}

impl Param {
    /// Message and help for a literal value that does not satisfy the declaration. `subject` names the
    /// value at the start of the message.
    pub fn misfit(&self, subject: &str, value: &Json) -> Option<(String, String)> {
        misfit(self, subject, value)
    }
}

fn misfit(param: &Param, subject: &str, value: &Json) -> Option<(String, String)> {
    if value.is_null() {
        return None;
    }
    if param.kind == ParamType::Secret {
        let reference = value
            .as_str()
            .is_some_and(|text| text.starts_with("env:") || text.starts_with("file:"));
        return (!reference).then(|| {
            (
                format!("a secret such as `{}` cannot be written into a definition", param.name),
                "write where its value is stored: `env:NAME` or `file:PATH`".to_owned(),
            )
        });
    }
    let (fits, expected) = fits(param.kind, value);
    if !fits {
        let message = format!("{subject} is {}, expected {expected}", a(kind_of(value)));
        return Some((message, "correct the value or the `type` of the parameter".to_owned()));
    }
    refused(param, subject, value)
}

/// Whether a value has a type, and the name of the type in messages.
fn fits(kind: ParamType, value: &Json) -> (bool, &'static str) {
    match kind {
        ParamType::String | ParamType::Path | ParamType::Secret => (value.is_string(), "a text"),
        ParamType::Integer => (value.is_i64() || value.is_u64(), "a whole number"),
        ParamType::Number => (value.is_number(), "a number"),
        ParamType::Boolean => (value.is_boolean(), "`true` or `false`"),
        ParamType::List => (value.is_array(), "a list"),
        ParamType::Object => (value.is_object(), "a map"),
    }
}

/// Message and help for a value of the right type that `enum`, `pattern`, `min`, `max` or `schema`
/// does not allow.
fn refused(param: &Param, subject: &str, value: &Json) -> Option<(String, String)> {
    if !param.one_of.is_empty() && !param.one_of.contains(value) {
        let known = param.one_of.iter().map(Json::to_string).collect::<Vec<_>>().join(", ");
        return Some((format!("{subject} is not in its `enum`"), format!("one of {known}")));
    }
    if let (Some(pattern), Some(text)) = (&param.pattern, value.as_str()) {
        let whole = regex::Regex::new(&format!("^(?:{pattern})$"));
        if whole.is_ok_and(|whole| !whole.is_match(text)) {
            let message = format!("{subject} does not match its `pattern`");
            return Some((message, format!("`{pattern}` must match the whole text")));
        }
    }
    let size = match value {
        Json::Number(number) => number.as_f64()?,
        Json::String(text) => text.chars().count() as f64,
        Json::Array(items) => items.len() as f64,
        Json::Object(map) => map.len() as f64,
        _ => return schema(param, subject, value),
    };
    if param.min.is_some_and(|min| size < min) || param.max.is_some_and(|max| size > max) {
        let message = format!("{subject} is not between its `min` and `max`");
        return Some((message, "correct the value or the limits".to_owned()));
    }
    schema(param, subject, value)
}

fn schema(param: &Param, subject: &str, value: &Json) -> Option<(String, String)> {
    let violation = param.schema.as_ref()?.violations(value).into_iter().next()?;
    let message = format!("{subject} does not match its schema");
    Some((message, format!("{} {}", violation.pointer, violation.message).trim().to_owned()))
}

fn a(kind: &str) -> String {
    match kind {
        "object" => "an object".to_owned(),
        other => format!("a {other}"),
    }
}

//! Schema violations as plain messages with JSON pointers.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use kb_base::value::{Json, json_text, kind_of};

/// One violation of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// JSON pointer to the invalid part; empty for the whole value.
    pub pointer: String,
    /// Message as a sentence fragment.
    pub message: String,
}

/// Maximum number of reported violations; more do not help a reader or a model.
const MOST: usize = 50;

/// Masks a text before it is quoted in a message.
pub(super) type Shown<'a> = &'a dyn Fn(&str) -> String;

pub(super) fn of(validator: &Validator, value: &Json, shown: Shown<'_>) -> Vec<Violation> {
    validator.iter_errors(value).take(MOST).map(|error| plain(&error, shown)).collect()
}

/// The first violation of an invalid value.
pub(super) fn first(validator: &Validator, value: &Json, shown: Shown<'_>) -> Vec<Violation> {
    validator.validate(value).err().iter().map(|error| plain(error, shown)).collect()
}

/// A violation of the whole value.
pub(super) fn whole(message: &str) -> Violation {
    Violation { pointer: String::new(), message: message.to_owned() }
}

fn plain(error: &ValidationError<'_>, shown: Shown<'_>) -> Violation {
    let pointer = error.instance_path().as_str().to_owned();
    let found = kind_of(error.instance());
    let message = match error.kind() {
        ValidationErrorKind::Type { kind } => format!("expected {}, found {found}", expected(kind)),
        ValidationErrorKind::Required { property } => {
            format!("`{}` is missing", json_text(property))
        }
        ValidationErrorKind::Enum { options } => {
            format!("{} is not one of {}", short(error.instance(), shown), list(options))
        }
        ValidationErrorKind::Constant { expected_value } => {
            let found = short(error.instance(), shown);
            format!("expected {}, found {found}", short(expected_value, &str::to_owned))
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            format!("unexpected key {}", quoted(unexpected))
        }
        ValidationErrorKind::Minimum { limit } => format!("must be at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("must be at most {limit}"),
        ValidationErrorKind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        ValidationErrorKind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        ValidationErrorKind::MinItems { limit } => format!("must have at least {limit} items"),
        ValidationErrorKind::MaxItems { limit } => format!("must have at most {limit} items"),
        ValidationErrorKind::MinLength { limit } => {
            format!("must have at least {limit} characters")
        }
        ValidationErrorKind::MaxLength { limit } => format!("must have at most {limit} characters"),
        ValidationErrorKind::Pattern { pattern } => format!("does not match `{pattern}`"),
        ValidationErrorKind::UniqueItems => "has an item twice".to_owned(),
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            format!("{found} matches none of the alternatives")
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            "matches more than one of the exclusive alternatives".to_owned()
        }
        ValidationErrorKind::FalseSchema => "no value is allowed here".to_owned(),
        _ => cut(&shown(&error.to_string())),
    };
    Violation { pointer, message }
}

fn expected(kind: &TypeKind) -> String {
    let name = |text: &str| match text {
        "array" => "list".to_owned(),
        other => other.to_owned(),
    };
    match kind {
        TypeKind::Single(kind) => name(kind.as_str()),
        TypeKind::Multiple(kinds) => {
            kinds.iter().map(|kind| name(kind.as_str())).collect::<Vec<_>>().join(" or ")
        }
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn list(options: &Json) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let options = options.iter().map(|option| short(option, &str::to_owned));
    cut(&options.collect::<Vec<_>>().join(", "))
}

fn short(value: &Json, shown: Shown<'_>) -> String {
    format!("`{}`", cut(&shown(&json_text(value))))
}

/// Cuts a text for a message; values can be whole files.
fn cut(text: &str) -> String {
    match text.char_indices().nth(120) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

//! The operators of the language where they differ from the engine's own: typed comparison,
//! undefined that never compares, arithmetic that stays bounded.

use super::convert::text_of;
use super::fault::Fault;
use minijinja::value::{Value, ValueKind};
use std::cmp::Ordering;
use unicode_normalization::UnicodeNormalization;

/// Maximum number of items when a list is repeated.
const REPEATED_ITEMS: usize = 100_000;

/// `left OP right`; false if either side is undefined.
pub(super) fn compare(left: &Value, operator: &str, right: &Value) -> Result<bool, Fault> {
    if left.is_undefined() || right.is_undefined() {
        return Ok(false);
    }
    match operator {
        "==" => Ok(equal(left, right)),
        "!=" => Ok(!equal(left, right)),
        "in" => contains(left, right),
        "not in" => contains(left, right).map(|found| !found),
        _ => order(left, operator, right).map(|ordering| match operator {
            "<" => ordering == Ordering::Less,
            "<=" => ordering != Ordering::Greater,
            ">" => ordering == Ordering::Greater,
            _ => ordering != Ordering::Less,
        }),
    }
}

/// The type name of a value for messages.
pub(super) fn kind(value: &Value) -> &'static str {
    match value.kind() {
        ValueKind::Undefined => "undefined",
        ValueKind::None => "null",
        ValueKind::Bool => "boolean",
        ValueKind::Number => "number",
        ValueKind::String => "string",
        ValueKind::Seq | ValueKind::Iterable => "list",
        ValueKind::Map => "object",
        _ => "value",
    }
}

/// Typed equality at every depth: `3` is not equal to `'3'`, `true` is not equal to `1`.
fn equal(left: &Value, right: &Value) -> bool {
    match (kind(left), kind(right)) {
        (a, b) if a != b => false,
        ("list", _) => {
            let (Ok(mut a), Ok(mut b)) = (left.try_iter(), right.try_iter()) else { return false };
            loop {
                match (a.next(), b.next()) {
                    (None, None) => return true,
                    (Some(a), Some(b)) if equal(&a, &b) => {}
                    _ => return false,
                }
            }
        }
        ("object", _) => {
            let Ok(mut keys) = left.try_iter() else { return false };
            let same = |key: Value| match (left.get_item(&key), right.get_item(&key)) {
                (Ok(a), Ok(b)) => equal(&a, &b),
                _ => false,
            };
            left.len() == right.len() && keys.all(same)
        }
        ("string", _) => match (left.as_str(), right.as_str()) {
            (Some(left), Some(right)) => same_text(left, right),
            _ => left == right,
        },
        _ => left == right,
    }
}

/// Whether two texts are equal in the Unicode form NFC: one `é` is a letter, another one a letter and an accent.
fn same_text(left: &str, right: &str) -> bool {
    left == right || !(left.is_ascii() && right.is_ascii()) && left.nfc().eq(right.nfc())
}

fn order(left: &Value, operator: &str, right: &Value) -> Result<Ordering, Fault> {
    let mismatch = || Fault::order(operator, kind(left), kind(right));
    match (kind(left), kind(right)) {
        ("number", "number") => left.partial_cmp(right).ok_or_else(mismatch),
        ("string", "string") => Ok(left.as_str().cmp(&right.as_str())),
        ("boolean", "boolean") => Ok(left.is_true().cmp(&right.is_true())),
        ("list", "list") => {
            let mut a = left.try_iter().map_err(Fault::of_engine)?;
            let mut b = right.try_iter().map_err(Fault::of_engine)?;
            loop {
                return Ok(match (a.next(), b.next()) {
                    (None, None) => Ordering::Equal,
                    (None, Some(_)) => Ordering::Less,
                    (Some(_), None) => Ordering::Greater,
                    (Some(a), Some(b)) => match order(&a, operator, &b)? {
                        Ordering::Equal => continue,
                        other => other,
                    },
                });
            }
        }
        _ => Err(mismatch()),
    }
}

fn contains(needle: &Value, hay: &Value) -> Result<bool, Fault> {
    match (kind(needle), kind(hay)) {
        ("string", "string") => {
            Ok(hay.as_str().unwrap_or_default().contains(needle.as_str().unwrap_or_default()))
        }
        (_, "list") => {
            Ok(hay.try_iter().map_err(Fault::of_engine)?.any(|item| equal(needle, &item)))
        }
        ("string", "object") => hay
            .try_iter()
            .map(|mut keys| keys.any(|key| equal(&key, needle)))
            .map_err(Fault::of_engine),
        (_, "object") => Ok(false),
        (a, b) => Err(Fault::search(a, b)),
    }
}

/// `left ~ right`: concatenation as text.
pub(super) fn concat(left: &Value, right: &Value) -> Result<Value, Fault> {
    let (left, right) = (text_of(left)?, text_of(right)?);
    check_size(left.len().saturating_add(right.len()))?;
    Ok(Value::from(left + &right))
}

/// Refuses `left * right` if it would repeat a string or list beyond the limits.
pub(super) fn check_repeat(left: &Value, right: &Value) -> Result<(), Fault> {
    for (what, count) in [(left, right), (right, left)] {
        let times = usize::try_from(count.clone()).unwrap_or(0);
        if let Some(text) = what.as_str() {
            check_size(text.len().saturating_mul(times))?;
        } else if kind(what) == "list" {
            let items = what.len().unwrap_or(REPEATED_ITEMS).saturating_mul(times);
            if items > REPEATED_ITEMS {
                return Err(Fault::too_large());
            }
        }
    }
    Ok(())
}

/// Refuses sizes above the limit of a result.
pub(super) fn check_size(bytes: usize) -> Result<(), Fault> {
    if bytes <= kb_base::value::limits::RENDERED_BYTES { Ok(()) } else { Err(Fault::too_large()) }
}

//! Resolves plain YAML scalars to null, booleans, numbers and text.

/// The type of a scalar by YAML's core schema, with `true` and `false` as the only booleans. The value
/// of a number is parsed from its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScalarKind {
    Null,
    Bool(bool),
    Number,
    Text,
}

/// The value of a number scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    UInt(u64),
    Float(f64),
}

/// The type of a plain scalar by YAML's core schema, except that numbers with leading zeros, infinities
/// and NaN are text (versions, postal codes and file modes are not numbers).
pub(crate) fn resolve(text: &str) -> ScalarKind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => ScalarKind::Null,
        "true" | "True" | "TRUE" => ScalarKind::Bool(true),
        "false" | "False" | "FALSE" => ScalarKind::Bool(false),
        _ if number(text).is_some() => ScalarKind::Number,
        _ => ScalarKind::Text,
    }
}

/// Parses a text as a number.
pub(crate) fn number(text: &str) -> Option<Number> {
    let first = text.bytes().next()?;
    if !(first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'.')) {
        return None;
    }
    radix(text).or_else(|| integer(text)).or_else(|| float(text))
}

fn radix(text: &str) -> Option<Number> {
    let (digits, radix) = [("0x", 16), ("0o", 8), ("0b", 2)]
        .into_iter()
        .find_map(|(prefix, radix)| Some((text.strip_prefix(prefix)?, radix)))?;
    if !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let value = u64::from_str_radix(digits, radix).ok()?;
    Some(signed(value))
}

fn integer(text: &str) -> Option<Number> {
    let digits = text.trim_start_matches(['-', '+']);
    if text.len() - digits.len() > 1 || has_leading_zero(digits) || !all_digits(digits) {
        return None;
    }
    if text.starts_with('-') {
        return text.parse().ok().map(Number::Int);
    }
    digits.parse().ok().map(signed)
}

fn signed(value: u64) -> Number {
    i64::try_from(value).map_or(Number::UInt(value), Number::Int)
}

fn float(text: &str) -> Option<Number> {
    let digits = text.trim_start_matches(['-', '+']);
    let plausible = text.len() - digits.len() <= 1
        && digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
        && digits.bytes().any(|byte| byte.is_ascii_digit())
        && !has_leading_zero(digits);
    if !plausible {
        return None;
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite()).map(Number::Float)
}

fn has_leading_zero(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit()
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_what_people_expect() {
        let cases = [
            ("1", ScalarKind::Number, Some(Number::Int(1))),
            ("-7", ScalarKind::Number, Some(Number::Int(-7))),
            ("18446744073709551615", ScalarKind::Number, Some(Number::UInt(u64::MAX))),
            ("1.50", ScalarKind::Number, Some(Number::Float(1.5))),
            ("1e3", ScalarKind::Number, Some(Number::Float(1000.0))),
            ("0x1f", ScalarKind::Number, Some(Number::Int(31))),
            ("007", ScalarKind::Text, None),
            ("1.0.0", ScalarKind::Text, None),
            ("-", ScalarKind::Text, None),
            (".", ScalarKind::Text, None),
            (".inf", ScalarKind::Text, None),
            ("yes", ScalarKind::Text, None),
            ("on", ScalarKind::Text, None),
            ("true", ScalarKind::Bool(true), None),
            ("~", ScalarKind::Null, None),
        ];
        for (text, kind, value) in cases {
            assert_eq!((resolve(text), number(text)), (kind, value), "{text}");
        }
    }
}

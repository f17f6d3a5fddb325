//! Durations as people write and read them.

use std::time::Duration;

/// The text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a duration; write a number with a unit, such as `250ms`, `90s`, `5m`, `1h30m` or `2d`"
)]
pub struct DurationError(pub String);

const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Parses `90s`, `5m`, `1h30m`, `250ms`, `2d`, `1.5s`: each unit at most once, the largest first.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let fail = || DurationError(text.to_owned());
    let mut rest = text.trim();
    let mut total = 0f64;
    let mut last = u64::MAX;
    if rest.is_empty() {
        return Err(fail());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).ok_or_else(fail)?;
        let number: f64 = rest[..digits].parse().map_err(|_| fail())?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = &rest[..letters];
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(fail)?;
        if *scale >= last {
            return Err(fail());
        }
        last = *scale;
        total += number * *scale as f64;
        rest = rest[letters..].trim_start();
    }
    if total > 1e14 {
        return Err(fail());
    }
    Ok(Duration::from_millis(total.round() as u64))
}

/// Formats a duration as human-readable text: `400ms`, `12.3s`, `4m05s`, `1h02m`.
pub fn format_duration(d: Duration) -> String {
    let ms = d.as_millis() as u64;
    match ms {
        0..=999 => format!("{ms}ms"),
        1_000..=59_999 => format!("{:.1}s", ms as f64 / 1000.0),
        60_000..=3_599_999 => format!("{}m{:02}s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{}h{:02}m", ms / 3_600_000, ms / 60_000 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_every_documented_form() {
        let cases = [
            ("90s", 90_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("250ms", 250),
            ("1.5s", 1_500),
            ("2d", 172_800_000),
            ("1h 30m", 5_400_000),
        ];
        for (text, ms) in cases {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "5", "s", "5x", "1m1h", "1s1s", "-1s", "1e9d", "5 minutes"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}

//! Formatting of numbers, costs, durations and sizes.

use crate::cli::terminal::{WARNING, paint};
use kb_base::value::{Money, Timestamp, format_duration};
use kb_core::wire::UsageView;
use kb_service::service::TimeRange;
use std::time::Duration;

/// A number with thousands separators, such as `1,234,567`.
pub(in crate::cli) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Prompt and response tokens, such as `640 + 58 tokens`.
pub(in crate::cli) fn tokens(usage: &UsageView) -> String {
    format!("{} + {} tokens", grouped(usage.prompt_tokens), grouped(usage.completion_tokens))
}

/// A cost such as `$0.01`.
pub(in crate::cli) fn cost(usage: &UsageView) -> String {
    match usage.cost_usd {
        Some(usd) => Money::from_usd(usd).to_string(),
        None => "cost unknown".to_owned(),
    }
}

/// Tokens and cost; `None` without model calls.
pub(in crate::cli) fn spent(usage: &UsageView) -> Option<String> {
    (usage.model_calls > 0).then(|| format!("{}, {}", tokens(usage), cost(usage)))
}

/// A duration such as `1m20s`.
pub(in crate::cli) fn time(ms: u64) -> String {
    format_duration(Duration::from_millis(ms))
}

/// The time of a run: that of all processes that drove it, and of the last one if there were several.
pub(in crate::cli) fn run_time(total_ms: u64, last_ms: u64) -> String {
    if last_ms < total_ms {
        format!("{} ({} since it continued)", time(total_ms), time(last_ms))
    } else {
        time(total_ms)
    }
}

/// The time between two points in whole seconds, such as `7s` or `1m05s`.
pub(super) fn clock(from: Timestamp, to: Timestamp) -> String {
    match to.since(from).as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds => format_duration(Duration::from_secs(seconds)),
    }
}

/// A duration in whole seconds, at least one, such as `1m05s`.
pub(super) fn rounded(duration: Duration) -> String {
    let seconds = duration.as_millis().div_ceil(1000).max(1) as u64;
    clock(Timestamp(0), Timestamp(seconds as i64 * 1000))
}

/// Estimated time such as `2s to 10m`.
pub(in crate::cli) fn time_range(time: &TimeRange) -> String {
    let text = |ms| rounded(Duration::from_millis(ms));
    format!("{} to {} (specialists)", text(time.min_ms), text(time.max_ms))
}

/// A size such as `1,204 bytes`.
pub(in crate::cli) fn bytes(n: u64) -> String {
    match n {
        1 => "1 byte".to_owned(),
        n => format!("{} bytes", grouped(n)),
    }
}

/// `, 2 unproven` for a run with steps whose gate did not pass; empty without any.
pub(in crate::cli) fn unproven(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(", {}", paint(WARNING, &format!("{count} unproven"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (n, text) in cases {
            assert_eq!(grouped(n), text);
        }
    }
}

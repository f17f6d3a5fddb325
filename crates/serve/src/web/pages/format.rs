//! Durations, money and sizes as pages show them.

use kb_core::wire::UsageView;

/// A duration, short.
pub(super) fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms} ms"),
        1..=59 => format!("{:.1} s", ms as f64 / 1000.0),
        60..=3599 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A duration that may not be known yet.
pub(super) fn duration_or_dash(ms: Option<u64>) -> String {
    ms.map_or_else(|| "–".to_owned(), duration)
}

/// What models cost; nothing if no model was called.
pub(super) fn cost(usage: &UsageView) -> String {
    match usage.cost_usd {
        _ if usage.model_calls == 0 => "–".to_owned(),
        None => "unknown".to_owned(),
        Some(0.0) => "$0".to_owned(),
        Some(usd) if usd < 0.01 => "< $0.01".to_owned(),
        Some(usd) => format!("${usd:.2}"),
    }
}

/// An estimate in US dollars.
pub(super) fn cost_range(min_usd: f64, max_usd: f64) -> String {
    format!("${min_usd:.4} to ${max_usd:.2}")
}

/// A number with commas.
pub(super) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// At most `most` characters of a text, with an ellipsis.
pub(super) fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let cut: String = text.chars().take(most.saturating_sub(1)).collect();
            format!("{cut}…")
        }
    }
}

/// A text as one part of the path or query of an address.
pub(super) fn part(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// The name of a question in addresses.
pub(super) fn anchor(run: &str, instance: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    format!("ask-{run}-{}", instance.chars().map(plain).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_numbers_are_short() {
        let all = [999, 4_200, 185_000, 7_500_000].map(duration);
        assert_eq!(all, ["999 ms", "4.2 s", "3 min 5 s", "2 h 5 min"]);
        assert_eq!([7, 1_000, 1_234_567].map(number), ["7", "1,000", "1,234,567"]);
        assert_eq!(short("abcdef", 4), "abc…");
        assert_eq!(part("a/b[..]"), "a%2Fb%5B%2E%2E%5D");
    }
}

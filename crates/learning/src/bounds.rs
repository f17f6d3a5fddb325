//! Shares with their uncertainty.

use serde::Serialize;

/// The 97.5 % point of the normal distribution, for bounds at 95 %.
const Z: f64 = 1.959_964;

/// A share of successes, with its bounds at 95 % (Wilson).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// Number of successes.
    pub of: u64,
    /// Number of trials.
    pub all: u64,
    /// Lower bound, from 0 to 1; 0 without trials.
    pub lower: f64,
    /// Upper bound, from 0 to 1; 1 without trials.
    pub upper: f64,
}

impl Share {
    /// The share of this many successes in this many trials.
    pub fn new(of: u64, all: u64) -> Share {
        let (lower, upper) = wilson(of, all);
        Share { of, all, lower, upper }
    }
}

/// The Wilson bounds at 95 % of a share: with few trials they are far apart, with none they are 0 and 1.
pub fn wilson(of: u64, all: u64) -> (f64, f64) {
    if all == 0 {
        return (0.0, 1.0);
    }
    let (n, p) = (all as f64, of as f64 / all as f64);
    let scale = 1.0 + Z * Z / n;
    let centre = p + Z * Z / (2.0 * n);
    let spread = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    (((centre - spread) / scale).max(0.0), ((centre + spread) / scale).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_the_literature_and_stay_within_0_and_1() {
        let close = |(lower, upper): (f64, f64), expected: (f64, f64)| {
            (lower - expected.0).abs() < 5e-4 && (upper - expected.1).abs() < 5e-4
        };
        assert!(close(wilson(8, 10), (0.4902, 0.9433)), "{:?}", wilson(8, 10));
        assert!(close(wilson(0, 3), (0.0, 0.5615)), "{:?}", wilson(0, 3));
        assert!(close(wilson(16, 16), (0.8064, 1.0)), "{:?}", wilson(16, 16));
        assert_eq!(wilson(0, 0), (0.0, 1.0));
        for all in 1..60 {
            for of in 0..=all {
                let (lower, upper) = wilson(of, all);
                let share = of as f64 / all as f64;
                let holds = (0.0..=1.0).contains(&lower) && (lower - 1e-9..=1.0).contains(&upper);
                assert!(holds && lower <= share + 1e-9 && share <= upper + 1e-9, "{of} of {all}");
            }
        }
    }
}

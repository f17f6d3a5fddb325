//! What follows from a table: other tiers and other specialists. Only what the bounds separate is suggested.

use crate::{Row, TaskKind};
use serde::Serialize;
use std::collections::BTreeMap;

/// Decided attempts that each side of a comparison has at least.
pub const MIN_DECIDED: u64 = 8;
/// The lower bound from which a smaller tier is good enough.
const GOOD: f64 = 0.6;

/// A suggestion, with the two rows that it compares.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "advice")]
pub enum Advice {
    /// Start the specialist with another tier.
    #[serde(rename_all = "camelCase")]
    Tier {
        /// Id of the specialist.
        specialist: String,
        /// Kind of the tasks.
        kind: TaskKind,
        /// The tier with which it works now.
        from: String,
        /// The tier to use.
        to: String,
        /// The row of each.
        evidence: Vec<Row>,
    },
    /// Give tasks of a kind to another specialist.
    #[serde(rename_all = "camelCase")]
    Route {
        /// Kind of the tasks.
        kind: TaskKind,
        /// The specialist whose attempts are accepted more often.
        to: String,
        /// The other one.
        from: String,
        /// The row of each.
        evidence: Vec<Row>,
    },
}

/// What the table suggests: a larger tier that is accepted more often, a smaller one that is good enough and costs less,
/// and a specialist that does a kind of task better. The bounds of the compared shares do not overlap.
pub fn suggestions(rows: &[Row]) -> Vec<Advice> {
    let decided: Vec<&Row> = rows.iter().filter(|row| row.accepted.all >= MIN_DECIDED).collect();
    let mut found = Vec::new();
    for low in &decided {
        let larger = decided.iter().filter(|high| {
            let same = (&high.specialist, high.kind) == (&low.specialist, low.kind);
            same && rank(low).zip(rank(high)).is_some_and(|(low, high)| low < high)
        });
        for high in larger {
            let evidence = vec![(*low).clone(), (**high).clone()];
            let advice = |from: &Row, to: &Row| Advice::Tier {
                specialist: low.specialist.clone(),
                kind: low.kind,
                from: from.tier.unwrap_or_default().to_owned(),
                to: to.tier.unwrap_or_default().to_owned(),
                evidence: evidence.clone(),
            };
            if high.accepted.lower > low.accepted.upper {
                found.push(advice(low, high));
            } else if low.accepted.lower >= GOOD && is_cheaper(low, high) {
                found.push(advice(high, low));
            }
        }
    }
    let best = best_rows(&decided);
    for better in best.values() {
        for worse in best.values() {
            let same = better.kind == worse.kind && better.specialist != worse.specialist;
            if same && better.accepted.lower > worse.accepted.upper {
                found.push(Advice::Route {
                    kind: better.kind,
                    to: better.specialist.clone(),
                    from: worse.specialist.clone(),
                    evidence: vec![(*worse).clone(), (*better).clone()],
                });
            }
        }
    }
    found
}

/// The order of the tiers; `None` for a model that was named directly, which is compared with nothing.
fn rank(row: &Row) -> Option<usize> {
    ["small", "medium", "large"].iter().position(|tier| Some(*tier) == row.tier)
}

fn is_cheaper(low: &Row, high: &Row) -> bool {
    low.cost_usd.zip(high.cost_usd).is_some_and(|(low, high)| low < high)
}

/// The row of each specialist and kind that is accepted most often.
fn best_rows<'r>(rows: &[&'r Row]) -> BTreeMap<(TaskKind, &'r str), &'r Row> {
    let mut best: BTreeMap<(TaskKind, &str), &Row> = BTreeMap::new();
    for row in rows {
        let known = best.entry((row.kind, &row.specialist)).or_insert(row);
        if row.accepted.lower > known.accepted.lower {
            *known = row;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Share;

    fn row(specialist: &str, tier: &'static str, of: u64, all: u64, cost: f64) -> Row {
        Row {
            specialist: specialist.to_owned(),
            kind: TaskKind::Fix,
            tier: Some(tier),
            runs: all as usize,
            attempts: all,
            accepted: Share::new(of, all),
            rework: Share::new(0, all),
            cost_usd: Some(cost),
            median_ms: 1,
        }
    }

    fn said(rows: &[Row]) -> Vec<String> {
        let text = |advice: &Advice| match advice {
            Advice::Tier { specialist, from, to, .. } => format!("{specialist}: {from} → {to}"),
            Advice::Route { from, to, .. } => format!("{from} → {to}"),
        };
        suggestions(rows).iter().map(text).collect()
    }

    #[test]
    fn only_what_the_bounds_separate_is_suggested() {
        let weak = [row("a", "small", 2, 20, 0.1), row("a", "large", 18, 20, 1.0)];
        assert_eq!(said(&weak), ["a: small → large"]);
        // Three uses say nothing, although none of three was accepted.
        let few = [row("a", "small", 0, 3, 0.1), row("a", "large", 20, 20, 1.0)];
        assert_eq!(said(&few), [""; 0]);
        let close = [row("a", "small", 10, 20, 0.1), row("a", "large", 13, 20, 1.0)];
        assert_eq!(said(&close), [""; 0]);
        let cheap = [row("a", "small", 30, 32, 0.1), row("a", "large", 31, 32, 1.0)];
        assert_eq!(said(&cheap), ["a: large → small"]);
        let dear = [row("a", "small", 30, 32, 2.0), row("a", "large", 31, 32, 1.0)];
        assert_eq!(said(&dear), [""; 0]);
    }

    #[test]
    fn a_specialist_is_preferred_by_its_best_tier() {
        let rows = [
            row("a", "small", 2, 20, 0.1),
            row("a", "medium", 3, 20, 0.1),
            row("b", "medium", 19, 20, 0.1),
        ];
        assert_eq!(said(&rows), ["a → b"]);
    }
}

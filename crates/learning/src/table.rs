//! The table: attempts by specialist, kind of task and tier.

use crate::{Share, TaskKind};
use kb_base::value::Tier;
use serde::Serialize;
use std::collections::BTreeMap;

/// One attempt of a specialist in a run whose journal verifies.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptFact {
    /// Id of the specialist.
    pub specialist: String,
    /// Kind of its task.
    pub kind: TaskKind,
    /// Tier of the attempt; `None` if a model was named directly.
    pub tier: Option<Tier>,
    /// Id of the run.
    pub run: String,
    /// Number of the attempt in its iteration, from 1.
    pub attempt: u32,
    /// Whether the gate passed (true), or the gate or the attempt itself failed (false). `None` decides nothing: it was not
    /// checked, was cancelled, or failed outside of the specialist.
    pub accepted: Option<bool>,
    /// Cost in US dollars; `None` if the price is unknown.
    pub cost_usd: Option<f64>,
    /// Duration in milliseconds, with its gate.
    pub ms: u64,
}

/// What attempts of one specialist with one kind of task and one tier came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Id of the specialist.
    pub specialist: String,
    /// Kind of the tasks.
    pub kind: TaskKind,
    /// Tier; null if models were named directly.
    pub tier: Option<&'static str>,
    /// Number of runs.
    pub runs: usize,
    /// Number of attempts.
    pub attempts: u64,
    /// Accepted attempts of those that were decided.
    pub accepted: Share,
    /// Attempts that followed a failed one, of all attempts.
    pub rework: Share,
    /// Mean cost of an attempt with a known price, in US dollars; null without one.
    pub cost_usd: Option<f64>,
    /// Median duration of an attempt, in milliseconds.
    pub median_ms: u64,
}

/// The table of these attempts, sorted by kind, specialist and tier.
pub fn table(facts: &[AttemptFact]) -> Vec<Row> {
    let mut groups: BTreeMap<(TaskKind, &str, Option<Tier>), Vec<&AttemptFact>> = BTreeMap::new();
    for fact in facts {
        groups.entry((fact.kind, &fact.specialist, fact.tier)).or_default().push(fact);
    }
    groups.into_iter().map(|(key, group)| row(key, &group)).collect()
}

fn row((kind, specialist, tier): (TaskKind, &str, Option<Tier>), group: &[&AttemptFact]) -> Row {
    let count =
        |holds: fn(&AttemptFact) -> bool| group.iter().filter(|fact| holds(fact)).count() as u64;
    let all = group.len() as u64;
    let decided = count(|fact| fact.accepted.is_some());
    let costs: Vec<f64> = group.iter().filter_map(|fact| fact.cost_usd).collect();
    let mut times: Vec<u64> = group.iter().map(|fact| fact.ms).collect();
    times.sort_unstable();
    let mut runs: Vec<&str> = group.iter().map(|fact| fact.run.as_str()).collect();
    runs.sort_unstable();
    runs.dedup();
    Row {
        specialist: specialist.to_owned(),
        kind,
        tier: tier.map(Tier::as_str),
        runs: runs.len(),
        attempts: all,
        accepted: Share::new(count(|fact| fact.accepted == Some(true)), decided),
        rework: Share::new(count(|fact| fact.attempt > 1), all),
        cost_usd: (!costs.is_empty()).then(|| costs.iter().sum::<f64>() / costs.len() as f64),
        median_ms: times.get(times.len() / 2).copied().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_counted_by_specialist_kind_and_tier() {
        let fact = |attempt, accepted, cost_usd, ms| AttemptFact {
            specialist: "a".to_owned(),
            kind: TaskKind::Test,
            tier: Some(Tier::Small),
            run: format!("r{}", ms / 10),
            attempt,
            accepted,
            cost_usd,
            ms,
        };
        let large = AttemptFact { tier: Some(Tier::Large), ..fact(3, Some(true), None, 40) };
        let facts = [
            fact(1, Some(false), Some(0.2), 10),
            fact(2, Some(true), Some(0.4), 30),
            fact(1, None, None, 11),
            large,
        ];
        let rows = table(&facts);
        let tiers: Vec<_> = rows.iter().map(|row| (row.tier, row.attempts)).collect();
        assert_eq!(tiers, [(Some("small"), 3), (Some("large"), 1)]);
        let small = &rows[0];
        assert_eq!((small.accepted.of, small.accepted.all), (1, 2));
        assert_eq!((small.rework.of, small.rework.all, small.runs), (1, 3, 2));
        assert_eq!(
            (small.cost_usd.map(|cost| (cost * 10.0).round()), small.median_ms),
            (Some(3.0), 11)
        );
        assert_eq!(rows[1].cost_usd, None);
        assert_eq!(table(&[]), []);
    }
}

//! The verdicts of a suite by operator, printed as JSON.

use super::super::bench::{Case, verdict};
use crate::proof;
use futures::StreamExt;
use kb::evidence::Verdict;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Verdicts by operator, and the cases with the wrong one.
#[derive(Default)]
pub(super) struct Table {
    rows: BTreeMap<&'static str, Counts>,
    wrong: Vec<(&'static str, String)>,
}

#[derive(Default, Clone, Copy)]
struct Counts {
    refuted: usize,
    inconclusive: usize,
    passed: usize,
}

impl Counts {
    fn all(self) -> usize {
        self.refuted + self.inconclusive + self.passed
    }

    fn percent_refuted(self) -> f64 {
        100.0 * self.refuted as f64 / self.all().max(1) as f64
    }

    fn to_json(self) -> Value {
        json!({
            "cases": self.all(), "refuted": self.refuted, "inconclusive": self.inconclusive,
            "passed": self.passed,
        })
    }
}

impl Table {
    /// Executes cases, two at a time.
    pub(super) async fn add(&mut self, cases: &[Case], wrong: Verdict) {
        let verdicts: Vec<_> =
            futures::stream::iter(cases.iter().map(verdict)).buffered(2).collect().await;
        for (case, verification) in cases.iter().zip(verdicts) {
            let row = self.rows.entry(case.operator).or_default();
            match verification.verdict {
                Verdict::Failed => row.refuted += 1,
                Verdict::Inconclusive | Verdict::Unchecked => row.inconclusive += 1,
                Verdict::Passed => row.passed += 1,
            }
            if verification.verdict == wrong {
                let reason = verification.reason.as_deref().unwrap_or_default();
                self.wrong.push((
                    case.operator,
                    format!("{}: {} → {reason}\n  {}", case.operator, case.output, case.told()),
                ));
            }
            if std::env::var_os("KB_CLAIMS_SHOW").is_some_and(|name| name == case.operator) {
                println!("{:?} {} {}", verification.verdict, case.output, case.told());
                println!("    {:?}", verification.reason);
            }
        }
    }

    /// Adds a verdict that was found elsewhere, with what is wrong about it.
    pub(super) fn note(&mut self, name: &'static str, verdict: Verdict, wrong: Option<String>) {
        let row = self.rows.entry(name).or_default();
        match verdict {
            Verdict::Failed => row.refuted += 1,
            Verdict::Inconclusive | Verdict::Unchecked => row.inconclusive += 1,
            Verdict::Passed => row.passed += 1,
        }
        self.wrong.extend(wrong.map(|wrong| (name, wrong)));
    }

    fn all(&self) -> Counts {
        self.rows.values().fold(Counts::default(), |all, row| Counts {
            refuted: all.refuted + row.refuted,
            inconclusive: all.inconclusive + row.inconclusive,
            passed: all.passed + row.passed,
        })
    }

    /// Prints the table, and records its sums.
    pub(super) fn print(&self, subject: &str, seed: u64, tasks: usize) {
        let rows: Map<String, Value> =
            self.rows.iter().map(|(name, row)| ((*name).to_owned(), row.to_json())).collect();
        let all = self.all();
        println!(
            "{}",
            json!({"subject": subject, "seed": seed, "tasks": tasks, "all": all.to_json(), "operators": rows})
        );
        let figures = [
            ("tasks", tasks),
            ("operators", self.rows.len()),
            ("cases", all.all()),
            ("refuted", all.refuted),
            ("inconclusive", all.inconclusive),
            ("passed", all.passed),
        ];
        proof::record(subject, Some(seed), figures);
    }

    fn told(&self) -> String {
        self.wrong.iter().take(20).map(|(_, told)| told.as_str()).collect::<Vec<_>>().join("\n")
    }

    pub(super) fn none_is_wrong(&self) {
        assert!(self.wrong.is_empty(), "{} wrong verdicts:\n{}", self.wrong.len(), self.told());
    }

    /// Of all cases, this percentage at most has the wrong verdict.
    pub(super) fn share_of_wrong_is_at_most(&self, percent: f64) {
        let share = 100.0 * self.wrong.len() as f64 / self.all().all().max(1) as f64;
        assert!(share <= percent, "{share:.2} % wrong:\n{}", self.told());
    }

    pub(super) fn share_of_refuted_is_at_least(&self, each: f64, all: f64) {
        for (name, row) in &self.rows {
            let share = row.percent_refuted();
            assert!(share >= each, "{name}: {share:.1} % refuted");
        }
        let share = self.all().percent_refuted();
        assert!(share >= all, "all: {share:.2} % refuted");
    }
}

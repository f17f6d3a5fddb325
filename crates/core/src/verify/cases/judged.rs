//! Gates with a judge: what it is told, and what its reply changes.

use super::{CALC, Criterion, Observation, ObservationQuery, ParsedGate, Step};
use crate::evidence::Judgement;
use crate::evidence::Verdict::{Failed, Inconclusive, Passed};
use crate::verify::{JudgeReply, judge_question};
use kb_language::definition::{Check, JudgeCheck};
use kb_language::expression::NoValues;
use serde_json::json;
use std::collections::BTreeMap;

fn judge() -> Vec<Criterion> {
    vec![Criterion::resolve(&Check::Judge(JudgeCheck::default()), &NoValues)]
}

fn reply(confidence: f64) -> Observation {
    let judgement = Judgement {
        mentions: Vec::new(),
        verified: Vec::new(),
        unverified: Vec::new(),
        confidence,
        completeness: 1.0,
        gaps: Vec::new(),
        warnings: Vec::new(),
        reasoning: "it is in the diff".to_owned(),
    };
    let (confirmed, model) = (Vec::new(), "large".to_owned());
    Observation::Judge(JudgeReply { judgement: Ok(judgement), confirmed, model })
}

#[test]
fn a_judge_reads_the_checks_of_the_verdict_and_changes_only_its_own() {
    let step = Step { criteria: judge(), ..Step::fixed().test(2, 0) };
    let report = json!({
        "modified": ["src/calc.py"], "testResult": "passed",
        "summary": "I fixed the function `add`, which subtracted its second argument.",
    });
    let gate = ParsedGate::of(step.gate(&report));
    let mut seen = step.observed(&gate);
    let before = gate.examine(&seen);
    let question = judge_question(&gate, &before, &BTreeMap::new()).expect("a question");
    for (confidence, expected) in [(0.9, Passed), (0.5, Inconclusive), (0.1, Failed)] {
        seen.insert(ObservationQuery::Judge, reply(confidence));
        let verdict = gate.with_reply(gate.examine(&step.observed(&gate)), &seen).verdict();
        assert_eq!(verdict.verdict, expected, "{:?}", verdict.reason);
        let others = verdict.checks.iter().filter(|check| check.check != "judge");
        let told: Vec<String> = others.map(|c| format!("{} {}", c.check, c.verdict)).collect();
        assert_eq!(question.findings, told);
        assert!(told.len() >= 2, "{told:?}");
        // The observations with the reply, as the journal has them, give the same.
        let again = gate.examine(&seen).verdict();
        assert_eq!((again.verdict, again.checks), (verdict.verdict, verdict.checks));
    }
    assert_eq!(before.verdict().verdict, Inconclusive);
}

#[test]
fn a_judge_is_not_asked_about_a_refuted_report() {
    let step = Step { criteria: judge(), ..Step::over(&[("src/calc.py", CALC)]) };
    let report = json!({
        "modified": ["src/calc.py"],
        "summary": "I fixed the function `add`, which subtracted its second argument.",
    });
    let gate = ParsedGate::of(step.gate(&report));
    let examined = gate.examine(&step.observed(&gate));
    assert_eq!(judge_question(&gate, &examined, &BTreeMap::new()), None);
    assert_eq!(examined.verdict().verdict, Failed);
}

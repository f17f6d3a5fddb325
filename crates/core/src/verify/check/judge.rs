//! `judge` checks: what the assessment of a larger model means for the verdict.

use super::super::answer::{JUDGED_CHARS, answer, is_judged};
use super::super::finding::Finding;
use super::super::normalized_path::ends_in;
use super::super::observation::{JudgeReply, Observation, ObservationQuery};
use super::facts::{Evaluation, Facts};
use crate::evidence::{FOLLOW_UP, Judgement, VERIFICATION_WARNING, Verdict};
use kb_base::value::{Json, Tier};
use kb_language::definition::JudgeCheck;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A `judge` check with all thresholds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgeCriterion {
    /// Tier of the judge; `None`: one above that of the specialist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// Name of its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Maximum tokens of its response; `None`: the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// More unverified mentions than this refute the answer.
    pub max_unverified: u32,
    /// A lower confidence refutes the answer.
    pub min_confidence: f64,
    /// A lower confidence is inconclusive.
    pub uncertain_below: f64,
    /// A lower completeness is inconclusive.
    pub min_completeness: f64,
    /// Number of gaps that a rework is asked to close.
    pub max_gaps: u32,
}

impl JudgeCriterion {
    pub(super) fn of(check: &JudgeCheck) -> JudgeCriterion {
        JudgeCriterion {
            tier: check.tier,
            model: check.model.clone(),
            max_tokens: check.max_tokens,
            max_unverified: check.max_unverified.unwrap_or(3),
            min_confidence: check.min_confidence.unwrap_or(0.4),
            uncertain_below: check.uncertain_below.unwrap_or(0.6),
            min_completeness: check.min_completeness.unwrap_or(0.6),
            max_gaps: check.max_gaps.unwrap_or(2),
        }
    }

    pub(super) fn evaluate(&self, facts: &Facts<'_>) -> Evaluation {
        if !is_judged(&answer(facts.output)) {
            let reason = "the answer is too short to be judged";
            return (Finding::unchecked(reason), Some(json!({"judged": false})));
        }
        match facts.observations.get(&ObservationQuery::Judge) {
            Some(Observation::Judge(JudgeReply { judgement: Ok(found), confirmed, model })) => {
                let unverified = unverified(found, confirmed, facts);
                let evidence = evidence(found, &unverified, model, self);
                (read_whole(self.finding(found, &unverified), facts), Some(evidence))
            }
            Some(Observation::Judge(JudgeReply { judgement: Err(reason), .. })) => {
                let reason = format!("the answer was not judged: {reason}");
                (Finding::inconclusive(reason), None)
            }
            _ => {
                let reason = "the answer was not judged, because another check decides";
                (Finding::inconclusive(reason), None)
            }
        }
    }

    fn finding(&self, found: &Judgement, unverified: &[&str]) -> Finding {
        let Judgement { confidence, completeness, warnings, .. } = found;
        if unverified.len() > self.max_unverified as usize {
            return Finding::failed(format!(
                "the answer names what no tool result confirms: `{}`; only name what tool calls \
                 returned",
                unverified.join("`, `")
            ));
        }
        if *confidence < self.min_confidence {
            return Finding::failed(format!(
                "the confidence is {confidence}, below {}; take another approach: {}",
                self.min_confidence, found.reasoning
            ));
        }
        if self.is_incomplete(found) {
            let gaps = match self.follow_up(found).join("; ") {
                none if none.is_empty() => "the judge names no gaps".to_owned(),
                gaps => format!("also cover: {gaps}"),
            };
            return Finding::inconclusive(format!(
                "the completeness is {completeness}, below {}; {gaps}",
                self.min_completeness,
            ));
        }
        if !warnings.is_empty() {
            let warnings = warnings.join("; ");
            return Finding::inconclusive(format!("the judge warns about the answer: {warnings}"));
        }
        if *confidence < self.uncertain_below {
            return Finding::inconclusive(format!(
                "the answer is uncertain: confidence {confidence}, below {}",
                self.uncertain_below
            ));
        }
        Finding::passed()
    }

    fn is_incomplete(&self, found: &Judgement) -> bool {
        found.completeness < self.min_completeness
    }

    /// The gaps of an incomplete answer that a rework is asked to close.
    fn follow_up<'f>(&self, found: &'f Judgement) -> Vec<&'f str> {
        let most = if self.is_incomplete(found) { self.max_gaps as usize } else { 0 };
        found.gaps.iter().take(most).map(String::as_str).collect()
    }
}

/// The finding of a judge. It can only pass an answer that it has read to the end.
fn read_whole(finding: Finding, facts: &Facts<'_>) -> Finding {
    let is_longer = answer(facts.output).chars().nth(JUDGED_CHARS).is_some();
    if finding.verdict == Verdict::Passed && is_longer {
        Finding::unchecked(format!(
            "the judge read the first {JUDGED_CHARS} characters of the answer"
        ))
    } else {
        finding
    }
}

/// The mentions that neither the judge nor the runtime could confirm: what is on disk or was changed
/// by the step exists.
fn unverified<'f>(found: &'f Judgement, confirmed: &[String], facts: &Facts<'_>) -> Vec<&'f str> {
    let changed: Vec<&str> = facts.changes.changed().collect();
    let exists = |name: &str| {
        confirmed.iter().any(|known| known == name)
            || changed.iter().any(|path| ends_in(path, name.trim_start_matches("./")))
    };
    found.unverified.iter().map(String::as_str).filter(|name| !exists(name)).collect()
}

fn evidence(
    found: &Judgement,
    unverified: &[&str],
    model: &str,
    criterion: &JudgeCriterion,
) -> Json {
    // A mention in neither list of the judge is none that it found in the results.
    let is_verified = |name: &&String| {
        let told = found.verified.contains(name) || found.unverified.contains(name);
        told && !unverified.contains(&name.as_str())
    };
    let verified: Vec<&String> = found.mentions.iter().filter(is_verified).collect();
    let warning = |code: &str, message: String| json!({"code": code, "message": message});
    let mut warnings: Vec<Json> = unverified
        .iter()
        .map(|name| warning(code_of(name), format!("could not be verified: {name}")))
        .collect();
    if found.confidence < criterion.uncertain_below {
        warnings.push(warning("LOW_CONFIDENCE", format!("confidence {}", found.confidence)));
    }
    warnings.extend(found.warnings.iter().map(|text| warning(VERIFICATION_WARNING, text.clone())));
    json!({
        "judged": true,
        "model": model,
        "verifiedMentions": verified,
        "unverifiedMentions": unverified,
        "confidence": found.confidence,
        "completeness": found.completeness,
        "gaps": found.gaps,
        FOLLOW_UP: criterion.follow_up(found),
        "warnings": warnings,
        "reasoning": found.reasoning,
    })
}

/// The code of a warning about an unverified mention.
fn code_of(name: &str) -> &'static str {
    let last = name.rsplit('/').next().unwrap_or(name);
    let has_extension = last.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty() && (1..=5).contains(&end.len()) && end.chars().all(char::is_alphanumeric)
    });
    match () {
        () if has_extension => "UNVERIFIED_FILE",
        () if name.starts_with(char::is_uppercase) => "UNVERIFIED_CLASS",
        () => "UNVERIFIED_PACKAGE",
    }
}

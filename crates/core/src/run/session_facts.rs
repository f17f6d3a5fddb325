//! What gates and judges found out about the work of a step, for the session state.

use crate::evidence::{
    BLOCKER_TOKENS, BLOCKERS, FACTS, GAPS, VERIFICATION_WARNING, Verdict, Verification,
};
use kb_base::value::{Json, cut_to_tokens};
use std::collections::BTreeSet;

/// Tokens of one fact, and characters of a confidence.
const FACT_TOKENS: usize = 60;
/// A judge's confidence below which a result is reported as a blocker (001, phase 7).
const LOW_CONFIDENCE: f64 = 0.5;
/// A judge's confidence from which the mentions that it verified are facts for later steps (001, phase 7).
const SURE: f64 = 0.7;

/// What gates found out about an instance, over all its attempts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Facts {
    pub(super) verified: Vec<String>,
    pub(super) refuted: Vec<String>,
    pub(super) gaps: Vec<String>,
    pub(super) doubt: Option<String>,
    pub(super) warnings: Vec<String>,
}

impl Facts {
    pub(super) fn of(verification: &Verification) -> Facts {
        let mut facts = Facts::default();
        for check in &verification.checks {
            if let Some(claim) = check.check.strip_prefix("claim ") {
                let claim = cut_to_tokens(claim, FACT_TOKENS);
                match check.verdict {
                    Verdict::Passed if !check.warning => facts.verified.push(claim),
                    Verdict::Failed | Verdict::Passed => facts.refuted.push(claim),
                    Verdict::Inconclusive | Verdict::Unchecked => {}
                }
            }
        }
        if let Some(found) = verification.assessment() {
            facts.add_assessment(found);
        }
        facts
    }

    fn add_assessment(&mut self, found: &Json) {
        let texts = |key: &str| {
            let list = found[key].as_array().into_iter().flatten().filter_map(Json::as_str);
            list.map(|text| cut_to_tokens(text, FACT_TOKENS)).collect::<Vec<String>>()
        };
        let confidence = found["confidence"].as_f64().unwrap_or(1.0);
        if confidence < LOW_CONFIDENCE {
            self.doubt = Some(format!("low confidence ({confidence}) of its result"));
        } else if confidence >= SURE {
            self.verified.extend(texts("verifiedMentions"));
        }
        let warnings = found["warnings"].as_array().into_iter().flatten();
        let told = warnings.filter(|one| one["code"] == VERIFICATION_WARNING);
        let told = told.filter_map(|one| one["message"].as_str());
        self.warnings.extend(told.map(|text| cut_to_tokens(text, BLOCKER_TOKENS)));
        self.refuted.extend(texts("unverifiedMentions"));
        self.gaps.extend(texts("gaps"));
    }

    /// Adds what a later attempt showed: it replaces what was verified, and what it verified is refuted
    /// no longer.
    pub(super) fn learn(&mut self, later: Facts) {
        self.refuted.extend(later.refuted);
        self.refuted.retain(|known| !later.verified.contains(known));
        unique(&mut self.refuted, FACTS);
        self.verified = later.verified;
        unique(&mut self.verified, FACTS);
        (self.gaps, self.doubt, self.warnings) = (later.gaps, later.doubt, later.warnings);
        unique(&mut self.gaps, GAPS);
        unique(&mut self.warnings, BLOCKERS);
    }
}

/// The first of equal texts, this many at most.
fn unique(texts: &mut Vec<String>, most: usize) {
    first_of_each(texts, String::clone);
    texts.truncate(most);
}

/// Keeps the first of the values with the same text.
pub(super) fn first_of_each<T>(values: &mut Vec<T>, text: impl Fn(&T) -> String) {
    let mut seen = BTreeSet::new();
    values.retain(|value| seen.insert(text(value)));
}

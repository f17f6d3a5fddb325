//! The assessment of a judge, below its verdict and in the summary of a run.

use super::table::plain;
use kb_base::value::Json;
use kb_core::wire::CheckView;

/// Whether a check is the assessment of a judge.
pub(in crate::cli) fn is_judged(check: &CheckView) -> bool {
    check.check == "judge" && check.evidence.as_ref().is_some_and(|seen| seen["judged"] == true)
}

/// Confidence, completeness, and what the judge found against the answer.
pub(super) fn assessment_text(found: &Json) -> String {
    let listed = |title: &str, key: &str| {
        let all = found[key].as_array().into_iter().flatten().filter_map(Json::as_str);
        let all: Vec<_> = all.map(plain).collect();
        if all.is_empty() { String::new() } else { format!("; {title}: {}", all.join(", ")) }
    };
    format!(
        "confidence {}, completeness {}{}{}",
        found["confidence"],
        found["completeness"],
        listed("gaps", "gaps"),
        listed("unverified", "unverifiedMentions")
    )
}

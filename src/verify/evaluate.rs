use super::check::{check, fits, is_seen, query_of};
use super::claim::{Claim, ClaimKind, claims_of};
use super::gate::Gate;
use super::observation::{ObservationQuery, Observations};
use super::reconcile::{Finding, reconcile};
use super::recorded::Recorded;
use crate::definition::ClaimPolicy;
use crate::evidence::{CheckDetail, Confidence, Verification};
use serde_json::json;
use std::collections::BTreeSet;

/// What has to be looked at, in order: the claimed paths first, because a command of a check may
/// change files.
pub fn queries(gate: &Gate) -> Vec<ObservationQuery> {
    let recorded = Recorded::of(&gate.trace);
    let claims = claims(gate);
    let claimed = claims.iter().map(|claim| ObservationQuery::Path(claim.path.clone()));
    let unseen = claims.iter().filter(|claim| is_unseen(claim, &recorded));
    let ignored = unseen.map(|claim| ObservationQuery::Ignored(claim.path.clone()));
    let mut known = BTreeSet::new();
    let all = claimed.chain(ignored).chain(gate.criteria.iter().filter_map(query_of));
    all.filter(|ask| known.insert(ask.clone())).collect()
}

/// Whether something is said to be there that no call has written; a scan may have had no eyes for it.
fn is_unseen(claim: &Claim, recorded: &Recorded<'_>) -> bool {
    claim.kind != ClaimKind::Deleted && recorded.history(&claim.path).is_empty()
}

/// The verdict over what was seen. What was asked and not seen is `inconclusive`.
pub fn evaluate(gate: &Gate, seen: &Observations) -> Verification {
    let recorded = Recorded::of(&gate.trace);
    let claims = claims(gate);
    let mut details: Vec<CheckDetail> = Vec::new();
    details.extend(gate.output_schema.as_ref().and_then(|schema| {
        let (Finding { verdict, reason }, evidence) = fits(schema, &gate.output);
        reason.is_some().then(|| CheckDetail {
            check: "output schema".to_owned(),
            verdict,
            reason,
            evidence,
        })
    }));
    details.extend(claims.iter().map(|claim| reconcile(claim, &recorded, seen, gate.claims)));
    details.extend(expected_changes(gate, &claims, &recorded));
    details.extend(gate.criteria.iter().map(|criterion| check(criterion, gate, &recorded, seen)));
    // What passes although it was refuted rests on somebody's word.
    let warned = details.iter().any(CheckDetail::warns);
    let confidence = if warned { Confidence::Low } else { confidence(gate, &claims) };
    Verification::of(confidence, details)
}

fn claims(gate: &Gate) -> Vec<Claim> {
    match gate.claims {
        ClaimPolicy::None => Vec::new(),
        ClaimPolicy::Strict | ClaimPolicy::Warn => claims_of(&gate.output, &gate.root),
    }
}

/// Work that was to change something and says and shows nothing.
fn expected_changes(gate: &Gate, claims: &[Claim], recorded: &Recorded<'_>) -> Option<CheckDetail> {
    if !gate.expect_changes || !claims.is_empty() {
        return None;
    }
    let changed: Vec<&str> = recorded.differing().collect();
    let Finding { verdict, reason } = match changed.is_empty() {
        true => Finding::inconclusive(
            "the step was expected to change files, but it claims nothing and no change was recorded",
        ),
        false => Finding::passed(),
    };
    let shown: Vec<&str> = changed.iter().take(20).copied().collect();
    let evidence = Some(json!({"changed": changed.len(), "files": shown}));
    Some(CheckDetail { check: "changes".to_owned(), verdict, reason, evidence })
}

/// The weakest of the proofs: what was looked at now counts most, what only the output says least.
fn confidence(gate: &Gate, claims: &[Claim]) -> Confidence {
    let only_seen = gate.criteria.iter().all(is_seen);
    let has_some = !claims.is_empty() || !gate.criteria.is_empty();
    match (has_some, only_seen) {
        (true, true) => Confidence::High,
        (true, false) if !claims.is_empty() || gate.criteria.iter().any(is_seen) => {
            Confidence::Medium
        }
        _ => Confidence::Low,
    }
}

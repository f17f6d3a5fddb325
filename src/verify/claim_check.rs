//! Claims compared with the recorded changes and with the files on disk.

use super::claim::{Claim, ClaimKind};
use super::finding::Finding;
use super::observation::{Observation, ObservationError, ObservationQuery, Observations};
use super::recorded_changes::{History, RecordedChanges, is_same_content};
use crate::definition::ClaimPolicy;
use crate::evidence::{CheckDetail, FileKind, FileState, Verdict};
use crate::value::WARNING;
use serde_json::json;

/// The verdict over one claim. Under `claims: warn` a refuted claim passes with a warning.
pub(super) fn check_claim(
    claim: &Claim,
    recorded: &RecordedChanges<'_>,
    seen: &Observations,
    policy: ClaimPolicy,
) -> CheckDetail {
    let history = recorded.history(&claim.path);
    let now = match seen.get(&ObservationQuery::Path(claim.path.clone())) {
        Some(Observation::Path(now)) => now.as_ref().map(Option::as_ref),
        _ => Err(&STOPPED),
    };
    let finding = match now {
        Ok(now) => {
            let ignored = seen.get(&ObservationQuery::Ignored(claim.path.clone()))
                == Some(&Observation::Ignored(true));
            find(claim, &history, recorded, now, ignored)
        }
        Err(ObservationError { denied: true, reason }) => {
            Finding::failed(format!("`{}` is claimed as {}, but {reason}", claim.path, claim.kind))
        }
        Err(ObservationError { reason, .. }) => Finding::inconclusive(format!(
            "`{}` is claimed as {}, but could not be inspected: {reason}",
            claim.path, claim.kind
        )),
    };
    let finding = with_policy(finding, policy);
    CheckDetail {
        check: format!("claim {} {}", claim.kind, claim.path),
        verdict: finding.verdict,
        reason: finding.reason,
        evidence: Some(json!({
            "calls": history.calls(),
            "before": history.before().map(brief),
            "recorded": history.after().map(brief),
            "now": now.ok().flatten().map(brief),
        })),
    }
}

/// Under `claims: warn` a refuted claim passes with a warning.
pub(super) fn with_policy(finding: Finding, policy: ClaimPolicy) -> Finding {
    if policy != ClaimPolicy::Warn || finding.verdict != Verdict::Failed {
        return finding;
    }
    let reason = finding.reason.map(|reason| format!("{WARNING}{reason}"));
    Finding { verdict: Verdict::Passed, reason }
}

static STOPPED: ObservationError = ObservationError { denied: false, reason: String::new() };

fn brief(state: &FileState) -> serde_json::Value {
    json!({"kind": state.kind, "size": state.size, "sha256": state.sha256})
}

fn find(
    claim: &Claim,
    history: &History<'_>,
    recorded: &RecordedChanges<'_>,
    now: Option<&FileState>,
    ignored: bool,
) -> Finding {
    if history.is_empty() {
        return match now {
            Some(state) if state.kind == FileKind::Directory => folder(claim, recorded),
            _ => unrecorded(claim, recorded, now.is_some(), ignored),
        };
    }
    match claim.kind {
        ClaimKind::Created => created(claim, history, now),
        ClaimKind::Modified => modified(claim, history, now),
        ClaimKind::Deleted => deleted(claim, history, now),
    }
}

/// The verdict if no recorded call changed the path.
fn unrecorded(
    claim: &Claim,
    recorded: &RecordedChanges<'_>,
    exists: bool,
    ignored: bool,
) -> Finding {
    let path = &claim.path;
    let (did, there) = match (claim.kind, exists) {
        (ClaimKind::Created, false) => ("wrote it", " and it is not on disk"),
        (ClaimKind::Created, true) => {
            ("wrote it; the existing file is not the work of this step", "")
        }
        (ClaimKind::Modified, false) => ("changed it", " and it is not on disk"),
        (ClaimKind::Modified, true) => ("changed it", ""),
        (ClaimKind::Deleted, false) => ("deleted it; it did not exist before", ""),
        (ClaimKind::Deleted, true) => ("deleted it", " and it still exists"),
    };
    let reason =
        format!("`{path}` is claimed as {}, but no recorded call {did}{there}", claim.kind);
    // An incomplete record can hide a call, but the disk still refutes the claim.
    let refuted = exists == (claim.kind == ClaimKind::Deleted);
    let hidden = "ignore rules exclude it, so changes by commands are not recorded";
    let gap = recorded.gap().or(ignored.then_some(hidden));
    match gap.filter(|_| !refuted) {
        Some(gap) => Finding::inconclusive(format!("{reason}; {gap}")),
        None => Finding::failed(reason),
    }
}

/// A folder counts as created or modified if a file below it was.
fn folder(claim: &Claim, recorded: &RecordedChanges<'_>) -> Finding {
    let path = &claim.path;
    if claim.kind == ClaimKind::Deleted {
        return Finding::failed(format!("`{path}` is claimed as deleted, but it still exists"));
    }
    match recorded.differs_below(path) {
        true => Finding::passed(),
        false => Finding::failed(format!(
            "the folder `{path}` is claimed as {}, but no recorded call changed a file in it",
            claim.kind
        )),
    }
}

fn created(claim: &Claim, history: &History<'_>, now: Option<&FileState>) -> Finding {
    if history.before().is_some() {
        let path = &claim.path;
        return Finding::failed(format!(
            "`{path}` is claimed as created, but it existed before the step started"
        ));
    }
    still_as_recorded(claim, history, now)
}

fn modified(claim: &Claim, history: &History<'_>, now: Option<&FileState>) -> Finding {
    let path = &claim.path;
    if history.before().is_none() && !history.was_modified() {
        return Finding::failed(format!(
            "`{path}` is claimed as modified, but it did not exist before: the step created it"
        ));
    }
    let same = match (history.before(), history.after()) {
        (Some(before), Some(after)) => is_same_content(before, after) == Some(true),
        _ => false,
    };
    if same {
        return Finding::failed(format!(
            "`{path}` is claimed as modified, but its content is the same as before the step"
        ));
    }
    still_as_recorded(claim, history, now)
}

fn deleted(claim: &Claim, history: &History<'_>, now: Option<&FileState>) -> Finding {
    let path = &claim.path;
    match (history.after(), now) {
        (None, None) if history.before().is_none() => Finding::failed(format!(
            "`{path}` is claimed as deleted, but it did not exist before the step started"
        )),
        (None, None) => Finding::passed(),
        (Some(_), None) => Finding::failed(format!(
            "`{path}` is claimed as deleted and is gone, but the last recorded call wrote it{}",
            by(history)
        )),
        (None, Some(_)) => Finding::failed(format!(
            "`{path}` is claimed as deleted and a recorded call deleted it, but it exists again"
        )),
        (Some(_), Some(_)) => {
            Finding::failed(format!("`{path}` is claimed as deleted, but it still exists"))
        }
    }
}

/// The file on disk must have the content that the last recorded call wrote.
fn still_as_recorded(claim: &Claim, history: &History<'_>, now: Option<&FileState>) -> Finding {
    let (path, kind) = (&claim.path, claim.kind);
    let Some(left) = history.after() else {
        return Finding::failed(format!(
            "`{path}` is claimed as {kind}, but the last recorded call deleted it{}",
            by(history)
        ));
    };
    let Some(now) = now else {
        return Finding::failed(format!(
            "`{path}` is claimed as {kind} and a recorded call wrote it{}, but it is no longer on \
             disk",
            by(history)
        ));
    };
    match is_same_content(left, now) {
        Some(true) => Finding::passed(),
        Some(false) => Finding::failed(format!(
            "`{path}` is claimed as {kind}, but its content differs from what the last recorded \
             call wrote{}: {} bytes now, {} then, with another digest",
            by(history),
            now.size,
            left.size
        )),
        None => Finding::inconclusive(format!(
            "`{path}` is claimed as {kind}, but no digest of the written content was recorded"
        )),
    }
}

fn by(history: &History<'_>) -> String {
    history
        .last_call()
        .map_or(String::new(), |call| format!(" (`{}`, call `{}`)", call.tool, call.id))
}

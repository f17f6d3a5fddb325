//! Claims compared with the recorded changes and with the files on disk.

use super::claim::Claim;
use super::claim_content::{Subject, anchored};
use super::claim_kind::ClaimKind;
use super::finding::Finding;
use super::observation::{Observation, ObservationError, ObservationQuery, Observations};
use super::recorded_changes::{History, RecordedChanges, is_same_content};
use super::unclear_claim::or_unclear;
use crate::evidence::{CheckDetail, FileKind, FileState, Verdict};
use kb_base::value::{Json, counted};
use kb_language::definition::ClaimPolicy;
use serde_json::json;

/// The longest path and the longest name that a file can have, in bytes.
const MAX_PATH: usize = 4_096;
const MAX_NAME: usize = 255;

/// The queries that a file claim needs.
pub(super) fn claim_queries(claim: &Claim) -> impl Iterator<Item = ObservationQuery> {
    let location = ObservationQuery::Location(claim.path.clone());
    std::iter::once(location).chain(below_query(claim))
}

/// The query for the files below a path that is claimed as created, if it can be a folder.
fn below_query(claim: &Claim) -> Option<ObservationQuery> {
    let Claim { path, kind, .. } = claim;
    let is_below = !path.is_empty() && !path.starts_with('/') && !path.starts_with("..");
    let may_be =
        *kind == ClaimKind::Created && is_below && !path.contains(['*', '?', '[', '{', '\\']);
    may_be.then(|| ObservationQuery::Files { pattern: format!("{path}/**"), count: None })
}

/// The verdict over one claim. Under `claims: warn` a refuted claim passes with a warning.
pub(super) fn check_claim(
    claim: &Claim,
    recorded: &RecordedChanges<'_>,
    (seen, output): (&Observations, &Json),
    policy: ClaimPolicy,
) -> CheckDetail {
    let subject = subject(claim, recorded, seen);
    let finding = match &subject {
        Ok(subject) => {
            let finding = find(claim, subject, recorded, seen);
            if finding.verdict == Verdict::Passed {
                let more = anchored(claim, subject, recorded, seen);
                let finding = more.or_else(|| repeated(claim, subject)).unwrap_or(finding);
                let is_denied = claim.denied && !claim.noted;
                if is_denied && finding.verdict == Verdict::Passed {
                    finding.doubted_as("was not done")
                } else {
                    finding
                }
            } else {
                or_unclear(finding, claim, recorded, (seen, output))
            }
        }
        Err(finding) => or_unclear(finding.clone(), claim, recorded, (seen, output)),
    };
    let finding = finding.under(policy);
    let direct = recorded.history(&claim.path);
    let history = subject.as_ref().map_or(&direct, |subject| &subject.history);
    let evidence = json!({
        "calls": history.calls(),
        "before": history.before().map(brief),
        "recorded": history.after().map(brief),
        "now": subject.as_ref().ok().and_then(|subject| subject.now).map(brief),
    });
    finding.into_detail(format!("claim {} {}", claim.kind, claim.path), Some(evidence))
}

/// The doubt about a path that a list has more often than the step changed it.
fn repeated(claim: &Claim, subject: &Subject<'_>) -> Option<Finding> {
    let Claim { path, times, .. } = claim;
    let changes = subject.history.calls().len().max(1);
    (*times > changes).then(|| {
        let was = counted(changes, "time");
        Finding::inconclusive(format!("`{path}` is listed {times} times, and was changed {was}"))
    })
}

/// What is known about the path, or the verdict if no file can have it or it was not observed.
fn subject<'a>(
    claim: &Claim,
    recorded: &'a RecordedChanges<'_>,
    seen: &'a Observations,
) -> Result<Subject<'a>, Finding> {
    let Claim { path, kind, .. } = claim;
    let unseen = |error: &ObservationError| {
        let ObservationError { denied, reason } = error;
        if *denied {
            Finding::failed(format!("`{path}` is claimed as {kind}, but {reason}"))
        } else {
            Finding::inconclusive(format!(
                "`{path}` is claimed as {kind}, but could not be inspected: {reason}"
            ))
        }
    };
    if path.len() > MAX_PATH || path.split('/').any(|name| name.len() > MAX_NAME) {
        let shown: String = path.chars().take(60).collect();
        let reason =
            format!("`{shown}…` is claimed as {kind}, but no file can have a path so long");
        return Err(Finding::failed(reason));
    }
    let location = match seen.get(&ObservationQuery::Location(path.clone())) {
        Some(Observation::Location(location)) => location.as_ref().map_err(unseen)?,
        _ => return Err(unseen(&STOPPED)),
    };
    if let Some(reason) = &location.impossible {
        return Err(Finding::failed(format!("`{path}` is claimed as {kind}, but {reason}")));
    }
    let own = Subject {
        history: recorded.history(&location.entry),
        now: location.state.as_ref(),
        ignored: location.ignored,
        empty: location.empty,
    };
    // A write through a link changes the file that the link leads to.
    match &location.target {
        Some((target, state)) if own.history.is_empty() && *kind != ClaimKind::Deleted => {
            Ok(Subject { history: recorded.history(target), now: Some(state), ..own })
        }
        _ => Ok(own),
    }
}

static STOPPED: ObservationError = ObservationError { denied: false, reason: String::new() };

fn brief(state: &FileState) -> serde_json::Value {
    json!({"kind": state.kind, "size": state.size, "sha256": state.sha256})
}

fn find(
    claim: &Claim,
    subject: &Subject<'_>,
    recorded: &RecordedChanges<'_>,
    seen: &Observations,
) -> Finding {
    let Subject { history, now, ignored, .. } = subject;
    if history.is_empty() {
        return match now {
            Some(state) if state.kind == FileKind::Directory => {
                folder(claim, recorded, subject, has_old(claim, recorded, seen))
            }
            None if claim.kind == ClaimKind::Deleted && recorded.deleted_below(&claim.path) => {
                Finding::passed()
            }
            None if claim.path.contains('*') => Finding::inconclusive(format!(
                "`{}` is claimed as {}, and which files a pattern means is not known; name each file",
                claim.path, claim.kind
            )),
            _ => unrecorded(claim, recorded, now.is_some(), *ignored),
        };
    }
    if claim.temporary && history.was_temporary() && now.is_none() {
        return Finding::passed();
    }
    match claim.kind {
        ClaimKind::Created => created(claim, history, *now),
        ClaimKind::Modified => modified(claim, history, *now),
        ClaimKind::Written if history.before().is_none() => created(claim, history, *now),
        ClaimKind::Written => modified(claim, history, *now),
        ClaimKind::Changed => match (history.before(), history.after()) {
            (_, None) => deleted(claim, history, *now),
            (None, Some(_)) => created(claim, history, *now),
            (Some(_), Some(_)) => modified(claim, history, *now),
        },
        ClaimKind::Deleted => deleted(claim, history, *now),
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
        (ClaimKind::Created | ClaimKind::Written, false) => ("wrote it", " and it is not on disk"),
        (ClaimKind::Created | ClaimKind::Written, true) => {
            ("wrote it; the existing file is not the work of this step", "")
        }
        (ClaimKind::Modified | ClaimKind::Changed, false) => {
            ("changed it", " and it is not on disk")
        }
        (ClaimKind::Modified | ClaimKind::Changed, true) => ("changed it", ""),
        (ClaimKind::Deleted, false) => ("deleted it; it did not exist before", ""),
        (ClaimKind::Deleted, true) => ("deleted it", " and it still exists"),
    };
    let reason =
        format!("`{path}` is claimed as {}, but no recorded call {did}{there}", claim.kind);
    // An incomplete record can hide a call, but the disk still refutes the claim.
    let is_temporary = claim.temporary && !exists && recorded.is_named_by_command(path);
    let refuted = exists == (claim.kind == ClaimKind::Deleted) && !is_temporary;
    let hidden = "ignore rules exclude it, so changes by commands are not recorded";
    // What a command makes and deletes again leaves no record.
    let made = || claim.kind == ClaimKind::Deleted && recorded.is_named_by_command(path);
    let within = (is_temporary || !exists && made()).then_some("a command names it");
    let gap = recorded.gap().or(ignored.then_some(hidden)).or(within);
    match gap.filter(|_| !refuted) {
        Some(gap) => Finding::inconclusive(format!("{reason}; {gap}")),
        None => Finding::failed(reason),
    }
}

/// Whether a file below a folder is one that the step did not make; `None` if that is not known.
fn has_old(claim: &Claim, recorded: &RecordedChanges<'_>, seen: &Observations) -> Option<bool> {
    let Some(query) = below_query(claim) else { return Some(false) };
    let Some(Observation::Files(Ok(files))) = seen.get(&query) else { return None };
    let is_old = files.iter().any(|file| recorded.history(&file.path).is_empty());
    Some(recorded.gap().is_none() && is_old)
}

/// A folder counts as created or modified if a file below it was.
fn folder(
    claim: &Claim,
    recorded: &RecordedChanges<'_>,
    subject: &Subject<'_>,
    is_old: Option<bool>,
) -> Finding {
    let path = &claim.path;
    let is_old = if subject.ignored { Some(false) } else { is_old };
    if claim.kind == ClaimKind::Deleted {
        return Finding::failed(format!("`{path}` is claimed as deleted, but it still exists"));
    }
    if is_old == Some(true) || claim.kind == ClaimKind::Created && recorded.existed_below(path) {
        return Finding::failed(format!(
            "the folder `{path}` is claimed as created, but files in it existed before the step \
             started"
        ));
    }
    if is_old.is_none() {
        return Finding::inconclusive(format!(
            "the folder `{path}` is claimed as created, and whether files in it existed before is not known"
        ));
    }
    if recorded.differs_below(path) {
        Finding::passed()
    } else if subject.empty {
        Finding::inconclusive(format!(
            "the folder `{path}` is claimed as {}, but changes of empty folders are not recorded",
            claim.kind
        ))
    } else {
        Finding::failed(format!(
            "the folder `{path}` is claimed as {}, but no recorded call changed a file in it",
            claim.kind
        ))
    }
}

fn created(claim: &Claim, history: &History<'_>, now: Option<&FileState>) -> Finding {
    if history.before().is_some() {
        let path = &claim.path;
        return other_kind(
            claim,
            history,
            format!("`{path}` is claimed as created, but it existed before the step started"),
        );
    }
    let finding = still_as_recorded(claim, history, now);
    let is_link = now.is_some_and(|now| now.kind == FileKind::Symlink);
    if is_link && finding.verdict == Verdict::Passed {
        return Finding::inconclusive(format!(
            "`{}` is claimed as {}, but the step created a link and no file",
            claim.path, claim.kind
        ));
    }
    finding
}

fn modified(claim: &Claim, history: &History<'_>, now: Option<&FileState>) -> Finding {
    let path = &claim.path;
    if history.before().is_none() && !history.was_modified() {
        let reason = format!(
            "`{path}` is claimed as modified, but it did not exist before: the step created it"
        );
        return other_kind(claim, history, reason);
    }
    let same = history.is_same(true);
    if same.is_none() {
        return Finding::inconclusive(format!(
            "`{path}` is claimed as modified, but no digest of its earlier content was recorded"
        ));
    }
    if same == Some(true) && history.mode_changed() {
        return Finding::inconclusive(format!(
            "`{path}` is claimed as modified, but only its mode changed"
        ));
    }
    if same == Some(true) {
        return Finding::failed(format!(
            "`{path}` is claimed as modified, but its content is the same as before the step"
        ));
    }
    still_as_recorded(claim, history, now)
}

fn deleted(claim: &Claim, history: &History<'_>, now: Option<&FileState>) -> Finding {
    let path = &claim.path;
    match (history.after(), now) {
        // A file that the step made and deleted again was deleted.
        (None, None) if history.before().is_none() => Finding::inconclusive(format!(
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
        (Some(_), Some(_)) => other_kind(
            claim,
            history,
            format!("`{path}` is claimed as deleted, but it still exists"),
        ),
    }
}

/// The verdict over a path that the step changed in another way than claimed. Beside a note, or if the output says of the
/// path that it was made and deleted, and a call did delete it, each word alone may be right. What was added can be lines.
fn other_kind(claim: &Claim, history: &History<'_>, reason: String) -> Finding {
    let also = claim.also_made && claim.kind == ClaimKind::Modified;
    let between = claim.temporary && history.was_deleted();
    match claim.noted || between || also || claim.added {
        true => Finding::inconclusive(reason),
        false => Finding::failed(reason),
    }
}

/// The file on disk must have the content that the last recorded call wrote.
fn still_as_recorded(claim: &Claim, history: &History<'_>, now: Option<&FileState>) -> Finding {
    let (path, kind) = (&claim.path, claim.kind);
    let Some(left) = history.after() else {
        return other_kind(
            claim,
            history,
            format!(
                "`{path}` is claimed as {kind}, but the last recorded call deleted it{}",
                by(history)
            ),
        );
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

//! The content that a claim about a file describes: its digest, its lines, and texts in it.

use super::claim::Claim;
use super::finding::Finding;
use super::observation::{Observation, Observations};
use super::recorded_changes::{History, RecordedChanges};
use crate::evidence::FileState;

/// What the runtime knows about the path of a claim.
pub(super) struct Subject<'a> {
    pub(super) history: History<'a>,
    pub(super) now: Option<&'a FileState>,
    /// Whether ignore rules exclude the path.
    pub(super) ignored: bool,
    /// Whether it is a folder without entries.
    pub(super) empty: bool,
}

/// The verdict over the content that a claim describes; `None` if the file has it.
pub(super) fn anchored(
    claim: &Claim,
    subject: &Subject<'_>,
    recorded: &RecordedChanges<'_>,
    seen: &Observations,
) -> Option<Finding> {
    let path = &claim.path;
    if let Some(claimed) = claim.lines {
        let lines = subject.history.changed_lines();
        let fits = lines.is_some_and(|lines| {
            let (added, removed) = (lines.added, lines.removed);
            [added, removed, added + removed, added.max(removed)].contains(&claimed)
        });
        if !fits {
            return Some(Finding::inconclusive(format!(
                "{claimed} lines of `{path}` are claimed to have been changed, and the recorded difference does not \
                 show that"
            )));
        }
    }
    if let Some(hash) = &claim.hash {
        let digest = subject.now.and_then(|now| now.sha256);
        match digest.map(|digest| (hash.is_of(digest), claim.is_digest_of_text(hash))) {
            Some((Some(true), _) | (_, true)) => {}
            None => {
                return Some(Finding::inconclusive(format!("`{path}` has no digest to compare")));
            }
            Some((None, false)) => {
                return Some(Finding::inconclusive(format!(
                    "the claimed digest of `{path}` is not its SHA-256, and no other is compared"
                )));
            }
            Some((Some(false), false)) => {
                return Some(Finding::failed(format!(
                    "`{path}` is claimed to have another digest than its content has"
                )));
            }
        }
    }
    if let Some(from) = &claim.renamed {
        let digest = |state: Option<&FileState>| state.and_then(|state| state.sha256);
        let was = digest(recorded.history(from).before());
        if was.is_none() || was != digest(subject.now) {
            return Some(Finding::inconclusive(format!(
                "`{from}` is claimed to have been renamed to `{path}`, whose content is another one"
            )));
        }
    }
    let occurrences = |text: &str| match seen.get(&claim.text_query(text)) {
        Some(Observation::Files(Ok(files))) => files.first().and_then(|file| file.occurrences),
        _ => None,
    };
    let unread = || Some(Finding::inconclusive(format!("the content of `{path}` was not read")));
    let inserted = claim.snippet.as_deref().map(occurrences);
    match inserted {
        Some(None) => return unread(),
        Some(Some(0)) => {
            return Some(Finding::failed(format!(
                "`{path}` is claimed to contain a text that it does not contain"
            )));
        }
        Some(Some(_)) | None => {}
    }
    let shows = |text: &str, mark: char| subject.history.has_in_difference(text, mark);
    if let Some(text) = claim.snippet.as_deref() {
        let added = shows(text, '+');
        if added == Some(false) || added.is_none() && claim.is_insertion {
            return Some(Finding::inconclusive(format!(
                "`{path}` has the claimed text, and no recorded difference shows that the step added it"
            )));
        }
    }
    let earlier = claim.earlier.as_deref()?;
    let finding = match (occurrences(earlier), subject.history.contained(earlier)) {
        (Some(1..), _) | (_, Some(true)) => None,
        (Some(0), Some(false)) => Some(Finding::failed(format!(
            "`{path}` is claimed to have contained a text before the change that it did not contain"
        ))),
        (Some(0), None) => {
            Some(Finding::inconclusive(format!("the earlier content of `{path}` is not known")))
        }
        (None, _) => unread(),
    };
    finding.or_else(|| {
        let removed = !subject.history.removes_lines() || shows(earlier, '-') != Some(false);
        (!removed).then(|| {
            Finding::inconclusive(format!(
                "`{path}` contained the claimed text, and no recorded difference shows that the step removed it"
            ))
        })
    })
}

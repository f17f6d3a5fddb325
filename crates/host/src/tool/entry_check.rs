//! The checks and anchors of a memory entry, evaluated against the files of the project.

use super::call::Refusal;
use crate::workspace::{FileAccess, Workspace, matched_files};
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_base::value::{Digest, Json};
use kb_core::evidence::Verdict;
use kb_core::verify::{Criterion, Gate, Observation, ObservationQuery, Observations, ParsedGate};
use kb_language::definition::load_checks;
use kb_memory::{Anchor, CheckOutcome, Entry};
use std::collections::BTreeMap;

/// Evaluates the anchors and checks of an entry: file checks of a gate, with the same verdicts. Blocks.
///
/// An anchor whose file changed holds again if the entry has checks and all pass; the digests of its files are in the
/// outcome then.
pub fn check_entry(files: &Workspace, entry: &Entry, by: &str) -> CheckOutcome {
    let anchors = anchors_hold(files, &entry.anchors);
    let digests = match &anchors {
        Ok(digests) => digests.clone(),
        Err(_) => present_digests(files, &entry.anchors),
    };
    let outcome = |failed: Option<String>| CheckOutcome {
        failed,
        has_checks: !entry.checks.is_empty(),
        digests: digests.clone(),
        by: by.to_owned(),
    };
    let gone = entry.anchors.iter().find(|anchor| !digests.contains_key(&anchor.path));
    match (gone, anchors, entry.checks.is_empty()) {
        (Some(anchor), ..) => outcome(Some(format!("`{}` is gone", anchor.path))),
        (None, Err(why), true) => outcome(Some(why)),
        (None, Ok(_), true) => outcome(None),
        (None, _, false) => outcome(failed_check(files, &entry.checks)),
    }
}

/// The digests of the files of these anchors, if each is as it was: the digest is equal, or the excerpt is still there.
///
/// # Errors
///
/// What changed.
pub(super) fn anchors_hold(
    files: &Workspace,
    anchors: &[Anchor],
) -> Result<BTreeMap<String, Digest>, String> {
    let mut digests = BTreeMap::new();
    for anchor in anchors {
        let path = &anchor.path;
        let bytes = files.read_file(path).map_err(|_| format!("`{path}` is gone"))?;
        let digest = Digest::of(&bytes);
        let same = anchor.sha256.is_none_or(|known| known == digest);
        let text = || String::from_utf8_lossy(&bytes);
        let holds = match &anchor.excerpt {
            Some(excerpt) => text().contains(excerpt.as_str()),
            None => same,
        };
        if !holds {
            return Err(format!("`{path}` changed"));
        }
        digests.insert(path.clone(), digest);
    }
    Ok(digests)
}

/// Maximum number of bytes of a file that an anchor names.
const ANCHORED: u64 = 4 << 20;

/// Refuses checks that would tell about files that the tool may not read.
///
/// # Errors
///
/// The first such file.
pub(super) fn require_readable(files: &FileAccess, checks: &[Json]) -> Result<(), Refusal> {
    let Ok(checks) = load_checks(checks) else { return Ok(()) };
    let scope = kb_language::expression::NoValues;
    let criteria = checks.iter().map(|check| Criterion::resolve(check, &scope)).collect();
    for query in ParsedGate::of(Gate::of_checks(criteria)).queries() {
        let (ObservationQuery::Files { pattern, .. } | ObservationQuery::Location(pattern)) = query
        else {
            continue;
        };
        let matched = matched_files(&files.workspace, &pattern, None).unwrap_or_default();
        let names = matched.into_iter().map(|file| file.path).chain([pattern]);
        for name in names {
            let located = files.locate(&name).is_ok();
            if !located
                && (!files.permit(&name)
                    || files.workspace.symlink_stat(&name).is_ok_and(|state| state.is_some()))
            {
                let message =
                    format!("the settings do not allow `{}` to read `{name}`", files.tool);
                return Err(Refusal::denied(Failure::new(Code::POLICY_DENIED, message)));
            }
        }
    }
    Ok(())
}

/// The anchor with the digest of its file as it is now.
///
/// # Errors
///
/// A path that the tool may not read, or no file, and an excerpt that the file does not have.
pub(super) fn anchored(files: &FileAccess, anchor: Anchor) -> Result<Anchor, Refusal> {
    let located = files.locate(&anchor.path)?;
    let size = files.workspace.symlink_stat(&located.shown)?.map_or(0, |state| state.size);
    if size > ANCHORED {
        let message =
            format!("`{}` has {size} bytes; an anchor has at most {ANCHORED}", located.shown);
        return Err(Refusal::failed(Failure::new(Code::MEMORY_REFUSED, message)));
    }
    let bytes = files.workspace.read_file(&located.shown)?;
    let text = String::from_utf8_lossy(&bytes);
    if anchor.excerpt.as_ref().is_some_and(|excerpt| !text.contains(excerpt.as_str())) {
        let message = format!("`{}` does not contain the excerpt of the anchor", located.shown);
        let failure = Failure::new(Code::MEMORY_REFUSED, message);
        return Err(Refusal::failed(failure.help("copy a part of one line as it is in the file")));
    }
    Ok(Anchor { sha256: Some(Digest::of(&bytes)), path: located.shown, ..anchor })
}

fn present_digests(files: &Workspace, anchors: &[Anchor]) -> BTreeMap<String, Digest> {
    let digest = |path: &str| files.read_file(path).ok().map(Digest::of);
    let all = anchors.iter();
    all.filter_map(|anchor| Some((anchor.path.clone(), digest(&anchor.path)?))).collect()
}

/// Why one of the checks does not pass; `None` if all do.
fn failed_check(files: &Workspace, checks: &[Json]) -> Option<String> {
    let checks = match load_checks(checks) {
        Ok(checks) => checks,
        Err(why) => return Some(why),
    };
    let scope = kb_language::expression::NoValues;
    let criteria = checks.iter().map(|check| Criterion::resolve(check, &scope)).collect();
    let gate = ParsedGate::of(Gate::of_checks(criteria));
    let observed: Observations = gate
        .queries()
        .into_iter()
        .map(|query| {
            let seen = match &query {
                ObservationQuery::Files { pattern, count } => {
                    Observation::Files(matched_files(files, pattern, count.as_deref()))
                }
                ObservationQuery::Location(_)
                | ObservationQuery::Ignored(_)
                | ObservationQuery::Committed(_)
                | ObservationQuery::Command { .. }
                | ObservationQuery::Names(_)
                | ObservationQuery::Definitions { .. }
                | ObservationQuery::IgnoredChanges(_)
                | ObservationQuery::Judge => Observation::Stopped,
            };
            (query, seen)
        })
        .collect();
    let verdict = gate.examine(&observed).verdict();
    let bad = verdict.checks.iter().find(|detail| detail.verdict != Verdict::Passed)?;
    Some(bad.reason.clone().unwrap_or_else(|| format!("{} did not pass", bad.check)))
}

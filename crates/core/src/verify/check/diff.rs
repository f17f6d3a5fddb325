//! `diff` checks: which files a step changed since it started, and by how many lines.

use super::super::check_evidence::with_facts;
use super::super::finding::Finding;
use super::super::path_glob::PathGlob;
use super::super::recorded_changes::RecordedChanges;
use super::facts::{Evaluation, Facts};
use kb_base::value::counted;
use kb_language::definition::DiffCheck;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Maximum number of files in the evidence and in a reason.
const LISTED: usize = 20;
const NAMED: usize = 5;

/// A `diff` check with its values rendered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffCriterion {
    /// Globs of the only files that may change; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
    /// Globs of files that must not change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbid: Vec<String>,
    /// Maximum number of changed files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_files: Option<u32>,
    /// Maximum number of added and removed lines together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_lines: Option<u32>,
}

impl DiffCriterion {
    pub(super) fn of(check: &DiffCheck) -> DiffCriterion {
        DiffCriterion {
            only: check.only.clone(),
            forbid: check.forbid.clone(),
            max_files: check.max_files,
            max_lines: check.max_lines,
        }
    }

    pub(super) fn evaluate(&self, facts: &Facts<'_>) -> Evaluation {
        let changes = facts.changes;
        let changed: Vec<&str> = changes.changed().filter(|path| !changes.is_cache(path)).collect();
        let lines = |path: &&str| changes.history(path).changed_lines();
        let sum = changed.iter().filter_map(lines).fold((0u64, 0u64), |sum, lines| {
            (sum.0.saturating_add(lines.added), sum.1.saturating_add(lines.removed))
        });
        let listed: Vec<_> = changed
            .iter()
            .take(LISTED)
            .map(|path| {
                let lines = lines(path);
                json!({
                    "path": path,
                    "added": lines.map(|lines| lines.added),
                    "removed": lines.map(|lines| lines.removed),
                })
            })
            .collect();
        let evidence = json!({
            "changed": changed.len(), "added": sum.0, "removed": sum.1, "files": listed,
        });
        let contents = changes.contents(changed.iter().copied());
        let evidence = with_facts(evidence, None::<&DiffCriterion>, contents);
        let finding = self
            .refused_path(&changed)
            .or_else(|| self.too_many_files(&changed))
            .or_else(|| self.too_many_lines(&changed, sum.0.saturating_add(sum.1), changes))
            .or_else(|| {
                changes.gap().map(|gap| {
                    Finding::inconclusive(format!(
                        "the recorded changes are within the limits, but {gap}"
                    ))
                })
            });
        (finding.unwrap_or_else(Finding::passed), Some(evidence))
    }

    fn refused_path(&self, changed: &[&str]) -> Option<Finding> {
        let forbid = PathGlob::list(&self.forbid);
        let only = self.only.as_deref().map(PathGlob::list);
        let is_forbidden = |path: &str| forbid.iter().any(|glob| glob.covers(path, true));
        let is_outside = |path: &str| {
            only.as_ref().is_some_and(|only| !only.iter().any(|glob| glob.covers(path, false)))
        };
        let forbidden: Vec<&str> =
            changed.iter().copied().filter(|path| is_forbidden(path)).collect();
        if !forbidden.is_empty() {
            let (paths, globs) = (named(&forbidden), self.forbid.join("`, `"));
            let reason = format!("the step changed {paths}, but `forbid` names `{globs}`");
            return Some(Finding::failed(reason));
        }
        let outside: Vec<&str> = changed.iter().copied().filter(|path| is_outside(path)).collect();
        if outside.is_empty() {
            return None;
        }
        let (paths, globs) =
            (named(&outside), self.only.as_deref().unwrap_or_default().join("`, `"));
        Some(Finding::failed(format!("the step changed {paths}, but only `{globs}` may change")))
    }

    fn too_many_files(&self, changed: &[&str]) -> Option<Finding> {
        let most = self.max_files.filter(|most| changed.len() > *most as usize)?;
        let (found, paths) = (counted(changed.len(), "file"), named(changed));
        Some(Finding::failed(format!("the step changed {found} ({paths}), and {most} may change")))
    }

    /// `known` is the number of lines in files whose difference is known.
    fn too_many_lines(
        &self,
        changed: &[&str],
        known: u64,
        changes: &RecordedChanges<'_>,
    ) -> Option<Finding> {
        let most = u64::from(self.max_lines?);
        if known > most {
            return Some(Finding::failed(format!(
                "the step changed {known} lines, and {most} may change"
            )));
        }
        let unknown =
            changed.iter().find(|path| changes.history(path).changed_lines().is_none())?;
        Some(Finding::inconclusive(format!(
            "the number of changed lines in `{unknown}` is not known: it is binary or too large"
        )))
    }
}

/// Paths for a reason.
fn named(paths: &[&str]) -> String {
    let listed = paths.iter().take(NAMED).map(|path| format!("`{path}`")).collect::<Vec<_>>();
    match paths.len().saturating_sub(NAMED) {
        0 => listed.join(", "),
        more => format!("{} and {more} more", listed.join(", ")),
    }
}

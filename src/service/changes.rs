//! What a run changed on disk, from what the runtime itself has recorded; nothing is looked at anew.

use super::inspect::Reader;
use super::{Project, ServiceError};
use crate::evidence::{Change, ChangeKind, FileKind, FileState};
use crate::run::{Event, Record};
use crate::value::Digest;
use serde::Serialize;
use std::collections::BTreeMap;

/// A file that a step, or one item of it, left in another state than it found it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepChange {
    /// The step's id.
    pub step: String,
    /// The step, or one item of it.
    pub instance: String,
    /// Of its iterations, from 1.
    pub iteration: u32,
    /// Relative to the workspace.
    pub path: String,
    /// `created`, `modified` or `deleted`.
    pub change: &'static str,
    /// What it was; null where it was not there.
    pub before: Option<SeenFile>,
    /// What it became; null where it is gone.
    pub after: Option<SeenFile>,
}

/// A file as it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeenFile {
    /// Its size.
    pub bytes: u64,
    /// Digest of its content, where it was taken.
    pub sha256: Option<Digest>,
}

/// Every recorded change of a run, or of one step or item of it: steps in the order in which they first
/// changed something, their files by path. What a step made and undid again is no change.
pub fn run_diff(
    project: &Project,
    name: &str,
    only: Option<&str>,
) -> Result<Vec<StepChange>, ServiceError> {
    let mut reader = Reader::open(project, name)?;
    if let Some(step) = only {
        reader.has_step(step)?;
    }
    let mut found: Vec<Own> = Vec::new();
    for (event, place) in reader.placed()? {
        let Event::Recorded { record, .. } = &event else { continue };
        let Record::ToolResult { invocation, .. } = &**record else { continue };
        let (step, instance) = (place.step.to_string(), place.instance.to_string());
        if only.is_some_and(|only| step != only && instance != only) {
            continue;
        }
        let own = |own: &Own| own.instance == instance && own.iteration == place.iteration;
        let at = found.iter().position(own).unwrap_or_else(|| {
            let (files, iteration) = (BTreeMap::new(), place.iteration);
            found.push(Own { step, instance: instance.clone(), iteration, files });
            found.len() - 1
        });
        invocation.changes.iter().for_each(|change| found[at].add(change));
    }
    Ok(found.iter().flat_map(Own::changes).collect())
}

/// What one instance changed in one iteration.
struct Own {
    step: String,
    instance: String,
    iteration: u32,
    files: BTreeMap<String, Change>,
}

impl Own {
    /// The first state before and the last state after are what is left of several changes.
    fn add(&mut self, change: &Change) {
        let known = self.files.entry(change.path.clone()).or_insert_with(|| change.clone());
        known.after.clone_from(&change.after);
    }

    fn changes(&self) -> impl Iterator<Item = StepChange> + '_ {
        self.files.values().filter_map(|change| {
            let kind = match change.kind()? {
                ChangeKind::Created => "created",
                ChangeKind::Modified => "modified",
                ChangeKind::Deleted => "deleted",
            };
            let state = change.after.as_ref().or(change.before.as_ref())?;
            (state.kind != FileKind::Directory).then(|| StepChange {
                step: self.step.clone(),
                instance: self.instance.clone(),
                iteration: self.iteration,
                path: change.path.clone(),
                change: kind,
                before: change.before.as_ref().map(SeenFile::of),
                after: change.after.as_ref().map(SeenFile::of),
            })
        })
    }
}

impl SeenFile {
    fn of(state: &FileState) -> SeenFile {
        SeenFile { bytes: state.size, sha256: state.sha256 }
    }
}

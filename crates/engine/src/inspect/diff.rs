//! The file changes of a run, as the runtime recorded them. The workspace is not read. Start at
//! [`run_diff`].

use super::file_diff::{
    ChangedFile, FileDiff, FileDiffKind, FileSnapshot, Patch, join_renamed, kind_of_change,
};
use super::{InspectError, Reader};
use kb_core::evidence::{Change, FileKind, Invocation, MergedTree, Purpose, Record};
use kb_core::run::Event;
use kb_core::wire::InstanceRef;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The file changes of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunDiff {
    /// The run whose changes these are.
    pub run: String,
    /// Steps and items, in the order of their first recorded call.
    pub steps: Vec<StepDiff>,
}

/// The file changes of a step or item in one iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepDiff {
    /// The step that made the changes.
    pub step: String,
    /// Name of the step instance: the step id, or `step[item]`.
    pub instance: String,
    /// Number of the iteration, from 1.
    pub iteration: u32,
    /// Whether all commands of the step were observed; if not, changes may be missing.
    pub recorded: bool,
    /// Whether the manifest of the workspace was complete; if not, changes may be missing.
    pub complete: bool,
    /// Changed files, by path. A change that the step undid again is left out.
    pub files: Vec<FileDiff>,
}

/// The recorded file changes of a run, or of one step or item.
pub fn run_diff(mut reader: Reader, only: Option<&str>) -> Result<RunDiff, InspectError> {
    if let Some(step) = only {
        reader.require_step(step)?;
    }
    let mut found: Vec<InstanceChanges> = Vec::new();
    let mut instances = BTreeSet::new();
    while let Some(placed) = reader.next_stored()? {
        for (_, event, place) in placed {
            instances.insert(place.instance.to_string());
            let wanted = |only: &str| place.step.as_str() == only || *place.instance == *only;
            if let Event::Merged { trees, .. } = &event {
                for tree in trees {
                    instances.insert(tree.instance.clone());
                    if only.is_none_or(|only| place.step.as_str() == only || tree.instance == *only)
                    {
                        merged(&mut found, tree, &place);
                    }
                }
            } else if only.is_none_or(wanted) {
                apply(&mut found, &event, &place);
            }
        }
    }
    if let Some(item) = only.filter(|only| only.contains('[') && !instances.contains(*only)) {
        let known = instances.into_iter().collect();
        return Err(InspectError::UnknownStep { name: item.to_owned(), known });
    }
    let steps = found.into_iter().map(InstanceChanges::diff).collect();
    Ok(RunDiff { run: reader.run().to_string(), steps })
}

fn apply(found: &mut Vec<InstanceChanges>, event: &Event, place: &InstanceRef) {
    match event {
        Event::Recorded { record, .. } => {
            let Record::ToolResult { invocation, .. } = &**record else { return };
            match invocation.purpose {
                Purpose::Execution => changes_of(found, place).add(invocation),
                Purpose::Verification if has_changes(invocation) => {
                    changes_of(found, place).add_changes(invocation);
                }
                Purpose::Verification | Purpose::Reported => {}
            }
        }
        // A process without a recorded call was not observed.
        Event::AttemptEnded { streams: Some(_), .. } => {
            let changes = changes_of(found, place);
            changes.unwatched |= !changes.ran;
            changes.ran = false;
        }
        _ => {}
    }
}

/// Whether a command of a check changed files, or may have.
fn has_changes(check: &Invocation) -> bool {
    let is_partial = check.process.as_ref().is_some_and(|process| process.manifest_truncated);
    is_partial || !check.changes.is_empty()
}

/// Adds the files that a merge wrote into the project.
fn merged(found: &mut Vec<InstanceChanges>, tree: &MergedTree, place: &InstanceRef) {
    let place = InstanceRef { instance: tree.instance.as_str().into(), ..place.clone() };
    changes_of(found, &place).merged.extend(tree.files.iter().cloned());
}

/// The changes of one step instance in one iteration.
struct InstanceChanges {
    step: String,
    instance: String,
    iteration: u32,
    /// Whether the command of the current attempt was recorded.
    ran: bool,
    unwatched: bool,
    truncated: bool,
    files: BTreeMap<String, FileHistory>,
    /// The files that a merge wrote into the project.
    merged: BTreeSet<String>,
}

struct FileHistory {
    change: Change,
    patches: Vec<Patch>,
}

fn changes_of<'f>(
    found: &'f mut Vec<InstanceChanges>,
    place: &InstanceRef,
) -> &'f mut InstanceChanges {
    let is_it = |known: &InstanceChanges| {
        known.instance == *place.instance && known.iteration == place.iteration
    };
    let at = found.iter().position(is_it).unwrap_or_else(|| {
        found.push(InstanceChanges {
            step: place.step.to_string(),
            instance: place.instance.to_string(),
            iteration: place.iteration,
            ran: false,
            unwatched: false,
            truncated: false,
            files: BTreeMap::new(),
            merged: BTreeSet::new(),
        });
        found.len() - 1
    });
    &mut found[at]
}

impl InstanceChanges {
    fn add(&mut self, invocation: &Invocation) {
        let process = invocation.process.as_deref();
        self.ran = process.is_some();
        let unwatched = process.is_some_and(|process| !process.watched);
        self.unwatched |= unwatched && invocation.changes.is_empty();
        self.add_changes(invocation);
    }

    fn add_changes(&mut self, invocation: &Invocation) {
        let process = invocation.process.as_deref();
        self.truncated |= process.is_some_and(|process| process.manifest_truncated);
        for change in &invocation.changes {
            self.change(invocation, change);
        }
    }

    /// Merges several changes of one file: the first state before and the last state after count.
    fn change(&mut self, invocation: &Invocation, change: &Change) {
        let history = self.files.entry(change.path.clone()).or_insert_with(|| FileHistory {
            change: Change { same_content: true, diff: None, ..change.clone() },
            patches: Vec::new(),
        });
        // The changes of a child run are recorded again when it ends again.
        history.patches.retain(|patch| patch.call != invocation.id || patch.tool != "playbook");
        history.change.after.clone_from(&change.after);
        history.change.same_content &= change.same_content;
        history.patches.extend(change.diff.clone().map(|text| Patch {
            call: invocation.id.clone(),
            tool: invocation.tool.clone(),
            text,
        }));
    }

    fn diff(self) -> StepDiff {
        // A merge names all files, also those of a command that was not observed.
        let unwatched = self.unwatched && self.merged.is_empty();
        let others: Vec<String> =
            self.merged.into_iter().filter(|path| !self.files.contains_key(path)).collect();
        let mut files =
            join_renamed(self.files.into_values().filter_map(FileHistory::diff).collect());
        files.extend(others.into_iter().map(|path| FileDiff {
            path,
            change: FileDiffKind::Merged,
            from: None,
            before: None,
            after: None,
            patches: Vec::new(),
        }));
        files.sort_by(|a, b| a.path.cmp(&b.path));
        StepDiff {
            step: self.step,
            instance: self.instance,
            iteration: self.iteration,
            recorded: !unwatched,
            complete: !self.truncated,
            files,
        }
    }
}

impl FileHistory {
    fn diff(self) -> Option<ChangedFile> {
        let Change { path, before, after, .. } = &self.change;
        let state = after.as_ref().or(before.as_ref())?;
        if state.kind == FileKind::Directory {
            return None;
        }
        let diff = FileDiff {
            path: path.clone(),
            change: kind_of_change(&self.change)?,
            from: None,
            before: before.as_ref().map(FileSnapshot::of),
            after: after.as_ref().map(FileSnapshot::of),
            patches: self.patches,
        };
        Some((diff, self.change))
    }
}

//! The file changes of a run, as the runtime recorded them. The workspace is not read. Start at
//! [`run_diff`].

use super::{InspectError, Reader};
use kb_base::value::Digest;
use kb_core::evidence::{Change, FileKind, FileState, Invocation, MergedTree, Purpose, Record};
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

/// A file whose state differs before and after the step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    /// Path relative to the workspace.
    pub path: String,
    /// Kind of the change.
    pub change: FileDiffKind,
    /// Path before a rename.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// State before the step; null if the file did not exist.
    pub before: Option<FileSnapshot>,
    /// State after the step; null if the file was deleted.
    pub after: Option<FileSnapshot>,
    /// Text differences, one for each call that wrote the file; empty if none was recorded.
    pub patches: Vec<Patch>,
}

/// Kind of a file change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileDiffKind {
    /// The file is new.
    Created,
    /// The content changed.
    Modified,
    /// Only the permissions changed.
    Mode,
    /// The file type changed, for example from a file to a link.
    Replaced,
    /// The file was written again with the same content.
    Rewritten,
    /// The path changed, and possibly the content.
    Renamed,
    /// The file no longer exists.
    Deleted,
    /// The merge of a worktree or copy wrote the file; its states were not recorded.
    Merged,
    /// The file changed since the run started, and no record says how.
    Unrecorded,
}

impl FileDiffKind {
    /// The name in JSON and in the terminal.
    pub fn as_str(self) -> &'static str {
        match self {
            FileDiffKind::Created => "created",
            FileDiffKind::Modified => "modified",
            FileDiffKind::Mode => "mode",
            FileDiffKind::Replaced => "replaced",
            FileDiffKind::Rewritten => "rewritten",
            FileDiffKind::Renamed => "renamed",
            FileDiffKind::Deleted => "deleted",
            FileDiffKind::Merged => "merged",
            FileDiffKind::Unrecorded => "unrecorded",
        }
    }
}

/// The text difference that one call made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Patch {
    /// Id of the tool call.
    pub call: String,
    /// Name of the tool; `run` for the command of a step.
    pub tool: String,
    /// Hunks in the format of `diff -u`.
    pub text: String,
}

/// The state of a file at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileSnapshot {
    /// File type: `file`, `symlink` or `other`.
    pub kind: FileKind,
    /// Size in bytes.
    pub bytes: u64,
    /// Permissions in octal.
    pub mode: String,
    /// Digest of the content, or of the target of a link; null if it was not computed.
    #[schemars(with = "Option<String>")]
    pub sha256: Option<Digest>,
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
                Purpose::Verification => {}
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

/// A file change with the recorded states, which identify a renamed file.
type ChangedFile = (FileDiff, Change);

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

fn kind_of_change(change: &Change) -> Option<FileDiffKind> {
    let (before, after) = match (&change.before, &change.after) {
        (Some(before), Some(after)) => (before, after),
        (None, Some(_)) => return Some(FileDiffKind::Created),
        (Some(_), None) => return Some(FileDiffKind::Deleted),
        (None, None) => return None,
    };
    let digests = before.sha256.zip(after.sha256);
    let same = change.same_content || digests.is_some_and(|(before, after)| before == after);
    // Without digests, equal size, time and inode mean that only the permissions changed.
    let untouched = |s: &FileState| (s.size, s.mtime_ns, s.inode);
    let same = same || (digests.is_none() && untouched(before) == untouched(after));
    Some(if before.kind != after.kind {
        FileDiffKind::Replaced
    } else if same && before.mode != after.mode {
        FileDiffKind::Mode
    } else if same && (change.same_content || digests.is_some()) {
        FileDiffKind::Rewritten
    } else {
        FileDiffKind::Modified
    })
}

/// Joins a deleted and a created path into a rename if they are the same file.
fn join_renamed(mut files: Vec<ChangedFile>) -> Vec<FileDiff> {
    let is_same = |gone: &FileState, came: &FileState| {
        let content = gone.sha256.zip(came.sha256);
        gone.kind == came.kind
            && gone.inode == came.inode
            && content.map_or(gone.size == came.size, |(gone, came)| gone == came)
    };
    let mut at = 0;
    while at < files.len() {
        let came =
            files[at].1.after.clone().filter(|_| files[at].0.change == FileDiffKind::Created);
        let gone = came.and_then(|came| {
            files.iter().position(|(file, change)| {
                let before = change.before.as_ref();
                file.change == FileDiffKind::Deleted
                    && before.is_some_and(|gone| is_same(gone, &came))
            })
        });
        if let Some(gone) = gone {
            let (old, _) = files.remove(gone);
            at -= usize::from(gone < at);
            let file = &mut files[at].0;
            (file.change, file.from, file.before) =
                (FileDiffKind::Renamed, Some(old.path), old.before);
            file.patches.clear();
        }
        at += 1;
    }
    files.into_iter().map(|(file, _)| file).collect()
}

impl FileSnapshot {
    /// What a person sees of a state.
    pub fn of(state: &FileState) -> FileSnapshot {
        FileSnapshot {
            kind: state.kind,
            bytes: state.size,
            mode: format!("{:o}", state.mode),
            sha256: state.sha256,
        }
    }
}

//! What a run changed on disk, from what the runtime itself has recorded; nothing is looked at anew.

use super::inspect::Reader;
use super::{Project, ResourceKind, ServiceError};
use crate::evidence::{Change, FileKind, FileState, Invocation, Record};
use crate::run::Event;
use crate::value::{Digest, Json};
use crate::wire::InstanceRef;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What a run changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunDiff {
    /// The run's id.
    pub run: String,
    /// Steps, and items of steps, in the order in which they first did something that could change
    /// files.
    pub steps: Vec<StepDiff>,
}

/// What a step, or one item of it, changed in one iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepDiff {
    /// The step's id.
    pub step: String,
    /// The step, or one item of it.
    pub instance: String,
    /// Of its iterations, from 1.
    pub iteration: u32,
    /// Whether everything that it did was watched; else it may have changed more.
    pub recorded: bool,
    /// Whether the workspace was small enough to be looked at as a whole.
    pub complete: bool,
    /// By path. What it made and undid again is no change.
    pub files: Vec<FileDiff>,
}

/// A file that was left in another state than it was found in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    /// Relative to the workspace.
    pub path: String,
    /// What happened to it.
    pub change: FileDiffKind,
    /// What it was called before it was renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What it was; null where it was not there.
    pub before: Option<FileSnapshot>,
    /// What it became; null where it is gone.
    pub after: Option<FileSnapshot>,
    /// What changed in its text, one for each call that wrote it; empty where it is not known.
    pub patches: Vec<Patch>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileDiffKind {
    /// It was not there before.
    Created,
    /// Its content is another.
    Modified,
    /// Only its permissions are others.
    Mode,
    /// It is of another kind: a link where a file was.
    Replaced,
    /// It was written again with the content that it had.
    Rewritten,
    /// It has another name, and may have another content.
    Renamed,
    /// It is there no more.
    Deleted,
}

impl FileDiffKind {
    /// The word for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            FileDiffKind::Created => "created",
            FileDiffKind::Modified => "modified",
            FileDiffKind::Mode => "mode",
            FileDiffKind::Replaced => "replaced",
            FileDiffKind::Rewritten => "rewritten",
            FileDiffKind::Renamed => "renamed",
            FileDiffKind::Deleted => "deleted",
        }
    }
}

/// What one call changed in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Patch {
    /// The call's id.
    pub call: String,
    /// Its tool; `run` for the command of a step.
    pub tool: String,
    /// Hunks as `diff -u` writes them.
    pub text: String,
}

/// A file as it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileSnapshot {
    /// `file`, `symlink` or `other`.
    pub kind: FileKind,
    /// Its size.
    pub bytes: u64,
    /// Its permissions, in octal.
    pub mode: String,
    /// Digest of its content, or of where a link leads, where it was taken.
    pub sha256: Option<Digest>,
}

/// Every recorded change of a run, or of one step or item of it.
pub fn run_diff(
    project: &Project,
    name: &str,
    only: Option<&str>,
) -> Result<RunDiff, ServiceError> {
    let mut reader = Reader::open(project, name)?;
    if let Some(step) = only {
        reader.has_step(step)?;
    }
    let mut found: Vec<InstanceChanges> = Vec::new();
    let mut instances = BTreeSet::new();
    while let Some(placed) = reader.placed()? {
        for (event, place) in placed {
            instances.insert(place.instance.to_string());
            let wanted = |only: &str| place.step.as_str() == only || *place.instance == *only;
            if only.is_none_or(wanted) {
                take(&mut found, &event, &place);
            }
        }
    }
    if let Some(item) = only.filter(|only| only.contains('[') && !instances.contains(*only)) {
        return Err(ServiceError::unknown(ResourceKind::Step, item, instances));
    }
    let steps = found.into_iter().map(InstanceChanges::diff).collect();
    Ok(RunDiff { run: reader.run().to_string(), steps })
}

fn take(found: &mut Vec<InstanceChanges>, event: &Event, place: &InstanceRef) {
    match event {
        Event::Recorded { record, .. } => {
            let Record::ToolResult { invocation, .. } = &**record else { return };
            let own = own(found, place);
            own.add(invocation);
        }
        // A process that left no other record was not watched.
        Event::AttemptEnded { streams: Some(_), .. } => {
            let own = own(found, place);
            own.unwatched |= !own.ran;
            own.ran = false;
        }
        _ => {}
    }
}

/// What one instance changed in one iteration.
struct InstanceChanges {
    step: String,
    instance: String,
    iteration: u32,
    /// Whether the command of the attempt was recorded.
    ran: bool,
    unwatched: bool,
    truncated: bool,
    files: BTreeMap<String, FileHistory>,
}

struct FileHistory {
    change: Change,
    patches: Vec<Patch>,
}

fn own<'f>(found: &'f mut Vec<InstanceChanges>, place: &InstanceRef) -> &'f mut InstanceChanges {
    let is_it =
        |own: &InstanceChanges| own.instance == *place.instance && own.iteration == place.iteration;
    let at = found.iter().position(is_it).unwrap_or_else(|| {
        found.push(InstanceChanges {
            step: place.step.to_string(),
            instance: place.instance.to_string(),
            iteration: place.iteration,
            ran: false,
            unwatched: false,
            truncated: false,
            files: BTreeMap::new(),
        });
        found.len() - 1
    });
    &mut found[at]
}

impl InstanceChanges {
    fn add(&mut self, invocation: &Invocation) {
        let says = |key: &str| {
            let process = invocation.process.as_ref();
            process.and_then(|process| process.get(key)) == Some(&Json::Bool(true))
        };
        self.ran = invocation.process.is_some();
        self.unwatched |= self.ran && !says("watched") && invocation.changes.is_empty();
        self.truncated |= says("manifestTruncated");
        for change in &invocation.changes {
            self.change(invocation, change);
        }
    }

    /// The first state before and the last state after are what is left of several changes.
    fn change(&mut self, invocation: &Invocation, change: &Change) {
        let known = self.files.entry(change.path.clone()).or_insert_with(|| FileHistory {
            change: Change { same_content: true, diff: None, ..change.clone() },
            patches: Vec::new(),
        });
        known.change.after.clone_from(&change.after);
        known.change.same_content &= change.same_content;
        known.patches.extend(change.diff.clone().map(|text| Patch {
            call: invocation.id.clone(),
            tool: invocation.tool.clone(),
            text,
        }));
    }

    fn diff(self) -> StepDiff {
        let files = join_renamed(self.files.into_values().filter_map(FileHistory::diff).collect());
        StepDiff {
            step: self.step,
            instance: self.instance,
            iteration: self.iteration,
            recorded: !self.unwatched,
            complete: !self.truncated,
            files,
        }
    }
}

/// A file's difference with its states, by which a renamed file is known again.
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
            change: happened(&self.change)?,
            from: None,
            before: before.as_ref().map(FileSnapshot::of),
            after: after.as_ref().map(FileSnapshot::of),
            patches: self.patches,
        };
        Some((diff, self.change))
    }
}

fn happened(change: &Change) -> Option<FileDiffKind> {
    let (before, after) = match (&change.before, &change.after) {
        (Some(before), Some(after)) => (before, after),
        (None, Some(_)) => return Some(FileDiffKind::Created),
        (Some(_), None) => return Some(FileDiffKind::Deleted),
        (None, None) => return None,
    };
    let digests = before.sha256.zip(after.sha256);
    let same = change.same_content || digests.is_some_and(|(before, after)| before == after);
    // Nobody has read it, but its own times say that only its permissions were changed.
    let untouched = |s: &FileState| (s.size, s.mtime_ns, s.inode);
    let same = same || (digests.is_none() && untouched(before) == untouched(after));
    Some(match same {
        _ if before.kind != after.kind => FileDiffKind::Replaced,
        true if before.mode != after.mode => FileDiffKind::Mode,
        true if change.same_content || digests.is_some() => FileDiffKind::Rewritten,
        _ => FileDiffKind::Modified,
    })
}

/// What went away under one name and came under another, being the same file, was renamed.
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
    fn of(state: &FileState) -> FileSnapshot {
        FileSnapshot {
            kind: state.kind,
            bytes: state.size,
            mode: format!("{:o}", state.mode),
            sha256: state.sha256,
        }
    }
}

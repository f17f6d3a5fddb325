//! What a merge writes into the project: computed, stored, then written, so that an interrupted merge
//! ends as it was planned.

use super::base::{Base, TreePaths, read_json, write_json};
use super::failures::unusable;
use super::three_way;
use crate::workspace::{FileContent, Workspace};
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure};
use kb_core::evidence::{FileKind, FileState};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Larger files are not merged as texts.
const TEXT: usize = 1 << 20;

/// Identifies the content of a path: its kind, digest and whether it can be executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Print {
    Missing,
    File { sha256: Option<Digest>, size: u64, executable: bool },
    Link { sha256: Option<Digest> },
    Other,
}

impl Print {
    fn of(state: Option<&FileState>) -> Print {
        match state {
            None => Print::Missing,
            Some(state) => match state.kind {
                FileKind::File => Print::File {
                    sha256: state.sha256,
                    size: state.size,
                    executable: state.mode & 0o100 != 0,
                },
                FileKind::Symlink => Print::Link { sha256: state.sha256 },
                FileKind::Directory | FileKind::Other => Print::Other,
            },
        }
    }

    /// The print of a path. A directory is nothing that a merge would replace.
    fn at(workspace: &Workspace, path: &str) -> Result<Print, Box<Failure>> {
        let state = workspace.symlink_stat(path).map_err(|error| Box::new(error.failure()))?;
        Ok(Print::of(state.as_ref()))
    }
}

/// Where the planned content comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Source {
    /// The tree has it.
    Tree,
    /// Both sides changed the text; this is the combined one.
    Text(String),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Planned {
    path: String,
    before: Print,
    after: Print,
    source: Source,
}

/// The paths that a merge writes, or those that both sides changed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct MergePlan {
    steps: Vec<Planned>,
    /// Both sides changed these in ways that cannot be combined.
    #[serde(skip)]
    pub(super) conflicts: Vec<String>,
}

impl MergePlan {
    /// Compares the tree with its base, and with the project as it is now. Blocks.
    pub(super) fn new(
        project: &Workspace,
        tree: &Workspace,
        base: &Base,
        paths: &TreePaths,
    ) -> Result<MergePlan, Box<Failure>> {
        let mut plan = MergePlan::default();
        let now = tree.manifest();
        if now.truncated {
            let message = "the step left too many files, or folders that cannot be read".to_owned();
            return Err(Box::new(Failure::new(Code::MERGE_FAILED, message)));
        }
        for change in base.files.changes_to(&now) {
            let before = Print::of(change.before.as_ref());
            plan.add([project, tree], paths, change.path, before)?;
        }
        Ok(plan.in_order())
    }

    /// The same for these paths only. Blocks.
    pub(super) fn of_paths(
        project: &Workspace,
        tree: &Workspace,
        base: &Base,
        paths: &TreePaths,
        changed: &BTreeSet<String>,
    ) -> Result<MergePlan, Box<Failure>> {
        let mut plan = MergePlan::default();
        for path in changed {
            let before = Print::of(base.files.files.get(path));
            plan.add([project, tree], paths, path.clone(), before)?;
        }
        Ok(plan.in_order())
    }

    /// Plans one path that was `before` and that the tree may have changed.
    fn add(
        &mut self,
        [project, tree]: [&Workspace; 2],
        paths: &TreePaths,
        path: String,
        before: Print,
    ) -> Result<(), Box<Failure>> {
        let theirs = Print::at(tree, &path)?;
        let ours = Print::at(project, &path)?;
        if before == theirs || ours == theirs || theirs == Print::Other {
            return Ok(());
        }
        if ours == before {
            let (before, after, source) = (ours, theirs, Source::Tree);
            self.steps.push(Planned { path, before, after, source });
            return Ok(());
        }
        match combined(project, tree, paths, &path, &[&before, &ours, &theirs])? {
            Some((after, text)) => {
                let source = Source::Text(text);
                self.steps.push(Planned { path, before: ours, after, source });
            }
            None => self.conflicts.push(path),
        }
        Ok(())
    }

    /// Removals first: they make room for files of the same name.
    fn in_order(mut self) -> MergePlan {
        self.steps.sort_by_key(|step| step.after != Print::Missing);
        self
    }

    /// The stored plan of a merge that was interrupted.
    pub(super) fn stored(paths: &TreePaths) -> Result<Option<MergePlan>, Box<Failure>> {
        read_json(&paths.plan()).map_err(|error| unusable(&paths.plan(), &error))
    }

    pub(super) fn store(&self, paths: &TreePaths) -> Result<(), Box<Failure>> {
        write_json(&paths.plan(), self).map_err(|error| unusable(&paths.plan(), &error))
    }

    /// The paths that it writes.
    pub(super) fn files(&self) -> Vec<String> {
        let mut files: Vec<String> = self.steps.iter().map(|step| step.path.clone()).collect();
        files.sort();
        files
    }

    /// Whether every path is as it was planned from, or as it will be.
    pub(super) fn still_fits(&self, project: &Workspace) -> Result<bool, Box<Failure>> {
        for step in &self.steps {
            let now = Print::at(project, &step.path)?;
            if now != step.before && now != step.after {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes what is not written yet. Blocks.
    pub(super) fn apply(&self, project: &Workspace, tree: &Workspace) -> Result<(), Box<Failure>> {
        for step in &self.steps {
            let path = &step.path;
            if Print::at(project, path)? == step.after {
                continue;
            }
            let content = match (&step.source, &step.after) {
                (_, Print::Missing) => None,
                (Source::Text(text), Print::File { executable, .. }) => Some(FileContent::File {
                    bytes: text.clone().into_bytes(),
                    executable: *executable,
                }),
                (Source::Tree | Source::Text(_), _) => {
                    tree.content_of(path).map_err(|error| Box::new(error.failure()))?
                }
            };
            project.put(path, content.as_ref()).map_err(|error| {
                let failure = error.failure();
                let message = format!("`{path}` cannot be written: {}", failure.message);
                Box::new(Failure { message, ..failure })
            })?;
        }
        Ok(())
    }
}

/// The combined text of a file that both sides changed; `None` if it is no text or they contradict.
fn combined(
    project: &Workspace,
    tree: &Workspace,
    paths: &TreePaths,
    path: &str,
    prints: &[&Print; 3],
) -> Result<Option<(Print, String)>, Box<Failure>> {
    let [
        Print::File { sha256: Some(digest), executable: was, .. },
        Print::File { executable: ours_x, .. },
        Print::File { executable: theirs_x, .. },
    ] = prints
    else {
        return Ok(None);
    };
    let text =
        |bytes: Vec<u8>| if bytes.len() <= TEXT { String::from_utf8(bytes).ok() } else { None };
    let read = |workspace: &Workspace| {
        workspace.read_file(path).map(text).map_err(|error| Box::new(error.failure()))
    };
    let base = std::fs::read(paths.content(digest)).ok().and_then(text);
    let (Some(base), Some(ours), Some(theirs)) = (base, read(project)?, read(tree)?) else {
        return Ok(None);
    };
    let Some(merged) = three_way::merge(&base, &ours, &theirs) else { return Ok(None) };
    let executable = if was == theirs_x { *ours_x } else { *theirs_x };
    let (sha256, size) = (Some(Digest::of(&merged)), merged.len() as u64);
    Ok(Some((Print::File { sha256, size, executable }, merged)))
}

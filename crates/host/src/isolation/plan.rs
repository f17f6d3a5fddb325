//! What a merge writes into the project: computed, stored, then written, so that an interrupted merge
//! ends as it was planned.

use super::base::{Base, TreePaths, read_json, write_json};
use super::failures::unusable;
use super::print::{Print, above};
use super::three_way;
use crate::workspace::{FileContent, Folders, Workspace};
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure};
use kb_core::evidence::{Manifest, MergedTree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Larger files are not merged as texts.
const TEXT: usize = 1 << 20;

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

impl Planned {
    /// The path; that of a folder ends with `/`.
    fn shown(&self) -> String {
        let last = if self.after == Print::Missing { &self.before } else { &self.after };
        let end = if *last == Print::Folder { "/" } else { "" };
        format!("{}{end}", self.path)
    }
}

/// The paths that a merge writes, or those that both sides changed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct MergePlan {
    steps: Vec<Planned>,
    /// Both sides changed these in ways that cannot be combined.
    #[serde(skip)]
    conflicts: Vec<String>,
}

impl MergePlan {
    /// Compares the tree with its base, and with the project as it is now. Blocks.
    pub(super) fn new(
        project: &Workspace,
        tree: &Workspace,
        base: &Base,
        paths: &TreePaths,
    ) -> Result<MergePlan, Box<Failure>> {
        let (now, folders) = whole(tree)?;
        let mut changed = base.changed_folders(&folders);
        changed.extend(base.files.changes_to(&now).into_iter().map(|change| change.path));
        MergePlan::of_paths(project, tree, base, paths, &changed)
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
            plan.add([project, tree], paths, path.clone(), base.print(path))?;
        }
        plan.in_order(project)
    }

    /// Carries out the stored plan of an interrupted merge if it still fits, or the plan that `make` returns.
    /// What an interrupted merge has written counts as merged, also if the rest conflicts. Blocks.
    pub(super) fn carried_out(
        [project, tree]: [&Workspace; 2],
        paths: &TreePaths,
        make: impl FnOnce() -> Result<MergePlan, Box<Failure>>,
    ) -> Result<MergedTree, Box<Failure>> {
        let (plan, mut files) = match MergePlan::stored(paths)? {
            Some(stored) if stored.still_fits(project)? => (stored, Vec::new()),
            Some(stored) => (make()?, stored.written(project)?),
            None => (make()?, Vec::new()),
        };
        if !plan.conflicts.is_empty() {
            return Ok(MergedTree { files, conflicts: plan.conflicts, ..MergedTree::default() });
        }
        plan.store(paths)?;
        if let Err(failure) = plan.apply(project, tree) {
            let written = plan.written(project)?.len() + files.len();
            let all = plan.steps.len() + files.len();
            let message = format!("{}; {written} of {all} changes are merged", failure.message);
            return Err(Box::new(Failure { message, ..*failure }));
        }
        files.extend(plan.files());
        files.sort();
        files.dedup();
        Ok(MergedTree { files, ..MergedTree::default() })
    }

    /// The number of paths that it writes.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
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

    /// Removals first, from the inside out: they make room for what replaces a folder. Then from the outside
    /// in: a folder that replaces a file is made before its files. A folder that the project still needs is
    /// not removed.
    fn in_order(mut self, project: &Workspace) -> Result<MergePlan, Box<Failure>> {
        self.steps.sort_by(|a, b| match [a, b].map(|step| step.after == Print::Missing) {
            [true, true] => b.path.cmp(&a.path),
            [false, false] => a.path.cmp(&b.path),
            [a, b] => b.cmp(&a),
        });
        let (mut kept, mut removed) = (Vec::new(), BTreeSet::new());
        for step in std::mem::take(&mut self.steps) {
            if step.after == Print::Missing {
                if step.before == Print::Folder && !is_vacated(project, &step.path, &removed)? {
                    continue;
                }
                removed.insert(step.path.clone());
            }
            kept.push(step);
        }
        self.steps = kept;
        self.conflicts.extend(self.obstacles(project)?);
        self.conflicts.sort();
        self.conflicts.dedup();
        Ok(self)
    }

    /// The paths of the project that are in the way of the plan: a folder with entries that the step did not
    /// have or did not remove, where it has a file or link; a file or link where it has a folder.
    fn obstacles(&self, project: &Workspace) -> Result<BTreeSet<String>, Box<Failure>> {
        let with = |wanted: fn(&Print) -> bool| {
            let steps = self.steps.iter().filter(move |step| wanted(&step.after));
            steps.map(|step| step.path.clone()).collect::<BTreeSet<String>>()
        };
        let removed = with(|after| *after == Print::Missing);
        let folders = with(|after| *after == Print::Folder);
        let mut found = BTreeSet::new();
        for step in self.steps.iter().filter(|step| step.after != Print::Missing) {
            let is_replaced = step.before == Print::Folder && step.after != Print::Folder;
            if is_replaced
                && Print::at(project, &step.path)? == Print::Folder
                && !is_vacated(project, &step.path, &removed)?
            {
                found.insert(step.path.clone());
            }
            for above in above(&step.path).filter(|above| !folders.contains(*above)) {
                if !matches!(Print::at(project, above)?, Print::Folder | Print::Missing) {
                    found.insert(above.to_owned());
                }
            }
        }
        Ok(found)
    }

    /// The stored plan of a merge that was interrupted.
    pub(super) fn stored(paths: &TreePaths) -> Result<Option<MergePlan>, Box<Failure>> {
        read_json(&paths.plan()).map_err(|error| unusable(&paths.plan(), &error))
    }

    fn store(&self, paths: &TreePaths) -> Result<(), Box<Failure>> {
        write_json(&paths.plan(), self).map_err(|error| unusable(&paths.plan(), &error))
    }

    /// The paths that it writes; those of folders end with `/`.
    fn files(&self) -> Vec<String> {
        let mut files: Vec<String> = self.steps.iter().map(Planned::shown).collect();
        files.sort();
        files
    }

    /// Those that are written, of a merge that was interrupted.
    fn written(&self, project: &Workspace) -> Result<Vec<String>, Box<Failure>> {
        let mut files = Vec::new();
        for step in self.steps.iter().filter(|step| step.before != step.after) {
            if Print::at(project, &step.path)? == step.after {
                files.push(step.shown());
            }
        }
        files.sort();
        Ok(files)
    }

    /// Whether every path is as it was planned from, or as it will be, and nothing is in the way. What becomes
    /// another kind, such as a folder that becomes a file, is missing for a moment.
    fn still_fits(&self, project: &Workspace) -> Result<bool, Box<Failure>> {
        for step in &self.steps {
            let now = Print::at(project, &step.path)?;
            let between = now == Print::Missing && !step.before.is_of_kind(&step.after);
            if now != step.before && now != step.after && !between {
                return Ok(false);
            }
        }
        Ok(self.obstacles(project)?.is_empty())
    }

    /// Writes what is not written yet. Blocks.
    fn apply(&self, project: &Workspace, tree: &Workspace) -> Result<(), Box<Failure>> {
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

/// The files and folders of a tree.
pub(super) fn whole(tree: &Workspace) -> Result<(Manifest, Folders), Box<Failure>> {
    let (files, folders) = tree.files_and_folders();
    if files.truncated {
        let message = "the step left too many files, or folders that cannot be read".to_owned();
        return Err(Box::new(Failure::new(Code::MERGE_FAILED, message)));
    }
    Ok((files, folders))
}

/// Whether a folder of the project is empty once these paths are removed.
fn is_vacated(
    project: &Workspace,
    folder: &str,
    removed: &BTreeSet<String>,
) -> Result<bool, Box<Failure>> {
    let names = project.names_in(folder).map_err(|error| Box::new(error.failure()))?;
    Ok(names.iter().all(|name| removed.contains(&format!("{folder}/{name}"))))
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

#[cfg(test)]
mod tests;

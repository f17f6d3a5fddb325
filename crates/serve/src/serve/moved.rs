//! Triggers of a project that was moved. The state of a project belongs to its folder, so the triggers that were enabled
//! in the former folder start nothing in the new one; this says where they were enabled.

use super::views::{TriggerStateName, TriggerView};
use kb_service::service::runs::ProjectContext;
use kb_service::service::{Project, ServiceError};
use kb_service::trigger::{TriggerState, TriggerStore};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The note of a store with the folder of its project.
const FOLDER: &str = "folder";
/// Maximum number of state folders that are searched.
const MOST_FOLDERS: usize = 2000;

/// Why the triggers of a project start nothing although a person enabled them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Moved {
    /// The folder of the project is not where it was.
    Away(PathBuf),
    /// They were enabled in a folder that is not there any more.
    From {
        /// The former folder.
        folder: PathBuf,
        /// Ids of the triggers that were enabled there.
        triggers: BTreeSet<String>,
    },
}

impl Moved {
    /// Gives a trigger its state.
    pub(super) fn mark(&self, view: &mut TriggerView) {
        let problem = match self {
            Moved::Away(folder) if view.state != TriggerStateName::Disabled => {
                format!("its project is not in `{}` any more", folder.display())
            }
            Moved::From { folder, triggers } if triggers.contains(&view.id) => {
                let folder = folder.display();
                format!("it was enabled in `{folder}`; `kb doctor --adopt {folder}` takes it over")
            }
            Moved::Away(_) | Moved::From { .. } => return,
        };
        (view.state, view.problem) = (TriggerStateName::Moved, Some(problem));
    }
}

/// Keeps the folder of a project in its store, so that it is known after the project was moved.
pub(super) fn keep_folder(
    store: &TriggerStore,
    context: &ProjectContext,
) -> Result<(), ServiceError> {
    let folder = context.root.display().to_string();
    if store.note(FOLDER)?.as_ref() != Some(&folder) {
        store.set_note(FOLDER, &folder)?;
    }
    Ok(())
}

/// Whether a project with these triggers was moved. Searches only if none of them was enabled here.
pub(super) fn moved<'t>(
    project: &Project,
    states: &BTreeMap<String, TriggerState>,
    triggers: impl IntoIterator<Item = &'t String>,
) -> Option<Moved> {
    let context = &project.context;
    if !context.root.join(".kb").is_dir() {
        return Some(Moved::Away(context.root.clone()));
    }
    let known: BTreeSet<&String> = triggers.into_iter().collect();
    if known.is_empty() || states.values().any(|state| state.enabled.is_some()) {
        return None;
    }
    let entries = std::fs::read_dir(context.state_dir.parent()?).ok()?;
    let others = entries.flatten().take(MOST_FOLDERS).map(|entry| entry.path());
    let former = others.filter(|other| *other != context.state_dir).filter_map(|other| {
        let (folder, mut triggers) = former(&other)?;
        triggers.retain(|id| known.contains(id));
        (!triggers.is_empty()).then_some(Moved::From { folder, triggers })
    });
    former.max_by_key(|moved| match moved {
        Moved::From { triggers, .. } => triggers.len(),
        Moved::Away(_) => 0,
    })
}

/// The folder that a state folder belongs to, if no project is there any more, and the triggers enabled in it.
fn former(state_dir: &Path) -> Option<(PathBuf, BTreeSet<String>)> {
    let store = TriggerStore::read(state_dir)?;
    let folder = PathBuf::from(store.note(FOLDER).ok()??);
    if folder.join(".kb").is_dir() || folder.as_os_str().as_bytes().is_empty() {
        return None;
    }
    let enabled = store.states().ok()?.into_iter().filter(|(_, state)| state.enabled.is_some());
    Some((folder, enabled.map(|(id, _)| id).collect()))
}

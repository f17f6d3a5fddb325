//! Gives the recorded runs of a project that was moved to its new folder.

use super::runs::ProjectContext;
use super::{Environment, ServiceError};
use crate::project::{NoFolder, ProjectFolder};
use crate::trigger::{TriggerStore, daemon_of};
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_core::run::RunStatus;
use kb_engine::journal;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The result of [`adopt`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adopted {
    /// The former folder of the project.
    pub from: PathBuf,
    /// How many runs the project has now.
    pub runs: usize,
}

/// Trusts the owner of the project that contains the working directory, for this user. Returns its root and owners.
pub fn trust_owners(environment: &Environment) -> Result<(PathBuf, Vec<u32>), ServiceError> {
    let state = environment.state_base();
    let start = environment.cwd.canonicalize().ok();
    let root = start.as_deref().and_then(ProjectFolder::around);
    let Some(folder) = root else {
        return Err(ServiceError::no_project(&environment.cwd, NoFolder::Missing));
    };
    let owners = folder.trust(&state).map_err(|error| {
        let message = format!("`{}` cannot be written: {error}", state.display());
        ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
    })?;
    Ok((folder.root().to_owned(), owners.into_iter().collect()))
}

/// Renames the state folder of the project that was in the folder `old`, so that its runs belong to
/// this project. Refuses if a project is still there, if one of its runs executes, or if this project
/// has runs of its own.
pub fn adopt(context: &ProjectContext, old: &Path) -> Result<Adopted, ServiceError> {
    let old = former_path(&context.environment.absolute(old));
    let refused = |message: String, help: &str| {
        ServiceError::refused(Failure::new(Code::NOT_ADOPTABLE, message).help(help))
    };
    if old.join(".kb").is_dir() {
        let message = format!("`{}` still contains a project", old.display());
        return Err(refused(message, "pass the folder in which this project was before"));
    }
    let from = ProjectFolder::at(&old).state_dir_in(&context.environment.state_base());
    // Triggers can be enabled before the first run.
    if !journal::exists_in(&from) && !TriggerStore::exists_in(&from) {
        return Err(refused(
            format!("no runs are recorded for a project in `{}`", old.display()),
            "pass the whole path of the folder in which this project was before; it is part of the \
             first lines of `kb doctor` there",
        ));
    }
    for folder in [&from, &context.state_dir] {
        if let Some(pid) = daemon_of(folder) {
            let message = format!("`kb serve` runs for this project (process {pid})");
            return Err(refused(
                message,
                "stop it, then try again; the runs that it started continue",
            ));
        }
    }
    let recorded = journal::open(&from, Default::default())?.list()?;
    if let Some(run) = recorded.iter().find(|row| row.status == RunStatus::Running) {
        return Err(refused(
            format!("run `{}` of the former folder executes", run.run),
            "wait for its end, or stop its process",
        ));
    }
    let own = context.journal(Default::default())?.list()?;
    if !own.is_empty() {
        let message = format!("this project has {} runs of its own", own.len());
        return Err(refused(message, "`kb run prune --keep 0 --older-than 0s` removes ended runs"));
    }
    replace(&from, &context.state_dir).map_err(|error| {
        let (from, to) = (from.display(), context.state_dir.display());
        let message = format!("cannot rename `{from}` to `{to}`: {error}");
        ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
    })?;
    Ok(Adopted { from: old, runs: recorded.len() })
}

/// Replaces an empty journal by another.
fn replace(from: &Path, to: &Path) -> std::io::Result<()> {
    let emptied = to.with_extension(format!("empty-{}", std::process::id()));
    std::fs::rename(to, &emptied)?;
    if let Err(error) = std::fs::rename(from, to) {
        std::fs::rename(&emptied, to)?;
        return Err(error);
    }
    std::fs::remove_dir_all(emptied)?;
    to.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

/// The path that a folder had, with links in the folders above resolved: the folder itself is gone.
fn former_path(path: &Path) -> PathBuf {
    let parts: PathBuf = path.components().collect();
    let parent = parts.parent().and_then(|parent| parent.canonicalize().ok());
    match (parent, parts.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => parts,
    }
}

/// State folders of other projects whose folder has the same name.
pub(super) fn namesakes(context: &ProjectContext) -> usize {
    let own = context.state_dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some((name, _)) = own.rsplit_once('-') else { return 0 };
    let entries = context.state_dir.parent().and_then(|base| std::fs::read_dir(base).ok());
    let others = entries.into_iter().flatten().flatten().filter(|entry| {
        let other = entry.file_name().to_string_lossy().into_owned();
        let is_like = other.rsplit_once('-').is_some_and(|(like, _)| like == name);
        other != own && is_like && journal::exists_in(&entry.path())
    });
    others.count()
}

//! The newest file of each folder of installed programs, such as `node_modules` and `.venv`. Scans do not cover
//! ignored folders, but the kernel dates their files.

use crate::workspace::Workspace;
use kb_core::verify::InstalledFile;
use std::fs::{self, DirEntry, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Maximum number of entries that are read in one folder.
const ENTRIES: usize = 200_000;

/// The newest file of each folder in the root of the workspace that holds installed programs.
pub(super) fn newest(workspace: &Workspace) -> Vec<InstalledFile> {
    let entries = fs::read_dir(workspace.root()).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| holds_programs(workspace, entry));
    let mut found: Vec<InstalledFile> =
        folders.filter_map(|entry| newest_in(&entry, workspace.root())).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// `node_modules` and the like have `.bin`; environments have `bin`, and are ignored or have `pyvenv.cfg`.
fn holds_programs(workspace: &Workspace, entry: &DirEntry) -> bool {
    let (path, name) = (entry.path(), entry.file_name());
    // A rule such as `.venv/` is about folders, so what is asked for is in it.
    let inside = format!("{}/bin", name.to_string_lossy());
    let is_environment = || path.join("pyvenv.cfg").exists() || workspace.ignores(&inside);
    path.join(".bin").is_dir() || path.join("bin").is_dir() && is_environment()
}

/// The newest file below a folder. A link itself counts, not what is behind it.
fn newest_in(folder: &DirEntry, root: &Path) -> Option<InstalledFile> {
    let (mut newest, mut entries): (Option<InstalledFile>, usize) = (None, 0);
    let mut keep = |path: &Path, data: &Metadata| {
        let ctime_ns = data.ctime().saturating_mul(1_000_000_000).saturating_add(data.ctime_nsec());
        if newest.as_ref().is_none_or(|file| file.ctime_ns < ctime_ns) {
            let path = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
            newest = Some(InstalledFile { path, ctime_ns });
        }
    };
    let mut open = Vec::new();
    match folder.metadata().ok()? {
        data if data.is_dir() => open.push(folder.path()),
        data => keep(&folder.path(), &data),
    }
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(&path).into_iter().flatten().flatten().filter(|e| !is_cache(e)) {
            entries += 1;
            let Ok(data) = entry.metadata() else { continue };
            if data.is_dir() { open.push(entry.path()) } else { keep(&entry.path(), &data) }
        }
        if entries > ENTRIES {
            break;
        }
    }
    newest
}

/// Whether an entry is written by runs of programs: `.cache`, `.vite`, `__pycache__`. No package has a hidden name.
fn is_cache(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    name == "__pycache__" || name.starts_with('.') && name != ".bin" && name != ".pnpm"
}

//! Adds digests to a manifest, from the cache of contents where the stat data shows no change.

use super::content::{MAX_HASHED, SMALL};
use super::content_cache::is_recent;
use super::path_guard::Workspace;
use kb_base::value::Timestamp;
use kb_core::evidence::{FileKind, Manifest};

/// Maximum number of larger, just written files that are hashed in one scan.
const MAX_RACY: usize = 256;

impl Workspace {
    /// Adds digests to a manifest, from the cache or by reading small files. Returns the files that
    /// were written so recently that another write would not change their stat data; their content
    /// is read now. Blocks.
    pub(super) fn add_digests(&self, manifest: &mut Manifest, now: Timestamp) -> Vec<String> {
        let mut kept = self.content_cache().lock();
        let mut racy = Vec::new();
        for (path, state) in &mut manifest.files {
            if state.kind != FileKind::File {
                continue;
            }
            let recent = is_recent(state, now);
            let entry = kept.files.get(path).filter(|entry| entry.state.same_stat(state));
            if let Some(entry) = entry.filter(|_| !recent) {
                state.sha256 = entry.state.sha256;
                continue;
            }
            if state.size <= SMALL && kept.has_room(path) {
                let located = self.locate(path);
                let Ok(content) = located.and_then(|now| self.content(&now)) else { continue };
                state.sha256 = content.sha256;
                if let Some(bytes) = content.small {
                    kept.keep(path, state, Some(&bytes));
                }
            } else if recent && state.size <= MAX_HASHED && racy.len() < MAX_RACY {
                state.sha256 = self.stat(path).ok().flatten().and_then(|seen| seen.sha256);
            } else if kept.has_room(path) && kept.may_read(state.size) {
                let seen = self.stat(path).ok().flatten().filter(|seen| seen.same_stat(state));
                state.sha256 = seen.and_then(|seen| seen.sha256);
                if state.sha256.is_some() {
                    kept.keep(path, state, None);
                }
            }
            if recent && state.sha256.is_some() {
                racy.push(path.clone());
            }
        }
        racy
    }
}

#[cfg(test)]
mod tests {
    use crate::workspace::{ProtectedWatch, Workspace};
    use std::fs::{self, File, FileTimes};
    use std::time::Duration;

    /// The digest of a protected file is read once, and again after a change that sets its times back.
    #[test]
    fn a_protected_file_whose_times_were_set_back_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".kb/kb.config.yml");
        fs::create_dir(dir.path().join(".kb")).unwrap();
        fs::write(&file, "one").unwrap();
        let workspace = Workspace::open(dir.path(), &[], &[]).unwrap();
        let is_known = || {
            let path = ".kb/kb.config.yml";
            let state = workspace.symlink_stat(path).unwrap().unwrap();
            workspace.content_cache().protected(path, &state).is_some()
        };
        let unchanged = || ProtectedWatch::begin(&workspace, false).end().is_empty();
        assert!(unchanged());
        assert!(!is_known(), "it was just written");
        std::thread::sleep(Duration::from_millis(2_100));
        assert!(unchanged());
        assert!(is_known());
        let times = fs::metadata(&file).unwrap();
        let watch = ProtectedWatch::begin(&workspace, false);
        fs::write(&file, "two").unwrap();
        let times = FileTimes::new().set_modified(times.modified().unwrap());
        File::options().write(true).open(&file).unwrap().set_times(times).unwrap();
        assert_eq!(watch.end().len(), 1);
    }
}

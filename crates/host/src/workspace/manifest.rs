//! Manifests: the files of the workspace at one moment, and the changes between two of them.

use super::content::{MAX_HASHED, link_digest};
use super::dir_handle::{FOLDER, MAX_DEPTH, state_of};
use super::ignore_rules::IgnoreRules;
use super::path_guard::Workspace;
use super::path_text::nfc;
use super::text_diff::with_diff;
use super::tracked_files::TrackedFiles;
use kb_core::evidence::{Change, FileKind, FileState, Manifest};
use kb_core::redaction::Redactor;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode};
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of files in a manifest; beyond it, the manifest is marked as truncated.
pub(super) const MAX_FILES: usize = 100_000;
/// Maximum size of all diffs of one scan, in bytes.
const DIFFS_BYTES: usize = 256 << 10;

impl Workspace {
    /// The stat data of every file and link that git tracks or the ignore rules leave. Hidden files are included;
    /// `.git`, other ignored files and the state directory of `kb` are not. Blocks; reads no content.
    pub fn manifest(&self) -> Manifest {
        self.manifest_with(self.ignore_rules())
    }

    /// The same with ignored files.
    pub(super) fn manifest_with(&self, rules: IgnoreRules) -> Manifest {
        let (files, state) = (Vec::new(), self.state_paths());
        let (tracked, truncated, is_hidden) = (None, false, false);
        let mut scan = Scan { workspace: self, tracked, files, truncated, rules, is_hidden, state };
        match self.writable().open_folder(Path::new("")) {
            Ok(root) => scan.folder(&root, String::new(), 0),
            Err(_) => scan.truncated = true,
        }
        Manifest { files: scan.files.into_iter().collect(), truncated: scan.truncated }
    }

    /// Whether ignore rules hide an existing path from scans. Blocks.
    pub fn ignores(&self, path: &str) -> bool {
        let Ok(mut folder) = rustix::fs::open(self.root(), FOLDER, Mode::empty()) else {
            return false;
        };
        let (mut rules, mut above) = (self.ignore_rules(), String::new());
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            rules.enter(&folder, &above, above.is_empty());
            above.push_str(part);
            let is_last = parts.peek().is_none();
            if part == ".git" {
                return true;
            }
            if rules.hide(&above, !is_last) {
                let tracked = self.tracked();
                let is_tracked = |is_folder| tracked.has(path, is_folder).unwrap_or(false);
                return !is_tracked(false) && !is_tracked(true);
            }
            above.push('/');
            match rustix::fs::openat(&folder, part, FOLDER, Mode::empty()) {
                Ok(below) if !is_last => folder = below,
                _ => return false,
            }
        }
        false
    }

    /// The changes between two manifests, with the digests of changed files. `after` must be
    /// recent, because digests are read now. Blocks.
    pub fn changes(&self, before: &Manifest, after: &Manifest) -> Vec<Change> {
        self.changes_with(before, after, &[], &Redactor::default())
    }

    /// The same, with masked diffs of small texts. The files in `racy` may have changed although
    /// their stat data are the same.
    pub(super) fn changes_with(
        &self,
        before: &Manifest,
        after: &Manifest,
        racy: &[String],
        redactor: &Redactor,
    ) -> Vec<Change> {
        let mut changes = before.changes_to(after);
        changes.extend(racy.iter().filter_map(|path| silent(path, before, after)));
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        let mut room = DIFFS_BYTES;
        let confirmed = |change: Change| {
            let is_silent = has_same_stat(&change);
            let mut change = self.confirmed(change, redactor)?;
            let is_read = change.after.as_ref().is_some_and(|after| after.sha256.is_some());
            if is_silent && (change.same_content || !is_read) {
                return None;
            }
            let diff = change.diff.take().filter(|diff| diff.len() <= room);
            room -= diff.as_ref().map_or(0, String::len);
            Some(Change { diff, ..change })
        };
        changes.into_iter().filter_map(confirmed).collect()
    }

    /// Adds the digest to a change. A file that was hidden by an ignore rule meanwhile still
    /// exists.
    fn confirmed(&self, mut change: Change, redactor: &Redactor) -> Option<Change> {
        let known = change.before.as_ref();
        let known = known.and_then(|before| self.content_cache().text(&change.path, before));
        let located = self.locate(&change.path).ok();
        if change.after.is_none() {
            let now = located.as_ref().filter(|now| now.kind() == FileKind::File);
            change.after = now.map(|now| now.state()).filter(|_| is_file(&change.before));
            if has_same_stat(&change) {
                return None;
            }
        }
        let mut text = None;
        if let (Some(after), Some(located)) = (&mut change.after, located)
            && after.kind == FileKind::File
            && after.size <= MAX_HASHED
            && let Ok(content) = self.content(&located)
        {
            after.sha256 = content.sha256;
            if content.sha256.is_some() {
                self.content_cache().keep(&change.path, after, content.small.as_deref());
            }
            text = content.small.and_then(|bytes| String::from_utf8(bytes).ok());
        }
        // A known earlier digest can show that only the stat data differ. Without one, a write has
        // to be assumed, and gates must see the same in both cases.
        if let (Some(before), Some(after)) = (&mut change.before, &change.after)
            && before.sha256.is_some()
            && (before.kind, before.sha256) == (after.kind, after.sha256)
        {
            change.same_content = true;
            before.sha256 = None;
        }
        let mask = |text: &str| redactor.mask_text(text).into_owned();
        let (old, new) = (known.as_deref().map(mask), text.as_deref().map(mask));
        Some(with_diff(change, old.as_deref(), new.as_deref()))
    }
}

/// A file that may have changed although its stat data are the same.
fn silent(path: &str, before: &Manifest, after: &Manifest) -> Option<Change> {
    let (before, after) = (before.files.get(path)?, after.files.get(path)?);
    let change = || Change::new(path.to_owned(), Some(before.clone()), Some(after.clone()));
    before.same_stat(after).then(change)
}

fn has_same_stat(change: &Change) -> bool {
    change.before.as_ref().zip(change.after.as_ref()).is_some_and(|(a, b)| a.same_stat(b))
}

fn is_file(state: &Option<FileState>) -> bool {
    state.as_ref().is_some_and(|state| state.kind == FileKind::File)
}

/// A scan in progress. Directories are read through handles, so that no link diverts the scan.
struct Scan<'w> {
    workspace: &'w Workspace,
    /// The files that git tracks, once an entry is hidden.
    tracked: Option<Arc<TrackedFiles>>,
    files: Vec<(String, FileState)>,
    truncated: bool,
    rules: IgnoreRules,
    /// Whether the present folder is hidden, and visited for tracked files alone.
    is_hidden: bool,
    /// The state directories of `kb`, relative to the root.
    state: Vec<PathBuf>,
}

impl Scan<'_> {
    /// Reads a directory; `prefix` is its path with a trailing `/`, empty for the root.
    fn folder(&mut self, folder: &OwnedFd, prefix: String, depth: usize) {
        let Ok(entries) = Dir::read_from(folder) else {
            self.truncated = true;
            return;
        };
        let added = self.rules.enter(folder, &prefix, depth == 0);
        for entry in entries.flatten() {
            if self.files.len() >= MAX_FILES {
                self.truncated = true;
                break;
            }
            let name = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b".." | b".git") {
                self.entry(folder, &prefix, name, entry.file_type(), depth);
            }
        }
        self.rules.leave(added);
    }

    fn entry(&mut self, folder: &OwnedFd, prefix: &str, name: &CStr, kind: FileType, depth: usize) {
        let mut path = String::with_capacity(prefix.len() + name.count_bytes());
        path.push_str(prefix);
        path.push_str(&OsStr::from_bytes(name.to_bytes()).to_string_lossy());
        let mut stat = None;
        // Some file systems do not report the type of an entry.
        let kind = match kind {
            FileType::Unknown => {
                stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok();
                stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
            }
            known => known,
        };
        let is_folder = kind == FileType::Directory;
        let is_hidden = self.is_hidden || self.rules.hide(&path, is_folder);
        if is_hidden && !self.is_tracked(&path, is_folder)
            || self.state.iter().any(|state| state == Path::new(&path))
        {
            return;
        }
        if is_folder {
            let around = std::mem::replace(&mut self.is_hidden, is_hidden);
            self.below(folder, name, path, depth);
            self.is_hidden = around;
            return;
        }
        let stat =
            stat.map_or_else(|| rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW), Ok);
        // An entry that was removed after its name was read is left out.
        if let Ok(stat) = stat {
            let mut state = state_of(&stat);
            if state.kind == FileKind::Symlink {
                state.sha256 = link_digest(folder, name);
            }
            self.files.push((nfc(path), state));
        }
    }

    fn is_tracked(&mut self, path: &str, is_folder: bool) -> bool {
        let tracked = self.tracked.get_or_insert_with(|| self.workspace.tracked());
        let is_tracked = tracked.has(path, is_folder);
        self.truncated |= is_tracked.is_none();
        is_tracked.unwrap_or(false)
    }

    fn below(&mut self, folder: &OwnedFd, name: &CStr, mut path: String, depth: usize) {
        path.push('/');
        match rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
            Ok(below) if depth < MAX_DEPTH => self.folder(&below, path, depth + 1),
            Err(rustix::io::Errno::NOENT) => {}
            _ => self.truncated = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::git_settings::tests::Told;
    use super::*;
    use kb_base::value::Digest;

    /// Git shows their changes, so that they are recorded.
    #[test]
    fn tracked_files_are_scanned_whatever_ignore_rules_say() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            std::fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
            std::fs::write(dir.path().join(path), text).unwrap();
        };
        put(".gitignore", "gen/\n*.log\n");
        ["gen/a/b.sh", "gen/a/c.sh", "gen/x", "one.log", "two.log"].iter().for_each(|p| put(p, ""));
        put(".git/index", "one.log\0gen/a/b.sh\0.gitignore\0");
        let git = Arc::new(Told { home: dir.path().to_owned(), places: Vec::new() });
        let open = || Workspace::of_run(dir.path(), &[], git.clone(), None).unwrap();
        let names = |manifest: Manifest| manifest.files.into_keys().collect::<Vec<_>>();
        let workspace = open();
        assert!(!workspace.manifest().truncated);
        assert_eq!(names(workspace.manifest()), [".gitignore", "gen/a/b.sh", "one.log"]);
        assert!(!workspace.ignores("one.log") && !workspace.ignores("gen/a/b.sh"));
        assert!(!workspace.ignores("gen/a") && workspace.ignores("gen/a/c.sh"));
        assert!(workspace.ignores("two.log") && workspace.ignores("gen/x"));
        // What git tracks meanwhile counts from the next command on.
        put(".git/index", "one.log\0two.log\0");
        assert!(workspace.ignores("two.log"));
        workspace.refresh_tracked();
        assert_eq!(names(workspace.manifest()), [".gitignore", "one.log", "two.log"]);
        // Without an answer of git, the record has a gap.
        put(".git/index", "bad");
        assert!(open().manifest().truncated);
    }

    /// A file that was written so recently that its stat data may hide another write is compared by
    /// the content that was cached before.
    #[test]
    fn a_change_that_leaves_the_stat_data_as_they_were_is_detected_by_content() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["same", "other", "gone"] {
            std::fs::write(dir.path().join(name), "new").unwrap();
        }
        let workspace = Workspace::open(dir.path(), &[], &[]).unwrap();
        let (mut before, after) = (workspace.manifest(), workspace.manifest());
        for (path, state) in &mut before.files {
            let cached = if path == "same" { "new" } else { "old" };
            state.sha256 = Some(Digest::of(cached));
        }
        std::fs::remove_file(dir.path().join("gone")).unwrap();
        let racy = ["same", "other", "gone"].map(str::to_owned);
        let changes = workspace.changes_with(&before, &after, &racy, &Redactor::default());
        let changed: Vec<_> = changes.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(changed, ["other"]);
        assert_eq!(changes[0].after.as_ref().unwrap().sha256, Some(Digest::of("new")));
        assert!(workspace.changes_with(&before, &after, &[], &Redactor::default()).is_empty());
    }
}

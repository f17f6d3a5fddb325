//! Manifests: the files of the workspace at one moment, and the changes between two of them.

use super::content::{MAX_HASHED, link_digest};
use super::dir_handle::{FOLDER, MAX_DEPTH, state_of};
use super::ignore_rules::IgnoreRules;
use super::path_guard::Workspace;
use super::path_text::Spelling;
use super::text_diff::with_diff;
use super::tracked_files::TrackedFiles;
use kb_core::evidence::{Change, FileKind, FileState, Manifest};
use kb_core::redaction::Redactor;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, DirEntry, FileType, Mode};
use std::collections::BTreeSet;
use std::ffi::CStr;
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
        self.manifest_with(self.ignore_rules(), &mut None)
    }

    /// The same by these rules. Two manifests that are compared need the same answer of git about tracked files: `tracked`
    /// is that of the first one, once it asked.
    pub(super) fn manifest_with(
        &self,
        rules: IgnoreRules,
        tracked: &mut Option<Arc<TrackedFiles>>,
    ) -> Manifest {
        self.scanned(rules, tracked).0
    }

    /// The manifest, and the folders that the scan visited.
    pub(super) fn scanned(
        &self,
        rules: IgnoreRules,
        tracked: &mut Option<Arc<TrackedFiles>>,
    ) -> (Manifest, Folders) {
        let (files, folders, state) = (Vec::new(), Folders::default(), self.state_paths());
        let (truncated, is_hidden) = (false, false);
        let mut scan =
            Scan { workspace: self, tracked, files, folders, truncated, rules, is_hidden, state };
        match self.writable().open_folder(Path::new("")) {
            Ok(root) => scan.folder(&root, &At::default(), 0),
            Err(_) => scan.truncated = true,
        }
        let Scan { files, folders, truncated, .. } = scan;
        (Manifest { files: files.into_iter().collect(), truncated }, folders)
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

/// The folders of the workspace at one moment, without those that the scan leaves out.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    pub(crate) all: BTreeSet<String>,
    /// Those without any entry, also without hidden ones.
    pub(crate) empty: BTreeSet<String>,
}

/// A path on the way of a scan.
#[derive(Default)]
struct At {
    /// As ignore rules and git know it, with a trailing `/` for a folder; empty for the root.
    text: String,
    /// As it is [written](Spelling), in the same way.
    written: String,
}

impl At {
    fn below(&self, name: &[u8], spelling: &Spelling) -> At {
        let text = format!("{}{}", self.text, String::from_utf8_lossy(name));
        At { text, written: format!("{}{}", self.written, spelling.written(name)) }
    }

    fn folder(self) -> At {
        At { text: self.text + "/", written: self.written + "/" }
    }
}

/// A scan in progress. Directories are read through handles, so that no link diverts the scan.
struct Scan<'w> {
    workspace: &'w Workspace,
    /// The files that git tracks, once an entry is hidden.
    tracked: &'w mut Option<Arc<TrackedFiles>>,
    files: Vec<(String, FileState)>,
    folders: Folders,
    truncated: bool,
    rules: IgnoreRules,
    /// Whether the present folder is hidden, and visited for tracked files alone.
    is_hidden: bool,
    /// The state directories of `kb`, relative to the root.
    state: Vec<PathBuf>,
}

impl Scan<'_> {
    /// Reads a directory.
    fn folder(&mut self, folder: &OwnedFd, at: &At, depth: usize) {
        let Ok(entries) = Dir::read_from(folder) else {
            self.truncated = true;
            return;
        };
        let entries: Vec<DirEntry> = entries.flatten().collect();
        let spelling = Spelling::of(entries.iter().map(|entry| entry.file_name().to_bytes()));
        if let Some(path) = at.written.strip_suffix('/') {
            let is_entry = |name: &CStr| !matches!(name.to_bytes(), b"." | b"..");
            if !entries.iter().any(|entry| is_entry(entry.file_name())) {
                self.folders.empty.insert(path.to_owned());
            }
            self.folders.all.insert(path.to_owned());
        }
        let added = self.rules.enter(folder, &at.text, depth == 0);
        for entry in &entries {
            if self.files.len() >= MAX_FILES {
                self.truncated = true;
                break;
            }
            let name = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b".." | b".git") {
                let at = at.below(name.to_bytes(), &spelling);
                self.entry(folder, at, name, entry.file_type(), depth);
            }
        }
        self.rules.leave(added);
    }

    fn entry(&mut self, folder: &OwnedFd, at: At, name: &CStr, kind: FileType, depth: usize) {
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
        let is_hidden = self.is_hidden || self.rules.hide(&at.text, is_folder);
        if is_hidden && !self.is_tracked(&at.text, is_folder)
            || self.state.iter().any(|state| state == Path::new(&at.text))
        {
            return;
        }
        if is_folder {
            let around = std::mem::replace(&mut self.is_hidden, is_hidden);
            self.below(folder, name, at, depth);
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
            self.files.push((at.written, state));
        }
    }

    fn is_tracked(&mut self, path: &str, is_folder: bool) -> bool {
        let tracked = self.tracked.get_or_insert_with(|| self.workspace.tracked());
        let is_tracked = tracked.has(path, is_folder);
        self.truncated |= is_tracked.is_none();
        is_tracked.unwrap_or(false)
    }

    fn below(&mut self, folder: &OwnedFd, name: &CStr, at: At, depth: usize) {
        match rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
            Ok(below) if depth < MAX_DEPTH => self.folder(&below, &at.folder(), depth + 1),
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
        let open = || Workspace::of_run(dir.path(), (&[], Vec::new()), git.clone(), None).unwrap();
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
        // A step beside it that notices it changes nothing for a comparison that has started.
        let mut asked = None;
        let rules = || workspace.ignore_rules();
        let before = workspace.manifest_with(rules(), &mut asked);
        put(".git/index", "one.log\0");
        workspace.refresh_tracked();
        assert_eq!(workspace.manifest_with(rules(), &mut asked), before);
        assert_eq!(names(workspace.manifest()), [".gitignore", "one.log"]);
        // Without an answer of git, the record has a gap.
        put(".git/index", "bad");
        assert!(open().manifest().truncated);
    }

    /// Files whose names differ only in their form, or are not UTF-8, are files of their own.
    #[test]
    fn each_file_has_an_entry_whatever_its_name() {
        use std::os::unix::ffi::OsStrExt;
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &[u8], text: &str| {
            std::fs::write(dir.path().join(std::ffi::OsStr::from_bytes(name)), text).unwrap();
        };
        let (composed, decomposed) = ("\u{e9}.sh", "e\u{301}.sh");
        write(decomposed.as_bytes(), "old");
        write(b"z\xff.sh", "old");
        let workspace = Workspace::open(dir.path(), &[], &[]).unwrap();
        let before = workspace.manifest();
        assert_eq!(before.files.keys().collect::<Vec<_>>(), [r"z\xff.sh", composed]);
        write(composed.as_bytes(), "new");
        write(b"z\xfe.sh", "other");
        let changes = workspace.changes(&before, &workspace.manifest());
        let content = |change: &Change| change.after.as_ref().unwrap().sha256.unwrap();
        let found: Vec<_> = changes.iter().map(|one| (one.path.as_str(), content(one))).collect();
        let expected = [
            (r"e\xcc\x81.sh", Digest::of("old")),
            (r"z\xfe.sh", Digest::of("other")),
            (composed, Digest::of("new")),
        ];
        assert_eq!(found, expected);
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

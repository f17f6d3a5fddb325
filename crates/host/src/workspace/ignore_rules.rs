//! Ignore rules: `.gitignore` files and `.git/info/exclude`, read from disk or as they were when a run
//! started.

use super::dir_handle::{FOLDER, MAX_DEPTH, open_file_at};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Dir, FileType, Mode, OFlags};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

const OWN: &str = ".gitignore";
const EXCLUDE: &str = ".git/info/exclude";
/// Maximum size of all ignore files that are kept for a run, in bytes.
const KEPT_BYTES: usize = 4 << 20;
/// Maximum number of directories that are searched for ignore files.
const SEARCHED: usize = 100_000;

/// The texts of the ignore files of a workspace, by path. A file that is missing here hides nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoreFiles(pub BTreeMap<String, String>);

impl IgnoreFiles {
    /// Reads the ignore files of all directories that they do not hide. Blocks.
    pub fn read(root: &Path) -> IgnoreFiles {
        let mut search = Search { found: BTreeMap::new(), room: KEPT_BYTES, left: SEARCHED };
        if let Ok(root) = rustix::fs::open(root, FOLDER.difference(OFlags::NOFOLLOW), Mode::empty())
        {
            search.folder(&root, "", &mut IgnoreRules::default(), 0);
        }
        IgnoreFiles(search.found)
    }
}

struct Search {
    found: BTreeMap<String, String>,
    room: usize,
    left: usize,
}

impl Search {
    fn folder(&mut self, folder: &OwnedFd, prefix: &str, rules: &mut IgnoreRules, depth: usize) {
        if self.left == 0 || depth == MAX_DEPTH {
            return;
        }
        self.left -= 1;
        let texts = read_texts(folder, prefix.is_empty());
        let kept = texts.into_iter().filter(|(_, text)| {
            let fits = text.len() <= self.room;
            self.room -= if fits { text.len() } else { 0 };
            fits
        });
        let kept: Vec<_> = kept.collect();
        let added = rules.add(kept.iter().map(|(_, text)| text.as_str()), prefix);
        self.found.extend(kept.into_iter().map(|(name, text)| (format!("{prefix}{name}"), text)));
        for entry in Dir::read_from(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let may_be_folder =
                matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
            if !may_be_folder || matches!(name.to_bytes(), b"." | b".." | b".git") {
                continue;
            }
            let path = format!("{prefix}{}", name.to_string_lossy());
            if rules.hide(&path, true) {
                continue;
            }
            if let Ok(below) = rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
                self.folder(&below, &format!("{path}/"), rules, depth + 1);
            }
        }
        rules.leave(added);
    }
}

/// The parsed ignore files of a run, by the prefix of their directory.
#[derive(Debug)]
pub(super) struct ParsedIgnoreFiles(BTreeMap<String, Vec<Arc<Gitignore>>>);

impl ParsedIgnoreFiles {
    pub(super) fn of(files: &IgnoreFiles) -> ParsedIgnoreFiles {
        let mut parsed: BTreeMap<String, Vec<_>> = BTreeMap::new();
        // The exclude file of the root comes first, because its rules are the outermost.
        let excluded = files.0.get_key_value(EXCLUDE);
        let own = files.0.iter().filter(|(path, _)| *path != EXCLUDE);
        for (path, text) in excluded.into_iter().chain(own) {
            let prefix = if path == EXCLUDE { "" } else { path.trim_end_matches(OWN) };
            parsed.entry(prefix.to_owned()).or_default().extend(rules_of(text, prefix));
        }
        ParsedIgnoreFiles(parsed)
    }
}

/// The ignore files of the directories on the way down, outermost first: `.gitignore` in each
/// directory and `.git/info/exclude` in the root. The user's own ignore files and those above the
/// workspace are not read, so that the result is the same on every machine.
#[derive(Default)]
pub(super) struct IgnoreRules {
    rules: Vec<Arc<Gitignore>>,
    /// Where the rules come from; `None` is the disk.
    kept: Option<Arc<ParsedIgnoreFiles>>,
}

impl IgnoreRules {
    /// No rules yet. Directories are entered with these files, or with the files on disk.
    pub(super) fn new(kept: Option<Arc<ParsedIgnoreFiles>>) -> IgnoreRules {
        IgnoreRules { rules: Vec::new(), kept }
    }

    /// Rules that hide nothing.
    pub(super) fn none() -> IgnoreRules {
        IgnoreRules::new(Some(Arc::new(ParsedIgnoreFiles(BTreeMap::new()))))
    }

    /// The same source of rules, before any directory is entered.
    pub(super) fn without_rules(self) -> IgnoreRules {
        IgnoreRules::new(self.kept)
    }

    /// Adds the rules of a directory, whose path ends in `/` or is empty. Returns how many there
    /// are, for [`IgnoreRules::leave`].
    pub(super) fn enter(&mut self, folder: &impl AsFd, prefix: &str, is_root: bool) -> usize {
        if let Some(kept) = &self.kept {
            let rules = kept.0.get(prefix).map(Vec::as_slice).unwrap_or_default();
            self.rules.extend_from_slice(rules);
            return rules.len();
        }
        let texts = read_texts(folder, is_root);
        self.add(texts.iter().map(|(_, text)| text.as_str()), prefix)
    }

    fn add<'t>(&mut self, texts: impl Iterator<Item = &'t str>, prefix: &str) -> usize {
        let before = self.rules.len();
        self.rules.extend(texts.filter_map(|text| rules_of(text, prefix)));
        self.rules.len() - before
    }

    /// Removes the innermost `count` ignore files.
    pub(super) fn leave(&mut self, count: usize) {
        self.rules.truncate(self.rules.len() - count);
    }

    /// Whether the rules hide a path.
    pub(super) fn hide(&self, path: &str, is_folder: bool) -> bool {
        let verdicts = self.rules.iter().rev().map(|rules| rules.matched(path, is_folder));
        verdicts.into_iter().find(|verdict| !verdict.is_none()).is_some_and(|v| v.is_ignore())
    }
}

/// The ignore files in a directory, outermost first.
fn read_texts(folder: &impl AsFd, is_root: bool) -> Vec<(&'static str, String)> {
    let names = is_root.then_some(EXCLUDE).into_iter().chain([OWN]);
    names.filter_map(|name| Some((name, read_small(folder, name)?))).collect()
}

fn rules_of(text: &str, prefix: &str) -> Option<Arc<Gitignore>> {
    let mut builder = GitignoreBuilder::new(Path::new(prefix.trim_end_matches('/')));
    for line in text.lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty()).map(Arc::new)
}

/// The text of a small regular file, with invalid UTF-8 replaced.
fn read_small(folder: &impl AsFd, name: &str) -> Option<String> {
    let mut bytes = Vec::new();
    open_file_at(folder, name).ok()?.take(1 << 20).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

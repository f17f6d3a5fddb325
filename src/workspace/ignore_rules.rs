//! Ignore rules: `.gitignore` files and `.git/info/exclude`.

use super::dir_handle::open_file_at;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fd::AsFd;
use std::io::Read;
use std::path::Path;

/// The ignore files of the directories on the way down, outermost first: `.gitignore` in each
/// directory and `.git/info/exclude` in the root. The user's own ignore files and those above the
/// workspace are not read, so that the result is the same on every machine.
#[derive(Default)]
pub(super) struct IgnoreRules(Vec<Gitignore>);

impl IgnoreRules {
    /// Reads the ignore files of a directory, whose path ends in `/` or is empty. Returns how many
    /// there are, for [`IgnoreRules::leave`].
    pub(super) fn enter(&mut self, folder: &impl AsFd, prefix: &str, is_root: bool) -> usize {
        let own = read_small(folder, ".gitignore");
        let exclude = is_root.then(|| read_small(folder, ".git/info/exclude")).flatten();
        let texts = exclude.into_iter().chain(own);
        let rules = texts.filter_map(|text| {
            let mut builder = GitignoreBuilder::new(Path::new(prefix.trim_end_matches('/')));
            for line in text.lines() {
                let _ = builder.add_line(None, line);
            }
            builder.build().ok().filter(|rules| !rules.is_empty())
        });
        let before = self.0.len();
        self.0.extend(rules);
        self.0.len() - before
    }

    /// Removes the innermost `count` ignore files.
    pub(super) fn leave(&mut self, count: usize) {
        self.0.truncate(self.0.len() - count);
    }

    /// Whether the rules hide a path.
    pub(super) fn hide(&self, path: &str, is_folder: bool) -> bool {
        let verdicts = self.0.iter().rev().map(|rules| rules.matched(path, is_folder));
        verdicts.into_iter().find(|verdict| !verdict.is_none()).is_some_and(|v| v.is_ignore())
    }
}

/// The text of a small regular file, with invalid UTF-8 replaced.
fn read_small(folder: &impl AsFd, name: &str) -> Option<String> {
    let mut bytes = Vec::new();
    open_file_at(folder, name).ok()?.take(1 << 20).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

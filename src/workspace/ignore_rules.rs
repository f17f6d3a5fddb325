use super::dir_handle::open_here;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fd::AsFd;
use std::io::Read;
use std::path::Path;

/// The ignore files of the folders on the way down, outermost first: `.gitignore` everywhere and
/// `.git/info/exclude` at the root. The same on every machine, so the person's own ignore files and
/// those above the workspace have no say.
#[derive(Default)]
pub(super) struct IgnoreRules(Vec<Gitignore>);

impl IgnoreRules {
    /// Reads the ignore files of a folder, whose path ends in `/` or is empty; tells how many there
    /// were, for [`IgnoreRules::leave`].
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

    /// Forgets the innermost ones.
    pub(super) fn leave(&mut self, count: usize) {
        self.0.truncate(self.0.len() - count);
    }

    /// Whether they hide a path.
    pub(super) fn hide(&self, path: &str, is_folder: bool) -> bool {
        let verdicts = self.0.iter().rev().map(|rules| rules.matched(path, is_folder));
        verdicts.into_iter().find(|verdict| !verdict.is_none()).is_some_and(|v| v.is_ignore())
    }
}

/// A small regular file's text, lossily.
fn read_small(folder: &impl AsFd, name: &str) -> Option<String> {
    let mut bytes = Vec::new();
    open_here(folder, name).ok()?.take(1 << 20).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

//! [`IndexRules`]: which files the index of a workspace has, and who makes vectors of their parts.

use kb_base::value::Glob;
use kb_knowledge::{Corpus, Embedder};
use std::sync::Arc;

/// Which files the index of a workspace has, and who makes vectors of their parts.
#[derive(Debug, Clone)]
pub struct IndexRules {
    /// Further files that are documents.
    pub docs: PathGlobs,
    /// Files that are not indexed.
    pub exclude: PathGlobs,
    /// Maximum number of files.
    pub max_files: usize,
    /// Maximum size of a file of a known language and of a document, in bytes.
    pub max_file: u64,
    /// Makes the vectors; `None`: parts are found by words alone.
    pub embedder: Option<Arc<dyn Embedder>>,
}

impl Default for IndexRules {
    fn default() -> IndexRules {
        IndexRules {
            docs: PathGlobs::default(),
            exclude: PathGlobs::default(),
            max_files: 50_000,
            max_file: 1 << 20,
            embedder: None,
        }
    }
}

impl IndexRules {
    /// The collection that a file belongs to.
    pub(super) fn corpus(&self, path: &str) -> Corpus {
        if self.docs.match_path(path) { Corpus::Docs } else { Corpus::of_path(path) }
    }
}

/// Globs of paths, or of names at any depth if they have no `/`. What a glob with `!` matches is taken out.
#[derive(Debug, Clone, Default)]
pub struct PathGlobs {
    with: Vec<Glob>,
    without: Vec<Glob>,
}

impl PathGlobs {
    /// These globs. The settings checked them, so that one that cannot be read is left out.
    pub fn of(globs: &[String]) -> PathGlobs {
        let mut found = PathGlobs::default();
        for glob in globs {
            let (list, glob) = match glob.strip_prefix('!') {
                Some(glob) => (&mut found.without, glob),
                None => (&mut found.with, glob.as_str()),
            };
            let glob = glob.strip_prefix("./").unwrap_or(glob);
            let glob = if glob.contains('/') { glob.to_owned() } else { format!("**/{glob}") };
            list.extend(Glob::of_paths(&glob));
        }
        found
    }

    /// Whether a path is among them.
    pub fn match_path(&self, path: &str) -> bool {
        let among = |globs: &[Glob]| globs.iter().any(|glob| glob.is_match(path));
        among(&self.with) && !among(&self.without)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_of_paths_or_of_names_and_take_out_others() {
        let own = ["vendor/**", "*.gen.rs", "!vendor/ours/**"].map(str::to_owned);
        let globs = PathGlobs::of(&own);
        for (path, is_among) in [
            ("vendor/a.c", true),
            ("vendor/b/c.c", true),
            ("vendor/ours/a.c", false),
            ("x.gen.rs", true),
            ("src/x.gen.rs", true),
            ("src/vendor/a.c", false),
        ] {
            assert_eq!(globs.match_path(path), is_among, "{path}");
        }
    }
}

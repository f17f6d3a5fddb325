//! Statements that files were not changed.

use super::normalized_path::normalized;
use super::observation::{Observation, ObservationQuery};
use super::statement::{Act, Meaning, Sentence, Statement, is_function_word, means};
use super::support::{NAMES, Record, Support};

/// The queries for files that statements call unchanged: whether they exist.
pub(super) fn kept_queries(statements: &[Statement], root: &str) -> Vec<ObservationQuery> {
    let kept = statements.iter().filter(|said| said.act == Some(Act::Kept));
    let paths = kept.flat_map(|said| said.sentence.paths());
    paths.map(|path| there_query(path, root)).take(NAMES).collect()
}

/// A file, the files below a folder, and, for a name without a folder, those of this name anywhere.
fn there_query(path: &str, root: &str) -> ObservationQuery {
    let path = path.split_once(':').map_or(path, |(path, _)| path);
    let own = normalized(path.trim_end_matches('/'), root);
    let pattern = match (path.ends_with('/'), own.contains('/')) {
        (true, _) => format!("{own}/**"),
        (false, true) => own,
        (false, false) => format!("**/{own}"),
    };
    ObservationQuery::Files { pattern, count: None }
}

impl Record<'_> {
    /// What the record says about files that were not changed. A sentence with other words can be about a part of a file.
    pub(super) fn has_kept(&self, sentence: &Sentence) -> Support {
        let paths = sentence.paths();
        let is_below = |own: &str, path: &str| {
            let folder = normalized(path.trim_end_matches('/'), self.root);
            own.strip_prefix(&folder).is_some_and(|rest| rest.starts_with('/'))
        };
        let is_of = |own: &str, path: &str| self.is_same(own, path) || is_below(own, path);
        let is_changed = |path: &&&str| self.changes.changed().any(|own| is_of(own, path));
        let is_plain = |word: &String| {
            is_function_word(word)
                || means(word, Meaning::Act(Act::Kept))
                || means(word, Meaning::Files)
                || means(word, Meaning::Filler)
                || paths.iter().any(|path| path.trim_end_matches('/') == word)
        };
        match paths.iter().find(is_changed) {
            None if self.changes.gap().is_some()
                || !paths.iter().all(|path| self.is_there(path)) =>
            {
                Support::Open
            }
            None => Support::Shown,
            Some(_) if !sentence.words.iter().all(is_plain) => Support::Shown,
            Some(path) => {
                let mut changed = self.changes.changed().filter(|own| is_of(own, path));
                let of_tool = |own: &str| self.coverage.has_file_tool(own);
                match path.contains('/') && changed.any(of_tool) {
                    true => Support::Refuted(format!(
                        "`{path}` is said to be unchanged, but a file tool changed it"
                    )),
                    false => Support::Open,
                }
            }
        }
    }

    /// Whether a path exists, or a file in some folder has its name.
    fn is_there(&self, path: &str) -> bool {
        let seen = self.observations.get(&there_query(path, self.root));
        matches!(seen, Some(Observation::Files(Ok(files))) if !files.is_empty())
    }
}

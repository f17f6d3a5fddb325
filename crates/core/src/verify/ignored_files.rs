//! Files that ignore rules exclude and that changed since the step began: scans do not record them, but the kernel dates
//! them.

use super::normalized_path::ends_in;
use super::path_glob::PathGlob;
use super::runner::{self, is_test_file};
use crate::evidence::{Invocation, Purpose, STEP_PROCESS};
use kb_base::value::Timestamp;
use serde::{Deserialize, Serialize};

/// Which of the ignored files that changed a gate needs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IgnoredFiles {
    /// The start of the first call of the step.
    pub since: Timestamp,
    /// Files that commands of checks execute, and globs of their inputs.
    pub named: Vec<String>,
}

/// An ignored file that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IgnoredChange {
    /// Relative to the workspace.
    pub path: String,
    /// The ignored folder with the file; `None` if the file alone is ignored.
    pub folder: Option<IgnoredFolder>,
}

/// A folder that ignore rules exclude, with all files in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IgnoredFolder {
    /// Relative to the workspace.
    pub path: String,
    /// Whether it holds installed programs, such as `node_modules` and `.venv`. Of its files one is named.
    pub installed: bool,
}

impl IgnoredFiles {
    /// Whether a file outside folders of installed programs can decide what a command does.
    pub fn includes(&self, path: &str) -> bool {
        let is_named = |name: &String| is_at(path, name) || is_input(path, name);
        runner::decides_any(path) || is_test_file(path) || self.named.iter().any(is_named)
    }
}

/// When the first call of a specialist began. What a command of the author writes is the work of the step.
pub(super) fn began(trace: &[Invocation]) -> Option<Timestamp> {
    let by_others =
        |call: &&Invocation| call.purpose == Purpose::Execution && call.tool != STEP_PROCESS;
    trace.iter().find(by_others).map(|call| call.at)
}

/// Whether a glob of `inputs` names an ignored file: it must begin with a name, so that `**` is about no build results.
pub(super) fn is_input(path: &str, glob: &str) -> bool {
    !literal_start(glob).is_empty() && PathGlob::new(glob).covers(path, false)
}

/// The part of a glob before its first wildcard.
pub(super) fn literal_start(glob: &str) -> &str {
    let glob = glob.trim_start_matches("./");
    glob.split(['*', '?', '[', '{', '!']).next().unwrap_or_default()
}

/// Whether a path is the file that a word of a command names, from any folder.
pub(super) fn is_at(path: &str, word: &str) -> bool {
    let word = word.trim_start_matches("./");
    ends_in(path, word) || ends_in(word, path)
}

//! What became of the files of a step in a worktree or copy.

use kb_base::value::Failure;
use serde::{Deserialize, Serialize};

/// The result of a merge of the files of a step or of its items.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Merged {
    /// What became of the files of the step, or of each of its items in item order.
    pub trees: Vec<MergedTree>,
    /// Why not everything was merged.
    pub failure: Option<Failure>,
}

/// The merge of one worktree or copy into the project.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MergedTree {
    /// The step or item, such as `implement[src/a.rs]`.
    pub instance: String,
    /// The paths that were written into the project, relative to it; those of folders that were made or removed
    /// end with `/`. With conflicts, those that a merge wrote before it was interrupted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The commits that were added to the branch of the project, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
    /// The paths that both sides changed; nothing else of this tree was merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// The folder with the files of the step, if it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

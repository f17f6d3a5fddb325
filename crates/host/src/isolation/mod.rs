//! Files of their own for steps: git worktrees and copies of the project, and their way back.
//!
//! [`Trees`] makes a tree when an attempt asks for it, keeps it for the attempts and gates of the same
//! iteration, and merges it when the step's work is accepted. A tree lies outside of the project:
//! `STATE/kb/PROJECT.trees/RUN/NAME`, with `NAME.json` (what it contained at first), `NAME.plan.json`
//! (what is being written into the project) and `NAME.merged.json` (what was merged) beside it. Each of
//! these files is renamed into place, so that after a kill the same call continues where it stopped.
//! The contents at first of small files are in `RUN/base/`, for the merge of texts.
//!
//! `git` itself makes worktrees and rebases commits, because it is what the files must agree with and
//! `gix` cannot rebase yet. It is started like every process, with hooks, filters, file monitors and
//! editors of all configuration files switched off. Files are copied and merged by `kb`, through the
//! path guard: a checkout would run filters, and would miss changes that are not committed.
//!
//! Start at [`Trees`].

mod base;
mod create;
mod failures;
mod merge;
mod plan;
mod print;
mod rebase;
mod sweep;
mod three_way;
mod trees;

pub(crate) use failures::gone;
pub use sweep::{Leftover, Need};
pub use trees::{Tree, Trees, home_of};

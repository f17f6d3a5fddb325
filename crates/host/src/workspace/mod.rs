//! The project files that steps read and write: the path guard, manifests and watching.
//!
//! [`Workspace`] resolves every path of every tool, check and working directory under open folder
//! handles, so that no link leads out of it. [`WorkspaceWatch`] records what changed while a process
//! ran, without what `kb` itself wrote meanwhile (`own_writes.rs`). `WriteTarget` is the only code that
//! changes a file. Start reading at `path_guard.rs`.

mod changed_since;
mod code_sources;
mod content;
mod content_cache;
mod digests;
mod dir_handle;
mod file_access;
mod git_list;
mod git_setting;
mod git_settings;
mod hidden_paths;
mod ignore_rules;
mod index_rules;
mod left_behind;
mod manifest;
mod matched_files;
mod open_commands;
mod opened_folder;
mod own_files;
mod own_path;
mod own_writes;
mod path_error;
mod path_glob;
mod path_guard;
mod path_rules;
mod path_text;
mod project_index;
mod protected_names;
mod protected_paths;
mod protected_watch;
mod real_path;
mod repository;
mod resolve;
mod state_before;
mod state_of_kb;
mod stored_files;
mod text_diff;
mod tracked_files;
mod walk;
mod watch;
mod watch_rules;
mod whole_file;
mod work_trees;
mod write_target;
mod writing;

pub use changed_since::{ChangedFile, ChangedFiles};
pub(crate) use file_access::FileAccess;
pub(crate) use hidden_paths::TooManyHidden;
pub(crate) use manifest::Folders;
pub(crate) use matched_files::{matched_files, not_observed};
pub(crate) use opened_folder::OpenedFolder;
pub(crate) use own_files::FileContent;
pub(crate) use own_path::lexical;
pub use own_path::own_path;
pub(crate) use path_error::wrong_kind;
pub use path_glob::PathGlob;
pub(crate) use path_rules::PathRules;
pub(crate) use path_text::shown;
pub(crate) use project_index::patience;
pub use project_index::{FileQuestion, IndexedFiles};
pub(crate) use protected_watch::ProtectedWatch;
pub(crate) use repository::repository_outside;
pub(crate) use walk::Entry;
pub(crate) use write_target::PriorState;

pub use git_list::{GitList, ListGitSettings, NotListed};
pub use ignore_rules::IgnoreFiles;
pub use index_rules::{IndexRules, PathGlobs};
pub(crate) use open_commands::named;
pub use open_commands::{OpenChange, OpenCommand};
pub use path_error::PathError;
pub use path_guard::Workspace;
pub use resolve::ResolvedPath;
pub(crate) use state_before::StateBefore;
pub use state_before::StatesBefore;
pub use text_diff::unified_diff;
pub use watch::{WorkspaceChanges, WorkspaceWatch};

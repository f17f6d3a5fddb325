//! What a project has, where a translation depends on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type HasFile = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The project that a file is imported into.
#[derive(Clone, Default)]
pub struct Around {
    /// The ids of its playbooks.
    pub playbooks: Arc<BTreeSet<String>>,
    /// Its specialists by id, with the texts of those that are files of their own in the folder of the results.
    pub specialists: Arc<BTreeMap<String, Option<String>>>,
    /// Whether a file exists, by its path in the project. Without it, each file does.
    pub has_file: Option<HasFile>,
}

impl Around {
    /// Whether the project has a file.
    pub(crate) fn has_file(&self, path: &str) -> bool {
        self.has_file.as_ref().is_none_or(|has_file| has_file(path))
    }
}

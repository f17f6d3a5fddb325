//! `concurrency:` of a playbook and `locks:` of steps.

use crate::definition::keys::choices;
use crate::expression::Template;

/// `concurrency:` of a playbook: its runs do not execute at the same time as others of the group.
#[derive(Debug, Clone)]
pub struct Concurrency {
    /// Name of the group; it may read parameters. `None`: the id of the playbook.
    pub group: Option<Template>,
    /// What happens while another run of the group executes.
    pub on_conflict: ConflictPolicy,
}

choices! {
    /// `onConflict` of `concurrency`.
    #[derive(Default)]
    pub enum ConflictPolicy {
        /// The new run waits for its turn.
        #[default]
        Queue = "queue",
        /// The new run does not start.
        Skip = "skip",
        /// The other run is cancelled; then the new one starts.
        CancelRunning = "cancelRunning",
    }
}

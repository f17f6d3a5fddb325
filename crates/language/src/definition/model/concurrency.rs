//! `concurrency:` of a playbook and `locks:` of steps.

use crate::expression::Template;

/// `concurrency:` of a playbook: its runs do not execute at the same time as others of the group.
#[derive(Debug, Clone)]
pub struct Concurrency {
    /// Name of the group; it may read parameters. `None`: the id of the playbook.
    pub group: Option<Template>,
    /// What happens while another run of the group executes.
    pub on_conflict: ConflictPolicy,
}

/// `onConflict` of `concurrency`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConflictPolicy {
    /// The new run waits for its turn.
    #[default]
    Queue,
    /// The new run does not start.
    Skip,
    /// The other run is cancelled; then the new one starts.
    CancelRunning,
}

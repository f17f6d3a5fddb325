//! Which attempt an effect, a message or an input belongs to.

use kb_core::run::InstanceIx;

/// One attempt of an instance. Messages of an older attempt are dropped by the state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) instance: InstanceIx,
    pub(super) iteration: u32,
    pub(super) attempt: u32,
}

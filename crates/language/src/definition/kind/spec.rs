//! What every step kind declares: [`StepType`] and its [`KindRules`].

use super::execution::{Execution, OutputForm};
use crate::definition::keys::KeySpec;
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};
use crate::expression::Reference;

/// The data of a step of one kind, and everything that depends on the kind.
pub(super) trait StepType: Sized {
    /// The kind keys, each of which makes a step one of this kind.
    const KEYS: &'static [KeySpec];
    /// The other keys that only steps of this kind have.
    const OWN_KEYS: &'static [KeySpec];
    /// The static rules.
    const RULES: KindRules;

    /// Decodes the value of the kind key, with the other keys of the step.
    fn decode(node: &Node, fields: &Fields<'_>, decoder: &mut Decoder) -> Option<Self>;

    /// How the step is executed.
    fn execution(&self) -> Execution<'_>;

    /// The references in the texts of the work, one list per text. All of them create dependencies.
    fn references(&self) -> Vec<Vec<&Reference>>;

    /// The output of a step without `output.schema`.
    fn output(&self) -> OutputForm<'_>;

    /// What does the work, for drawings, such as the name of a tool; empty if the kind says enough.
    fn worker(&self) -> String;

    /// What the step does, in a few words after the kind; by default, what does the work.
    fn detail(&self) -> String {
        self.worker()
    }
}

/// What the loader needs to know of a step kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KindRules {
    /// Whether a specialist does the work.
    pub(crate) is_specialist: bool,
    /// Help for an `input`, if this kind does not read it.
    pub(crate) unused_input: Option<&'static str>,
    /// Whether `input` can contain secrets.
    pub(crate) input_secrets: Secrets,
    /// Whether `retry` without `on` includes non-zero exits.
    pub(crate) retries_exit: bool,
    /// Whether a step of this kind can start processes, apart from its checks.
    pub(crate) starts_process: fn(&Fields<'_>) -> bool,
    /// Whether a step of this kind can have a worktree or copy.
    pub(crate) has_own_files: bool,
    /// Common keys that this kind cannot have, each with the help.
    pub(crate) excluded: &'static [(&'static str, &'static str)],
    /// Common keys that have no effect in a step of this kind.
    pub(crate) no_effect: &'static [&'static str],
    /// Common keys that have no effect without `verify`.
    pub(crate) no_effect_without_verify: &'static [&'static str],
}

impl KindRules {
    /// A kind that starts processes and reads no input.
    pub(super) const PROCESS: KindRules = KindRules {
        is_specialist: false,
        unused_input: Some("remove it"),
        input_secrets: Secrets::Refused,
        retries_exit: false,
        starts_process: |_| true,
        has_own_files: true,
        excluded: &[],
        no_effect: &[],
        no_effect_without_verify: &[],
    };

    /// A kind that only waits, so that keys about attempts, processes and locks have no place in it.
    pub(super) const fn waiting(excluded: &'static [(&'static str, &'static str)]) -> KindRules {
        KindRules {
            starts_process: |_| false,
            has_own_files: false,
            excluded,
            no_effect: &["retrySafe", "evidence", "locks"],
            no_effect_without_verify: &["workspace", "merge"],
            ..KindRules::PROCESS
        }
    }
}

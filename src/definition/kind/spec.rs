//! [`Kind`]: what the loader needs to know of a step kind.

use crate::definition::model::{NotYet, StepKind};
use crate::definition::syntax::{Decoder, Fields, Node, Secrets};

/// One kind of step: its kind key, its decoder and its static rules.
#[derive(Debug)]
pub(crate) struct Kind {
    /// The kind key.
    pub(crate) key: &'static str,
    /// Decodes the value of the kind key, with the other keys of the step.
    pub(crate) decode: fn(&Node, &Fields<'_>, &mut Decoder, &mut Vec<NotYet>) -> Option<StepKind>,
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
    /// Common keys that this kind cannot have, each with the help.
    pub(crate) excluded: &'static [(&'static str, &'static str)],
    /// Common keys that have no effect in a step of this kind.
    pub(crate) no_effect: &'static [&'static str],
    /// Common keys that have no effect without `verify`.
    pub(crate) no_effect_without_verify: &'static [&'static str],
}

impl Kind {
    /// A kind that starts processes and reads no input.
    pub(super) const fn new(
        key: &'static str,
        decode: fn(&Node, &Fields<'_>, &mut Decoder, &mut Vec<NotYet>) -> Option<StepKind>,
    ) -> Kind {
        Kind {
            key,
            decode,
            is_specialist: false,
            unused_input: Some("remove it"),
            input_secrets: Secrets::Refused,
            retries_exit: false,
            starts_process: |_| true,
            excluded: &[],
            no_effect: &[],
            no_effect_without_verify: &[],
        }
    }

    /// A kind that only waits, so that keys about attempts, processes and locks have no place in it.
    pub(super) const fn waiting(
        key: &'static str,
        decode: fn(&Node, &Fields<'_>, &mut Decoder, &mut Vec<NotYet>) -> Option<StepKind>,
        excluded: &'static [(&'static str, &'static str)],
    ) -> Kind {
        Kind {
            starts_process: |_| false,
            excluded,
            no_effect: &["retrySafe", "evidence"],
            no_effect_without_verify: &["workspace"],
            ..Kind::new(key, decode)
        }
    }
}

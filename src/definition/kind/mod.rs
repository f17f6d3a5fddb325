//! The kinds of steps: one module each, with its decoding and its static rules.
//!
//! Start at [`Kind`] and [`KINDS`]. A new kind is a module with a [`Kind`], an entry in [`KINDS`], its
//! keys in `keys::step`, and a variant of [`StepKind`].

/// The common keys that a kind that only waits cannot have, each with the help: those about attempts,
/// `timeout` and `output`.
macro_rules! waiting_exclusions {
    ($kind:literal, $timeout:literal, $output:literal) => {
        &[
            ("verify", waiting_exclusions!(@ $kind)),
            ("retry", waiting_exclusions!(@ $kind)),
            ("recovery", waiting_exclusions!(@ $kind)),
            ("maxAttempts", waiting_exclusions!(@ $kind)),
            ("cache", waiting_exclusions!(@ $kind)),
            ("loop", waiting_exclusions!(@ $kind)),
            ("timeout", $timeout),
            ("output", $output),
        ]
    };
    (@ $kind:literal) => {
        concat!("remove it; a `", $kind, "` step has no attempts, it only waits")
    };
}

mod approve;
mod ask;
mod gate;
mod http;
mod playbook;
mod run;
mod set;
mod specialist;
mod tool;
mod wait;

pub(crate) use specialist::profile_path;

use super::model::{NotYet, StepKind};
use super::syntax::{Decoder, Fields, Node, Secrets};

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
    const fn new(
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
}

/// All kinds, in the order in which messages list them.
pub(crate) static KINDS: [&Kind; 11] = [
    &specialist::SPECIALIST,
    &specialist::AGENT,
    &run::RUN,
    &tool::TOOL,
    &http::HTTP,
    &playbook::PLAYBOOK,
    &ask::ASK,
    &approve::APPROVE,
    &set::SET,
    &wait::WAIT,
    &gate::GATE,
];

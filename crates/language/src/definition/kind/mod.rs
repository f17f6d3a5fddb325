//! The kinds of steps: one module each, with its keys, its type, its decoder, its static rules, and
//! everything else that depends on the kind.
//!
//! Start at [`StepKind`]. A new kind is a module with a [`StepType`] and a line in `kinds!`. The state
//! machine and the engine do not match kinds; they match the [`Execution`] of a step.

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
        concat!("remove it; `", $kind, "` steps have no attempts, they only wait")
    };
}

mod answer;
mod approve;
mod ask;
mod execution;
mod gate;
mod http;
mod playbook;
mod run;
mod set;
mod spec;
mod specialist;
mod step_kind;
mod tool;
mod wait;

pub use answer::AnswerRule;
pub use approve::ApproveStep;
pub use ask::AskStep;
pub use execution::{Ask, Compute, Effects, Execution, Moment, OnReject, OnTimeout, OutputForm};
pub use http::HttpStep;
pub use playbook::{ChildParam, PlaybookStep};
pub use run::{OutputParse, RunCommand, RunStep};
pub use specialist::{IncludedArtifact, SpecialistStep, TaskText};
pub use tool::ToolStep;
pub use wait::WaitStep;

pub(crate) use spec::KindRules;
pub(crate) use specialist::{CAPABILITY, profile_path};

use super::gate_check::Check;
use super::keys::{KeySpec, count, joined};
use super::syntax::{Decoder, Fields, Node};
use crate::expression::{Reference, ValueMap};
use spec::StepType;

/// Declares [`StepKind`] and everything that has one entry per kind.
macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident($ty:ty),)+) => {
        /// The kind of a step, named by its kind key.
        #[derive(Debug, Clone)]
        pub enum StepKind {
            $($(#[$doc])* $variant($ty),)+
        }

        impl StepKind {
            /// The kind key; of several, the first.
            pub fn name(&self) -> &'static str {
                match self {
                    $(StepKind::$variant(_) => <$ty as StepType>::KEYS[0].name,)+
                }
            }

            /// How a step of this kind is executed.
            pub fn execution(&self) -> Execution<'_> {
                match self {
                    $(StepKind::$variant(step) => step.execution(),)+
                }
            }

            /// The references in the texts of the work, one list per text. All of them create
            /// dependencies, including those in the checks of a `gate` step.
            pub fn references(&self) -> Vec<Vec<&Reference>> {
                match self {
                    $(StepKind::$variant(step) => StepType::references(step),)+
                }
            }

            /// The output of a step without `output.schema`.
            pub fn output(&self) -> OutputForm<'_> {
                match self {
                    $(StepKind::$variant(step) => step.output(),)+
                }
            }

            /// What does the work, for drawings: the specialist, tool, program, HTTP method or time.
            pub fn worker(&self) -> String {
                match self {
                    $(StepKind::$variant(step) => step.worker(),)+
                }
            }

            /// The kind with what the step does, in a few words, such as `run cargo …`.
            pub fn summary(&self) -> String {
                let detail = match self {
                    $(StepKind::$variant(step) => step.detail(),)+
                };
                let name = self.name();
                if detail.is_empty() { name.to_owned() } else { format!("{name} {detail}") }
            }
        }

        const ALL: &[Declared] = &[$(Declared {
            keys: <$ty as StepType>::KEYS,
            rules: &<$ty as StepType>::RULES,
            decode: |node, fields, decoder| {
                <$ty as StepType>::decode(node, fields, decoder).map(StepKind::$variant)
            },
        }),+];

        const KEY_LISTS: &[&[KeySpec]] = &[$(<$ty as StepType>::KEYS),+];
        const OWN_KEY_LISTS: &[&[KeySpec]] = &[$(<$ty as StepType>::OWN_KEYS),+];
    };
}

kinds! {
    /// An LLM specialist with an allow-list of tools.
    Specialist(Box<SpecialistStep>),
    /// A shell script or program.
    Run(RunStep),
    /// One call of a tool by the author.
    Tool(Box<ToolStep>),
    /// One HTTP request.
    Http(Box<HttpStep>),
    /// A child run of another playbook or workflow.
    Playbook(Box<PlaybookStep>),
    /// A question to a person.
    Ask(Box<AskStep>),
    /// A request for approval.
    Approve(Box<ApproveStep>),
    /// Values computed from expressions, in the order of the file.
    Set(ValueMap),
    /// A durable timer.
    Wait(Box<WaitStep>),
    /// Checks without other work.
    Gate(Box<[Check]>),
}

/// The kind keys of all kinds, in the order in which messages list them.
pub(super) const KEYS: &[KeySpec] = &joined::<{ count(KEY_LISTS) }>(KEY_LISTS);

/// The other keys that belong to one kind.
pub(super) const OWN_KEYS: &[KeySpec] = &joined::<{ count(OWN_KEY_LISTS) }>(OWN_KEY_LISTS);

/// The names of [`KEYS`], of which a step has exactly one.
pub(super) const NAMES: &[&str] = &{
    let mut names = [""; KEYS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = KEYS[at].name;
        at += 1;
    }
    names
};

/// One kind key with what the loader needs to know of its kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// The key that selects the kind in a step.
    pub(crate) key: &'static str,
    /// The static rules.
    pub(crate) rules: &'static KindRules,
    /// Decodes the value of the kind key, with the other keys of the step.
    pub(crate) decode: Decode,
}

type Decode = fn(&Node, &Fields<'_>, &mut Decoder) -> Option<StepKind>;

struct Declared {
    keys: &'static [KeySpec],
    rules: &'static KindRules,
    decode: Decode,
}

/// All kinds, one for each kind key, in the order of [`KEYS`].
pub(crate) fn kinds() -> impl Iterator<Item = Kind> {
    ALL.iter().flat_map(|kind| {
        kind.keys.iter().map(|key| Kind { key: key.name, rules: kind.rules, decode: kind.decode })
    })
}

//! [`Extras`]: the fields that few instances use, and their types.

use super::child_link::ChildLink;
use super::compact::CompactPayload;
use super::items::Items;
use super::optional_time::OptionalTime;
use super::question::Question;
use crate::evidence::{Handoff, VerdictCounts, Verification};
use kb_base::value::{Digest, Failure, RunId, SpecialistId, Tier, Usage};
use kb_language::definition::RecoveryKind;

/// Fields that few instances use. Those that are large and rare are behind pointers of their own, because
/// steps that wait for a person have these fields, too.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Extras {
    pub(super) failure: Option<Box<Failure>>,
    pub(super) verification: Option<Box<Verification>>,
    pub(super) usage: Option<Box<Usage>>,
    pub(super) due: OptionalTime,
    pub(super) handoff: Option<Box<Handoff>>,
    pub(super) items: Option<Box<Items>>,
    pub(super) recovery: Option<Box<Recovery>>,
    pub(super) question: Option<Box<Question>>,
    pub(super) passes: Option<Box<Passes>>,
    pub(super) child: Option<Box<ChildLink>>,
    pub(super) origin: Option<Box<Origin>>,
    pub(super) deselected: bool,
    pub(super) continues: bool,
    pub(super) merge: MergeState,
}

/// How far the changes of a step in a worktree or copy are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum MergeState {
    /// Its work is not accepted yet, or it has no worktree or copy.
    #[default]
    Open,
    /// The merge has started.
    Merging,
    /// The merge has ended.
    Merged,
}

/// Where a result comes from that this run did not make.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Origin {
    /// An earlier run whose results this run keeps, and the verdicts of the child run of the instance there.
    Kept(RunId, VerdictCounts),
    /// An earlier run, whose result the gate of this run judges again.
    Verified(RunId),
    /// The stored result of a step instance of a run.
    Cached { run: RunId, instance: String },
}

/// The use of the recovery table in the current pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Recovery {
    /// By row: how often it was used, and the fingerprint of the failure that it last followed.
    pub(super) rows: Vec<(u32, Option<Digest>)>,
    pub(super) variation: Variation,
    /// Action of the row that was taken last.
    pub(super) last: Option<RecoveryKind>,
    /// Whether the gate refuted an attempt of the pass.
    pub(super) refuted: bool,
    pub(super) escalations: u32,
    /// The comment of the person who permitted the next attempt.
    pub(super) advice: Option<Box<str>>,
}

/// The tier and specialist that recovery chose for the attempts of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Variation {
    /// Tier of an escalation; `None`: the tier of the specialist.
    pub tier: Option<Tier>,
    /// Specialist of a switch; `None`: the specialist of the step.
    pub specialist: Option<SpecialistId>,
}

/// The finished passes of a `loop`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Passes {
    pub(super) count: u32,
    /// Attempts that they took.
    pub(super) attempts: u32,
    pub(super) escalations: u32,
    pub(super) last: PreviousPass,
}

/// The result of the pass before the current one.
#[derive(Debug, Clone, PartialEq)]
pub struct PreviousPass {
    /// The output that the pass ended with.
    pub output: Option<CompactPayload>,
    /// The result of its gate.
    pub verification: Option<Verification>,
}

impl Default for Extras {
    fn default() -> Self {
        Extras {
            failure: None,
            verification: None,
            usage: None,
            due: OptionalTime::NONE,
            handoff: None,
            items: None,
            recovery: None,
            question: None,
            passes: None,
            child: None,
            origin: None,
            deselected: false,
            continues: false,
            merge: MergeState::Open,
        }
    }
}

// Each step that waits for a person has one.
const _: () = assert!(size_of::<Extras>() <= 96);

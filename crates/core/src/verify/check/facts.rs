//! What checks are evaluated against.

use super::super::asked_work::AskedWork;
use super::super::earlier_step::EarlierStep;
use super::super::finding::Finding;
use super::super::observation::{Observation, ObservationQuery, Observations};
use super::super::recorded_changes::RecordedChanges;
use super::super::runner::TestCommands;
use crate::evidence::Invocation;
use kb_base::value::{Failure, Json};

/// What the checks of a gate are evaluated against.
pub(in crate::verify) struct Facts<'a> {
    pub(in crate::verify) output: &'a Json,
    pub(in crate::verify) changes: &'a RecordedChanges<'a>,
    pub(in crate::verify) observations: &'a Observations,
    pub(in crate::verify) trace: &'a [Invocation],
    pub(in crate::verify) test_commands: &'a TestCommands,
    /// What the task asks to be changed.
    pub(in crate::verify) asked: &'a AskedWork,
    /// What specialists changed in earlier steps.
    pub(in crate::verify) earlier: &'a [EarlierStep],
}

/// A verdict with the evidence for programs.
pub(super) type Evaluation = (Finding, Option<Json>);

impl Facts<'_> {
    /// The answer to a query. A query without an answer counts as stopped.
    pub(super) fn observation(&self, query: &ObservationQuery) -> &Observation {
        self.observations.get(query).unwrap_or(&Observation::Stopped)
    }
}

/// The verdict if the observation is not the one that the check needs.
pub(super) fn not_observed(observation: &Observation) -> Finding {
    match observation {
        Observation::Stopped => Finding::inconclusive("the gate was stopped"),
        Observation::Location(_)
        | Observation::IgnoredChanges(_)
        | Observation::Ignored(_)
        | Observation::Committed(_)
        | Observation::Files(_)
        | Observation::Names(_)
        | Observation::Definitions(_)
        | Observation::Judge(_)
        | Observation::Command(_) => Finding::inconclusive("it was not observed"),
    }
}

/// The verdict of a check whose values could not be evaluated.
pub(super) fn unresolved(failure: &Failure) -> Finding {
    let help = failure.help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
    Finding::failed(format!("{}{help}", failure.message))
}

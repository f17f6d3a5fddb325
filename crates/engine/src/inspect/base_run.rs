//! The reference from a run to the earlier run whose results it keeps.

use kb_base::value::{Digest, RunId, StepId};
use kb_core::run::PlanRevision;
use kb_core::wire::BaseView;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The run that a new run continues from, with the steps whose results it keeps. The results
/// themselves are read from that run, up to one event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaseRun {
    /// The earlier run.
    pub run: RunId,
    /// Number of its last event at that time.
    pub seq: u64,
    /// Head of its hash chain up to this event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Digest>,
    /// Steps whose results are kept, or those of their items that succeeded.
    pub keep: Vec<StepId>,
    /// Steps whose results are verified again in place of their work, each with the reason, as text for
    /// people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<(StepId, String)>,
    /// The other steps, each with the reason, as human-readable text.
    pub again: Vec<(StepId, String)>,
    /// Child runs of the earlier run that the child runs of this one continue, by the instance that
    /// executes them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub children: BTreeMap<String, RunId>,
    /// Why a planner replaced steps of the plan, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Box<PlanRevision>>,
}

impl BaseRun {
    /// The public form.
    pub fn view(&self) -> BaseView {
        let reasons = |steps: &[(StepId, String)]| {
            steps.iter().map(|(id, why)| (id.to_string(), why.clone())).collect()
        };
        BaseView {
            run: self.run.to_string(),
            kept: self.keep.iter().map(ToString::to_string).collect(),
            verified: reasons(&self.verify),
            again: reasons(&self.again),
            revision: self.revision.as_deref().map(Into::into),
        }
    }
}

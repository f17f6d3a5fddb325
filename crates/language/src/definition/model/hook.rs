//! `hooks:`: steps that follow an event of the run or of a step.

use crate::definition::keys::choices;
use kb_base::value::StepId;

/// Why a step of `hooks` runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The step whose event it follows. `None`: the run.
    pub of: Option<StepId>,
    /// What the steps of the hook follow.
    pub on: HookEvent,
}

choices! {
    /// The event that a hook follows, with its key in `hooks`.
    pub enum HookEvent {
        /// The run or the step started.
        Start = "onStart",
        /// The playbook or step succeeded.
        Success = "onSuccess",
        /// It failed, also if the failure is tolerated.
        Failure = "onFailure",
        /// It was cancelled after it had started.
        Cancel = "onCancel",
    }
}

impl Hook {
    /// Whether it can run before the main steps have ended.
    pub fn is_early(&self) -> bool {
        self.of.is_some() || self.on == HookEvent::Start
    }
}

impl std::fmt::Display for Hook {
    /// `build.onFailure`, or `onFailure` for the run.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.of {
            Some(step) => write!(f, "{step}.{}", self.on.as_str()),
            None => f.write_str(self.on.as_str()),
        }
    }
}

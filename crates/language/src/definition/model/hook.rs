//! `hooks:`: steps that follow an event of the run or of a step.

use kb_base::value::StepId;

/// Why a step of `hooks` runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The step whose event it follows. `None`: the run.
    pub of: Option<StepId>,
    /// What the steps of the hook follow.
    pub on: HookEvent,
}

/// The event that a hook follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEvent {
    /// The run or the step started.
    Start,
    /// The playbook or step succeeded.
    Success,
    /// It failed, also if the failure is tolerated.
    Failure,
    /// It was cancelled after it had started.
    Cancel,
}

impl HookEvent {
    /// All events, in the order of the reference.
    pub const ALL: [HookEvent; 4] =
        [HookEvent::Start, HookEvent::Success, HookEvent::Failure, HookEvent::Cancel];

    /// The key in `hooks`.
    pub fn key(self) -> &'static str {
        match self {
            HookEvent::Start => "onStart",
            HookEvent::Success => "onSuccess",
            HookEvent::Failure => "onFailure",
            HookEvent::Cancel => "onCancel",
        }
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
            Some(step) => write!(f, "{step}.{}", self.on.key()),
            None => f.write_str(self.on.key()),
        }
    }
}

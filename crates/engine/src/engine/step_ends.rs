//! The ends of steps with `cache`, for the executor.

use super::context::RunContext;
use kb_core::run::{Event, State, StepStatus};

/// Tells the executor about the ends of steps with `cache`, after their events are stored: it stores the
/// results of those that succeeded.
pub(super) fn note_ends<'e>(
    context: &RunContext,
    state: &State,
    events: impl Iterator<Item = &'e Event>,
) {
    for event in events {
        let (instance, succeeded) = match event {
            Event::Ended { instance, status, .. } => (*instance, *status == StepStatus::Succeeded),
            Event::PassEnded { instance, .. } => (*instance, true),
            _ => continue,
        };
        if context.planned(state, instance).step.details().cache.is_some() {
            let key = state.key(&context.plan, instance);
            context.parts.executor.ended(&context.run, &key, succeeded);
        }
    }
}

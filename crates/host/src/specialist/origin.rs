//! Whose attempt it is, for what it proposes to remember, and how far its prompt is trusted.

use crate::tool::MemoryOrigin;
use kb_attempt::{Request, SpecialistWork};
use kb_base::value::Json;
use kb_memory::Trust;

/// The origin of what an attempt proposes. A prompt with values of other steps, and a conversation with results of tools, are as trusted as
/// text from outside.
pub(super) fn origin(request: &Request, work: &SpecialistWork) -> MemoryOrigin {
    let has_values = work.input.as_ref().is_some_and(|input| !matches!(input, Json::Null))
        || !work.task_values.is_empty()
        || work.session.is_some()
        || work.feedback.is_some();
    let heard = work.history.iter().any(|record| !record.calls().is_empty());
    MemoryOrigin {
        run: request.run.clone(),
        step: request.instance.to_string(),
        author: work.specialist.id.to_string(),
        task_file: work.task_file.clone(),
        trust: if has_values || heard { Trust::External } else { Trust::Model },
    }
}

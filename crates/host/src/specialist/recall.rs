//! What a specialist is shown of the memory before its first turn.

use super::report::StopReason;
use super::runner::Attempt;
use kb_attempt::run_blocking;
use kb_core::evidence::Record;
use kb_memory::Kind;

impl Attempt<'_> {
    /// Records what the specialist is shown of the memory. Done once: a resumed attempt is shown the same.
    pub(super) async fn recall(&mut self) -> Result<(), StopReason> {
        let specialist = &*self.work.specialist;
        let kinds: Vec<Kind> =
            specialist.memory.read.iter().filter_map(|name| Kind::parse(name)).collect();
        if kinds.is_empty() || !self.work.history.is_empty() {
            return Ok(());
        }
        let task = self.work.task.as_str();
        let Some(recall) = run_blocking(|| self.toolset.recall(task, &kinds)) else {
            return Ok(());
        };
        self.record(Record::Recall { entries: recall.entries, text: recall.lines }).await
    }
}

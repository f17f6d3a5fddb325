//! What an attempt does with the memory outside of calls.

use super::run_memory::MemoryOrigin;
use super::toolbox::Toolbox;
use kb_memory::{Kind, Recall};

impl Toolbox {
    /// Says whose attempt this is, for what it proposes to remember.
    pub fn begin_memory(&self, origin: MemoryOrigin) {
        self.memory.begin(origin);
    }

    /// What a specialist with this task is shown of the memory. Blocks.
    pub fn recall(&self, task: &str, kinds: &[Kind]) -> Option<Recall> {
        self.memory.recall(&self.shared.workspace, task, kinds)
    }

    /// Evaluates the checks of what the attempt proposed to remember. Blocks.
    pub fn confirm_memory(&self) {
        self.memory.confirm(&self.shared.workspace);
    }
}

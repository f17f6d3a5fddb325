//! What an attempt does with the memory outside of calls.

use super::run_memory::MemoryOrigin;
use super::toolbox::Toolbox;
use kb_memory::{Kind, Recall, Trust};

impl Toolbox {
    /// Says whose attempt this is, for what it proposes to remember.
    pub fn begin_memory(&self, mut origin: MemoryOrigin) {
        // Steps can have written every file that is not protected.
        let of_steps = |path: &str| !self.shared.workspace.is_protected(path);
        if origin.task_file.as_deref().is_some_and(of_steps) {
            origin.trust = Trust::External;
        }
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

//! The programs that `kb` starts by names of its own choice.

use crate::program::find_program;
use crate::supervisor::Supervisor;
use std::path::{Path, PathBuf};

impl Supervisor {
    /// The program that `kb` starts for a name of its own choice. The error is a human-readable message.
    pub fn own_program(&self, name: &str) -> Result<PathBuf, String> {
        let base = self.base();
        let path = base.get("PATH").unwrap_or_default();
        find_program(name, Path::new("/"), path, |program| base.is_untrusted(program))
    }
}

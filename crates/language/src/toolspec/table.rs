//! The table itself, in the order of the reference page.

use super::spec::ToolSpec;
use super::{code, exchange, faq, git, http, memory, mind, output, read_files, shell, write_files};
use std::sync::{Arc, LazyLock};

pub(super) static TABLE: LazyLock<Vec<Arc<ToolSpec>>> = LazyLock::new(|| {
    let families = [
        read_files::specs(),
        code::specs(),
        mind::specs(),
        write_files::specs(),
        git::specs(),
        shell::specs(),
        http::specs(),
        memory::specs(),
        faq::specs(),
        exchange::specs(),
        output::specs(),
    ];
    families.into_iter().flatten().map(Arc::new).collect()
});

/// The tool whose path rules apply to every tool that reads files.
pub const FILE_READER: &str = "fs:read";
/// The tool that writes text files.
pub const FILE_WRITER: &str = "fs:write";
/// The tool that deletes files.
pub const FILE_DELETER: &str = "fs:delete";
/// The tool that starts commands. A coding agent may do what it may do.
pub const COMMAND_RUNNER: &str = "shell:exec";
/// The tool that reads the rest of a truncated result.
pub const OUTPUT_READER: &str = "output:read";
/// The tool that reads artifacts of earlier steps.
pub const ARTIFACT_READER: &str = "artifact:get";
/// The tool that executes `http` steps.
pub const HTTP_REQUEST: &str = "http:request";
/// The tool that finds entries of the memory.
pub const MEMORY_READER: &str = "memory:search";
/// The tool that proposes entries of the memory.
pub const MEMORY_WRITER: &str = "memory:propose";
